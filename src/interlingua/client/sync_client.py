"""The blocking client: as ``async_client.py``, without an event loop. Another thread may cancel a call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Any, Unpack, cast

from ..errors import AdapterError
from ..models.providers import Provider
from ..types.events import Event
from ..types.output import OutputType, T
from ..types.request import Request
from ..types.response import Response
from .adapter import Adapter, Settings
from .asking import RETRIES, Asking, TypedEvents, with_output_schema
from .calls import Call, CallStream, cancel_calls
from .client_parts import Partial
from .http import HttpRequest
from .retry import Budget
from .transport.base import Abort, Reply, Transport
from .uploaded import LONGEST_RECEIPT

if TYPE_CHECKING:
    from .exchange import Exchange
    from .many import MapOptions, MapSettings, SyncMap
    from .many.settings import Input
    from .uploading import Received, Uploading

__all__ = ["Client", "Stream"]


class _SyncCall(Call):
    """A call of ``Client``: its reply, and the ``Abort`` with which another thread may end it."""

    reply: Reply | None = None
    chunks: Iterator[bytes] | None = None

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.abort = Abort()

    def wait_in_line(self) -> None:
        """Wait until every limiter grants the next attempt."""
        began = self.budget.clock()
        for limiter in self.limiters:
            woken = threading.Event()
            self.abort.closes(woken.set)
            permit = self.join(limiter, woken.set)
            while (delay := self.next_wait(limiter, permit)) is not None:
                woken.wait(None if delay == inf else delay)
                woken.clear()
        self.abort.closes(None)
        self.budget.add_waiting_time(self.budget.clock() - began)

    def cancel(self) -> None:
        super().cancel()
        self.abort.set()

    def close(self) -> None:
        """Close the socket, unless the answer was read to its end."""
        self.abort.closes(None)
        reply, self.reply, self.chunks = self.reply, None, None
        if reply is not None:
            reply.close()

    def drain(self) -> None:
        """After a good answer, read its last bytes, so that the connection can be reused; after any other, close it."""
        if self.reply is not None and self.is_good:
            self.reply.drain()
        self.close()


class Stream(CallStream[T]):
    """The events of one answer; as ``AsyncStream``."""

    _call: _SyncCall

    def __init__(self, call: _SyncCall, client: Client, typed: TypedEvents[T] | None = None) -> None:
        super().__init__(call, typed)
        self._client = client

    def __iter__(self) -> Stream[T]:
        return self

    def __next__(self) -> Event:
        self._take_back_unread()
        while not self._ready:
            if self._over:
                raise StopIteration
            try:
                events = self._client.step(self._call)
            except BaseException:
                self.close()
                raise
            if events is None:
                self.close()
                self._raise_output_error()
            else:
                self._ready.extend(events)
        return self._hand_out()

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the stream. ``response`` has what was received of the answer."""
        self._ready.clear()
        self._over = True
        self._client.end(self._call)

    leave = close  # as ``AsyncStream.leave``

    def __del__(self) -> None:
        self.close()


