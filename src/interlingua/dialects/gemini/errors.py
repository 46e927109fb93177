"""Errors: read left to right to decode, right to left to encode. Some servers wrap the body in a list."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...errors import AdapterError
from ...types.base import Json
from ...types.loss import WireError
from ...types.words import ErrorClass
from .._errors import ErrorRow, ErrorTable, make_error, parse_body, spoken, wire_error
from .._stream import dump
from .._tables import merge
from .media import NAME
from .spelling import Wire, is_array, is_object

ERRORS = ErrorTable(
    # status  wire word             canonical
    ErrorRow(500, "INTERNAL", ErrorClass.server_error),
    ErrorRow(400, "INVALID_ARGUMENT", ErrorClass.invalid_request),
    ErrorRow(400, "FAILED_PRECONDITION", ErrorClass.invalid_request),
    ErrorRow(400, "OUT_OF_RANGE", ErrorClass.invalid_request),
    ErrorRow(401, "UNAUTHENTICATED", ErrorClass.auth),
    ErrorRow(403, "PERMISSION_DENIED", ErrorClass.auth),
    ErrorRow(400, "API_KEY_INVALID", ErrorClass.auth),
    ErrorRow(403, "BILLING_DISABLED", ErrorClass.rate_limit, False),
    ErrorRow(404, "NOT_FOUND", ErrorClass.invalid_request),
    ErrorRow(409, "ALREADY_EXISTS", ErrorClass.invalid_request),
    ErrorRow(409, "ABORTED", ErrorClass.server_error),
    ErrorRow(429, "RESOURCE_EXHAUSTED", ErrorClass.rate_limit),
    ErrorRow(499, "CANCELLED", ErrorClass.cancelled),
    ErrorRow(500, "UNKNOWN", ErrorClass.server_error),
    ErrorRow(500, "DATA_LOSS", ErrorClass.server_error),
    ErrorRow(501, "UNIMPLEMENTED", ErrorClass.invalid_request),
    ErrorRow(503, "UNAVAILABLE", ErrorClass.server_error),
    ErrorRow(504, "DEADLINE_EXCEEDED", ErrorClass.timeout),
    # What has no word of its own: said with the nearest.
    ErrorRow(413, "INVALID_ARGUMENT", ErrorClass.context_overflow),
    ErrorRow(400, "FAILED_PRECONDITION", ErrorClass.tool_error),
    ErrorRow(503, "UNAVAILABLE", ErrorClass.network),
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
    if code == status:
        inner.pop("code", None)
    if "error" in rest and is_object(rest["error"]):
        rest["error"] = inner
    details = inner.get("details")
    told = [detail for detail in details if is_object(detail)] if is_array(details) else []
    reason = next((detail["reason"] for detail in told if detail.get("reason") in REASONS), None)
    error = make_error(
        ERRORS, status, headers, words=(reason, word), message=message if type(message) is str else _text(wire),
        provider=provider, extras={NAME: [rest] if wrapped else rest},
    )  # fmt: skip
    error.provider_code = word if type(word) is str else None
    error.provider_message = message if type(message) is str else None
    delay = next((found for detail in told if (found := _delay(detail)) is not None), None)
    if delay is not None:
        error.retry_after = delay
        if error.error_class is ErrorClass.rate_limit and reason is None:
            error.retryable = True  # whatever its words say of quotas and plans
    return error


def _text(wire: Json) -> str:
    return wire if type(wire) is str else dump(wire).decode() if wire else ""


def _delay(detail: Wire) -> float | None:
    """How long to wait, where a detail says so."""
    found = DELAY.fullmatch(str(detail.get("retryDelay"))) if detail.get("@type") == RETRY else None
    return float(found[1]) if found is not None else None


def encode_error_body(error: AdapterError) -> Json:
    residue = error.extras.get(NAME, {})
    wrapped = is_array(residue)
    rest: Wire = residue[0] if wrapped else residue
    row = ERRORS.row_for(error)
    word = error.provider_code if NAME in error.extras and type(error.provider_code) is str else row.word
    inner: Wire = {"code": status_of(error), "message": error.provider_message or error.message, "status": word}
    known: Wire = rest["error"] if is_object(rest.get("error")) else {}
    if NAME in error.extras:
        told = {"status": error.provider_code, "message": error.provider_message}
        inner = {
            key: value for key, value in inner.items() if told.get(key, key not in known)
        }  # no more than was there
    if NAME not in error.extras and row.word in REASONS:
        inner |= {"status": REASONS[row.word], "details": [{"@type": REASON, "reason": row.word}]}
    details = say_details(known.get("details", inner.get("details")), error.retry_after)
    if details is not None:
        inner["details"] = details
    body = merge({"error": inner}, rest)
    return [body] if wrapped else body


def say_details(details: Json, delay: float | None) -> Json:
    """The details, with the delay where one is due."""
    told = [detail for detail in details if is_object(detail)] if is_array(details) else []
    if delay is None or any(_delay(detail) == delay for detail in told):
        return details
    retry = {"@type": RETRY, "retryDelay": f"{delay:g}s"}
    return [*(detail for detail in told if detail.get("@type") != RETRY), retry]


def status_of(error: AdapterError) -> int:
    return ERRORS.status_for(error, NAME)


def encode_error(error: AdapterError) -> WireError:
    text, kind = spoken(error.extras.get(NAME)), "application/json; charset=UTF-8"
    return wire_error(error, status_of(error), text, encode_error_body, content_type=kind)
