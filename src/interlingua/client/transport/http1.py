"""HTTP/1.1 on a connection of our own, parsed by httptools: the fastest way to send a request.

A connection is opened by aiohttp's connector (names, addresses, TLS), which goes on counting it as in use. From then on
it is an ``Http1Connection``: one request, one answer, and so on, until somebody closes it.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import aiohttp
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from ..http import HttpRequest
from .base import SLOWEST, AsyncReply
from .head import Head
from .http1_reply import Http1Reply
from .pool import is_readable, transport_of
from .replies import CAUGHT, FAILURES, host_of, unpacked
from .timeouts import TimedRequest

__all__ = ["IdleConnections", "send_http1"]

SWITCHING = 101
LENIENT_IN = ("lenient_headers", "lenient_optional_cr_before_lf", "lenient_spaces_after_chunk_size")
"""Deviations from the standard that aiohttp's parser accepts too."""
CHUNKED = "chunked"


class Http1Connection(asyncio.Protocol):
    """A connection that aiohttp opened and we use. ``keep`` is called when another request may be sent on it."""

    def __init__(self, connection: Connection, origin: str, keep: Callable[[Http1Connection], None]) -> None:
        transport = transport_of(connection)
        assert transport is not None
        self.connection, self.origin, self._keep, self._transport = connection, origin, keep, transport
        self.loop = asyncio.get_running_loop()
        self.idle_since = 0.0
        self._lines = dict[bytes, bytes]()
        self.on_header = self._lines.__setitem__  # called by the parser for each line, so it is a method in C
        self._parser: Any = HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(**dict.fromkeys(LENIENT_IN, True))
        self._answer: Http1Reply | None = None
        self._head: asyncio.Future[Http1Reply] | None = None
        self._is_paused = self._is_used_up = self._is_interim = self._ends_with_connection = False
        self._poll = _poll_of(transport)
        self._connector_side = transport.get_protocol()
        transport.set_protocol(self)

    def send_request(self, text: bytes, timed: TimedRequest, url: str) -> asyncio.Future[Http1Reply]:
        """Send a request. The future is done when the head of the answer has come."""
        self._ends_with_connection = self._is_interim = False
        self._answer = Http1Reply(self, timed, url)
        self._head = head = self.loop.create_future()
        self._transport.write(text)
        return head

    def give_up(self) -> None:
        """Fail and close the connection, because the head of the answer has not come in time."""
        self._fail(TimeoutError())
        self.abort()

    @property
    def is_fresh(self) -> bool:
        """Whether an idle connection can be used: it is open, and the server has sent nothing without a request."""
        if self._is_used_up or self._transport.is_closing():
            return False
        return not (self._poll.poll(0) if self._poll is not None else is_readable(self._transport))

    def abort(self) -> None:
        """Close the connection at once."""
        self._is_used_up = True
        self._transport.abort()
        self.connection.close()

    def pause_reading(self) -> None:
        """Read nothing more for now."""
        if not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Continue to read."""
        if self._is_paused and not self._transport.is_closing():
            self._transport.resume_reading()
        self._is_paused = False

    # ---------------------------------------------------------------------------------------------------- the transport

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None:  # there was no request
            return self.abort()
        try:
            self._parser.feed_data(data)
            answer.hand_on()
        except HttpParserUpgrade:
            self._end()
        except HttpParserError as error:
            self._answer = answer  # an answer that ends in garbage is not trusted
            self._fail(HttpProcessingError(message=str(error)))
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_used_up = True
        if self._answer is not None:
            is_begun = self._answer.status != 0
            if is_begun and self._ends_with_connection and exc is None:
                self._end()
            elif exc is not None:
                self._fail(aiohttp.ClientOSError(*exc.args))
            else:
                self._fail(aiohttp.ClientPayloadError() if is_begun else aiohttp.ServerDisconnectedError())
        self._connector_side.connection_lost(exc)  # aiohttp waits for this when it closes all connections
        self.connection.close()

    def _fail(self, error: BaseException) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.end(error)
        if self._head is not None and not self._head.done():
            self._head.set_exception(error)

    def _end(self) -> None:
        """End a complete answer. The connection is closed if the request was only sent in part, or more has come."""
        answer, self._answer = self._answer, None
        stays = self._parser.should_keep_alive() and not self._transport.get_write_buffer_size()
        if self._is_paused:
            self.resume_reading()
        if stays and not self._is_used_up and not self._ends_with_connection:
            self._keep(self)
        else:
            self._is_used_up = True
            self._transport.abort()
            self.connection.close()
        assert answer is not None
        answer.end()

    # ------------------------------------------------------------------------------------------------------- the parser

    def on_message_begin(self) -> None:
        self._lines.clear()
        if self._answer is None:  # a further answer, without a request
            self._is_used_up = True

    def on_headers_complete(self) -> None:
        answer, status = self._answer, self._parser.get_status_code()
        if answer is None:
            return
        self._is_interim = 100 <= status < 200 and status != SWITCHING
        if self._is_interim:
            return
        headers = answer.headers = _read_headers(self._lines)
        answer.status = status
        self._ends_with_connection = "content-length" not in headers and CHUNKED not in headers.get(
            "transfer-encoding", ""
        )
        if self._head is not None and not self._head.done():
            self._head.set_result(answer)

    def on_body(self, body: bytes) -> None:
        if self._answer is not None:
            self._answer.feed(body)

    def on_message_complete(self) -> None:
        if self._answer is not None and not self._is_interim:
            if self._answer.status in (204, 304):
                self._ends_with_connection = False
            self._end()


def _read_headers(lines: dict[bytes, bytes]) -> dict[str, str]:
    if any(b"\0" in value for value in lines.values()):
        raise ValueError("a header has a null byte")
    return {_header_name(name): value.decode("utf-8", "surrogateescape") for name, value in lines.items()}


@lru_cache(maxsize=1024)
def _header_name(name: bytes) -> str:
    """The name of a header. The same few come in every answer."""
    return name.decode("utf-8", "surrogateescape").lower()


def _poll_of(transport: asyncio.Transport) -> Any:
    """The object that tells whether there is something to read; None on systems that have only ``select``."""
    socket = transport.get_extra_info("socket")
    if socket is None or not hasattr(select, "poll"):
        return None
    poll = select.poll()
    poll.register(socket.fileno(), select.POLLIN)
    return poll


class IdleConnections:
    """The idle connections of one event loop. ``connector`` opens new ones."""

    def __init__(self, connector: aiohttp.BaseConnector, seconds: float) -> None:
        self.connector, self._seconds, self._idle = connector, seconds, dict[str, list[Http1Connection]]()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def find(self, origin: str) -> Http1Connection | None:
        """An idle connection to a server."""
        idle = self._idle.get(origin)
        while idle:
            connection = idle.pop()
            if connection.is_fresh:
                return connection
            connection.abort()
        return None

    def keep(self, connection: Http1Connection) -> None:
        """Keep a connection for another request, for a limited time."""
        connection.idle_since = self._loop.time()
        self._idle.setdefault(connection.origin, []).append(connection)
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._sweep)

    def _sweep(self) -> None:
        """Close the connections that were idle for too long."""
        oldest, self._timer = self._loop.time() - self._seconds, None
        for origin, connections in list(self._idle.items()):
            kept = self._idle[origin] = [connection for connection in connections if connection.idle_since > oldest]
            for connection in connections:
                if connection not in kept:
                    connection.abort()
            if not kept:
                del self._idle[origin]
        if self._idle:
            self._timer = self._loop.call_later(self._seconds, self._sweep)

    def close(self) -> None:
        """Close all idle connections."""
        if self._timer is not None:
            self._timer.cancel()
        for connections in self._idle.values():
            for connection in connections:
                connection.abort()
        self._idle.clear()


async def send_http1(
    connections: IdleConnections, head: Head, request: HttpRequest, limit: aiohttp.ClientTimeout, timed: TimedRequest
) -> AsyncReply:
    """Send a request, and wait for the head of its answer: ``limit`` for connecting, ``timed`` for the rest."""
    body = request.body
    seconds = len(body) / SLOWEST
    try:
        connection = connections.find(head.origin)
        if connection is None:
            with timed.opening(limit.sock_connect, seconds):
                connection = await _open(connections, head, limit)
        timed.await_head(seconds, connection.give_up)
        try:
            reply = await connection.send_request(b"%b%d\r\n\r\n%b" % (head.text, len(body), body), timed, request.url)
            reply.begin()
        except BaseException:
            connection.abort()
            timed.end()
            raise
        return unpacked(reply)
    except CAUGHT as error:
        failed = FAILURES.as_error(error, host_of(request.url))
    raise failed  # not in the except block: the library's error, which may contain headers, would be its context


async def _open(connections: IdleConnections, head: Head, limit: aiohttp.ClientTimeout) -> Http1Connection:
    try:
        opened = await connections.connector.connect(head.server, [], limit)
    except TimeoutError:
        raise aiohttp.ConnectionTimeoutError from None
    return Http1Connection(opened, head.origin, connections.keep)
