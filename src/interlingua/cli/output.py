"""Writing results: tables, plain or in colour, and JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from shutil import get_terminal_size
from typing import Any

import msgspec

__all__ = ["is_rich", "write_json", "write_line", "write_table"]

RIGHT = "0123456789$–~"
GAP = 2
"""Spaces between two columns of a table."""


def is_rich() -> bool:
    """Whether to write in colour: stdout is a terminal, ``NO_COLOR`` is not set and rich is installed."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and find_spec("rich") is not None


def write_line(text: str = "") -> None:
    """Write one line to stdout."""
    sys.stdout.write(f"{text}\n")


def write_json(value: Any) -> None:
    """Write a value as JSON: on one line, or indented if stdout is a terminal."""
    data = msgspec.json.encode(value)
    sys.stdout.write((msgspec.json.format(data) if sys.stdout.isatty() else data).decode() + "\n")


def write_table(headers: Sequence[str], rows: Sequence[Sequence[object]], optional: Sequence[str] = ()) -> None:
    """Write a table. Columns of numbers are flush right.

    On a terminal that is too narrow, columns of ``optional`` are left out in that order, and a line names them. If the
    table is still too wide, its widest column is wrapped.
    """
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    right = [all(row[at][:1] in RIGHT for row in cells if row[at]) for at in range(len(headers))]
    if is_rich():
        _write_rich(headers, cells, right, optional)
        return
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    for row in (headers, *cells):
        padded = [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ]
        write_line("  ".join(padded).rstrip())


def _write_rich(headers: Sequence[str], cells: list[list[str]], right: list[bool], optional: Sequence[str]) -> None:
    room, shown = get_terminal_size().columns, list(range(len(headers)))
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    candidates = [name for name in optional if name in headers]
    left_out: list[str] = []
    while candidates and sum(widths[at] + GAP for at in shown) - GAP > room:
        left_out.append(candidates.pop(0))
        shown.remove(headers.index(left_out[-1]))
    table: Any = import_module("rich.table").Table(
        box=import_module("rich.box").SIMPLE_HEAD, show_edge=False, padding=(0, GAP - 1, 0, 0), pad_edge=False
    )
    widest = max(shown, key=widths.__getitem__)
    for at in shown:
        side = "right" if right[at] else "left"
        table.add_column(headers[at], justify=side, no_wrap=at != widest, overflow="fold")
    for row in cells:
        table.add_row(*(import_module("rich.text").Text(row[at]) for at in shown))
    import_module("rich.console").Console(width=room).print(table)
    if left_out:
        write_line(f"\nLeft out, because the terminal is too narrow: {', '.join(left_out)}; --json shows all.")
