"""The numbers as tables: which rows and columns there are, the same on the console and in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lab.fidelity.bars import residue_share
from lab.fidelity.pairs import pair_name
from lab.fidelity.reasons import NORMALISATIONS, reason_for
from lab.fidelity.run import CORPUS, Report
from lab.fidelity.tally import Failure, Tally

__all__ = ["Case", "Table", "cases", "dialect_table", "error_table", "pair_table", "reason_tables", "uncovered"]


class Table(NamedTuple):
    head: list[str]
    rows: list[list[str]]


def scored(measure: str) -> Callable[[Tally, str], str]:
    """A cell with the number of records that passed, and of how many if not all did."""

    def cell(tally: Tally, where: str) -> str:
        passed, checked = tally.score(where, measure)
        return "–" if not checked else f"{passed:,}" if passed == checked else f"{passed:,} of {checked:,}"

    return cell


def counted(name: str) -> Callable[[Tally, str], str]:
    return lambda tally, where: f"{tally.get(where, name):,}"


def share(kind: str, *parts: str) -> Callable[[Tally, str], str]:
    def cell(tally: Tally, where: str) -> str:
        every, filled = residue_share(tally, where, kind, parts or ("requests", "responses"))
        return f"{every:.1%} ({filled:.1%})"

    return cell


def classified(tally: Tally, where: str) -> str:
    classes = tally.names(where, "error class ")
    other, every = classes.get("other", 0), sum(classes.values())
    return f"{other / every:.1%}" if every else "–"


DIALECT_ROWS: tuple[tuple[str, Callable[[Tally, str], str]], ...] = (
    ("exchanges", counted("exchanges")),
    ("records of other endpoints", counted("other endpoints")),
    ("requests decoded without exception", scored("requests decoded")),
    ("requests exact", scored("requests exact")),
    ("responses decoded without exception", scored("responses decoded")),
    ("responses exact", scored("responses exact")),
    ("errors decoded without exception", scored("errors decoded")),
    ("errors exact, status and body", scored("errors exact")),
    ("errors classified as `other`", classified),
    ("edits of requests that show (law 10)", scored("requests edited")),
    ("edits of responses that show (law 10)", scored("responses edited")),
    ("requests the same after saving and loading", scored("requests saved and loaded")),
    ("responses the same after saving, loading, clearing `raw`", scored("responses saved and loaded")),
    ("streams decoded without exception", scored("streams decoded")),
    ("any split of the bytes (law 4)", scored("any split")),
    ("grammar of events", scored("grammar")),
    ("fold is what the last event says", scored("fold is the last event's response")),
    ("provider's own errors in a stream, raised after the partial", scored("errors in streams")),
    ("fold is the recorded whole answer (law 3)", scored("law 3: fold is the recorded whole")),
    ("fold is the whole answer we would write (law 3)", scored("law 3: fold is its whole answer")),
    ("stream written again from its events (law 5)", scored("law 5: events written again")),
    ("stream written again from its fold (law 5)", scored("law 5: fold written again")),
    ("whole answer said as a stream (law 5)", scored("law 5: whole said as a stream")),
    ("usage: disjoint buckets add up to the provider's count", scored("usage")),
    ("leaves in residue, of all (of those not null)", share("residue")),
    ("… of requests", share("residue", "requests")),
    ("… of responses", share("residue", "responses")),
    ("leaves carried whole (opaque blocks, server tools)", share("opaque")),
    ("recorded requests that the oracle accepts", scored("requests valid as recorded")),
)
PAIR_COLUMNS: tuple[tuple[str, Callable[[Tally, str], str]], ...] = (
    ("translated", scored("translated")),
    ("valid", scored("valid")),
    ("valid, recorded body was not", scored("valid (recorded body is not)")),
    ("warnings", counted("warnings")),
    ("nothing undeclared", scored("no undeclared loss")),
    ("no undeclared addition", scored("no undeclared addition")),
    ("no over-declared loss", scored("no over-declared loss")),
    ("with losses", counted("requests with losses")),
    ("dropped", counted("losses dropped")),
    ("approximated", counted("losses approximated")),
    ("moved", counted("losses moved")),
    ("added", counted("losses added")),
)


def dialect_table(report: Report) -> Table:
    """The table of all measures (rows) for all dialects (columns)."""
    rows = [[label, *(cell(report.tally, name) for name in report.dialects)] for label, cell in DIALECT_ROWS]
    for normalisation in NORMALISATIONS:
        used = counted(f"normalised {normalisation.name}")
        rows.append([f"normalised: {normalisation.name}", *(used(report.tally, name) for name in report.dialects)])
    return Table(["", *report.dialects], rows)


def pair_table(report: Report) -> Table:
    """The table with a row for each ordered pair."""
    rows = [
        [pair_name(*pair), *(cell(report.tally, pair_name(*pair)) for _, cell in PAIR_COLUMNS)] for pair in report.pairs
    ]
    return Table(["from → to", *(label for label, _ in PAIR_COLUMNS)], rows)


def error_table(report: Report) -> Table:
    """The table of error classes (columns) for all dialects (rows); errors inside a 200 have their own column."""
    found = {name: report.tally.names(name, "error class ") for name in report.dialects}
    classes = sorted({word for names in found.values() for word in names})
    rows = [
        [name, *(str(found[name].get(word, 0)) for word in classes), inside(report.tally, name)]
        for name in report.dialects
    ]
    return Table(["", *classes, "inside a 200"], rows)


def inside(tally: Tally, name: str) -> str:
    return ", ".join(f"{word} {n}" for word, n in tally.names(name, "error in a 200: ").items()) or "–"


def reason_tables(report: Report, most: int = 12) -> Iterator[tuple[str, Table]]:
    """For each target, the table of its most frequent losses, over all sources."""
    for target in report.dialects if report.pairs else ():
        reasons: Counter[str] = Counter()
        for source in report.dialects:
            reasons.update(report.tally.names(pair_name(source, target), "because "))
        rows = [[f"{n:,}", *why.split(": ", 1)] for why, n in reasons.most_common(most)]
        yield target, Table(["times", "kind", "reason"], rows)


def uncovered(report: Report) -> dict[str, int]:
    """The protocols that no dialect covers, with the number of their records."""
    return report.tally.names(CORPUS, "not covered ")


class Case(NamedTuple):
    """Failures of one kind at one place."""

    where: str
    measure: str
    kind: str
    failures: list[Failure]

    @property
    def reason(self) -> str:
        """The reasons for these failures, each once; empty if none is explained."""
        reasons = dict.fromkeys(reason_for(failure) or "" for failure in self.failures)
        return "; ".join(filter(None, reasons)) + (" (not all explained)" if "" in reasons and len(reasons) > 1 else "")


def cases(report: Report) -> list[Case]:
    """All failures by kind, the most frequent first within each measure."""
    found: dict[tuple[str, str, str], list[Failure]] = {}
    for failure in report.tally.failures:
        found.setdefault((failure.where, failure.measure, failure.kind), []).append(failure)
    ordered = sorted(found.items(), key=lambda item: (item[0][0], item[0][1], -len(item[1]), item[0][2]))
    return [Case(*key, failures) for key, failures in ordered]
