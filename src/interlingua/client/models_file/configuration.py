"""A configuration: one immutable snapshot of ``models.yaml`` and the environment.

The environment is an argument, and not read here. A call keeps the snapshot it began with, so the snapshot can be
replaced at any time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from msgspec import Struct, structs

from ...errors import NotConfigured
from ...models.catalogue.facts import Facts
from ...models.catalogue.families import home
from ...models.catalogue.layers import Layer
from ...models.catalogue.models import ALWAYS_HOME, Catalogue
from ...models.catalogue.names import ALSO_CALLED, FAMILY_NAMES, advice_for, our_spelling
from ...models.catalogue.prices import Price
from ...models.catalogue.tiers import TIER_NAMES
from ...models.providers import PROVIDERS, Provider
from ...types.capabilities import AdapterCapabilities
from ...types.request import Request, Thinking
from ..config import AdapterConfig, Retry
from .models_yaml import AdapterEntry, Defaults, ModelEntry, ModelsFile

__all__ = ["Adapter", "Configuration", "Place"]

NOTHING_SET = Defaults()
OUR_NAMES = Catalogue(())
"""Our own names of models, and nothing else."""
MOST_REMEMBERED = 256
"""The most names whose places are cached: each call looks one up."""


class Adapter(Struct, frozen=True, kw_only=True):
    """One configured provider. ``missing`` is a sentence that says what is missing before it can be used."""

    id: str
    provider: Provider
    config: AdapterConfig
    default_model: str | None = None
    model_map: dict[str, str] = {}
    defaults: Defaults = Defaults()
    missing: str | None = None


class Place(Struct, frozen=True, kw_only=True):
    """What a name means: the adapter, the provider's name of the model, and the user's entry for it, if any."""

    adapter: Adapter
    model: str
    entry: ModelEntry | None = None

    @property
    def configured(self) -> bool:
        """Whether a call could be made."""
        return self.adapter.missing is None

    def require(self) -> Place:
        """The place itself; raises ``NotConfigured`` with what to do if it cannot be used."""
        if self.adapter.missing is not None:
            raise NotConfigured(self.adapter.missing, provider=self.adapter.provider.name)
        return self

    def with_defaults(self, request: Request) -> Request:
        """The request with the model's and then the adapter's defaults for fields that it does not set."""
        for defaults in ((self.entry.defaults if self.entry else None), self.adapter.defaults):
            if defaults is not None and defaults != NOTHING_SET:
                request = _fill(request, defaults)
        return request


class Configuration:
    """Adapters and models by the user's names, and every built-in provider with its usual settings."""

    def __init__(
        self,
        file: ModelsFile | None = None,
        *,
        environ: Mapping[str, str],
        source: str | None = None,
        layers: tuple[Layer, ...] | None = None,
    ) -> None:
        file = file or ModelsFile()
        self.source = source
        self.models = dict(file.models)
        entries = {**{name: AdapterEntry() for name in PROVIDERS}, **file.adapters}
        self.adapters = {name: _adapter(name, entry, environ, source) for name, entry in entries.items()}
        self.file_adapters = tuple(file.adapters)
        self.warnings = tuple(_warnings(file, source))
        self._only_id = next(iter(file.adapters)) if len(file.adapters) == 1 else None
        self._aliases = {alias: name for name, entry in self.models.items() for alias in entry.aliases}
        self._places: dict[str, Place] = {}
        below = Catalogue().layers if layers is None else layers
        self.catalogue = Catalogue((*below, _Overrides(self)))

    @property
    def prices(self) -> dict[str, Price]:
        """The user's own price table, for ``Pricing``."""
        priced = {name: entry.price for name, entry in self.models.items() if entry.price is not None}
        places = {name: self.locate(name) for name in priced}
        return {f"{places[name].adapter.provider.name}:{places[name].model}": price for name, price in priced.items()}

    # ---------------------------------------------------------------------------------------------------------- names

    def locate(self, name: str) -> Place:
        """The place of a name: a model's name or alias, ``adapter:model``, or a model name whose provider is known."""
        place = self._places.get(name)
        if place is None:
            place = self._locate(name)
            if len(self._places) < MOST_REMEMBERED:
                self._places[name] = place
        return place

    def _locate(self, name: str) -> Place:
        name = self.our_spelling(name)
        entry = self.models.get(name)
        if entry is not None:
            adapter = self.adapter(entry.adapter or self._only_id or "")
            return Place(adapter=adapter, model=entry.wire_name or self._wire_name(adapter, name), entry=entry)
        prefix, colon, model = name.partition(":")
        if not colon:
            prefix, model = self._only_id or self._home_provider(name), name
        elif prefix not in self.adapters and self._only_id is not None:
            prefix, model = self._only_id, name  # the colon is a part of the model's name
        adapter = self.adapter(prefix, name)
        wire = self._wire_name(adapter, model)
        return Place(adapter=adapter, model=wire, entry=self._entry(adapter, model, wire))

    def our_spelling(self, name: str) -> str:
        """The model's name that an alias stands for; else ``adapter:model`` for spellings such as ``adapter/model``."""
        name = self._aliases.get(name, name)
        if name in self.models or self._only_id is not None:
            return name
        return FAMILY_NAMES.get(name) or our_spelling(name, self.adapters)

    def resolve(self, name: str) -> tuple[Provider, str]:
        """The provider and its own name of the model."""
        place = self.locate(name)
        return place.adapter.provider, place.model

    def adapter(self, name: str, whole: str = "") -> Adapter:
        """The adapter of that name, or an error that names the known ones. ``whole`` is the name with its model."""
        found = self.adapters.get(name)
        if found is None:
            known = sorted(self.adapters)
            near = advice_for(whole) or "".join(f"did you mean {word!r}?" for word in _similar(name, known))
            raise ValueError(f"no adapter or provider is called {name!r}; {near or 'known: ' + ', '.join(known)}")
        return found

    def default(self, adapter: str) -> str | None:
        """The wire name of an adapter's default model; of its ``balanced`` tier if none is given."""
        row = self.adapter(adapter)
        wanted = row.default_model or "balanced"
        place = self.locate(wanted) if wanted in self.models or wanted in self._aliases else None
        wire = place.model if place is not None and place.adapter.id == row.id else self._wire_name(row, wanted)
        return None if wire == "balanced" else wire

    def _home_provider(self, name: str) -> str:
        is_plain = "/" not in name.removeprefix("models/")  # Google's own names begin so
        found = ALWAYS_HOME.get(name) or home(name) if is_plain else None
        if found is None:
            raise ValueError(f"no model is called {name!r}; {self._suggestion(name)}")
        return found

    def _suggestion(self, name: str) -> str:
        known = sorted({*self.models, *self._aliases})
        if (instead := advice_for(name)) is not None:
            return instead
        near = _similar(name, [*known, *self.adapters, *FAMILY_NAMES, *TIER_NAMES])
        if near:
            return f"did you mean {near[0]!r}?"
        advice = f"write adapter:model (adapters: {', '.join(sorted(self.adapters))})"
        return f"{advice}, or one of the configured: {', '.join(known)}" if known else advice

    def _wire_name(self, adapter: Adapter, model: str) -> str:
        """The provider's name of a model: by ``model_map``, then by the user's tiers, then by ours; else as written.

        A wire name is returned as it is, so that a name may be looked up twice.
        """
        model = adapter.model_map.get(model, model)
        tier = TIER_NAMES.get(model)
        for name, entry in self.models.items() if tier is not None else ():
            if TIER_NAMES.get(entry.tier or "") == tier and (entry.adapter or self._only_id) == adapter.id:
                return entry.wire_name or name
        return OUR_NAMES.wire_name(adapter.provider.name, model)

    def _entry(self, adapter: Adapter, model: str, wire: str) -> ModelEntry | None:
        for name, entry in self.models.items():
            if (entry.adapter or self._only_id) == adapter.id and (name == model or (entry.wire_name or name) == wire):
                return entry
        return None

    # --------------------------------------------------------------------------------------------------------- facts

    def capabilities_for(self, name: str) -> AdapterCapabilities:
        """What the model of that name can do."""
        place = self.locate(name)
        return self.catalogue.capabilities_for(place.adapter.provider.name, place.model)

    def status(self) -> dict[str, str]:
        """Each configured model: ``ready``, or ``not_configured`` and why."""
        found = {name: self.locate(name).adapter.missing for name in self.models}
        return {name: "ready" if why is None else f"not_configured: {why}" for name, why in found.items()}

    def changed(self, older: Configuration) -> frozenset[str]:
        """The adapters that are new, removed or changed. Calls in flight keep the old ones."""
        names = {*self.adapters, *older.adapters}
        return frozenset(name for name in names if self.adapters.get(name) != older.adapters.get(name))


