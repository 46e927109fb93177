"""``plan_swap``: what would happen if a conversation moved to another model. Computed without network access."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..client.fitting import (
    LEAVING_OUT,
    TargetModel,
    Unsupported,
    leave_out,
    match_results,
    unanswered_calls,
    unreadable_parts,
)
from ..dialects import dialect
from ..errors import AdapterError
from ..models.catalogue import Facts
from ..models.estimate import estimate_request
from ..models.pricing import Pricing
from ..models.providers import Provider, provider
from ..types.blocks import Block
from ..types.capabilities import Target
from ..types.loss import Loss
from ..types.messages import Message
from ..types.request import Request
from ..types.tools import Tool
from ..types.usage import TokenUsage

__all__ = ["SwapPlan", "plan_swap"]


class SwapPlan(Struct, frozen=True):
    """What would happen if a conversation moved to another model."""

    legal: bool
    problems: tuple[str, ...]
    """Why the move is not legal: sentences, each of which says where."""
    losses: tuple[Loss, ...]
    input_tokens: int
    """An estimate of the tokens of the whole conversation, as the target model counts them."""
    cost_usd: float | None
    """What it costs to send the conversation once; None if the price is not known."""
    cache_survives: bool
    """Whether the target can still read the prompt cache that the conversation has filled so far."""


def plan_swap(
    messages: Sequence[Message],
    tools: Sequence[Tool] = (),
    *,
    to: Target,
    system: str | Sequence[Block] = (),
    pricing: Pricing | None = None,
    row: Provider | None = None,
    own: bool = False,
    unsupported: Unsupported | None = None,
) -> SwapPlan:
    """What would happen if this conversation went on with the model ``to``: is it accepted, losses, tokens, cost.

    ``row`` describes a provider that is in no table. ``own`` is true for an adapter that you wrote: its losses are
    unknown. ``unsupported`` is what to do with content that the model cannot read, as for a client.
    """
    row = None if own else row or provider(to.provider or "")
    name = row.name if row is not None else to.provider or ""
    request = Request(messages=tuple(messages), tools=tuple(tools), system=system or (), model=to.model)
    capabilities = to.capabilities
    losses: tuple[Loss, ...] = ()
    if capabilities is not None and unsupported in LEAVING_OUT:
        model = TargetModel(Facts(), capabilities, request)
        request = leave_out(request, model, describe=unsupported == "describe")
        losses = tuple(model.losses)
    problems = [*unanswered_calls(messages), *(() if capabilities is None else unreadable_parts(request, capabilities))]
    try:
        if not problems:
            request, matched = match_results(request)
            losses += matched
        if row is not None:
            losses += dialect(row.dialect, row.name).encode_request(request, to).losses
    except AdapterError as error:
        problems.append(error.message)
    tokens = estimate_request(request, name, to.model)
    return SwapPlan(
        legal=not problems,
        problems=tuple(problems),
        losses=losses,
        input_tokens=tokens,
        cost_usd=(pricing or Pricing()).cost(TokenUsage(tokens), name, to.model or "").cost_usd,
        cache_survives=_shares_cache(messages, to, row.shares if row is not None else ()),
    )


def _shares_cache(messages: Sequence[Message], to: Target, shares: Sequence[str]) -> bool:
    """Whether the target is the model that gave the last answer, of the same provider or one that shares its cache."""
    last = next((m.origin for m in reversed(messages) if m.origin is not None), None)
    if last is None or to.provider is None or last.model is None or last.model != to.model:
        return False
    return last.provider == to.provider or last.provider in shares
