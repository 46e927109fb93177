"""From a model's name to what a client is built of: its provider's row, its settings, its model.

What is configured is read when asked for: ``models.yaml`` if there is one, then the environment, then the catalogue.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .catalogue import Catalogue, Configuration, Place, load_configuration
from .config import AdapterConfig
from .embedded.row import EMBEDDED, embedded_provider
from .environment import configured
from .errors import NotConfigured
from .providers.table import Provider
from .types.request import Request

__all__ = ["Door", "configuration_of", "door_to", "laid_over"]

log = logging.getLogger("interlingua")

# Asked in this order for a key when no model was named.
USUAL = ("anthropic", "openai", "google", "openrouter", "mistral", "deepseek", "xai", "groq")

DEFAULTS = AdapterConfig()


class Door(Struct, frozen=True):
    """All that a client needs to be told."""

    provider: Provider
    config: AdapterConfig
    model: str | None
    catalogue: Catalogue | None
    prepare: Callable[[Request], Request] | None = None

    @property
    def embedded(self) -> bool:
        """Whether the scripted model answers, in memory."""
        return self.provider.name == EMBEDDED and self.config.base_url is None


def configuration_of(environment: Mapping[str, str] | None = None, models: str | None = None) -> Configuration:
    """What ``models.yaml`` and the environment say now."""
    return load_configuration(models, environ=os.environ if environment is None else environment)


def door_to(
    name: str | None,
    configuration: Configuration,
    config: AdapterConfig | None = None,
    environment: Mapping[str, str] | None = None,
) -> Door:
    """The way to a model; without a name, to that of the first provider with a key, else to the embedded one."""
    name = usual_model(configuration) if name is None else name
    adapter, _, model = name.partition(":")
    if adapter == EMBEDDED and EMBEDDED not in configuration.adapters:
        return Door(embedded_provider(model), config or DEFAULTS, model or "scripted", None)
    place = _place(name, configuration)
    row = place.adapter.provider
    settings = configured(row, laid_over(place.adapter.config, config), environment)
    prepare = partial(_prepared, configuration, place.adapter.id) if configuration.source is not None else None
    return Door(row, settings, place.model or None, configuration.catalogue, prepare)


def usual_model(configuration: Configuration) -> str:
    """The model for those who name none."""
    own = [name for name, entry in configuration.models.items() if configuration.locate(name).configured]
    if own:
        return own[0]
    for name in USUAL:
        adapter = configuration.adapters[name]
        if adapter.config.api_key and configuration.default(name):
            return f"{name}:{configuration.default(name)}"
    keys = ", ".join(configuration.adapters[name].provider.auth.keys[0] for name in USUAL[:3])
    log.warning("no key is configured, so the embedded model answers; set one of %s to speak to a real one", keys)
    return f"{EMBEDDED}:"


def laid_over(below: AdapterConfig, above: AdapterConfig | Mapping[str, Any] | None) -> AdapterConfig:
    """A partial configuration over another: what it says wins, headers and options key by key."""
    if above is None:
        return below
    if isinstance(above, AdapterConfig):
        told = {name: getattr(above, name) for name in above.__struct_fields__}
        above = {name: value for name, value in told.items() if value != getattr(DEFAULTS, name)}
    unknown = sorted(set(above) - set(below.__struct_fields__))
    if unknown:
        raise ValueError(f"AdapterConfig has no {', '.join(unknown)}; it has {', '.join(below.__struct_fields__)}")
    merged = {name: {**getattr(below, name), **above[name]} for name in ("extra_headers", "options") if name in above}
    return replace(below, **{**above, **merged})


def _place(name: str, configuration: Configuration) -> Place:
    adapter, _, model = name.partition(":")
    try:
        if adapter in configuration.adapters and not model and name not in configuration.models:
            found = configuration.adapter(adapter)
            return Place(adapter=found, model=configuration.default(adapter) or "")
        return configuration.locate(name)
    except ValueError as error:
        raise NotConfigured(str(error)) from None


def _prepared(configuration: Configuration, adapter: str, request: Request) -> Request:
    """The request with the names and defaults of ``models.yaml``; the client fills in what is still open."""
    if request.model is None:
        return request
    place = configuration.locate(f"{adapter}:{request.model}").require()
    return replace(place.with_defaults(request), model=place.model)
