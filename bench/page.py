"""Writes docs/performance.md: one table for each part. Parts that were not measured in a run keep their tables."""

from __future__ import annotations

import math
import re
from pathlib import Path

from measure import Row

__all__ = ["note_of", "write"]

PREFACE = """# Performance

Written by `make bench`: each table is ratios of one run, on a shared machine; less is better. `over` marks what is over
its budget. `make bench ARGS="clients memory"` measures only these parts, `ARGS=--no-peers` without the clients that are
heavy to install and therefore live in an environment of their own.

Dialects remember what they found out about a tool's schema, so requests are measured twice: with tools that were seen
before, as in every call of an agent but its first, and with new ones.
"""


def note_of(row: Row) -> str:
    """The text of the last column: whether the row is over its budget, and its note."""
    return "; ".join(filter(None, ("over" if row.over else "", row.note)))


def write(path: Path, parts: dict[str, list[Row]]) -> None:
    """Write the page. A part without rows keeps its old table, if there is one with its title."""
    old = _tables(path.read_text()) if path.exists() else {}
    tables = {title: _table(rows) if rows else old.get(title) for title, rows in parts.items()}
    pieces = [PREFACE, *(f"## {title}\n\n{table}" for title, table in tables.items() if table)]
    path.write_text("\n".join(pieces))


def _tables(page: str) -> dict[str, str]:
    pieces = re.split(r"^## (.+)\n\n", page, flags=re.MULTILINE)
    return {title: table.strip("\n") + "\n" for title, table in zip(pieces[1::2], pieces[2::2], strict=True)}


def _table(rows: list[Row]) -> str:
    lines = ["| | ratio | budget | |", "|---|--:|--:|---|"]
    lines += [f"| {row.name} | {_ratio(row.ratio)} | {_budget(row.budget)} | {note_of(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _ratio(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def _budget(value: float) -> str:
    return "–" if math.isinf(value) else f"{value:g}"
