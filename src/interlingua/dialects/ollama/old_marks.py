"""Renews marks of Ollama that older versions saved (``codec.old_marks``)."""

from __future__ import annotations

from typing import Any

from ...codec.old_marks import OldMarks
from ...codec.rows.row import Row
from ...types.base import Json
from ...types.messages import Message
from .rows import BLOCKS, CALLS, TOOLS, TURNS


def row_of(value: Any) -> Row | None:
    """The row that writes a message."""
    return TURNS.rows[0] if type(value) is Message else None


def absent(value: Any, held: Json) -> dict[str, Json]:
    """What the old mark ``absent`` means: a result did not name its tool."""
    return {"unnamed": True} if "tool_name" in held else {}


MARKS = OldMarks((BLOCKS, CALLS, TOOLS), {"absent": absent}, row_of)
