"""What a call cost, and by which price list.

The first that knows wins: what the provider itself reports, nothing for a local server, the user's own table, then
the tables of the catalogue. What nobody knows costs ``None``, never 0. Adapters report tokens only; since the price
list is named beside each cost, a saved history can be repriced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeGuard, cast

import msgspec
from msgspec import Struct, structs

from .catalogue.layers import ModelsDev
from .catalogue.prices import Billed, GenaiPriceTable, ModelsDevPrices, OwnPrices, Price, PriceTable
from .providers import PROVIDERS
from .types.messages import Message
from .types.response import Response
from .types.usage import TokenUsage

__all__ = ["Cost", "Pricing", "detailed_usage"]

# where providers tell the price themselves: the path in their usage object, and what one unit is in dollars
REPORTED: tuple[tuple[tuple[str, ...], Decimal], ...] = (
    (("cost",), Decimal(1)),  # OpenRouter, Vercel
    (("cost", "total_cost"), Decimal(1)),  # Perplexity
    (("cost_in_usd_ticks",), Decimal("1e-10")),  # xAI
)

# what a bill needs beyond the buckets: our name, the paths in the providers' usage objects
DETAILS: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    ("written_1h", (("cache_creation", "ephemeral_1h_input_tokens"),)),
    ("web_searches", (("server_tool_use", "web_search_requests"), ("server_tool_use_details", "web_search_requests"))),
    ("audio_input", (("prompt_tokens_details", "audio_tokens"), ("input_tokens_details", "audio_tokens"))),
    ("audio_output", (("completion_tokens_details", "audio_tokens"), ("output_tokens_details", "audio_tokens"))),
)
# Gemini lists the tokens by kind
KINDS = (
    # ours, their list, the kind
    ("audio_input", "promptTokensDetails", "AUDIO"),
    ("audio_cached", "cacheTokensDetails", "AUDIO"),
    ("audio_output", "candidatesTokensDetails", "AUDIO"),
    ("image_output", "candidatesTokensDetails", "IMAGE"),
)
USAGE_KEYS = ("usage", "usageMetadata")


class Cost(Struct, frozen=True):
    """``source`` is ``provider`` (it told us), ``local``, ``table``, or ``unknown``: then the other two are None."""

    cost_usd: float | None
    pricing_version: str | None
    source: str


UNKNOWN = Cost(None, None, "unknown")


class Pricing:
    """Costs by price tables, the first that knows the model winning.

    ``own`` is the user's: ``provider:model`` or a bare model name to its ``Price``.
    """

    def __init__(
        self,
        own: Mapping[str, Price] | None = None,
        *,
        tables: Iterable[PriceTable] | None = None,
        edition: str | None = None,
    ) -> None:
        below = _usual_tables() if tables is None else tuple(tables)
        self.tables: tuple[PriceTable, ...] = (*((OwnPrices(own, edition),) if own else ()), *below)

    def cost(
        self,
        usage: TokenUsage,
        provider: str,
        model: str,
        *,
        service_tier: str | None = None,
        at: datetime | None = None,
    ) -> Cost:
        """The cost of one call. ``usage.raw``, the provider's own usage object, refines it where it is kept."""
        details = _object(usage.raw)
        reported = _reported(details)
        if reported is not None:
            return Cost(float(reported), "provider", "provider")
        row = PROVIDERS.get(provider)
        if row is not None and row.local:
            return Cost(0.0, "local", "local")
        return self._by_table(provider, model, _billed(usage, details, service_tier, at))

    def _by_table(self, provider: str, model: str, billed: Billed) -> Cost:
        for table in self.tables:
            found = table.cost(provider, model, billed)
            if found is not None:
                return Cost(float(found), table.version, "table")
        return UNKNOWN

    def of(self, response: Response, provider: str | None = None, *, at: datetime | None = None) -> Cost:
        """The cost of an answer; provider and model as its origin says, unless told otherwise."""
        who = provider or (response.origin.provider if response.origin is not None else None)
        model = response.model or (response.origin.model if response.origin is not None else None)
        if who is None or model is None or response.usage is None:
            return UNKNOWN
        return self.cost(detailed_usage(response), who, model, service_tier=_tier(response), at=at)

    def reprice(self, messages: Sequence[Message], *, at: datetime | None = None) -> tuple[Message, ...]:
        """A saved history with new costs. Messages without usage or origin, and what the provider told, stay."""
        return tuple(self._repriced(message, at) for message in messages)

    def _repriced(self, message: Message, at: datetime | None) -> Message:
        usage, origin = message.metadata.get("usage"), message.origin
        if usage is None or origin is None or origin.provider is None or origin.model is None:
            return message
        if message.metadata.get("pricing_version") == "provider":
            return message
        found = self.cost(msgspec.convert(usage, TokenUsage), origin.provider, origin.model, at=at)
        told = {"cost_usd": found.cost_usd, "pricing_version": found.pricing_version}
        return structs.replace(message, metadata={**message.metadata, **told})


def detailed_usage(response: Response) -> TokenUsage:
    """The usage with the rest of the provider's usage object in ``raw``, so that it can be repriced when saved."""
    usage = response.usage or TokenUsage()
    if usage.raw is not None:
        return usage
    rests = (_object(_object(rest).get(key)) for rest in response.extras.values() for key in USAGE_KEYS)
    details = next(filter(None, rests), None)
    return structs.replace(usage, raw=details) if details else usage


def _usual_tables() -> tuple[PriceTable, ...]:
    return (GenaiPriceTable(), ModelsDevPrices(ModelsDev(), "package"))


def _billed(usage: TokenUsage, details: Mapping[str, Any], tier: str | None, at: datetime | None) -> Billed:
    counts = {name: next(filter(None, (_count(details, p) for p in paths)), 0) for name, paths in DETAILS}
    for name, key, kind in KINDS:
        counts[name] = counts.get(name) or _of_kind(details.get(key), kind)
    return Billed(usage=usage, service_tier=tier, at=at, **counts)


def _of_kind(listed: Any, kind: str) -> int:
    rows = map(_object, listed if _is_list(listed) else ())
    return sum(_count(row, ("tokenCount",)) for row in rows if row.get("modality") == kind)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _reported(details: Mapping[str, Any]) -> Decimal | None:
    for path, unit in REPORTED:
        value = _at(details, path)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return Decimal(str(value)) * unit
    return None


def _count(details: Mapping[str, Any], path: tuple[str, ...]) -> int:
    value = _at(details, path)
    return value if isinstance(value, int) else 0


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = _object(value).get(key)
    return value


def _object(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _tier(response: Response) -> str | None:
    """The tier that was served, which may not be the one that was asked for."""
    for rest in response.extras.values():
        tier = _object(rest).get("service_tier")
        if isinstance(tier, str):
            return tier
    return None
