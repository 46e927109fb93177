"""Marks of Bedrock Converse that were saved before its phrases were rows (``codec.old_marks``)."""

from __future__ import annotations

from typing import Any

from ...codec.old_marks import OldMarks
from ...types.base import Json
from ...types.blocks import TextBlock
from .rows import ASSISTANT_BLOCKS, CITATIONS, RESULT_BLOCKS, SYSTEM_BLOCKS, TOOLS


def content(value: Any, held: Json) -> dict[str, Json]:
    """A text with citations may have had no content."""
    return {"spelling": {"text": list[Json]()}} if type(value) is TextBlock and held == "absent" else {"content": held}


def metrics(value: Any, held: Json) -> dict[str, Json]:
    """An answer had no metrics."""
    return {"spelling": {"=metrics": held}}


NAMES = {"content": content, "metrics": metrics}
MARKS = OldMarks((ASSISTANT_BLOCKS, RESULT_BLOCKS, SYSTEM_BLOCKS, TOOLS, CITATIONS), NAMES)
