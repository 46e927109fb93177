"""The bars: the shares that the measures must reach, as data.

A bar with ``excusable`` also accepts failures that ``reasons.py`` explains; any other is strict.
"""

from __future__ import annotations

from typing import NamedTuple

from lab.fidelity.pairs import pair_name
from lab.fidelity.reasons import NORMALISATIONS, reason_for
from lab.fidelity.run import CORPUS, Report
from lab.fidelity.tally import Tally

__all__ = ["Bar", "Verdict", "residue_share", "verdict", "verdicts"]


class Bar(NamedTuple):
    """The least share of records that must pass a measure."""

    name: str
    measure: str
    least: float = 1.0
    excusable: bool = False


class Verdict(NamedTuple):
    """A bar at one place, and whether it is reached."""

    where: str
    bar: str
    said: str
    reached: bool


DIALECT_BARS = (
    Bar("the dialect loads", "dialect loaded"),
    Bar("requests decode without exception", "requests decoded"),
    Bar("requests encode without exception", "requests encoded"),
    Bar("responses decode without exception", "responses decoded"),
    Bar("responses encode without exception", "responses encoded"),
    Bar("streams decode without exception", "streams decoded"),
    Bar("streams fold without exception", "streams folded"),
    Bar("errors decode without exception", "errors decoded"),
    Bar("errors encode without exception", "errors encoded"),
    Bar("requests exact", "requests exact", 0.995),
    Bar("responses exact", "responses exact", 0.995),
    Bar("edit test, requests", "requests edited"),
    Bar("edit test, responses", "responses edited"),
    Bar("any split", "any split"),
    Bar("grammar", "grammar"),
    Bar("stream errors have their class after the partial", "errors in streams"),
    Bar("fold is the recorded whole", "law 3: fold is the recorded whole", excusable=True),
    Bar("fold is its whole answer", "law 3: fold is its whole answer", excusable=True),
    Bar("fold is the last event's response", "fold is the last event's response", excusable=True),
    Bar("stream written again, events", "law 5: events written again", excusable=True),
    Bar("stream written again, fold", "law 5: fold written again", excusable=True),
    Bar("whole said as a stream", "law 5: whole said as a stream", excusable=True),
    Bar("saved and loaded, requests", "requests saved and loaded", excusable=True),
    Bar("saved and loaded, responses", "responses saved and loaded", excusable=True),
    Bar("errors exact", "errors exact", 0.995, excusable=True),
    Bar("usage invariants", "usage", excusable=True),
)
PAIR_BARS = (
    Bar("translated without exception", "translated"),
    Bar("read again without exception", "read again"),
    Bar("valid", "valid"),
    Bar("no undeclared loss", "no undeclared loss"),
    Bar("no undeclared addition", "no undeclared addition", excusable=True),
    Bar("no over-declared loss", "no over-declared loss", excusable=True),
)
MOST_NORMALISATIONS = 3
MOST_RESIDUE = {"anthropic-messages": 0.20, "openai-chat": 0.20}
MOST_RESIDUE_ELSEWHERE = 0.25


def verdicts(report: Report) -> list[Verdict]:
    """Every bar at every place."""
    tally = report.tally
    found = [verdict(tally, name, bar) for name in report.dialects for bar in DIALECT_BARS]
    found += [_residue(tally, name) for name in report.dialects]
    found += [verdict(tally, pair_name(*pair), bar) for pair in report.pairs for bar in PAIR_BARS]
    broken = sorted({failure.where for failure in tally.failures if failure.measure == "dialect loaded"})
    found += [verdict(tally, name, DIALECT_BARS[0]) for name in broken]
    names = len(NORMALISATIONS)
    found.append(Verdict(CORPUS, "named normalisations", f"{names}", names <= MOST_NORMALISATIONS))
    return found


def verdict(tally: Tally, where: str, bar: Bar) -> Verdict:
    passed, checked = tally.score(where, bar.measure)
    excused = _excused(tally, where, bar.measure) if bar.excusable and passed < checked else 0
    share = (passed + excused) / checked if checked else 1.0
    said = f"{passed}/{checked}" + (f", {excused} explained" if excused else "")
    return Verdict(where, bar.name, said, share >= bar.least)


def _excused(tally: Tally, where: str, measure: str) -> int:
    """The number of failing records for which every fault has a reason."""
    faults = [failure for failure in tally.failures if (failure.where, failure.measure) == (where, measure)]
    open_cases = {failure.record for failure in faults if reason_for(failure) is None}
    return len({failure.record for failure in faults} - open_cases)


def residue_share(
    tally: Tally, name: str, kind: str, parts: tuple[str, ...] = ("requests", "responses")
) -> tuple[float, float]:
    """The share of a kind among all leaves, and among those that are not null."""
    return _share(tally, name, kind, parts, ""), _share(tally, name, kind, parts, ", not null")


def _share(tally: Tally, name: str, kind: str, parts: tuple[str, ...], which: str) -> float:
    held, every = (sum(tally.get(name, f"leaves of {part}, {k}{which}") for part in parts) for k in (kind, "all"))
    return held / every if every else 0.0


def _residue(tally: Tally, name: str) -> Verdict:
    every, filled = residue_share(tally, name, "residue")
    most = MOST_RESIDUE.get(name, MOST_RESIDUE_ELSEWHERE)
    said = f"{every:.1%} of all leaves, {filled:.1%} of those not null, at most {most:.0%}"
    return Verdict(name, "residue", said, every <= most)
