"""A rough estimate of tokens, for the usage of the scripted model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ...types.base import Json

__all__ = ["rough_tokens"]

CHARACTERS_PER_TOKEN = 3.6
"""For JSON and for text."""
BLOB = 4_000
"""A text of this length that has no space at its beginning is base64: an image or a file."""
TOKENS_PER_BLOB = 1_200


def rough_tokens(value: Json) -> int:
    """The tokens of a JSON value: of its texts, keys and numbers."""
    return round(_characters(value) / CHARACTERS_PER_TOKEN)


def _characters(value: Json) -> float:
    if isinstance(value, str):
        blob = len(value) > BLOB and " " not in value[:BLOB]
        return TOKENS_PER_BLOB * CHARACTERS_PER_TOKEN if blob else len(value)
    if isinstance(value, Mapping):
        return sum(len(str(key)) + _characters(item) for key, item in cast("Mapping[str, Json]", value).items())
    if isinstance(value, list | tuple):
        return sum(_characters(item) for item in cast("list[Json]", value))
    return len(str(value))