class Client(Adapter):
    """Calls one provider, synchronously; ``cancel`` and ``close`` may be called from any thread."""

    def __init__(
        self,
        provider: str | Provider,
        config: Partial | None = None,
        *,
        model: str | None = None,
        transport: Transport | None = None,
        sleep: Callable[[float], object] | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(provider, config, model=model, **settings)
        self._transport, self._sleep, self._lock = transport, sleep, Lock()
        self._open_calls: set[_SyncCall] = set()

    def complete(
        self,
        request: Request,
        *,
        budget: Budget | None = None,
        output: OutputType[T] = None,
        output_retries: int = RETRIES,
    ) -> Response[T]:
        """The whole answer; as ``AsyncClient.complete``."""
        if output is None:
            return self._complete(request, budget)
        asking = Asking(request, output, output_retries)
        while (answer := asking.settle(self._complete(asking.request, budget), self.dialect.as_turn)) is None:
            pass
        return answer

    def _complete(self, request: Request, budget: Budget | None) -> Response:
        call = self._open(request, budget, stream=False)
        try:
            while self.step(call) is not None:
                pass
        finally:
            self.end(call)
        return call.result()

    def stream(self, request: Request, *, budget: Budget | None = None, output: OutputType[T] = None) -> Stream[T]:
        """The answer as it comes; as ``AsyncClient.stream``."""
        typed = None if output is None else TypedEvents[T](output)
        if typed is not None:
            request = with_output_schema(request, typed.output)
        return Stream(self._open(request, budget, stream=True), self, typed)

    def map(
        self, inputs: Iterable[Input], *, output: OutputType[T] = None, **options: Unpack[MapOptions]
    ) -> SyncMap[T]:
        """Many requests, a few at a time, in threads: ``for result in client.map(prompts, concurrency=20)``.
        ``docs/many.md`` has the options."""
        many = import_module(".many", __package__)
        settings: MapSettings = many.MapSettings(**options, output=output)
        limiters = settings.limiters()

        def complete(request: Request) -> Response:
            budget = self.budget()
            budget.limiters = limiters
            return self.complete(request, budget=budget, output=output)

        made: SyncMap[T] = many.SyncMap(complete, self.cancel, inputs, settings, f"{self.name}:{self.model or ''}")
        return made

    def _open(self, request: Request, budget: Budget | None, *, stream: bool) -> _SyncCall:
        call = self.call(_SyncCall, request, stream=stream, budget=budget)
        self._open_calls.add(call)
        return call

    def step(self, call: _SyncCall) -> Sequence[Event] | None:
        """Do the next step of a call: send an attempt, read a chunk or end it. Returns the events; None at the end."""
        error = None
        if call.response is not None:
            call.drain()
            call.raise_failure()
            return None
        try:
            if call.chunks is None:
                self._send(call)
                return ()
            if not call.over and (chunk := next(call.chunks, None)) is not None:
                return call.feed(chunk)
        except AdapterError as problem:
            error = problem
        events = call.settle(error)
        if not call.is_good:
            call.close()
        return events

    def _send(self, call: _SyncCall) -> None:
        if call.delay is not None:
            (self._sleep or call.abort.wait)(call.delay)
        if call.limiters:
            call.wait_in_line()
        http = call.attempt()
        if call.uploads is not None and (steps := call.uploading(call.uploads, http.timeouts)) is not None:
            call.exchange = self._upload(steps, call)
            http = call.exchange.http(http.timeouts)
        reply = self._send_signed(http, call)
        call.reply, call.chunks = reply, reply.chunks()
        call.read_head(reply.status, reply.headers)

    def _upload(self, steps: Uploading, call: _SyncCall) -> Exchange:
        received: Received | None = None
        while True:
            try:
                step = steps.send(received)
            except StopIteration as end:
                return cast("Exchange", end.value)
            received = None
            if isinstance(step, HttpRequest):
                received = self._receive(step, call)
            else:
                (self._sleep or call.abort.wait)(step)

    def _send_signed(self, http: HttpRequest, call: _SyncCall) -> Reply:
        return self._network().send(call.signer(http) if call.signer else http, call.abort)

    def _receive(self, http: HttpRequest, call: _SyncCall) -> Received:
        reply = self._send_signed(http, call)
        try:
            body = bytearray()
            for chunk in reply.chunks():
                body += chunk
                if len(body) > LONGEST_RECEIPT:
                    break
            return reply.status, reply.headers, bytes(body)
        finally:
            reply.close()

    def _network(self) -> Transport:
        if self._transport is None:
            with self._lock:  # without it, two threads could each make one, and one of them would never be closed
                if self._transport is None:
                    settings = import_module(".transport.network", __package__).network_settings(self.config)
                    self._transport = import_module(".transport.blocking", __package__).BlockingTransport(**settings)
        assert self._transport is not None
        return self._transport

    def end(self, call: _SyncCall) -> None:
        """Close a call that nobody waits for any more. It may be closed twice."""
        self._open_calls.discard(call)
        call.drain()  # before the tokens of a long answer are estimated
        call.abandon()

    def cancel(self, request_id: str) -> bool:
        """End a call: its socket closes at once. Returns whether there was such a call."""
        return cancel_calls(self._open_calls, request_id)

    def close(self) -> None:
        """Cancel all calls and close every connection."""
        cancel_calls(self._open_calls)
        if self._transport is not None:
            self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
