"""How a provider is called: ``connect("provider:model")``, ``AsyncClient`` and its twin ``Client``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from .adapter import ProviderAdapter, Settings
from .awaiting import AsyncClient, AsyncStream
from .blocking import Client, Stream
from .config import AdapterConfig
from .environment import configured
from .errors import NotConfigured
from .providers.table import PROVIDERS, Provider
from .transport.base import AsyncTransport, Transport

__all__ = ["AsyncClient", "AsyncStream", "Client", "ProviderAdapter", "Stream", "connect", "connect_sync"]


def connect(
    model: str,
    config: AdapterConfig | None = None,
    *,
    transport: AsyncTransport | None = None,
    environment: Mapping[str, str] | None = None,
    **settings: Unpack[Settings],
) -> AsyncClient:
    """A client for ``"provider:model"``; what the configuration leaves open is read from the environment, now."""
    row, name = named(model)
    return AsyncClient(row, configured(row, config, environment), model=name, transport=transport, **settings)


def connect_sync(
    model: str,
    config: AdapterConfig | None = None,
    *,
    transport: Transport | None = None,
    environment: Mapping[str, str] | None = None,
    **settings: Unpack[Settings],
) -> Client:
    """As ``connect``, for code that does not await."""
    row, name = named(model)
    return Client(row, configured(row, config, environment), model=name, transport=transport, **settings)


def named(model: str) -> tuple[Provider, str | None]:
    """The provider and the model that ``"provider:model"`` names; the model may be left out."""
    name, _, rest = model.partition(":")
    row = PROVIDERS.get(name)
    if row is None:
        known = ", ".join(sorted(PROVIDERS))
        raise NotConfigured(f"no provider is called {name!r}; write 'provider:model' with one of: {known}")
    return row, rest or None
