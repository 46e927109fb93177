"""Errors: read left to right to decode, right to left to encode. Compatible servers shape theirs in several ways."""

from __future__ import annotations

import re
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
from ...codec.limits import ERROR_TEXT
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
from .wire import NAME, Wire, is_object

ERRORS = ErrorTable(
    # status  wire word                       canonical                  retry
    ErrorRow(500, "server_error", ServerError),
    ErrorRow(400, "invalid_request_error", InvalidRequestError),
    ErrorRow(401, "invalid_api_key", AuthError),
    ErrorRow(401, "authentication_error", AuthError),
    ErrorRow(403, "permission_error", AuthError),
    ErrorRow(403, "unsupported_country_region_territory", AuthError),
    ErrorRow(404, "invalid_request_error", InvalidRequestError),
    ErrorRow(404, "model_not_found", InvalidRequestError),
    ErrorRow(400, "context_length_exceeded", ContextOverflowError),
    ErrorRow(429, "rate_limit_exceeded", RateLimitError),
    ErrorRow(429, "tokens", RateLimitError),
    ErrorRow(429, "requests", RateLimitError),
    ErrorRow(429, "insufficient_quota", RateLimitError, False),
    ErrorRow(402, "billing_hard_limit_reached", RateLimitError, False),
    ErrorRow(503, "server_is_overloaded", OverloadedError),
    ErrorRow(503, "slow_down", OverloadedError),
    ErrorRow(408, "timeout", RequestTimeoutError),
    ErrorRow(504, "server_error", RequestTimeoutError),
    ErrorRow(504, "vector_store_timeout", RequestTimeoutError),
    ErrorRow(400, "invalid_request_error", ToolStateError),
    *(
        ErrorRow(400, word, InvalidRequestError)
        for word in (
            "invalid_prompt", "data_residency_mismatch", "bio_policy", "misalignment_policy_violation",
            "invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url", "image_too_large",
            "image_too_small", "image_parse_error", "image_content_policy_violation", "invalid_image_mode",
            "image_file_too_large", "unsupported_image_media_type", "empty_image_file", "failed_to_download_image",
            "image_file_not_found",
        )
    ),
)  # fmt: skip
# The type that comes with a code, where it is not invalid_request_error.
TYPES = {
    "rate_limit_exceeded": "requests",
    "insufficient_quota": "insufficient_quota",
    "server_is_overloaded": "service_unavailable_error",
    "slow_down": "service_unavailable_error",
}
BAD_KEY = re.compile(r"(incorrect|invalid) api key", re.IGNORECASE)
REQUEST_IDS = ("x-request-id", "request-id", "apim-request-id", "cf-ray")


def decode_error(
    status: int | None, headers: Mapping[str, str] | None, body: Json, provider: str | None
) -> AdapterError:
    wire = parse_body(body)
    inner = error_object(wire)
    message = text_of(wire)
    kind = inner.get("type") if inner is not wire else None
    words = (inner.get("code"), kind, "invalid_api_key" if BAD_KEY.search(message[:ERROR_TEXT]) else None)
    return make_error(
        ERRORS, status, headers, words=words, message=message, provider=provider,
        request_id=first_header(headers, *REQUEST_IDS), extras={NAME: wire if is_object(wire) else {"text": wire}},
    )  # fmt: skip


def encode_error_body(error: AdapterError) -> Wire:
    """The protocol's own shape, with all that came in it."""
    residue = error.extras.get(NAME)
    if is_object(residue) and "error" in residue:
        return reworded(residue, error.provider_message or error.message)
    return {"error": say_error(error)}


def say_error(error: AdapterError) -> Wire:
    word = ERRORS.row_for(error).word
    kind, code = (word, None) if word.endswith("_error") else (TYPES.get(word, "invalid_request_error"), word)
    return {"message": error.provider_message or error.message, "type": kind, "param": None, "code": code}


def say_failure(error: AdapterError) -> Wire:
    """The error of an answer that failed: a code and a message, or what was read."""
    residue = error.extras.get(NAME)
    if is_object(residue) and is_object(residue.get("error")):
        inner: Wire = encode_error_body(error)["error"]
        return inner
    said = say_error(error)
    return {"code": said["code"] or said["type"], "message": said["message"]}


def encode_error(error: AdapterError) -> WireError:
    return wire_error(ERRORS, error, NAME, foreign(error, NAME), encode_error_body, x_request_id=error.request_id)
