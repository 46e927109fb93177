"""Answer a request of any dialect in that same dialect, with any provider: one call, without a server.

``relay`` returns the whole answer, ``relay_stream`` its bytes as they arrive; both have twins for synchronous code.
``RelayedCall`` decodes the request and writes the answer, without I/O; the gateway uses it too.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property
from typing import Any, Protocol, TypedDict, Unpack, cast

from msgspec import Struct
from msgspec.structs import replace

from .agent.routing import Router
from .client.adapter import ProviderAdapter, new_ulid
from .client.async_client import AsyncClient
from .client.client_parts import Partial
from .client.connect import connect, connect_sync
from .client.held_events import BEFORE_CONTENT
from .client.sync_client import Client
from .dialects import dialect as find
from .errors import AdapterError
from .models.pricing import Cost, Pricing
from .serving import AnswerWriter, asks_for_usage, refuse_state
from .types.base import Json, unchecked_copy
from .types.events import Event, MessageComplete
from .types.loss import Encoded, Loss
from .types.messages import Origin
from .types.request import Request
from .types.response import Response
from .types.usage import TokenUsage

__all__ = [
    "RelayOptions",
    "Carrier",
    "RelayStream",
    "Relayed",
    "RelayedCall",
    "SyncRelayStream",
    "relay",
    "relay_stream",
    "relay_stream_sync",
    "relay_sync",
]


class RelayOptions(TypedDict, total=False):
    """The optional arguments of ``relay`` and its twins."""

    headers: Mapping[str, str] | None
    """The headers of the request."""
    model: str | None
    """The requested model, for protocols that have it in the URL."""
    issuer: Origin | None
    """Who wrote the assistant turns, if the caller knows it: their reasoning is sent back to no one else."""
    pricing: Pricing | None
    config: Partial | None
    """Settings of the provider, as for ``connect``."""
    transport: Any
    environment: Mapping[str, str] | None
    script: Any
    on_loss: Any


CONNECTING = ("config", "transport", "environment", "script", "on_loss")


class Relayed(Struct, frozen=True, kw_only=True):
    """An answer in the dialect of the request.

    ``losses`` are those of both translations: of the request and of the answer. ``response`` is the canonical answer,
    with usage and attempts.
    """

    body: Json
    headers: dict[str, str] = {}
    losses: tuple[Loss, ...] = ()
    response: Response
    cost: Cost


class Carrier(Protocol):
    """Gives the client the provider's opaque state in a form that its dialect can carry, and restores it later."""

    def restore(self, request: Request) -> tuple[Request, tuple[Loss, ...]]:
        """The request with the state that the client sent back restored, and the losses of doing so."""
        ...

    def events(self, event: Event, /) -> Sequence[Event]:
        """The events to write for an event of the answer, its state in a form that the client's dialect can carry."""
        ...

    def response(self, response: Response) -> Response:
        """The same for a whole answer."""
        ...


