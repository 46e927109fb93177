"""The parameters of a request that not every protocol has, one line each.

A protocol that has a key for one says so in its row of requests. For every other one this table speaks: using it is a
loss. A field of ``Request`` that is neither here nor in a row is an error at import.
"""

from __future__ import annotations

from ..types.loss import LossWeight
from .rows import Spec, lost

__all__ = ["PARAMETERS", "unsaid"]

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
