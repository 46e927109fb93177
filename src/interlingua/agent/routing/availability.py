"""Whether a model may be called: a state machine (a circuit breaker) per (provider, model). The time is an argument.

state        what happened                         next
closed       a success                             closed, failures forgotten
closed       the n-th failure in a row             open, for the cooldown or the provider's hint
closed       a failure that a retry cannot mend    open
open         the time is over                      half_open: one probe may pass
half_open    the probe succeeds                    closed
half_open    the probe fails                       open, for twice as long as before
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from msgspec import Struct

from ...client.retry import hint
from ...errors import AdapterError
from ...types.words import ErrorClass

__all__ = ["Availability", "Breaker", "Rules", "State"]

State = Literal["closed", "open", "half_open"]

FAILURES = frozenset(
    {ErrorClass.rate_limit, ErrorClass.server_error, ErrorClass.network, ErrorClass.timeout, ErrorClass.auth}
)
"""Errors that count as a failure of the model. Any other error is a fault of the request."""
AT_ONCE = frozenset({ErrorClass.auth})
"""Errors that open the breaker at the first failure, because trying again would not help."""


class Rules(Struct, frozen=True):
    """After how many failures in a row a model is not called, and for how many seconds (``longest``: at most)."""

    failures: int = 3
    cooldown: float = 30.0
    longest: float = 600.0


class Breaker:
    """The state of one model."""

    __slots__ = ("_changed", "_pause", "_probing", "_rules", "failures", "state", "until")

    def __init__(self, rules: Rules, changed: Callable[[State], object] = lambda _: None) -> None:
        self._rules, self._changed = rules, changed
        self.state: State = "closed"
        self.failures, self.until = 0, 0.0
        self._pause, self._probing = rules.cooldown, False

    def allows(self, now: float) -> bool:
        """Whether a call may be made now. In ``half_open`` the first call is the probe; until it ends, no other may."""
        if self.state == "open" and now >= self.until:
            self.state, self._probing = "half_open", False
            self._changed("half_open")
        if self.state == "half_open":
            allowed, self._probing = not self._probing, True
            return allowed
        return self.state == "closed"

    def succeeded(self) -> None:
        """Note that a call was answered."""
        before, self.state = self.state, "closed"
        self.failures, self._pause, self._probing = 0, self._rules.cooldown, False
        if before != "closed":
            self._changed("closed")

    def failed(self, error: AdapterError, now: float) -> None:
        """Note that a call failed with all its attempts. A fault of the request does not change the state."""
        if error.error_class not in FAILURES:
            self._probing = False
            return
        self.failures += 1
        if self.state == "half_open":
            self._open(min(2 * self._pause, self._rules.longest), now)
        elif self.failures >= self._rules.failures or error.error_class in AT_ONCE or not error.retryable:
            self._open(max(self._rules.cooldown, hint(error, self._rules.longest) or 0.0), now)

    def released(self) -> None:
        """Note that the call was cancelled, so that another call may be the probe."""
        self._probing = False

    def _open(self, pause: float, now: float) -> None:
        before, self.state = self.state, "open"
        self._pause, self._probing = pause, False
        if before != "open":
            self._changed("open")
        self.until = now + pause


class Availability:
    """All breakers, by (provider, model)."""

    def __init__(self, rules: Rules | None = None, clock: Callable[[], float] = lambda: 0.0) -> None:
        self.rules, self.clock = rules or Rules(), clock
        self._breakers: dict[tuple[str, str | None], Breaker] = {}
        self.announce: Callable[[str, str | None, State], object] | None = None
        """Called with provider, model and new state when the state of a model changes."""

    def of(self, provider: str, model: str | None) -> Breaker:
        """The breaker of one model."""
        found = self._breakers.get((provider, model))
        if found is None:
            found = self._breakers[provider, model] = Breaker(self.rules, partial(self._changed, provider, model))
        return found

    def _changed(self, provider: str, model: str | None, state: State) -> None:
        if self.announce is not None:
            self.announce(provider, model, state)

    def states(self) -> dict[tuple[str, str | None], State]:
        """The state of every model that was ever called."""
        return {who: breaker.state for who, breaker in self._breakers.items()}
