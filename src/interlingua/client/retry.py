"""Whether to try again, and when. Pure: clock and random numbers are arguments.

If every layer retried on its own, attempts would multiply. So there is one budget for each model call, and it is here.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from ..errors import RETRYABLE, AdapterError
from ..types.words import ErrorClass
from .config import Retry
from .deadline import Deadline
from .limiter import Limiter
from .uploaded import Uploads

__all__ = ["LONGEST_HINT", "Budget", "backoff", "delay_for", "hint"]

LONGEST_HINT = 60.0
"""Seconds; a provider's hint is honoured up to here."""


def backoff(retry: Retry, failures: int, chance: float) -> float:
    """How many seconds to wait after that many failures (1, 2, …). ``chance`` is a random number from 0 to 1."""
    steps = min(failures - 1, 64)  # 2.0**1024 overflows
    return min(retry.cap, retry.base * 2.0**steps) * (0.5 + chance / 2)


def hint(error: AdapterError, longest: float) -> float | None:
    """The provider's ``retry_after``, at most ``longest``; None if there is none, or if it is not a valid number."""
    after = error.retry_after
    return None if after is None or not 0 <= after < inf else min(after, longest)


def delay_for(error: AdapterError, retry: Retry, failures: int, chance: float) -> float:
    """The provider's hint if there is one, else our own backoff."""
    hinted = hint(error, LONGEST_HINT)
    return backoff(retry, failures, chance) if hinted is None else hinted


class Budget:
    """Attempts and time for one model call, shared by the adapter and the router.

    ``account`` is the id of the adapter that is called; ``message_id`` and ``step`` are of the answer in its session.
    ``session_id`` and ``logged_losses`` belong to the conversation that the call is part of: its id, and the losses
    that were logged in it (kind, reason, message id). Without a session each call has its own.
    """

    __slots__ = (
        "account",
        "attempts",
        "capped",
        "chance",
        "clock",
        "deadline",
        "limiters",
        "logged_losses",
        "max_attempts",
        "message_id",
        "reserved",
        "retry",
        "routed",
        "session_id",
        "step",
        "uploads",
    )

    def __init__(
        self,
        retry: Retry,
        max_retries: int,
        seconds: float | None,
        clock: Callable[[], float],
        chance: Callable[[], float],
    ) -> None:
        self.retry, self.max_attempts, self.attempts = retry, 1 + max(max_retries, 0), 0
        self.clock, self.chance = clock, chance
        self.deadline, self.capped = Deadline(seconds, clock), False
        self.routed = False  # whether a router decides what becomes of a failed answer without content
        self.reserved = 0  # attempts that are left to the models that a router may call after this one
        self.limiters: tuple[Limiter, ...] = ()  # besides the client's own
        self.uploads: Uploads | None = None  # whether media may be uploaded, and what was; besides the client's own
        self.account: str | None = None
        self.session_id: str | None = None
        self.message_id: str | None = None
        self.step: int | None = None
        self.logged_losses: set[tuple[str, str, str | None]] | None = None

    def cap(self, deadline: Deadline) -> None:
        """Apply another deadline too, such as that of a tool loop: to every attempt, and to streams."""
        self.deadline = self.deadline.within(deadline.left())
        self.capped = True

    def left(self) -> float | None:
        """Seconds until the deadline; None without one."""
        return self.deadline.left()

    def add_waiting_time(self, seconds: float) -> None:
        """Extend the deadline by the time in the line of a limiter, unless another deadline applies."""
        if not self.capped:
            self.deadline.at += seconds

    @property
    def exhausted(self) -> bool:
        """Whether no attempt and no time is left, for any model."""
        return self.attempts >= self.max_attempts or self.left() == 0.0

    def _is_repeated(self, error_class: ErrorClass) -> bool:
        """Whether the caller's ``Retry`` names this class. A class that is never retried by default is ``retryable``
        only if the provider said so, and then it is retried too."""
        return error_class in self.retry.classes or error_class not in RETRYABLE

    def delay(self, error: AdapterError, *, delivered: bool) -> float | None:
        """Seconds to wait before the next attempt; None if there is none, and this failure is the result."""
        if delivered or not error.retryable or not self._is_repeated(error.error_class):
            return None
        if self.attempts >= self.max_attempts - self.reserved:
            return None
        seconds = delay_for(error, self.retry, self.attempts, self.chance())
        left = self.left()
        return None if left is not None and seconds >= left else seconds
