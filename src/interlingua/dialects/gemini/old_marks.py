"""Marks of Gemini that were saved before its phrases were rows (``codec.old_marks``).

Data that were in the alphabet of URLs are written in the usual one.
"""

from __future__ import annotations

from typing import Any

from ...codec.json import is_object
from ...codec.old_marks import OldMarks
from ...codec.schema.gemini import to_gemini_schema
from ...types.base import Json
from .rows import DECLARATIONS, PARTS, RESULT_PARTS


def snake(value: Any, held: Json) -> dict[str, Json]:
    """Keys that were in snake_case."""
    return {"keys": held}


def schema(value: Any, held: Json) -> dict[str, Json]:
    """How a tool had its schema: as JSON Schema, as OpenAPI, or as something that neither brings back."""
    if held == "plain":
        said: Json = value.input_schema
    else:
        said = held["Schema"] if is_object(held) else to_gemini_schema(value.input_schema).schema
    return {"spelling": {"input_schema": [{"parameters": said}]}}


MARKS = OldMarks((PARTS, RESULT_PARTS, DECLARATIONS), {"snake": snake, "schema": schema})
