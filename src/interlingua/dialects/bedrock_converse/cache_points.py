"""Where cache points of tool results stand. The results of a turn stand together, and one point comes behind them all.

It then covers what it was meant to cover, and the results behind that. A point that was read between two results is
marked ``between`` on the first of them, and stays.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...codec.ledger import Ledger
from ...codec.marks import marks
from ...types.blocks import Block, ToolResultBlock
from ...types.loss import LossKind
from ...types.messages import Message
from ...types.words import Role
from .facts import NAME
from .rows import wanted

__all__ = ["History", "mark_between", "points_last"]

TOOL = Role.tool
TOGETHER = f"{NAME} takes one cache point after all results of a turn"
History = Sequence[tuple[int, Message]]
Place = tuple[int, int]  # in the history, then in the content of the message


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
