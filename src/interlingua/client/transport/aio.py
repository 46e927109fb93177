"""The async transport: aiohttp with a connection pool, and a time limit for every phase of a request."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import suppress
from ssl import SSLContext
from typing import Any, TypeVar

import aiohttp
from yarl import URL

from ...errors import AdapterError
from ..http import HttpRequest, Timeouts
from .base import SLOWEST, AsyncReply, no_url
from .compression import ACCEPTED
from .head import BUFFER, IS_TESTED, LONGEST, Head, write_head
from .http1 import IdleConnections, send_http1
from .pool import Pool, transport_of
from .proxies import Proxies
from .replies import CAUGHT, FAILURES, TimedReply, host_of, unpacked
from .timeouts import SharedTimer, TimedRequest

__all__ = ["AioTransport"]

CHUNK = 2**16
MOST_REMEMBERED = 64
K = TypeVar("K")
V = TypeVar("V")
PLAIN_URL = re.compile(r"https?://[\w.:\[\]-]+(?:[/?][\w\-.~%!$&'()*+,;=:@/?]*)?", re.ASCII)


class _AioReply(TimedReply):
    """A reply of aiohttp's session."""

    def __init__(self, response: aiohttp.ClientResponse, timed: TimedRequest, url: str) -> None:
        super().__init__(response.status, _headers(response), timed, url)
        self._response, self._content = response, response.content
        transport = transport_of(response.connection)
        self._unsent = None if transport is None or not transport.get_write_buffer_size() else transport
        timed.begin(self._cut)
        if timed.patience is not None:
            _stop_read_timer(response)

    async def __anext__(self) -> bytes:
        timed, chunk = self.timed, b""
        end: AdapterError | type[StopAsyncIteration] = StopAsyncIteration
        if timed.patience is not None:
            timed.wait()
        try:
            chunk = await self._content.readany()
        except CAUGHT as error:
            end = self.failed(error)
        finally:
            timed.waiting_since = None
        if chunk:
            return chunk
        timed.end()
        raise end  # not in the except block: the library's error, which may contain headers, would be its context

    async def drain(self) -> None:
        if not self._content.at_eof():
            await self.read_on()

    def close(self) -> None:
        self.timed.end()
        self._cut()

    def _cut(self) -> None:
        """Close the connection, unless the answer was read to its end and its request sent to its end."""
        transport = self._unsent or transport_of(self._response.connection)
        if transport is not None:
            transport.abort()
        self._response.close()


def _stop_read_timer(response: aiohttp.ClientResponse) -> None:
    """After the headers our shared timer checks for silence. The library would set a timer for every chunk."""
    if response.connection is not None and response.connection.protocol is not None:
        response.connection.protocol.read_timeout = None


