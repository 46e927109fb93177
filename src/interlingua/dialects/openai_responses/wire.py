"""Reading wire values that nobody has checked."""

from __future__ import annotations

from typing import TypeGuard

from ...types.base import Json
from ...types.words import Role

NAME = "openai-responses"
Wire = dict[str, Json]

SUMMARY, REASON = "summary_text", "reasoning_text"
DETAIL = "auto"

# Reasons that are given in two places: by the tables, and by the usual path.
NO_FLAG = f"{NAME} has no error flag"
NOT_STRICT = f"`strict: false` was added, because {NAME} assumes `true`"
NEEDS_DETAIL = f"{NAME} requires `detail` of an image; `auto` was added"

# Who else speaks than the assistant.
ROLES = {"user": Role.user, "system": Role.system, "developer": Role.system}


def is_object(value: Json) -> TypeGuard[Wire]:
    return type(value) is dict


def is_array(value: Json) -> TypeGuard[list[Json]]:
    return type(value) is list


def kind_of(item: Wire) -> str:
    """The type of an item; a message and a reference may leave it out."""
    kind = item.get("type")
    return kind if type(kind) is str and kind else "message" if "role" in item else "item_reference"


def is_spoken(item: Wire) -> bool:
    """Whether an item is a message of the assistant's: of nobody else that we know."""
    role = item.get("role")
    return (type(role) is not str or role not in ROLES) and kind_of(item) == "message"


def take_text(rest: Wire, key: str) -> str:
    """Pop a text. What is none makes a part or an item one that is carried whole."""
    text = rest.pop(key)
    if type(text) is not str:
        raise TypeError(key)
    return text
