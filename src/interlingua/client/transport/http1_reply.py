"""An answer on a connection of our own: read chunk by chunk, or handed on as it comes."""

from __future__ import annotations

import asyncio
from typing import Protocol

from ...errors import AdapterError
from .base import Behind, Write
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
    """One answer: its head, and the body as it comes. It is one before its head has come, when nobody reads it yet."""

    __slots__ = ("_chunks", "_owner", "_size", "_waiter", "_write", "error", "is_complete")

    def __init__(self, owner: Owner, timed: TimedRequest, url: str) -> None:
        self.status, self.timed, self.url, self._owner = 0, timed, url, owner
        self.is_complete = False
        """Whether all of it has come, read or not."""
        self.error: BaseException | None = None
        """What broke it off."""
        self._chunks: list[bytes] = []
        self._size = 0
        self._waiter: asyncio.Future[Behind] | None = None
        self._write: Write | None = None

    def begin(self) -> None:
        """The head has come. Raises what broke it off."""
        if self.error is not None:  # what came at once with the head was no HTTP
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
            self.timed.since = None
        if chunk:
            return chunk
        self.timed.end()
        raise end  # not in the except block: the library's error, which may contain headers, would be its context

    def come_with_head(self) -> bytes | None:
        """The whole body, if it has come already."""
        return self._take() if self.is_complete else None

    async def pour(self, write: Write) -> None:
        """Hand the body on as it comes: at once, without a turn of the event loop between."""
        failed: AdapterError | None = None
        try:
            while not self._is_read:
                chunk = self._take()
                behind = write(chunk) if chunk else await self._wait(write)
                self.timed.since = None
                if behind is not None:
                    await behind
        except CAUGHT as error:
            failed = self.failed(error)
        finally:
            self._write = self.timed.since = None
        self.timed.end()
        if failed is not None:
            raise failed  # not in the except block, as above

    @property
    def _is_read(self) -> bool:
        return self.is_complete and not self._chunks

    def _wait(self, write: Write | None) -> asyncio.Future[Behind]:
        """What to wait for until more has come, or, while ``write`` takes all that comes, until it is behind."""
        if self.timed.patience is not None:
            self.timed.wait()
        self._write = write
        self._waiter = waiter = self._owner.loop.create_future()
        return waiter

    def _take(self) -> bytes:
        """What has come of the body; nothing at its end. Raises what broke it off."""
        if self.error is not None:
            raise self.error
        chunks = self._chunks
        if not chunks:
            return b""
        self._chunks = []
        if self._size > BUFFER:
            self._owner.resume_reading()
        self._size = 0
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def drain(self) -> None:
        if not self.is_complete:
            await self.read_on()

    def close(self) -> None:
        """Close the connection, unless the answer is complete."""
        if self.timed.known:
            self.timed.end()
        self._cut()

    def _cut(self) -> None:
        if not self.is_complete:
            self._owner.abort()

    # ----------------------------------------------------------------------------------------------- for the connection

    def feed(self, chunk: bytes) -> None:
        """Some of the body has come."""
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size > BUFFER:
            self._owner.pause_reading()
        if self._waiter is not None and self._write is None:
            self._wake()

    def hand_on(self) -> None:
        """All that was received at once has been fed."""
        if self._write is None or self._waiter is None or self._waiter.done() or not self._chunks:
            return
        if self.timed.patience is not None:
            self.timed.wait()
        try:
            behind = self._write(self._take())
        except Exception as error:  # noqa: BLE001  # the reader's, which is raised where it waits
            self._waiter.set_exception(error)
            self._waiter = None
        else:
            if behind is not None:
                self._wake(behind)

    def end(self, error: BaseException | None = None) -> None:
        """Nothing more comes."""
        self.is_complete, self.error = error is None, error
        if self._waiter is not None:
            self._wake()

    def _wake(self, behind: Behind = None) -> None:
        waiter, self._waiter, self._write = self._waiter, None, None
        if waiter is not None and not waiter.done():
            waiter.set_result(behind)
