"""What a Chat request must have; complaints name the parameter and have a code."""

from __future__ import annotations

from collections.abc import Iterator

from ...codec.openai_complaints import complain
from ...codec.validate import (
    ARRAY,
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    OBJECTS,
    TEXT,
    Calls,
    Complaint,
    Field,
    first_complaint,
    unpaired,
)
from ...types.base import Json
from .parts import NAME, Wire

CALL = "messages.*role=assistant.tool_calls.*"
# fmt: off
FIELDS = (
    Field("model",                              (TEXT,)),  # a part of the URL in some clouds
    Field("messages",                           (OBJECTS,), needed=True, filled=True),
    Field("messages.*",                         (OBJECT,), needed=True),
    Field("messages.*.role",                    (TEXT,), needed=True,
          words=("system", "developer", "user", "assistant", "tool", "function")),
    Field("messages.*.content",                 (TEXT, OBJECTS)),
    Field("messages.*role=user.content",        (TEXT, OBJECTS), needed=True),
    Field("messages.*role=system.content",      (TEXT, OBJECTS), needed=True),
    Field("messages.*role=developer.content",   (TEXT, OBJECTS), needed=True),
    Field("messages.*role=tool.tool_call_id",   (TEXT,)),
    Field("messages.*.content.*",               (OBJECT,), needed=True),
    Field("messages.*.content.*.type",          (TEXT,), needed=True),
    Field("messages.*.content.*type=text.text", (TEXT,), needed=True),
    Field("messages.*.tool_calls",              (OBJECTS,)),
    Field(CALL,                                 (OBJECT,), needed=True),
    Field(f"{CALL}.id",                         (TEXT,)),
    Field(f"{CALL}.function",                   (OBJECT,)),
    Field(f"{CALL}.function.name",              (TEXT,), needed=True),
    Field(f"{CALL}.function.arguments",         (TEXT, OBJECT)),  # some servers take objects
    Field("stream",                             (BOOLEAN,)),
    Field("stream_options",                     (OBJECT,)),
    Field("temperature",                        (NUMBER,)),
    Field("top_p",                              (NUMBER,)),
    Field("n",                                  (INTEGER,)),
    Field("seed",                               (INTEGER,)),
    Field("max_tokens",                         (INTEGER,)),
    Field("max_completion_tokens",              (INTEGER,)),
    Field("stop",                               (TEXT, ARRAY)),
    Field("response_format",                    (OBJECT,)),
    Field("tool_choice",                        (TEXT, OBJECT)),
    Field("tools",                              (OBJECTS,)),
    Field("tools.*",                            (OBJECT,), needed=True),
    Field("tools.*.function",                   (OBJECT,)),
    Field("tools.*.function.name",              (TEXT,), needed=True),
    Field("tools.*.function.parameters",        (OBJECT,)),
)
# fmt: on
ORDER = {
    "no tool call found": "No tool call found for the 'tool' message: no assistant message before it calls {!r}.",
    "no tool result found": "No tool output found: the call {!r} is not followed by a message with the role 'tool'.",
}


def validate_request(body: Json) -> None:
    """Raise what the vendor would answer to a body that it cannot take."""
    wrong = first_complaint(body, FIELDS, _order)
    if wrong is not None:
        raise complain(NAME, wrong, ORDER)


def _order(body: Wire) -> Iterator[Complaint]:
    return unpaired(map(_turn, range(len(body["messages"])), body["messages"]))


def _turn(index: int, message: Wire) -> Calls:
    id = message.get("tool_call_id") if message["role"] == "tool" else None
    calls = message.get("tool_calls") or () if message["role"] == "assistant" else ()
    asked: dict[str, tuple[str | int, ...]] = {
        call["id"]: ("messages", index, "tool_calls", place, "id") for place, call in enumerate(calls) if call.get("id")
    }
    return Calls(asked, {id: ("messages", index, "tool_call_id")} if id else {})
