"""The standard library's HTTP client behind the transport interface: no event loop, no thread of its own."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
import zlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector
from threading import Lock
from urllib.parse import SplitResult, unquote, urlsplit

from ..errors import AdapterError, NetworkError, RequestTimeoutError
from ..http import HttpRequest, Timeouts
from .base import DRAIN_SECONDS, Abort
from .proxies import proxy_from_environment

__all__ = ["BlockingTransport"]

# What the library raises, and what we say; the first that fits.
FAILURES: tuple[tuple[type[BaseException], type[AdapterError], str], ...] = (
    (TimeoutError, RequestTimeoutError, "no answer in time"),
    (socket.gaierror, NetworkError, "the host name is not known"),
    (ssl.SSLError, NetworkError, "no secure connection"),
    (ConnectionRefusedError, NetworkError, "no connection"),
    (http.client.RemoteDisconnected, NetworkError, "the server closed the connection without an answer"),
    (http.client.IncompleteRead, NetworkError, "the answer was cut"),
    (OSError, NetworkError, "the connection broke"),
    (http.client.HTTPException, NetworkError, "the answer is not HTTP"),
    (zlib.error, NetworkError, "the answer cannot be unpacked"),
    (ValueError, NetworkError, "the connection was closed"),  # reading from a file closed meanwhile
)
CAUGHT = (OSError, http.client.HTTPException, ValueError, zlib.error)
CHUNK = 2**16
PACKED = frozenset({"gzip", "x-gzip", "deflate"})
"""How some gateways pack an answer, although we ask for it as it is."""


def failure(error: BaseException, host: str) -> AdapterError:
    """Our exception for one of the library's, whose own text may hold headers and is left out."""
    for kind, ours, what in FAILURES:
        if isinstance(error, kind):
            return ours(f"{host}: {what} ({type(error).__name__})")
    return NetworkError(f"{host}: {type(error).__name__}")


class _Final(http.client.HTTPResponse):
    """The answer itself: hints that come before it (1xx) are passed over. The library passes over 100 alone."""

    def begin(self) -> None:
        super().begin()
        while 100 <= self.status < 200 and self.status != 101:
            self.headers = self.msg = None  # type: ignore[assignment]  # or it would take itself for read
            super().begin()


class _Line:
    """One connection, and the means to close it while another thread waits on it."""

    def __init__(self, connection: http.client.HTTPConnection, key: tuple[str, str]) -> None:
        self.connection, self.key = connection, key
        self.socket: socket.socket | None = None
        self.read_limit: float | None = None
        self.deadline: float | None = None
        connection.response_class = _Final
        connection._create_connection = self._dial  # type: ignore[attr-defined]

    def _dial(self, address: tuple[str, int], timeout: float | None, *_: object) -> socket.socket:
        """As ``socket.create_connection``, but the socket is known before it stands, so that it can be closed."""
        problem: OSError = OSError("the host has no address")
        for family, kind, protocol, _name, place in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
            self.socket = socket.socket(family, kind, protocol)
            self.socket.settimeout(timeout)
            try:
                self.socket.connect(place)
                return self.socket
            except OSError as error:
                self.socket.close()
                problem = error
        raise problem

    def open(self, timeouts: Timeouts) -> None:
        self.read_limit = timeouts.read
        self.deadline = None if timeouts.total is None else time.monotonic() + timeouts.total
        if self.connection.sock is None:
            self.connection.timeout = _least(timeouts.connect, timeouts.total)
            self.connection.connect()
            self.socket = self.connection.sock

    def limit(self) -> None:
        """How long the next read may wait."""
        left = None if self.deadline is None else self.deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        assert self.socket is not None
        self.socket.settimeout(_least(self.read_limit, left))

    def cut(self) -> None:
        """Close at once. ``shutdown`` wakes a thread that waits in ``recv``; plain ``close`` does not."""
        if self.socket is not None:
            with suppress(OSError):  # it never stood, or is closed already
                socket.socket.shutdown(self.socket, socket.SHUT_RDWR)

    def close(self) -> None:
        self.cut()
        self.connection.close()

    def is_stale(self) -> bool:
        """Whether the server has closed it, or speaks unasked."""
        assert self.socket is not None
        with DefaultSelector() as selector:
            selector.register(self.socket, EVENT_READ)
            return bool(selector.select(0))


