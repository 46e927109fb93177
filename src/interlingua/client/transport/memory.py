"""A transport without a network: a handler function answers. For tests, and for the embedded provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from enum import Enum
from threading import Event
from typing import Any, cast

from ...errors import AdapterError, NetworkError, RequestTimeoutError
from ..http import HttpRequest, Timeouts
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

    ``instead`` is what happens in place of the headers: one of those three, or bytes that are no HTTP. ``delay`` is
    the seconds before the headers, for those who have a clock.
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
"""May raise an ``AdapterError``: then nobody answered at all."""


class _Reply:
    def __init__(self, answer: Answer, transport: _Memory, timeouts: Timeouts) -> None:
        self.status, self.headers = answer.status, answer.headers
        self._answer, self._transport, self._timeouts = answer, transport, timeouts
        self._closed, self._ended = Event(), False
        self._left = self._bytes()
        transport.open += 1

    def _bytes(self) -> Iterator[Any]:
        for part in self._answer.parts:
            if self._closed.is_set():
                raise NetworkError("the connection was closed")
            if isinstance(part, AdapterError):
                raise part
            if part is CUT or part is RESET:
                raise NetworkError(part.value)
            yield part
        self._ended = True

    def _head(self) -> float | None:
        """Seconds of silence before the headers, None for ever. Raises if there are none to come."""
        instead = self._answer.instead
        if instead is STALL or instead is None:
            return None if instead is STALL else self._answer.delay
        raise NetworkError("the answer is not HTTP" if isinstance(instead, bytes) else cast("_Break", instead).value)

    def _patience(self, seconds: float | None) -> tuple[float | None, bool]:
        """How long to be silent (None is for ever), and whether that is longer than the caller will wait."""
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

    async def begin(self) -> _AsyncMemoryReply:
        try:
            await self._silence(self._head())
        except BaseException:
            self.close()
            raise
        return self

    async def _silence(self, seconds: float | None) -> None:
        sleep = self._transport.sleep
        patience, in_vain = self._patience(seconds) if sleep else (seconds, False)
        if patience is None:
            await asyncio.get_running_loop().create_future()
        elif sleep and patience:
            await sleep(patience)
        if in_vain:
            raise RequestTimeoutError("the provider fell silent for too long")

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
            await self._silence(None)
        return cast("bytes", part)


class _MemoryReply(_Reply):
    _transport: MemoryTransport

    def begin(self) -> _MemoryReply:
        try:
            self._silence(self._head())
        except BaseException:
            self.close()
            raise
        return self

    def _silence(self, seconds: float | None) -> None:
        sleep = self._transport.sleep
        patience, in_vain = self._patience(seconds) if sleep else (seconds, False)
        if patience is None:
            self._closed.wait()
            raise NetworkError("the connection was closed")
        if sleep and patience:
            sleep(patience)
        if in_vain:
            raise RequestTimeoutError("the provider fell silent for too long")

    def drain(self) -> None:
        self._ended = True

    def chunks(self) -> Iterator[bytes]:
        for part in self._left:
            if part is STALL:
                self._silence(None)
            yield cast("bytes", part)


class _Memory:
    """``requests`` are those seen, ``open`` the replies not yet closed, ``cut`` those closed before their end.

    ``sleep`` acts silence out: with it, an answer that is slower than the request's time limits is a timeout. Without
    it, delays are skipped, and what stalls does so until it is closed.
    """

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.requests: list[HttpRequest] = []
        self.open = self.cut = 0

    def _answer(self, request: HttpRequest) -> Answer:
        self.requests.append(request)
        return self.handler(request)


class AsyncMemoryTransport(_Memory):
    """For ``AsyncClient``."""

    def __init__(self, handler: Handler, sleep: Callable[[float], Awaitable[object]] | None = None) -> None:
        super().__init__(handler)
        self.sleep = sleep

    async def send(self, request: HttpRequest) -> _AsyncMemoryReply:
        return await _AsyncMemoryReply(self._answer(request), self, request.timeouts).begin()

    async def close(self) -> None: ...


class MemoryTransport(_Memory):
    """For ``Client``."""

    def __init__(self, handler: Handler, sleep: Callable[[float], object] | None = None) -> None:
        super().__init__(handler)
        self.sleep = sleep

    def send(self, request: HttpRequest, abort: Abort) -> _MemoryReply:
        reply = _MemoryReply(self._answer(request), self, request.timeouts)
        abort.closes(reply.close)
        return reply.begin()

    def close(self) -> None: ...
