"""Marks of OpenAI Responses that were saved before its phrases were rows (``codec.old_marks``)."""

from __future__ import annotations

from typing import Any

from ...codec.json import Wire, is_array, is_object
from ...codec.old_marks import Means, OldMarks, blanks, missing
from ...codec.rows.row import Row
from ...types.base import Json
from ...types.blocks import ServerToolUseBlock
from ...types.messages import Message
from ...types.tools import ToolChoice, ToolDefinition
from .rows import INPUT, ITEM_CALLS, MCP_CALLS, OUTPUT, RESULTS, TOOLS


def row_of(value: Any) -> Row | None:
    """The row of a hosted call, whichever tool it is of."""
    return MCP_CALLS.rows[0] if type(value) is ServerToolUseBlock else None


def absent(value: Any, held: Json) -> Wire:
    """Keys that were missing; a call may have no id of its item."""
    row, keys = MARKS.row(value), [str(key) for key in held if key != "id"] if is_array(held) else []
    found = missing(row, *keys) if row is not None else {}
    return {**found, **({"id": list[Json]()} if "id" in held else {})}


def blank(value: Any, held: Json) -> Wire:
    if type(value) is Message and is_object(held) and "content" in held:
        return {"content": [held["content"]]}
    row = MARKS.row(value)
    return blanks(row, held) if row is not None and is_object(held) else {}


def kind(value: Any, held: Json) -> Wire:
    """Whether an item said that it is a message, where we would not say it or would."""
    return {"spelling": {"?type": ["message"]} if held else {"=type": list[Json]()}}


def kind_of_choice(value: Any, held: Json) -> Wire:
    """Of the tool that a choice names."""
    return {"tag": held} if type(value) is ToolChoice else {"kind": held}


def role(value: Any, held: Json) -> Wire:
    return {"spelling": {"role": [held]}}


def item(value: Any, held: Json) -> Wire:
    """The marks of the item that a block begins."""
    new: Wire = {}
    for mark, said in held.items() if is_object(held) else ():
        if mark == "absent" and is_array(said):
            found: Wire = {"spelling": {f"={key}": list[Json]() for key in said}}
        elif mark == "blank" and is_object(said):
            found = {key: [item] for key, item in said.items() if key != "encrypted_content"}
            found |= {"spelling": {"signature": [None]}} if "encrypted_content" in said else {}
        else:
            found = ITEM[mark](value, said) if mark in ITEM and type(said) in (bool, str) else {mark: said}
        spelled = {**new.get("spelling", {}), **found.get("spelling", {})}
        new |= {**found, **({"spelling": spelled} if spelled else {})}
    return {"item": new}


def part(value: Any, held: Json) -> Wire:
    """Which part of a reasoning item it was."""
    return {"tag": held} if held == "reasoning_text" else {"part": True}


def strict(value: Any, held: Json) -> Wire:
    """Of a tool. The mark of an output format has the same name, and is today what it was."""
    if type(value) is not ToolDefinition:
        return {"strict": held}
    return {"spelling": {"strict": [] if held == "absent" else [held]}}


def detail(value: Any, held: Json) -> Wire:
    return {"verbatim": ["detail"]}


def picture(value: Any, held: Json) -> Wire:
    """The format of a generated image."""
    return {"spelling": {"source": [{"output_format": held, "result": getattr(value.source, "data", "")}]}}


ITEM: dict[str, Means] = {"type": kind, "role": role}
NAMES: dict[str, Means] = {
    "absent": absent,
    "blank": blank,
    "detail": detail,
    "format": picture,
    "item": item,
    "kind": kind_of_choice,
    "part": part,
    "role": role,
    "strict": strict,
    "type": kind,
}
MARKS = OldMarks((OUTPUT, INPUT, ITEM_CALLS, TOOLS, *RESULTS.values()), NAMES, row_of)
