"""Errors: read left to right to decode, right to left to encode. Some servers wrap the body in a list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...codec.error_tables import ErrorRow, ErrorTable, make_error, parse_body, say_seconds, text_of, usable, wire_error
from ...codec.tables import merge
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
from .key_case import Wire, is_array, is_object
from .media import NAME

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
    details = say_details(known.get("details", inner.get("details")), error.retry_after)
    if details is not None:
        inner["details"] = details
    body = merge({"error": inner}, rest)
    return [body] if came and wrapped else body


def say_details(details: Json, delay: float | None) -> Json:
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