class AioTransport:
    """Connections belong to the running event loop; another loop gets new ones.

    ``tls`` is an ``ssl.SSLContext``, or False for no checks. ``proxy`` is the URL of a proxy; without it, and with
    ``trust_env``, the environment decides.
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
        self._proxies, self._tls = Proxies(proxy, trust_env=trust_env), tls
        self._owns_connections = IS_TESTED and not connections  # the library would count idle ones against a limit
        self._idle_connections: IdleConnections | None = None
        self._keep_alive_seconds = keep_alive_seconds
        self._pool: dict[str, Any] = {"limit": connections, "keepalive_timeout": keep_alive_seconds}
        self._limits: dict[Timeouts, aiohttp.ClientTimeout] = {}
        self._session: aiohttp.ClientSession | None = None
        self._shared_timer: SharedTimer | None = None
        self._heads: dict[tuple[str, ...], tuple[dict[str, str], Head]] = {}
        self._latest_heads: dict[str, tuple[dict[str, str], Head]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def send(self, request: HttpRequest) -> Coroutine[Any, Any, AsyncReply]:
        session, timer, idle = self._session, self._shared_timer, self._idle_connections
        if session is None or timer is None or self._loop is not asyncio.get_running_loop():
            return self._open_and_send(request)
        timeouts = request.timeouts
        limit = self._limits.get(timeouts) or self._limit(timeouts)
        timed = TimedRequest(timer, timeouts.total, limit.sock_read)
        if idle is not None and (head := self._head(request)) is not None:
            return send_http1(idle, head, request, limit, timed)
        return self._send_by_session(session, request, limit, timed)

    async def _open_and_send(self, request: HttpRequest) -> AsyncReply:
        await self._open()
        return await self.send(request)

    async def _send_by_session(
        self, session: aiohttp.ClientSession, request: HttpRequest, limit: aiohttp.ClientTimeout, timed: TimedRequest
    ) -> AsyncReply:
        try:
            with timed.opening(request.timeouts.connect, len(request.body) / SLOWEST):
                response = await self._request(session, request, limit)
            return unpacked(_AioReply(response, timed, request.url))
        except aiohttp.InvalidURL:
            raise no_url() from None
        except CAUGHT as error:
            failed = FAILURES.as_error(error, host_of(request.url))
        raise failed  # not in the except block, as above

    def _request(
        self, session: aiohttp.ClientSession, request: HttpRequest, limit: aiohttp.ClientTimeout
    ) -> Awaitable[aiohttp.ClientResponse]:
        proxy = self._proxies.find(request.url)
        is_long = len(request.body) > LONGEST
        return session.request(
            request.method,
            self._url(request.url),
            data=_pieces(request.body) if is_long else request.body,
            headers={**request.headers, "Content-Length": str(len(request.body))} if is_long else request.headers,
            timeout=limit,
            proxy=None if proxy is None else URL(proxy.reveal()),
            allow_redirects=False,
        )

    async def _open(self) -> tuple[aiohttp.ClientSession, SharedTimer]:
        """Open a session. Connections of another event loop, most likely a closed one, cannot be used in this one."""
        old, self._loop = self._session, asyncio.get_running_loop()
        self._heads.clear()
        self._latest_heads.clear()
        pool = Pool(ssl=self._tls, **self._pool)
        session = self._session = aiohttp.ClientSession(
            connector=pool,
            headers={"Accept-Encoding": ACCEPTED},
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=BUFFER,
        )
        timer = self._shared_timer = SharedTimer()
        self._idle_connections = IdleConnections(pool, self._keep_alive_seconds) if self._owns_connections else None
        if old is not None:
            with suppress(RuntimeError):  # that loop is closed, and its sockets too
                await old.close()
        return session, timer

    def _head(self, request: HttpRequest) -> Head | None:
        """The head of a request that needs no session; None if it needs one. Heads are cached, because most calls
        repeat an earlier one: the last head of each URL, which is looked up first, and those with other headers."""
        if len(request.body) > LONGEST or request.method != "POST":
            return None
        url, headers = request.url, request.headers
        found = self._latest_heads.get(url)
        if found is not None and found[0] == headers:
            return found[1]
        key = url, *headers.values()
        found = self._heads.get(key)
        if found is None or found[0] != headers:
            if self._proxies.find(url) is not None:
                return None
            found = dict(headers), self._write_head(request)
            _remember(self._heads, key, found)
        _remember(self._latest_heads, url, found)
        return found[1]

    def _write_head(self, request: HttpRequest) -> Head:
        try:
            return write_head(request, self._url(request.url))
        except aiohttp.InvalidURL:
            raise no_url() from None

    def _url(self, url: str) -> URL:
        """The URL as it is written: the library would change some escapes, and a signature would be wrong then."""
        try:
            return URL(url, encoded=True) if PLAIN_URL.fullmatch(url) else URL(url)
        except ValueError:
            raise no_url() from None

    def _limit(self, timeouts: Timeouts) -> aiohttp.ClientTimeout:
        """The time limits that the library checks: connecting, and silence before the headers. We check the rest."""
        limit = aiohttp.ClientTimeout(
            total=None, connect=None, sock_connect=timeouts.connect, sock_read=_patience(timeouts)
        )
        if len(self._limits) < MOST_REMEMBERED:  # limits by a deadline differ in every call
            self._limits[timeouts] = limit
        return limit

    async def close(self) -> None:
        session, self._session = self._session, None
        if self._idle_connections is not None:
            self._idle_connections.close()
        if self._shared_timer is not None:
            self._shared_timer.close()
        if session is not None:
            await session.close()


def _remember(known: dict[K, V], key: K, value: V) -> None:
    """Add to a cache. If it is full, its oldest entry is removed."""
    if key not in known and len(known) >= MOST_REMEMBERED:
        del known[next(iter(known))]
    known[key] = value


def _patience(timeouts: Timeouts) -> float | None:
    """How long a silence may last; None if the limit of the whole attempt ends it anyway."""
    read, total = timeouts.read, timeouts.total
    return None if read is not None and total is not None and total <= read else read


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    """A long body. Between two pieces the event loop reads, so an early answer is seen before writing fails."""
    for start in range(0, len(body), CHUNK):
        yield body[start : start + CHUNK]
        await asyncio.sleep(0)  # the loop checks which sockets are ready,
        await asyncio.sleep(0)  # and reads from them


def _headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    """The headers, with names in lower case. If a name occurs several times, as for cookies, the last one is kept."""
    return {name.lower(): value for name, value in response.headers.items()}
