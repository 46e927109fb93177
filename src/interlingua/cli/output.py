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
"""Columns between two of a table."""


def is_rich() -> bool:
    """Whether stdout is a terminal that shall have colour, and rich is there to make it."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and find_spec("rich") is not None


def write_line(text: str = "") -> None:
    """One line."""
    sys.stdout.write(f"{text}\n")


def write_json(value: Any) -> None:
    """A value as JSON: on one line for programs, laid out for a terminal."""
    data = msgspec.json.encode(value)
    sys.stdout.write((msgspec.json.format(data) if sys.stdout.isatty() else data).decode() + "\n")


def write_table(headers: Sequence[str], rows: Sequence[Sequence[object]], spared: Sequence[str] = ()) -> None:
    """A table. Columns of numbers are flush right.

    On a terminal that is too narrow, columns of ``spared`` are left out, the first ones first, and a line says so; what
    is still too wide is wrapped in the widest column.
    """
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    right = [all(row[at][:1] in RIGHT for row in cells if row[at]) for at in range(len(headers))]
    if is_rich():
        _write_rich(headers, cells, right, spared)
        return
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    for row in (headers, *cells):
        told = [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ]
        write_line("  ".join(told).rstrip())


def _write_rich(headers: Sequence[str], cells: list[list[str]], right: list[bool], spared: Sequence[str]) -> None:
    room, shown = get_terminal_size().columns, list(range(len(headers)))
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    left_out = [name for name in spared if name in headers]
    told: list[str] = []
    while left_out and sum(widths[at] + GAP for at in shown) - GAP > room:
        told.append(left_out.pop(0))
        shown.remove(headers.index(told[-1]))
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
    if told:
        write_line(f"\nLeft out for want of room: {', '.join(told)}; --json tells all.")
