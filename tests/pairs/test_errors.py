"""Errors: each class in every protocol's own shape, so that a gateway answers in its caller's words.

A row says the status and the word of each protocol; Chat and Responses have one shape, a type and a code. Gemini and
Ollama have no word for a prompt that is too long, but a status says it, too; Bedrock knows it by the message only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import pytest

from conformance.matrix import SPOKEN
from interlingua import (
    AdapterError,
    AuthError,
    ContextOverflowError,
    InvalidRequestError,
    OverloadedError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    dialect,
)

INVALID = "invalid_request_error"
Word = tuple[int, str]

# fmt: off
ROWS: list[tuple[AdapterError, Word, tuple[int, str, str | None], Word, int, Word]] = [
    # the error, and the words of Messages, of Chat and Responses, of Gemini, of Ollama (a status alone), of Bedrock
    (RateLimitError("slow down"),        (429, "rate_limit_error"),
     (429, "requests", "rate_limit_exceeded"), (429, "RESOURCE_EXHAUSTED"), 429, (429, "ThrottlingException")),
    (AuthError("who are you?"),          (401, "authentication_error"),
     (401, INVALID, "invalid_api_key"), (401, "UNAUTHENTICATED"), 401, (403, "AccessDeniedException")),
    (InvalidRequestError("what?"),       (400, "invalid_request_error"),
     (400, INVALID, None), (400, "INVALID_ARGUMENT"), 400, (400, "ValidationException")),
    (ServerError("oops"),                (500, "api_error"),
     (500, "server_error", None), (500, "INTERNAL"), 500, (500, "InternalServerException")),
    (RequestTimeoutError("too slow"),    (504, "timeout_error"),
     (408, INVALID, "timeout"), (504, "DEADLINE_EXCEEDED"), 504, (408, "ModelTimeoutException")),
    (ContextOverflowError("the prompt exceeds the context window"), (413, "request_too_large"),
     (400, INVALID, "context_length_exceeded"), (413, "INVALID_ARGUMENT"), 413, (400, "ValidationException")),
    # a busy service is never a 429, and the hint survives every pair
    (OverloadedError("too much work", retry_after=2.5), (529, "overloaded_error"),
     (503, "service_unavailable_error", "server_is_overloaded"), (503, "UNAVAILABLE"), 503,
     (503, "ServiceUnavailableException")),
]
# fmt: on


class Failed(NamedTuple):
    """An error answer."""

    status: int
    body: Any
    headers: dict[str, str]


def failed(status: int, body: Any, **headers: str) -> Failed:
    """A cell of an error row."""
    return Failed(status, body, {key.replace("_", "-"): value for key, value in headers.items()})


@pytest.mark.parametrize(("error", "messages", "openai", "google", "plain", "aws"), ROWS, ids=str)
def test_an_error(error: AdapterError, messages: Word, openai: Any, google: Word, plain: int, aws: Word) -> None:
    said = error.message
    retry: dict[str, str] = {} if error.retry_after is None else {"retry_after": str(error.retry_after)}
    status, kind, code = openai
    chat = failed(status, {"error": {"message": said, "type": kind, "param": None, "code": code}}, **retry)
    told: dict[str, Any] = {"code": google[0], "message": said, "status": google[1]}
    if retry:
        info = "type.googleapis.com/google.rpc.RetryInfo"
        told["details"] = [{"@type": info, "retryDelay": f"{error.retry_after}s"}]
    claude = {"type": "error", "error": {"type": messages[1], "message": said}}
    cells = {
        "anthropic-messages": failed(messages[0], claude, **retry),
        "openai-chat": chat,
        "openai-responses": chat,
        "gemini": failed(google[0], {"error": told}, **retry),
        "ollama": failed(plain, {"error": said}, **retry),
        "bedrock-converse": failed(aws[0], {"message": said}, x_amzn_errortype=aws[1], **retry),
    }
    assert cells.keys() == set(SPOKEN)
    check_errors(error, cells)


def check_errors(error: AdapterError, cells: dict[str, Failed]) -> None:
    for name, cell in cells.items():
        wire = dialect(name).encode_error(error)
        assert (wire.status, msgspec.json.decode(wire.body)) == (cell.status, cell.body), f"encode {name}: {wire}"
        assert wire.headers.items() >= cell.headers.items(), f"encode {name}: {wire.headers}"
        read = dialect(name).decode_error(cell.status, cell.headers, msgspec.json.encode(cell.body))
        _same_error(error, read, f"decode {name}")
        for target in cells.keys() - {name}:
            told = dialect(target).encode_error(read)
            again = dialect(target).decode_error(told.status, told.headers, told.body)
            _same_error(error, again, f"translate from {name} to {target}")
            kept = told.status == cell.status  # a 504 stays a 504 in every dialect
            assert kept or told.status // 100 == cells[target].status // 100, (
                f"translate from {name} to {target}: {told}"
            )


def _same_error(error: AdapterError, read: AdapterError, how: str) -> None:
    meant, found = ((type(e), e.error_class, e.retryable, e.retry_after) for e in (error, read))
    assert found == meant, f"{how}: {read!r}"
    assert error.message in read.message, f"{how}: {read!r}"
