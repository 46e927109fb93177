"""Errors: a status and a sentence, ``{"error": "…"}``. There are no codes, so the status is the word."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import AdapterError
from ...types.base import Json
from ...types.loss import WireError
from ...types.words import ErrorClass
from .._errors import ErrorRow, ErrorTable, make_error, parse_body, spoken, wire_error
from .._json import is_object
from .._tables import merge
from .blocks import NAME, Wire

ERRORS = ErrorTable(
    # status  (no word)  canonical                   retry
    ErrorRow(500, "", ErrorClass.server_error),
    ErrorRow(400, "", ErrorClass.invalid_request),
    ErrorRow(401, "", ErrorClass.auth),
    ErrorRow(413, "", ErrorClass.context_overflow),
    ErrorRow(429, "", ErrorClass.rate_limit),
    ErrorRow(502, "", ErrorClass.network),
    ErrorRow(504, "", ErrorClass.timeout),
    ErrorRow(400, "", ErrorClass.tool_error),
    ErrorRow(499, "", ErrorClass.cancelled),
)
QUOTA_STATUS = 402


def decode_error(
    status: int | None, headers: Mapping[str, str] | None, body: Json, provider: str | None
) -> AdapterError:
    wire = parse_body(body)
    rest: Wire = dict(wire) if is_object(wire) else {"text": wire}
    words: tuple[Json, ...] = ()
    message: Json = rest.get("error")
    if isinstance(message, str):
        del rest["error"]
    elif is_object(message):  # a proxy's or another endpoint's; carried whole
        words, message = (message.get("code"), message.get("type")), message.get("message")
    if not isinstance(message, str):
        message = str(wire) if wire else ""
    return make_error(
        ERRORS, status, headers, words=words, message=message, provider=provider, extras={NAME: rest},
    )  # fmt: skip


def encode_error_body(error: AdapterError) -> Wire:
    residue = error.extras.get(NAME, {})
    if isinstance(residue.get("error"), dict):
        return dict(residue)
    return merge({"error": error.provider_message or error.message}, residue)


def encode_error(error: AdapterError) -> WireError:
    told = NAME in error.extras and error.provider_status
    spent = not told and error.error_class is ErrorClass.rate_limit and not error.retryable
    status = QUOTA_STATUS if spent else ERRORS.status_for(error, NAME)
    return wire_error(error, status, spoken(error.extras.get(NAME)), encode_error_body)
