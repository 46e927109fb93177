"""Errors, and what a request must have. Compatible servers shape their errors in several ways."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...codec.bodies.error_bodies import WireErrors, error_object, message_of
from ...codec.bodies.error_tables import ErrorRow
from ...codec.bodies.validate import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    OBJECTS,
    TEXT,
    Check,
    Complaint,
    Pairs,
    Requirements,
)
from ...codec.json import Wire, is_object
from ...codec.limits import ERROR_TEXT
from ...errors import AdapterError
from ...types.base import Json
from .. import openai
from .facts import NAME, STORED

REFUSED_WORDS = (
    "invalid_prompt", "data_residency_mismatch", "bio_policy", "misalignment_policy_violation", "invalid_image",
    "invalid_image_format", "invalid_base64_image", "invalid_image_url", "image_too_large", "image_too_small",
    "image_parse_error", "image_content_policy_violation", "invalid_image_mode", "image_file_too_large",
    "unsupported_image_media_type", "empty_image_file", "failed_to_download_image", "image_file_not_found",
)  # fmt: skip
BAD_KEY = re.compile(r"(incorrect|invalid) api key", re.IGNORECASE)


def words(wire: Json) -> tuple[Json, ...]:
    inner = error_object(wire)
    kind = inner.get("type") if inner is not wire else None
    return inner.get("code"), kind, "invalid_api_key" if BAD_KEY.search(message_of(wire)[:ERROR_TEXT]) else None


ERRORS = WireErrors(
    NAME,
    *openai.ERROR_ROWS,
    ErrorRow(504, "vector_store_timeout"),
    *(ErrorRow(400, word) for word in REFUSED_WORDS),
    words=words,
    write=openai.write_error,
    request_ids=("x-request-id", "request-id", "apim-request-id", "cf-ray"),
)


def write_failure(error: AdapterError) -> Wire:
    """The ``error`` of a failed answer: a code and a message, or the object that was read."""
    residue = error.extras.get(NAME)
    if is_object(residue) and is_object(residue.get("error")):
        inner: Wire = ERRORS.body(error)["error"]
        return inner
    return {"code": ERRORS.row_for(error).word, "message": error.provider_message or error.message}


# ---------------------------------------------------------------------------------------- what a request must have

ANY_ROLE = ("system", "developer", "user", "assistant", "tool", "critic", "discriminator", "unknown")
RESULT = "*type=function_call_output.call_id"


def is_stored(body: Wire) -> bool:
    """Whether the server may have stored the input, or the calls that a result answers."""
    return any(body.get(key) for key in STORED)


def absent(body: Wire) -> Iterator[Complaint]:
    if body.get("input") is None and not is_stored(body):
        yield Complaint(("input",), "missing", f"{TEXT} or {OBJECTS}")


REQUIREMENTS = Requirements(
    NAME,
    Check("model",                                      (TEXT,)),
    Check("input",                                      (TEXT, OBJECTS)),
    Check("input.*",                                    (OBJECT,), needed=True),
    Check("input.*.type",                               (TEXT,)),
    Check("input.*.role",                               (TEXT,), words=ANY_ROLE),
    Check("input.*type=message.role",                   (TEXT,), needed=True, words=ANY_ROLE),
    Check("input.*type=message.content",                (TEXT, OBJECTS), needed=True),
    Check("input.*type=message.content.*",              (OBJECT,), needed=True),
    Check("input.*type=message.content.*.type",         (TEXT,), needed=True),
    Check("input.*type=function_call.call_id",          (TEXT,), needed=True),
    Check("input.*type=function_call.name",             (TEXT,), needed=True),
    Check("input.*type=function_call.arguments",        (TEXT,), needed=True),
    Check("input.*type=function_call_output.call_id",   (TEXT,)),  # not needed: an output may stand without a call
    Check("input.*type=function_call_output.output",    (TEXT, OBJECTS), needed=True),
    Check("input.*type=custom_tool_call.call_id",       (TEXT,), needed=True),
    Check("input.*type=custom_tool_call_output.call_id", (TEXT,), needed=True),
    Check("instructions",                               (TEXT, OBJECTS)),
    Check("previous_response_id",                       (TEXT,)),
    Check("stream",                                     (BOOLEAN,)),
    Check("store",                                      (BOOLEAN,)),
    Check("temperature",                                (NUMBER,)),
    Check("top_p",                                      (NUMBER,)),
    Check("max_output_tokens",                          (INTEGER,)),
    Check("reasoning",                                  (OBJECT,)),
    Check("text",                                       (OBJECT,)),
    Check("tool_choice",                                (TEXT, OBJECT)),
    Check("tools",                                      (OBJECTS,)),
    Check("tools.*",                                    (OBJECT,), needed=True),
    Check("tools.*.type",                               (TEXT,)),
    Check("tools.*type=function.name",                  (TEXT,), needed=True),
    Check("tools.*type=function.parameters",            (OBJECT,)),
    more=absent,
    pairs=Pairs(
        "input", calls=("*type=function_call.call_id", "*type=custom_tool_call.call_id"),
        results=("*type=function_call_output.call_id", "*type=custom_tool_call_output.call_id"), stored=is_stored,
    ),
    sentences={
        **openai.SENTENCES,
        "no call": "No tool call found that the output with the call_id {got!r} could answer.",
        "no result": "No tool output found for the call {got!r}: an output item must follow it.",
    },
    spell=openai.spell,
    refusal=openai.refusal,
)  # fmt: skip
