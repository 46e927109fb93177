"""Reading wire values that nobody has checked."""

from __future__ import annotations

from typing import TypeGuard

from ...types.base import Json

NAME = "openai-responses"
Wire = dict[str, Json]

SUMMARY, REASON = "summary_text", "reasoning_text"
DETAIL = "auto"

# Reasons that are given in two places: by the tables, and by the usual path.
NO_FLAG = f"{NAME} has no error flag"
NOT_STRICT = "left out, the provider would try strict; what was meant is not strict"
NEEDS_DETAIL = "an image needs a detail"


def is_object(value: Json) -> TypeGuard[Wire]:
    return type(value) is dict


def is_array(value: Json) -> TypeGuard[list[Json]]:
    return type(value) is list


def take_text(rest: Wire, key: str) -> str:
    """Pop a text. What is none makes a part or an item one that is carried whole."""
    text = rest.pop(key)
    if type(text) is not str:
        raise TypeError(key)
    return text
