"""Renews marks of Anthropic Messages that older versions saved (``codec.old_marks``)."""

from __future__ import annotations

from typing import Any

from ...codec.json import is_object
from ...codec.old_marks import OldMarks, blanks
from ...types.base import Json
from ...types.messages import Message
from ...types.response import Response
from .rows import BLOCKS, CITATIONS, RESULT_BLOCKS, TOOLS


def blank(value: Any, held: Json) -> dict[str, Json]:
    """What the old mark ``blank`` means: the content of a message, or fields of another value, were empty."""
    if type(value) is Message and is_object(held) and "content" in held:
        return {"content": [held["content"]]}
    row = MARKS.row(value)
    return blanks(row, held) if row is not None and is_object(held) else {}


def content(value: Any, held: Json) -> dict[str, Json]:
    """What the old mark ``content`` means: an answer had no content, or how the content of a message was spelled."""
    return {"spelling": {"content": held}} if type(value) is Response else {"content": held}


MARKS = OldMarks((BLOCKS, RESULT_BLOCKS, TOOLS, CITATIONS), {"blank": blank, "content": content})
