"""Real transports that record what goes over the wire: every body sent, every byte that comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping

from interlingua.client.http import HttpRequest
from interlingua.client.transport.aio import AioTransport
from interlingua.client.transport.base import Abort, AsyncReply, Reply
from interlingua.client.transport.blocking import BlockingTransport

__all__ = ["Exchange", "Tape"]


class Exchange:
    """A request and the bytes of its answer. ``whole``: the answer was read to its end."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.chunks: list[bytes] = []
        self.whole = False

    @property
    def body(self) -> bytes:
        """The body of the answer as far as it was read."""
        return b"".join(self.chunks)


class Tape:
    """All exchanges in order, through an asynchronous (``awaiting``) or a synchronous transport (``blocking``)."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.awaiting, self.blocking = _Awaiting(self), _Blocking(self)

    def take(self, request: HttpRequest) -> Exchange:
        """Add an exchange for a request."""
        self.exchanges.append(Exchange(request))
        return self.exchanges[-1]


class _Awaiting:
    def __init__(self, tape: Tape) -> None:
        self._tape, self._inner = tape, AioTransport(tls=False)

    async def send(self, request: HttpRequest) -> AsyncReply:
        exchange = self._tape.take(request)
        return _AsyncReply(exchange, await self._inner.send(request))

    async def close(self) -> None:
        await self._inner.close()


class _AsyncReply:
    def __init__(self, exchange: Exchange, reply: AsyncReply) -> None:
        self._exchange, self._reply, self._chunks = exchange, reply, reply.chunks()
        self.status, self.headers = exchange.status, exchange.headers = reply.status, reply.headers
        self.close = reply.close

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self._exchange.whole = True
            raise
        self._exchange.chunks.append(chunk)
        return chunk

    async def drain(self) -> None:
        self._exchange.whole = True
        await self._reply.drain()


class _Blocking:
    def __init__(self, tape: Tape) -> None:
        self._tape, self._inner = tape, BlockingTransport(tls=False)

    def send(self, request: HttpRequest, abort: Abort) -> Reply:
        exchange = self._tape.take(request)
        return _BlockingReply(exchange, self._inner.send(request, abort))

    def close(self) -> None:
        self._inner.close()


class _BlockingReply:
    def __init__(self, exchange: Exchange, reply: Reply) -> None:
        self._exchange, self._reply = exchange, reply
        self.status, self.headers = exchange.status, exchange.headers = reply.status, reply.headers
        self.close = reply.close

    def chunks(self) -> Iterator[bytes]:
        for chunk in self._reply.chunks():
            self._exchange.chunks.append(chunk)
            yield chunk
        self._exchange.whole = True

    def drain(self) -> None:
        self._exchange.whole = True
        self._reply.drain()
