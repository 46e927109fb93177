"""The ids of a ``ProviderManager``: what was registered under an id, and the clients that are in use."""

from __future__ import annotations

from msgspec import Struct

from ..models.providers import Provider
from .adapter import ProviderAdapter
from .async_client import AsyncClient
from .client_parts import ClientParts, Partial
from .config import AdapterConfig
from .sync_client import Client

__all__ = ["Entry", "Registration"]


class Registration(Struct, frozen=True):
    """What was registered under an id: an adapter, a provider's row, or the name of a configured provider."""

    adapter: ProviderAdapter | Client | Provider | str
    config: Partial | None = None
    keeps_open: bool = False


class Entry:
    """An id in use: the parts of its clients and the clients made so far, or the adapter that was registered."""

    keeps_open = False
    """Whether the registered adapter is not closed with the others."""

    def __init__(
        self, parts: ClientParts | None, adapter: ProviderAdapter | Client | None, config: AdapterConfig, base: str
    ) -> None:
        self.parts, self.adapter, self.config, self.base = parts, adapter, config, base
        self.client: AsyncClient | None = None
        self.sync_client: Client | None = None

    async def close(self) -> Exception | None:
        """Close the clients. Returns what went wrong, if anything: a registered adapter may raise anything."""
        self.close_sync()
        adapter = self.adapter or self.client
        try:
            if adapter is not None and not isinstance(adapter, Client) and not self.keeps_open:
                await adapter.close()
        except Exception as error:  # noqa: BLE001
            return error
        return None

    def close_sync(self) -> None:
        """Close the synchronous clients."""
        client, self.sync_client = self.sync_client, None
        for found in (client, None if self.keeps_open else self.adapter):
            if isinstance(found, Client):
                found.close()
