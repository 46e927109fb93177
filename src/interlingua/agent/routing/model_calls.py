"""One model call over the candidates of a route, without I/O: the commands that it needs are yielded."""

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

__all__ = ["CallModel", "FetchMedia", "Prepare", "Tell", "call_route"]


class ClientStream(Protocol):
    """A stream of one of our clients, as the routing sees it."""

    @property
    def response(self) -> Response | None: ...

    def leave(self) -> None: ...


class CallModel(Struct):
    """The command to call a model. What performs it as a stream sets ``held`` and, for our own clients, ``stream``."""

    adapter: ProviderAdapter | Adapter
    request: Request
    budget: Budget
    ids: CallIds | None = None
    """The conversation's ids for the tool calls in the answer."""
    held: HeldEvents | None = None
    """The events that the reader has not seen, in case that another model is called."""
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
        """What has come of an answer that is not read to its end."""
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
    """The command to fetch the media of a request that its model does not take by URL. The result is the request with
    the media in it."""

    request: Request
    dialect: Dialect
    target: Target
    deadline: Deadline


class Tell(Struct, frozen=True):
    """The command to hand an event to the reader of a stream."""

    event: SessionEvent


Prepare = Callable[[Candidate, CallModel], FetchMedia | None]
"""Changes the request of a call for the candidate that gets it. Returns the media to be fetched first, if any are."""


def call_route(
    route: Route, request: Request, deadline: Deadline | None = None, prepare: Prepare | None = None
) -> Generator[CallModel | FetchMedia, Any, Response]:
    """Call one candidate after the other until one answers. Raises the last failure."""
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
        except BaseException:  # the caller left; another call may probe the candidate
            route.cancelled()
            raise
        else:
            if response.stop_reason is StopReason.cancelled:
                route.cancelled()
            else:
                route.answered()
            return response
