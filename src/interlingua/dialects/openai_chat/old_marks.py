"""Marks of OpenAI Chat that were saved before its phrases were rows. ``codec.old_marks`` knows those that rows tell."""

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
    """The row of an assistant's message."""
    return TURNS.rows[0] if type(value) is Message and value.role is Role.assistant else None


def thinking(value: Any, held: Json) -> Wire:
    """Reasoning that the wire had in a request, and under which keys."""
    if not is_array(held):
        return {"thinking": held}
    usual = held == [THINKING_KEYS[0]]
    spelled: Wire = {} if usual else {"spelling": {"thinking": {key: list[Json]() for key in held}}}
    return {"verbatim": ["thinking"], **spelled}


def part(value: Any, held: Json) -> Wire:
    """A part that the protocol does not have, or that it has under another name."""
    if type(value) is DocumentBlock:
        return {"verbatim": ["source"], **({"tag": "file by URL"} if held == "file" else {})}
    return {"verbatim": ["part"]} if held == "thinking" else as_it_broke(value, held)


def as_it_broke(value: Any, held: Json) -> Wire:
    row = MARKS.row(value)
    return {"verbatim": broken(row, value)} if row is not None else {}


def role(value: Any, held: Json) -> Wire:
    return {"tag": held} if held in KNOWN_ROLES else {"role": held}


def message(value: Any, held: Json) -> Wire:
    """The marks of the message that a block of the system prompt begins."""
    return {"message": MARKS.renew(Message(Role.system, (value,)), held) if is_object(held) else held}


def turn(value: Any, held: Json) -> Wire:
    """The marks of an answer's message."""
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
    "named": as_it_broke,
    "part": part,
    "role": role,
    "thinking": thinking,
    "turn": turn,
}


class ChatMarks(OldMarks):
    def renew(self, value: Any, marks: Wire) -> Wire:
        """The marks of a value in the words of today."""
        found = super().renew(value, marks)
        if "content" in marks.get("blank", ()) or marks.get("content") == "absent":  # a message that may be empty
            found["verbatim"] = [*found.get("verbatim", ()), "content"]
        cache = getattr(value, "cache", None)
        if cache is not None and cache.forms.get(CACHE.dialect, {}).get("cache") == "cache_control":
            found["spelling"] = {**found.get("spelling", {}), "cache": {"cache_control": list[Json]()}}
            if refused := as_it_broke(value, True).get("verbatim"):
                found["verbatim"] = [*dict.fromkeys([*found.get("verbatim", ()), *refused])]
        return found


MARKS = ChatMarks((CALLS, MESSAGES, PARTS, TOOLS, CACHE, CHOICES.table), NAMES, row_of)
