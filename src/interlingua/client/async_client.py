"""The client that awaits: one short loop around a call, and who may end it.

What is decided is decided in ``calls.py``, what is said is said in ``exchange.py``; here is only the waiting.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from importlib import import_module
from types import TracebackType
from typing import Any, NoReturn, Unpack

from ..errors import AdapterError, CancelledError
from ..models.providers import Provider
from ..types.events import Event
from ..types.request import Request
from ..types.response import Response
from .adapter import Adapter, Register, Settings
from .calls import Call
from .config import AdapterConfig
from .retry import Budget
from .transport.base import AsyncReply, AsyncTransport

__all__ = ["AsyncClient", "AsyncStream"]


class _Waiting:
    """A call of ``AsyncClient``: who waits for it, and what it has open."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.reply: AsyncReply | None = None
        self.chunks: AsyncIterator[bytes] | None = None
        self.waiter: asyncio.Task[Any] | None = None
        self.before = 0
        """How often the waiter had been cancelled before it waited."""
        self.thrown = False
        """Whether we have cancelled it."""

    def __enter__(self) -> None:
        """Within, ``cancel`` reaches whoever waits: as our own error, and the task is left uncancelled."""
        self.waiter = asyncio.current_task()
        self.before = 0 if self.waiter is None else self.waiter.cancelling()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        ours = self.thrown and self._ours()
        self.waiter = None
        if ours and isinstance(error, asyncio.CancelledError):
            raise CancelledError("the call was cancelled") from None

    def _ours(self) -> bool:
        """Whether the task was cancelled by ``cancel`` alone; takes that back, as ``asyncio.timeout`` does."""
        if not self.thrown or self.waiter is None:
            return False
        self.thrown = False
        return self.waiter.uncancel() <= self.before

    def cancel(self) -> None:
        if self.call.cancelled:
            return
        self.call.cancelled = True
        if self.waiter is not None:
            self.thrown = True
            self.waiter.cancel()
        self.close()

    def close(self) -> None:
        """Close the socket, unless the answer was read to its end."""
        reply, self.reply, self.chunks = self.reply, None, None
        if reply is not None:
            reply.close()

    async def drain(self) -> None:
        """After a good answer see to its end, so that the connection can be kept; after any other, close it."""
        if self.reply is not None and self.call.is_good:
            await self.reply.drain()
        self.close()


