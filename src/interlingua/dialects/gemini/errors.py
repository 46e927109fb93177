"""Errors, read left to right to decode and right to left to encode, and what a request must have.

Some servers wrap the body of an error in a list. A complaint about a request names the field, in the sentence and in
the details.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...codec.error_tables import ErrorRow, ErrorTable, make_error, parse_body, say_seconds, text_of, usable, wire_error
from ...codec.json import is_array, is_object
from ...codec.paths import merge
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
from ...errors import (
    AdapterError,
    AuthError,
    CancelledError,
    ContextOverflowError,
    InvalidRequestError,
    NetworkError,
    OverloadedError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    ToolStateError,
)
from ...types.base import Json
from ...types.loss import WireError
from .facts import KEYS, NAME, Wire

ERRORS = ErrorTable(
    # status  wire word             canonical
    ErrorRow(500, "INTERNAL", ServerError),
    ErrorRow(400, "INVALID_ARGUMENT", InvalidRequestError),
    ErrorRow(400, "FAILED_PRECONDITION", InvalidRequestError),
    ErrorRow(400, "OUT_OF_RANGE", InvalidRequestError),
    ErrorRow(401, "UNAUTHENTICATED", AuthError),
    ErrorRow(403, "PERMISSION_DENIED", AuthError),
    ErrorRow(400, "API_KEY_INVALID", AuthError),
    ErrorRow(403, "BILLING_DISABLED", RateLimitError, False),
    ErrorRow(404, "NOT_FOUND", InvalidRequestError),
    ErrorRow(409, "ALREADY_EXISTS", InvalidRequestError),
    ErrorRow(409, "ABORTED", ServerError),
    ErrorRow(429, "RESOURCE_EXHAUSTED", RateLimitError),
    ErrorRow(499, "CANCELLED", CancelledError),
    ErrorRow(500, "UNKNOWN", ServerError),
    ErrorRow(500, "DATA_LOSS", ServerError),
    ErrorRow(501, "UNIMPLEMENTED", InvalidRequestError),
    ErrorRow(503, "UNAVAILABLE", OverloadedError),
    ErrorRow(504, "DEADLINE_EXCEEDED", RequestTimeoutError),
    # What has no word of its own: said with the nearest.
    ErrorRow(413, "INVALID_ARGUMENT", ContextOverflowError),
    ErrorRow(400, "FAILED_PRECONDITION", ToolStateError),
    ErrorRow(502, "INTERNAL", NetworkError),
)
# More exact than the status, in the details: the reason, and the status that it comes with.
REASONS = {"API_KEY_INVALID": "INVALID_ARGUMENT", "BILLING_DISABLED": "PERMISSION_DENIED"}
REASON = "type.googleapis.com/google.rpc.ErrorInfo"
RETRY = "type.googleapis.com/google.rpc.RetryInfo"
DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


def is_error(body: Json) -> bool:
    """Whether a body is an error, wrapped or not."""
    if is_array(body) and len(body) == 1:
        body = body[0]
    return is_object(body) and is_object(body.get("error"))


def decode_error(
    status: int | None, headers: Mapping[str, str] | None, body: Json, provider: str | None
) -> AdapterError:
    wire = parse_body(body)
    wrapped = is_array(wire) and len(wire) == 1 and is_object(wire[0])
    rest: Wire = dict(wire[0]) if wrapped else dict(wire) if is_object(wire) else {"text": wire}
    inner = dict(rest["error"]) if is_object(rest.get("error")) else {}
    code, word, message = inner.get("code"), inner.get("status"), inner.get("message")
    for key, value in (("status", word), ("message", message)):
        if type(value) is str and value:
            del inner[key]
    if status is None and type(code) is int and 400 <= code < 600:
        status = code
    if "error" in rest and is_object(rest["error"]):
        rest["error"] = inner
    details = inner.get("details")
    told = [detail for detail in details if is_object(detail)] if is_array(details) else []
    reason = next((found for detail in told if type(found := detail.get("reason")) is str and found in REASONS), None)
    error = make_error(
        ERRORS, status, headers, words=(reason, word), message=message if type(message) is str else text_of(wire),
        after=next((found for detail in told if (found := _delay(detail)) is not None), None),
        provider=provider, extras={NAME: [rest] if wrapped else rest},
    )  # fmt: skip
    error.provider_code = word if type(word) is str else None
    error.provider_message = message if type(message) is str else None
    return error


def _delay(detail: Wire) -> float | None:
    """How long to wait, where a detail says so."""
    found = DELAY.fullmatch(str(detail.get("retryDelay"))) if detail.get("@type") == RETRY else None
    return usable(float(found[1])) if found is not None else None


def encode_error_body(error: AdapterError) -> Json:
    """The protocol's own shape, with all that came in it."""
    residue: Json = error.extras.get(NAME)
    came, wrapped = is_error(residue), is_array(residue)
    whole: Any = residue[0] if came and wrapped else residue
    rest: Wire = whole if came else {}
    row = ERRORS.row_for(error)
    word = error.provider_code if came and type(error.provider_code) is str else row.word
    inner: Wire = {"code": status_of(error), "message": error.provider_message or error.message, "status": word}
    known: Wire = rest["error"] if came else {}
    if came:  # no more than was there
        told = {"code": known.get("code"), "message": error.provider_message, "status": error.provider_code}
        inner = {key: value for key, value in told.items() if value}
    if not came and row.word in REASONS:
        inner |= {"status": REASONS[row.word], "details": [{"@type": REASON, "reason": row.word}]}
    details = write_details(known.get("details", inner.get("details")), error.retry_after)
    if details is not None:
        inner["details"] = details
    body = merge({"error": inner}, rest)
    return [body] if came and wrapped else body


def write_details(details: Json, delay: float | None) -> Json:
    """The details, with the delay where one is due."""
    told = [detail for detail in details if is_object(detail)] if is_array(details) else []
    if delay is None or any(_delay(detail) == delay for detail in told):
        return details
    retry = {"@type": RETRY, "retryDelay": f"{say_seconds(delay)}s"}
    return [*(detail for detail in told if detail.get("@type") != RETRY), retry]


def status_of(error: AdapterError) -> int:
    return ERRORS.status_for(error, NAME)


def encode_error(error: AdapterError) -> WireError:
    residue, kind = error.extras.get(NAME), "application/json; charset=UTF-8"
    came = residue if is_object(residue) and not is_error(residue) else None
    return wire_error(ERRORS, error, NAME, came, encode_error_body, content_type=kind)


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
    wrong = first_complaint(KEYS.usual(body)[0] if is_object(body) else body, FIELDS, _order)
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
