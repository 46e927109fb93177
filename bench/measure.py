"""Timing by ratios within one run: the machine is shared, so absolute times mean little."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any, NamedTuple


class Row(NamedTuple):
    """The result of a measurement: the ratio to its yardstick, and the budget for it, which may be infinite.

    The ratio is NaN if it could not be measured; then the note says why.
    """

    name: str
    ratio: float
    budget: float = inf
    note: str = ""

    @property
    def over(self) -> bool:
        """Whether the ratio is over its budget."""
        return self.ratio > self.budget


def best(work: Callable[[], Any], *, seconds: float = 0.25, rounds: int = 7) -> float:
    """Seconds per call, the best of several rounds."""
    work()
    start = time.perf_counter()
    work()
    once = max(time.perf_counter() - start, 1e-7)
    times = max(1, int(seconds / rounds / once))
    found = float("inf")
    for _ in range(rounds):
        gc.collect()
        start = time.perf_counter()
        for _ in range(times):
            work()
        found = min(found, (time.perf_counter() - start) / times)
    return found


def ratio(ours: Callable[[], Any], yardstick: Callable[[], Any]) -> float:
    """The time of ``ours`` divided by that of the yardstick: the median of several pairs, as the machine is shared."""
    brief = partial(best, seconds=0.07, rounds=3)
    return statistics.median(brief(ours) / brief(yardstick) for _ in range(9))
