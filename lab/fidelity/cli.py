"""``python -m lab.fidelity CORPUS_DIR``: run, print, write the page; 1 if a bar is missed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from lab.fidelity.bars import verdicts
from lab.fidelity.console import as_json, as_text
from lab.fidelity.markdown import as_markdown
from lab.fidelity.records import corpus_files
from lab.fidelity.run import Options, Progress, measure

__all__ = ["main"]

PAGE = Path("docs/fidelity.md")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if not given.corpus.is_dir() or not corpus_files(given.corpus):
        parser.error(f"{given.corpus} holds no recordings (*.jsonl or *.jsonl.gz)")
    names = tuple(name for name in str(given.dialects).split(",") if name)
    options = Options(given.corpus, names, given.pairs, given.sample, given.workers)
    report = measure(options, show)
    found = verdicts(report)
    if given.json:
        print(msgspec.json.format(msgspec.json.encode(as_json(report, found))).decode())
    else:
        print(as_text(report, found, list_failures=given.list_failures))
    page = given.out or (PAGE if _is_full(options) and PAGE.parent.is_dir() else None)
    if page is not None:
        page.write_text(as_markdown(report, found), encoding="utf-8")
        print(f"written: {page}", file=sys.stderr)
    return 0 if all(verdict.reached for verdict in found) else 1


def _is_full(options: Options) -> bool:
    """Whether a run covers everything: only then it writes the page without ``--out``."""
    return options.pairs and not options.dialects and options.sample is None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.fidelity", description=__doc__)
    parser.add_argument("corpus", type=Path, metavar="CORPUS_DIR", help="a directory of recordings, *.jsonl[.gz]")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument(
        "--list-failures", action="store_true", help="print every failure, not one example of each kind"
    )
    parser.add_argument("--dialects", default="", metavar="A,B", help="measure these only")
    parser.add_argument(
        "--pairs", action=argparse.BooleanOptionalAction, default=True, help="translate between dialects"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="translate about N requests of each file only")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes; default: one per core")
    parser.add_argument(
        "--out", type=Path, metavar="PAGE", help=f"where to write the page; default {PAGE} on a full run"
    )
    return parser


def show(progress: Progress) -> None:
    """A counter on a terminal; elsewhere one line per file."""
    line = f"{progress.file}: {progress.done:,} of {progress.of:,}"
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="\n" if progress.done == progress.of else "", file=sys.stderr, flush=True)
    elif progress.done == progress.of:
        print(line, file=sys.stderr, flush=True)
