"""Errors: read left to right to decode, right to left to encode. Compatible servers shape theirs in several ways."""

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
from .wire import NAME, Wire, is_object

ERRORS = ErrorTable(
    # status  wire word                       canonical                  retry
    ErrorRow(500, "server_error", ErrorClass.server_error),
    ErrorRow(400, "invalid_request_error", ErrorClass.invalid_request),
    ErrorRow(401, "invalid_api_key", ErrorClass.auth),
    ErrorRow(401, "authentication_error", ErrorClass.auth),
    ErrorRow(403, "permission_error", ErrorClass.auth),
    ErrorRow(403, "unsupported_country_region_territory", ErrorClass.auth),
    ErrorRow(404, "model_not_found", ErrorClass.invalid_request),
    ErrorRow(400, "context_length_exceeded", ErrorClass.context_overflow),
    ErrorRow(429, "rate_limit_exceeded", ErrorClass.rate_limit),
    ErrorRow(429, "tokens", ErrorClass.rate_limit),
    ErrorRow(429, "requests", ErrorClass.rate_limit),
    ErrorRow(429, "insufficient_quota", ErrorClass.rate_limit, False),
    ErrorRow(402, "billing_hard_limit_reached", ErrorClass.rate_limit, False),
    ErrorRow(503, "server_is_overloaded", ErrorClass.rate_limit),
    ErrorRow(503, "slow_down", ErrorClass.rate_limit),
    ErrorRow(408, "timeout", ErrorClass.timeout),
    ErrorRow(504, "vector_store_timeout", ErrorClass.timeout),
    *(
        ErrorRow(400, word, ErrorClass.invalid_request)
        for word in (
            "invalid_prompt", "data_residency_mismatch", "bio_policy", "misalignment_policy_violation",
            "invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url", "image_too_large",
            "image_too_small", "image_parse_error", "image_content_policy_violation", "invalid_image_mode",
            "image_file_too_large", "unsupported_image_media_type", "empty_image_file", "failed_to_download_image",
            "image_file_not_found",
        )
    ),
)  # fmt: skip
TYPES = {"rate_limit_exceeded": "requests", "insufficient_quota": "insufficient_quota"}  # of these codes
BAD_KEY = re.compile(r"(incorrect|invalid) api key", re.IGNORECASE)
REQUEST_IDS = ("x-request-id", "request-id", "apim-request-id", "cf-ray")


def decode_error(
    status: int | None, headers: Mapping[str, str] | None, body: Json, provider: str | None
) -> AdapterError:
    wire = parse_body(body)
    lower = {key.lower(): value for key, value in (headers or {}).items()}
    inner = error_object(wire)
    message = next((inner[key] for key in ("message", "detail", "error") if isinstance(inner.get(key), str)), "")
    kind = inner.get("type") if inner is not wire else None
    words = (inner.get("code"), kind, "invalid_api_key" if BAD_KEY.search(message) else None)
    return make_error(
        ERRORS, status, headers, words=words, message=message or (wire if isinstance(wire, str) else ""),
        provider=provider, request_id=next((lower[key] for key in REQUEST_IDS if key in lower), None),
        extras={NAME: wire if is_object(wire) else {"text": wire}},
    )  # fmt: skip


def error_object(wire: Json) -> Wire:
    """The object that describes the error: under ``error``, or the body itself."""
    if not is_object(wire):
        return {}
    inner = wire.get("error")
    return inner if is_object(inner) else wire


def encode_error_body(error: AdapterError) -> Wire:
    """Our own shape, or what this dialect read with the message as it is now."""
    residue = error.extras.get(NAME)
    message = error.provider_message or error.message
    if residue is None:
        return {"error": say_error(error)}
    body = merge({}, residue)
    inner = error_object(body)
    for key in ("message", "detail", "error"):
        if isinstance(inner.get(key), str):
            if inner[key] == message:
                break
            return {**body, "error": {**inner, key: message}} if inner is not body else {**body, key: message}
    return body


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
    residue, text = error.extras.get(NAME), None
    if residue is not None and residue.keys() == {"text"}:
        text = spoken(residue)
        text = dump(residue["text"]) if text is None else text
    status = ERRORS.status_for(error, NAME)
    return wire_error(error, status, text, encode_error_body, x_request_id=error.request_id)
