"""One blocking HTTP connection. Every read and write has a deadline.

The client and the media fetcher use it. The standard library's HTTP client writes requests and parses answers; it uses
this object as its socket.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import BufferedReader, RawIOBase
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import TYPE_CHECKING, Any, cast

from ..deadline import Deadline
from .base import SLOWEST

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["CHUNK", "Answer", "Connection"]

CHUNK = 2**16
"""Bytes that are read or written at once."""
NOTHING_YET = (BlockingIOError, ssl.SSLWantReadError)
CANNOT_SEND = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


class Answer(http.client.HTTPResponse):
    """The final answer. Interim answers (1xx) are skipped; the library skips only 100.

    ``closes``: whether the server closes the connection after it. The library must not know: it would close too early.
    """

    closes = False

    def begin(self) -> None:
        super().begin()
        while 100 <= self.status < 200 and self.status != 101:
            self.headers = self.msg = None  # type: ignore[assignment]  # else the library thinks that it has read them
            super().begin()
        self.closes, self.will_close = bool(self.will_close), False

    def flush(self) -> None:
        """Do nothing. The library flushes before it closes, which fails, and is printed, where its reader is gone."""

    def fields(self) -> dict[str, str]:
        """The headers, with names in lower case."""
        return {name.lower(): value for name, value in self.getheaders()}


class Connection:
    """Has two deadlines: ``until`` for the current step (connect, headers, next bytes), ``whole`` for the request."""

    def __init__(self) -> None:
        self.whole = self.until = Deadline(None, time.monotonic)
        self.used_up = False
        """Whether a request was not sent completely, so that the connection cannot be reused."""
        self._waits = True
        self._wire: socket.socket | None = None
        self._socket: socket.socket | _InnerTls | None = None
        self._http = http.client.HTTPConnection("")
        self._http.auto_open = 0  # it must not connect by itself
        self._http.response_class = Answer
        self._raw = _Raw(self)
        self._reader = _Reader(self._raw)

    # ------------------------------------------------------------------------------------------------ time

    def step(self, seconds: float | None) -> None:
        """Begin the next step, with a time limit."""
        self.until = self.whole.within(seconds)

    def timed_socket(self) -> socket.socket | _InnerTls:
        """The socket, with the time that is left for this step as its timeout. Called before every read and write."""
        assert self._socket is not None
        left = self.until.left() if self._waits else 0.0
        if left == 0 and self._waits:
            raise TimeoutError
        self._socket.settimeout(left)
        return self._socket

    # ------------------------------------------------------------------------------------------------ opening

    def connect(self, addresses: Sequence[tuple[Any, ...]]) -> None:
        """Connect to the first address (as ``getaddrinfo`` gives them) that accepts."""
        problem: OSError = OSError("the host has no address")
        for family, kind, protocol, _, place in addresses:
            self._wire = self._socket = made = socket.socket(
                family, kind, protocol
            )  # set before connecting, so that ``cut`` works
            try:
                self.timed_socket()
                made.connect(place)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._http.sock = self
                return
            except OSError as error:
                made.close()
                problem = error
        raise problem

    def secure(self, context: ssl.SSLContext, host: str) -> None:
        """Use TLS from now on, inside the existing TLS if there is one. What was received before is not read."""
        if isinstance(self._socket, ssl.SSLSocket):
            self._socket = _InnerTls(self._socket, context, host, self.timed_socket)
        else:
            assert self._wire is not None
            made = context.wrap_socket(self._wire, server_hostname=host, do_handshake_on_connect=False)
            self._wire = self._socket = made
        self._raw = _Raw(self)
        self._reader = _Reader(self._raw)
        self.timed_socket()
        self._socket.do_handshake()

    # ------------------------------------------------------------------------------------------------ requests

    def send_request(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes = b"", seconds: float | None = None
    ) -> Answer:
        """Send a request and read the headers of its answer. The time limit grows with the body."""
        self.step(None if seconds is None else seconds + len(body) / SLOWEST)
        self._http.request(method, target, body or None, headers)
        return cast("Answer", self._http.getresponse())

    def chunks(self, answer: Answer, seconds: float | None = None) -> Iterator[bytes]:
        """The body of an answer. ``seconds`` is the time limit for each part."""
        self.step(seconds)
        while chunk := answer.read1(CHUNK):
            yield chunk
            self.step(seconds)
        if answer.length:
            raise http.client.IncompleteRead(b"", answer.length)

    def has_unread(self) -> bool:
        """Whether there is something to read, or the connection was closed. Does not wait."""
        self._waits = False
        try:
            return bool(self._reader.peek(1)) or self._raw.ended
        except OSError:
            return True
        finally:
            self._waits = True

    # ------------------------------------------------------------------------------------------------ as a socket

    def makefile(self, *_: object) -> BufferedReader:
        """Always the same reader, so that bytes it has read ahead are not lost between two answers."""
        return self._reader

    def sendall(self, data: bytes) -> None:
        """Send until all is sent, or until the server answers or stops reading; then its answer is read."""
        view = memoryview(data)
        try:
            while view and not self.used_up:
                view = view[self.timed_socket().send(view[:CHUNK]) :]
                if view:
                    self._wait_to_send()
        except CANNOT_SEND:
            self.used_up = True

    def _wait_to_send(self) -> None:
        assert self._wire is not None
        with DefaultSelector() as selector:
            selector.register(self._wire, EVENT_READ | EVENT_WRITE)
            while not self.used_up:
                ready = selector.select(self.until.left())
                if not ready:
                    raise TimeoutError
                if ready[0][1] & EVENT_READ:
                    self.used_up = self.has_unread()
                if ready[0][1] & EVENT_WRITE:
                    return

    def cut(self) -> None:
        """End the connection at once, from any thread. ``shutdown`` wakes a thread in ``recv``; ``close`` does not."""
        if self._wire is not None:
            with suppress(OSError):  # it is not connected, or closed already
                socket.socket.shutdown(self._wire, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self.cut()
        if self._wire is not None:
            self._wire.close()


class _Raw(RawIOBase):
    """The bytes of a connection. ``ended`` is set when the other end has closed it."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self.ended = connection, False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        try:
            count = self._connection.timed_socket().recv_into(buffer)
        except NOTHING_YET:
            return None
        self.ended = count == 0
        return count