class _Overrides:
    """The top layer of the catalogue: the user's facts about models."""

    name = "models.yaml"

    def __init__(self, configuration: Configuration) -> None:
        self._facts: dict[tuple[str, str], Facts] = {}
        for name, entry in configuration.models.items():
            place = configuration.locate(name)
            self._facts[place.adapter.provider.name, place.model] = entry.overrides

    def facts(self, provider: str, model: str) -> Facts | None:
        return self._facts.get((provider, model))


# ------------------------------------------------------------------------------------------------- building an adapter


def _similar(name: str, known: Sequence[str]) -> list[str]:
    """The known name that is most similar, if any is."""
    also = ALSO_CALLED.get(name.lower())
    return [also] if also in known and also is not None else get_close_matches(name, known, n=1, cutoff=0.7)


def _adapter(name: str, entry: AdapterEntry, environ: Mapping[str, str], source: str | None) -> Adapter:
    row = PROVIDERS[entry.type or name]
    if entry.api_key_env:  # the only variable that is read
        row = structs.replace(row, auth=structs.replace(row.auth, keys=(entry.api_key_env,)))
    key = entry.api_key or next((environ[name] for name in row.auth.keys if environ.get(name)), None)
    return Adapter(
        id=name,
        provider=row,
        config=AdapterConfig(api_key=key, **_settings(entry)),
        default_model=entry.default_model,
        model_map=entry.model_map,
        defaults=entry.defaults,
        missing=None if key or not _needs_key(entry, row) else _key_advice(name, row, source),
    )


