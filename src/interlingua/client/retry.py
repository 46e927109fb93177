"""Whether to try again, and when. Pure: clock and chance are handed in.

Libraries above and below repeat too, and budgets multiply; so there is one budget per model call, and it is here.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from ..errors import RETRYABLE, AdapterError
from ..types.words import ErrorClass
from .config import Retry
from .deadline import Deadline

__all__ = ["Budget", "backoff", "delay_for", "hint"]

LONGEST_HINT = 60.0
"""Seconds; a provider's hint is honoured up to here."""


def backoff(retry: Retry, failures: int, chance: float) -> float:
    """How long to wait after so many failures (1, 2, …); ``chance`` is uniform in 0 … 1."""
    steps = min(failures - 1, 64)  # 2.0**1024 is no float
    return min(retry.cap, retry.base * 2.0**steps) * (0.5 + chance / 2)


def hint(error: AdapterError, longest: float) -> float | None:
    """How long the provider asks to be left alone, at most ``longest``; None if it does not say, or says nonsense."""
    after = error.retry_after
    return None if after is None or not 0 <= after < inf else min(after, longest)


def delay_for(error: AdapterError, retry: Retry, failures: int, chance: float) -> float:
    """The provider's hint where there is one, else our own backoff."""
    hinted = hint(error, LONGEST_HINT)
    return backoff(retry, failures, chance) if hinted is None else hinted


class Budget:
    """Attempts and time for one model call, over adapter and router together.

    ``session_id`` and ``told`` belong to the conversation that the call is part of: its id, and the losses that were
    logged in it (kind, reason, message id). Without a session each call has its own.
    """

    __slots__ = (
        "_reserved",
        "attempts",
        "capped",
        "chance",
        "clock",
        "deadline",
        "most",
        "retry",
        "session_id",
        "told",
    )

    def __init__(
        self,
        retry: Retry,
        max_retries: int,
        seconds: float | None,
        clock: Callable[[], float],
        chance: Callable[[], float],
    ) -> None:
        self.retry, self.most, self.attempts = retry, 1 + max(max_retries, 0), 0
        self.clock, self.chance = clock, chance
        self._reserved = 0
        self.session_id: str | None = None
        self.told: set[tuple[str, str, str | None]] | None = None
        self.deadline = Deadline(seconds, clock)
        self.capped = False

    def cap(self, deadline: Deadline) -> None:
        """Somebody else's deadline holds too, a tool loop's for one: for every attempt, and for streams."""
        self.deadline = self.deadline.within(deadline.left())
        self.capped = True

    def left(self) -> float | None:
        """Seconds until the deadline; None without one."""
        return self.deadline.left()

    def reserve(self, attempts: int) -> None:
        """Leave so many attempts to others who may be asked after this one."""
        self._reserved = attempts

    @property
    def exhausted(self) -> bool:
        """Whether nobody may try any more."""
        return self.attempts >= self.most or self.left() == 0.0

    def _repeats(self, error_class: ErrorClass) -> bool:
        """The caller's classes; one that is never repeated by itself is retryable only if the provider said so."""
        return error_class in self.retry.classes or error_class not in RETRYABLE

    def delay(self, error: AdapterError, *, delivered: bool) -> float | None:
        """Seconds to wait before the next attempt, or None if this failure is the answer."""
        if delivered or not error.retryable or not self._repeats(error.error_class):
            return None
        if self.attempts >= self.most - self._reserved:
            return None
        seconds = delay_for(error, self.retry, self.attempts, self.chance())
        left = self.left()
        return None if left is not None and seconds >= left else seconds
