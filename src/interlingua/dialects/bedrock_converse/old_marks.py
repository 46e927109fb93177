"""Renews marks of Bedrock Converse that older versions saved (``codec.old_marks``)."""

from __future__ import annotations

from typing import Any

from ...codec.old_marks import OldMarks
from ...types.base import Json
from ...types.blocks import TextBlock
from .rows import ASSISTANT_BLOCKS, CITATIONS, RESULT_BLOCKS, SYSTEM_BLOCKS, TOOLS


def content(value: Any, held: Json) -> dict[str, Json]:
    """What the old mark ``content`` means: a text with citations had no content, or how a content was spelled."""
    return {"spelling": {"text": list[Json]()}} if type(value) is TextBlock and held == "absent" else {"content": held}


def metrics(value: Any, held: Json) -> dict[str, Json]:
    """What the old mark ``metrics`` means: an answer had no metrics."""
    return {"spelling": {"=metrics": held}}


NAMES = {"content": content, "metrics": metrics}
MARKS = OldMarks((ASSISTANT_BLOCKS, RESULT_BLOCKS, SYSTEM_BLOCKS, TOOLS, CITATIONS), NAMES)
