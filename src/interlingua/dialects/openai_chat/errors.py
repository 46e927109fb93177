"""Errors, which compatible servers shape in several ways, and what a request must have."""

from __future__ import annotations

from ...codec.bodies.error_bodies import WireErrors, error_object
from ...codec.bodies.error_tables import ErrorRow
from ...codec.bodies.validate import ARRAY, BOOLEAN, INTEGER, NUMBER, OBJECT, OBJECTS, TEXT, Check, Pairs, Requirements
from ...errors import OverloadedError
from .. import openai
from .facts import NAME

ERRORS = WireErrors(
    NAME,
    *openai.ERROR_ROWS,
    ErrorRow(400, "content_filter"),
    ErrorRow(400, "tool_use_failed"),
    ErrorRow(429, "engine_overloaded_error", OverloadedError),
    words=lambda wire: tuple(map(error_object(wire).get, ("code", "type", "status"))),
    write=openai.write_error,
    request_ids=("x-request-id", "request-id", "mistral-correlation-id", "apim-request-id", "cf-ray"),
)

# ---------------------------------------------------------------------------------------- what a request must have

CALL = "messages.*role=assistant.tool_calls.*"
REQUIREMENTS = Requirements(
    NAME,
    Check("model",                              (TEXT,)),  # a part of the URL in some clouds
    Check("messages",                           (OBJECTS,), needed=True, filled=True),
    Check("messages.*",                         (OBJECT,), needed=True),
    Check("messages.*.role",                    (TEXT,), needed=True,
          words=("system", "developer", "user", "assistant", "tool", "function")),
    Check("messages.*.content",                 (TEXT, OBJECTS)),
    Check("messages.*role=user.content",        (TEXT, OBJECTS), needed=True),
    Check("messages.*role=system.content",      (TEXT, OBJECTS), needed=True),
    Check("messages.*role=developer.content",   (TEXT, OBJECTS), needed=True),
    Check("messages.*role=tool.tool_call_id",   (TEXT,)),
    Check("messages.*.content.*",               (OBJECT,), needed=True),
    Check("messages.*.content.*.type",          (TEXT,), needed=True),
    Check("messages.*.content.*type=text.text", (TEXT,), needed=True),
    Check("messages.*.tool_calls",              (OBJECTS,)),
    Check(CALL,                                 (OBJECT,), needed=True),
    Check(f"{CALL}.id",                         (TEXT,)),
    Check(f"{CALL}.function",                   (OBJECT,)),
    Check(f"{CALL}.function.name",              (TEXT,), needed=True),
    Check(f"{CALL}.function.arguments",         (TEXT, OBJECT)),  # some servers take objects
    Check("stream",                             (BOOLEAN,)),
    Check("stream_options",                     (OBJECT,)),
    Check("temperature",                        (NUMBER,)),
    Check("top_p",                              (NUMBER,)),
    Check("n",                                  (INTEGER,)),
    Check("seed",                               (INTEGER,)),
    Check("max_tokens",                         (INTEGER,)),
    Check("max_completion_tokens",              (INTEGER,)),
    Check("stop",                               (TEXT, ARRAY)),
    Check("response_format",                    (OBJECT,)),
    Check("tool_choice",                        (TEXT, OBJECT)),
    Check("tools",                              (OBJECTS,)),
    Check("tools.*",                            (OBJECT,), needed=True),
    Check("tools.*.function",                   (OBJECT,)),
    Check("tools.*.function.name",              (TEXT,), needed=True),
    Check("tools.*.function.parameters",        (OBJECT,)),
    pairs=Pairs("messages", calls=("*role=assistant.tool_calls.*.id",), results=("*role=tool.tool_call_id",)),
    sentences={
        **openai.SENTENCES,
        "no call": "No tool call found for the 'tool' message: no assistant message before it calls {got!r}.",
        "no result": "No tool output found: the call {got!r} is not followed by a message with the role 'tool'.",
    },
    spell=openai.spell,
    refusal=openai.refusal,
)  # fmt: skip
