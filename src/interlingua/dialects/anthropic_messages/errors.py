"""Errors: read left to right to decode, right to left to encode."""

from __future__ import annotations

from collections.abc import Mapping

from ...codec.error_tables import (
    ErrorRow,
    ErrorTable,
    error_object,
    first_header,
    foreign,
    make_error,
    parse_body,
    reworded,
    text_of,
    wire_error,
)
from ...codec.json import is_dict
from ...errors import (
    AdapterError,
    AuthError,
    ContextOverflowError,
    InvalidRequestError,
    OverloadedError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    ToolStateError,
)
from ...types.base import Json
from ...types.loss import WireError
from .facts import NAME, Wire

ERRORS = ErrorTable(
    # status  wire word                       canonical                 retry
    ErrorRow(500, "api_error", ServerError),
    ErrorRow(400, "invalid_request_error", InvalidRequestError),
    ErrorRow(401, "authentication_error", AuthError),
    ErrorRow(402, "billing_error", RateLimitError, False),
    ErrorRow(403, "permission_error", AuthError),
    ErrorRow(404, "not_found_error", InvalidRequestError),
    ErrorRow(409, "conflict_error", InvalidRequestError),
    ErrorRow(413, "request_too_large", ContextOverflowError),
    ErrorRow(429, "rate_limit_error", RateLimitError),
    ErrorRow(429, "enforced_spend_limit_reached", RateLimitError, False),
    ErrorRow(504, "timeout_error", RequestTimeoutError),
    ErrorRow(529, "overloaded_error", OverloadedError),
    ErrorRow(400, "invalid_request_error", ToolStateError),
)


def decode_error(
    status: int | None, headers: Mapping[str, str] | None, body: Json, provider: str | None
) -> AdapterError:
    wire = parse_body(body)
    residue: Wire = dict(wire) if is_dict(wire) else {"text": wire}
    inner, own = error_object(wire), residue.get("request_id")
    details = inner.get("details")
    exact = details.get("error_code") if is_dict(details) else None
    kind = inner.get("type") if inner is not wire else None
    return make_error(
        ERRORS, status, headers, words=(exact, kind, inner.get("code")), message=text_of(wire), provider=provider,
        request_id=own if isinstance(own, str) else first_header(headers, "request-id"), extras={NAME: residue},
    )  # fmt: skip


def encode_error_body(error: AdapterError) -> Wire:
    """The protocol's own shape, with all that came in it."""
    residue, message = error.extras.get(NAME), error.provider_message or error.message
    if is_dict(residue) and "error" in residue:
        return reworded(residue, message)
    body: Wire = {"type": "error", "error": {"message": message, "type": ERRORS.row_for(error).word}}
    return body if error.request_id is None else {**body, "request_id": error.request_id}


def encode_error(error: AdapterError) -> WireError:
    return wire_error(ERRORS, error, NAME, foreign(error, NAME), encode_error_body, request_id=error.request_id)
