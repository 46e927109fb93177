"""All providers of an application under their ids: clients made on first use, kept, and closed together."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Unpack

from msgspec import Struct
from msgspec.structs import replace

from .adapter import Adapter, ProviderAdapter, Settings
from .addressing import at_door, lay_over
from .awaiting import AsyncClient
from .behaviour import Preset, apply, behaviour_from, preset
from .blocking import Client
from .catalogue import Configuration, LiveConfiguration
from .client import client_at, sync_client_at
from .config import AdapterConfig, Retry
from .connecting import Door, door_to, laid_over
from .dialects import DIALECTS
from .embedded.row import EMBEDDED, embedded_provider
from .environment import configured
from .errors import NotConfigured
from .providers.table import Provider
from .transport.base import AsyncTransport, Transport
from .types.capabilities import AdapterCapabilities
from .types.loss import Encoded
from .types.request import Request

__all__ = ["Behaved", "ProviderManager"]

log = logging.getLogger("interlingua")

Partial = AdapterConfig | Mapping[str, Any]


class Behaved(Struct, frozen=True):
    """A request with a behaviour applied: which tools were left out of it, what to warn of, how to repeat failures."""

    request: Request
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    retry: Retry | None = None
    max_retries: int | None = None

    def tell(self) -> None:
        """Log what a caller should know."""
        if self.left_out:
            log.info("tools left out: %s", ", ".join(self.left_out))
        for warning in self.warnings:
            log.warning("%s", warning)


class _Entry:
    """A registered id: how to reach it, or who answers for it; and the clients made so far."""

    def __init__(
        self,
        door: Door | None = None,
        adapter: ProviderAdapter | None = None,
        config: AdapterConfig | None = None,
    ) -> None:
        self.door, self.adapter = door, adapter
        self.config = door.config if door is not None else config or AdapterConfig()
        self.client: AsyncClient | None = None
        self.sync_client: Client | None = None


def _config_of(adapter: ProviderAdapter) -> AdapterConfig:
    config = getattr(adapter, "config", None)
    return config if isinstance(config, AdapterConfig) else AdapterConfig()


def _own_preset(told: str | dict[str, Any]) -> Preset:
    """What a model's entry says: a preset's name, or the fields of a behaviour."""
    return preset(told) if isinstance(told, str) else Preset("models.yaml", default=behaviour_from(told))


class ProviderManager:
    """``get_adapter("anthropic")`` is a client; ids are those of ``models.yaml``, the built-in ones and your own.

    ``models`` names a ``models.yaml`` (else it is looked for in the usual places); a file that changes is read again
    before the next client is handed out, and calls in flight keep the one they began with.
    """

    def __init__(
        self,
        models: str | Path | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        transport: AsyncTransport | None = None,
        sync_transport: Transport | None = None,
        behaviour: str | Preset | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        self._environment = os.environ if environment is None else environment
        self._live = LiveConfiguration(models, environ=self._environment)
        self._transport, self._sync_transport, self._settings = transport, sync_transport, settings
        self.behaviour = behaviour
        self._entries: dict[str, _Entry] = {}
        self._own: dict[str, _Entry] = {}
        self._aliases: dict[str, str] = {}
        self._retired: list[_Entry] = []

    # ------------------------------------------------------------------------------------------------ configuration

    @property
    def configuration(self) -> Configuration:
        """The newest usable snapshot of ``models.yaml`` and the environment."""
        self.refresh()
        return self._live.current

    def refresh(self) -> bool:
        """Read ``models.yaml`` again if it changed. Clients that it concerns are made anew when next asked for."""
        before = self._live.current
        if not self._live.refresh():
            return False
        changed = self._live.current.changed(before)
        for name in list(self._entries):
            if name in changed or self._live.current.models != before.models:
                self._retired.append(self._entries.pop(name))
        return True

    def register(
        self, id: str, adapter: ProviderAdapter | Provider | str | None = None, config: Partial | None = None
    ) -> None:
        """Make ``id`` known: a provider's row or name, by default that of the id itself, with ``config`` laid over its
        usual settings; or an adapter of your own, which is used as it is."""
        if adapter is None or isinstance(adapter, str | Provider):
            row, below = self._below(adapter or id)
            settings = configured(row, laid_over(below, config), self._environment)
            model = self._default(row.name)
            entry = _Entry(Door(row, settings, model, self._live.current.catalogue))
        else:
            entry = _Entry(adapter=adapter, config=laid_over(_config_of(adapter), config))
        if id in self._own:
            self._retired.append(self._own[id])
        self._own[id] = entry

    def _below(self, adapter: Provider | str) -> tuple[Provider, AdapterConfig]:
        if isinstance(adapter, Provider):
            return adapter, AdapterConfig()
        if adapter == EMBEDDED:
            return embedded_provider(), AdapterConfig()
        known = self._live.current.adapters.get(adapter)
        if known is None:
            raise self._unknown(adapter)
        return known.provider, known.config

    def _default(self, provider: str) -> str | None:
        return self._live.current.default(provider) if provider in self._live.current.adapters else None

    def alias(self, name: str, model: str) -> None:
        """Let ``name`` mean ``model`` (``"provider:model"``) from now on."""
        self._aliases[name] = model

    def ids(self) -> tuple[str, ...]:
        """All ids that ``get_adapter`` knows."""
        return tuple(sorted({*self.configuration.adapters, *self._own, EMBEDDED}))

    # ----------------------------------------------------------------------------------------------------- adapters

    def get_adapter(self, id: str) -> ProviderAdapter:
        """The adapter of that id, made on first use. An unknown id raises and names the known ones."""
        entry = self._entry(id)
        if entry.adapter is not None:
            return entry.adapter
        if entry.client is None:
            assert entry.door is not None
            entry.client = client_at(entry.door, self._transport, **self._settings)
        return entry.client

    def get_client(self, id: str) -> Client:
        """The same for code that does not await."""
        entry = self._entry(id)
        if entry.door is None:
            raise NotConfigured(f"{id} was registered as an adapter that awaits; it has no synchronous client")
        if entry.sync_client is None:
            entry.sync_client = sync_client_at(entry.door, self._sync_transport, **self._settings)
        return entry.sync_client

    def get_config(self, id: str) -> AdapterConfig:
        """The settings of that id, partial ones laid over the built-in. An unknown id raises."""
        return self._entry(id).config

    def _entry(self, id: str) -> _Entry:
        configuration = self.configuration
        found = self._own.get(id) or self._entries.get(id)
        if found is None:
            if id not in configuration.adapters and id.partition(":")[0] != EMBEDDED:
                raise self._unknown(id)
            name = id if ":" in id else f"{id}:"
            door = door_to(name, configuration, environment=self._environment)
            found = self._entries[id] = _Entry(door)
        return found

    def _unknown(self, id: str) -> NotConfigured:
        return NotConfigured(f"no provider is registered as {id!r}; known: {', '.join(self.ids())}")

    # ------------------------------------------------------------------------------------------------------- models

    def locate(self, model: str | None = None) -> tuple[str, str | None]:
        """The id and the model that a name means: ``"id:model"``, an alias, a tier, or a bare model's name.

        Without a name, what ``connect()`` would choose.
        """
        name = self._aliases.get(model, model) if model is not None else None
        id, colon, rest = (name or "").partition(":")
        if id == EMBEDDED and id not in self._own:
            return (f"{id}:{rest}", "scripted") if rest in DIALECTS else (id, rest or "scripted")
        if colon and id in self._own:
            return id, rest or None
        if name in self._own:
            return name, None
        door = door_to(name, self.configuration, environment=self._environment)
        if name is None or ":" not in name or id not in self._live.current.adapters:
            return self._id_of(door, name), door.model
        return id, door.model

    def _id_of(self, door: Door, name: str | None) -> str:
        if door.provider.name == EMBEDDED:
            return EMBEDDED
        if name is None:
            return door.provider.name
        return self._live.current.locate(name).adapter.id if name not in self._live.current.adapters else name

    def capabilities_for(self, model: str) -> AdapterCapabilities:
        """What the model of that name takes."""
        id, name = self.locate(model)
        return self.get_adapter(id).capabilities_for(name or "")

    def behave(
        self,
        id: str,
        provider: str,
        request: Request,
        behaviour: str | Preset | None = None,
        *,
        active_skills: Iterable[str] = (),
        active_connectors: Iterable[str] = (),
    ) -> Behaved:
        """The request as the behaviour for this provider and model wants it: the one given here, else that of the
        model's entry in ``models.yaml``, else the manager's own; without any, nothing is changed."""
        chosen = self._preset(id, request.model, behaviour)
        if chosen is None:
            return Behaved(request)
        row = chosen.behaviour_for(provider, request.model)
        applied = apply(
            request,
            row,
            core_tools=chosen.core_tools,
            active_skills=active_skills,
            active_connectors=active_connectors,
        )
        return Behaved(applied.request, applied.left_out, applied.warnings, row.retry, row.max_retries)

    def _preset(self, id: str, model: str | None, behaviour: str | Preset | None) -> Preset | None:
        current = self._live.current
        if behaviour is None and model is not None and current.models and id in current.adapters:
            entry = current.locate(f"{id}:{model}").entry
            if entry is not None and entry.behaviour is not None:
                return _own_preset(entry.behaviour)
        behaviour = behaviour or self.behaviour
        return preset(behaviour) if isinstance(behaviour, str) else behaviour

    def prepare_request(
        self,
        provider: str,
        request: Request,
        *,
        behaviour: str | Preset | None = None,
        active_skills: Iterable[str] = (),
        active_connectors: Iterable[str] = (),
    ) -> Encoded:
        """What would be sent: body, path, headers without a key, and losses; for callers with a loop of their own.

        The behaviour of the provider and model is applied; tools that it leaves out are said in a log line.
        """
        adapter = self.get_adapter(provider)
        if not isinstance(adapter, Adapter):
            raise NotConfigured(f"{provider} is an adapter of your own; only it knows what it would send")
        named = replace(request, model=request.model or adapter.model)
        behaved = self.behave(
            provider, adapter.name, named, behaviour, active_skills=active_skills, active_connectors=active_connectors
        )
        behaved.tell()
        request = behaved.request
        fitted, target, losses = adapter.fitted(request, stream=bool(request.stream))
        encoded = adapter.dialect.encode_request(fitted, target)
        path, body = at_door(adapter.provider, fitted.model, encoded.path, encoded.body, stream=bool(fitted.stream))
        more = adapter.config.options.get("body")
        body = lay_over(body, more) if more else body
        return replace(encoded, body=body, path=path, losses=(*losses, *encoded.losses))

    # ----------------------------------------------------------------------------------------------------- the end

    def _all(self) -> Iterable[_Entry]:
        return (*self._entries.values(), *self._own.values(), *self._retired)

    async def close(self) -> None:
        """Close every adapter."""
        entries = tuple(self._all())
        self._entries, self._own, self._retired = {}, {}, []
        for entry in entries:
            adapter = entry.adapter or entry.client
            if adapter is not None:
                await adapter.close()
            if entry.sync_client is not None:
                entry.sync_client.close()

    def close_sync(self) -> None:
        """Close every synchronous client."""
        for entry in self._all():
            client, entry.sync_client = entry.sync_client, None
            if client is not None:
                client.close()

    async def __aenter__(self) -> ProviderManager:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __enter__(self) -> ProviderManager:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_sync()
