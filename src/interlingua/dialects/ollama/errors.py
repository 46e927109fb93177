"""Errors: a status and a sentence, ``{"error": "…"}``. There are no codes, so the status tells the class.

Also what a request must have.
"""

from __future__ import annotations

from ...codec.bodies.error_bodies import WireErrors
from ...codec.bodies.error_tables import ErrorRow
from ...codec.bodies.validate import ARRAY, BOOLEAN, NUMBER, OBJECT, OBJECTS, TEXT, Check, Requirements, brackets
from ...codec.json import is_object
from ...errors import CancelledError, NetworkError, OverloadedError, ToolStateError
from ...types.base import Json
from .facts import NAME


def words(wire: Json) -> tuple[Json, ...]:
    """The codes of an error that is an object: a proxy, or another endpoint, may send one."""
    inner = wire.get("error") if is_object(wire) else None
    return (inner.get("code"), inner.get("type")) if is_object(inner) else ()


ERRORS = WireErrors(
    NAME,
    # status  (no word)  canonical, where the status does not say it
    ErrorRow(500, ""),
    ErrorRow(400, ""),
    ErrorRow(401, ""),
    ErrorRow(403, ""),
    ErrorRow(413, ""),
    ErrorRow(429, ""),
    ErrorRow(402, ""),
    ErrorRow(503, "", OverloadedError),
    ErrorRow(502, "", NetworkError),
    ErrorRow(504, ""),
    ErrorRow(400, "", ToolStateError),
    ErrorRow(499, "", CancelledError),
    statuses={503: OverloadedError},  # its queue is full; the sentence that says so may change
    words=words,
    write=lambda error, word, message: {"error": message},
)

# ---------------------------------------------------------------------------------------- what a request must have

CALL = "messages.*.tool_calls.*"
# Results have no ids in this protocol, and any order is taken.
REQUIREMENTS = Requirements(
    NAME,
    Check("model",                      (TEXT,), needed=True),
    Check("messages",                   (OBJECTS,)),
    Check("messages.*",                 (OBJECT,), needed=True),
    Check("messages.*.role",            (TEXT,), needed=True, words=("system", "user", "assistant", "tool")),
    Check("messages.*.content",         (TEXT,)),
    Check("messages.*.images",          (ARRAY,)),
    Check("messages.*.images.*",        (TEXT,), needed=True),
    Check("messages.*.tool_calls",      (OBJECTS,)),
    Check(CALL,                         (OBJECT,), needed=True),
    Check(f"{CALL}.function",           (OBJECT,), needed=True),
    Check(f"{CALL}.function.name",      (TEXT,), needed=True),
    Check(f"{CALL}.function.arguments", (OBJECT,)),
    Check("prompt",                     (TEXT,)),
    Check("stream",                     (BOOLEAN,)),
    Check("options",                    (OBJECT,)),
    Check("options.temperature",        (NUMBER,)),
    Check("tools",                      (OBJECTS,)),
    Check("tools.*",                    (OBJECT,), needed=True),
    Check("tools.*.function",           (OBJECT,)),
    sentences={
        "missing": "{place} is required, and expected to be {expected}",
        "type": "{place} is expected to be {expected}, and is {got}",
        "value": "{place} is expected to be one of {expected}, and is {got}",
    },
    spell=lambda path: brackets(path) or "the body",
    refusal=lambda message, wrong: ({"error": message}, None),
)  # fmt: skip
