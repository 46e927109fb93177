"""``ProviderManager``: all providers of an application under their ids, with clients that are made on first use."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from threading import RLock
from typing import Any, Unpack

from msgspec.structs import replace

from ..dialects import DIALECTS
from ..errors import InvalidRequestError, NotConfigured
from ..models.catalogue.names import our_spelling
from ..models.providers import Provider
from ..types.capabilities import AdapterCapabilities
from ..types.checking import check_arguments
from ..types.loss import Encoded
from ..types.request import Request
from .adapter import CHECKED_ARGUMENTS, Adapter, ProviderAdapter, Settings
from .addressing import KeylessAddress
from .behaviour import Applied, Preset, apply_preset, behaviour_from, preset
from .bus import BUS, Bus
from .client_parts import (
    DEFAULTS,
    ClientParts,
    Partial,
    default_model,
    merge_settings,
    parts_for,
    place_of,
    with_url_and_key,
)
from .config import AdapterConfig
from .connect import client_at, sync_client_at
from .embedded import Choice, as_script
from .embedded.provider import EMBEDDED
from .entries import Entry, Registration
from .environment import configured
from .loss_policy import judge_losses
from .models_file import Configuration, Place, watch_configuration
from .models_file.models_yaml import ModelEntry
from .sync_client import Client
from .transport.base import AsyncTransport, Transport

__all__ = ["ProviderManager"]

CHECK_SECONDS = 0.02
"""When a turn begins, ``models.yaml`` is checked for changes if the last check is older than this."""

log = logging.getLogger("interlingua")


class ProviderManager:
    """``get_adapter("anthropic")`` is a client. Ids are built-in, from ``models.yaml``, or registered.

    ``models`` is the path of a ``models.yaml``; without it, the usual places are searched. A file that changes is read
    again before the next client is returned, and calls in flight keep the client they began with.
    """

    def __init__(
        self,
        models: str | Path | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        transport: AsyncTransport | None = None,
        sync_transport: Transport | None = None,
        behaviour: str | Preset | None = None,
        script: Choice = None,
        **settings: Unpack[Settings],
    ) -> None:
        check_arguments("a manager", settings, dict.fromkeys(Settings.__annotations__, Any) | CHECKED_ARGUMENTS)
        self._environment = os.environ if environment is None else environment
        self._watched = watch_configuration(models, environ=self._environment)
        self._transport, self._sync_transport, self._settings = transport, sync_transport, settings
        self.behaviour, self._script = behaviour, as_script(script)
        self._registered: dict[str, Registration] = {}
        self._entries: dict[str, Entry] = {}
        self._aliases: dict[str, str] = {}
        self._retired: list[Entry] = []
        self._next_check = 0.0
        self.edition = 0
        """Counts the changes to the meaning of ids and names."""
        self._lock = RLock()  # several threads may ask for synchronous clients

    # ------------------------------------------------------------------------------------------------ configuration

    @property
    def configuration(self) -> Configuration:
        """The newest usable snapshot of ``models.yaml`` and the environment."""
        self.refresh()
        return self._watched.current

    @property
    def bus(self) -> Bus:
        """The bus for the events of its clients and of the sessions that use them."""
        return self._settings.get("bus", BUS)

    def refresh_if_due(self) -> None:
        """``refresh``, unless the last check was just now: many turns at once need not all check the file."""
        now = time.monotonic()
        if now >= self._next_check:
            self._next_check = now + CHECK_SECONDS
            self.refresh()

    def refresh(self) -> bool:
        """Read ``models.yaml`` again if it changed. Clients whose settings changed are made anew on their next use."""
        with self._lock:
            before = self._watched.current
            if not self._watched.refresh():
                return False
            self.edition += 1
            now = self._watched.current
            changed, models_changed = now.changed(before), now.models != before.models
            for name, entry in list(self._entries.items()):
                if models_changed or entry.base in changed:
                    self._retire(name)
            return True

    def _retire(self, id: str) -> None:
        """Stop using the clients of an id. Calls in flight go on; ``close`` closes these clients too."""
        entry = self._entries.pop(id, None)
        if entry is not None and (entry.adapter or entry.client or entry.sync_client):
            self._retired.append(entry)

    def register(
        self,
        id: str,
        adapter: ProviderAdapter | Client | Provider | str | None = None,
        config: Partial | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        keeps_open: bool = False,
    ) -> None:
        """Make ``id`` known: a provider's row or name (by default the id itself), with ``config``, ``base_url`` and
        ``api_key`` laid over its usual settings; or a client or an adapter of your own, which is used as it is.

        ``keeps_open``: an adapter of your own is not closed with the others.
        """
        if not id or (":" in id and adapter is not None):
            raise ValueError(f"an id may not be empty or hold a colon, since models are id:model; got {id!r}")
        registration = Registration(
            id if adapter is None else adapter, with_url_and_key(config, base_url, api_key), keeps_open
        )
        with self._lock:
            fresh = self._make_entry(id, registration)  # raises now if something is wrong with it
            self.edition += 1
            self._retire(id)
            self._registered[id], self._entries[id] = registration, fresh

    def alias(self, name: str, model: str) -> None:
        """Let ``name`` mean ``model`` from now on: ``"provider:model"``, or the id of a provider."""
        step: str | None = model
        while step is not None:
            if step == name:
                raise ValueError(f"{name!r} would mean itself")
            step = self._aliases.get(step)
        self._aliases[name] = model
        self.edition += 1

    def ids(self) -> tuple[str, ...]:
        """All ids that ``get_adapter`` knows."""
        return tuple(sorted({*self.configuration.adapters, *self._registered, EMBEDDED}))

    # ----------------------------------------------------------------------------------------------------- adapters

    def get_adapter(self, id: str) -> ProviderAdapter:
        """The adapter of that id, made on first use. An unknown id raises and names the known ones."""
        with self._lock:
            entry = self._entry(id)
            if isinstance(entry.adapter, Client):
                raise NotConfigured(f"{id} was registered as a synchronous client; it cannot be awaited")
            if entry.adapter is not None:
                return entry.adapter
            if entry.client is None:
                assert entry.parts is not None
                entry.client = client_at(entry.parts, self._transport, self._script, **self._settings)
                entry.client.account = id
            return entry.client

    def get_client(self, id: str) -> Client:
        """As ``get_adapter``, for synchronous code."""
        with self._lock:
            entry = self._entry(id)
            if isinstance(entry.adapter, Client):
                return entry.adapter
            if entry.parts is None:
                raise NotConfigured(f"{id} was registered as an async adapter; it has no synchronous client")
            if entry.sync_client is None:
                entry.sync_client = sync_client_at(entry.parts, self._sync_transport, self._script, **self._settings)
                entry.sync_client.account = id
            return entry.sync_client

    def known_adapter(self, id: str) -> ProviderAdapter | Client:
        """The adapter of that id, async or blocking, to look up facts about it and not to call it."""
        adapter = self._entry(id).adapter
        return self.get_adapter(id) if adapter is None else adapter

    def get_config(self, id: str) -> AdapterConfig:
        """The settings of that id, the registered ones laid over the built-in. An unknown id raises."""
        return self._entry(id).config

    def _entry(self, id: str) -> Entry:
        with self._lock:
            self.refresh()
            id = self._resolve_alias(id)
            if id not in self._entries:
                self._entries[id] = self._make_entry(id, self._registered.get(id) or Registration(id))
            return self._entries[id]

    def _resolve_alias(self, name: str) -> str:
        """What a name stands for, after all aliases."""
        while name in self._aliases:
            name = self._aliases[name]
        return name

    def _make_entry(self, id: str, registration: Registration) -> Entry:
        adapter, configuration = registration.adapter, self._watched.current
        if isinstance(adapter, Provider):
            settings = configured(adapter, merge_settings(DEFAULTS, registration.config), self._environment)
            parts = ClientParts(adapter, settings, self._default_model_of(adapter.name), configuration.catalogue)
            return Entry(parts, None, settings, adapter.name)
        if isinstance(adapter, str):
            base = adapter.partition(":")[0]
            if base != EMBEDDED and adapter not in configuration.adapters:
                raise self._unknown(adapter)
            parts = parts_for(
                adapter if ":" in adapter else f"{adapter}:", configuration, registration.config, self._environment
            )
            return Entry(parts, None, parts.config, base)
        settings = merge_settings(getattr(adapter, "config", None) or DEFAULTS, registration.config)
        entry = Entry(None, adapter, settings, "")
        entry.keeps_open = registration.keeps_open
        return entry

    def _default_model_of(self, provider: str) -> str | None:
        return self._watched.current.default(provider) if provider in self._watched.current.adapters else None

    def _unknown(self, id: str) -> NotConfigured:
        near = "".join(f"did you mean {word!r}? " for word in get_close_matches(id, self.ids(), n=1))
        return NotConfigured(f"no provider is registered as {id!r}; {near}known: {', '.join(self.ids())}")

    # ------------------------------------------------------------------------------------------------------- models

    def locate(self, model: str | None = None) -> tuple[str, str | None]:
        """The id and the model that a name means: ``"id:model"``, an alias, a tier, or a bare model's name.

        Without a name, what ``connect()`` would choose.
        """
        configuration = self.configuration
        name = self._resolve_alias(model) if model is not None else default_model(configuration)
        name = our_spelling(name, self._registered)
        id, _, rest = name.partition(":")
        registered = self._registered.get(id)
        if registered is not None and (registered.adapter != id or id not in configuration.adapters):
            return id, rest or None
        if id == EMBEDDED and EMBEDDED not in configuration.adapters:
            return (name, "scripted") if rest in DIALECTS else (id, rest or "scripted")
        place = self._place(name, configuration)
        return place.adapter.id, place.model or None

    def _place(self, name: str, configuration: Configuration) -> Place:
        try:
            return place_of(name, configuration)
        except (NotConfigured, InvalidRequestError):
            near = get_close_matches(name.partition(":")[0], (*self._registered, *self._aliases), n=1, cutoff=0.7)
            if not near:
                raise
            raise NotConfigured(f"nothing is called {name!r}; did you mean {near[0]!r}?") from None

    def capabilities_for(self, model: str) -> AdapterCapabilities:
        """What the model of that name can do."""
        id, name = self.locate(model)
        adapter = self.known_adapter(id)
        return adapter.capabilities if name is None else adapter.capabilities_for(name)

    def preset_for(self, id: str, model: str | None, behaviour: str | Preset | None = None) -> Preset | None:
        """The behaviour of requests to this model: ``behaviour``, else that of the model's entry in ``models.yaml``,
        else the manager's own; None if there is none."""
        entry = self._models_yaml_entry(id, model) if behaviour is None else None
        if entry is not None and entry.behaviour is not None:
            return _preset_of_entry(entry.behaviour)
        behaviour = behaviour or self.behaviour
        return preset(behaviour) if isinstance(behaviour, str) else behaviour

    def may_delegate(self, id: str, model: str | None) -> bool:
        """Whether sessions that are tools are offered to this model (``can_delegate`` in ``models.yaml``)."""
        entry = self._models_yaml_entry(id, model)
        return entry is None or entry.can_delegate

    def _models_yaml_entry(self, id: str, model: str | None) -> ModelEntry | None:
        current, registered = self._watched.current, self._registered.get(id)
        base = registered.adapter if registered is not None and isinstance(registered.adapter, str) else id
        if model is None or not current.models or base not in current.adapters:
            return None
        return current.locate(f"{base}:{model}").entry

    def prepare_request(
        self,
        provider: str,
        request: Request,
        *,
        behaviour: str | Preset | None = None,
        active_skills: Iterable[str] = (),
        active_connectors: Iterable[str] = (),
    ) -> Encoded:
        """What would be sent: body, path, headers without a key, and losses; for callers who send it themselves.

        The behaviour of the provider and model is applied; the tools that it leaves out are logged.
        """
        provider, model = self._id_and_model(provider)
        adapter = self.known_adapter(provider)
        if not isinstance(adapter, Adapter):
            raise NotConfigured(f"{provider} is an adapter of your own; only it knows what it would send")
        if request.model is not None:
            model = self._model_at(provider, request.model)
        sent = replace(request, model=model or adapter.model)
        chosen = self.preset_for(provider, sent.model, behaviour)
        if chosen is not None:
            applied = apply_preset(
                sent, chosen, adapter.name, active_skills=active_skills, active_connectors=active_connectors
            )
            _log_changes(applied)
            sent = applied.request
        address = KeylessAddress(adapter.provider, adapter.config)
        exchange = adapter.exchange(sent, stream=bool(request.stream), address=address)
        judge_losses(exchange, adapter.on_loss)
        return Encoded(exchange.wire, exchange.url, exchange.headers, exchange.losses)

    def _id_and_model(self, name: str) -> tuple[str, str | None]:
        """The id that a name means, and the model if the name contains one."""
        meant = our_spelling(self._resolve_alias(name), self.ids())
        return self.locate(meant) if ":" in meant else (name, None)

    def _model_at(self, id: str, name: str) -> str | None:
        """The model of a request for this id: the name may be an alias, or have the id before it."""
        meant = self._resolve_alias(name)
        if meant == name and meant.partition(":")[0] != id:
            return name
        found, model = self.locate(meant)
        if found != id:
            raise InvalidRequestError(f"{name!r} is a model of {found}, and not of {id}")
        return model

    # ----------------------------------------------------------------------------------------------------- the end

    async def close(self) -> None:
        """Close every adapter, also those that a newer configuration replaced. Errors are raised at the end."""
        with self._lock:
            entries = [*self._entries.values(), *self._retired]
            self.edition += 1
            self._entries, self._registered, self._retired = {}, {}, []
        once = {id(entry.adapter or entry): entry for entry in entries}
        failures = [failure for entry in once.values() if (failure := await entry.close()) is not None]
        if failures:
            raise ExceptionGroup("some adapters could not be closed", failures)

    def close_sync(self) -> None:
        """Close every synchronous client."""
        with self._lock:
            self.edition += 1
            for entry in (*self._entries.values(), *self._retired):
                entry.close_sync()

    async def __aenter__(self) -> ProviderManager:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __enter__(self) -> ProviderManager:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_sync()


def _preset_of_entry(value: str | dict[str, Any]) -> Preset:
    """The behaviour of a model's entry: the name of a preset, or the fields of a behaviour."""
    return preset(value) if isinstance(value, str) else Preset("models.yaml", default=behaviour_from(value))


def _log_changes(applied: Applied) -> None:
    if applied.left_out:
        log.info("tools left out: %s", ", ".join(applied.left_out))
    for warning in applied.warnings:
        log.warning("%s", warning)
