"""The shapes that nearly all traffic has, read and said without bookkeeping.

Each function does exactly what the tables would do with such a value, or gives None, and then the tables speak:
nothing here has an opinion of its own. A test holds both ways against each other over all recordings.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ...types.base import Json
from ...types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from .blocks import Wire

ID = re.compile(r"[a-zA-Z0-9_-]+").fullmatch


def read_block(wire: Wire) -> Block | None:
    """A text, a call or a result with nothing special about it. What is no object is none of them."""
    kind = wire.get("type") if type(wire) is dict else None
    reader = _READ.get(kind) if type(kind) is str else None
    return None if reader is None else reader(wire)


def _read_text(wire: Wire) -> Block | None:
    text = wire.get("text")
    return TextBlock(text) if len(wire) == 2 and type(text) is str and text else None


def _read_call(wire: Wire) -> Block | None:
    if len(wire) != 4:
        return None
    input: Wire | None
    id, name, input = wire.get("id"), wire.get("name"), wire.get("input")
    if type(id) is str and type(name) is str and type(input) is dict and ID(id):
        return ToolUseBlock(id, name, "json", input)
    return None


def _read_result(wire: Wire) -> Block | None:
    if len(wire) != 3:
        return None
    content: list[Wire] | None
    id, content = wire.get("tool_use_id"), wire.get("content")
    if type(id) is not str or type(content) is not list or not content or not ID(id):
        return None
    blocks: list[Block] = []
    for inner in content:
        block = _read_text(inner) if type(inner) is dict and inner.get("type") == "text" else None
        if block is None:
            return None
        blocks.append(block)
    return ToolResultBlock(id, tuple(blocks))


_READ: dict[Json, Callable[[Wire], Block | None]] = {
    "text": _read_text,
    "tool_use": _read_call,
    "tool_result": _read_result,
}


def say_block(block: Block) -> Wire | None:
    """A text, a call or a result that says nothing beyond its own fields."""
    if block.extras or block.forms or block.cache is not None or block.signature is not None:
        return None
    if type(block) is TextBlock:
        return {"type": "text", "text": block.text} if block.text and not block.citations else None
    if type(block) is ToolUseBlock:
        if block.kind != "json" or block.input_text is not None or not ID(block.id):
            return None
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    return _say_result(block) if type(block) is ToolResultBlock else None


def _say_result(block: ToolResultBlock) -> Wire | None:
    if block.name is not None or block.is_error is not None or not block.content or not ID(block.tool_use_id):
        return None
    said: list[Wire] = []
    for inner in block.content:
        wire = say_block(inner) if type(inner) is TextBlock else None
        if wire is None:
            return None
        said.append(wire)
    return {"type": "tool_result", "tool_use_id": block.tool_use_id, "content": said}
