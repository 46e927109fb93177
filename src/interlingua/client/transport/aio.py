"""The async transport: aiohttp with a connection pool, and a time limit for every phase of a request."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import suppress
from ssl import SSLCertVerificationError, SSLContext
from typing import Any

import aiohttp
from aiohttp.http import HttpProcessingError
from yarl import URL

from ...errors import AdapterError, NetworkError, RequestTimeoutError
from ..http import HttpRequest, Timeouts
from .base import (
    DRAIN_SECONDS,
    SLOWEST,
    AsyncReply,
    certificate_asked,
    certificate_error,
    is_asked_for_certificate,
    no_url,
)
from .compression import ACCEPTED, Decompressor, decompressor_for
from .head import BUFFER, IS_TESTED, LONGEST, Head, write_head
from .http1 import Http1Answer, IdleConnections, send_http1
from .pool import Pool, transport_of
from .proxies import Proxies
from .timeouts import SharedTimer, TimedRequest

__all__ = ["AioTransport"]

CHUNK = 2**16
MOST_REMEMBERED = 64
PLAIN_URL = re.compile(r"https?://[\w.:\[\]-]+(?:[/?][\w\-.~%!$&'()*+,;=:@/?]*)?", re.ASCII)

# What the library raises, and our error for it; the first that fits.
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
    (HttpProcessingError, NetworkError, "the answer is not HTTP"),
    (OSError, NetworkError, "the connection broke"),
)
CAUGHT = (aiohttp.ClientError, asyncio.TimeoutError, HttpProcessingError, OSError)


def failure(error: BaseException, host: str) -> AdapterError:
    """Our error for one of the library's. Its own repr is left out, because it may contain headers."""
    cause = getattr(error, "certificate_error", None)
    if isinstance(cause, SSLCertVerificationError):
        return certificate_error(host, cause)
    if is_asked_for_certificate(error):
        return certificate_asked(host)
    for kind, ours, what in FAILURES:
        if isinstance(error, kind):
            return ours(f"{host}: {what} ({type(error).__name__})")
    return NetworkError(f"{host}: {type(error).__name__}")


class _Reply:
    """An answer, one chunk after another. Not an async generator: asyncio closes one that is not read to its end in a
    task of its own."""

    def __init__(self, status: int, headers: dict[str, str], timed: TimedRequest, url: str) -> None:
        self.status, self.headers, self._timed, self._url = status, headers, timed, url

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        raise NotImplementedError

    def _failed(self, error: BaseException) -> AdapterError:
        if self._timed.late:
            error = TimeoutError() if self._timed.patience is None else aiohttp.SocketTimeoutError()
        return failure(error, _host(self._url))


class _Http1Reply(_Reply):
    """On a connection of our own."""

    def __init__(self, answer: Http1Answer, timed: TimedRequest, url: str) -> None:
        super().__init__(answer.status, answer.headers, timed, url)
        self._answer = answer
        if answer.is_complete:
            timed.end()
        else:
            timed.begin(answer.close)

    async def __anext__(self) -> bytes:
        answer, timed, chunk = self._answer, self._timed, b""
        end: AdapterError | type[StopAsyncIteration] = StopAsyncIteration
        try:
            if (more := answer.next()) is not None:
                if timed.patience is not None:
                    timed.wait()
                await more
            chunk = answer.take()
        except CAUGHT as error:
            end = self._failed(error)
        finally:
            timed.since = None
        if chunk:
            return chunk
        timed.end()
        raise end  # not in the except block: the library's error, which may contain headers, would be its context

    async def drain(self) -> None:
        if not self._answer.is_complete:
            await _read_on(self)

    def close(self) -> None:
        self._timed.end()
        self._answer.close()


