"""aiohttp's connection pool, without connections that have unread data: it would be read as the next answer."""

from __future__ import annotations

import asyncio
import select
from typing import Any
from weakref import WeakSet

import aiohttp
from aiohttp.connector import Connection

__all__ = ["Pool", "is_readable", "transport_of"]


class Pool(aiohttp.TCPConnector):
    """A used connection is reused only if nothing was received since its last answer, and it was not closed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)  # pyright: ignore[reportUnknownMemberType]
        self._used: WeakSet[object] = WeakSet()

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Any],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # the library's signature
    ) -> Connection:
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol = connection.protocol
            if protocol is None or protocol not in self._used:  # data on a new connection may be an early answer
                self._used.add(protocol)
                return connection
            if not protocol.should_close and not is_readable(protocol.transport):
                return connection
            connection.close()


def is_readable(transport: asyncio.BaseTransport | None) -> bool:
    """Whether there are bytes that the event loop has not read yet, or the connection was closed."""
    socket = None if transport is None else transport.get_extra_info("socket")
    if socket is None or socket.fileno() < 0:
        return True
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([socket.fileno()], [], [], 0)[0])
    poll = select.poll()
    poll.register(socket.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def transport_of(connection: Connection | None) -> asyncio.Transport | None:
    """The transport of a connection; None if it was returned to the pool. Its ``abort`` ends the connection at once.

    ``close`` would wait until all is sent, and in TLS until the other end has closed too.
    """
    return None if connection is None else connection.transport
