"""One connection of a client: HTTP/1.1, parsed by httptools. Its requests are answered one after another.

uvicorn accepts connections, makes a ``Connection`` for each, and ends them when the server stops. The request and its
answer are in ``http``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any, ClassVar

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from msgspec import json

from .http import Answer, Headers, Inbound, write_head

__all__ = ["Connection"]

LONGEST_HEAD = 64 * 1024
IDLE_SECONDS = 75.0
"""A connection is closed after this long without a request."""
LENGTH, CODING = "content-length", "transfer-encoding"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
NOT_HTTP, TOO_LONG = (400, "this is not an HTTP request"), (431, "the head of the request is too long")
Serve = Callable[[Inbound, Answer], Awaitable[None]]


class Connection(asyncio.Protocol):
    """A client's connection. ``serve`` answers a request; ``server_state`` is uvicorn's: its connections and tasks."""

    _default_head: ClassVar[tuple[object, bytes]] = None, b""
    """uvicorn's headers for every answer, a new list each second, and the same as bytes."""

    def __init__(self, serve: Serve, *, server_state: Any, **_: Any) -> None:
        self._serve, self._server = serve, server_state
        self._loop = asyncio.get_running_loop()
        self._url = b""
        self._lines, self._lines_before = dict[bytes, bytes](), dict[bytes, bytes]()
        self._headers, self._length_name = Headers(), b"content-length"
        self.on_header = self._lines.__setitem__  # the parser calls it for each line: a C method, because it is faster
        self._parser = HttpRequestParser(self)
        self._head_size = 0
        self._reading: Inbound | None = None
        self._waiting: deque[Inbound] = deque()
        self._current: tuple[Inbound, Answer] | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_paused = self._is_ending = self._is_same_request = False
        self.drained: asyncio.Future[None] | None = None
        """The future to await while the client reads too slowly; None if it keeps up."""
        self._idle_since = self._loop.time()

    # ---------------------------------------------------------------------------------------------------- the transport

    def connection_made(self, transport: Any) -> None:
        self._transport: asyncio.Transport = transport
        self._server.connections.add(self)
        self._timer = self._loop.call_later(IDLE_SECONDS, self._check_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        self._timer.cancel()
        self._waiting.clear()
        self.resume_writing()
        if self._current is not None and self._task is not None:
            inbound, answer = self._current
            if not answer.finished:
                inbound.is_gone = True
                self._task.cancel()

    def pause_writing(self) -> None:
        self.drained = self._loop.create_future()

    def resume_writing(self) -> None:
        drained, self.drained = self.drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._reading is None:
            self._head_size += len(data)
        try:
            self._parser.feed_data(data)
            if self._head_size > LONGEST_HEAD:  # on_headers_complete sets it to 0
                self._refuse(*TOO_LONG)
        except HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except HttpParserError:
            self._refuse(*NOT_HTTP)

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Stay with HTTP/1.1 when a request asks for another protocol. ``rest`` is its body, which was not parsed:
        a new parser gets it behind a made-up head."""
        self._parser = HttpRequestParser(self)
        if self._reading is not None:
            self._is_same_request = True
            framing = {LENGTH: self._reading.length, CODING: self._reading.headers.get(CODING)}
            head = [f"{name}: {value}\r\n" for name, value in framing.items() if value]
            rest = f"POST / HTTP/1.1\r\n{''.join(head)}\r\n".encode() + rest
        if rest:
            self.data_received(rest)

    def _refuse(self, status: int, why: str) -> None:
        """Answer bytes that are no valid request, and close the connection. The client's dialect is not known."""
        if self._current is None:
            body = json.encode({"error": {"message": why, "type": "invalid_request_error"}})
            headers = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
            self._transport.write(write_head(status, headers) + body)
        self._transport.close()

    def _check_idle(self) -> None:
        idle = 0.0 if self._current is not None else self._loop.time() - self._idle_since
        if idle >= IDLE_SECONDS:
            self._transport.close()
        else:
            self._timer = self._loop.call_later(IDLE_SECONDS - idle, self._check_idle)

    def shutdown(self) -> None:
        """Finish the request that is being answered, then close. uvicorn calls this when the server stops."""
        self._is_ending = True
        self._waiting.clear()
        if self._current is None:
            self._transport.close()

    # ------------------------------------------------------------------------------------------------------- the parser

    def on_message_begin(self) -> None:
        self._url = b""
        self._lines.clear()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_headers_complete(self) -> None:
        self._head_size = 0
        if self._is_same_request:
            self._is_same_request = False
            return
        parser, version = self._parser, self._parser.get_http_version()
        is_http10 = version == "1.0"
        keeps_alive = parser.should_keep_alive() and not is_http10
        length = self._read_headers()
        inbound = Inbound(parser.get_method().decode(), self._url, self._headers, length, self, keeps_alive=keeps_alive)
        inbound.is_http10 = is_http10
        self._reading = inbound
        if self._current is None:
            self._begin(inbound)
        elif not self._is_ending:
            self._waiting.append(inbound)
            self.pause_reading()

    def _read_headers(self) -> str:
        """Set ``_headers`` from the lines of the head, unless they equal those of the request before. Returns the
        length of the body."""
        lines = self._lines.copy()
        length = lines.pop(self._length_name, b"")
        if lines != self._lines_before:
            lines, headers = self._lines.copy(), dict[str, str]()
            for line_name, value in self._lines.items():
                name = _header_name(line_name)
                if name == LENGTH:
                    length, self._length_name = lines.pop(line_name), line_name
                else:
                    headers[name] = value.decode("latin-1")
            self._headers, self._lines_before = Headers(headers), lines
        return length.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        if self._reading is not None:
            self._reading.feed(body)

    def on_message_complete(self) -> None:
        inbound = self._reading
        if inbound is None or (self._parser.should_upgrade() and (inbound.length or CODING in inbound.headers)):
            return  # in the second case the body is still to come
        inbound.complete()
        self._reading = None

    # ----------------------------------------------------------------------------------------------------- the requests

    def _begin(self, inbound: Inbound) -> None:
        self._current = inbound, Answer(self, inbound)
        self._task = self._loop.create_task(self._answer(*self._current))
        self._server.tasks.add(self._task)

    async def _answer(self, inbound: Inbound, answer: Answer) -> None:
        task = self._task
        try:
            await self._serve(inbound, answer)
        except asyncio.CancelledError:  # the client has gone, or the server stops: nothing more can be sent
            pass
        finally:
            self._server.tasks.discard(task)
            self._end(inbound, answer)

    def _end(self, inbound: Inbound, answer: Answer) -> None:
        """Flush the answer, then begin the next request. If the answer is unfinished, close the connection."""
        self._current = self._task = None
        self._idle_since = self._loop.time()
        if self._transport.is_closing():
            return
        answer.flush()
        if not answer.finished or self._is_ending or not inbound.keeps_alive or inbound.awaits_continue:
            self._transport.close()
            return
        self._server.total_requests += 1
        inbound.drop()
        if self._waiting:
            self._begin(self._waiting.popleft())
        else:
            self.resume_reading()

    # ------------------------------------------------------------------------------------- for a request and its answer

    @property
    def is_ending(self) -> bool:
        """Whether the connection closes after the current request."""
        return self._is_ending

    @property
    def default_head(self) -> bytes:
        """The header lines that uvicorn gives every answer (the date), as bytes."""
        current = self._server.default_headers
        headers, head = Connection._default_head
        if headers is not current:
            head = b"".join([b"%b: %b\r\n" % pair for pair in current])
            Connection._default_head = current, head
        return head

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of this connection."""
        return self._loop

    def pause_reading(self) -> None:
        """Stop reading from the client until ``resume_reading``."""
        if not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read from the client again."""
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()

    def send_continue(self) -> None:
        """Send ``100 Continue``, for which the client waits before it sends the body."""
        self._transport.write(CONTINUE)

    def write(self, data: bytes) -> None:
        """Send some bytes, unless the client has gone."""
        if not self._transport.is_closing():
            self._transport.write(data)


@lru_cache(maxsize=1024)
def _header_name(name: bytes) -> str:
    """The name of a header in lower case; cached, because the same few come in every request."""
    return name.decode("latin-1").lower()