class AsyncStream:
    """The events of one answer. Leaving the ``async with`` or dropping the last reference closes the socket."""

    def __init__(self, waiting: _Waiting, client: AsyncClient) -> None:
        self._waiting, self._client = waiting, client
        self._ready: deque[Event] = deque()
        self._over = False

    @property
    def request_id(self) -> str:
        """What ``cancel`` wants to be told."""
        return self._waiting.call.request_id

    @property
    def response(self) -> Response | None:
        """The whole answer, once ``message.complete`` was read."""
        return self._waiting.call.response

    def __aiter__(self) -> AsyncStream:
        return self

    async def __anext__(self) -> Event:
        if self._waiting.call.cancelled and self._ready and self._waiting.call.response is None:
            self._waiting.call.take_back(self._ready)
            self._ready.clear()
        while not self._ready:
            if self._over:
                raise StopAsyncIteration
            try:
                events = await self._client.step(self._waiting)
            except BaseException:
                self._end()
                raise
            if events is None:
                self._end()
            else:
                self._ready.extend(events)
        return self._ready.popleft()

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop here."""
        self._ready.clear()
        try:
            await self._waiting.drain()
        finally:
            self._end()

    def leave(self) -> None:
        """Stop here without waiting; what there is of the answer is in ``response``."""
        self._ready.clear()
        self._end()

    def _end(self) -> None:
        self._over = True
        self._client.end(self._waiting)

    def __del__(self) -> None:
        with suppress(RuntimeError):  # the event loop is closed, and its sockets with it
            self._end()


class AsyncClient(Adapter):
    """Calls one provider, asynchronously."""

    def __init__(
        self,
        provider: str | Provider,
        config: AdapterConfig | None = None,
        *,
        model: str | None = None,
        transport: AsyncTransport | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(provider, config, model=model, **settings)
        self._transport, self._sleep = transport, sleep
        self._calls = Register[_Waiting]()

    async def complete(self, request: Request, *, budget: Budget | None = None) -> Response:
        """The whole answer. ``budget``: attempts and time shared with other calls, as a router does."""
        waiting = self._open(request, budget, stream=False)
        call = waiting.call
        try:
            while call.response is None:
                call.settle(await self._fetch(waiting))
                if waiting.reply is not None:
                    await waiting.drain()
        finally:
            self.end(waiting)
        return call.result()

    async def _fetch(self, waiting: _Waiting) -> AdapterError | None:
        """One attempt of a whole answer, ``step`` in one stride. Returns what broke it off."""
        call = waiting.call
        try:
            with waiting:
                if call.delay is not None:
                    await self._sleep(call.delay)
                async for chunk in await self._send(waiting):
                    call.feed(chunk)
                    if call.over:
                        return None
        except AdapterError as error:
            return error
        waiting.close()
        return None

    def stream(self, request: Request, *, budget: Budget | None = None) -> AsyncStream:
        """The answer as it comes. One that fails raises after ``message.complete``; the error has the partial."""
        return AsyncStream(self._open(request, budget, stream=True), self)

    async def step(self, waiting: _Waiting) -> list[Event] | None:
        """Go on with a call until something happens: the events of it, or None at the end."""
        call, error = waiting.call, None
        if call.response is not None:
            await waiting.drain()
            call.raise_failure()
            return None
        try:
            if waiting.chunks is None:
                return await self._begin(waiting)
            if not call.over:
                with waiting:
                    chunk = await anext(waiting.chunks, None)
                if chunk is not None:
                    return call.feed(chunk)
        except AdapterError as problem:
            error = problem
        events = call.settle(error)
        if not call.is_good:
            waiting.close()
        return events

    async def _begin(self, waiting: _Waiting) -> list[Event]:
        with waiting:
            if waiting.call.delay is not None:
                await self._sleep(waiting.call.delay)
            await self._send(waiting)
        return []

    async def _send(self, waiting: _Waiting) -> AsyncIterator[bytes]:
        call = waiting.call
        http = call.attempt()
        if call.signer is not None:  # credentials may have to be renewed, which blocks
            http = await asyncio.to_thread(call.signer, http)
        reply = waiting.reply = await (self._transport or self._network()).send(http)
        chunks = waiting.chunks = reply.chunks()
        call.replied(reply.status, reply.headers)
        return chunks

    def _network(self) -> AsyncTransport:
        if self._transport is None:
            self._transport = import_module(".transport.aio", __package__).AioTransport()
        assert self._transport is not None
        return self._transport

    def _open(self, request: Request, budget: Budget | None, *, stream: bool) -> _Waiting:
        return self._calls.add(_Waiting(self.call(request, stream=stream, budget=budget)))

    def end(self, waiting: _Waiting) -> None:
        """Nobody waits for this call any more."""
        if waiting.call.response is None:
            waiting.call.abandon()
        self._calls.drop(waiting)
        waiting.close()

    async def cancel(self, request_id: str) -> bool:
        """End a call: its socket closes at once. Whether there was such a call; asking again does no harm."""
        return self._calls.cancel(request_id)

    async def close(self) -> None:
        """Cancel what runs and close every connection."""
        self._calls.cancel_all()
        if self._transport is not None:
            await self._transport.close()

    def __enter__(self) -> NoReturn:
        raise TypeError("this client awaits: write `async with`, or take connect_sync() or Client, which do not")

    def __exit__(self, *_: object) -> None:
        """For ``with``, which looks for both before it enters."""

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