class _BlockingReply:
    def __init__(self, line: _Line, response: http.client.HTTPResponse, transport: BlockingTransport) -> None:
        self._line, self._response, self._transport = line, response, transport
        self._open = True
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}

    def chunks(self) -> Iterator[bytes]:
        packed = self.headers.get("content-encoding", "").strip().lower() in PACKED
        try:
            yield from _unpacked(self._read()) if packed else self._read()
        except CAUGHT as error:
            raise failure(error, self._line.key[1]) from None
        self._finish()

    def _read(self) -> Iterator[bytes]:
        self._line.limit()
        while chunk := self._response.read1(CHUNK):
            yield chunk
            self._line.limit()
        if self._response.length:
            raise http.client.IncompleteRead(b"", self._response.length)

    def drain(self) -> None:
        if self._open:
            self._line.read_limit = DRAIN_SECONDS
            with suppress(AdapterError):
                for _ in self.chunks():
                    pass

    def _finish(self) -> None:
        """Read to the end: the connection may serve again."""
        if self._open and not self._response.will_close:
            self._open = False
            self._response.close()
            self._transport.keep(self._line)

    def close(self) -> None:
        if self._open:
            self._open = False
            self._line.cut()
            self._response.close()
            self._line.close()


class BlockingTransport:
    """``tls`` is an ``ssl.SSLContext``, or False for no checks; ``trust_env`` reads proxies from the environment."""

    def __init__(
        self,
        *,
        proxy: str | None = None,
        trust_env: bool = False,
        tls: ssl.SSLContext | bool = True,
        connections: int = 20,
    ) -> None:
        self._proxy, self._trust_env, self._most = proxy, trust_env, connections
        self._tls = tls if isinstance(tls, ssl.SSLContext) else None
        self._unchecked = tls is False
        self._idle: list[_Line] = []
        self._lock = Lock()

    def send(self, request: HttpRequest, abort: Abort) -> _BlockingReply:
        url = urlsplit(request.url)
        if url.hostname is None or url.scheme not in ("http", "https"):
            raise NetworkError("the base URL is not a URL", retryable=False)
        proxy = self._proxy_for(request.url)
        line = self._take((url.scheme, url.netloc)) or self._dial(url, proxy)
        try:
            abort.closes(line.cut)
            line.open(request.timeouts)
            abort.closes(line.cut)  # rung while it was opened?
            line.limit()
            line.connection.request(request.method, *_target(url, request, proxy))
            response = line.connection.getresponse()
        except CAUGHT as error:
            line.close()
            raise failure(error, url.hostname) from None
        return _BlockingReply(line, response, self)

    def _proxy_for(self, url: str) -> SplitResult | None:
        named = self._proxy or (proxy_from_environment(url) if self._trust_env else None)
        return urlsplit(named) if named else None

    def _dial(self, url: SplitResult, proxy: SplitResult | None) -> _Line:
        door = proxy or url
        connection: http.client.HTTPConnection
        if url.scheme == "https":
            connection = http.client.HTTPSConnection(door.hostname or "", door.port, context=self._context())
            if proxy:
                connection.set_tunnel(url.hostname or "", url.port or 443, _proxy_key(proxy))
        else:
            connection = http.client.HTTPConnection(door.hostname or "", door.port)
        return _Line(connection, (url.scheme, url.netloc))

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            if self._unchecked:
                self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE
        return self._tls

    def _take(self, key: tuple[str, str]) -> _Line | None:
        while True:
            with self._lock:
                line = next((line for line in self._idle if line.key == key), None)
                if line is None:
                    return None
                self._idle.remove(line)
            if not line.is_stale():
                return line
            line.close()

    def keep(self, line: _Line) -> None:
        """Keep a connection for the next request."""
        with self._lock:
            self._idle.append(line)
            spare = self._idle.pop(0) if len(self._idle) > self._most else None
        if spare is not None:
            spare.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for line in idle:
            line.close()


def _unpacked(chunks: Iterator[bytes]) -> Iterator[bytes]:
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)  # with either head
    for chunk in chunks:
        if words := unpack.decompress(chunk):
            yield words
    if not unpack.eof:
        raise http.client.IncompleteRead(b"")


def _least(*limits: float | None) -> float | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _target(url: SplitResult, request: HttpRequest, proxy: SplitResult | None) -> tuple[str, bytes, dict[str, str]]:
    """What stands in the request line: a path, or for a proxy without a tunnel the whole URL."""
    if proxy and url.scheme == "http":
        return request.url, request.body, {**request.headers, **_proxy_key(proxy)}
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    return path, request.body, request.headers


def _proxy_key(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
