"""The report for people at a terminal, and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lab.fidelity.bars import Verdict, residue_share
from lab.fidelity.pairs import pair_name
from lab.fidelity.run import CORPUS, Report
from lab.fidelity.tables import Table, cases, dialect_table, error_table, pair_table, uncovered

__all__ = ["as_json", "as_text"]

MOST_KINDS = 60
OWN_INVALID = "requests valid as recorded"


def as_text(report: Report, found: list[Verdict], *, list_failures: bool = False) -> str:
    """The report as text: tables, failures and bars."""
    return "\n".join(_lines(report, found, list_failures=list_failures))


def _lines(report: Report, found: list[Verdict], *, list_failures: bool) -> Iterator[str]:
    read = report.tally.score(CORPUS, "records read")
    yield f"{read.passed:,} of {read.checked:,} records of {len(report.files)} files in {report.seconds:.0f} s"
    yield from ("", *drawn(dialect_table(report)))
    yield from ("", *drawn(error_table(report)))
    if report.pairs:
        yield from ("", *drawn(pair_table(report)))
    if missing := uncovered(report):
        yield from ("", f"not covered: {', '.join(f'{name} {n}' for name, n in missing.items())}")
    yield from ("", *(_every_failure(report) if list_failures else _kinds(report)))
    yield ""
    yield from _bars(found)


def drawn(table: Table) -> Iterator[str]:
    """The lines of a table; the first column is aligned left, the others right."""
    widths = [max(len(row[column]) for row in [table.head, *table.rows]) for column in range(len(table.head))]
    for row in [table.head, *table.rows]:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()


def _kinds(report: Report) -> Iterator[str]:
    """The kinds of failures, each with an example, without requests that were invalid as recorded."""
    found = [case for case in cases(report) if case.measure != OWN_INVALID]
    for case in found[:MOST_KINDS]:
        first = case.failures[0]
        yield f"{len(case.failures):6}  {case.where} | {case.measure} | {case.kind}"
        yield f"        {first.record} | {first.detail[:240]}"
    if len(found) > MOST_KINDS:
        yield f"        … and {len(found) - MOST_KINDS} more kinds: --list-failures"


def _every_failure(report: Report) -> Iterator[str]:
    for failure in report.tally.failures:
        yield " | ".join(failure)


def _bars(found: list[Verdict]) -> Iterator[str]:
    missed = [verdict for verdict in found if not verdict.reached]
    for verdict in missed:
        yield f"BAR MISSED  {verdict.where}: {verdict.bar}: {verdict.said}"
    yield f"{len(found) - len(missed)} of {len(found)} bars reached"


def as_json(report: Report, found: list[Verdict]) -> dict[str, Any]:
    """The whole report as one JSON value."""
    return {
        "corpus": str(report.options.corpus),
        "seconds": round(report.seconds, 1),
        "files": report.files,
        "not_covered": uncovered(report),
        "dialects": {name: _place(report, name) | _residue(report, name) for name in report.dialects},
        "pairs": {pair_name(*pair): _place(report, pair_name(*pair)) for pair in report.pairs},
        "failures": [failure._asdict() for failure in report.tally.failures],
        "bars": [verdict._asdict() for verdict in found],
    }


def _place(report: Report, where: str) -> dict[str, Any]:
    names = sorted(name for place, name in report.tally.counts if place == where)
    measures = {name.removesuffix(" failed") for name in names if f"{name} failed" in names or name.endswith(" failed")}
    scores = {name: report.tally.score(where, name)._asdict() for name in sorted(measures)}
    return {"counts": {name: report.tally.get(where, name) for name in names}, "imperfect": scores}


def _residue(report: Report, where: str) -> dict[str, Any]:
    shares = {kind: residue_share(report.tally, where, kind) for kind in ("residue", "opaque")}
    return {f"{kind}_share": {"all": every, "not_null": filled} for kind, (every, filled) in shares.items()}
