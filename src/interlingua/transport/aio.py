"""aiohttp behind the transport interface: pooled, kept alive, every phase with its own time limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from ssl import SSLContext
from typing import Any

import aiohttp

from ..errors import AdapterError, NetworkError, RequestTimeoutError
from ..http import HttpRequest, Timeouts
from .base import DRAIN_SECONDS

__all__ = ["AioTransport"]

# What the library raises, and what we say; the first that fits.
FAILURES: tuple[tuple[type[BaseException], type[AdapterError], str], ...] = (
    (aiohttp.ConnectionTimeoutError, RequestTimeoutError, "no connection in time"),
    (aiohttp.SocketTimeoutError, RequestTimeoutError, "the provider fell silent for too long"),
    (asyncio.TimeoutError, RequestTimeoutError, "no answer in time"),
    (aiohttp.ClientConnectorDNSError, NetworkError, "the host name is not known"),
    (aiohttp.ClientSSLError, NetworkError, "no secure connection"),
    (aiohttp.ClientProxyConnectionError, NetworkError, "the proxy cannot be reached"),
    (aiohttp.ClientHttpProxyError, NetworkError, "the proxy refused"),
    (aiohttp.ClientConnectorError, NetworkError, "no connection"),
    (aiohttp.ServerDisconnectedError, NetworkError, "the server closed the connection without an answer"),
    (aiohttp.ClientPayloadError, NetworkError, "the answer was cut"),
    (aiohttp.ClientError, NetworkError, "the connection broke"),
    (OSError, NetworkError, "the connection broke"),
)
CAUGHT = (aiohttp.ClientError, asyncio.TimeoutError, OSError)


def failure(error: BaseException, host: str) -> AdapterError:
    """Our exception for one of the library's, whose own repr may hold headers and is left out."""
    for kind, ours, what in FAILURES:
        if isinstance(error, kind):
            return ours(f"{host}: {what} ({type(error).__name__})")
    return NetworkError(f"{host}: {type(error).__name__}")


class _AioReply:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.headers.items()}

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        """No generator: one that is left half-read would be closed by a task of the loop's own."""
        try:
            chunk = await self._response.content.readany()
        except CAUGHT as error:
            raise failure(error, str(self._response.url.host)) from None
        if not chunk:
            raise StopAsyncIteration
        return chunk

    async def drain(self) -> None:
        content = self._response.content
        if not content.at_eof():
            with suppress(*CAUGHT):
                async with asyncio.timeout(DRAIN_SECONDS):
                    while await content.readany():
                        pass

    def close(self) -> None:
        self._response.close()


class AioTransport:
    """Connections belong to the event loop that runs; another loop gets new ones.

    ``tls`` is an ``ssl.SSLContext``, or False for no checks. ``trust_env`` reads proxies from the environment and
    ``~/.netrc``; without it, only ``proxy`` counts.
    """

    def __init__(
        self,
        *,
        proxy: str | None = None,
        trust_env: bool = False,
        tls: SSLContext | bool = True,
        connections: int = 0,
        keep_alive_seconds: float = 60,
    ) -> None:
        self._proxy, self._trust_env, self._tls = proxy, trust_env, tls
        self._pool: dict[str, Any] = {"limit": connections, "keepalive_timeout": keep_alive_seconds}
        self._limits: dict[Timeouts, aiohttp.ClientTimeout] = {}
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def send(self, request: HttpRequest) -> _AioReply:
        session = self._session
        if session is None or self._loop is not asyncio.get_running_loop():
            session = await self._open()
        try:
            response = await session.request(
                request.method,
                request.url,
                data=request.body,
                headers=request.headers,
                timeout=self._limits.get(request.timeouts) or self._limit(request.timeouts),
                proxy=self._proxy,
                allow_redirects=False,
            )
        except aiohttp.InvalidURL:
            raise NetworkError("the base URL is not a URL", retryable=False) from None
        except CAUGHT as error:
            raise failure(error, _host(request.url)) from None
        return _AioReply(response)

    async def _open(self) -> aiohttp.ClientSession:
        """Connections of another event loop, most likely a closed one, are of no use in this one."""
        old, self._loop = self._session, asyncio.get_running_loop()
        connector = aiohttp.TCPConnector(ssl=self._tls, **self._pool)
        session = self._session = aiohttp.ClientSession(
            connector=connector, trust_env=self._trust_env, cookie_jar=aiohttp.DummyCookieJar(), read_bufsize=2**18
        )
        if old is not None:
            with suppress(RuntimeError):  # that loop is closed, and its sockets with it
                await old.close()
        return session

    def _limit(self, timeouts: Timeouts) -> aiohttp.ClientTimeout:
        limit = aiohttp.ClientTimeout(
            total=timeouts.total, connect=None, sock_connect=timeouts.connect, sock_read=timeouts.read
        )
        if len(self._limits) < 64:  # deadlines differ from call to call; usual ones do not
            self._limits[timeouts] = limit
        return limit

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2]
