"""``Router``: several models that stand in for each other, called as if they were one."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ...client.adapter import Adapter, new_ulid
from ...client.manager import ProviderManager
from ...types.blocks import Block
from ...types.capabilities import AdapterCapabilities
from ...types.events import Event
from ...types.messages import Message
from ...types.request import Request
from ...types.response import Response
from ...types.tools import Tool
from .attempts import Ask, Fetch, call_steps, shared_budget
from .availability import Availability, Rules, State
from .drivers import Steps, answer, answer_sync, drive, drive_stream, drive_stream_sync, drive_sync
from .routes import Candidate, Choice, Route

__all__ = ["Router"]

Models = str | Sequence[str] | Mapping[str, float]


class Router:
    """Asks models in order until one answers.

    ``models`` are names in order of preference, or names with weights: then each turn draws its own order. A model
    that keeps failing is left alone for a while, then probed once. One that cannot read a request is passed by. The
    attempts of all count in one budget.
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
        names = (models,) if isinstance(models, str) else tuple(models)
        self.weights = dict(models) if isinstance(models, Mapping) else None
        self.manager = manager or ProviderManager()
        self.models = names
        self.availability = availability or Availability(rules, clock)
        self._clock, self._chance = clock, chance
        self._edition, self._candidates = -1, dict[tuple[str, bool], Candidate]()
        self._records: dict[str, tuple[Choice, ...]] = {}

    # ---------------------------------------------------------------------------------------------------------- routes

    def route(self, *, blocking: bool = False) -> Route:
        """The way of one turn: its candidates in order, sticky as long as the first to answer goes on answering."""
        self.manager.look()
        if self._edition != self.manager.edition:
            self._edition, self._candidates = self.manager.edition, {}
        return Route([self._candidate(name, blocking=blocking) for name in self._ordered()], self._clock)

    def _ordered(self) -> Sequence[str]:
        """By preference; by lot where there are weights: heavy names tend to come first."""
        if self.weights is None:
            return self.models
        left, order = dict(self.weights), list[str]()
        while left:
            mark = self._chance() * sum(left.values())
            chosen = next((name for name in left if (mark := mark - left[name]) < 0), next(reversed(left)))
            order.append(chosen)
            del left[chosen]
        return order

    def _candidate(self, name: str, *, blocking: bool) -> Candidate:
        known = self._candidates.get((name, blocking))
        if known is None:
            id, model = self.manager.locate(name)
            adapter = self.manager.get_client(id) if blocking else self.manager.get_adapter(id)
            able = adapter.capabilities_for(model or "")
            known = Candidate(id, model, adapter, self.availability.of(id, model), able)
            self._candidates[name, blocking] = known
        return known

    def states(self) -> dict[str, State]:
        """How each model that was asked is doing."""
        return {f"{id}:{model or ''}": state for (id, model), state in self.availability.states().items()}

    def record(self, request_id: str) -> tuple[Choice, ...]:
        """Who was asked for this request's answer, or passed by, and why. Kept for the latest thousand."""
        return self._records.get(request_id, ())

    # ----------------------------------------------------------------------------------------------------------- calls

    async def complete(self, request: Request) -> Response:
        """The whole answer of the first who gives one."""
        return await drive(self._steps(request), answer)

    def stream(self, request: Request) -> AsyncIterator[Event]:
        """The answer as it comes. Only a failure before the first content is made good by another model."""
        return drive_stream(self._steps(request), answer)

    def complete_sync(self, request: Request) -> Response:
        """As ``complete``, for code that does not await."""
        return drive_sync(self._steps(request, blocking=True), answer_sync)

    def stream_sync(self, request: Request) -> Iterator[Event]:
        """As ``stream``, for code that does not await."""
        return drive_stream_sync(self._steps(request, blocking=True), answer_sync)

    def _steps(self, request: Request, *, blocking: bool = False) -> Steps[Response]:
        return Steps(self._asking(request, self.route(blocking=blocking)))

    def _asking(self, request: Request, route: Route) -> Generator[Ask | Fetch, Any, Response]:
        request = replace(request, request_id=request.request_id or new_ulid(), model=None)
        budget = shared_budget(route.candidates[0].adapter, len(route.candidates))
        try:
            return (yield from call_steps(route, request, budget))
        finally:
            self._remember(request.request_id or "", route)

    def _remember(self, request_id: str, route: Route) -> None:
        self._records[request_id] = tuple(route.record)
        while len(self._records) > 1000:
            del self._records[next(iter(self._records))]

    # ------------------------------------------------------------------------------------------------------ an adapter

    @property
    def capabilities(self) -> AdapterCapabilities:
        """Of the first model."""
        return self.manager.capabilities_for(self.models[0])

    def capabilities_for(self, model: str) -> AdapterCapabilities:
        """Of any model by its name."""
        return self.manager.capabilities_for(model)

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), system: str | Sequence[Block] | None = None
    ) -> int:
        """By the first model's tokenizer."""
        id, model = self.manager.locate(self.models[0])
        adapter = self.manager.get_adapter(id)
        if isinstance(adapter, Adapter):
            return adapter.estimate(Request(messages, model, system or (), tools))
        return adapter.estimate_input_tokens(messages, tools, system)

    async def cancel(self, request_id: str) -> bool:
        """End a call, whoever is answering it."""
        ids = {self.manager.locate(name)[0] for name in self.models}
        found = [await self.manager.get_adapter(id).cancel(request_id) for id in sorted(ids)]
        return any(found)

    def cancel_sync(self, request_id: str) -> bool:
        """End a call of ``complete_sync`` or ``stream_sync``; from any thread."""
        ids = {self.manager.locate(name)[0] for name in self.models}
        found = [self.manager.get_client(id).cancel(request_id) for id in sorted(ids)]
        return any(found)

    async def close(self) -> None:
        """Close the manager and all its adapters."""
        await self.manager.close()
