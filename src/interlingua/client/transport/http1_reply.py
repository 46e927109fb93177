"""An answer on a connection of our own: read chunk by chunk, or passed on as it arrives."""

from __future__ import annotations

import asyncio
from typing import Protocol

from ...errors import AdapterError
from .base import Backlog, Write
from .head import BUFFER
from .replies import CAUGHT, TimedReply
from .timeouts import TimedRequest

__all__ = ["Http1Reply"]


class Owner(Protocol):
    """The connection, as its answer uses it."""

    loop: asyncio.AbstractEventLoop

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def abort(self) -> None: ...


class Http1Reply(TimedReply):
    """One answer: its head, and the body as it arrives. It is made with the request, before its head has come."""

    __slots__ = ("_chunks", "_owner", "_size", "_waiter", "_write", "error", "is_complete")

    def __init__(self, owner: Owner, timed: TimedRequest, url: str) -> None:
        self.status, self.timed, self.url, self._owner = 0, timed, url, owner
        self.is_complete = False
        """Whether the whole answer was received, even if it was not read yet."""
        self.error: BaseException | None = None
        """The error that ended the answer early."""
        self._chunks: list[bytes] = []
        self._size = 0
        self._waiter: asyncio.Future[Backlog] | None = None
        self._write: Write | None = None

    def begin(self) -> None:
        """Begin to limit the time of the body, after the head. Raises if the answer has failed already."""
        if self.error is not None:  # what came together with the head was not HTTP
            raise self.error
        if self.is_complete:
            self.timed.end()
        else:
            self.timed.begin(self._cut)

    async def __anext__(self) -> bytes:
        chunk = b""
        end: AdapterError | type[StopAsyncIteration] = StopAsyncIteration
        try:
            if not self._chunks and not self.is_complete and self.error is None:
                await self._wait(None)
            chunk = self._take()
        except CAUGHT as error:
            end = self.failed(error)
        finally:
            self.timed.waiting_since = None
        if chunk:
            return chunk
        self.timed.end()
        raise end  # not in the except block: the library's error, which may contain headers, would be its context

    def body_with_head(self) -> bytes | None:
        """The whole body if it was already received, else None."""
        return self._take() if self.is_complete else None

    async def pour(self, write: Write) -> None:
        """Pass the body to ``write`` as it arrives, without a turn of the event loop between."""
        failed: AdapterError | None = None
        try:
            while not self._is_read:
                chunk = self._take()
                behind = write(chunk) if chunk else await self._wait(write)
                self.timed.waiting_since = None
                if behind is not None:
                    await behind
        except CAUGHT as error:
            failed = self.failed(error)
        finally:
            self._write = self.timed.waiting_since = None
        self.timed.end()
        if failed is not None:
            raise failed  # not in the except block, as above

    @property
    def _is_read(self) -> bool:
        return self.is_complete and not self._chunks

    def _wait(self, write: Write | None) -> asyncio.Future[Backlog]:
        """A future that is done when more has come; with ``write``, when that cannot keep up or the answer ends."""
        if self.timed.patience is not None:
            self.timed.wait()
        self._write = write
        self._waiter = waiter = self._owner.loop.create_future()
        return waiter

    def _take(self) -> bytes:
        """The body received since the last call; nothing at its end. Raises the error that ended it early."""
        if self.error is not None:
            raise self.error
        chunks = self._chunks
        if not chunks:
            return b""
        if self._size > BUFFER:
            self._owner.resume_reading()
        self._size = 0
        if len(chunks) == 1:
            return chunks.pop()
        self._chunks = []
        return b"".join(chunks)

    async def drain(self) -> None:
        if not self.is_complete:
            await self.read_on()

    def close(self) -> None:
        """Close the connection, unless the answer is complete."""
        if self.timed.is_registered:
            self.timed.end()
        self._cut()

    def _cut(self) -> None:
        if not self.is_complete:
            self._owner.abort()

    # ----------------------------------------------------------------------------------------------- for the connection

    def feed(self, chunk: bytes) -> None:
        """Add a received part of the body."""
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size > BUFFER:
            self._owner.pause_reading()
        if self._waiter is not None and self._write is None:
            self._wake()

    def hand_on(self) -> None:
        """Pass on what was fed. The connection calls it once for all that it received together."""
        write, waiter = self._write, self._waiter
        if write is None or waiter is None or waiter.done() or not self._chunks:
            return
        if self.timed.patience is not None:
            self.timed.wait()
        try:
            behind = write(self._take())
        except Exception as error:  # noqa: BLE001  # an error of ``write``, raised where ``pour`` waits
            waiter.set_exception(error)
            self._waiter = None
        else:
            if behind is not None:
                self._wake(behind)

    def end(self, error: BaseException | None = None) -> None:
        """Mark the answer as complete, or as failed with ``error``."""
        self.is_complete, self.error = error is None, error
        if self._waiter is not None:
            self._wake()

    def _wake(self, behind: Backlog = None) -> None:
        waiter, self._waiter, self._write = self._waiter, None, None
        if waiter is not None and not waiter.done():
            waiter.set_result(behind)
