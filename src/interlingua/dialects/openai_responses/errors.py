"""Errors, and what a request must have. Compatible servers shape their errors in several ways.

The table is read left to right to decode, right to left to encode. Complaints name the parameter and have a code.
"""

from __future__ import annotations

import re
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
from ...codec.json import Wire, is_array, is_object
from ...codec.limits import ERROR_TEXT
from ...codec.openai_complaints import complain
from ...codec.validate import (
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
from .facts import NAME, STORED

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
    return {"error": write_error(error)}


def write_error(error: AdapterError) -> Wire:
    word = ERRORS.row_for(error).word
    kind, code = (word, None) if word.endswith("_error") else (TYPES.get(word, "invalid_request_error"), word)
    return {"message": error.provider_message or error.message, "type": kind, "param": None, "code": code}


def write_failure(error: AdapterError) -> Wire:
    """The error of an answer that failed: a code and a message, or what was read."""
    residue = error.extras.get(NAME)
    if is_object(residue) and is_object(residue.get("error")):
        inner: Wire = encode_error_body(error)["error"]
        return inner
    wire = write_error(error)
    return {"code": wire["code"] or wire["type"], "message": wire["message"]}


def encode_error(error: AdapterError) -> WireError:
    return wire_error(ERRORS, error, NAME, foreign(error, NAME), encode_error_body, x_request_id=error.request_id)


# ------------------------------------------------------------------------------------------ what a request must have

ANY_ROLE = ("system", "developer", "user", "assistant", "tool", "critic", "discriminator", "unknown")
# fmt: off
FIELDS = (
    Field("model",                                      (TEXT,)),
    Field("input",                                      (TEXT, OBJECTS)),
    Field("input.*",                                    (OBJECT,), needed=True),
    Field("input.*.type",                               (TEXT,)),
    Field("input.*.role",                               (TEXT,), words=ANY_ROLE),
    Field("input.*type=message.role",                   (TEXT,), needed=True, words=ANY_ROLE),
    Field("input.*type=message.content",                (TEXT, OBJECTS), needed=True),
    Field("input.*type=message.content.*",              (OBJECT,), needed=True),
    Field("input.*type=message.content.*.type",         (TEXT,), needed=True),
    Field("input.*type=function_call.call_id",          (TEXT,), needed=True),
    Field("input.*type=function_call.name",             (TEXT,), needed=True),
    Field("input.*type=function_call.arguments",        (TEXT,), needed=True),
    Field("input.*type=function_call_output.call_id",   (TEXT,), needed=True),
    Field("input.*type=function_call_output.output",    (TEXT, OBJECTS), needed=True),
    Field("input.*type=custom_tool_call.call_id",       (TEXT,), needed=True),
    Field("input.*type=custom_tool_call_output.call_id", (TEXT,), needed=True),
    Field("instructions",                               (TEXT, OBJECTS)),
    Field("previous_response_id",                       (TEXT,)),
    Field("stream",                                     (BOOLEAN,)),
    Field("store",                                      (BOOLEAN,)),
    Field("temperature",                                (NUMBER,)),
    Field("top_p",                                      (NUMBER,)),
    Field("max_output_tokens",                          (INTEGER,)),
    Field("reasoning",                                  (OBJECT,)),
    Field("text",                                       (OBJECT,)),
    Field("tool_choice",                                (TEXT, OBJECT)),
    Field("tools",                                      (OBJECTS,)),
    Field("tools.*",                                    (OBJECT,), needed=True),
    Field("tools.*.type",                               (TEXT,)),
    Field("tools.*type=function.name",                  (TEXT,), needed=True),
    Field("tools.*type=function.parameters",            (OBJECT,)),
)
# fmt: on
PAIRED = {
    "function_call": "call",
    "custom_tool_call": "call",
    "function_call_output": "result",
    "custom_tool_call_output": "result",
}
ORDER = {
    "no tool call found": "No tool call found that the output with the call_id {!r} could answer.",
    "no tool result found": "No tool output found for the call {!r}: an output item must follow it.",
}


def validate_request(body: Json) -> None:
    """Raise what the vendor would answer to a body that it cannot take."""
    wrong = first_complaint(body, FIELDS, _order)
    if wrong is not None:
        raise complain(NAME, wrong, ORDER)


def _order(body: Wire) -> Iterator[Complaint]:
    if any(body.get(key) for key in STORED):
        return
    if body.get("input") is None:
        yield Complaint(("input",), "missing", f"{TEXT} or {OBJECTS}")
    elif is_array(body["input"]):
        yield from unpaired(map(_turn, range(len(body["input"])), body["input"]))


def _turn(index: int, item: Wire) -> Calls:
    kind = item.get("type")
    if kind not in PAIRED:
        return Calls({}, {})
    named: dict[str, tuple[str | int, ...]] = {item["call_id"]: ("input", index, "call_id")}
    return Calls(named, {}) if PAIRED[kind] == "call" else Calls({}, named)
