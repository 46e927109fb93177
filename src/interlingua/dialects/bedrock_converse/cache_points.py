"""Cache points: blocks of their own on the wire, behind what they cover; marks of blocks here.

The results of a turn stand together, and one point comes behind them all. It then covers what it was meant to cover,
and the results behind that. A point that was read between two results is marked ``between`` on the first of them, and
stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...codec.json import is_array
from ...codec.ledger import Ledger
from ...codec.marks import marks
from ...codec.rows.kinds import REFUSED, Each
from ...codec.rows.table import Table
from ...types.base import Json
from ...types.blocks import Block, CacheMark, OpaqueBlock, ToolResultBlock
from ...types.loss import LossKind
from ...types.messages import Message
from ...types.tools import ServerTool
from ...types.words import Role
from .facts import NAME

if TYPE_CHECKING:
    from ...codec.rows.source import Source

__all__ = ["History", "Pointed", "mark_between", "points_last", "with_points", "write_with_point"]

TOOL = Role.tool
TOGETHER = f"{NAME} takes one cache point after all results of a turn"
History = Sequence[tuple[int, Message]]
Place = tuple[int, int]  # in the history, then in the content of the message


class Pointed(Each):
    """A list of values of a table, each with the cache point that stands behind it."""

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        if not is_array(wire):
            return REFUSED
        return tuple(with_points(list(map(self.table.interpret_read, wire)), self.table))

    def write_each(self, values: Sequence[Any], ledger: Ledger) -> list[Json]:
        where = ledger.where
        written: list[Json] = []
        for index, value in enumerate(values):
            ledger.where = (*where, index)
            written += write_with_point(value, self.table, ledger)
        ledger.where = where
        return written

    def emit_read(self, source: Source, var: str) -> None:
        source.fail_if(f"type({var}) is not list" + ("" if self.empty else f" or not {var}"))
        read, table = source.bind(self.table.read), source.bind(self.table)
        source.line(f"{var} = tuple({source.bind(with_points)}([{read}(item) for item in {var}], {table}))")

    def emit_write(self, source: Source, var: str) -> None:
        source.fail_if(f"any([item.cache is not None for item in {var}])")
        super().emit_write(source, var)


def with_points(values: list[Any], table: Table) -> list[Any]:
    """What was read, cache points as marks of the values before them. One with nothing before it is carried whole."""
    if CacheMark not in map(type, values):
        return values
    found: list[Any] = []
    for value in values:
        before = found[-1] if found else None
        if type(value) is not CacheMark:
            found.append(value)
        elif before is None or isinstance(before, OpaqueBlock | ServerTool) or before.cache is not None:
            assert table.carrier is not None
            found.append(table.carrier(NAME, table.interpret_write(value, Ledger())))
        else:
            found[-1] = replace(before, cache=value)
    return found


def write_with_point(value: Any, table: Table, ledger: Ledger) -> list[Json]:
    """A value and then its cache point; nothing if there is no word for the value."""
    wire = table.write(value, ledger)
    if wire is None and not table.is_null(value):
        return []
    point = None if isinstance(value, OpaqueBlock | ServerTool) else wanted(value)
    if point is None:
        return [wire]
    where = ledger.where
    ledger.where = (*where, "cache")
    written = table.write(point, ledger)
    ledger.where = where
    return [wire, written]


def wanted(value: Any) -> CacheMark | None:
    """The point that stands behind a value: its own, or in a result that of the last of its blocks that has one."""
    if value.cache is not None or type(value) is not ToolResultBlock:
        mark: CacheMark | None = value.cache
        return mark
    return next((inner.cache for inner in reversed(value.content) if inner.cache is not None), None)


def mark_between(blocks: Sequence[Block]) -> None:
    """Mark the points that were read between results. The blocks are ours alone still."""
    results = [block for block in blocks if type(block) is ToolResultBlock]
    for block in results[:-1]:
        if block.cache is not None:
            block.forms.setdefault(NAME, {})["between"] = True


def points_last(history: History, ledger: Ledger) -> History:
    """The history with the points of each run of results behind the last of them."""
    if not any(message.role is TOOL and any(map(_has_point, message.content)) for _, message in history):
        return history
    moved: dict[Place, ToolResultBlock] = {}
    run: list[tuple[Place, ToolResultBlock]] = []
    for position, (_, message) in enumerate(history):
        if message.role is not TOOL:
            _gather(run, history, moved, ledger)
            run = []
        else:
            run += [((position, at), b) for at, b in enumerate(message.content) if type(b) is ToolResultBlock]
    _gather(run, history, moved, ledger)
    return [(index, _with(message, position, moved)) for position, (index, message) in enumerate(history)]


def _has_point(block: Block) -> bool:
    return type(block) is ToolResultBlock and wanted(block) is not None


def _gather(
    run: list[tuple[Place, ToolResultBlock]], history: History, moved: dict[Place, ToolResultBlock], ledger: Ledger
) -> None:
    early = [(place, block) for place, block in run[:-1] if wanted(block) and "between" not in marks(NAME, block)]
    if not early:
        return
    home, last = run[-1]
    free = wanted(last) is None
    if free:
        moved[home] = replace(last, cache=wanted(early[-1][1]))
        ledger.lose_form("added", TOGETHER, *_path(history, home), "cache")
    for at, block in early:
        moved[at] = _unmarked(block)
        kind: LossKind = "moved" if free and block is early[-1][1] else "dropped"
        for inner in _marked(block):
            ledger.lose_form(kind, TOGETHER, *_path(history, at), *inner, "cache")


def _path(history: History, place: Place) -> tuple[str | int, ...]:
    return ("messages", history[place[0]][0], "content", place[1])


def _marked(block: ToolResultBlock) -> list[tuple[str | int, ...]]:
    """Where a result has cache marks: on itself, on the blocks in it."""
    inside: list[tuple[str | int, ...]] = [("content", i) for i, b in enumerate(block.content) if b.cache is not None]
    return [(), *inside] if block.cache is not None else inside


def _unmarked(block: ToolResultBlock) -> ToolResultBlock:
    content = tuple(replace(inner, cache=None) if inner.cache is not None else inner for inner in block.content)
    return replace(block, cache=None, content=content)


def _with(message: Message, position: int, moved: dict[Place, ToolResultBlock]) -> Message:
    content = tuple(moved.get((position, at), block) for at, block in enumerate(message.content))
    return replace(message, content=content) if content != message.content else message
