"""``ClientParts``: what a client is made of, found by a model's name: the provider's row, the settings, the model.

The configuration is read at each call: ``models.yaml`` if there is one, then the environment, then the catalogue.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..errors import InvalidRequestError, NotConfigured
from ..models.catalogue import Catalogue
from ..models.catalogue.tiers import TIER_NAMES
from ..models.providers import IN_PROCESS, PROVIDERS, Provider
from ..types.base import unchecked_copy
from ..types.request import Request
from .config import AdapterConfig
from .embedded.provider import EMBEDDED, embedded_provider
from .environment import configured
from .models_file import Configuration, Place, load_configuration
from .secrets import as_secret

__all__ = [
    "ClientParts",
    "Partial",
    "WHICH_PROTOCOL",
    "with_url_and_key",
    "configuration_of",
    "merge_settings",
    "parts_at",
    "parts_for",
    "place_of",
    "default_model",
]

# Without a model name, the first of these that has a key is used; after them all others, in the order of the table.
PREFERRED = ("anthropic", "openai", "google", "openrouter", "mistral", "deepseek", "xai", "groq")

DEFAULTS = AdapterConfig()

WHICH_PROTOCOL = "for a server of your own, the provider says its protocol: 'openai-chat:NAME' serves most"

Partial = AdapterConfig | Mapping[str, Any]
"""Some settings. Of an ``AdapterConfig``, the fields that differ from its defaults."""


class ClientParts(Struct, frozen=True):
    """The arguments of a client."""

    provider: Provider
    config: AdapterConfig
    model: str | None
    catalogue: Catalogue | None
    prepare: Callable[[Request], Request] | None = None

    @property
    def embedded(self) -> bool:
        """Whether the scripted model answers, in memory."""
        return self.provider.name == EMBEDDED and self.config.base_url is None

    @property
    def in_process(self) -> bool:
        """Whether llama.cpp answers inside of this process."""
        return self.provider.base_url.startswith(IN_PROCESS) and self.config.base_url is None


def configuration_of(environment: Mapping[str, str] | None = None, models: str | Path | None = None) -> Configuration:
    """The configuration of ``models.yaml`` and the environment, read now."""
    return load_configuration(models, environ=os.environ if environment is None else environment)


def parts_for(
    name: str | None,
    configuration: Configuration,
    config: Partial | None = None,
    environment: Mapping[str, str] | None = None,
) -> ClientParts:
    """The parts for a model; without a name, for the default model of the first provider with a key."""
    name = default_model(configuration) if name is None else name
    adapter, _, model = name.partition(":")
    if adapter == EMBEDDED and EMBEDDED not in configuration.adapters:
        return ClientParts(embedded_provider(model), merge_settings(DEFAULTS, config), model or "scripted", None)
    try:
        place = place_of(name, configuration)
    except InvalidRequestError as error:
        if config is None or merge_settings(DEFAULTS, config).base_url is None:
            raise
        raise InvalidRequestError(f"{error.message}; {WHICH_PROTOCOL}") from None
    return parts_at(place, configuration, config, environment)


def parts_at(
    place: Place,
    configuration: Configuration,
    config: Partial | None = None,
    environment: Mapping[str, str] | None = None,
) -> ClientParts:
    """The parts for a place. Settings of ``config`` win over those that are configured there."""
    row = place.adapter.provider
    settings = configured(row, merge_settings(place.adapter.config, config), environment)
    prepare = partial(_prepare, configuration, place, settings) if configuration.source is not None else None
    return ClientParts(row, settings, place.model or None, configuration.catalogue, prepare)


def place_of(name: str, configuration: Configuration) -> Place:
    """The adapter and model of a name: a model, an adapter (its default model), or a tier of the default provider."""
    name = configuration.our_spelling(name)
    adapter, _, model = name.partition(":")
    try:
        if adapter in configuration.adapters and not model and name not in configuration.models:
            found = configuration.adapter(adapter)
            return Place(adapter=found, model=configuration.default(adapter) or "")
        return configuration.locate(name)
    except ValueError as error:
        if name not in TIER_NAMES:
            raise (NotConfigured if ":" in name else InvalidRequestError)(str(error)) from None
        return _place_of_tier(name, configuration)


def _place_of_tier(name: str, configuration: Configuration) -> Place:
    preferred = next(_usable_adapters(configuration), None)
    if preferred is None:
        raise NotConfigured(
            f"{name!r} means a model of the first provider with a key, and no provider has a key: {_key_advice()}"
        )
    return configuration.locate(f"{preferred}:{name}")


def _prepare(configuration: Configuration, place: Place, settings: AdapterConfig, request: Request) -> Request:
    """Apply the names and defaults of ``models.yaml`` to a request."""
    if place.adapter.missing is not None and not settings.secret and not settings.extra_headers:
        place.require()
    if request.model is None:
        return request
    found = configuration.locate(f"{place.adapter.id}:{request.model}")
    request = found.with_defaults(request)
    return request if request.model == found.model else unchecked_copy(request, model=found.model)


# ------------------------------------------------------------------------------------------------ the default model


def default_model(configuration: Configuration) -> str:
    """The model that is used without a name: the first usable one of ``models.yaml``, else the default model of the
    first provider that has a key and a default model. Never the scripted model, because it would call real tools."""
    named = (name for name in configuration.models if configuration.locate(name).configured)
    found = next(named, None) or next(
        (f"{name}:{configuration.default(name)}" for name in _usable_adapters(configuration)), None
    )
    if found is not None:
        return found
    keyed = [name for name, adapter in configuration.adapters.items() if adapter.config.api_key]
    if keyed:
        raise NotConfigured(f"{keyed[0]} has a key but no default model; name one, such as '{keyed[0]}:model'")
    advice = f"{_key_advice()}, or name a model; 'embedded:' is scripted and needs no key"
    raise NotConfigured(f"no provider has a key: {advice}")


def _key_advice() -> str:
    return f"set one of {', '.join(PROVIDERS[name].auth.keys[0] for name in PREFERRED[:3])}"


def _usable_adapters(configuration: Configuration) -> Iterator[str]:
    """The adapters that can be used without a model name: those of the file, then those with a key."""
    adapters = configuration.adapters
    for name in configuration.file_adapters:
        if adapters[name].missing is None and adapters[name].default_model:
            yield name
    for name in dict.fromkeys((*PREFERRED, *adapters)):
        if adapters[name].config.api_key and configuration.default(name):
            yield name


# ------------------------------------------------------------------------------------------------- merging settings


def with_url_and_key(config: Partial | None, base_url: str | None, api_key: str | None) -> Partial | None:
    """``config`` with ``base_url`` and ``api_key``, which win over its own."""
    given: dict[str, Any] = {} if base_url is None else {"base_url": base_url}
    if api_key is not None:
        given["api_key"] = as_secret(api_key)
    api_key = None  # no traceback shows it
    if not given:
        return config
    return replace(config, **given) if isinstance(config, AdapterConfig) else {**(config or {}), **given}


def merge_settings(below: AdapterConfig, above: Partial | None) -> AdapterConfig:
    """``below`` with the settings of ``above``. Headers, options and retries are merged field by field."""
    if above is None:
        return below
    if isinstance(above, AdapterConfig):
        values = {name: getattr(above, name) for name in above.__struct_fields__}
        above = {name: value for name, value in values.items() if value != getattr(DEFAULTS, name)}
    unknown = sorted(set(above) - set(below.__struct_fields__))
    if unknown:
        raise ValueError(f"AdapterConfig has no {', '.join(unknown)}; it has {', '.join(below.__struct_fields__)}")
    merged: dict[str, Any] = {
        name: {**getattr(below, name), **above[name]}
        for name in ("extra_headers", "options")
        if isinstance(above.get(name), Mapping)
    }
    if isinstance(above.get("retry"), Mapping):
        merged["retry"] = replace(below.retry, **above["retry"])
    return replace(below, **{**above, **merged})
