"""The client that blocks: as ``async_client.py``, without an event loop. Another thread may cancel a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from threading import Lock
from typing import Unpack

from ..errors import AdapterError
from ..models.providers import Provider
from ..types.events import Event
from ..types.request import Request
from ..types.response import Response
from .adapter import Adapter, Settings
from .calls import Call, CallStream, cancel_calls
from .config import AdapterConfig
from .retry import Budget
from .transport.base import Abort, Reply, Transport

__all__ = ["Client", "Stream"]


class _OpenCall:
    """A call of ``Client``: its reply, and the ``Abort`` with which another thread may end it."""

    def __init__(self, call: Call) -> None:
        self.call, self.abort = call, Abort()
        self.reply: Reply | None = None
        self.chunks: Iterator[bytes] | None = None

    def cancel(self) -> None:
        self.call.cancelled = True
        self.abort.ring()

    def close(self) -> None:
        """Close the socket, unless the answer was read to its end."""
        self.abort.closes(None)
        reply, self.reply, self.chunks = self.reply, None, None
        if reply is not None:
            reply.close()

    def drain(self) -> None:
        """After a good answer, read its last bytes, so that the connection can be reused; after any other, close it."""
        if self.reply is not None and self.call.is_good:
            self.reply.drain()
        self.close()


class Stream(CallStream):
    """The events of one answer; as ``AsyncStream``."""

    def __init__(self, opened: _OpenCall, client: Client) -> None:
        super().__init__(opened.call)
        self._opened, self._client = opened, client

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Event:
        self._take_back_unread()
        while not self._ready:
            if self._over:
                raise StopIteration
            try:
                events = self._client.step(self._opened)
            except BaseException:
                self.close()
                raise
            if events is None:
                self.close()
            else:
                self._ready.extend(events)
        return self._ready.popleft()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop here; what had come of the answer is in ``response``."""
        self._ready.clear()
        self._over = True
        self._client.end(self._opened)

    leave = close  # as ``AsyncStream.leave``

    def __del__(self) -> None:
        self.close()


class Client(Adapter):
    """Calls one provider, synchronously; ``cancel`` and ``close`` may be called from any thread."""

    def __init__(
        self,
        provider: str | Provider,
        config: AdapterConfig | None = None,
        *,
        model: str | None = None,
        transport: Transport | None = None,
        sleep: Callable[[float], object] | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(provider, config, model=model, **settings)
        self._transport, self._sleep, self._lock = transport, sleep, Lock()
        self._open_calls: set[_OpenCall] = set()

    def complete(self, request: Request, *, budget: Budget | None = None) -> Response:
        """The whole answer. ``budget``: attempts and time that are shared with other calls, as in a router."""
        opened = self._open(request, budget, stream=False)
        try:
            while self.step(opened) is not None:
                pass
        finally:
            self.end(opened)
        return opened.call.result()

    def stream(self, request: Request, *, budget: Budget | None = None) -> Stream:
        """The answer as it comes. One that fails raises after ``message.complete``; the error has what had come."""
        return Stream(self._open(request, budget, stream=True), self)

    def _open(self, request: Request, budget: Budget | None, *, stream: bool) -> _OpenCall:
        opened = _OpenCall(self.call(request, stream=stream, budget=budget))
        self._open_calls.add(opened)
        return opened

    def step(self, opened: _OpenCall) -> Sequence[Event] | None:
        """Go on with a call until something happens. Returns the events, or None at the end."""
        call, error = opened.call, None
        if call.response is not None:
            opened.drain()
            call.raise_failure()
            return None
        try:
            if opened.chunks is None:
                self._send(opened)
                return ()
            if not call.over and (chunk := next(opened.chunks, None)) is not None:
                return call.feed(chunk)
        except AdapterError as problem:
            error = problem
        events = call.settle(error)
        if not call.is_good:
            opened.close()
        return events

    def _send(self, opened: _OpenCall) -> None:
        call = opened.call
        if call.delay is not None:
            (self._sleep or opened.abort.wait)(call.delay)
        http = call.attempt()
        reply = self._network().send(call.signer(http) if call.signer else http, opened.abort)
        opened.reply, opened.chunks = reply, reply.chunks()
        call.replied(reply.status, reply.headers)

    def _network(self) -> Transport:
        if self._transport is None:
            with self._lock:  # without it, two threads could each make one, and one of them would never be closed
                if self._transport is None:
                    self._transport = import_module(".transport.blocking", __package__).BlockingTransport()
        assert self._transport is not None
        return self._transport

    def end(self, opened: _OpenCall) -> None:
        """Close a call that nobody waits for any more. It may be closed twice."""
        opened.call.abandon()
        self._open_calls.discard(opened)
        opened.drain()

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
