"""What was counted and what failed. Tallies of parts add up to the tally of the whole."""

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
    """What is wrong with one record: a kind, which groups it with its like, and the case itself."""

    kind: str
    detail: str


class Failure(NamedTuple):
    """A fault where it happened. ``where`` is a dialect or a pair."""

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
        """The share that passed; all of nothing is all."""
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
        """Note a number that is no verdict."""
        self.counts[where, name] += number

    def check(self, where: str, measure: str, record: str, faults: Sequence[Fault] = ()) -> bool:
        """Note that a record was measured; it passes if nothing is wrong."""
        self.counts[where, measure] += 1
        self.failures += [Failure(where, measure, fault.kind, record, fault.detail[:_LONGEST]) for fault in faults]
        if faults:
            self.counts[where, f"{measure} failed"] += 1
        return not faults

    def attempt(self, where: str, measure: str, record: str, work: Callable[[], T]) -> T | None:
        """Do what must never raise; an exception is the fault of the record, and None the answer."""
        try:
            done = work()
        except Exception as error:  # noqa: BLE001 - whatever a dialect raises is a finding
            self.check(where, measure, record, [raised(error)])
            return None
        self.check(where, measure, record)
        return done

    def score(self, where: str, measure: str) -> Score:
        """How many records passed."""
        checked = self.counts[where, measure]
        return Score(checked - self.counts[where, f"{measure} failed"], checked)

    def get(self, where: str, name: str) -> int:
        """A number noted with `count`."""
        return self.counts[where, name]

    def names(self, where: str, prefix: str) -> dict[str, int]:
        """The numbers noted under names that begin so, most first, without the prefix."""
        found = {name.removeprefix(prefix): n for (place, name), n in self.counts.items() if place == where}
        wanted = {
            name.removeprefix(prefix) for (place, name) in self.counts if place == where and name.startswith(prefix)
        }
        return dict(sorted(((k, n) for k, n in found.items() if k in wanted), key=lambda item: (-item[1], item[0])))

    def add(self, other: Tally) -> None:
        """Take in the tally of another part."""
        self.counts.update(other.counts)
        self.failures += other.failures


def raised(error: BaseException) -> Fault:
    """An exception as a fault: its type and where it was raised; the message is the case."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{PurePath(frames[-1].filename).name}:{frames[-1].name}" if frames else "?"
    return Fault(
        f"{type(error).__name__} in {place}", f"{error} ({' < '.join(f'{f.name}:{f.lineno}' for f in frames[:-6:-1])})"
    )
