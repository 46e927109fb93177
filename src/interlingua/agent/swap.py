"""Before a conversation moves: what would happen? Answered offline."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..client.fitting import (
    LEAVING_OUT,
    TargetModel,
    Unsupported,
    leave_out,
    match_results,
    problems as refusals,
    unanswered,
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
    """What moving there would mean."""

    legal: bool
    problems: tuple[str, ...]
    """Why it is not legal, each a sentence that says where."""
    losses: tuple[Loss, ...]
    input_tokens: int
    """An estimate of the whole conversation, with the target's tokenizer in mind."""
    cost_usd: float | None
    """Of sending it once; None where the price is not known."""
    cache_survives: bool
    """Whether a prompt cache filled by the conversation so far is still good there."""


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
    """What would be lost, and whether it would work at all, if this conversation went on there.

    ``row`` is for a provider that is in no table. ``own`` is for an adapter of your own: what it loses, only it knows.
    ``unsupported`` is what becomes of content that the model cannot read, as for a client.
    """
    row = None if own else row or provider(to.provider or "")
    name = row.name if row is not None else to.provider or ""
    request = Request(messages=tuple(messages), tools=tuple(tools), system=system or (), model=to.model)
    able = to.capabilities
    losses: tuple[Loss, ...] = ()
    if able is not None and unsupported in LEAVING_OUT:
        model = TargetModel(Facts(), able, request)
        request = leave_out(request, model, describe=unsupported == "describe")
        losses = tuple(model.losses)
    problems = [*unanswered(messages), *(() if able is None else refusals(request, able))]
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
        cache_survives=_same_reader(messages, to, row.shares if row is not None else ()),
    )


def _same_reader(messages: Sequence[Message], to: Target, shares: Sequence[str]) -> bool:
    """Caches belong to one provider and model; the last assistant turn tells who filled them."""
    last = next((m.origin for m in reversed(messages) if m.origin is not None), None)
    if last is None or to.provider is None or last.model is None or last.model != to.model:
        return False
    return last.provider == to.provider or last.provider in shares
