"""How a provider is called: ``connect("provider:model")``, ``AsyncClient`` and its twin ``Client``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from .adapter import ProviderAdapter, Settings
from .async_client import AsyncClient, AsyncStream
from .connecting import ClientParts, Partial, configuration_of, parts_for
from .embedded import Choice, handler
from .sync_client import Client, Stream
from .transport.base import AsyncTransport, Transport
from .transport.memory import AsyncMemoryTransport, MemoryTransport

__all__ = [
    "AsyncClient",
    "AsyncStream",
    "Client",
    "ProviderAdapter",
    "Stream",
    "client_at",
    "connect",
    "connect_sync",
    "sync_client_at",
]


def connect(
    model: str | None = None,
    config: Partial | None = None,
    *,
    transport: AsyncTransport | None = None,
    environment: Mapping[str, str] | None = None,
    models: str | Path | None = None,
    script: Choice = None,
    **settings: Unpack[Settings],
) -> AsyncClient:
    """A client for ``"provider:model"``, a name of ``models.yaml``, a tier, or a model whose maker is known.

    ``config`` (all or some settings) wins; what it leaves open is read now: ``models.yaml`` (``models`` names another
    file), then the environment. Without a model, the first provider with a key serves; without any key,
    ``NotConfigured`` is raised. ``script`` is what ``"embedded:"`` answers, a line for each request; without one it
    echoes.
    """
    parts = parts_for(model, configuration_of(environment, models), config, environment)
    return client_at(parts, transport, script, **settings)


def connect_sync(
    model: str | None = None,
    config: Partial | None = None,
    *,
    transport: Transport | None = None,
    environment: Mapping[str, str] | None = None,
    models: str | Path | None = None,
    script: Choice = None,
    **settings: Unpack[Settings],
) -> Client:
    """As ``connect``, for code that does not await."""
    parts = parts_for(model, configuration_of(environment, models), config, environment)
    return sync_client_at(parts, transport, script, **settings)


def client_at(
    parts: ClientParts, transport: AsyncTransport | None = None, script: Choice = None, **settings: Unpack[Settings]
) -> AsyncClient:
    """The async client that is made of these parts."""
    if transport is None and parts.embedded:
        transport = AsyncMemoryTransport(handler(script))
    told: Any = {"catalogue": parts.catalogue, "prepare": parts.prepare, **settings}
    return AsyncClient(parts.provider, parts.config, model=parts.model, transport=transport, **told)


def sync_client_at(
    parts: ClientParts, transport: Transport | None = None, script: Choice = None, **settings: Unpack[Settings]
) -> Client:
    """The blocking client that is made of these parts."""
    if transport is None and parts.embedded:
        transport = MemoryTransport(handler(script))
    told: Any = {"catalogue": parts.catalogue, "prepare": parts.prepare, **settings}
    return Client(parts.provider, parts.config, model=parts.model, transport=transport, **told)
