"""The parameters of a request that not every protocol has, one line each, and those that may stand in the URL.

A protocol that has a key for a parameter says so in its row of requests. For every other one the table here speaks:
using it is a loss. A field of ``Request`` that is neither here nor in a row is an error at import.
"""

from __future__ import annotations

from typing import Any

from ..types.capabilities import Target
from ..types.loss import LossWeight
from ..types.request import Request
from .json import Wire
from .rows.row import Spec, lost

__all__ = ["PARAMETERS", "put_model", "take_from_url", "unsaid"]

PARAMETERS: dict[str, LossWeight] = {
    # our field: how much its loss matters
    "top_k": "content",
    "stop_sequences": "content",
    "seed": "content",
    "metadata": "content",
    "service_tier": "content",
    "betas": "content",
    "output_name": "form",
    "output_description": "content",
    "verbosity": "content",
    "frequency_penalty": "content",
    "presence_penalty": "content",
    "n": "content",
    "logprobs": "content",
    "top_logprobs": "content",
    "prompt_cache_key": "form",
    "store": "state",
    "user": "content",
}


def unsaid(dialect: str) -> dict[str, Spec]:
    """What holds for the parameters that a row of requests does not name: the protocol has no key for them."""
    return {name: lost(f"{dialect} has no `{name}`", weight) for name, weight in PARAMETERS.items()}


def take_from_url(fields: dict[str, Any], marks: Wire, model: str | None, stream: bool | None) -> None:
    """Set what the URL said and the body did not, and remember that."""
    for key, value in (("model", model), ("stream", stream)):
        if value is not None and fields.get(key) is None:
            fields[key] = value
            marks[key] = "url"


def put_model(request: Request, body: Wire, target: Target | None, marks: Wire) -> None:
    """Write the reader's model where the request names none, and nothing that stood in the URL."""
    if request.model is None and target is not None and target.model is not None:
        body["model"] = target.model
    for key in ("model", "stream") if marks else ():
        if marks.get(key) == "url":
            body.pop(key, None)
