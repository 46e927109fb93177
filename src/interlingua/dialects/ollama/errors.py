"""Errors: a status and a sentence, ``{"error": "…"}``. There are no codes, so the status is the word.

And what a request must have, so that the server does not answer with an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...codec.error_tables import ErrorRow, ErrorTable, foreign, make_error, parse_body, reworded, text_of, wire_error
from ...codec.json import is_object
from ...codec.validate import (
    ARRAY,
    BOOLEAN,
    NUMBER,
    OBJECT,
    OBJECTS,
    TEXT,
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
from .facts import NAME, Wire

ERRORS = ErrorTable(
    # status  (no word)  canonical                   retry
    ErrorRow(500, "", ServerError),
    ErrorRow(400, "", InvalidRequestError),
    ErrorRow(401, "", AuthError),
    ErrorRow(403, "", AuthError),
    ErrorRow(413, "", ContextOverflowError),
    ErrorRow(429, "", RateLimitError),
    ErrorRow(402, "", RateLimitError, False),
    ErrorRow(503, "", OverloadedError),
    ErrorRow(502, "", NetworkError),
    ErrorRow(504, "", RequestTimeoutError),
    ErrorRow(400, "", ToolStateError),
    ErrorRow(499, "", CancelledError),
    statuses={503: OverloadedError},  # its queue is full; the sentence that says so may change
)


def decode_error(
    status: int | None, headers: Mapping[str, str] | None, body: Json, provider: str | None
) -> AdapterError:
    wire = parse_body(body)
    residue: Wire = dict(wire) if is_object(wire) else {"text": wire}
    inner = residue.get("error")  # a proxy's or another endpoint's may be an object
    words = (inner.get("code"), inner.get("type")) if is_object(inner) else ()
    return make_error(
        ERRORS, status, headers, words=words, message=text_of(wire), provider=provider, extras={NAME: residue}
    )


def encode_error_body(error: AdapterError) -> Wire:
    residue, message = error.extras.get(NAME), error.provider_message or error.message
    return reworded(residue, message) if is_object(residue) and "error" in residue else {"error": message}


def encode_error(error: AdapterError) -> WireError:
    return wire_error(ERRORS, error, NAME, foreign(error, NAME), encode_error_body)


# --------------------------------------------------------------------------------------------- what a request must have

CALL = "messages.*.tool_calls.*"
# fmt: off
FIELDS = (
    Field("model",                      (TEXT,), needed=True),
    Field("messages",                   (OBJECTS,)),
    Field("messages.*",                 (OBJECT,), needed=True),
    Field("messages.*.role",            (TEXT,), needed=True, words=("system", "user", "assistant", "tool")),
    Field("messages.*.content",         (TEXT,)),
    Field("messages.*.images",          (ARRAY,)),
    Field("messages.*.images.*",        (TEXT,), needed=True),
    Field("messages.*.tool_calls",      (OBJECTS,)),
    Field(CALL,                         (OBJECT,), needed=True),
    Field(f"{CALL}.function",           (OBJECT,), needed=True),
    Field(f"{CALL}.function.name",      (TEXT,), needed=True),
    Field(f"{CALL}.function.arguments", (OBJECT,)),
    Field("prompt",                     (TEXT,)),
    Field("stream",                     (BOOLEAN,)),
    Field("options",                    (OBJECT,)),
    Field("options.temperature",        (NUMBER,)),
    Field("tools",                      (OBJECTS,)),
    Field("tools.*",                    (OBJECT,), needed=True),
    Field("tools.*.function",           (OBJECT,)),
)
# fmt: on


def validate_request(body: Json) -> None:
    """Raise what the vendor would answer to a body that it cannot take."""
    wrong = first_complaint(body, FIELDS, _order)
    if wrong is None:
        return
    said = {
        "missing": f"is required, and expected to be {wrong.expected}",
        "type": f"is expected to be {wrong.expected}, and is {wrong.got}",
        "value": f"is expected to be one of {wrong.expected}, and is {wrong.got}",
    }[wrong.fault]
    message = f"{brackets(wrong.path) or 'the body'} {said}"
    raise refused(NAME, message, {"error": message})


def _order(body: Wire) -> Iterator[Complaint]:
    """Results have no ids in this protocol, and any order is taken."""
    yield from ()
