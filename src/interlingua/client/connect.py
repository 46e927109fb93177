"""``connect("provider:model")`` makes an ``AsyncClient``, ``connect_sync`` a ``Client``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Unpack

from .adapter import ProviderAdapter, Settings
from .async_client import AsyncClient, AsyncStream
from .client_parts import ClientParts, Partial, configuration_of, parts_for, with_url_and_key
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
    base_url: str | None = None,
    api_key: str | None = None,
    transport: AsyncTransport | None = None,
    environment: Mapping[str, str] | None = None,
    models: str | Path | None = None,
    script: Choice = None,
    **settings: Unpack[Settings],
) -> AsyncClient:
    """A client for ``"provider:model"``, a name of ``models.yaml``, a tier, or a model whose maker is known.

    Settings come from ``base_url``, ``api_key`` and ``config`` first, then from ``models.yaml`` (or the file
    ``models``), then from the environment; all are read now. Without a model name, the first provider with a key is
    used; without any key, ``NotConfigured`` is raised. ``script`` is what ``"embedded:"`` answers, one line for each
    request; without it, it echoes.
    """
    config, api_key = with_url_and_key(config, base_url, api_key), None  # no traceback shows the key
    parts = parts_for(model, configuration_of(environment, models), config, environment)
    return client_at(parts, transport, script, **settings)


def connect_sync(
    model: str | None = None,
    config: Partial | None = None,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    transport: Transport | None = None,
    environment: Mapping[str, str] | None = None,
    models: str | Path | None = None,
    script: Choice = None,
    **settings: Unpack[Settings],
) -> Client:
    """As ``connect``, for synchronous code."""
    config, api_key = with_url_and_key(config, base_url, api_key), None  # no traceback shows the key
    parts = parts_for(model, configuration_of(environment, models), config, environment)
    return sync_client_at(parts, transport, script, **settings)


def client_at(
    parts: ClientParts, transport: AsyncTransport | None = None, script: Choice = None, **settings: Unpack[Settings]
) -> AsyncClient:
    """An async client of these parts."""
    if transport is None and parts.embedded:
        transport = AsyncMemoryTransport(handler(script))
    elif transport is None and parts.in_process:
        transport = import_module(".local", __package__).AsyncLocalTransport(parts.config.options)
    arguments: Any = {"catalogue": parts.catalogue, "prepare": parts.prepare, **settings}
    return AsyncClient(parts.provider, parts.config, model=parts.model, transport=transport, **arguments)


def sync_client_at(
    parts: ClientParts, transport: Transport | None = None, script: Choice = None, **settings: Unpack[Settings]
) -> Client:
    """A blocking client of these parts."""
    if transport is None and parts.embedded:
        transport = MemoryTransport(handler(script))
    elif transport is None and parts.in_process:
        transport = import_module(".local", __package__).LocalTransport(parts.config.options)
    arguments: Any = {"catalogue": parts.catalogue, "prepare": parts.prepare, **settings}
    return Client(parts.provider, parts.config, model=parts.model, transport=transport, **arguments)
