"""The async client: a short loop around a ``Call`` that awaits the transport, and cancellation.

All decisions are made in ``calls.py``; requests and answers are encoded and decoded in ``exchange/``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, Unpack, cast

from ..errors import AdapterError
from ..models.providers import Provider
from ..types.events import Event
from ..types.output import OutputType, T
from ..types.request import Request
from ..types.response import Response
from .adapter import Adapter, Settings
from .asking import RETRIES, Asking, TypedEvents, with_output_schema
from .async_calls import AsyncCall, Take
from .calls import CallStream, cancel_calls
from .client_parts import Partial
from .http import HttpRequest
from .retry import Budget
from .transport.base import AsyncReply, AsyncTransport
from .uploaded import LONGEST_RECEIPT

if TYPE_CHECKING:
    from .exchange import Exchange
    from .many import AsyncMap, MapOptions, MapSettings
    from .many.settings import Input
    from .uploading import Received, Uploading

__all__ = ["AsyncClient", "AsyncStream"]


class AsyncStream(CallStream[T]):
    """The events of one answer. Leaving the ``async with`` or dropping the last reference closes the socket."""

    _call: AsyncCall

    def __init__(self, call: AsyncCall, client: AsyncClient, typed: TypedEvents[T] | None = None) -> None:
        super().__init__(call, typed)
        self._client = client

    def __aiter__(self) -> AsyncStream[T]:
        return self

    async def __anext__(self) -> Event:
        if not self._ready or self._call.cancelled:
            self._take_back_unread()
            if not self._ready:
                self._ready.extend(await self._read())
            if not self._ready:
                raise StopAsyncIteration
        return self._hand_out()

    def next_events(self, take: Take | None = None) -> Awaitable[Sequence[Event]]:
        """The next events, all that were received together; none at the end.

        If the stream is not typed, ``take`` gets events as they arrive, without a turn of the event loop between. Then
        only the last events of an attempt are returned.
        """
        self._take_back_unread()
        return self._hand_out_all() if self._ready or self._typed is not None else self._read(take)

    async def _hand_out_all(self) -> Sequence[Event]:
        if not self._ready:
            self._ready.extend(await self._read())
        return [self._hand_out() for _ in range(len(self._ready))]

    async def _read(self, take: Take | None = None) -> Sequence[Event]:
        """Wait for the next events; none at the end."""
        call = self._call
        events: Sequence[Event] = ()
        try:
            while not events and not self._over and call.response is None:
                try:
                    if call.chunks is None:
                        await self._client.begin(call)
                    elif call.over:
                        events = call.end_attempt()
                    elif take is None:
                        with call:
                            chunk = await call.chunks.__anext__()
                        events = call.feed(chunk)
                    else:
                        with call:
                            await call.pour(take)
                        events = call.end_attempt()
                except StopAsyncIteration:
                    events = call.end_attempt()
                except AdapterError as error:
                    events = call.end_attempt(error)
            if not events and not self._over:
                await call.drain()
                call.raise_failure()
                self.leave()
                self._raise_output_error()
        except BaseException:
            self.leave()
            raise
        return events

    async def __aenter__(self) -> AsyncStream[T]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the stream. Its connection is kept if the answer was read to its end."""
        try:
            await self._call.drain()
        finally:
            self.leave()

    def leave(self) -> None:
        """Close the stream without waiting. ``response`` has what was received of the answer."""
        self._ready.clear()
        self._over = True
        self._client.end(self._call)

    def __del__(self) -> None:
        with suppress(RuntimeError):  # the event loop is closed, and its sockets with it
            self.leave()


