"""``Router``: several models that replace each other on failure, called as if they were one."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ...client.adapter import Adapter, new_ulid
from ...client.asking import RETRIES, Asking
from ...client.bus import AvailabilityChanged
from ...client.limiter import Limiter
from ...client.manager import ProviderManager
from ...client.models_file.watching import WatchedFile
from ...dialects import dialect
from ...errors import NotConfigured
from ...types.blocks import Block
from ...types.capabilities import AdapterCapabilities
from ...types.events import Event
from ...types.messages import Message
from ...types.output import OutputType, T
from ...types.request import Request
from ...types.response import Response
from ...types.tools import Tool
from .availability import Availability, Rules, State
from .model_calls import CallModel, FetchMedia, call_route
from .route import Candidate, Choice, Route
from .routes_file import NamedRoute, watch_route
from .steps import Steps, run_steps, run_steps_sync, stream_steps, stream_steps_sync

__all__ = ["Router"]

Models = str | Sequence[str] | Mapping[str, float]


class Router:
    """Calls models in order until one answers.

    ``models`` are names in order of preference, or names with weights: then the order is drawn at random for each turn.
    A model that fails repeatedly is not called for a while, then probed once. A model that cannot read a request is
    skipped. All models share one budget of attempts. If a request names a model, that one is called first.
    """

    name = "router"

    def __init__(
        self,
        models: Models,
        manager: ProviderManager | None = None,
        *,
        rules: Rules | None = None,
        availability: Availability | None = None,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._use(models)
        self._file: WatchedFile[NamedRoute] | None = None
        self.manager = manager or ProviderManager()
        self.availability = availability or Availability(rules, clock)
        if self.availability.announce is None:
            self.availability.announce = self._announce
        self._clock, self._chance = clock, chance
        self._edition = -1
        self._candidates: dict[tuple[str, bool], Candidate] = {}
        self._records: dict[str, tuple[Choice, ...]] = {}

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        name: str = "*",
        manager: ProviderManager | None = None,
        *,
        rules: Rules | None = None,
        availability: Availability | None = None,
    ) -> Router:
        """A router for one route of a ``routing.yaml``. If the file changes, it is read again before the next turn."""
        file = watch_route(path, name)
        router = cls(file.current.to, manager, rules=rules, availability=availability)
        router._file = file
        return router

    def _use(self, models: Models) -> None:
        self.models = (models,) if isinstance(models, str) else tuple(models)
        self.weights = dict(models) if isinstance(models, Mapping) else None

    # ---------------------------------------------------------------------------------------------------------- routes

    def route(self, *, blocking: bool = False, first: str | None = None, models: Sequence[str] | None = None) -> Route:
        """The candidates of one turn, in order. ``first`` is a model to call before the others. ``models`` replaces the
        router's own names for this turn."""
        self.manager.refresh_if_due()
        if self._file is not None and self._file.refresh():
            self._use(self._file.current.to)
        if self._edition != self.manager.edition:
            self._edition, self._candidates = self.manager.edition, {}
        names = models
        if names is None:
            names = self.models if self.weights is None else self._draw_order(self.weights)
        if not names:
            raise NotConfigured("the router has no models")
        if first is not None:
            names = (first, *names)
        known = self._candidates
        found = [known.get((name, blocking)) or self._make_candidate(name, blocking=blocking) for name in names]
        if len(found) == 1:
            return Route((found[0],), self._clock)
        each: dict[tuple[str, str | None], Candidate] = {}
        for candidate in found:
            each.setdefault((candidate.id, candidate.model), candidate)
        return Route(tuple(each.values()), self._clock)

    def _draw_order(self, weights: Mapping[str, float]) -> Sequence[str]:
        """A random order in which names with more weight tend to come first."""
        left = dict(weights)
        order: list[str] = []
        while left:
            drawn = self._chance() * sum(left.values())
            chosen = next((name for name in left if (drawn := drawn - left[name]) < 0), next(reversed(left)))
            order.append(chosen)
            del left[chosen]
        return order

    def _make_candidate(self, name: str, *, blocking: bool) -> Candidate:
        id, model = self.manager.locate(name)
        adapter = self.manager.get_client(id) if blocking else self.manager.get_adapter(id)
        capabilities = adapter.capabilities_for(model or "")
        breaker = self.availability.of(id, model)
        made = self._candidates[name, blocking] = Candidate(
            id, model, adapter, breaker, capabilities, f"{id}:{model or ''}"
        )
        return made

    def _announce(self, account: str, model: str | None, state: State) -> None:
        bus = self.manager.bus
        if bus.listeners:
            bus.announce(AvailabilityChanged(account=account, model=model, state=state))

    def states(self) -> dict[str, State]:
        """The state of each model that was called."""
        return {f"{id}:{model or ''}": state for (id, model), state in self.availability.states().items()}

    def record(self, request_id: str) -> tuple[Choice, ...]:
        """Which models were called or skipped for this request, and why. Kept for the last thousand requests."""
        return self._records.get(request_id, ())

    # ----------------------------------------------------------------------------------------------------------- calls

    async def complete(
        self,
        request: Request,
        *,
        limiters: tuple[Limiter, ...] = (),
        output: OutputType[T] = None,
        output_retries: int = RETRIES,
    ) -> Response[T]:
        """The whole answer of the first model that gives one. ``limiters`` apply besides those of the clients;
        ``output`` is as for a client."""
        return await run_steps(Steps(self._ask(request, output, output_retries, limiters=limiters)))

    def stream(self, request: Request) -> AsyncIterator[Event]:
        """The events of the answer as they arrive. If a model fails before its first content, the next is called."""
        return stream_steps(Steps(self._call(request)))

    def complete_sync(
        self,
        request: Request,
        *,
        limiters: tuple[Limiter, ...] = (),
        output: OutputType[T] = None,
        output_retries: int = RETRIES,
    ) -> Response[T]:
        """Like ``complete``, but blocking."""
        return run_steps_sync(Steps(self._ask(request, output, output_retries, limiters=limiters, blocking=True)))

    def stream_sync(self, request: Request) -> Iterator[Event]:
        """Like ``stream``, but blocking."""
        return stream_steps_sync(Steps(self._call(request, blocking=True)))

    def _ask(
        self, request: Request, output: OutputType[T], retries: int, **how: Any
    ) -> Generator[CallModel | FetchMedia, Any, Response[T]]:
        """One call. With ``output``, further calls until an answer fits the type or no retry is left."""
        if output is None:
            return (yield from self._call(request, **how))
        asking = Asking(request, output, retries)
        while True:
            response = yield from self._call(asking.request, **how)
            if (answer := asking.settle(response, _as_turn)) is not None:
                return answer

    def _call(
        self, request: Request, *, blocking: bool = False, limiters: tuple[Limiter, ...] = ()
    ) -> Generator[CallModel | FetchMedia, Any, Response]:
        route = self.route(blocking=blocking, first=request.model)
        route.limiters = limiters
        request = replace(request, request_id=request.request_id or new_ulid(), model=None)
        try:
            return (yield from call_route(route, request))
        finally:
            self._remember(request.request_id or "", route)

    def _remember(self, request_id: str, route: Route) -> None:
        self._records[request_id] = tuple(route.record)
        while len(self._records) > 1000:
            del self._records[next(iter(self._records))]

    # ------------------------------------------------------------------------------------------------------ an adapter

    @property
    def capabilities(self) -> AdapterCapabilities:
        """The capabilities of the first model."""
        return self.manager.capabilities_for(self.models[0])

    def capabilities_for(self, model: str) -> AdapterCapabilities:
        """The capabilities of any model, by its name."""
        return self.manager.capabilities_for(model)

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), system: str | Sequence[Block] | None = None
    ) -> int:
        """An estimate of the input tokens, as the first model counts them."""
        id, model = self.manager.locate(self.models[0])
        adapter = self.manager.known_adapter(id)
        if isinstance(adapter, Adapter):
            return adapter.estimate(Request(messages, model, system or (), tools))
        return adapter.estimate_input_tokens(messages, tools, system)

    async def cancel(self, request_id: str) -> bool:
        """End a call, whichever model is answering. Return whether there was such a call."""
        found = [await self.manager.get_adapter(id).cancel(request_id) for id in self._ids()]
        return any(found)

    def cancel_sync(self, request_id: str) -> bool:
        """Like ``cancel``, for ``complete_sync`` and ``stream_sync``; from any thread."""
        found = [self.manager.get_client(id).cancel(request_id) for id in self._ids()]
        return any(found)

    def _ids(self) -> list[str]:
        """The ids of all providers that may be answering."""
        called = {candidate.id for candidate in self._candidates.values()}
        return sorted(called | {self.manager.locate(name)[0] for name in self.models})

    async def close(self) -> None:
        """Close the manager and all its adapters."""
        await self.manager.close()


def _as_turn(response: Response) -> Message:
    """An answer as a message, with everything that its provider wants to get back."""
    origin = response.origin
    if origin is None or origin.dialect is None:
        return Message("assistant", response.content, origin=origin)
    return replace(dialect(origin.dialect, origin.provider).as_turn(response), origin=origin)
