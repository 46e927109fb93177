"""Errors: read left to right to decode, right to left to encode. Compatible servers shape theirs in several ways."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import AdapterError
from ...types.base import Json
from ...types.loss import WireError
from ...types.words import ErrorClass
from .._errors import ErrorRow, ErrorTable, make_error, parse_body, spoken, wire_error
from .._json import is_dict, is_list
from .._stream import dump
from .._tables import merge
from .parts import NAME, Wire

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
    ErrorRow(400, "exceed_context_size_error", ErrorClass.context_overflow),
    ErrorRow(400, "content_filter", ErrorClass.invalid_request),
    ErrorRow(400, "tool_use_failed", ErrorClass.invalid_request),
    ErrorRow(429, "rate_limit_exceeded", ErrorClass.rate_limit),
    ErrorRow(429, "tokens", ErrorClass.rate_limit),
    ErrorRow(429, "requests", ErrorClass.rate_limit),
    ErrorRow(429, "insufficient_quota", ErrorClass.rate_limit, False),
    ErrorRow(402, "billing_hard_limit_reached", ErrorClass.rate_limit, False),
    ErrorRow(408, "timeout", ErrorClass.timeout),
    ErrorRow(400, "invalid_request_error", ErrorClass.tool_error),
)
TYPES = {"rate_limit_exceeded": "requests", "insufficient_quota": "insufficient_quota"}  # of these codes
REQUEST_IDS = ("x-request-id", "request-id", "mistral-correlation-id", "apim-request-id", "cf-ray")


def decode_error(
    status: int | None, headers: Mapping[str, str] | None, body: Json, provider: str | None
) -> AdapterError:
    wire = parse_body(body)
    lower = {key.lower(): value for key, value in (headers or {}).items()}
    inner = error_object(wire)
    message = next((inner[key] for key in ("message", "detail", "error") if isinstance(inner.get(key), str)), "")
    words = tuple(inner.get(key) for key in ("code", "type", "status"))
    return make_error(
        ERRORS, status, headers, words=words, message=message or (wire if isinstance(wire, str) else ""),
        provider=provider, request_id=next((lower[key] for key in REQUEST_IDS if key in lower), None),
        extras={NAME: wire if isinstance(wire, dict) else {"text": wire}},
    )  # fmt: skip


def error_object(wire: Json) -> Wire:
    """The object that describes the error: under ``error``, or the body itself."""
    if is_list(wire) and wire:
        wire = wire[0]
    if not is_dict(wire):
        return {}
    inner = wire.get("error")
    return inner if is_dict(inner) else wire


def encode_error_body(error: AdapterError) -> Wire:
    """Our own shape, laid over what this dialect read: the words are still the provider's."""
    residue = error.extras.get(NAME)
    message = error.provider_message or error.message
    if residue is not None:
        body = merge({}, residue)
        inner = error_object(body)
        for key in ("message", "detail", "error"):
            if isinstance(inner.get(key), str) and inner[key] != message:
                return {**body, "error": {**inner, key: message}} if inner is not body else {**body, key: message}
        return body
    word = ERRORS.row_for(error).word
    kind, code = (word, None) if word.endswith("_error") else (TYPES.get(word, "invalid_request_error"), word)
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def encode_error(error: AdapterError) -> WireError:
    residue, text = error.extras.get(NAME), None
    if residue is not None and residue.keys() == {"text"}:
        text = spoken(residue)
        text = dump(residue["text"]) if text is None else text
    status = ERRORS.status_for(error, NAME)
    return wire_error(error, status, text, encode_error_body, x_request_id=error.request_id)
