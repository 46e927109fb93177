"""A transport without a network: a handler function answers. For tests, and for the embedded provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from enum import Enum
from threading import Event
from typing import Any, cast

from ...errors import AdapterError, NetworkError, RequestTimeoutError
from ..http import HttpRequest
from .base import Abort

__all__ = ["CUT", "RESET", "STALL", "Answer", "AsyncMemoryTransport", "Handler", "MemoryTransport"]


class _Break(Enum):
    """What may stand in place of a chunk."""

    STALL = "nothing more comes, and the connection stays open"
    CUT = "the connection broke"
    RESET = "the connection was reset"


STALL, CUT, RESET = _Break.STALL, _Break.CUT, _Break.RESET


class Answer:
    """What a handler answers. A chunk may be ``STALL``, ``CUT``, ``RESET``, or an exception, which is raised there.

    ``instead`` is what happens in place of the headers: one of those three, or bytes that are not HTTP. ``delay`` is
    the number of seconds before the headers.
    """

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        chunks: Iterable[Any] = (),
        delay: float = 0.0,
        instead: Any = None,
    ) -> None:
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.parts, self.delay, self.instead = chunks, delay, instead


Handler = Callable[[HttpRequest], Answer]
"""Answers a request, or raises an ``AdapterError`` if there is to be no answer at all."""


class _Reply:
    def __init__(self, transport: _Memory, request: HttpRequest) -> None:
        transport.requests.append(request)
        answer = self._answer = transport.handler(request)
        self._transport, self._timeouts = transport, request.timeouts
        self.status, self.headers = answer.status, answer.headers
        self._parts, self._closed, self._ended = iter(answer.parts), Event(), False
        self.head_is_late = bool(answer.delay) or answer.instead is not None
        transport.open += 1

    def _seconds_to_head(self) -> float | None:
        """Seconds of silence before the headers, None for ever. Raises if no headers come."""
        instead = self._answer.instead
        if instead is STALL or instead is None:
            return None if instead is STALL else self._answer.delay
        raise NetworkError("the answer is not HTTP" if isinstance(instead, bytes) else cast("_Break", instead).value)

    def _next_part(self) -> Any:
        """The next chunk or ``STALL``; None at the end of the body. Raises where the connection breaks."""
        part = next(self._parts, None)
        if part is None:
            self._ended = True
        elif self._closed.is_set():
            raise NetworkError("the connection was closed")
        elif isinstance(part, AdapterError):
            raise part
        elif part is CUT or part is RESET:
            raise NetworkError(part.value)
        return part

    def _silence(self, seconds: float | None) -> tuple[float | None, bool]:
        """How long to wait (None is for ever), and whether that is the caller's time limit."""
        limits = [limit for limit in (self._timeouts.read, self._timeouts.total) if limit is not None]
        limit = min(limits, default=None)
        if limit is not None and (seconds is None or seconds >= limit):
            return limit, True
        return seconds, False

    def close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            self._transport.open -= 1
            self._transport.cut += not self._ended


class _AsyncMemoryReply(_Reply):
    _transport: AsyncMemoryTransport

    async def wait_for_head(self) -> None:
        try:
            await self._wait(self._seconds_to_head())
        except BaseException:
            self.close()
            raise

    async def _wait(self, seconds: float | None) -> None:
        silence, is_too_long = self._silence(seconds)
        if silence is None:
            await asyncio.get_running_loop().create_future()
        elif silence:
            await self._transport.sleep(silence)
        if is_too_long:
            raise RequestTimeoutError("the provider fell silent for too long")

    async def drain(self) -> None:
        self._ended = True

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        part = self._next_part()
        if part is None:
            raise StopAsyncIteration
        if part is STALL:
            await self._wait(None)
        return cast("bytes", part)


class _MemoryReply(_Reply):
    _transport: MemoryTransport

    def wait_for_head(self) -> None:
        try:
            self._wait(self._seconds_to_head())
        except BaseException:
            self.close()
            raise

    def _wait(self, seconds: float | None) -> None:
        silence, is_too_long = self._silence(seconds)
        if silence is None or self._transport.sleep is None:
            self._closed.wait(silence)
        elif silence:
            self._transport.sleep(silence)
        if self._closed.is_set():
            raise NetworkError("the connection was closed")
        if is_too_long:
            raise RequestTimeoutError("the provider fell silent for too long")

    def drain(self) -> None:
        self._ended = True

    def chunks(self) -> Iterator[bytes]:
        while (part := self._next_part()) is not None:
            if part is STALL:
                self._wait(None)
            yield cast("bytes", part)


class _Memory:
    """``requests`` are those seen, ``open`` the replies not yet closed, ``cut`` those closed before their end.

    An answer that is slower than the request's time limits is a timeout. A test may give a ``sleep`` that only counts.
    """

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.requests: list[HttpRequest] = []
        self.open = self.cut = 0


class AsyncMemoryTransport(_Memory):
    """The transport in memory for ``AsyncClient``."""

    def __init__(self, handler: Handler, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        super().__init__(handler)
        self.sleep = sleep

    async def send(self, request: HttpRequest) -> _AsyncMemoryReply:
        reply = _AsyncMemoryReply(self, request)
        if reply.head_is_late:
            await reply.wait_for_head()
        return reply

    async def close(self) -> None: ...


class MemoryTransport(_Memory):
    """The transport in memory for ``Client``."""

    def __init__(self, handler: Handler, sleep: Callable[[float], object] | None = None) -> None:
        super().__init__(handler)
        self.sleep = sleep

    def send(self, request: HttpRequest, abort: Abort) -> _MemoryReply:
        reply = _MemoryReply(self, request)
        abort.closes(reply.close)
        if reply.head_is_late:
            reply.wait_for_head()
        return reply

    def close(self) -> None: ...
