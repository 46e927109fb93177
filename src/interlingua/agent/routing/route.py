"""The candidates of one turn, without I/O: which model is called next, and why not the others.

A route is sticky: within a turn, the model that answered is called first again. All attempts count in one budget, of
which each candidate leaves one attempt to each candidate after it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ...client.adapter import Adapter, ProviderAdapter
from ...client.config import AdapterConfig
from ...client.deadline import Deadline
from ...client.fitting import LEAVING_OUT, problems
from ...client.limiter import Limiter
from ...client.retry import Budget
from ...errors import AdapterError, InvalidRequestError, ServerError
from ...types.capabilities import AdapterCapabilities
from ...types.request import Request
from ...types.words import ErrorClass
from .availability import Breaker

__all__ = ["Candidate", "Choice", "Route"]

Outcome = Literal["answered", "failed", "skipped", "cancelled"]

MOVES_ON = frozenset(
    {
        ErrorClass.rate_limit,
        ErrorClass.server_error,
        ErrorClass.network,
        ErrorClass.timeout,
        ErrorClass.auth,
        ErrorClass.other,
    }
)
"""Failures that another model may not have. A request that is wrong for one model is wrong for the others too."""

FAILING = "it failed repeatedly and is not called for a while"


class Candidate(Struct, frozen=True):
    """A model that may answer, its adapter and its breaker. A turn keeps the adapters it began with."""

    id: str
    model: str | None
    adapter: ProviderAdapter | Adapter
    breaker: Breaker
    able: AdapterCapabilities = AdapterCapabilities()
    name: str = ""
    """``"id:model"``."""

    @property
    def window(self) -> int | None:
        """How many tokens it reads, if that is known."""
        return self.able.max_context_tokens

    def problem(self, request: Request) -> str | None:
        """Why it cannot read a request as it is."""
        return next(problems(replace(request, model=self.model), self.able), None)

    @property
    def is_strict(self) -> bool:
        """Whether it refuses what it cannot read. Else it reads the rest, or notes in its place."""
        return getattr(self.adapter, "unsupported", None) not in LEAVING_OUT

    def tokens(self, request: Request) -> int:
        """An estimate of a request's tokens, as this model counts them."""
        named = replace(request, model=self.model)
        if isinstance(self.adapter, Adapter):
            return self.adapter.estimate(named)
        return self.adapter.estimate_input_tokens(named.messages, named.tools, named.system)


class Choice(Struct, frozen=True, omit_defaults=True):
    """One line of the routing record: a model that was called or skipped, and why."""

    model: str
    outcome: Outcome
    reason: str | None = None
    attempts: int = 0


