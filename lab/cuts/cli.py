"""``python -m lab.cuts CORPUS_DIR``: cut streams, print a table; exits with 1 if something wrongly looks finished."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from interlingua.dialects import DIALECTS
from lab.cuts.run import Options, Report, measure
from lab.fidelity.console import drawn
from lab.fidelity.records import corpus_files
from lab.fidelity.tables import Table

__all__ = ["as_text", "main"]

MOST_KINDS = 60


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if not given.corpus.is_dir() or not corpus_files(given.corpus):
        parser.error(f"{given.corpus} holds no recordings (*.jsonl or *.jsonl.gz)")
    only = tuple(name for name in str(given.only).split(",") if name)
    if unknown := set(only) - set(DIALECTS):
        parser.error(f"no dialect is called {', '.join(sorted(unknown))}; there are {', '.join(DIALECTS)}")
    options = Options(given.corpus, only, given.places, given.seed, given.sample, given.workers)
    reports = [measure(options, _shown("streams"))] if given.places else []
    if given.sdk:
        from lab.cuts.sdk_run import measure_sdks  # needs the development tools

        reports.append(measure_sdks(options, given.sdk, _shown("cuts read by SDKs")))
    for report in reports:
        print(as_text(report))
    return 1 if any(report.faults for report in reports) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.cuts", description=__doc__)
    parser.add_argument("corpus", type=Path, metavar="CORPUS_DIR", help="a directory of recordings, *.jsonl[.gz]")
    parser.add_argument("--places", type=int, default=200, metavar="N", help="cuts of each stream; default 200")
    parser.add_argument("--only", default="", metavar="A,B", help="streams of these dialects only")
    parser.add_argument("--seed", type=int, default=0, help="another seed cuts elsewhere")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every N-th stream of each file only")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes; default: one per core")
    parser.add_argument(
        "--sdk", type=int, default=0, metavar="N", help="let the official SDKs read N cuts of streams with calls, too"
    )
    return parser


def _shown(what: str) -> Callable[[int, int], None]:
    """A function that shows progress: a counter on a terminal, elsewhere a line for each tenth."""

    def show(done: int, of: int) -> None:
        line = f"{done:,} of {of:,} {what}"
        if sys.stderr.isatty():
            print(f"\r\x1b[K{line}", end="\n" if done == of else "", file=sys.stderr, flush=True)
        elif done == of or done % max(1, of // 10) == 0:
            print(line, file=sys.stderr, flush=True)

    return show


def as_text(report: Report) -> str:
    """The table, and each kind of fault with an example."""
    return "\n".join([*drawn(_table(report)), "", *_kinds(report)])


COUNTS = ("streams", "cuts", "states", "calls")
"""``states``: cuts that left other events than the cut before. ``calls``: the finished calls in all of these."""


def _table(report: Report) -> Table:
    sources = sorted({name for name, _ in report.counts})
    targets = ["events", *DIALECTS]
    beyond = Counter((fault.source, fault.target) for fault in report.faults)
    rows = [
        [source, *(f"{report.counts[source, name]:,}" for name in COUNTS)]
        + [f"{beyond[source, target]:,}" for target in targets]
        for source in sources
    ]
    return Table(["unfinished looks finished in", *COUNTS, *targets], rows)


def _kinds(report: Report) -> Iterator[str]:
    kinds = Counter(fault[:4] for fault in report.faults)
    for kind, number in kinds.most_common(MOST_KINDS):
        first = next(fault for fault in report.faults if fault[:4] == kind)
        yield f"{number:7,}  {first.source} -> {first.target} by {first.way} | {first.kind}"
        yield f"         {first.place} | {first.detail[:240]}"
    yield f"{len(report.faults):,} faults in {report.seconds:.0f} s"
