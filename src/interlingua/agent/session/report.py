"""``Report``: facts about a turn besides its answer: steps, usage, cost, losses, tools left out, warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ...models.pricing import Pricing, detailed_usage
from ...types.base import Json
from ...types.loss import Loss
from ...types.messages import Message
from ...types.response import Response
from ...types.usage import TokenUsage
from ..routing.route import Choice

__all__ = ["Delegated", "Report", "cost_of", "usage_of"]

Stopped = Literal["done", "limit", "cancelled", "failed", "handed_over"]


NO_PRICES = (
    "no price list is installed, so costs are None: pip install 'interlingua[prices]', or set `price` in models.yaml"
)


class Delegated(Struct, frozen=True):
    """The outcome of one call of a session that is a tool. Its usage and cost are included in the caller's report."""

    call_id: str
    tool: str
    session_id: str
    steps: int
    usage: TokenUsage
    cost_usd: float | None
    stopped: str


class Report(Struct):
    """Facts about one turn.

    ``stopped`` is why it ended: ``done``, at a ``limit``, ``cancelled`` by the caller, ``failed`` with an error, or
    ``handed_over`` because the caller must answer a tool call; ``stopped_reason`` is the reason in words. ``left_out``
    are the tools that a behaviour filtered; ``shortened`` counts the messages that are no longer sent.
    """

    steps: int = 0
    usage: TokenUsage = TokenUsage()
    cost_usd: float | None = 0.0
    losses: tuple[Loss, ...] = ()
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    shortened: int = 0
    stopped: Stopped = "done"
    stopped_reason: str | None = None
    delegated: tuple[Delegated, ...] = ()
    """The calls of sessions that are tools. ``usage`` and ``cost_usd`` include their usage and cost."""

    def add(self, response: Response, pricing: Pricing, record: Sequence[Choice]) -> dict[str, Json]:
        """Count an answer. Returns its metadata for the history: the usage as the provider reported it, the cost, and
        the models that were called."""
        facts: dict[str, Any] = {"stop_reason": str(response.stop_reason), "latency_ms": response.latency_ms}
        self.steps += 1
        self.losses += response.losses
        if response.usage is None:
            self.cost_usd = None
        else:
            usage = detailed_usage(response)
            cost = pricing.of(response, usage=usage)
            facts["usage"] = msgspec.to_builtins(usage)
            facts["cost_usd"], facts["pricing_version"] = cost.cost_usd, cost.pricing_version
            self.usage += response.usage
            self.cost_usd = None if cost.cost_usd is None or self.cost_usd is None else self.cost_usd + cost.cost_usd
            if cost.cost_usd is None and find_spec("genai_prices") is None:
                self.warn(NO_PRICES)
        if response.attempts:
            facts["attempts"] = response.attempts
        if record:
            facts["routing"] = [msgspec.to_builtins(choice) for choice in record]
        return facts

    def add_delegated(self, done: Iterable[Delegated]) -> None:
        """Count the calls of sessions that are tools."""
        for one in done:
            self.delegated += (one,)
            self.usage += one.usage
            self.cost_usd = None if one.cost_usd is None or self.cost_usd is None else self.cost_usd + one.cost_usd

    def stop(self, why: Stopped, reason: str) -> None:
        """Note why the turn ended. Only the first reason is kept."""
        if self.stopped == "done":
            self.stopped, self.stopped_reason = why, reason

    def warn(self, *warnings: str) -> None:
        """Add warnings, each only once."""
        self.warnings += tuple(warning for warning in warnings if warning not in self.warnings)


def usage_of(messages: Iterable[Message]) -> TokenUsage:
    """The tokens of all answers together."""
    found = TokenUsage()
    for facts in _spent(messages):
        usage = facts.get("usage")
        if usage is not None:
            numbers = {name: value for name, value in usage.items() if name != "raw"}
            found += TokenUsage(**numbers)
    return found


def cost_of(messages: Iterable[Message]) -> float | None:
    """The cost of all answers together; None if the price of one is not known."""
    costs: list[float | None] = [facts.get("cost_usd") for facts in _spent(messages) if "usage" in facts]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _spent(messages: Iterable[Message]) -> Iterator[dict[str, Json]]:
    """The metadata of each answer, and of each session that ran as a tool: both may have usage and cost."""
    for message in messages:
        yield message.metadata
        yield from message.metadata.get("delegated", ())
