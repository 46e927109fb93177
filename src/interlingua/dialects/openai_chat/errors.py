"""Errors: of servers, and of requests that a server would refuse.

The table is read left to right to decode, right to left to encode. Compatible servers shape theirs in several ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
from ...codec.openai_complaints import complain
from ...codec.validate import (
    ARRAY,
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    OBJECTS,
    TEXT,
    Calls,
    Complaint,
    Field,
    first_complaint,
    unpaired,
)
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
    ErrorRow(400, "exceed_context_size_error", ContextOverflowError),
    ErrorRow(400, "content_filter", InvalidRequestError),
    ErrorRow(400, "tool_use_failed", InvalidRequestError),
    ErrorRow(429, "rate_limit_exceeded", RateLimitError),
    ErrorRow(429, "tokens", RateLimitError),
    ErrorRow(429, "requests", RateLimitError),
    ErrorRow(429, "insufficient_quota", RateLimitError, False),
    ErrorRow(402, "billing_hard_limit_reached", RateLimitError, False),
    ErrorRow(503, "server_is_overloaded", OverloadedError),
    ErrorRow(503, "slow_down", OverloadedError),
    ErrorRow(429, "engine_overloaded_error", OverloadedError),
    ErrorRow(408, "timeout", RequestTimeoutError),
    ErrorRow(504, "server_error", RequestTimeoutError),
    ErrorRow(400, "invalid_request_error", ToolStateError),
)
# The type that comes with a code, where it is not invalid_request_error.
TYPES = {
    "rate_limit_exceeded": "requests",
    "insufficient_quota": "insufficient_quota",
    "server_is_overloaded": "service_unavailable_error",
    "slow_down": "service_unavailable_error",
}
REQUEST_IDS = ("x-request-id", "request-id", "mistral-correlation-id", "apim-request-id", "cf-ray")


def decode_error(
    status: int | None, headers: Mapping[str, str] | None, body: Json, provider: str | None
) -> AdapterError:
    wire = parse_body(body)
    inner = error_object(wire)
    words = tuple(inner.get(key) for key in ("code", "type", "status"))
    message = text_of(wire)
    return make_error(
        ERRORS, status, headers, words=words, message=message, provider=provider,
        request_id=first_header(headers, *REQUEST_IDS), extras={NAME: wire if is_dict(wire) else {"text": wire}},
    )  # fmt: skip


def encode_error_body(error: AdapterError) -> Wire:
    """The protocol's own shape, with all that came in it."""
    residue, message = error.extras.get(NAME), error.provider_message or error.message
    if is_dict(residue) and "error" in residue:
        return reworded(residue, message)
    word = ERRORS.row_for(error).word
    kind, code = (word, None) if word.endswith("_error") else (TYPES.get(word, "invalid_request_error"), word)
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def encode_error(error: AdapterError) -> WireError:
    return wire_error(ERRORS, error, NAME, foreign(error, NAME), encode_error_body, x_request_id=error.request_id)


# ------------------------------------------------------------------------------------------- what a request must have

CALL = "messages.*role=assistant.tool_calls.*"
# fmt: off
FIELDS = (
    Field("model",                              (TEXT,)),  # a part of the URL in some clouds
    Field("messages",                           (OBJECTS,), needed=True, filled=True),
    Field("messages.*",                         (OBJECT,), needed=True),
    Field("messages.*.role",                    (TEXT,), needed=True,
          words=("system", "developer", "user", "assistant", "tool", "function")),
    Field("messages.*.content",                 (TEXT, OBJECTS)),
    Field("messages.*role=user.content",        (TEXT, OBJECTS), needed=True),
    Field("messages.*role=system.content",      (TEXT, OBJECTS), needed=True),
    Field("messages.*role=developer.content",   (TEXT, OBJECTS), needed=True),
    Field("messages.*role=tool.tool_call_id",   (TEXT,)),
    Field("messages.*.content.*",               (OBJECT,), needed=True),
    Field("messages.*.content.*.type",          (TEXT,), needed=True),
    Field("messages.*.content.*type=text.text", (TEXT,), needed=True),
    Field("messages.*.tool_calls",              (OBJECTS,)),
    Field(CALL,                                 (OBJECT,), needed=True),
    Field(f"{CALL}.id",                         (TEXT,)),
    Field(f"{CALL}.function",                   (OBJECT,)),
    Field(f"{CALL}.function.name",              (TEXT,), needed=True),
    Field(f"{CALL}.function.arguments",         (TEXT, OBJECT)),  # some servers take objects
    Field("stream",                             (BOOLEAN,)),
    Field("stream_options",                     (OBJECT,)),
    Field("temperature",                        (NUMBER,)),
    Field("top_p",                              (NUMBER,)),
    Field("n",                                  (INTEGER,)),
    Field("seed",                               (INTEGER,)),
    Field("max_tokens",                         (INTEGER,)),
    Field("max_completion_tokens",              (INTEGER,)),
    Field("stop",                               (TEXT, ARRAY)),
    Field("response_format",                    (OBJECT,)),
    Field("tool_choice",                        (TEXT, OBJECT)),
    Field("tools",                              (OBJECTS,)),
    Field("tools.*",                            (OBJECT,), needed=True),
    Field("tools.*.function",                   (OBJECT,)),
    Field("tools.*.function.name",              (TEXT,), needed=True),
    Field("tools.*.function.parameters",        (OBJECT,)),
)
# fmt: on
ORDER = {
    "no tool call found": "No tool call found for the 'tool' message: no assistant message before it calls {!r}.",
    "no tool result found": "No tool output found: the call {!r} is not followed by a message with the role 'tool'.",
}


def validate_request(body: Json) -> None:
    """Raise what the vendor would answer to a body that it cannot take."""
    wrong = first_complaint(body, FIELDS, _order)
    if wrong is not None:
        raise complain(NAME, wrong, ORDER)


def _order(body: Wire) -> Iterator[Complaint]:
    return unpaired(map(_turn, range(len(body["messages"])), body["messages"]))


def _turn(index: int, message: Wire) -> Calls:
    id = message.get("tool_call_id") if message["role"] == "tool" else None
    calls = message.get("tool_calls") or () if message["role"] == "assistant" else ()
    asked: dict[str, tuple[str | int, ...]] = {
        call["id"]: ("messages", index, "tool_calls", place, "id") for place, call in enumerate(calls) if call.get("id")
    }
    return Calls(asked, {id: ("messages", index, "tool_call_id")} if id else {})
