"""One model call over the candidates of a route, without I/O: what must be done is yielded as commands."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ...client.adapter import Adapter, ProviderAdapter
from ...client.deadline import Deadline
from ...client.held_events import HeldEvents
from ...client.retry import Budget
from ...dialects import Dialect
from ...errors import AdapterError
from ...types.capabilities import Target
from ...types.events import Event, MessageComplete
from ...types.request import Request
from ...types.response import Response
from ...types.session_events import SessionEvent
from ...types.words import StopReason
from ..history import CallIds
from .route import Candidate, Route

__all__ = ["CallModel", "EmitEvent", "FetchMedia", "Prepare", "call_route"]


class ClientStream(Protocol):
    """What the routing uses of the stream of an ``AsyncClient`` or ``Client``."""

    @property
    def response(self) -> Response | None: ...

    def leave(self) -> None: ...


class CallModel(Struct):
    """The command to call a model. If it is performed as a stream, ``held`` and (except for a caller's own adapter)
    ``stream`` are set."""

    adapter: ProviderAdapter | Adapter
    request: Request
    budget: Budget
    ids: CallIds | None = None
    """The conversation's ids for the tool calls in the answer."""
    held: HeldEvents | None = None
    """Events that are held back from the reader, because another model may still be called."""
    stream: ClientStream | None = None
    response: Response | None = None

    @property
    def delivered(self) -> bool:
        """Whether the reader has seen events of the answer."""
        return self.held is not None and self.held.delivered

    @property
    def unseen(self) -> list[Event]:
        """The events of a failed answer that the reader has not seen."""
        return [] if self.held is None else [self.pass_on(event) for event in self.held.events]

    @property
    def partial(self) -> Response | None:
        """The part that has arrived of an answer that was not read to its end."""
        found = self.response or (self.stream.response if self.stream is not None else None)
        return found if found is None or self.ids is None else self.ids.response(found)

    def pass_on(self, event: Event) -> Event:
        """An event of the answer with the conversation's ids."""
        if self.ids is not None:
            event = self.ids.event(event)
        if type(event) is MessageComplete:
            self.response = event.response
        return event


class FetchMedia(Struct, frozen=True):
    """The command to fetch the media of a request that its model does not accept by URL. Its result is the request with
    the media in place of the URLs."""

    request: Request
    dialect: Dialect
    target: Target
    deadline: Deadline


class EmitEvent(Struct, frozen=True):
    """The command to hand an event to the reader of a stream."""

    event: SessionEvent


Prepare = Callable[[Candidate, CallModel], FetchMedia | None]
"""Adapts the request of a call to the candidate that gets it. Returns a command to fetch media first, or None."""


def call_route(
    route: Route, request: Request, deadline: Deadline | None = None, prepare: Prepare | None = None
) -> Generator[CallModel | FetchMedia, Any, Response]:
    """Call the candidates one after the other until one answers. If none does, raises the last failure."""
    budget = route.begin(deadline)
    while True:
        candidate = route.next(request)
        adapter = candidate.adapter
        if isinstance(adapter, Adapter):
            budget.retry = adapter.config.retry
        named = request if candidate.model == request.model else replace(request, model=candidate.model)
        call = CallModel(adapter, named, budget)
        fetch = None if prepare is None else prepare(candidate, call)
        try:
            if fetch is not None:
                call.request = yield fetch
            response: Response = yield call
            if call.ids is not None and response.tool_uses:
                response = call.ids.response(response)
        except AdapterError as error:
            if error.response is not None and call.ids is not None:
                error.response = call.ids.response(error.response)
            if not route.failed(error, delivered=call.delivered):
                raise
        except BaseException:  # the caller left: the next call may probe this candidate
            route.cancelled()
            raise
        else:
            if response.stop_reason is StopReason.cancelled:
                route.cancelled()
            else:
                route.answered()
            return response
