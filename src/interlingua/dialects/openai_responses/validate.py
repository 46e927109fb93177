"""What a Responses request must have; complaints name the parameter and have a code."""

from __future__ import annotations

from collections.abc import Iterator

from ...codec.openai_complaints import complain
from ...codec.validate import (
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
from .wire import NAME, Wire, is_array

ROLES = ("system", "developer", "user", "assistant", "tool", "critic", "discriminator", "unknown")
# fmt: off
FIELDS = (
    Field("model",                                      (TEXT,)),
    Field("input",                                      (TEXT, OBJECTS)),
    Field("input.*",                                    (OBJECT,), needed=True),
    Field("input.*.type",                               (TEXT,)),
    Field("input.*.role",                               (TEXT,), words=ROLES),
    Field("input.*type=message.role",                   (TEXT,), needed=True, words=ROLES),
    Field("input.*type=message.content",                (TEXT, OBJECTS), needed=True),
    Field("input.*type=message.content.*",              (OBJECT,), needed=True),
    Field("input.*type=message.content.*.type",         (TEXT,), needed=True),
    Field("input.*type=function_call.call_id",          (TEXT,), needed=True),
    Field("input.*type=function_call.name",             (TEXT,), needed=True),
    Field("input.*type=function_call.arguments",        (TEXT,), needed=True),
    Field("input.*type=function_call_output.call_id",   (TEXT,), needed=True),
    Field("input.*type=function_call_output.output",    (TEXT, OBJECTS), needed=True),
    Field("input.*type=custom_tool_call.call_id",       (TEXT,), needed=True),
    Field("input.*type=custom_tool_call_output.call_id", (TEXT,), needed=True),
    Field("instructions",                               (TEXT, OBJECTS)),
    Field("previous_response_id",                       (TEXT,)),
    Field("stream",                                     (BOOLEAN,)),
    Field("store",                                      (BOOLEAN,)),
    Field("temperature",                                (NUMBER,)),
    Field("top_p",                                      (NUMBER,)),
    Field("max_output_tokens",                          (INTEGER,)),
    Field("reasoning",                                  (OBJECT,)),
    Field("text",                                       (OBJECT,)),
    Field("tool_choice",                                (TEXT, OBJECT)),
    Field("tools",                                      (OBJECTS,)),
    Field("tools.*",                                    (OBJECT,), needed=True),
    Field("tools.*.type",                               (TEXT,)),
    Field("tools.*type=function.name",                  (TEXT,), needed=True),
    Field("tools.*type=function.parameters",            (OBJECT,)),
)
# fmt: on
STORED = ("previous_response_id", "conversation", "prompt")
"""What may hold the input, or the calls that a result answers."""
PAIRED = {
    "function_call": "call",
    "custom_tool_call": "call",
    "function_call_output": "result",
    "custom_tool_call_output": "result",
}
ORDER = {
    "no tool call found": "No tool call found that the output with the call_id {!r} could answer.",
    "no tool result found": "No tool output found for the call {!r}: an output item must follow it.",
}


def validate_request(body: Json) -> None:
    """Raise what the vendor would answer to a body that it cannot take."""
    wrong = first_complaint(body, FIELDS, _order)
    if wrong is not None:
        raise complain(NAME, wrong, ORDER)


def _order(body: Wire) -> Iterator[Complaint]:
    if any(body.get(key) for key in STORED):
        return
    if body.get("input") is None:
        yield Complaint(("input",), "missing", f"{TEXT} or {OBJECTS}")
    elif is_array(body["input"]):
        yield from unpaired(map(_turn, range(len(body["input"])), body["input"]))


def _turn(index: int, item: Wire) -> Calls:
    kind = item.get("type")
    if kind not in PAIRED:
        return Calls({}, {})
    named: dict[str, tuple[str | int, ...]] = {item["call_id"]: ("input", index, "call_id")}
    return Calls(named, {}) if PAIRED[kind] == "call" else Calls({}, named)
