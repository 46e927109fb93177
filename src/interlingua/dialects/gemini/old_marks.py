"""Reads the marks of Gemini that releases without row tables saved (``codec.old_marks``).

Their mark for base64 in the URL alphabet is not read: such data are written in the standard alphabet.
"""

from __future__ import annotations

from typing import Any

from ...codec.json import is_object
from ...codec.old_marks import OldMarks
from ...codec.schema.gemini import to_gemini_schema
from ...types.base import Json
from .rows import DECLARATIONS, PARTS, RESULT_PARTS


def snake(value: Any, held: Json) -> dict[str, Json]:
    """The keys that the wire had in snake_case."""
    return {"keys": held}


def schema(value: Any, held: Json) -> dict[str, Json]:
    """How the wire had a schema: as JSON Schema (``plain``), as an older schema, or as the object that is held."""
    if held == "plain":
        wire: Json = value.input_schema
    else:
        wire = held["Schema"] if is_object(held) else to_gemini_schema(value.input_schema).schema
    return {"spelling": {"input_schema": [{"parameters": wire}]}}


MARKS = OldMarks((PARTS, RESULT_PARTS, DECLARATIONS), {"snake": snake, "schema": schema})
