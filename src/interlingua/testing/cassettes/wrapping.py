"""The transports of a cassette, synchronous and asynchronous: they record an inner transport, or play a recording."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from ...client.http import HttpRequest
from ...client.transport.base import Abort, AsyncReply, AsyncTransport, Reply, Transport
from ...errors import AdapterError
from .recording import CassetteError, Told, chunks_of

if TYPE_CHECKING:
    from .tape import Cassette, Take

__all__ = ["AsyncTapeTransport", "TapeTransport"]


class _Recorded:
    """A reply that is recorded while it is read."""

    def __init__(self, take: Take, status: int, headers: Mapping[str, str]) -> None:
        self.take, self.status, self.headers = take, status, headers
        take.record_head(status, headers)


class _AsyncRecorded(_Recorded):
    def __init__(self, take: Take, reply: AsyncReply) -> None:
        super().__init__(take, reply.status, reply.headers)
        self.reply, self._chunks = reply, reply.chunks()

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self.take.end()
            raise
        except AdapterError as problem:
            self.take.end(problem)
            raise
        self.take.chunks.append(chunk)
        return chunk

    async def drain(self) -> None:
        self.take.end()
        await self.reply.drain()

    def close(self) -> None:
        self.take.end(left=True)
        self.reply.close()


class _BlockingRecorded(_Recorded):
    def __init__(self, take: Take, reply: Reply) -> None:
        super().__init__(take, reply.status, reply.headers)
        self.reply = reply

    def chunks(self) -> Iterator[bytes]:
        try:
            for chunk in self.reply.chunks():
                self.take.chunks.append(chunk)
                yield chunk
        except AdapterError as problem:
            self.take.end(problem)
            raise
        self.take.end()

    def drain(self) -> None:
        self.take.end()
        self.reply.drain()

    def close(self) -> None:
        self.take.end(left=True)
        self.reply.close()


class _Played:
    """A reply that is played from a recording."""

    def __init__(self, answer: Told, tape: Cassette) -> None:
        self.status, self.headers = answer.status, answer.headers
        self._answer, self._tape = answer, tape
        self._chunks = self._bytes()

    def _bytes(self) -> Iterator[bytes]:
        yield from chunks_of(self._answer)
        if self._answer.problem is not None:
            raise self._answer.problem.error()
        if self._answer.left:
            raise _incomplete(self._tape)

    def close(self) -> None: ...


class _AsyncPlayed(_Played):
    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        chunk = next(self._chunks, None)
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    async def drain(self) -> None: ...


class _BlockingPlayed(_Played):
    def chunks(self) -> Iterator[bytes]:
        return self._chunks

    def drain(self) -> None: ...


class AsyncTapeTransport:
    """The transport of a cassette for ``AsyncClient``."""

    def __init__(self, tape: Cassette, inner: AsyncTransport | None) -> None:
        self._tape, self._inner = tape, inner

    async def send(self, request: HttpRequest) -> AsyncReply:
        if not self._tape.records:
            return _AsyncPlayed(_answer(self._tape, request), self._tape)
        if self._inner is None:
            self._inner = import_module("interlingua.client.transport.aio").AioTransport()
        assert self._inner is not None
        take = self._tape.take(request)
        try:
            return _AsyncRecorded(take, await self._inner.send(request))
        except AdapterError as problem:
            take.end(problem)
            raise

    async def close(self) -> None:
        if self._inner is not None:
            await self._inner.close()


class TapeTransport:
    """The transport of a cassette for ``Client``."""

    def __init__(self, tape: Cassette, inner: Transport | None) -> None:
        self._tape, self._inner = tape, inner

    def send(self, request: HttpRequest, abort: Abort) -> Reply:
        if not self._tape.records:
            return _BlockingPlayed(_answer(self._tape, request), self._tape)
        if self._inner is None:
            self._inner = import_module("interlingua.client.transport.blocking").BlockingTransport()
        assert self._inner is not None
        take = self._tape.take(request)
        try:
            return _BlockingRecorded(take, self._inner.send(request, abort))
        except AdapterError as problem:
            take.end(problem)
            raise

    def close(self) -> None:
        if self._inner is not None:
            self._inner.close()


def _answer(tape: Cassette, request: HttpRequest) -> Told:
    """The recorded answer; raises the recorded failure if there was no answer."""
    answer = tape.play(request)
    if answer.status:
        return answer
    raise answer.problem.error() if answer.problem is not None else _incomplete(tape)


def _incomplete(tape: Cassette) -> CassetteError:
    return CassetteError(f"{tape.path}: this answer was recorded only so far; its reader went away")
