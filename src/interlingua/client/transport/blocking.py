"""The blocking transport: the standard library's HTTP client, without an event loop and without threads."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Lock
from urllib.parse import SplitResult, unquote, urlsplit

from ...errors import AdapterError, NetworkError, RequestTimeoutError
from ..deadline import Deadline
from ..http import HttpRequest, Timeouts
from .base import DRAIN_SECONDS, Abort, no_url
from .compression import decompressor_for
from .connection import Answer, Connection
from .failures import Failures
from .proxies import Proxies

__all__ = ["BlockingTransport"]

FAILURES = Failures(
    (TimeoutError, RequestTimeoutError, "no answer in time"),
    (socket.gaierror, NetworkError, "the host name is not known"),
    (ssl.SSLError, NetworkError, "no secure connection"),
    (ConnectionRefusedError, NetworkError, "no connection"),
    (http.client.RemoteDisconnected, NetworkError, "the server closed the connection without an answer"),
    (http.client.IncompleteRead, NetworkError, "the answer was cut"),
    (OSError, NetworkError, "the connection broke"),
    (http.client.HTTPException, NetworkError, "the answer is not HTTP"),
    (zlib.error, NetworkError, "the answer cannot be decompressed"),
    (ValueError, NetworkError, "the connection was closed"),  # reading from a file that was closed meanwhile
)
CAUGHT = (OSError, http.client.HTTPException, ValueError, zlib.error)
PORTS = {"http": 80, "https": 443}


class _ServerConnection(Connection):
    """A connection to a server, perhaps through a proxy, that may serve several requests."""

    def __init__(self, url: SplitResult, proxy: SplitResult | None, opened: int) -> None:
        super().__init__()
        self.url, self.proxy, self.opened = url, proxy, opened

    @property
    def key(self) -> tuple[str, str]:
        """The scheme and the host of the requests that it may serve."""
        return self.url.scheme, self.url.netloc

    def open(self, timeouts: Timeouts, context: Callable[[], ssl.SSLContext]) -> None:
        """Connect to the server, or to the proxy and through it."""
        peer, host = self.proxy or self.url, self.url.hostname or ""
        self.step(timeouts.connect)
        port = peer.port or PORTS[peer.scheme]
        self.connect(socket.getaddrinfo(peer.hostname, port, type=socket.SOCK_STREAM))
        if peer.scheme == "https":
            self.secure(context(), peer.hostname or "")
        if self.proxy and self.url.scheme == "https":
            self._tunnel(f"{_bracketed(host)}:{self.url.port or 443}", self.proxy, timeouts)
            self.secure(context(), host)

    def _tunnel(self, target: str, proxy: SplitResult, timeouts: Timeouts) -> None:
        answer = self.send_request("CONNECT", target, {"host": target, **_proxy_key(proxy)}, seconds=timeouts.connect)
        if not 200 <= answer.status < 300:
            raise NetworkError(f"{target}: the proxy {proxy.hostname} refused to connect (status {answer.status})")
        answer.close()

    def post(self, request: HttpRequest) -> Answer:
        """Send a request. A proxy without a tunnel gets the whole URL."""
        path = (self.url.path or "/") + (f"?{self.url.query}" if self.url.query else "")
        headers = {"host": self.url.netloc, **request.headers}
        if self.proxy and self.url.scheme == "http":
            path, headers = request.url, headers | _proxy_key(self.proxy)
        return self.send_request(request.method, path, headers, request.body, request.timeouts.read)


class _BlockingReply:
    def __init__(
        self, connection: _ServerConnection, answer: Answer, silence: float | None, transport: BlockingTransport
    ) -> None:
        self._connection, self._answer, self._silence, self._transport = connection, answer, silence, transport
        self._open = True
        self.status = answer.status
        self.headers = answer.fields()

    def chunks(self) -> Iterator[bytes]:
        try:
            decompressor, chunks = decompressor_for(self.headers), self._connection.chunks(self._answer, self._silence)
            if decompressor is None:
                yield from chunks
            else:
                for chunk in chunks:
                    yield from decompressor.pieces(chunk)
                if decompressor.is_cut:
                    raise http.client.IncompleteRead(b"")
        except CAUGHT as error:
            raise FAILURES.as_error(error, self._connection.url.netloc) from None
        self._finish()

    def drain(self) -> None:
        if self._open:
            self._connection.whole = self._connection.whole.within(DRAIN_SECONDS)
            with suppress(AdapterError, *CAUGHT):
                for _ in self._connection.chunks(self._answer):
                    pass
                self._finish()

    def _finish(self) -> None:
        """Keep the connection for another request, since the body was read to its end."""
        if self._open and not self._answer.closes:
            self._open = False
            self._answer.close()
            self._transport.keep(self._connection)

    def close(self) -> None:
        if self._open:
            self._open = False
            self._connection.cut()
            self._answer.close()
            self._connection.close()


class BlockingTransport:
    """A transport with a pool of idle connections. ``tls`` is an ``ssl.SSLContext``, or False for no checks. ``proxy``
    is the URL of a proxy; without it, and with ``trust_env``, the environment decides."""

    def __init__(
        self,
        *,
        proxy: str | None = None,
        trust_env: bool = False,
        tls: ssl.SSLContext | bool = True,
        connections: int = 20,
    ) -> None:
        self._proxies, self._max_idle = Proxies(proxy, trust_env=trust_env), connections
        self._tls = tls if isinstance(tls, ssl.SSLContext) else None
        self._unchecked = tls is False
        self._idle: list[_ServerConnection] = []
        self._lock = Lock()
        self._closings = 0

    def send(self, request: HttpRequest, abort: Abort) -> _BlockingReply:
        url = urlsplit(request.url)
        if url.hostname is None or url.scheme not in PORTS:
            raise no_url()
        idle = self._take((url.scheme, url.netloc))
        connection = idle or _ServerConnection(url, self._proxy_for(request.url), self._closings)
        connection.url = url
        connection.whole = Deadline(request.timeouts.total, time.monotonic)
        try:
            abort.closes(connection.cut)
            if idle is None:
                connection.open(request.timeouts, self._context)
                abort.closes(connection.cut)  # ``abort`` may have been set before there was a socket to close
            return _BlockingReply(connection, connection.post(request), request.timeouts.read, self)
        except AdapterError:
            connection.close()
            del url  # its query may hold a key, and tracebacks may show local variables
            raise
        except CAUGHT as error:
            connection.close()
            host = url.netloc
            del url
            raise FAILURES.as_error(error, host) from None

    def _proxy_for(self, url: str) -> SplitResult | None:
        proxy = self._proxies.find(url)
        return None if proxy is None else urlsplit(proxy.reveal())

    def _context(self) -> ssl.SSLContext:
        with self._lock:
            if self._tls is None:
                self._tls = ssl.create_default_context()
                if self._unchecked:
                    self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE
            return self._tls

    def _take(self, key: tuple[str, str]) -> _ServerConnection | None:
        """An idle connection on which nothing was received since its last answer, and that was not closed."""
        while True:
            with self._lock:
                connection = next((connection for connection in self._idle if connection.key == key), None)
                if connection is None:
                    return None
                self._idle.remove(connection)
            if not connection.has_unread():
                return connection
            connection.close()

    def keep(self, connection: _ServerConnection) -> None:
        """Keep a connection for the next request, unless the transport was closed since it was opened."""
        to_close: _ServerConnection | None = connection
        if not connection.used_up and not connection.has_unread():
            with self._lock:
                if connection.opened == self._closings:
                    self._idle.append(connection)
                    to_close = self._idle.pop(0) if len(self._idle) > self._max_idle else None
        if to_close is not None:
            to_close.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
            self._closings += 1
        for connection in idle:
            connection.close()


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _proxy_key(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"proxy-authorization": f"Basic {b64encode(pair.encode()).decode()}"}
