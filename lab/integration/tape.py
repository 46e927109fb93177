"""Real transports that remember what went over the wire: every body sent, every byte that came back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping

from interlingua.client.http import HttpRequest
from interlingua.client.transport.aio import AioTransport
from interlingua.client.transport.base import Abort, AsyncReply, Reply
from interlingua.client.transport.blocking import BlockingTransport

__all__ = ["Heard", "Tape"]


class Heard:
    """One exchange. ``whole``: the answer was read to its end."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.chunks: list[bytes] = []
        self.whole = False

    @property
    def body(self) -> bytes:
        """What came back."""
        return b"".join(self.chunks)


class Tape:
    """Everything that was sent, in order, whichever way it was waited for."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.awaiting, self.blocking = _Awaiting(self), _Blocking(self)

    def take(self, request: HttpRequest) -> Heard:
        """A new exchange."""
        self.heard.append(Heard(request))
        return self.heard[-1]


class _Awaiting:
    def __init__(self, tape: Tape) -> None:
        self._tape, self._inner = tape, AioTransport(tls=False)

    async def send(self, request: HttpRequest) -> AsyncReply:
        heard = self._tape.take(request)
        return _AsyncReply(heard, await self._inner.send(request))

    async def close(self) -> None:
        await self._inner.close()


class _AsyncReply:
    def __init__(self, heard: Heard, reply: AsyncReply) -> None:
        self._heard, self._reply, self._chunks = heard, reply, reply.chunks()
        self.status, self.headers = heard.status, heard.headers = reply.status, reply.headers
        self.close = reply.close

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self._heard.whole = True
            raise
        self._heard.chunks.append(chunk)
        return chunk

    async def drain(self) -> None:
        self._heard.whole = True
        await self._reply.drain()


class _Blocking:
    def __init__(self, tape: Tape) -> None:
        self._tape, self._inner = tape, BlockingTransport(tls=False)

    def send(self, request: HttpRequest, abort: Abort) -> Reply:
        heard = self._tape.take(request)
        return _BlockingReply(heard, self._inner.send(request, abort))

    def close(self) -> None:
        self._inner.close()


class _BlockingReply:
    def __init__(self, heard: Heard, reply: Reply) -> None:
        self._heard, self._reply = heard, reply
        self.status, self.headers = heard.status, heard.headers = reply.status, reply.headers
        self.close = reply.close

    def chunks(self) -> Iterator[bytes]:
        for chunk in self._reply.chunks():
            self._heard.chunks.append(chunk)
            yield chunk
        self._heard.whole = True

    def drain(self) -> None:
        self._heard.whole = True
        self._reply.drain()
