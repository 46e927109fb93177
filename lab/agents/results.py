"""The results of runs: one line of JSON each, appended; the last one of a run counts."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from .faults import Cell
from .run import Seen

__all__ = ["Result", "append", "read"]

KEPT = 2000
"""How many characters of an agent's output are kept, counted from the end."""


class Result(Struct, frozen=True):
    """The result of a run."""

    cell: Cell
    passed: bool
    what: str
    version: str
    seen: Seen


def append(file: Path, result: Result) -> None:
    """Append a result to the file."""
    seen = msgspec.structs.replace(result.seen, output=result.seen.output[-KEPT:])
    with file.open("ab") as out:
        out.write(msgspec.json.encode(msgspec.structs.replace(result, seen=seen)) + b"\n")


def read(file: Path) -> list[Result]:
    """The last result of each run."""
    if not file.exists():
        return []
    lines = (msgspec.json.decode(line, type=Result) for line in file.read_bytes().splitlines())
    return list({result.cell: result for result in lines}.values())
