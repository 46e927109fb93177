"""All providers of an application under their ids: clients made on first use, kept, and closed together."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from threading import RLock
from typing import Any, Unpack

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..dialects import DIALECTS
from ..errors import InvalidRequestError, NotConfigured
from ..models.providers import Provider
from ..types.capabilities import AdapterCapabilities
from ..types.loss import Encoded
from ..types.request import Request
from .adapter import Adapter, ProviderAdapter, Settings
from .addressing import Nowhere
from .async_client import AsyncClient
from .behaviour import Preset, apply, behaviour_from, preset
from .config import AdapterConfig, Retry
from .connect import client_at, sync_client_at
from .connecting import DEFAULTS, ClientParts, Partial, laid_over, parts_for, place_of, usual_model
from .embedded import Choice, as_script
from .embedded.row import EMBEDDED
from .environment import configured
from .exchange import Exchange
from .loss_policy import judge_losses
from .models_file import Configuration, LiveConfiguration, Place
from .sync_client import Client
from .transport.base import AsyncTransport, Transport

__all__ = ["Behaved", "ProviderManager"]

LOOK_SECONDS = 0.02
"""How old a look at ``models.yaml`` may be when a turn begins."""

log = logging.getLogger("interlingua")


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


class _Own(Struct, frozen=True):
    """What was registered under an id: an adapter, a provider's row, or the name of a configured one."""

    adapter: ProviderAdapter | Provider | str
    config: Partial | None = None


