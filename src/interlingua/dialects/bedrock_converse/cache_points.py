"""Cache points: on the wire blocks behind what they cover, in our types marks on the blocks that they cover.

The results of a turn stand together, and one cache point follows them all; it may cover more results than was meant.
A point that was read between two results stays there: the result before it gets the mark ``between``.
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

__all__ = ["EachWithPoint", "History", "mark_between", "move_points_last", "points_as_marks", "write_with_point"]

TOOL = Role.tool
TOGETHER = f"{NAME} takes one cache point after all results of a turn"
History = Sequence[tuple[int, Message]]
Place = tuple[int, int]  # in the history, then in the content of the message


class EachWithPoint(Each):
    """A list of values, each followed by its cache point if it has one."""

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        if not is_array(wire):
            return REFUSED
        return tuple(points_as_marks(list(map(self.table.interpret_read, wire)), self.table))

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
        source.line(f"{var} = tuple({source.bind(points_as_marks)}([{read}(item) for item in {var}], {table}))")

    def emit_write(self, source: Source, var: str) -> None:
        source.fail_if(f"any([item.cache is not None for item in {var}])")
        super().emit_write(source, var)


def points_as_marks(values: list[Any], table: Table) -> list[Any]:
    """The values, with each cache point as a mark on the value before it. Without such a value it is carried whole."""
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
    """A value and the cache point behind it; nothing if the value cannot be written."""
    wire = table.write(value, ledger)
    if wire is None and not table.is_null(value):
        return []
    point = None if isinstance(value, OpaqueBlock | ServerTool) else point_of(value)
    if point is None:
        return [wire]
    where = ledger.where
    ledger.where = (*where, "cache")
    written = table.write(point, ledger)
    ledger.where = where
    return [wire, written]


def point_of(value: Any) -> CacheMark | None:
    """The cache point of a value: its own, else, in a result, that of the last block in it that has one."""
    if value.cache is not None or type(value) is not ToolResultBlock:
        mark: CacheMark | None = value.cache
        return mark
    return next((inner.cache for inner in reversed(value.content) if inner.cache is not None), None)


def mark_between(blocks: Sequence[Block]) -> None:
    """Mark the points that were read between results. Changes the blocks in place: nobody else has them yet."""
    results = [block for block in blocks if type(block) is ToolResultBlock]
    for block in results[:-1]:
        if block.cache is not None:
            block.forms.setdefault(NAME, {})["between"] = True


def move_points_last(history: History, ledger: Ledger) -> History:
    """The history with the cache points of each run of results moved behind the run."""
    if not any(message.role is TOOL and any(map(_has_point, message.content)) for _, message in history):
        return history
    moved: dict[Place, ToolResultBlock] = {}
    run: list[tuple[Place, ToolResultBlock]] = []
    for position, (_, message) in enumerate(history):
        if message.role is not TOOL:
            _move_points(run, history, moved, ledger)
            run = []
        else:
            run += [((position, at), b) for at, b in enumerate(message.content) if type(b) is ToolResultBlock]
    _move_points(run, history, moved, ledger)
    return [(index, _with_moved(message, position, moved)) for position, (index, message) in enumerate(history)]


def _has_point(block: Block) -> bool:
    return type(block) is ToolResultBlock and point_of(block) is not None


def _move_points(
    run: list[tuple[Place, ToolResultBlock]], history: History, moved: dict[Place, ToolResultBlock], ledger: Ledger
) -> None:
    """Add to ``moved`` the results of a run that change, with the latest cache point on the last result."""
    early = [(place, block) for place, block in run[:-1] if point_of(block) and "between" not in marks(NAME, block)]
    if not early:
        return
    last_place, last = run[-1]
    is_free = point_of(last) is None
    if is_free:
        moved[last_place] = replace(last, cache=point_of(early[-1][1]))
        ledger.lose_form("added", TOGETHER, *_path(history, last_place), "cache")
    for at, block in early:
        moved[at] = _without_marks(block)
        kind: LossKind = "moved" if is_free and block is early[-1][1] else "dropped"
        for inner in _mark_paths(block):
            ledger.lose_form(kind, TOGETHER, *_path(history, at), *inner, "cache")


def _path(history: History, place: Place) -> tuple[str | int, ...]:
    return ("messages", history[place[0]][0], "content", place[1])


def _mark_paths(block: ToolResultBlock) -> list[tuple[str | int, ...]]:
    """The paths of the cache marks of a result: on itself and on the blocks in it."""
    inside: list[tuple[str | int, ...]] = [("content", i) for i, b in enumerate(block.content) if b.cache is not None]
    return [(), *inside] if block.cache is not None else inside


def _without_marks(block: ToolResultBlock) -> ToolResultBlock:
    content = tuple(replace(inner, cache=None) if inner.cache is not None else inner for inner in block.content)
    return replace(block, cache=None, content=content)


def _with_moved(message: Message, position: int, moved: dict[Place, ToolResultBlock]) -> Message:
    content = tuple(moved.get((position, at), block) for at, block in enumerate(message.content))
    return replace(message, content=content) if content != message.content else message
