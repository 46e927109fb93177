"""What a chat or generate request must have; a complaint is one sentence."""

from __future__ import annotations

from collections.abc import Iterator

from ...codec.validate import (
    ARRAY,
    BOOLEAN,
    NUMBER,
    OBJECT,
    OBJECTS,
    TEXT,
    Complaint,
    Field,
    brackets,
    first_complaint,
    refused,
)
from ...types.base import Json
from .blocks import NAME, Wire

CALL = "messages.*.tool_calls.*"
# fmt: off
FIELDS = (
    Field("model",                      (TEXT,), needed=True),
    Field("messages",                   (OBJECTS,)),
    Field("messages.*",                 (OBJECT,), needed=True),
    Field("messages.*.role",            (TEXT,), needed=True, words=("system", "user", "assistant", "tool")),
    Field("messages.*.content",         (TEXT,)),
    Field("messages.*.images",          (ARRAY,)),
    Field("messages.*.images.*",        (TEXT,), needed=True),
    Field("messages.*.tool_calls",      (OBJECTS,)),
    Field(CALL,                         (OBJECT,), needed=True),
    Field(f"{CALL}.function",           (OBJECT,), needed=True),
    Field(f"{CALL}.function.name",      (TEXT,), needed=True),
    Field(f"{CALL}.function.arguments", (OBJECT,)),
    Field("prompt",                     (TEXT,)),
    Field("stream",                     (BOOLEAN,)),
    Field("options",                    (OBJECT,)),
    Field("options.temperature",        (NUMBER,)),
    Field("tools",                      (OBJECTS,)),
    Field("tools.*",                    (OBJECT,), needed=True),
    Field("tools.*.function",           (OBJECT,)),
)
# fmt: on


def validate_request(body: Json) -> None:
    """Raise what the vendor would answer to a body that it cannot take."""
    wrong = first_complaint(body, FIELDS, _order)
    if wrong is None:
        return
    said = {
        "missing": f"is required, and expected to be {wrong.expected}",
        "type": f"is expected to be {wrong.expected}, and is {wrong.got}",
        "value": f"is expected to be one of {wrong.expected}, and is {wrong.got}",
    }[wrong.fault]
    message = f"{brackets(wrong.path) or 'the body'} {said}"
    raise refused(NAME, message, {"error": message})


def _order(body: Wire) -> Iterator[Complaint]:
    """Results have no ids in this protocol, and any order is taken."""
    yield from ()
