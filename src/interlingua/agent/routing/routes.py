"""One turn's way through the candidates, without I/O: who is asked next, and why not the others.

A route is sticky: within a turn the model that answered goes on answering, as long as it does. Its attempts are all
counted in one budget, of which each candidate leaves one attempt to each that may follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ...client.adapter import Adapter, ProviderAdapter
from ...client.fitting import problems
from ...client.retry import Budget
from ...errors import AdapterError, InvalidRequestError, NotConfigured, ServerError
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
"""Failures that another model may not have. A request that is wrong here is wrong there too."""


FAILING = "it has been failing; it is left alone for a while"


class Candidate(Struct, frozen=True):
    """A model that may answer, who speaks to it, and its breaker. A turn keeps the adapters it began with."""

    id: str
    model: str | None
    adapter: ProviderAdapter | Adapter
    breaker: Breaker
    able: AdapterCapabilities = AdapterCapabilities()

    @property
    def window(self) -> int | None:
        """How many tokens it reads, where known."""
        return self.able.max_context_tokens

    def problem(self, request: Request) -> str | None:
        """Why it cannot read a request."""
        return next(problems(replace(request, model=self.model), self.able), None)

    @property
    def name(self) -> str:
        """As a user would write it."""
        return f"{self.id}:{self.model or ''}"


class Choice(Struct, frozen=True, omit_defaults=True):
    """One line of the routing record: who was asked or passed by, and why."""

    model: str
    outcome: Outcome
    reason: str | None = None
    attempts: int = 0


class Route:
    """The candidates of one turn, in order; ``record`` says what became of them."""

    def __init__(self, candidates: Sequence[Candidate], clock: Callable[[], float]) -> None:
        if not candidates:
            raise NotConfigured("a router without candidates can ask nobody")
        self.candidates, self.clock = tuple(candidates), clock
        self.record: list[Choice] = []
        self._left = list(candidates)
        self._current: Candidate | None = None
        self._before = 0
        self.error: AdapterError | None = None

    def begin(self) -> None:
        """A new call of the same turn: whoever answered last is asked first, and all may be tried again."""
        stuck = self._current
        self.record, self.error = [], None
        others = [candidate for candidate in self.candidates if candidate is not stuck]
        self._left = [*([stuck] if stuck is not None else []), *others]

    def next(self, request: Request, budget: Budget | None = None) -> Candidate:
        """Who is asked now. Raises the last failure if nobody is left."""
        while self._left:
            candidate = self._left.pop(0)
            why = self._refusal(candidate, request)
            if why is None:
                self._enter(candidate, budget)
                return candidate
            self.record.append(Choice(candidate.name, "skipped", why))
        raise self._nobody()

    def _refusal(self, candidate: Candidate, request: Request) -> str | None:
        overflowed = self.error is not None and self.error.error_class is ErrorClass.context_overflow
        if overflowed and (candidate.window or 0) <= (self.window or 0):
            return "its context window is no larger"
        if len(self.candidates) == 1:  # nobody else can answer: let it say no itself
            return None
        why = candidate.problem(request)
        if why is None and not candidate.breaker.allows(self.clock()):
            return FAILING
        return why

    @property
    def window(self) -> int | None:
        """How many tokens the current candidate reads, where known."""
        return self._current.window if self._current is not None else None

    def _enter(self, candidate: Candidate, budget: Budget | None) -> None:
        self._current = candidate
        if budget is not None:
            self._before = budget.attempts
            budget.reserve(len(self._left))

    def _nobody(self) -> AdapterError:
        if self.error is not None:
            return self.error
        told = "; ".join(f"{choice.model}: {choice.reason}" for choice in self.record)
        if any(choice.reason == FAILING for choice in self.record):
            return ServerError(f"no model is available: {told}")
        return InvalidRequestError(f"no model can take this request: {told}")

    # ------------------------------------------------------------------------------------------------- what happened

    def answered(self, budget: Budget | None = None) -> None:
        """The current candidate answered."""
        assert self._current is not None
        self._current.breaker.succeeded()
        self.record.append(Choice(self._current.name, "answered", attempts=self._spent(budget)))

    def cancelled(self, budget: Budget | None = None) -> None:
        """The caller wants no answer any more: nothing is known of the candidate."""
        assert self._current is not None
        self._current.breaker.released()
        self.record.append(Choice(self._current.name, "cancelled", attempts=self._spent(budget)))

    def failed(self, error: AdapterError, budget: Budget | None = None, *, delivered: bool = False) -> bool:
        """The current candidate failed; whether another may be asked. ``delivered``: the caller saw content already."""
        assert self._current is not None
        self.error = error
        if error.error_class is ErrorClass.cancelled:
            self.cancelled(budget)
            return False
        self._current.breaker.failed(error, self.clock())
        why = f"{error.error_class}: {error.message}"
        self.record.append(Choice(self._current.name, "failed", why, self._spent(budget)))
        if delivered or not self._left or (budget is not None and budget.exhausted):
            return False
        larger = any((other.window or 0) > (self.window or 0) for other in self._left)
        return error.error_class in MOVES_ON or (error.error_class is ErrorClass.context_overflow and larger)

    def _spent(self, budget: Budget | None) -> int:
        return 0 if budget is None else budget.attempts - self._before