class _Entry:
    """An id in use: the way to it, or who answers for it; and the clients made so far."""

    def __init__(
        self, parts: ClientParts | None, adapter: ProviderAdapter | None, config: AdapterConfig, base: str
    ) -> None:
        self.parts, self.adapter, self.config, self.base = parts, adapter, config, base
        self.client: AsyncClient | None = None
        self.sync_client: Client | None = None

    async def close(self) -> Exception | None:
        """What went wrong, if anything: an adapter of somebody's own may raise what it likes."""
        if self.sync_client is not None:
            self.sync_client.close()
        answering = self.adapter or self.client
        try:
            if answering is not None:
                await answering.close()
        except Exception as error:  # noqa: BLE001
            return error
        return None


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
        script: Choice = None,
        **settings: Unpack[Settings],
    ) -> None:
        self._environment = os.environ if environment is None else environment
        self._live = LiveConfiguration(models, environ=self._environment)
        self._transport, self._sync_transport, self._settings = transport, sync_transport, settings
        self.behaviour, self._script = behaviour, as_script(script)
        self._own: dict[str, _Own] = {}
        self._entries: dict[str, _Entry] = {}
        self._aliases: dict[str, str] = {}
        self._retired: list[_Entry] = []
        self._looks_at = 0.0
        self.edition = 0
        """Counts the changes to what ids and names mean."""
        self._lock = RLock()  # clients that block are asked for from several threads

    # ------------------------------------------------------------------------------------------------ configuration

    @property
    def configuration(self) -> Configuration:
        """The newest usable snapshot of ``models.yaml`` and the environment."""
        self.refresh()
        return self._live.current

    def look(self) -> None:
        """``refresh``, if the last look was not just now: many turns at once need not all ask the file system."""
        now = time.monotonic()
        if now >= self._looks_at:
            self._looks_at = now + LOOK_SECONDS
            self.refresh()

    def refresh(self) -> bool:
        """Read ``models.yaml`` again if it changed. Clients that it concerns are made anew when next asked for."""
        with self._lock:
            before = self._live.current
            if not self._live.refresh():
                return False
            self.edition += 1
            changed, anew = self._live.current.changed(before), self._live.current.models != before.models
            for name, entry in list(self._entries.items()):
                if anew or entry.base in changed:
                    self._retire(name)
            return True

    def _retire(self, id: str) -> None:
        """Calls in flight go on; ``close`` closes it with the rest."""
        entry = self._entries.pop(id, None)
        if entry is not None and (entry.adapter or entry.client or entry.sync_client):
            self._retired.append(entry)

    def register(
        self, id: str, adapter: ProviderAdapter | Provider | str | None = None, config: Partial | None = None
    ) -> None:
        """Make ``id`` known: a provider's row or name, by default that of the id itself, with ``config`` laid over its
        usual settings; or an adapter of your own, which is used as it is."""
        if not id or ":" in id:
            raise ValueError(f"an id may not be empty or hold a colon, since models are id:model; got {id!r}")
        own = _Own(id if adapter is None else adapter, config)
        with self._lock:
            fresh = self._made(id, own)  # what is wrong with it is said now
            self.edition += 1
            self._retire(id)
            self._own[id], self._entries[id] = own, fresh

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
        return tuple(sorted({*self.configuration.adapters, *self._own, EMBEDDED}))

    # ----------------------------------------------------------------------------------------------------- adapters

    def get_adapter(self, id: str) -> ProviderAdapter:
        """The adapter of that id, made on first use. An unknown id raises and names the known ones."""
        with self._lock:
            entry = self._entry(id)
            if entry.adapter is not None:
                return entry.adapter
            if entry.client is None:
                assert entry.parts is not None
                entry.client = client_at(entry.parts, self._transport, self._script, **self._settings)
            return entry.client

    def get_client(self, id: str) -> Client:
        """The same for code that does not await."""
        with self._lock:
            entry = self._entry(id)
            if entry.parts is None:
                raise NotConfigured(f"{id} was registered as an adapter that awaits; it has no synchronous client")
            if entry.sync_client is None:
                entry.sync_client = sync_client_at(entry.parts, self._sync_transport, self._script, **self._settings)
            return entry.sync_client

    def get_config(self, id: str) -> AdapterConfig:
        """The settings of that id, partial ones laid over the built-in. An unknown id raises."""
        return self._entry(id).config

    def _entry(self, id: str) -> _Entry:
        with self._lock:
            self.refresh()
            id = self._meant(id)
            if id not in self._entries:
                self._entries[id] = self._made(id, self._own.get(id) or _Own(id))
            return self._entries[id]

    def _meant(self, name: str) -> str:
        """What a name stands for, through all aliases."""
        while name in self._aliases:
            name = self._aliases[name]
        return name

    def _made(self, id: str, own: _Own) -> _Entry:
        adapter, configuration = own.adapter, self._live.current
        if isinstance(adapter, Provider):
            settings = configured(adapter, laid_over(DEFAULTS, own.config), self._environment)
            parts = ClientParts(adapter, settings, self._default(adapter.name), configuration.catalogue)
            return _Entry(parts, None, settings, adapter.name)
        if isinstance(adapter, str):
            base = adapter.partition(":")[0]
            if base != EMBEDDED and adapter not in configuration.adapters:
                raise self._unknown(adapter)
            parts = parts_for(
                adapter if ":" in adapter else f"{adapter}:", configuration, own.config, self._environment
            )
            return _Entry(parts, None, parts.config, base)
        settings = laid_over(getattr(adapter, "config", None) or DEFAULTS, own.config)
        return _Entry(None, adapter, settings, "")

    def _default(self, provider: str) -> str | None:
        return self._live.current.default(provider) if provider in self._live.current.adapters else None

    def _unknown(self, id: str) -> NotConfigured:
        near = "".join(f"did you mean {word!r}? " for word in get_close_matches(id, self.ids(), n=1))
        return NotConfigured(f"no provider is registered as {id!r}; {near}known: {', '.join(self.ids())}")

    # ------------------------------------------------------------------------------------------------------- models

    def locate(self, model: str | None = None) -> tuple[str, str | None]:
        """The id and the model that a name means: ``"id:model"``, an alias, a tier, or a bare model's name.

        Without a name, what ``connect()`` would choose.
        """
        configuration = self.configuration
        name = self._meant(model) if model is not None else usual_model(configuration)
        id, _, rest = name.partition(":")
        if id in self._own:
            return id, rest or None
        if id == EMBEDDED and EMBEDDED not in configuration.adapters:
            return (name, "scripted") if rest in DIALECTS else (id, rest or "scripted")
        place = self._place(name, configuration)
        return place.adapter.id, place.model or None

    def _place(self, name: str, configuration: Configuration) -> Place:
        try:
            return place_of(name, configuration)
        except (NotConfigured, InvalidRequestError):
            near = get_close_matches(name.partition(":")[0], (*self._own, *self._aliases), n=1, cutoff=0.7)
            if not near:
                raise
            raise NotConfigured(f"nothing is called {name!r}; did you mean {near[0]!r}?") from None

    def capabilities_for(self, model: str) -> AdapterCapabilities:
        """What the model of that name takes."""
        id, name = self.locate(model)
        adapter = self.get_adapter(id)
        return adapter.capabilities if name is None else adapter.capabilities_for(name)

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
        current, own = self._live.current, self._own.get(id)
        base = own.adapter if own is not None and isinstance(own.adapter, str) else id
        if behaviour is None and model is not None and current.models and base in current.adapters:
            entry = current.locate(f"{base}:{model}").entry
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
        provider, model = self._door_and_model(provider)
        adapter = self.get_adapter(provider)
        if not isinstance(adapter, Adapter):
            raise NotConfigured(f"{provider} is an adapter of your own; only it knows what it would send")
        named = replace(request, model=request.model or model or adapter.model)
        behaved = self.behave(
            provider, adapter.name, named, behaviour, active_skills=active_skills, active_connectors=active_connectors
        )
        behaved.tell()
        stream = bool(request.stream)
        fitted, target, losses = adapter.fitted(behaved.request, stream=stream)
        address = Nowhere(adapter.provider, adapter.config)
        exchange = Exchange(
            adapter.provider,
            adapter.config,
            adapter.dialect,
            fitted,
            target,
            stream=stream,
            address=address,
            losses=losses,
        )
        judge_losses(exchange, adapter.on_loss)
        return Encoded(msgspec.json.decode(exchange.body), exchange.url, exchange.headers, exchange.losses)

    def _door_and_model(self, provider: str) -> tuple[str, str | None]:
        """An id; or an alias of a model, which says both."""
        meant = self._meant(provider)
        return self.locate(meant) if ":" in meant and meant != provider else (provider, None)

    # ----------------------------------------------------------------------------------------------------- the end

    async def close(self) -> None:
        """Close every adapter, also those that a newer configuration replaced. If some cannot be, say so at the end."""
        with self._lock:
            entries = [*self._entries.values(), *self._retired]
            self.edition += 1
            self._entries, self._own, self._retired = {}, {}, []
        once = {id(entry.adapter or entry): entry for entry in entries}
        failures = [failure for entry in once.values() if (failure := await entry.close()) is not None]
        if failures:
            raise ExceptionGroup("some adapters could not be closed", failures)

    def close_sync(self) -> None:
        """Close every synchronous client."""
        with self._lock:
            self.edition += 1
            for entry in (*self._entries.values(), *self._retired):
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


def _own_preset(told: str | dict[str, Any]) -> Preset:
    """What a model's entry says: a preset's name, or the fields of a behaviour."""
    return preset(told) if isinstance(told, str) else Preset("models.yaml", default=behaviour_from(told))
