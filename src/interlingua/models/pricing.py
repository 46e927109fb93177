"""What a call cost, and by which price list.

The first source that knows the price wins: the user's own table, the provider's report, zero for a local server, then
the tables of the catalogue. An unknown price is ``None``, never 0. Adapters report tokens only; since the price list is
named beside each cost, a saved history can be repriced.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, TypeGuard, cast

import msgspec
from msgspec import Struct, structs

from ..types.messages import Message
from ..types.response import Response
from ..types.usage import TokenUsage
from .catalogue.layers import ModelsDev
from .catalogue.prices import Billed, GenaiPriceTable, ModelsDevPrices, OwnPrices, Price, PriceTable
from .providers import PROVIDERS

log = logging.getLogger("interlingua")

__all__ = ["Cost", "Pricing", "detailed_usage", "reprice"]

# providers that report the price: the path in their usage object, and the value of one unit in dollars
REPORTED: tuple[tuple[tuple[str, ...], Decimal], ...] = (
    (("cost",), Decimal(1)),  # OpenRouter, Vercel
    (("cost", "total_cost"), Decimal(1)),  # Perplexity
    (("cost_in_usd_ticks",), Decimal("1e-10")),  # xAI
)

REPORTING = frozenset(path[0] for path, _ in REPORTED)

# counts that a bill needs besides those of ``TokenUsage``: our name, the paths in the providers' usage objects
DETAILS: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    ("written_1h", (("cache_creation", "ephemeral_1h_input_tokens"),)),
    ("web_searches", (("server_tool_use", "web_search_requests"), ("server_tool_use_details", "web_search_requests"))),
    ("audio_input", (("prompt_tokens_details", "audio_tokens"), ("input_tokens_details", "audio_tokens"))),
    ("audio_output", (("completion_tokens_details", "audio_tokens"), ("output_tokens_details", "audio_tokens"))),
)
# Gemini lists the tokens by kind; Bedrock lists the cache writes by their time to live
LISTED = (
    # our name, the provider's list, the key and value of the row in it, the key of the count
    ("audio_input", "promptTokensDetails", ("modality", "AUDIO"), "tokenCount"),
    ("audio_cached", "cacheTokensDetails", ("modality", "AUDIO"), "tokenCount"),
    ("audio_output", "candidatesTokensDetails", ("modality", "AUDIO"), "tokenCount"),
    ("image_output", "candidatesTokensDetails", ("modality", "IMAGE"), "tokenCount"),
    ("written_1h", "cacheDetails", ("ttl", "1h"), "inputTokens"),
)
BILLING = frozenset(path[0] for _, paths in DETAILS for path in paths) | {key for _, key, _, _ in LISTED}
USAGE_KEYS = ("usage", "usageMetadata")
TIER = "service_tier"


class Cost(Struct, frozen=True):
    """The cost of a call and where the price is from.

    ``source`` is ``own``, ``provider`` (the provider reported it), ``local``, ``table``, or ``unknown``: then
    ``cost_usd`` and ``pricing_version`` are None. ``estimated``: the provider sent no usage, so the tokens are a guess.
    """

    cost_usd: float | None
    pricing_version: str | None
    source: str
    estimated: bool = False


UNKNOWN = Cost(None, None, "unknown")
NO_DETAILS: Mapping[str, Any] = {}
NOTHING = Cost(None, None, "unknown")  # for a message that is not an answer, or does not name its provider and model


class Pricing:
    """Computes costs by price tables; the first that knows the model wins.

    ``own`` is the user's table: it maps ``provider:model`` or a bare model name to a ``Price``.
    """

    def __init__(
        self,
        own: Mapping[str, Price] | None = None,
        *,
        tables: Iterable[PriceTable] | None = None,
        edition: str | None = None,
    ) -> None:
        self.own = OwnPrices(own or {}, edition)
        self.tables: tuple[PriceTable, ...] = _usual_tables() if tables is None else tuple(tables)

    def cost(
        self,
        usage: TokenUsage,
        provider: str,
        model: str,
        *,
        service_tier: str | None = None,
        at: datetime | None = None,
    ) -> Cost:
        """The cost of one call, more exact if ``usage.raw`` has the provider's own usage object.

        If a table raises an error, for instance because counts contradict each other, the price is unknown.
        """
        details: Mapping[str, Any] = _object(usage.raw) if usage.raw else NO_DETAILS
        if details:
            billed = _billed(usage, details, service_tier or _word(details.get(TIER)), at)
        else:
            billed = Billed(usage=usage, service_tier=service_tier, at=at)
        try:
            found = self._known(provider, model, billed, details)
        except Exception as error:  # noqa: BLE001 - its error must not lose an answer that is paid for
            log.warning("no price for an answer of %s:%s: %s: %s", provider, model, type(error).__name__, error)
            return UNKNOWN
        return structs.replace(found, estimated=True) if usage.estimated and found is not UNKNOWN else found

    def _known(self, provider: str, model: str, billed: Billed, details: Mapping[str, Any]) -> Cost:
        own = self.own.cost(provider, model, billed) if self.own.prices else None
        if own is not None:
            return Cost(float(own), self.own.version, "own")
        reported = _reported(details) if details else None
        if reported is not None:
            return Cost(float(reported), "provider", "provider")
        row = PROVIDERS.get(provider)
        if provider == "embedded" or (row is not None and row.local):
            return Cost(0.0, "local", "local")
        for table in self.tables:
            found = table.cost(provider, model, billed)
            if found is not None:
                return Cost(float(found), table.version, "table")
        return UNKNOWN

    def of(
        self,
        response: Response,
        provider: str | None = None,
        *,
        at: datetime | None = None,
        usage: TokenUsage | None = None,
    ) -> Cost:
        """The cost of an answer. The default provider is that of its origin.

        ``usage`` is ``detailed_usage(response)``, if the caller has it already.
        """
        who = provider or (response.origin.provider if response.origin is not None else None)
        model = response.model or (response.origin.model if response.origin is not None else None)
        if who is None or model is None or response.usage is None:
            return UNKNOWN
        return self.cost(usage or detailed_usage(response), who, model, at=at)

    def reprice(self, messages: Iterable[Message], *, at: datetime | None = None) -> tuple[Message, ...]:
        """A saved history with new costs. Messages without usage or origin are unchanged.

        A cost that the provider reported is kept too, unless the user's own table has the model.
        """
        return tuple(self._repriced(message, at) for message in messages)

    def _repriced(self, message: Message, at: datetime | None) -> Message:
        found = _cost_of(message, self, at)
        if found is NOTHING or (message.metadata.get("pricing_version") == "provider" and found.source != "own"):
            return message
        costs = {"cost_usd": found.cost_usd, "pricing_version": found.pricing_version}
        return structs.replace(message, metadata={**message.metadata, **costs})


def reprice(
    saved: Iterable[Message | Response], pricing: Pricing | None = None, *, at: datetime | None = None
) -> tuple[Cost, ...]:
    """The cost of each saved answer by this pricing, from the usage that was saved with it.

    ``Pricing.reprice`` also writes the costs into the messages.
    """
    using = pricing or Pricing()
    return tuple(_cost_of(one, using, at) for one in saved)


def _cost_of(one: Message | Response, pricing: Pricing, at: datetime | None) -> Cost:
    if isinstance(one, Response):
        return pricing.of(one, at=at)
    usage, origin = one.metadata.get("usage"), one.origin
    if usage is None or origin is None or origin.provider is None or origin.model is None:
        return NOTHING
    return pricing.cost(msgspec.convert(usage, TokenUsage), origin.provider, origin.model, at=at)


def detailed_usage(response: Response) -> TokenUsage:
    """The usage with everything that a bill needs in ``raw``, so that it can be saved with a message and repriced.

    ``raw`` is the rest of the provider's usage object and, under ``service_tier``, the tier that was served.
    """
    usage = response.usage or TokenUsage()
    if usage.raw is not None:
        return usage
    if not response.extras:
        return usage
    details, tier = _object(None), None
    for rest in map(_object, response.extras.values()):
        for key in USAGE_KEYS:
            details = details or _object(rest.get(key))
        tier = tier or _word(rest.get(TIER))
    if tier is not None:
        details = {**details, TIER: tier}
    return structs.replace(usage, raw=details) if details else usage


@cache
def _usual_tables() -> tuple[PriceTable, ...]:
    """The default tables, one set for all pricings, so that they cache each model once."""
    return (GenaiPriceTable(), ModelsDevPrices(ModelsDev()))


def _billed(usage: TokenUsage, details: Mapping[str, Any], tier: str | None, at: datetime | None) -> Billed:
    if BILLING.isdisjoint(details):
        return Billed(usage=usage, service_tier=tier, at=at)
    counts = {name: next(filter(None, (_count(details, p) for p in paths)), 0) for name, paths in DETAILS}
    for name, key, match, count in LISTED:
        counts[name] = counts.get(name) or _listed(details.get(key), match, count)
    return Billed(usage=usage, service_tier=tier, at=at, **counts)


def _listed(listed: Any, match: tuple[str, str], count: str) -> int:
    rows = map(_object, listed if _is_list(listed) else ())
    return sum(_count(row, (count,)) for row in rows if row.get(match[0]) == match[1])


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _reported(details: Mapping[str, Any]) -> Decimal | None:
    if REPORTING.isdisjoint(details):
        return None
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


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None