class _Reader(BufferedReader):
    """The library closes its reader after every answer; this one stays open for the next."""

    def close(self) -> None: ...


class _InnerTls:
    """TLS inside TLS, for a proxy that itself uses TLS: ``ssl`` can only wrap a real socket."""

    def __init__(self, outer: ssl.SSLSocket, context: ssl.SSLContext, host: str, arm: Callable[[], object]) -> None:
        self._outer, self._arm = outer, arm
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self.settimeout = outer.settimeout

    def do_handshake(self) -> None:
        self._run(self._tls.do_handshake)

    def recv_into(self, buffer: WriteableBuffer) -> int:
        size = len(memoryview(buffer))
        try:
            return int(self._run(lambda: self._tls.read(size, buffer)))
        except ssl.SSLEOFError:  # as SSLSocket does by default
            return 0

    def send(self, data: memoryview) -> int:
        return int(self._run(lambda: self._tls.write(data)))

    def _run(self, act: Callable[[], Any]) -> Any:
        while True:
            result, waits = None, False
            try:
                result = act()
            except ssl.SSLWantReadError:
                waits = True
            self._flush()
            if not waits:
                return result
            self._arm()
            if not self._incoming.write(self._outer.recv(CHUNK)):
                self._incoming.write_eof()

    def _flush(self) -> None:
        data = memoryview(self._outgoing.read())
        while data:
            self._arm()
            data = data[self._outer.send(data) :]
