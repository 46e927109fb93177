"""Renews marks of OpenAI Chat that older versions saved. ``codec.old_marks`` handles those that follow from rows."""

from __future__ import annotations

from typing import Any

from ...codec.json import Wire, is_array, is_object
from ...codec.old_marks import Means, OldMarks, broken, tagged
from ...codec.rows.row import Row
from ...types.base import Json
from ...types.blocks import DocumentBlock
from ...types.messages import Message
from ...types.words import Role
from .facts import THINKING_KEYS
from .rows import CACHE, CALLS, CHOICES, MESSAGES, PARTS, TOOLS, TURNS

KNOWN_ROLES = ("developer", "function")


def row_of(value: Any) -> Row | None:
    """The row that writes an assistant's message."""
    return TURNS.rows[0] if type(value) is Message and value.role is Role.assistant else None


def thinking(value: Any, held: Json) -> Wire:
    """What the old mark ``thinking`` means: a request had reasoning, under these keys."""
    if not is_array(held):
        return {"thinking": held}
    usual = held == [THINKING_KEYS[0]]
    spelled: Wire = {} if usual else {"spelling": {"thinking": {key: list[Json]() for key in held}}}
    return {"verbatim": ["thinking"], **spelled}


def part(value: Any, held: Json) -> Wire:
    """What the old mark ``part`` means: a part that the protocol does not have, or has under another name."""
    if type(value) is DocumentBlock:
        return {"verbatim": ["source"], **({"tag": "file by URL"} if held == "file" else {})}
    return {"verbatim": ["part"]} if held == "thinking" else broken_rules(value, held)


def broken_rules(value: Any, held: Json) -> Wire:
    row = MARKS.row(value)
    return {"verbatim": broken(row, value)} if row is not None else {}


def role(value: Any, held: Json) -> Wire:
    return {"tag": held} if held in KNOWN_ROLES else {"role": held}


def message(value: Any, held: Json) -> Wire:
    """The marks of the message whose first block is this one of the system prompt."""
    return {"message": MARKS.renew(Message(Role.system, (value,)), held) if is_object(held) else held}


def turn(value: Any, held: Json) -> Wire:
    """The marks of the message of an answer."""
    return {"turn": MARKS.renew(Message(Role.assistant), held) if is_object(held) else held}


def image(value: Any, held: Json) -> Wire:
    return {"tag": "image by string"}


def nameless_id(value: Any, held: Json) -> Wire:
    return {"derived": True} if held == "" else {"id": held}


def legacy(value: Any, held: Json) -> Wire:
    return {"legacy": True, "derived": True} if hasattr(value, "input") else {"legacy": held}


def arguments(value: Any, held: Json) -> Wire:
    return {"spelling": {"input input_text": [{}]}} if held == "absent" else {}


NAMES: dict[str, Means] = {
    "arguments": arguments,
    "any": lambda value, held: {"word": held},
    "cache": tagged("ephemeral"),
    "filename": lambda value, held: {"verbatim": ["filename"]},
    "id": nameless_id,
    "image": image,
    "legacy": legacy,
    "message": message,
    "named": broken_rules,
    "part": part,
    "role": role,
    "thinking": thinking,
    "turn": turn,
}


class ChatMarks(OldMarks):
    def renew(self, value: Any, marks: Wire) -> Wire:
        """The marks of a value under their present names."""
        found = super().renew(value, marks)
        if "content" in marks.get("blank", ()) or marks.get("content") == "absent":  # a message that may be empty
            found["verbatim"] = [*found.get("verbatim", ()), "content"]
        cache = getattr(value, "cache", None)
        if cache is not None and cache.forms.get(CACHE.dialect, {}).get("cache") == "cache_control":
            found["spelling"] = {**found.get("spelling", {}), "cache": {"cache_control": list[Json]()}}
            if refused := broken_rules(value, True).get("verbatim"):
                found["verbatim"] = [*dict.fromkeys([*found.get("verbatim", ()), *refused])]
        return found


MARKS = ChatMarks((CALLS, MESSAGES, PARTS, TOOLS, CACHE, CHOICES.table), NAMES, row_of)
