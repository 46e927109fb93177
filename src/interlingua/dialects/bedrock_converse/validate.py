"""What a Converse request must have; complaints are said as ``path: sentence``."""

from __future__ import annotations

from collections.abc import Iterator

from ...codec.validate import (
    INTEGER,
    NUMBER,
    OBJECT,
    OBJECTS,
    TEXT,
    Calls,
    Complaint,
    Field,
    dots,
    first_complaint,
    refused,
    unpaired,
)
from ...errors import InvalidRequestError
from ...types.base import Json
from .names import NAME
from .wire import Wire, is_object

BLOCK, CONFIG = "messages.*.content.*", "inferenceConfig"
# fmt: off
FIELDS = (
    Field("messages",                       (OBJECTS,)),  # a stored prompt may have them
    Field("messages.*",                     (OBJECT,), needed=True),
    Field("messages.*.role",                (TEXT,), needed=True, words=("user", "assistant", "system")),
    Field("messages.*.content",             (OBJECTS,), needed=True),
    Field(BLOCK,                            (OBJECT,), needed=True),
    Field(f"{BLOCK}.text",                  (TEXT,)),
    Field(f"{BLOCK}.image",                 (OBJECT,)),
    Field(f"{BLOCK}.document",              (OBJECT,)),
    Field(f"{BLOCK}.toolUse",               (OBJECT,)),
    Field(f"{BLOCK}.toolUse.toolUseId",     (TEXT,), needed=True),
    Field(f"{BLOCK}.toolUse.name",          (TEXT,), needed=True),
    Field(f"{BLOCK}.toolResult",            (OBJECT,)),
    Field(f"{BLOCK}.toolResult.toolUseId",  (TEXT,), needed=True),
    Field(f"{BLOCK}.toolResult.content",    (OBJECTS, OBJECT), needed=True),  # an object: a server tool's
    Field("system",                         (OBJECTS,)),
    Field("system.*",                       (OBJECT,), needed=True),
    Field(CONFIG,                           (OBJECT,)),
    Field(f"{CONFIG}.maxTokens",            (INTEGER,)),
    Field(f"{CONFIG}.temperature",          (NUMBER,)),
    Field(f"{CONFIG}.topP",                 (NUMBER,)),
    Field("toolConfig",                     (OBJECT,)),
    Field("toolConfig.tools",               (OBJECTS,), needed=True),
    Field("toolConfig.tools.*",             (OBJECT,), needed=True),
    Field("toolConfig.tools.*.toolSpec",    (OBJECT,)),
    Field("toolConfig.tools.*.toolSpec.name", (TEXT,), needed=True),
    Field("toolConfig.toolChoice",          (OBJECT,)),
    Field("additionalModelRequestFields",   (OBJECT,)),
)
# fmt: on
ORDER = {
    "no tool call found": "toolResult for the toolUseId {!r}, but no toolUse before it has that id",
    "no tool result found": "toolUse with the toolUseId {!r}, but no toolResult for it in the next turn",
}
PAIRED = {"toolUse": 0, "toolResult": 1}


def validate_request(body: Json) -> None:
    """Raise what the vendor would answer to a body that it cannot take."""
    wrong = first_complaint(body, FIELDS, _order)
    if wrong is not None:
        raise _refusal(wrong)


def _refusal(wrong: Complaint) -> InvalidRequestError:
    said = {
        "missing": f"required, and expected to be {wrong.expected}",
        "type": f"expected {wrong.expected}, got {wrong.got}",
        "value": f"expected one of {wrong.expected}, got {wrong.got}",
        "order": ORDER.get(wrong.expected, "").format(wrong.got),
    }[wrong.fault]
    message = f"The value at {dots(wrong.path) or 'the body'} is not valid: {said}"
    # As decode_error would have read it: the message is a part of the error itself.
    return refused(NAME, message, {"body": {}, "errortype": "ValidationException"}, "ValidationException")


def _order(body: Wire) -> Iterator[Complaint]:
    messages: list[Wire] = body.get("messages") or []
    if not messages and not body.get("promptVariables"):
        yield Complaint(("messages",), "missing", OBJECTS)
    yield from unpaired(map(_turn, range(len(messages)), messages))


def _turn(index: int, message: Wire) -> Calls:
    turn = Calls({}, {})
    for place, block in enumerate(message["content"]):
        for key, side in PAIRED.items():
            if is_object(block.get(key)) and block[key].get("type") is None:  # a server's own call has one
                turn[side][block[key]["toolUseId"]] = ("messages", index, "content", place, key, "toolUseId")
    return turn
