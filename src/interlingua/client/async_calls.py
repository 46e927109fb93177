"""One call of the async client: how it waits, and how the waiting task is interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from types import TracebackType
from typing import Any

from ..errors import AdapterError, CancelledError
from ..types.events import Event
from .calls import Call
from .transport.base import AsyncReply, Backlog, body_with_head, pour

__all__ = ["AsyncCall", "Take"]

Take = Callable[[Sequence[Event]], Backlog]
"""A consumer of events. It returns an awaitable if it cannot keep up, else None."""


class _AnswerComplete(Exception):
    """Raised to stop reading: the answer is complete, although more bytes may follow."""


class AsyncCall(Call):
    """A call of ``AsyncClient``: its reply, and the task that waits for it."""

    reply: AsyncReply | None = None
    chunks: AsyncIterator[bytes] | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _waiter: asyncio.Task[Any] | None = None
    _cancellations_before = 0
    _waiter_cancelled = False  # by us

    def __enter__(self) -> None:
        """In the block, ``cancel`` interrupts the waiting task. It gets our own error, and does not stay cancelled."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()  # costs a system call
        self._waiter = waiter = asyncio.current_task(self._loop)
        self._cancellations_before = 0 if waiter is None else waiter.cancelling()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        only_ours = self._waiter_cancelled and self._take_back_cancellation()
        self._waiter = None
        if only_ours and isinstance(error, asyncio.CancelledError):
            raise CancelledError("the call was cancelled") from None

    def _take_back_cancellation(self) -> bool:
        """Undo our cancellation of the task, as ``asyncio.timeout`` does. Returns whether it was the only one."""
        if self._waiter is None:
            return False
        self._waiter_cancelled = False
        return self._waiter.uncancel() <= self._cancellations_before

    async def wait_in_line(self) -> None:
        """Wait until every limiter grants the next attempt."""
        loop, began = asyncio.get_running_loop(), self.budget.clock()
        for limiter in self.limiters:
            woken = asyncio.Event()

            def wake(woken: asyncio.Event = woken) -> None:
                with suppress(RuntimeError):  # that loop is closed, and nobody waits any more
                    loop.call_soon_threadsafe(woken.set)

            permit = self.join(limiter, wake)
            while (delay := self.next_wait(limiter, permit)) is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(None if delay == inf else delay):
                        await woken.wait()
                woken.clear()
        self.budget.add_waiting_time(self.budget.clock() - began)

    def cancel(self) -> None:
        if self.cancelled:
            return
        super().cancel()
        if self._waiter is not None:
            self._waiter_cancelled = True
            self._waiter.cancel()
        self.close()

    def close(self) -> None:
        """Close the socket, unless the answer was read to its end."""
        reply, self.reply, self.chunks = self.reply, None, None
        if reply is not None:
            reply.close()

    def body_with_head(self) -> bytes | None:
        """The whole body if it was received together with the head, else None."""
        return None if self.reply is None else body_with_head(self.reply)

    async def pour(self, take: Take) -> None:
        """Pass the events to ``take`` as they arrive, until the answer is complete."""
        assert self.reply is not None
        with suppress(_AnswerComplete):
            await pour(self.reply, partial(self._feed_and_take, take), self.chunks)

    def _feed_and_take(self, take: Take, chunk: bytes) -> Backlog:
        events = self.feed(chunk)
        if self.over:
            raise _AnswerComplete
        return take(events) if events else None

    def end_attempt(self, error: AdapterError | None = None) -> Sequence[Event]:
        """End the attempt of a streamed call. Returns its last events, or none if another attempt follows."""
        events = self.settle(error)
        if not self.is_good:
            self.close()
        return events

    async def drain(self) -> None:
        """After a good answer, read its last bytes, so that the connection can be reused; after any other, close it."""
        if self.reply is not None and self.is_good:
            await self.reply.drain()
        self.close()
