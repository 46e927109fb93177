"""The estimates: the counted features, multiplied by the weights for a server and a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from ...types.blocks import Block
from ...types.messages import Message
from ...types.request import Request
from ...types.tools import Tool
from .counting import FEATURES, answer_counts, counts
from .families import counts_thoughts, family, keeps_idle_tools, server
from .text import TEXT
from .weights import ANSWERS, WEIGHTS

__all__ = ["estimate_input_tokens", "estimate_output", "estimate_request", "tokenizer"]


def estimate_input_tokens(
    messages: Iterable[Message],
    tools: Sequence[Tool] = (),
    system: str | Iterable[Block] | None = None,
    *,
    provider: str,
    model: str | None = None,
    output_schema: dict[str, Any] | None = None,
) -> int:
    """An estimate of a prompt's tokens. ``provider`` may also be a dialect's name; ``model`` improves the estimate."""
    request = Request(messages=messages, tools=tools, system=system or (), output_schema=output_schema)
    return estimate_request(request, provider, model)


def estimate_request(request: Request, provider: str, model: str | None = None) -> int:
    """An estimate of a whole request's tokens, which also considers its tool choice and its thinking."""
    name = model or request.model
    row = tokenizer(provider, name)
    tally = counts(request, name or row, idle_tools=keeps_idle_tools(row), thoughts=counts_thoughts(provider))
    weighed = sum(tally[kind] * weight for kind, weight in zip(FEATURES, WEIGHTS[row], strict=True))
    return max(1, round(weighed) + tally["media"])


def estimate_output(content: Iterable[Block], provider: str, model: str | None = None) -> int:
    """An estimate of an answer's tokens. Reasoning that is not shown is not included."""
    row = tokenizer(provider, model)
    tally = answer_counts(content)
    once, call = ANSWERS.get(row.partition("@")[0], ANSWERS["open"])
    weighed = sum(tally[kind] * weight for kind, weight in zip(TEXT, WEIGHTS[row], strict=False))
    return max(1, round(weighed + once + call * tally["calls"]))


@lru_cache(maxsize=512)
def tokenizer(provider: str, model: str | None) -> str:
    """The name of the row of weights: that of the family at this server, else of the family, else ``open``."""
    place = server(provider)
    name = family(place, model)
    at_server = f"{name}@{place}"
    return at_server if at_server in WEIGHTS else name if name in WEIGHTS else "open"
