"""A moment by which something must be done. Pure: the clock is an argument."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

__all__ = ["Deadline"]


class Deadline:
    """A deadline in ``seconds`` from now, or never (None). Clients, the media fetcher and tool loops all use it."""

    __slots__ = ("at", "clock")

    def __init__(self, seconds: float | None, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.at = inf if seconds is None else clock() + seconds

    def left(self) -> float | None:
        """Seconds until then, 0 if it has passed; None if there is no limit."""
        return None if self.at == inf else max(0.0, self.at - self.clock())

    def within(self, seconds: float | None) -> Deadline:
        """A deadline that many seconds from now, or this one if it comes first."""
        sooner = Deadline(seconds, self.clock)
        sooner.at = min(sooner.at, self.at)
        return sooner
