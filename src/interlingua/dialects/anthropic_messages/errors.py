"""Errors: read left to right to decode, right to left to encode."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import AdapterError
from ...types.base import Json
from ...types.loss import WireError
from ...types.words import ErrorClass
from .._errors import ErrorRow, ErrorTable, make_error, parse_body, spoken, wire_error
from .._json import is_dict
from .._tables import merge
from .blocks import NAME, Wire

ERRORS = ErrorTable(
    # status  wire word                       canonical                 retry
    ErrorRow(500, "api_error", ErrorClass.server_error),
    ErrorRow(400, "invalid_request_error", ErrorClass.invalid_request),
    ErrorRow(401, "authentication_error", ErrorClass.auth),
    ErrorRow(402, "billing_error", ErrorClass.rate_limit, False),
    ErrorRow(403, "permission_error", ErrorClass.auth),
    ErrorRow(404, "not_found_error", ErrorClass.invalid_request),
    ErrorRow(409, "conflict_error", ErrorClass.invalid_request),
    ErrorRow(413, "request_too_large", ErrorClass.context_overflow),
    ErrorRow(429, "rate_limit_error", ErrorClass.rate_limit),
    ErrorRow(429, "enforced_spend_limit_reached", ErrorClass.rate_limit, False),
    ErrorRow(504, "timeout_error", ErrorClass.timeout),
    ErrorRow(529, "overloaded_error", ErrorClass.rate_limit),
    ErrorRow(400, "invalid_request_error", ErrorClass.tool_error),
)


def decode_error(
    status: int | None, headers: Mapping[str, str] | None, body: Json, provider: str | None
) -> AdapterError:
    wire = parse_body(body)
    rest: Wire = dict(wire) if is_dict(wire) else {"text": wire}
    inner: Wire = dict(rest["error"]) if isinstance(rest.get("error"), dict) else {}
    details = inner.get("details")
    exact = details.get("error_code") if is_dict(details) else None
    word, message = inner.pop("type", None), inner.pop("message", None)
    if inner or isinstance(rest.get("error"), dict):
        rest["error"] = inner
    lower = {key.lower(): value for key, value in (headers or {}).items()}
    request_id = rest.get("request_id") or lower.get("request-id")
    if not isinstance(message, str):
        message = str(wire) if wire else ""
    error = make_error(
        ERRORS, status, headers, words=(exact, word, inner.get("code")), message=message,
        provider=provider, request_id=request_id, extras={NAME: rest},
    )  # fmt: skip
    if isinstance(word, str):
        error.provider_code = exact or word
        error.extras[NAME].setdefault("error", {})["type"] = word
    return error


def encode_error_body(error: AdapterError) -> Wire:
    row = ERRORS.row_for(error)
    residue = error.extras.get(NAME, {})
    inner: Wire = {"message": error.provider_message or error.message}
    word = residue.get("error", {}).get("type") if isinstance(residue.get("error"), dict) else None
    inner["type"] = word if isinstance(word, str) else row.word
    body: Wire = {"type": "error", "error": inner}
    if error.request_id is not None and NAME not in error.extras:
        body["request_id"] = error.request_id
    return merge(body, residue)


def encode_error(error: AdapterError) -> WireError:
    text, status = spoken(error.extras.get(NAME)), ERRORS.status_for(error, NAME)
    return wire_error(error, status, text, encode_error_body, request_id=error.request_id)
