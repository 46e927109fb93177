"""The report as a page: ``docs/fidelity.md``."""

from __future__ import annotations

from collections.abc import Iterator

from lab.fidelity.bars import Verdict
from lab.fidelity.console import OWN_INVALID
from lab.fidelity.reasons import NORMALISATIONS
from lab.fidelity.run import CORPUS, Report
from lab.fidelity.tables import Case, Table, cases, dialect_table, error_table, pair_table, reason_tables, uncovered

__all__ = ["as_markdown"]

EXAMPLES = 3
HEAD = """# Fidelity

How exactly each dialect reads and writes recorded traffic, and what is lost between each two of them. This page is
written by `make fidelity` (`python -m lab.fidelity CORPUS_DIR`) and not by hand.
"""
MEANING = """## What is measured

- **Exact**: `encode(decode(wire)) == wire` as JSON (order of keys aside, 1 is 1.0), without a Loss, betas in headers
  included.
- **Edits**: some leaves of each decoded value (chosen by a hash of the record's id) are changed one at a time; on the
  wire exactly that place may change. The rule is in `lab/fidelity/edits.py`.
- **Any split**: whole, byte by byte if short, and at random places: the same events.
- **Written again**: what our stream encoder writes is read as the same content, stop reason, usage, id and model.
- **Residue**: scalars that no canonical field holds and only their own dialect writes back (`extras`). Carried whole:
  `OpaqueBlock.raw`, `ServerTool.raw`, `ServerToolResultBlock.content`.
- **Valid**: accepted by the target's official SDK types with unknown keys forbidden, and by the ordering rules of its
  documentation. Warnings are rules that nobody verified and that the provider was seen not to enforce.
- **Nothing undeclared**: every leaf of `decode_A(x)` is equal in `decode_B(encode_B(decode_A(x)))` at its aligned
  place, or lies under a Loss. An over-declared loss is one whose place came through unchanged.
"""


def as_markdown(report: Report, found: list[Verdict]) -> str:
    """The whole page."""
    return "\n".join(_parts(report, found)).rstrip() + "\n"


def _parts(report: Report, found: list[Verdict]) -> Iterator[str]:
    yield HEAD
    read = report.tally.score(CORPUS, "records read")
    yield f"{read.checked:,} recorded exchanges, {len(report.dialects)} dialects, {len(report.pairs)} ordered pairs.\n"
    yield from ("## Each dialect on its own traffic\n", *drawn(dialect_table(report)), "")
    yield from ("Errors by class:\n", *drawn(error_table(report)), "")
    if report.pairs:
        yield from ("## Every ordered pair\n", "Counts are recorded requests; losses are counted one by one.\n")
        yield from (*drawn(pair_table(report)), "")
    yield MEANING
    yield from _normalisations()
    yield from _bars(found)
    yield from _cases(report)
    yield from _invalid(report)
    yield from _losses(report)
    yield from _uncovered(report)


def drawn(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(table.head)} |"
    yield f"|---|{'--:|' * (len(table.head) - 1)}"
    for row in table.rows:
        yield f"| {' | '.join(map(escaped, row))} |"


def escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def code(text: str) -> str:
    """A text in backquotes, whatever it holds."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{escaped(text)}{fence}"


def _normalisations() -> Iterator[str]:
    yield f"## Named normalisations: {len(NORMALISATIONS)}\n"
    if not NORMALISATIONS:
        yield "None: what is exact is exact as it stands.\n"
    yield from (f"- **{row.name}**: {row.why}" for row in NORMALISATIONS)


def _bars(found: list[Verdict]) -> Iterator[str]:
    missed = [verdict for verdict in found if not verdict.reached]
    yield f"## Bars: {len(found) - len(missed)} of {len(found)} reached\n"
    yield from (f"- missed: {verdict.where}: {verdict.bar}: {verdict.said}" for verdict in missed)
    yield ""


def _cases(report: Report) -> Iterator[str]:
    remaining = [case for case in cases(report) if case.measure != OWN_INVALID]
    yield f"## Remaining cases: {len(remaining)} kinds\n"
    rows = [
        [case.where, case.measure, code(case.kind), str(len(case.failures)), _examples(case), case.reason or "open"]
        for case in remaining
    ]
    if rows:
        yield from (*drawn(Table(["where", "measure", "kind", "cases", "examples", "reason"], rows)), "")
    else:
        yield "None.\n"


def _examples(case: Case) -> str:
    records = dict.fromkeys(failure.record for failure in case.failures)
    return "<br>".join(code(record) for record in list(records)[:EXAMPLES])


def _invalid(report: Report) -> Iterator[str]:
    """Requests whose recorded body the oracle of their own protocol refuses."""
    found = [case for case in cases(report) if case.measure == OWN_INVALID]
    if not found:
        return
    yield "## Recorded requests that were not valid themselves\n"
    yield "They are translated and compared like all others; the validity of what came of them is counted apart.\n"
    rows = [[case.where, code(case.kind), str(len(case.failures)), _examples(case)] for case in found]
    yield from (*drawn(Table(["dialect", "what the oracle says", "cases", "examples"], rows)), "")


def _losses(report: Report) -> Iterator[str]:
    for target, table in reason_tables(report):
        yield from (f"## What {target} most often cannot say\n", *drawn(table), "")


def _uncovered(report: Report) -> Iterator[str]:
    missing = uncovered(report)
    if missing:
        yield "## Not covered\n"
        yield "Protocols of the corpus that no dialect speaks, with their records: "
        yield f"{', '.join(f'{name} ({n})' for name, n in missing.items())}."
