"""Counts and failures of a run. The tallies of several parts can be added up."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import NamedTuple, TypeVar

__all__ = ["Failure", "Fault", "Score", "Tally"]

T = TypeVar("T")
_LONGEST = 400


class Fault(NamedTuple):
    """What is wrong with one record: its kind, by which faults are grouped, and the single case."""

    kind: str
    detail: str


class Failure(NamedTuple):
    """A fault with its place. ``where`` is a dialect or a pair."""

    where: str
    measure: str
    kind: str
    record: str
    detail: str


class Score(NamedTuple):
    passed: int
    checked: int

    @property
    def share(self) -> float:
        """The share that passed; 1 if nothing was checked."""
        return self.passed / self.checked if self.checked else 1.0

    @property
    def failed(self) -> int:
        return self.checked - self.passed


class Tally:
    """Counts by place and name, and failures."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.failures: list[Failure] = []

    def count(self, where: str, name: str, number: int = 1) -> None:
        """Add to a count that is no verdict."""
        self.counts[where, name] += number

    def check(self, where: str, measure: str, record: str, faults: Sequence[Fault] = ()) -> bool:
        """Count a measured record, and add its faults; return whether it has none."""
        self.counts[where, measure] += 1
        self.failures += [Failure(where, measure, fault.kind, record, fault.detail[:_LONGEST]) for fault in faults]
        if faults:
            self.counts[where, f"{measure} failed"] += 1
        return not faults

    def attempt(self, where: str, measure: str, record: str, work: Callable[[], T]) -> T | None:
        """Do some work and return its result. An exception is a fault of the record; then return None."""
        try:
            done = work()
        except Exception as error:  # noqa: BLE001 - whatever a dialect raises is a finding
            self.check(where, measure, record, [raised(error)])
            return None
        self.check(where, measure, record)
        return done

    def score(self, where: str, measure: str) -> Score:
        """How many records were checked, and how many passed."""
        checked = self.counts[where, measure]
        return Score(checked - self.counts[where, f"{measure} failed"], checked)

    def get(self, where: str, name: str) -> int:
        """A number added up with `count`."""
        return self.counts[where, name]

    def names(self, where: str, prefix: str) -> dict[str, int]:
        """The numbers under names that begin with ``prefix``, which is removed; the largest first."""
        found = {name.removeprefix(prefix): n for (place, name), n in self.counts.items() if place == where}
        wanted = {
            name.removeprefix(prefix) for (place, name) in self.counts if place == where and name.startswith(prefix)
        }
        return dict(sorted(((k, n) for k, n in found.items() if k in wanted), key=lambda item: (-item[1], item[0])))

    def add(self, other: Tally) -> None:
        """Add the tally of another part."""
        self.counts.update(other.counts)
        self.failures += other.failures


def raised(error: BaseException) -> Fault:
    """An exception as a fault: the kind is its type and place, the detail its message."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{PurePath(frames[-1].filename).name}:{frames[-1].name}" if frames else "?"
    return Fault(
        f"{type(error).__name__} in {place}", f"{error} ({' < '.join(f'{f.name}:{f.lineno}' for f in frames[:-6:-1])})"
    )
