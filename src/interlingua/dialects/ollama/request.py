"""The request of Ollama: parameters, options, thinking, structured output, streaming.

The protocol streams unless it is told not to; ours does not unless it is told to. So a body without ``stream`` is read
as ``stream=True``, and a request that does not say is written with ``"stream": false``, declared as added: whoever did
not ask for a stream does not get one.

Marks: ``absent`` (``stream`` or ``messages``), ``stream`` (what was said is neither true nor false), ``model`` (it came
from outside the body), ``endpoint`` (generate.py).
"""

from __future__ import annotations

from typing import Any

from ...codec.history import leading_system
from ...codec.json import is_array, is_object
from ...codec.tables import Field, FieldTable, Ledger, blank, blanks as blanks_of, kept, marks, own
from ...errors import ParseError
from ...types.base import Json
from ...types.capabilities import Target
from ...types.loss import Encoded
from ...types.messages import Message, Origin
from ...types.request import Request, Thinking
from ...types.words import Role
from . import generate
from .blocks import NAME, Place, Wire, take_typed
from .messages import decode_messages, encode_messages, encode_system
from .tools import encode_tools, lose_choice, read_tool

PATH = "/api/chat"

PARAMS = FieldTable(
    NAME,
    Field("model", "model", (str,)),
    Field("metadata", None),
    Field("service_tier", None),
    Field("betas", None),
    Field("output_name", None, weight="form"),
)
OPTIONS = FieldTable(
    NAME,
    Field("max_output_tokens", "num_predict", (int,)),
    Field("temperature", "temperature", (int, float)),
    Field("top_p", "top_p", (int, float)),
    Field("top_k", "top_k", (int,)),
    Field("stop_sequences", "stop", (list,)),
    Field("seed", "seed", (int,)),
)
LEVELS = ("low", "medium", "high", "max")
# efforts that have no level of their own, and the nearest
NEAREST = {"minimal": "low", "xhigh": "max"}


def decode_request(body: Json, model: str | None, stream: bool | None, provider: str | None) -> Request:
    if not is_object(body):
        raise ParseError(f"a request body is a JSON object, got {type(body).__name__}")
    rest = dict(body)
    forms: Wire = {}
    blanks: Wire = {}
    fields: dict[str, Any] = {}
    PARAMS.decode(rest, fields, blanks)
    if model is not None and "model" not in fields:
        fields["model"] = model
        forms["model"] = "outside"
    read_history(rest, fields, forms, blanks, provider)
    if all(map(is_object, rest["tools"] if is_array(rest.get("tools")) else ())):
        fields["tools"] = tuple(map(read_tool, take_typed(rest, "tools", list, blanks) or ()))
    if type(rest.get("options")) is dict:
        read_options(rest, fields, blanks)
    read_settings(rest, fields, blanks)
    read_stream(rest, fields, forms, stream)
    return Request(**fields, **kept(NAME, rest, forms, blanks))


def read_history(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire, provider: str | None) -> None:
    if generate.is_request(rest):
        forms["endpoint"] = generate.ENDPOINT
        before = generate.read_context(rest)
        fields["system"], fields["messages"] = decode_messages(generate.read_turns(rest), provider)
        if before:
            fields["messages"] = (Message(Role.assistant, before, origin=Origin(provider, NAME)), *fields["messages"])
        for key in generate.ONLY_HERE:
            if rest.get(key, 0) in (None, "", []):
                blanks[key] = rest.pop(key)
    elif type(rest.get("messages")) is list:
        fields["system"], fields["messages"] = decode_messages(rest.pop("messages"), provider)
    else:
        forms["absent"] = ["messages"]


def read_options(rest: Wire, fields: dict[str, Any], blanks: Wire) -> None:
    options: Wire = dict(rest.pop("options"))
    empty: Wire = {}
    was_empty = not options
    limit, stop = options.get("num_predict"), options.get("stop")
    aside: Wire = {}
    if type(limit) is int and limit < 1:  # no limit, or as much as fits
        aside["num_predict"] = options.pop("num_predict")
    if is_array(stop) and not all(type(word) is str for word in stop):
        aside["stop"] = options.pop("stop")
    OPTIONS.decode(options, fields, empty)
    if options or aside:
        rest["options"] = options | aside
    if empty or was_empty:
        blanks["options"] = empty


def read_settings(rest: Wire, fields: dict[str, Any], blanks: Wire) -> None:
    think = rest.get("think")
    if "think" in rest and think is None:
        blanks["think"] = rest.pop("think")
    elif type(think) is bool:
        fields["thinking"] = Thinking(mode="enabled" if rest.pop("think") else "disabled")
    elif type(think) is str and think in LEVELS:
        fields["thinking"] = Thinking(effort=rest.pop("think"))
    for key in ("format", "keep_alive"):
        if key in rest and blank(rest[key]):
            blanks[key] = rest.pop(key)
    if is_object(rest.get("format")):
        fields["output_schema"] = rest.pop("format")


