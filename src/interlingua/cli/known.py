"""The known providers and models, and what is missing before they can be used."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from ..client.client_parts import configuration_of
from ..client.environment import configured
from ..client.models_file import Configuration
from ..client.models_file.configuration import Adapter
from ..models.catalogue import ModelsDev
from ..models.catalogue.layers import DevProvider, models_dev_name
from ..models.catalogue.tiers import TIERS
from ..models.pricing import Pricing
from ..models.providers import IN_PROCESS, Provider
from ..types.usage import TokenUsage

__all__ = ["Access", "Model", "access_of", "configuration", "models", "name_of"]

RANKS = ("deep", "balanced", "fast")
MILLION = 1_000_000
SOME = 1_000
"""Prices are looked up for a call of so many tokens: at some providers, a token of a long prompt costs more."""


class Access(Struct, frozen=True):
    """Whether a provider can be used. ``why`` says what to do if not, or what is not known."""

    state: str  # ready | no key | local | credentials
    why: str
    base_url: str = ""


class Model(Struct, frozen=True, kw_only=True):
    """One model at one provider. Prices are US dollars for a million tokens; None is unknown."""

    name: str
    tier: str | None = None
    context: int | None = None
    output: int | None = None
    takes: tuple[str, ...] = ()
    input_price: float | None = None
    output_price: float | None = None
    state: str = ""


def configuration(path: str | Path | None = None) -> Configuration:
    """The configuration from the ``models.yaml`` at ``path``, or the usual one, and from the environment."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # `check` and the commands that call models print them
        return configuration_of(None, path)


def access_of(adapter: Adapter) -> Access:
    """Whether the adapter has its key and address; no request is sent."""
    row = adapter.provider
    url = configured(row, adapter.config, os.environ).base_url or row.base_url
    if adapter.missing is not None:
        return Access("no key", adapter.missing, url)
    variable = next((name for name in row.auth.keys if os.environ.get(name)), None)
    if adapter.config.api_key:
        return Access("ready", f"key from {variable}" if variable else "key from models.yaml", url)
    if row.local:
        return Access("local", _local_access(row), url)
    return Access("credentials", "no key is set: credentials are looked for when it is called", url)


def _local_access(row: Provider) -> str:
    if not row.base_url.startswith(IN_PROCESS):
        return "needs no key; its server must run"
    is_installed = find_spec("xllamacpp") is not None
    return "runs in this process, see `interlingua local`" if is_installed else "pip install 'interlingua[local]'"


def models(found: Configuration, words: list[str]) -> Iterator[Model]:
    """The models whose name contains all the words: first those of ``models.yaml``, then each provider's.

    Without words, each provider has only its models of the tiers.
    """
    pricing = Pricing(found.prices)
    wanted = [word.lower() for word in words]
    yielded: set[str] = set()
    for name, adapter, wire, tier in (*_configured(found), *_known(found, everything=bool(wanted))):
        full = f"{adapter.id}:{wire}"
        if full in yielded or not all(word in f"{name} {full} {tier or ''}".lower() for word in wanted):
            continue
        yielded.add(full)
        yield _model(found, pricing, name, adapter, wire, tier)


Row = tuple[str, Adapter, str, str | None]
"""The name, the adapter that serves the model, the provider's name of the model, the tier."""


def _configured(found: Configuration) -> Iterator[Row]:
    for name, entry in found.models.items():
        place = found.locate(name)
        yield name, place.adapter, place.model, entry.tier


def _known(found: Configuration, *, everything: bool) -> Iterator[Row]:
    packaged: Mapping[str, DevProvider] = ModelsDev().data if everything else {}
    for id, adapter in found.adapters.items():
        tiers = TIERS.get(adapter.provider.name, ())
        ranks: dict[str, str] = {}
        for model, rank in zip(tiers, RANKS, strict=False):
            ranks[model] = f"{ranks[model]}, {rank}" if model in ranks else rank
        row = packaged.get(models_dev_name(adapter.provider.name))
        for model in dict.fromkeys((*ranks, *(row.models if row is not None else ()))):
            yield f"{id}:{model}", adapter, model, ranks.get(model)


def _model(found: Configuration, pricing: Pricing, name: str, adapter: Adapter, wire: str, tier: str | None) -> Model:
    can = found.catalogue.capabilities_for(adapter.provider.name, wire)
    kinds = ("images", "documents", "audio", "video", "tools", "thinking")
    return Model(
        name=name,
        tier=tier,
        context=can.max_context_tokens,
        output=can.max_output_tokens,
        takes=tuple(kind for kind in kinds if getattr(can, kind)) if can.known else (),
        input_price=_price(pricing, adapter, wire, TokenUsage(input_tokens=SOME)),
        output_price=_price(pricing, adapter, wire, TokenUsage(output_tokens=SOME)),
        state=access_of(adapter).state,
    )


def _price(pricing: Pricing, adapter: Adapter, wire: str, usage: TokenUsage) -> float | None:
    cost = pricing.cost(usage, adapter.provider.name, wire).cost_usd
    return None if cost is None else round(cost * MILLION / SOME, 4)


def name_of(found: Configuration, adapter: str) -> str | None:
    """The adapter's default model as ``adapter:model``; None if it has no default."""
    model = found.default(adapter)
    return None if model is None else f"{adapter}:{model}"
