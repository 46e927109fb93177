"""What an answer repeats of its request.

The protocol wants most of it there. It says nothing of the answer, so it is no residue: what differs from the defaults
is a form mark (``echo``), to no other dialect a loss. An answer that was read here repeats what it repeated; any other
repeats the request it is given, or the defaults.
"""

from __future__ import annotations

from ...types.base import Json
from ...types.request import Request
from .request import encode_request
from .wire import Wire, is_array, is_object

DEFAULTS: Wire = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
OTHERS = (
    "access_programs",
    "frequency_penalty",
    "image",
    "presence_penalty",
    "prompt",
    "prompt_cache_options",
    "prompt_cache_retention",
)
"""Repeated by some servers; never written of our own accord."""


def read_echo(rest: Wire, forms: Wire) -> None:
    echo: Wire = {}
    absent: list[str] = []
    for key, default in DEFAULTS.items():
        if key not in rest:
            absent.append(key)
        elif (value := rest.pop(key)) != default or type(value) is not type(default):
            echo[key] = value
    echo |= {key: rest.pop(key) for key in OTHERS if key in rest}
    if echo:
        forms["echo"] = echo
    if absent:
        forms["unechoed"] = absent


def say_echo(wire: Wire, forms: Wire, request: Request | None) -> None:
    echo: Wire = forms.get("echo", {})
    absent = forms.get("unechoed", ())
    said: Wire = encode_request(request, None).body if request is not None and not echo and not absent else {}
    for key, default in DEFAULTS.items():
        if key in echo:
            wire[key] = echo[key]
        elif key not in absent:
            wire[key] = _said(said[key], default) if key in said else _fresh(default)
    wire |= {key: value for key, value in echo.items() if key in OTHERS}


def _said(value: Json, default: Json) -> Json:
    """Objects are repeated with their defaults filled in."""
    return {**default, **value} if is_object(value) and is_object(default) else value


def _fresh(default: Json) -> Json:
    if is_object(default):
        return {key: _fresh(value) for key, value in default.items()}
    return list(default) if is_array(default) else default
