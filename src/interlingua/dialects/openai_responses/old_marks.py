"""Reads the marks of OpenAI Responses that releases without row tables saved (``codec.old_marks``)."""

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
    """The row for the marks of a hosted call: that of MCP calls, for any tool."""
    return MCP_CALLS.rows[0] if type(value) is ServerToolUseBlock else None


def absent(value: Any, held: Json) -> Wire:
    """The keys that were missing; ``id`` is the id of a call's item."""
    row, keys = MARKS.row(value), [str(key) for key in held if key != "id"] if is_array(held) else []
    found = missing(row, *keys) if row is not None else {}
    return {**found, **({"id": list[Json]()} if "id" in held else {})}


def blank(value: Any, held: Json) -> Wire:
    if type(value) is Message and is_object(held) and "content" in held:
        return {"content": [held["content"]]}
    row = MARKS.row(value)
    return blanks(row, held) if row is not None and is_object(held) else {}


def kind(value: Any, held: Json) -> Wire:
    """Whether an item had the type ``message`` (``held`` is true) though we would leave it out, or the reverse."""
    return {"spelling": {"?type": ["message"]} if held else {"=type": list[Json]()}}


def kind_of_choice(value: Any, held: Json) -> Wire:
    """The kind of the tool that a choice names."""
    return {"tag": held} if type(value) is ToolChoice else {"kind": held}


def role(value: Any, held: Json) -> Wire:
    return {"spelling": {"role": [held]}}


def item(value: Any, held: Json) -> Wire:
    """The marks of the item that a block begins."""
    new: Wire = {}
    for mark, inner in held.items() if is_object(held) else ():
        if mark == "absent" and is_array(inner):
            found: Wire = {"spelling": {f"={key}": list[Json]() for key in inner}}
        elif mark == "blank" and is_object(inner):
            found = {key: [item] for key, item in inner.items() if key != "encrypted_content"}
            found |= {"spelling": {"signature": [None]}} if "encrypted_content" in inner else {}
        else:
            found = ITEM[mark](value, inner) if mark in ITEM and type(inner) in (bool, str) else {mark: inner}
        spelled = {**new.get("spelling", {}), **found.get("spelling", {})}
        new |= {**found, **({"spelling": spelled} if spelled else {})}
    return {"item": new}


def part(value: Any, held: Json) -> Wire:
    """The type of the part that a block of reasoning was."""
    return {"tag": held} if held == "reasoning_text" else {"part": True}


def strict(value: Any, held: Json) -> Wire:
    """The flag of a tool. The mark of an output format has the same name and has not changed."""
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
