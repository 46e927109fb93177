"""The parameters of a request that not every protocol has, one line each, and those that may stand in the URL.

A protocol that has a key for a parameter names the key in its row of requests. In any other protocol, using the
parameter is a loss. A field of ``Request`` that is neither here nor in a row is an error at import.
"""

from __future__ import annotations

from typing import Any

from ..types.capabilities import Target
from ..types.loss import LossWeight
from ..types.request import Request
from .json import Wire
from .rows.row import Spec, lost

__all__ = ["PARAMETERS", "put_model", "take_from_url", "lost_parameters"]

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


def lost_parameters(dialect: str) -> dict[str, Spec]:
    """The loss of each parameter in ``PARAMETERS``, for a dialect whose protocol has no key for it."""
    return {name: lost(f"{dialect} has no `{name}`", weight) for name, weight in PARAMETERS.items()}


def take_from_url(fields: dict[str, Any], marks: Wire, model: str | None, stream: bool | None) -> None:
    """Set the model and the stream flag from the URL where the body has none, and mark them as such."""
    for key, value in (("model", model), ("stream", stream)):
        if value is not None and fields.get(key) is None:
            fields[key] = value
            marks[key] = "url"


def put_model(request: Request, body: Wire, target: Target | None, marks: Wire) -> None:
    """Write the target's model if the request names none, and remove what was read from the URL."""
    if request.model is None and target is not None and target.model is not None:
        body["model"] = target.model
    for key in ("model", "stream") if marks else ():
        if marks.get(key) == "url":
            body.pop(key, None)