class RelayedCall:
    """A client's request, decoded, and the answer to it in the client's own dialect, whole or event by event.

    ``model`` and ``stream`` are those of the URL, where it has them. ``checked``: a body that the vendor would refuse
    is refused in the vendor's words. ``request`` names no model, because the client does not decide who answers.
    ``requested_model`` is the model that the client named, which the answer repeats. While ``begun`` is false nothing
    was written, so the call may still end in an HTTP status.
    """

    response: Response | None = None
    begun = False

    def __init__(
        self,
        body: Json,
        dialect: str,
        *,
        headers: Mapping[str, str] | None = None,
        model: str | None = None,
        stream: bool | None = None,
        issuer: Origin | None = None,
        array: bool = False,
        checked: bool = True,
        id: str | None = None,
        carrier: Carrier | None = None,
    ) -> None:
        codec = find(dialect)
        if checked:
            refuse_state(body, dialect)
            codec.validate_request(body)
        request = codec.decode_request(body, headers, issuer=issuer)
        self._carrier = carrier
        self._unrestored: tuple[Loss, ...] = ()
        if carrier is not None:
            request, self._unrestored = carrier.restore(request)
        self.requested_model = model or request.model
        self.stream = request.stream if stream is None else stream
        id = id or new_ulid()
        self._id, self._decoded = id, request
        self.writer = AnswerWriter(
            dialect,
            request,
            id=id,
            created=int(time.time()),
            model=self.requested_model,
            usage=asks_for_usage(body, dialect),
            array=array,
        )
        self._before: list[Event] = []

    @cached_property
    def request(self) -> Request:
        """The canonical request, without a model."""
        return self.request_to(None)

    def request_to(self, model: str | None) -> Request:
        """The canonical request to this model."""
        return unchecked_copy(self._decoded, model=model, request_id=self._id, stream=self.stream)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses so far, of the request and of the answer."""
        sent = self.response.losses if self.response is not None else ()
        return (*self._unrestored, *sent, *self.writer.losses)

    def write_whole(self, response: Response) -> Encoded:
        """The whole answer, with the losses of the request and of the answer."""
        self.response = response
        written = self.writer.write_whole(response if self._carrier is None else self._carrier.response(response))
        before = (*self._unrestored, *response.losses)
        return replace(written, losses=(*before, *written.losses)) if before else written

    def feed(self, event: Event) -> bytes:
        """The bytes of an event. Empty before the first content, because until then the call may fail."""
        if type(event) is MessageComplete:
            self.response = event.response
        if self.begun:
            carried = (event,) if self._carrier is None else self._carrier.events(event)
            return self.writer.feed(carried[0]) if len(carried) == 1 else b"".join(map(self.writer.feed, carried))
        if isinstance(event, BEFORE_CONTENT) and not self._is_complete(event):
            self._before.append(event)
            return b""
        self.begun = True
        return b"".join(map(self.feed, (*self._before, event)))

    def feed_all(self, events: Sequence[Event]) -> bytes:
        """The bytes of several events."""
        return self.feed(events[0]) if len(events) == 1 else b"".join(map(self.feed, events))

    @staticmethod
    def _is_complete(event: Event) -> bool:
        return type(event) is MessageComplete and event.error is None

    def fail(self, error: AdapterError, *, started: bool = False) -> bytes:
        """The bytes that end an answer that has begun, or whose status was sent (``started``)."""
        if error.response is not None:
            self.response = error.response
        return self.writer.fail(error) if self.begun or started else b""

    def close(self) -> bytes:
        """The bytes still missing at the end of the stream."""
        return self.writer.close()


# ------------------------------------------------------------------------------------------------------- whole answers


async def relay(body: Json, *, dialect: str, to: str | ProviderAdapter, **options: Unpack[RelayOptions]) -> Relayed:
    """The answer to a request body of ``dialect``, in that dialect, by the provider that ``to`` names.

    ``to`` is the name of a model, as for ``connect``, or a client or router of yours, which is not closed. A failed
    call raises; ``interlingua.dialect(name).encode_error(error)`` writes the error as the caller's protocol does.
    """
    call, pricing = _call(body, dialect, options)
    async with _client(to, options) as client:
        return _relayed(call, await client.complete(call.request), pricing)


def relay_sync(body: Json, *, dialect: str, to: str | Client | Router, **options: Unpack[RelayOptions]) -> Relayed:
    """As ``relay``, for synchronous code."""
    call, pricing = _call(body, dialect, options)
    with _sync_client(to, options) as client:
        complete = client.complete_sync if isinstance(client, Router) else client.complete
        return _relayed(call, complete(call.request), pricing)


def _relayed(call: RelayedCall, response: Response, pricing: Pricing | None) -> Relayed:
    written, cost = call.write_whole(response), (pricing or Pricing()).of(response)
    return Relayed(body=written.body, headers=written.headers, losses=written.losses, response=response, cost=cost)


# ------------------------------------------------------------------------------------------------------------- streams


class _Streamed:
    """The properties of both streams."""

    def __init__(self, call: RelayedCall, pricing: Pricing | None) -> None:
        self._call, self._pricing = call, pricing

    @property
    def content_type(self) -> str:
        """The content type of the bytes."""
        return self._call.writer.content_type

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses so far, of the request and of the answer; complete at the end."""
        return self._call.losses

    @property
    def response(self) -> Response | None:
        """The canonical answer, once it has ended; the partial answer, if it failed."""
        return self._call.response

    @property
    def usage(self) -> TokenUsage | None:
        """The tokens of the answer, once it has ended."""
        return None if self._call.response is None else self._call.response.usage

    @property
    def cost(self) -> Cost | None:
        """What the answer cost, once it has ended."""
        return None if self._call.response is None else (self._pricing or Pricing()).of(self._call.response)