def read_stream(rest: Wire, fields: dict[str, Any], forms: Wire, outside: bool | None) -> None:
    if type(rest.get("stream")) is bool:
        fields["stream"] = rest.pop("stream")
        return
    fields["stream"] = outside is not False
    if "stream" in rest:
        forms["stream"] = rest.pop("stream")
    else:
        forms.setdefault("absent", []).append("stream")


def encode_request(request: Request, target: Target | None) -> Encoded:
    body: Wire = {}
    ledger, mark = Ledger(), marks(NAME, request)
    if request.model is None and target is not None and target.model is not None:
        body["model"] = target.model
    PARAMS.encode(request, body, ledger)
    if mark.get("model") == "outside":
        body.pop("model", None)
    prompt = generate.still_fits(request)
    say_history(request, body, target, ledger, prompt=prompt)
    say_options(request, body, ledger)
    say_settings(request, body, ledger)
    say_stream(request, body, mark, ledger)
    own(NAME, body, request)
    if not prompt:
        generate.leave_out(body, ledger)
    ledger.foreign(request, NAME)
    return Encoded(body, generate.PATH if prompt else PATH, {}, tuple(ledger.losses))


def say_history(request: Request, body: Wire, target: Target | None, ledger: Ledger, *, prompt: bool) -> None:
    skip = 0
    if request.messages and "inline" in marks(NAME, request.messages[0]):
        system: list[tuple[Place, Any]] = [(("system", i), b) for i, b in enumerate(request.system)]
    else:
        system, skip = leading_system(request, ledger)
    turns = encode_system(system, ledger)
    turns += encode_messages(request.messages, target, ledger, skip, context=prompt)
    if prompt:
        generate.say_turns(turns, body)
    elif turns or "messages" not in marks(NAME, request).get("absent", ()):
        body["messages"] = turns
    if request.tools:
        tools = encode_tools(request.tools, ledger)
        if tools:
            body["tools"] = tools
    if request.tool_choice is not None:
        lose_choice(request.tool_choice, ledger)


def say_options(request: Request, body: Wire, ledger: Ledger) -> None:
    options: Wire = {}
    OPTIONS.encode(request, options, ledger)
    if options.get("num_predict", 1) < 1:
        del options["num_predict"]
        ledger.lose("dropped", f"{NAME} reads a limit below 1 as none", "max_output_tokens")
    if options or "options" in blanks_of(NAME, request) or is_object(request.extras.get(NAME, {}).get("options")):
        body["options"] = options  # ours, so that what is merged into it stays here


def say_settings(request: Request, body: Wire, ledger: Ledger) -> None:
    if request.thinking is not None:
        ledger.where = ("thinking",)
        think = say_thinking(request.thinking, ledger)
        if think is None:
            ledger.lose("dropped", f"nothing of these thinking settings can be said in {NAME}")
        else:
            body["think"] = think
        ledger.foreign(request.thinking, NAME)
        ledger.where = ()
    if request.output_schema:
        body["format"] = request.output_schema
    elif request.output_schema is not None:
        body["format"] = "json"
        ledger.lose_form("approximated", f"a schema of anything is format json in {NAME}", "output_schema")


def say_thinking(thinking: Thinking, ledger: Ledger) -> bool | str | None:
    """``think`` is a switch or a level, not both."""
    if thinking.budget is not None:
        ledger.lose("dropped", f"{NAME} has no thinking budget", "budget")
    if thinking.display is not None:
        ledger.lose("dropped", f"{NAME} has no setting to show or hide thinking", "display")
    if thinking.effort is not None:
        return say_effort(thinking.effort, thinking.mode, ledger)
    if thinking.mode is None:
        if thinking.budget is None:
            return None
        ledger.lose_form("added", f"thinking in {NAME} is on or off; a budget was sent as on", "mode")
        return thinking.budget != 0
    if thinking.mode not in ("enabled", "disabled"):
        ledger.lose("approximated", f"thinking in {NAME} is on or off; sent as on", "mode")
    return thinking.mode != "disabled"


def say_effort(effort: str, mode: str | None, ledger: Ledger) -> bool | str:
    if mode == "disabled":
        ledger.lose_form("dropped", "thinking is disabled, so no effort was sent", "effort")
        return False
    if effort == "none":
        ledger.lose_form("approximated", f"effort none is said as thinking off in {NAME}", "effort")
        ledger.lose_form("approximated" if mode else "added", f"effort none is said as thinking off in {NAME}", "mode")
        return False
    if mode is not None:
        ledger.lose_form("dropped", f"a level in {NAME} means that thinking is on", "mode")
    if effort not in LEVELS:
        ledger.lose("approximated", f"{NAME} has the levels {', '.join(LEVELS)}; the nearest was sent", "effort")
    return effort if effort in LEVELS else NEAREST.get(effort, "medium")


def say_stream(request: Request, body: Wire, mark: Wire, ledger: Ledger) -> None:
    if request.stream is None:
        body["stream"] = False
        ledger.lose_form("added", f"`stream: false` was added, because {NAME} assumes true", "stream")
    elif not request.stream or "stream" not in mark.get("absent", ()):
        body["stream"] = mark.get("stream", True) if request.stream else False
