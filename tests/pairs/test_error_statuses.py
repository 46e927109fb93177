"""A status keeps its meaning between any two dialects, and so does a class, in answers and in streams."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import pytest

from conformance.matrix import SPOKEN
from interlingua import (
    AdapterError,
    AuthError,
    ContextOverflowError,
    InvalidRequestError,
    MessageStart,
    OverloadedError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    dialect,
)
from interlingua.client.embedded.error_bodies import error_answer

PAIRS = list(itertools.permutations(SPOKEN, 2))


class Row(NamedTuple):
    """A status and the provider's message, the class that is read from them, and the status that is written."""

    status: int
    message: str
    kind: type[AdapterError]
    goes: dict[str, int]
    """By dialect; the others answer with the status that came."""


# fmt: off
ROWS = (
    #   came  message                  is                    goes out
    Row(400, "what is that?",         InvalidRequestError,  {}),
    Row(404, "no such thing",          InvalidRequestError,  {}),
    Row(413, "that is too much",       ContextOverflowError, {}),
    Row(429, "slow down",              RateLimitError,       {}),
    Row(500, "it broke",               ServerError,          {}),
    Row(502, "bad gateway",            ServerError,          {}),
    Row(503, "the model is overloaded", OverloadedError,     {"anthropic-messages": 529}),
    Row(504, "too slow",               RequestTimeoutError,  {}),
    Row(403, "not for you",            AuthError,            {}),
    Row(529, "the model is overloaded", OverloadedError,
        {"openai-chat": 503, "openai-responses": 503, "gemini": 503, "ollama": 503, "bedrock-converse": 503}),
)
# fmt: on


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.status))
def test_a_status_keeps_its_meaning(row: Row, source: str, target: str) -> None:
    came = error_answer(source, row.status, row.message, after=3)
    error = dialect(source).decode_error(came.status, came.headers, came.body)
    assert (type(error), error.retry_after) == (row.kind, 3)
    told = dialect(target).encode_error(error)
    assert told.status == row.goes.get(target, row.status)
    again = dialect(target).decode_error(told.status, told.headers, told.body)
    assert (type(again), again.retryable, again.retry_after) == (row.kind, error.retryable, 3)
    assert row.message in again.message


@pytest.mark.parametrize("target", SPOKEN)
@pytest.mark.parametrize("source", ["anthropic-messages", "openai-chat", "openai-responses"])
def test_a_plain_503_stays_a_503(source: str, target: str) -> None:
    """A server that is down is not overloaded. Ollama's own 503 means a full queue, so it is read as overload."""
    error = dialect(source).decode_error(503, {}, b"<html>no healthy upstream</html>")
    told = dialect(target).encode_error(error)
    assert (type(error), told.status) == (ServerError, 503)
    again = dialect(target).decode_error(told.status, told.headers, told.body)
    assert type(again) is (OverloadedError if target == "ollama" else ServerError)


CHAT, RESPONSES, CLAUDE = "openai-chat", "openai-responses", "anthropic-messages"
BUSY = OverloadedError
# fmt: off
WORDS = (
    # dialect  status  body                                                                    is
    (CLAUDE,    500, b'{"type":"error","error":{"type":"overloaded_error","message":"x"}}',   BUSY),
    (RESPONSES, 503, b'{"error":{"code":"server_is_overloaded","message":"x"}}',              BUSY),
    (RESPONSES, 503, b'{"error":{"code":"slow_down","message":"x"}}',                         BUSY),
    (CHAT,      503, b'{"error":{"code":"server_is_overloaded","message":"x"}}',              BUSY),
    (CHAT,      503, b'[{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}]',        BUSY),
    (CHAT,      503, b'{"error":{"message":"The engine is currently overloaded"}}',           BUSY),
    ("gemini",  503, b'{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}',          BUSY),
    (CHAT,      429, b'{"error":{"type":"server_error","message":"x"}}',                      RateLimitError),
    (CLAUDE,    429, b'{"type":"error","error":{"type":"api_error","message":"x"}}',          RateLimitError),
    (CHAT,      404, b'{"error":{"type":"server_error","message":"x"}}',                      InvalidRequestError),
    ("gemini",  409, b'{"error":{"code":409,"message":"x","status":"ABORTED"}}',              ServerError),
)
# fmt: on


@pytest.mark.parametrize(("name", "status", "body", "kind"), WORDS)
def test_words_and_statuses(name: str, status: int, body: bytes, kind: type[AdapterError]) -> None:
    assert type(dialect(name).decode_error(status, {}, body)) is kind


IN_STREAM = (
    OverloadedError("the service is overloaded"),
    RateLimitError("rate limit reached"),
    AuthError("authentication failed"),
    ContextOverflowError("the prompt exceeds the context window"),
    ServerError("it broke"),
)


@pytest.mark.parametrize("name", SPOKEN)
@pytest.mark.parametrize("error", IN_STREAM, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("begun", [True, False])
def test_a_class_travels_in_streams(name: str, error: AdapterError, begun: bool) -> None:
    encoder, decoder = dialect(name).stream_encoder(), dialect(name).stream_decoder()
    data = encoder.feed(MessageStart("m1", "some-model")) if begun else b""
    decoder.feed(data + encoder.fail(error) + encoder.close())
    decoder.close()
    assert decoder.error is not None
    assert (type(decoder.error), decoder.error.retryable) == (type(error), error.retryable)


@pytest.mark.parametrize("name", SPOKEN)
def test_overload_is_written_in_a_stream_by_its_own_word(name: str) -> None:
    words = {
        "anthropic-messages": b'"overloaded_error"',
        "openai-chat": b'"server_is_overloaded"',
        "openai-responses": b'"server_is_overloaded"',
        "gemini": b'"UNAVAILABLE"',
        "ollama": b'"error"',  # it has no words
        "bedrock-converse": b"serviceUnavailableException",
    }
    said = dialect(name).stream_encoder().fail(OverloadedError("busy"))
    assert words[name] in said
    assert b"429" not in said


@pytest.mark.parametrize("name", [name for name in SPOKEN if name != "bedrock-converse"])
def test_a_body_of_another_shape_is_still_an_error_in_a_stream(name: str) -> None:
    """The answer of a proxy does not fit into a stream: its message is written as an error of the protocol."""
    error = dialect(name).decode_error(500, {}, b'{"detail": "the proxy failed"}')
    decoder = dialect(name).stream_decoder()
    decoder.feed(dialect(name).stream_encoder().fail(error))
    decoder.close()
    assert decoder.error is not None
    assert (type(decoder.error), decoder.error.message) == (ServerError, "the proxy failed")


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("word", ["true", "false"])
@pytest.mark.parametrize("status", [400, 429, 500, 503])
def test_a_header_that_says_whether_to_retry_survives(status: int, word: str, source: str, target: str) -> None:
    came = error_answer(source, status, "You exceeded your current quota")
    error = dialect(source).decode_error(came.status, {**came.headers, "x-should-retry": word}, came.body)
    told = dialect(target).encode_error(error)
    again = dialect(target).decode_error(told.status, told.headers, told.body)
    assert (error.retryable, again.retryable) == (word == "true", word == "true")
