"""One model call over the candidates of a route, still without I/O: each ``Ask`` is done by whoever drives."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ...client.adapter import Adapter, ProviderAdapter
from ...client.config import AdapterConfig, Retry
from ...client.deadline import Deadline
from ...client.retry import Budget
from ...errors import AdapterError
from ...types.events import Event, MessageComplete, MessageStart, Unknown, UsageUpdate
from ...types.request import Request
from ...types.response import Response
from ...types.words import StopReason
from ..history import Names
from .routes import Candidate, Route

__all__ = ["Ask", "Fetch", "Prepare", "Prepared", "call_steps", "shared_budget"]

BEFORE_CONTENT = (MessageStart, UsageUpdate, Unknown, MessageComplete)
"""Events that are held until content comes: until then, another model can begin anew unseen."""


class Prepared(Struct, frozen=True):
    """The request as one candidate shall get it; how its failures are repeated, where that is not its own way; and
    the conversation's names for its calls."""

    request: Request
    retry: Retry | None = None
    max_retries: int | None = None
    names: Names | None = None
    fetches: bool = False
    """Whether media that the candidate cannot take by URL shall be fetched first."""


Prepare = Callable[[Candidate, Request], Prepared]


class Fetch(Struct, frozen=True):
    """Media of this request are to be fetched before it is sent: ``ask.request`` is replaced."""

    ask: Ask


class Source(Protocol):
    """A stream that knows its response, once there is one."""

    @property
    def response(self) -> Response | None: ...


class Ask:
    """Somebody is to be asked. A driver puts in ``response``, and what it ``held`` back."""

    __slots__ = ("_names", "_stream", "adapter", "budget", "delivered", "held", "request", "response", "retry")

    def __init__(self, adapter: ProviderAdapter | Adapter, prepared: Prepared, budget: Budget) -> None:
        self.adapter, self.request, self.budget, self.retry = adapter, prepared.request, budget, prepared.retry
        self._names = prepared.names
        self.delivered = False
        self.held: list[Event] = []
        self.response: Response | None = None
        self._stream: Source | None = None

    def watch(self, stream: Source) -> None:
        """Where the answer comes from, for those who want to know what there is of it when it is left early."""
        self._stream = stream

    def leave(self) -> None:
        """Nobody reads the answer any more, and nobody can wait for its end."""
        leave = getattr(self._stream, "leave", None)
        if leave is not None:
            leave()

    @property
    def partial(self) -> Response | None:
        """What there is of an answer that nobody reads to its end."""
        found = self.response or (self._stream.response if self._stream is not None else None)
        return None if found is None else self.named(found)

    def named(self, response: Response) -> Response:
        """An answer with the conversation's own ids; one that has them stays as it is."""
        return response if self._names is None else self._names.response(response)

    def pass_on(self, event: Event) -> list[Event]:
        """The events to hand out now that this one has come."""
        if self._names is not None:
            event = self._names.event(event)
        if type(event) is MessageComplete:
            self.response = event.response
        if self.delivered:
            return [event]
        self.held.append(event)
        if isinstance(event, BEFORE_CONTENT):
            return []
        self.delivered = True
        return self.release()

    def release(self) -> list[Event]:
        """What was held back."""
        held, self.held = self.held, []
        return held


def call_steps(
    route: Route, request: Request, budget: Budget, prepare: Prepare | None = None
) -> Generator[Ask | Fetch, Any, Response]:
    """Ask one candidate after the other until one answers. Raises the last failure."""
    route.begin()
    while True:
        candidate = route.next(request, budget)
        said = _named(request, candidate)
        prepared = Prepared(said) if prepare is None else prepare(candidate, said)
        if prepared.max_retries is not None:
            budget.most = max(1 + prepared.max_retries, len(route.candidates))
        ask = Ask(candidate.adapter, prepared, budget)
        try:
            if prepared.fetches:
                yield Fetch(ask)
            response = ask.named((yield ask))
        except AdapterError as error:
            if error.response is not None:
                error.response = ask.named(error.response)
            if not route.failed(error, budget, delivered=ask.delivered):
                raise
        except BaseException:  # the caller went away: nothing is known of the candidate, and another may probe it
            route.cancelled(budget)
            raise
        else:
            if response.stop_reason is StopReason.cancelled:
                route.cancelled(budget)
            else:
                route.answered(budget)
            return response


def _named(request: Request, candidate: Candidate) -> Request:
    return request if candidate.model is None else replace(request, model=candidate.model)


def usual_budget() -> Budget:
    """For an adapter of the user's own, which counts its attempts itself."""
    usual = AdapterConfig()
    return Budget(usual.retry, usual.max_retries, usual.timeout_seconds, time.monotonic, random.random)


def shared_budget(adapter: object, candidates: int, deadline: Deadline | None = None) -> Budget:
    """The budget of one call, by the first candidate's settings."""
    budget = adapter.budget() if isinstance(adapter, Adapter) else usual_budget()
    budget.most = max(budget.most, candidates)
    if deadline is not None:
        budget.cap(deadline)
    return budget