class Route(Struct):
    """The candidates of one turn, in order. ``record`` is what became of them in the current call."""

    candidates: tuple[Candidate, ...]
    clock: Callable[[], float]
    record: list[Choice] = []
    error: AdapterError | None = None
    current: Candidate | None = None
    budget: Budget | None = None
    """Attempts and time of the current call, over all candidates."""
    limiters: tuple[Limiter, ...] = ()
    """What every attempt waits for, besides the limiter of its client."""
    _not_called: list[Candidate] = []
    _too_long: dict[str, str] | None = None
    """Why the conversation does not fit a model by its estimate, by the model's name; empty if it fits none."""
    _attempts_before: int = 0

    def begin(self, deadline: Deadline | None = None) -> Budget:
        """Begin a call of the turn: the model that answered last comes first, and all may be called again.

        Returns the budget of the call, by the settings of the first candidate.
        """
        first = self.current
        self.record, self.error, self._too_long = [], None, None
        others = [candidate for candidate in self.candidates if candidate is not first]
        self._not_called = others if first is None else [first, *others]
        adapter = self.candidates[0].adapter
        budget = self.budget = adapter.budget() if isinstance(adapter, Adapter) else _default_budget()
        budget.max_attempts = max(budget.max_attempts, len(self.candidates))
        budget.routed, budget.limiters = True, self.limiters
        if deadline is not None:
            budget.cap(deadline)
        return budget

    def next(self, request: Request) -> Candidate:
        """The model to call now. Raises the last failure if none is left. Models that can read all of the request come
        before those that would leave something out."""
        if len(self.candidates) > 1 and self._too_long is None:
            self._too_long = self._measure(request)
            self._not_called.sort(key=lambda candidate: not candidate.is_strict and bool(candidate.problem(request)))
        while self._not_called:
            candidate = self._not_called.pop(0)
            # a model without alternative is not skipped: its own refusal is the better answer
            why = self._why_skipped(candidate, request) if len(self.candidates) > 1 else None
            if why is not None:
                self.record.append(Choice(candidate.name, "skipped", why))
                continue
            self.current = candidate
            if self.budget is not None:
                self._attempts_before = self.budget.attempts
                self.budget.reserved = len(self._not_called)
            return candidate
        raise self._no_candidate()

    def _why_skipped(self, candidate: Candidate, request: Request) -> str | None:
        overflowed = self.error is not None and self.error.error_class is ErrorClass.context_overflow
        if overflowed and (candidate.window or 0) <= (self.window or 0):
            return "its context window is no larger"
        why = candidate.problem(request)
        if why is not None and candidate.is_strict:
            return why
        if self._too_long and candidate.name in self._too_long:
            return self._too_long[candidate.name]
        return None if candidate.breaker.allows(self.clock()) else FAILING

    def _measure(self, request: Request) -> dict[str, str]:
        """The models whose context windows are too small for the request, and why; none if all are."""
        counts = {c.name: (c.tokens(request), c.window) for c in self.candidates if c.window is not None}
        found = {
            name: f"the conversation has about {tokens} tokens, and its context window {window}"
            for name, (tokens, window) in counts.items()
            if tokens > window
        }
        return found if len(found) < len(self.candidates) else {}

    @property
    def window(self) -> int | None:
        """How many tokens the current model reads, if that is known."""
        return None if self.current is None else self.current.window

    def _no_candidate(self) -> AdapterError:
        if self.error is not None:
            return self.error
        reasons = "; ".join(f"{choice.model}: {choice.reason}" for choice in self.record)
        if any(choice.reason == FAILING for choice in self.record):
            return ServerError(f"no model is available: {reasons}")
        return InvalidRequestError(f"no model can take this request: {reasons}")

    # ------------------------------------------------------------------------------------------------- the outcome

    def answered(self) -> None:
        """The current model answered."""
        self._note("answered").breaker.succeeded()

    def cancelled(self) -> None:
        """The caller cancelled, which says nothing about the current model."""
        self._note("cancelled").breaker.released()

    def failed(self, error: AdapterError, *, delivered: bool = False) -> bool:
        """The current model failed; whether another may be called. ``delivered``: the caller has seen content."""
        self.error = error
        if error.error_class is ErrorClass.cancelled:
            self.cancelled()
            return False
        self._note("failed", f"{error.error_class}: {error.message}").breaker.failed(error, self.clock())
        if delivered or not self._not_called or (self.budget is not None and self.budget.exhausted):
            return False
        larger = any((other.window or 0) > (self.window or 0) for other in self._not_called)
        return error.error_class in MOVES_ON or (error.error_class is ErrorClass.context_overflow and larger)

    def _note(self, outcome: Outcome, reason: str | None = None) -> Candidate:
        assert self.current is not None
        spent = 0 if self.budget is None else self.budget.attempts - self._attempts_before
        self.record.append(Choice(self.current.name, outcome, reason, spent))
        return self.current


def _default_budget() -> Budget:
    """For an adapter that is not ours, which counts its attempts itself."""
    config = AdapterConfig()
    return Budget(config.retry, config.max_retries, config.timeout_seconds, time.monotonic, random.random)