class _AioReply(_Reply):
    """Of aiohttp's session."""

    def __init__(self, response: aiohttp.ClientResponse, timed: TimedRequest, url: str) -> None:
        super().__init__(response.status, _headers(response), timed, url)
        self._response, self._content = response, response.content
        transport = transport_of(response.connection)
        self._early = None if transport is None or not transport.get_write_buffer_size() else transport
        timed.begin(self._cut)
        if timed.patience is not None:
            _stop_read_timer(response)

    async def __anext__(self) -> bytes:
        timed, chunk = self._timed, b""
        end: AdapterError | type[StopAsyncIteration] = StopAsyncIteration
        if timed.patience is not None:
            timed.wait()
        try:
            chunk = await self._content.readany()
        except CAUGHT as error:
            end = self._failed(error)
        finally:
            timed.since = None
        if chunk:
            return chunk
        timed.end()
        raise end  # see above

    async def drain(self) -> None:
        if not self._content.at_eof():
            await _read_on(self)

    def close(self) -> None:
        self._timed.end()
        self._cut()

    def _cut(self) -> None:
        """Close the connection, unless the answer was read to its end and its request sent to its end."""
        transport = self._early or transport_of(self._response.connection)
        if transport is not None:
            transport.abort()
        self._response.close()


async def _read_on(reply: _Reply) -> None:
    """Read the rest of an answer, if it comes soon."""
    with suppress(AdapterError, TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in reply:
                pass


def _stop_read_timer(response: aiohttp.ClientResponse) -> None:
    """After the headers our shared timer checks for silence. The library would set a timer for every chunk."""
    if response.connection is not None and response.connection.protocol is not None:
        response.connection.protocol.read_timeout = None


class _UnpackedReply(_Reply):
    """An answer that is decompressed as it comes, in pieces."""

    def __init__(self, packed: _Http1Reply | _AioReply, decompressor: Decompressor, url: str) -> None:
        self.status, self.headers, self.drain, self.close = packed.status, packed.headers, packed.drain, packed.close
        self._packed, self._decompressor, self._url = packed, decompressor, url
        self._pieces: Iterator[bytes] = iter(())

    async def __anext__(self) -> bytes:
        try:
            while (piece := next(self._pieces, None)) is None:
                self._pieces = self._decompressor.pieces(await self._packed.__anext__())
        except StopAsyncIteration:
            if not self._decompressor.is_cut:
                raise
        except zlib.error:
            self.close()
            raise NetworkError(f"{_host(self._url)}: the answer cannot be decompressed") from None
        else:
            return piece
        raise NetworkError(f"{_host(self._url)}: the answer was cut")


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
        self._heads: dict[str, tuple[dict[str, str], Head]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def send(self, request: HttpRequest) -> AsyncReply:
        session, timer = self._session, self._shared_timer
        if session is None or timer is None or self._loop is not asyncio.get_running_loop():
            session, timer = await self._open()
        timeouts, idle = request.timeouts, self._idle_connections
        limit = self._limits.get(timeouts) or self._limit(timeouts)
        timed = TimedRequest(timer, timeouts.total, limit.sock_read)
        try:
            if idle is not None and (head := self._head(request)) is not None:
                answer = await send_http1(idle, head, request.body, limit, timed)
                return _unpacked(_Http1Reply(answer, timed, request.url), request.url)
            with timed.opening(timeouts.connect, len(request.body) / SLOWEST):
                response = await self._request(session, request, limit)
            return _unpacked(_AioReply(response, timed, request.url), request.url)
        except aiohttp.InvalidURL:
            raise no_url() from None
        except CAUGHT as error:
            failed = failure(error, _host(request.url))
        raise failed  # not in the except block: the library's error, which may contain headers, would be its context

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
        """A new session. Connections of another event loop, most likely a closed one, cannot be used in this one."""
        old, self._loop = self._session, asyncio.get_running_loop()
        self._heads.clear()
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
        """The head of a request that needs no session. Cached by URL, because most calls repeat an earlier one."""
        if len(request.body) > LONGEST or request.method != "POST":
            return None
        known = self._heads.get(request.url)
        if known is not None and known[0] == request.headers:
            return known[1]
        if self._proxies.find(request.url) is not None:
            return None
        head = write_head(request, self._url(request.url))
        if known is not None or len(self._heads) < MOST_REMEMBERED:
            self._heads[request.url] = dict(request.headers), head
        return head

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
    """With names in lower case. Of those that occur several times, such as cookies, the last."""
    return {name.lower(): value for name, value in response.headers.items()}


def _unpacked(reply: _Http1Reply | _AioReply, url: str) -> AsyncReply:
    if "content-encoding" not in reply.headers:
        return reply
    try:
        decompressor = decompressor_for(reply.headers)
    except NetworkError:
        reply.close()
        raise
    return reply if decompressor is None else _UnpackedReply(reply, decompressor, url)


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2]
