"""What a generateContent request must have; a complaint names the field, in the sentence and in the details."""

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
    brackets,
    first_complaint,
    refused,
)
from ...errors import InvalidRequestError
from ...types.base import Json
from .key_case import Wire, camel, is_array, is_object
from .media import NAME

PART, CONFIG = "contents.*.parts.*", "generationConfig"
# fmt: off
FIELDS = (
    Field("contents",                           (OBJECTS, OBJECT), needed=True, filled=True),
    Field("contents.*",                         (OBJECT,), needed=True),
    Field("contents.*.role",                    (TEXT,), words=("user", "model", "function", "tool", "system", "")),
    Field("contents.*.parts",                   (OBJECTS, OBJECT)),
    Field(PART,                                 (OBJECT,), needed=True),
    Field(f"{PART}.text",                       (TEXT,)),
    Field(f"{PART}.inlineData",                 (OBJECT,)),
    Field(f"{PART}.fileData",                   (OBJECT,)),
    Field(f"{PART}.functionCall",               (OBJECT,)),
    Field(f"{PART}.functionCall.name",          (TEXT,), needed=True),
    Field(f"{PART}.functionCall.args",          (OBJECT,)),
    Field(f"{PART}.functionResponse",           (OBJECT,)),
    Field(f"{PART}.functionResponse.name",      (TEXT,), needed=True),
    Field(f"{PART}.functionResponse.response",  (OBJECT,)),
    Field("systemInstruction",                  (OBJECT, TEXT)),
    Field(CONFIG,                               (OBJECT,)),
    Field(f"{CONFIG}.temperature",              (NUMBER,)),
    Field(f"{CONFIG}.topP",                     (NUMBER,)),
    Field(f"{CONFIG}.topK",                     (NUMBER,)),
    Field(f"{CONFIG}.maxOutputTokens",          (INTEGER,)),
    Field(f"{CONFIG}.stopSequences.*",          (TEXT,), needed=True),
    Field("tools",                              (OBJECTS, OBJECT)),
    Field("tools.*",                            (OBJECT,), needed=True),
    Field("tools.*.functionDeclarations",       (OBJECTS, OBJECT)),
    Field("tools.*.functionDeclarations.*",     (OBJECT,), needed=True),
    Field("tools.*.functionDeclarations.*.name", (TEXT,), needed=True),
    Field("toolConfig",                         (OBJECT,)),
)
# fmt: on
BAD = "type.googleapis.com/google.rpc.BadRequest"


def validate_request(body: Json) -> None:
    """Raise what the vendor would answer to a body that it cannot take."""
    wrong = first_complaint(camel(body, []) if is_object(body) else body, FIELDS, _order)
    if wrong is not None:
        raise _refusal(wrong)


def _refusal(wrong: Complaint) -> InvalidRequestError:
    field = brackets(wrong.path) or "the body"
    said = {
        "missing": f"it is required, and expected to be {wrong.expected}",
        "type": f"expected {wrong.expected}, got {wrong.got}",
        "value": f"expected one of {wrong.expected}, got {wrong.got}",
        "empty": f"expected {wrong.expected}",
        "order": f"a function response for {wrong.got!r} must come right after the turn with its function call",
    }[wrong.fault]
    message = f"Invalid value at '{field}': {said}"
    detail = {"@type": BAD, "fieldViolations": [{"field": field, "description": message}]}
    # As decode_error would have read it: the status and the message stand in the error itself.
    return refused(NAME, message, {"error": {"code": 400, "details": [detail]}}, "INVALID_ARGUMENT")


def _order(body: Wire) -> Iterator[Complaint]:
    contents = body["contents"] if is_array(body["contents"]) else []
    called = False
    for index, content in enumerate(contents):
        turn = _turn(index, content)
        if turn.results and not called:
            name, path = next(iter(turn.results.items()))
            yield Complaint(path, "order", got=name)
        called = bool(turn.calls) or (called and bool(turn.results))


def _turn(index: int, content: Wire) -> Calls:
    found: dict[str, dict[str, tuple[str | int, ...]]] = {"functionCall": {}, "functionResponse": {}}
    parts = content.get("parts")
    for place, part in enumerate(parts if is_array(parts) else ()):
        for key, names in found.items():
            if is_object(part.get(key)):
                names[part[key]["name"]] = ("contents", index, "parts", place, key)
    return Calls(found["functionCall"], found["functionResponse"])
