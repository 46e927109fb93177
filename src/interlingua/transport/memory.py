"""A transport without a network: a handler function answers. For tests, and for the embedded provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from threading import Event
from typing import Any, cast

from ..errors import AdapterError, NetworkError
from ..http import HttpRequest
from .base import Abort

__all__ = ["STALL", "Answer", "AsyncMemoryTransport", "Handler", "MemoryTransport"]

STALL = object()
"""In place of a chunk: nothing more comes, and the connection stays open."""


class Answer:
    """What a handler answers. A chunk may be an exception, which is raised there, or ``STALL``.

    ``delay`` is for those who act an answer out in real time.
    """

    def __init__(self, status: int, headers: Mapping[str, str], chunks: Iterable[Any] = (), delay: float = 0.0) -> None:
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.parts, self.delay = chunks, delay


Handler = Callable[[HttpRequest], Answer]
"""May raise an ``AdapterError``: then nobody answered at all."""


class _Reply:
    def __init__(self, answer: Answer, transport: _Memory) -> None:
        self.status, self.headers = answer.status, answer.headers
        self._parts, self._transport = answer.parts, transport
        self._closed, self._ended = Event(), False
        self._left = self._bytes()
        transport.open += 1

    def _bytes(self) -> Iterator[Any]:
        for part in self._parts:
            if self._closed.is_set():
                raise NetworkError("the connection was closed")
            if isinstance(part, AdapterError):
                raise part
            yield part
        self._ended = True

    def close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            self._transport.open -= 1
            self._transport.cut += not self._ended


class _AsyncMemoryReply(_Reply):
    async def drain(self) -> None:
        self._ended = True

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        part = next(self._left, None)
        if part is None:
            raise StopAsyncIteration
        if part is STALL:
            await asyncio.get_running_loop().create_future()
        return cast("bytes", part)


class _MemoryReply(_Reply):
    def drain(self) -> None:
        self._ended = True

    def chunks(self) -> Iterator[bytes]:
        for part in self._left:
            if part is STALL:
                self._closed.wait()
                raise NetworkError("the connection was closed")
            yield part


class _Memory:
    """``requests`` are those seen, ``open`` the replies not yet closed, ``cut`` those closed before their end."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.requests: list[HttpRequest] = []
        self.open = self.cut = 0

    def _answer(self, request: HttpRequest) -> Answer:
        self.requests.append(request)
        return self.handler(request)


class AsyncMemoryTransport(_Memory):
    """For ``AsyncClient``."""

    async def send(self, request: HttpRequest) -> _AsyncMemoryReply:
        return _AsyncMemoryReply(self._answer(request), self)

    async def close(self) -> None: ...


class MemoryTransport(_Memory):
    """For ``Client``."""

    def send(self, request: HttpRequest, abort: Abort) -> _MemoryReply:
        reply = _MemoryReply(self._answer(request), self)
        abort.closes(reply.close)
        return reply

    def close(self) -> None: ...
