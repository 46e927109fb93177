"""The client that blocks: the twin of ``awaiting.py``, without an event loop. Another thread may end a call."""

from __future__ import annotations

from collections.abc import Callable, Generator
from importlib import import_module
from typing import Unpack

from .adapter import Adapter, Register, Settings
from .calls import Call
from .config import AdapterConfig
from .errors import AdapterError
from .providers.table import Provider
from .transport.base import Abort, Reply, Transport
from .types.events import Event
from .types.request import Request
from .types.response import Response

__all__ = ["Client", "Stream"]


class _Blocked:
    """A call of ``Client``: what it has open, and the bell that another thread may ring."""

    def __init__(self, call: Call) -> None:
        self.call, self.abort = call, Abort()
        self.reply: Reply | None = None

    def cancel(self) -> None:
        self.call.cancelled = True
        self.abort.ring()

    def close(self) -> None:
        self.abort.closes(None)
        reply, self.reply = self.reply, None
        if reply is not None:
            reply.close()


class Stream:
    """The events of one answer; the twin of ``AsyncStream``."""

    def __init__(self, blocked: _Blocked, events: Generator[Event, None, None], done: Callable[[], None]) -> None:
        self._blocked, self._events, self._done = blocked, events, done

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
        return next(self._events)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop here."""
        self._events.close()
        self._done()

    def __del__(self) -> None:
        self._done()


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
        self._transport, self._sleep = transport, sleep
        self._calls = Register[_Blocked]()

    def complete(self, request: Request) -> Response:
        """The whole answer."""
        blocked = self._open(request, stream=False)
        try:
            for _ in self._run(blocked):
                pass
        finally:
            self._end(blocked)
        return blocked.call.result()

    def stream(self, request: Request) -> Stream:
        """The answer as it comes. One that fails raises after ``message.complete``; the error has the partial."""
        blocked = self._open(request, stream=True)
        return Stream(blocked, self._run(blocked), lambda: self._end(blocked))

    def _run(self, blocked: _Blocked) -> Generator[Event, None, None]:
        call = blocked.call
        while True:
            error = None
            try:
                if call.delay is not None:
                    (self._sleep or blocked.abort.wait)(call.delay)
                reply = blocked.reply = self._network().send(call.attempt(), blocked.abort)
                call.replied(reply.status, reply.headers)
                for chunk in reply.chunks():
                    yield from call.feed(chunk)
                    if call.over:
                        break
            except AdapterError as problem:
                error = problem
            yield from call.settle(error)
            if blocked.reply is not None and call.error is None:
                blocked.reply.drain()
            blocked.close()
            if call.delay is None:
                call.raise_failure()
                return

    def _network(self) -> Transport:
        if self._transport is None:
            self._transport = import_module(".transport.blocking", __package__).BlockingTransport()
        assert self._transport is not None
        return self._transport

    def _open(self, request: Request, *, stream: bool) -> _Blocked:
        return self._calls.add(_Blocked(self.call(request, stream=stream)))

    def _end(self, blocked: _Blocked) -> None:
        blocked.call.abandon()
        self._calls.drop(blocked)
        blocked.close()

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
