"""The candidates of one turn, without I/O: which model is called next, and why others are skipped.

A route is sticky: within a turn, the model that answered last is called first. All candidates share one budget of
attempts; each candidate leaves at least one attempt for each candidate after it.
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
from ...client.fitting import LEAVING_OUT, unreadable_parts
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
"""Failures after which another model is called. (A request that is invalid for one model is invalid for all.)"""

FAILING = "it failed repeatedly and is not called for a while"


class Candidate(Struct, frozen=True):
    """A model that may be called, with its adapter and its breaker. A turn keeps the adapters that it began with."""

    id: str
    model: str | None
    adapter: ProviderAdapter | Adapter
    breaker: Breaker
    capabilities: AdapterCapabilities = AdapterCapabilities()
    name: str = ""
    """``"id:model"``."""

    @property
    def window(self) -> int | None:
        """The size of the model's context window in tokens; None if it is not known."""
        return self.capabilities.max_context_tokens

    def problem(self, request: Request) -> str | None:
        """Why the model cannot read this request as it is; None if it can."""
        return next(unreadable_parts(replace(request, model=self.model), self.capabilities), None)

    @property
    def is_strict(self) -> bool:
        """Whether its client refuses content that the model cannot read. Others leave it out or describe it in text."""
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
    """The candidates of one turn, in order. ``record`` has the outcome of each in the current call."""

    candidates: tuple[Candidate, ...]
    clock: Callable[[], float]
    record: list[Choice] = []
    error: AdapterError | None = None
    current: Candidate | None = None
    budget: Budget | None = None
    """Attempts and time of the current call, over all candidates."""
    limiters: tuple[Limiter, ...] = ()
    """Limiters that every attempt waits for, besides the limiter of its client."""
    _not_called: list[Candidate] = []
    _too_long: dict[str, str] | None = None
    """By the name of a model, why its context window is too small by the estimate. Empty if it is too small for all."""
    _attempts_before: int = 0

    def begin(self, deadline: Deadline | None = None) -> Budget:
        """Begin a call of the turn: the model that answered last comes first, and every candidate may be called again.

        Returns the budget of the call, which the settings of the first candidate determine.
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
        """The candidate to call now. Candidates that can read the whole request come before those that would leave
        something out. If no candidate is left, raises the last failure."""
        if len(self.candidates) > 1 and self._too_long is None:
            self._too_long = self._measure(request)
            self._not_called.sort(key=lambda candidate: not candidate.is_strict and bool(candidate.problem(request)))
        while self._not_called:
            candidate = self._not_called.pop(0)
            # the only candidate is not skipped: its own refusal is the better error
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
        """The candidates whose context window is too small for the request, and why. Empty if all are too small."""
        counts = {c.name: (c.tokens(request), c.window) for c in self.candidates if c.window is not None}
        found = {
            name: f"the conversation has about {tokens} tokens, and its context window {window}"
            for name, (tokens, window) in counts.items()
            if tokens > window
        }
        return found if len(found) < len(self.candidates) else {}

    @property
    def window(self) -> int | None:
        """The size of the current model's context window in tokens; None if it is not known."""
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
        """Note that the current model answered."""
        self._note("answered").breaker.succeeded()

    def cancelled(self) -> None:
        """Note that the caller cancelled the call. That is no failure of the current model."""
        self._note("cancelled").breaker.released()

    def failed(self, error: AdapterError, *, delivered: bool = False) -> bool:
        """Note that the current model failed. Return whether another one may be called: never if content was
        ``delivered`` to the caller already."""
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
    """The budget for a caller's own adapter, which counts its attempts itself."""
    config = AdapterConfig()
    return Budget(config.retry, config.max_retries, config.timeout_seconds, time.monotonic, random.random)
