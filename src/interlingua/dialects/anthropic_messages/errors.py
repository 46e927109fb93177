"""Errors, read left to right to decode and right to left to encode, and what a request must have."""

from __future__ import annotations

from ...codec.bodies.error_bodies import WireErrors, error_object
from ...codec.bodies.error_tables import ErrorRow
from ...codec.bodies.validate import (
    ARRAY,
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    OBJECTS,
    TEXT,
    Check,
    Pairs,
    Requirements,
    dots,
)
from ...codec.json import Wire, is_dict
from ...errors import AdapterError, RateLimitError, ToolStateError
from ...types.base import Json
from .facts import NAME


def words(wire: Json) -> tuple[Json, ...]:
    """The words of an error body that may tell its class, the most specific first."""
    inner = error_object(wire)
    details = inner.get("details")
    exact = details.get("error_code") if is_dict(details) else None
    return exact, inner.get("type") if inner is not wire else None, inner.get("code")


def write(error: AdapterError, word: str, message: str) -> Wire:
    body: Wire = {"type": "error", "error": {"message": message, "type": word}}
    return body if error.request_id is None else {**body, "request_id": error.request_id}


ERRORS = WireErrors(
    NAME,
    # status  wire word                       canonical, where the status does not say it
    ErrorRow(500, "api_error"),
    ErrorRow(400, "invalid_request_error"),
    ErrorRow(401, "authentication_error"),
    ErrorRow(402, "billing_error"),
    ErrorRow(403, "permission_error"),
    ErrorRow(404, "not_found_error"),
    ErrorRow(409, "conflict_error"),
    ErrorRow(413, "request_too_large"),
    ErrorRow(429, "rate_limit_error"),
    ErrorRow(429, "enforced_spend_limit_reached", RateLimitError, False),
    ErrorRow(504, "timeout_error"),
    ErrorRow(529, "overloaded_error"),
    ErrorRow(400, "invalid_request_error", ToolStateError),
    words=words, write=write, request_ids=("request-id",), request_id_key="request_id",
)  # fmt: skip

# ---------------------------------------------------------------------------------------- what a request must have

BLOCK = "messages.*.content.*"


def is_stored(body: Wire) -> bool:
    """Whether the server holds the earlier turns."""
    return is_dict(body.get("thread"))


REQUIREMENTS = Requirements(
    NAME,
    Check("model",                              (TEXT,)),  # a part of the URL in some clouds
    Check("max_tokens",                         (INTEGER,), needed=True),
    Check("messages",                           (OBJECTS,), needed=True, filled=True),
    Check("messages.*",                         (OBJECT,), needed=True),
    Check("messages.*.role",                    (TEXT,), needed=True, words=("user", "assistant", "system")),
    Check("messages.*.content",                 (TEXT, OBJECTS), needed=True),
    Check(BLOCK,                                (OBJECT,), needed=True),
    Check(f"{BLOCK}.type",                      (TEXT,), needed=True),
    Check(f"{BLOCK}type=text.text",             (TEXT,), needed=True),
    Check(f"{BLOCK}type=image.source",          (OBJECT,), needed=True),
    Check(f"{BLOCK}type=document.source",       (OBJECT,), needed=True),
    Check(f"{BLOCK}type=thinking.thinking",     (TEXT,), needed=True),
    Check(f"{BLOCK}type=tool_use.id",           (TEXT,), needed=True),
    Check(f"{BLOCK}type=tool_use.name",         (TEXT,), needed=True),
    Check(f"{BLOCK}type=tool_use.input",        (OBJECT,), needed=True),
    Check(f"{BLOCK}type=tool_result.tool_use_id", (TEXT,), needed=True),
    Check(f"{BLOCK}type=tool_result.content",   (TEXT, OBJECTS)),
    Check(f"{BLOCK}type=tool_result.is_error",  (BOOLEAN,)),
    Check("system",                             (TEXT, OBJECTS)),
    Check("system.*",                           (OBJECT,), needed=True),
    Check("stream",                             (BOOLEAN,)),
    Check("temperature",                        (NUMBER,)),
    Check("top_p",                              (NUMBER,)),
    Check("top_k",                              (INTEGER,)),
    Check("stop_sequences",                     (ARRAY,)),
    Check("stop_sequences.*",                   (TEXT,), needed=True),
    Check("metadata",                           (OBJECT,)),
    Check("thinking",                           (OBJECT,)),
    Check("tool_choice",                        (OBJECT,)),
    Check("tools",                              (OBJECTS,)),
    Check("tools.*",                            (OBJECT,), needed=True),
    Check("tools.*.name",                       (TEXT,)),
    Check("tools.*.input_schema",               (OBJECT,)),
    pairs=Pairs(
        "messages", calls=("*.content.*type=tool_use.id",), results=("*.content.*type=tool_result.tool_use_id",),
        stored=is_stored,
    ),
    sentences={
        "missing": "{place}: required, and expected to be {expected}",
        "type": "{place}: expected {expected}, got {got}",
        "value": "{place}: expected one of {expected}, got {got}",
        "empty": "{place}: expected {expected}",
        "no call": "{place}: `tool_result` for the id {got!r}, but no `tool_use` before it has that id",
        "no result": "{place}: `tool_use` with the id {got!r}, but no `tool_result` for it in the next message",
    },
    spell=lambda path: dots(path) or "body",
    refusal=lambda message, wrong: (
        {"type": "error", "error": {"type": "invalid_request_error", "message": message}}, "invalid_request_error",
    ),
)  # fmt: skip
