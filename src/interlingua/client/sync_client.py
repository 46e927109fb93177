"""The client that blocks: the twin of ``async_client.py``, without an event loop. Another thread may end a call."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from importlib import import_module
from threading import Lock
from typing import Unpack

from ..errors import AdapterError
from ..models.providers import Provider
from ..types.events import Event
from ..types.request import Request
from ..types.response import Response
from .adapter import Adapter, Register, Settings
from .calls import Call
from .config import AdapterConfig
from .retry import Budget
from .transport.base import Abort, Reply, Transport

__all__ = ["Client", "Stream"]


class _Blocked:
    """A call of ``Client``: what it has open, and the bell that another thread may ring."""

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
        """After a good answer see to its end, so that the connection can be kept; after any other, close it."""
        if self.reply is not None and self.call.is_good:
            self.reply.drain()
        self.close()


class Stream:
    """The events of one answer; the twin of ``AsyncStream``."""

    def __init__(self, blocked: _Blocked, client: Client) -> None:
        self._blocked, self._client = blocked, client
        self._ready: deque[Event] = deque()
        self._over = False

    @property
    def request_id(self) -> str:
        """What ``cancel`` wants to be told."""
        return self._blocked.call.request_id

    @property
    def response(self) -> Response | None:
        """The whole answer, once ``message.complete`` was read."""
        return self._blocked.call.response

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Event:
        if self._blocked.call.cancelled and self._ready and self._blocked.call.response is None:
            self._blocked.call.take_back(self._ready)
            self._ready.clear()
        while not self._ready:
            if self._over:
                raise StopIteration
            self._advance()
        return self._ready.popleft()

    def _advance(self) -> None:
        try:
            events = self._client.step(self._blocked)
        except BaseException:
            self._end()
            raise
        if events is None:
            self._end()
        else:
            self._ready.extend(events)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop here."""
        self._ready.clear()
        self._end()

    def _end(self) -> None:
        self._over = True
        self._client.end(self._blocked)

    def __del__(self) -> None:
        self._end()


class Client(Adapter):
    """Calls one provider, synchronously; ``cancel`` and ``close`` may come from any thread."""

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
        self._calls = Register[_Blocked]()

    def complete(self, request: Request, *, budget: Budget | None = None) -> Response:
        """The whole answer. ``budget``: attempts and time shared with other calls, as a router does."""
        blocked = self._open(request, budget, stream=False)
        try:
            while self.step(blocked) is not None:
                pass
        finally:
            self.end(blocked)
        return blocked.call.result()

    def stream(self, request: Request, *, budget: Budget | None = None) -> Stream:
        """The answer as it comes. One that fails raises after ``message.complete``; the error has the partial."""
        return Stream(self._open(request, budget, stream=True), self)

    def step(self, blocked: _Blocked) -> list[Event] | None:
        """Go on with a call until something happens: the events of it, or None at the end."""
        call, error = blocked.call, None
        if call.response is not None:
            blocked.drain()
            call.raise_failure()
            return None
        try:
            if blocked.chunks is None:
                return self._begin(blocked)
            if not call.over and (chunk := next(blocked.chunks, None)) is not None:
                return call.feed(chunk)
        except AdapterError as problem:
            error = problem
        events = call.settle(error)
        if not call.is_good:
            blocked.close()
        return events

    def _begin(self, blocked: _Blocked) -> list[Event]:
        if blocked.call.delay is not None:
            (self._sleep or blocked.abort.wait)(blocked.call.delay)
        http, signer = blocked.call.attempt(), blocked.call.signer
        reply = self._network().send(signer(http) if signer else http, blocked.abort)
        blocked.reply, blocked.chunks = reply, reply.chunks()
        blocked.call.replied(reply.status, reply.headers)
        return []

    def _network(self) -> Transport:
        if self._transport is None:
            with self._lock:  # or two threads would each make one, and only one of them would ever be closed
                if self._transport is None:
                    self._transport = import_module(".transport.blocking", __package__).BlockingTransport()
        assert self._transport is not None
        return self._transport

    def _open(self, request: Request, budget: Budget | None, *, stream: bool) -> _Blocked:
        return self._calls.add(_Blocked(self.call(request, stream=stream, budget=budget)))

    def end(self, blocked: _Blocked) -> None:
        """Nobody waits for this call any more."""
        blocked.call.abandon()
        self._calls.drop(blocked)
        blocked.drain()

    def cancel(self, request_id: str) -> bool:
        """End a call: its socket closes at once. Whether there was such a call; asking again does no harm."""
        return self._calls.cancel(request_id)

    def close(self) -> None:
        """Cancel what runs and close every connection."""
        self._calls.cancel_all()
        if self._transport is not None:
            self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
