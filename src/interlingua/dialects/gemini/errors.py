"""The table of errors, read left to right to decode and right to left to encode, and what a request must have.

Some servers wrap the body of an error in a list. The error for an invalid request names the wrong field, both in its
message and in its details.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...codec.bodies.error_bodies import Headers, WireErrors, message_of, parse_body, valid_seconds, write_seconds
from ...codec.bodies.error_tables import ErrorRow
from ...codec.bodies.validate import INTEGER, NUMBER, OBJECT, OBJECTS, TEXT, Check, Complaint, Requirements, brackets
from ...codec.json import Wire, is_array, is_object
from ...codec.paths import merge
from ...errors import (
    AdapterError,
    AuthError,
    CancelledError,
    ContextOverflowError,
    InvalidRequestError,
    NetworkError,
    OverloadedError,
    RateLimitError,
    ServerError,
    ToolStateError,
)
from ...types.base import Json
from ...types.loss import WireError
from .facts import KEYS, NAME

# Reasons in the details that say more than the status, each with the status that it comes with.
REASONS = {"API_KEY_INVALID": "INVALID_ARGUMENT", "BILLING_DISABLED": "PERMISSION_DENIED"}
REASON = "type.googleapis.com/google.rpc.ErrorInfo"
RETRY = "type.googleapis.com/google.rpc.RetryInfo"
DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


def is_error(body: Json) -> bool:
    """Whether a body is an error, wrapped or not."""
    if is_array(body) and len(body) == 1:
        body = body[0]
    return is_object(body) and is_object(body.get("error"))


class GeminiErrors(WireErrors):
    def decode(
        self, status: int | None, headers: Headers | None, body: bytes | str | Json, provider: str | None
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
        objects = [detail for detail in details if is_object(detail)] if is_array(details) else []
        reasons = [detail.get("reason") for detail in objects]
        reason = next((found for found in reasons if type(found) is str and found in REASONS), None)
        error = self.make(
            status, headers, words=(reason, word), message=message if type(message) is str else message_of(wire),
            after=next((found for detail in objects if (found := _delay(detail)) is not None), None),
            provider=provider, extras={NAME: [rest] if wrapped else rest},
        )  # fmt: skip
        error.provider_code = word if type(word) is str else None
        error.provider_message = message if type(message) is str else None
        return error

    def body(self, error: AdapterError) -> Json:
        """The body of an error. One that was read here is written as it came: with its residue, in a list if it was."""
        residue: Json = error.extras.get(NAME)
        if not is_error(residue):
            return {"error": self.inner(error)}
        wrapped = is_array(residue)
        rest: Wire = residue[0] if wrapped else residue
        known = {"code": rest["error"].get("code"), "message": error.provider_message, "status": error.provider_code}
        inner: Wire = {key: value for key, value in known.items() if value}  # no key that the body did not have
        details = write_details(rest["error"].get("details"), error.retry_after)
        if details is not None:
            inner["details"] = details
        body = merge({"error": inner}, rest)
        return [body] if wrapped else body

    def inner(self, error: AdapterError) -> Wire:
        word, message = self.row_for(error).word, error.provider_message or error.message
        inner: Wire = {"code": self.status_for(error, NAME), "message": message, "status": REASONS.get(word, word)}
        details = [{"@type": REASON, "reason": word}] if word in REASONS else None
        details = write_details(details, error.retry_after)
        return inner if details is None else {**inner, "details": details}

    def encode(self, error: AdapterError) -> WireError:
        return self.answer(error, self.foreign(error), {"content-type": "application/json; charset=UTF-8"})

    def foreign(self, error: AdapterError) -> Wire | None:
        residue = error.extras.get(NAME)
        return residue if is_object(residue) and not is_error(residue) else None


ERRORS = GeminiErrors(
    NAME,
    # status  wire word             our class, if it does not follow from the status
    ErrorRow(500, "INTERNAL"),
    ErrorRow(400, "INVALID_ARGUMENT"),
    ErrorRow(400, "FAILED_PRECONDITION"),
    ErrorRow(400, "OUT_OF_RANGE"),
    ErrorRow(401, "UNAUTHENTICATED"),
    ErrorRow(403, "PERMISSION_DENIED"),
    ErrorRow(400, "API_KEY_INVALID", AuthError),
    ErrorRow(403, "BILLING_DISABLED", RateLimitError, False),
    ErrorRow(404, "NOT_FOUND"),
    ErrorRow(409, "ALREADY_EXISTS"),
    ErrorRow(409, "ABORTED", ServerError),
    ErrorRow(429, "RESOURCE_EXHAUSTED"),
    ErrorRow(499, "CANCELLED", CancelledError),
    ErrorRow(500, "UNKNOWN"),
    ErrorRow(500, "DATA_LOSS"),
    ErrorRow(501, "UNIMPLEMENTED", InvalidRequestError),
    ErrorRow(503, "UNAVAILABLE", OverloadedError),
    ErrorRow(504, "DEADLINE_EXCEEDED"),
    # Classes without a word of their own: written with the nearest.
    ErrorRow(413, "INVALID_ARGUMENT", ContextOverflowError),
    ErrorRow(400, "FAILED_PRECONDITION", ToolStateError),
    ErrorRow(502, "INTERNAL", NetworkError),
)


def _delay(detail: Wire) -> float | None:
    """The seconds to wait that a detail asks for; None if it is another kind of detail."""
    found = DELAY.fullmatch(str(detail.get("retryDelay"))) if detail.get("@type") == RETRY else None
    return valid_seconds(float(found[1])) if found is not None else None


def write_details(details: Json, delay: float | None) -> Json:
    """The details, with the delay added unless there is none or they have it already."""
    objects = [detail for detail in details if is_object(detail)] if is_array(details) else []
    if delay is None or any(_delay(detail) == delay for detail in objects):
        return details
    retry = {"@type": RETRY, "retryDelay": f"{write_seconds(delay)}s"}
    return [*(detail for detail in objects if detail.get("@type") != RETRY), retry]


# ---------------------------------------------------------------------------------------- what a request must have

PART, CONFIG = "contents.*.parts.*", "generationConfig"
BAD = "type.googleapis.com/google.rpc.BadRequest"


def find_stray_results(body: Wire) -> Iterator[Complaint]:
    """A complaint for each turn of results that does not follow a turn of calls. It gives the name of the function."""
    called = False
    for index, content in enumerate(body["contents"] if is_array(body["contents"]) else ()):
        parts = content["parts"] if is_array(content.get("parts")) else ()
        results = [place for place, part in enumerate(parts) if is_object(part.get("functionResponse"))]
        if results and not called:
            result = parts[results[0]]["functionResponse"]
            yield Complaint(("contents", index, "parts", results[0], "functionResponse"), "no call", got=result["name"])
        called = any(is_object(part.get("functionCall")) for part in parts) or (called and bool(results))


REQUIREMENTS = Requirements(
    NAME,
    Check("contents",                           (OBJECTS, OBJECT), needed=True, filled=True),
    Check("contents.*",                         (OBJECT,), needed=True),
    Check("contents.*.role",                    (TEXT,), words=("user", "model", "function", "tool", "system", "")),
    Check("contents.*.parts",                   (OBJECTS, OBJECT)),
    Check(PART,                                 (OBJECT,), needed=True),
    Check(f"{PART}.text",                       (TEXT,)),
    Check(f"{PART}.inlineData",                 (OBJECT,)),
    Check(f"{PART}.fileData",                   (OBJECT,)),
    Check(f"{PART}.functionCall",               (OBJECT,)),
    Check(f"{PART}.functionCall.name",          (TEXT,), needed=True),
    Check(f"{PART}.functionCall.args",          (OBJECT,)),
    Check(f"{PART}.functionResponse",           (OBJECT,)),
    Check(f"{PART}.functionResponse.name",      (TEXT,), needed=True),
    Check(f"{PART}.functionResponse.response",  (OBJECT,)),
    Check("systemInstruction",                  (OBJECT, TEXT)),
    Check(CONFIG,                               (OBJECT,)),
    Check(f"{CONFIG}.temperature",              (NUMBER,)),
    Check(f"{CONFIG}.topP",                     (NUMBER,)),
    Check(f"{CONFIG}.topK",                     (NUMBER,)),
    Check(f"{CONFIG}.maxOutputTokens",          (INTEGER,)),
    Check(f"{CONFIG}.stopSequences.*",          (TEXT,), needed=True),
    Check("tools",                              (OBJECTS, OBJECT)),
    Check("tools.*",                            (OBJECT,), needed=True),
    Check("tools.*.functionDeclarations",       (OBJECTS, OBJECT)),
    Check("tools.*.functionDeclarations.*",     (OBJECT,), needed=True),
    Check("tools.*.functionDeclarations.*.name", (TEXT,), needed=True),
    Check("toolConfig",                         (OBJECT,)),
    usual=lambda body: KEYS.usual(body)[0],
    more=find_stray_results,
    sentences={fault: f"Invalid value at '{{place}}': {why}" for fault, why in {
        "missing": "it is required, and expected to be {expected}",
        "type": "expected {expected}, got {got}",
        "value": "expected one of {expected}, got {got}",
        "empty": "expected {expected}",
        "no call": "a function response for {got!r} must come right after the turn with its function call",
    }.items()},
    spell=lambda path: brackets(path) or "the body",
    refusal=lambda sentence, wrong: ({"error": {"code": 400, "details": [
        {"@type": BAD, "fieldViolations": [{"field": brackets(wrong.path) or "the body", "description": sentence}]},
    ]}}, "INVALID_ARGUMENT"),
)  # fmt: skip