class RelayStream(_Streamed):
    """The bytes of an answer: ``async for``; leaving an ``async with`` closes the connection to the provider.

    A call that fails before its first content raises before it yields anything. One that fails later yields the
    dialect's own error and then raises, so that the answer does not end as if it were complete.
    """

    def __init__(self, call: RelayedCall, pricing: Pricing | None, chunks: AsyncIterator[bytes]) -> None:
        super().__init__(call, pricing)
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def __aenter__(self) -> RelayStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop the answer and close the connection to the provider."""
        await cast("Any", self._chunks).aclose()


class SyncRelayStream(_Streamed):
    """As ``RelayStream``, for synchronous code."""

    def __init__(self, call: RelayedCall, pricing: Pricing | None, chunks: Iterator[bytes]) -> None:
        super().__init__(call, pricing)
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks

    def __enter__(self) -> SyncRelayStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the answer and close the connection to the provider."""
        cast("Any", self._chunks).close()


def relay_stream(
    body: Json, *, dialect: str, to: str | ProviderAdapter, **options: Unpack[RelayOptions]
) -> RelayStream:
    """The answer to a request body of ``dialect`` as a stream of that dialect; see ``relay``."""
    call, pricing = _call(body, dialect, options)
    return RelayStream(call, pricing, _stream(call, to, options))


def relay_stream_sync(
    body: Json, *, dialect: str, to: str | Client | Router, **options: Unpack[RelayOptions]
) -> SyncRelayStream:
    """As ``relay_stream``, for synchronous code."""
    call, pricing = _call(body, dialect, options)
    return SyncRelayStream(call, pricing, _stream_sync(call, to, options))


async def _stream(call: RelayedCall, to: str | ProviderAdapter, options: RelayOptions) -> AsyncIterator[bytes]:
    async with _client(to, options) as client:
        events = client.stream(call.request)
        try:
            async for event in events:
                if written := call.feed(event):
                    yield written
        except AdapterError as error:
            if written := call.fail(error):
                yield written
            raise
        finally:
            await cast("Any", events).aclose()
        if written := call.close():
            yield written


def _stream_sync(call: RelayedCall, to: str | Client | Router, options: RelayOptions) -> Iterator[bytes]:
    with _sync_client(to, options) as client:
        events = client.stream_sync(call.request) if isinstance(client, Router) else client.stream(call.request)
        try:
            for event in events:
                if written := call.feed(event):
                    yield written
        except AdapterError as error:
            if written := call.fail(error):
                yield written
            raise
        finally:
            cast("Any", events).close()
        if written := call.close():
            yield written


# -------------------------------------------------------------------------------------------------------------- common


def _call(body: Json, dialect: str, options: RelayOptions) -> tuple[RelayedCall, Pricing | None]:
    known = {name: options.get(name) for name in ("headers", "model", "issuer")}
    return RelayedCall(body, dialect, **cast("Any", known)), options.get("pricing")


def _connected(open: Callable[..., Any], to: str, options: RelayOptions) -> Any:
    given = cast("dict[str, Any]", options)
    return open(to, **{name: given[name] for name in CONNECTING if name in given})


@asynccontextmanager
async def _client(to: str | ProviderAdapter, options: RelayOptions) -> AsyncGenerator[ProviderAdapter]:
    if not isinstance(to, str):
        yield to
        return
    client: AsyncClient = _connected(connect, to, options)
    async with client:
        yield client


@contextmanager
def _sync_client(to: str | Client | Router, options: RelayOptions) -> Generator[Client | Router]:
    if not isinstance(to, str):
        yield to
        return
    client: Client = _connected(connect_sync, to, options)
    with client:
        yield client