class AsyncClient(Adapter):
    """Calls one provider, asynchronously."""

    def __init__(
        self,
        provider: str | Provider,
        config: Partial | None = None,
        *,
        model: str | None = None,
        transport: AsyncTransport | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(provider, config, model=model, **settings)
        self._transport, self._sleep = transport, sleep
        self._open_calls: set[AsyncCall] = set()

    async def complete(
        self,
        request: Request,
        *,
        budget: Budget | None = None,
        output: OutputType[T] = None,
        output_retries: int = RETRIES,
    ) -> Response[T]:
        """The whole answer. ``budget``: attempts and time that are shared with other calls, as in a router.

        ``output`` is the type of ``response.output``. An answer that does not fit goes back to the model with the
        reason, ``output_retries`` times at most; then ``OutputError`` is raised.
        """
        if output is None:
            return await self._complete(request, budget)
        asking = Asking(request, output, output_retries)
        while (answer := asking.settle(await self._complete(asking.request, budget), self.dialect.as_turn)) is None:
            pass
        return answer

    async def _complete(self, request: Request, budget: Budget | None) -> Response:
        call = self.call(AsyncCall, request, stream=False, budget=budget)
        self._open_calls.add(call)
        try:
            while call.response is None:
                failure: AdapterError | None = None
                try:
                    with call:
                        chunks = await self._send(call)
                        if (whole := call.body_with_head()) is None:
                            await self._read_chunks(call, chunks)
                        else:
                            call.feed(whole)
                            call.close()
                except AdapterError as error:
                    failure = error
                call.settle(failure)
                if call.reply is not None:
                    await call.drain()
        finally:
            self.end(call)
        return call.result()

    async def _read_chunks(self, call: AsyncCall, chunks: AsyncIterator[bytes]) -> None:
        """Read an answer that is not streamed, chunk by chunk."""
        async for chunk in chunks:
            call.feed(chunk)
            if call.over:
                return
        call.close()

    def stream(self, request: Request, *, budget: Budget | None = None, output: OutputType[T] = None) -> AsyncStream[T]:
        """The answer event by event. A failed one raises after ``message.complete``; the error has the part received.

        ``output`` is the type of ``stream.response.output``; ``stream.partial_output`` is the value so far.
        """
        typed = None if output is None else TypedEvents[T](output)
        if typed is not None:
            request = with_output_schema(request, typed.output)
        call = self.call(AsyncCall, request, stream=True, budget=budget)
        self._open_calls.add(call)
        return AsyncStream(call, self, typed)

    def map(
        self,
        inputs: Iterable[Input] | AsyncIterable[Input],
        *,
        output: OutputType[T] = None,
        **options: Unpack[MapOptions],
    ) -> AsyncMap[T]:
        """Many requests, a few at a time: ``async for result in client.map(prompts, concurrency=20)``, or a list of all
        results with ``await``. ``docs/many.md`` has the options."""
        many = import_module(".many", __package__)
        settings: MapSettings = many.MapSettings(**options, output=output)
        limiters = settings.limiters()

        async def complete(request: Request) -> Response:
            budget = self.budget()
            budget.limiters = limiters
            return await self.complete(request, budget=budget, output=output)

        made: AsyncMap[T] = many.AsyncMap(complete, inputs, settings, f"{self.name}:{self.model or ''}")
        return made

    async def begin(self, call: AsyncCall) -> None:
        """Send the next attempt of a streamed call."""
        with call:
            await self._send(call)

    async def _send(self, call: AsyncCall) -> AsyncIterator[bytes]:
        """Send the next attempt. Returns the body of its answer."""
        if call.delay is not None:
            await self._sleep(call.delay)
        if call.limiters:
            await call.wait_in_line()
        http = call.attempt()
        if call.uploads is not None and (steps := call.uploading(call.uploads, http.timeouts)) is not None:
            call.exchange = await self._upload(steps)
            http = call.exchange.http(http.timeouts)
        if self._signer is not None or self._transport is None:
            reply = await self.send_signed(http)
        else:
            reply = await self._transport.send(http)
        call.reply = reply
        chunks = call.chunks = reply.chunks()
        call.read_head(reply.status, reply.headers)
        return chunks

    async def _upload(self, steps: Uploading) -> Exchange:
        received: Received | None = None
        while True:
            try:
                step = steps.send(received)
            except StopIteration as end:
                return cast("Exchange", end.value)
            received = None
            if isinstance(step, HttpRequest):
                received = await self._receive(step)
            else:
                await self._sleep(step)

    async def _receive(self, http: HttpRequest) -> Received:
        reply = await self.send_signed(http)
        try:
            body = bytearray()
            async for chunk in reply.chunks():
                body += chunk
                if len(body) > LONGEST_RECEIPT:
                    break
            return reply.status, reply.headers, bytes(body)
        finally:
            reply.close()

    def send(self, http: HttpRequest) -> Coroutine[Any, Any, AsyncReply]:
        """Send a request as it is, over the connections of this client, without retries and without decoding."""
        if self._transport is None:
            settings = import_module(".transport.network", __package__).network_settings(self.config)
            self._transport = import_module(".transport.aio", __package__).AioTransport(**settings)
        return self._transport.send(http)

    async def send_signed(self, http: HttpRequest) -> AsyncReply:
        """As ``send``, with a signature if the provider takes no plain key."""
        if self._signer is not None:  # may renew credentials, which blocks
            http = await asyncio.to_thread(self._signer, http)
        return await self.send(http)

    def end(self, call: AsyncCall) -> None:
        """Close a call that nobody waits for any more. It may be closed twice."""
        self._open_calls.discard(call)
        if call.reply is not None:
            call.close()  # before the tokens of a long answer are estimated
        if call.response is None:
            call.abandon()

    async def cancel(self, request_id: str) -> bool:
        """End a call: its socket closes at once. Returns whether there was such a call."""
        return cancel_calls(self._open_calls, request_id)

    async def close(self) -> None:
        """Cancel all calls and close every connection."""
        cancel_calls(self._open_calls)
        if self._transport is not None:
            await self._transport.close()

    def __enter__(self) -> NoReturn:
        raise TypeError("this client is asynchronous: write `async with`, or use connect_sync() or Client")

    def __exit__(self, *_: object) -> None:
        """Without it, ``with`` would fail before ``__enter__`` could raise its error, which says what is wrong."""

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
