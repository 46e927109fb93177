"""The tables of the page: each translator and ours on the same pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from lab.translators.judge import Counts
from lab.translators.peers import OURS, PEERS, Pair, Peer

__all__ = ["Results", "write_page"]

BEGIN, END = "<!-- compared -->", "<!-- end -->"
Results = Mapping[tuple[str, str, Pair], Counts]
"""The counts by translator, verb and pair."""


class Column(NamedTuple):
    """A column: its head, and a function for its cells."""

    head: str
    cell: Callable[[Counts], str]


def count(key: str) -> Callable[[Counts], str]:
    return lambda counts: f"{counts[key]:,}"


def share(key: str, of: str) -> Callable[[Counts], str]:
    """A cell with a count, and its share of another count."""

    def cell(counts: Counts) -> str:
        whole = counts[of]
        return f"{counts[key]:,} of {whole:,} ({100 * counts[key] / whole:.1f} %)" if whole else "–"

    return cell


BEFORE: Final = (
    Column("asked", count("asked")),
    Column("refused", count("refused")),
    Column("raised", count("exceptions")),
)
LOST: Final = (
    Column("long strings lost", share("lost", "strings")),
    Column("… without a word", share("lost silently", "strings")),
)
TABLES: Final[Mapping[str, tuple[str, tuple[Column, ...]]]] = {
    "request": ("Requests", (
        *BEFORE,
        Column("not valid", share("not valid", "judged")),
        Column("calls and results out of order", share("out of order", "judged")),
        *LOST,
        Column("proofs sent to another vendor", share("proofs sent on", "proofs")),
    )),
    "answer": ("Answers", (*BEFORE, *LOST, Column("another stop reason", share("wrong stop", "stops")))),
    "stream": ("Streams", (
        *BEFORE,
        Column("whole, but not finished", share("not finished", "whole")),
        Column("cut, but finished", share("looks finished", "cut")),
        Column("cut within a call, which is finished", share("unfinished call finished", "cut")),
        Column("cut, and no error told", share("no error told", "cut")),
    )),
}  # fmt: skip


def total(results: Results, name: str, verb: str, pairs: Iterable[Pair]) -> Counts:
    """The sum of the counts of some pairs."""
    summed: Counts = Counter()
    for pair in pairs:
        summed.update(results.get((name, verb, pair), {}))
    return summed


def rows(results: Results, versions: Mapping[str, str], verb: str) -> Iterator[tuple[str, Counts]]:
    """Our row for all pairs, then a row for each other translator, with ours on the same pairs."""
    if OURS.name in versions:
        yield _label(OURS, OURS.name, verb), total(results, OURS.name, verb, OURS.pairs[verb])
    for peer in PEERS[1:]:
        pairs = peer.pairs[verb]
        if peer.name in versions and pairs:
            yield _label(peer, f"**{versions[peer.name]}**", verb), total(results, peer.name, verb, pairs)
            if OURS.name in versions:
                yield "interlingua on these", total(results, OURS.name, verb, pairs)


def _label(peer: Peer, name: str, verb: str) -> str:
    return f"{name}, {len(peer.pairs[verb])} pairs"


def table(results: Results, versions: Mapping[str, str], verb: str) -> Iterator[str]:
    """One table in Markdown."""
    title, columns = TABLES[verb]
    yield f"## {title}\n"
    yield f"| | {' | '.join(column.head for column in columns)} |"
    yield "|---" + "|--:" * len(columns) + "|"
    for label, counts in rows(results, versions, verb):
        yield f"| {label} | {' | '.join(column.cell(counts) for column in columns)} |"
    yield ""


def write_page(
    page: Path | None, results: Results, versions: Mapping[str, str], about: str, absent: Mapping[str, str]
) -> None:
    """Print the tables, and write them into a page between its marks."""
    lines = [
        about,
        *(f"Not measured: {name}, {why}." for name, why in absent.items()),
        "",
        *(line for verb in TABLES for line in table(results, versions, verb)),
    ]
    text = "\n".join(lines)
    print(text)
    if page is not None:
        old = page.read_text("utf-8")
        head, rest = old.split(BEGIN)
        page.write_text(f"{head}{BEGIN}\n{text}{END}{rest.split(END)[1]}", "utf-8")