def _settings(entry: AdapterEntry) -> dict[str, Any]:
    """Only what the user set. ``AdapterConfig`` has defaults for the rest."""
    names = ("base_url", "timeout_seconds", "extra_headers", "ca_bundle", "client_cert", "client_key")
    found: dict[str, Any] = {name: getattr(entry, name) for name in names if getattr(entry, name)}
    for name in ("max_retries", "proxy"):
        if getattr(entry, name) is not None:
            found[name] = getattr(entry, name)
    if entry.retry is not None:
        retry = structs.asdict(entry.retry)
        found["retry"] = Retry(**{name: value for name, value in retry.items() if value is not None})
    options = dict(entry.options)
    if entry.connect_timeout_seconds is not None:
        options["connect_timeout"] = entry.connect_timeout_seconds
    return {**found, "options": options}


def _needs_key(entry: AdapterEntry, row: Provider) -> bool:
    """Whether a key is required: not for a local server, a signer or a header, but if ``api_key_env`` is set."""
    if entry.api_key_env:
        return True
    given = {name.lower() for name in entry.extra_headers} & {"authorization", (row.auth.header or "").lower()}
    return row.auth.kind not in ("none", "sigv4", "google") and not given


def _key_advice(name: str, row: Provider, source: str | None) -> str:
    variable = row.auth.keys[0] if row.auth.keys else "a variable"
    other = f", or name another one in {source} (adapters.{name}.api_key_env)" if source else ""
    return f"{name} has no key: set the environment variable {variable}{other}"


def _warnings(file: ModelsFile, source: str | None) -> list[str]:
    return [
        f"{source or 'models.yaml'}: adapters.{name} contains a key; prefer api_key_env, because files get copied"
        for name, entry in file.adapters.items()
        if entry.api_key is not None
    ]


def _fill(request: Request, defaults: Defaults) -> Request:
    values = {name: value for name, value in structs.asdict(defaults).items() if value is not None}
    if defaults.thinking is not None:
        values["thinking"] = Thinking(**structs.asdict(defaults.thinking))
    return structs.replace(
        request, **{name: value for name, value in values.items() if _is_unset(getattr(request, name))}
    )


def _is_unset(value: object) -> bool:
    return value is None or value == () or value == {}
