"""Answers with NaN, too large numbers, lone surrogates or a byte-order mark are read, and a Loss says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from client.support import PROVIDERS, WAYS, ask, call
from interlingua import RateLimitError, Response, TextBlock, dialect, unfold
from interlingua.client.transport.memory import Answer
from interlingua.codec.streams.lenient import NOT_STRICT, read_lenient, strictly

DIALECTS = ("anthropic-messages", "openai-chat", "openai-responses", "gemini", "ollama")
ODD = {
    # what a server writes                        what is read
    "NaN": (b'"odd": NaN', None),
    "Infinity": (b'"odd": -Infinity', None),
    "overflow": (b'"odd": 1e999', None),
    "surrogate": (b'"odd": "a\\ud800b"', "a\ufffdb"),
    "not UTF-8": (b'"odd": "a\xffb"', "a\ufffdb"),
    "a large integer": (b'"odd": NaN, "n": 123456789012345678901234567890', None),
}


@pytest.mark.parametrize("name", ODD)
def test_a_tolerant_second_parse(name: str) -> None:
    wire, meant = ODD[name]
    assert read_lenient(b"{" + wire + b"}")["odd"] == meant
    strict = strictly(b"\xef\xbb\xbf{" + wire + b"}")
    assert strict is not None
    assert json.loads(strict)["odd"] == meant


@pytest.mark.parametrize("text", [b"", b"{", b"[1,", b"hello", b"<html>", b"[" * 100_000])
def test_text_that_is_not_json_is_not_parsed(text: bytes) -> None:
    assert strictly(text) is None


def answer_of(name: str, extra: bytes, *, stream: bool) -> Answer:
    """An answer of the dialect, with something that is not strict JSON in each of its objects."""
    speaker, whole = dialect(name), Response((TextBlock("Hi"),), id="1", model="m")
    if not stream:
        body = json.dumps(speaker.encode_response(whole).body).encode()
        return Answer(200, {"content-type": "application/json"}, [b"{" + extra + b"," + body[1:]])
    encoder = speaker.stream_encoder()
    said = b"".join([*map(encoder.feed, unfold(whole)), encoder.close()])
    kind = "application/x-ndjson" if name == "ollama" else "text/event-stream"
    start = b"{" if name == "ollama" else b"data: {"
    lines = [
        start + extra + b"," + line[len(start) :] if line.startswith(start) else line for line in said.split(b"\n")
    ]
    return Answer(200, {"content-type": kind}, [b"\n".join(lines)])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("odd", ["NaN", "surrogate"])
def test_an_answer_that_is_not_strict_json_is_read_and_declared(name: str, way: str, odd: str) -> None:
    answer = answer_of(name, ODD[odd][0], stream=way.endswith("stream"))
    outcome = call(way, PROVIDERS[name], lambda request: answer, ask())
    assert outcome.error is None
    assert outcome.response is not None
    assert outcome.response.text == "Hi"
    assert NOT_STRICT in outcome.response.losses
    assert NOT_STRICT.weight == "content"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DIALECTS)
def test_a_strict_answer_declares_nothing(name: str, way: str) -> None:
    answer = answer_of(name, b'"odd": null', stream=way.endswith("stream"))
    outcome = call(way, PROVIDERS[name], lambda request: answer, ask())
    assert outcome.response is not None
    assert NOT_STRICT not in outcome.response.losses


def test_an_error_body_that_is_not_strict_json_keeps_its_message() -> None:
    body = b'\xef\xbb\xbf{"type": "error", "limit": NaN, "error": {"type": "rate_limit_error", "message": "slow down"}}'
    answer = Answer(429, {"content-type": "application/json", "x-should-retry": "false"}, [body])
    error: Any = call("complete", "anthropic", lambda request: answer, ask()).error
    assert isinstance(error, RateLimitError)
    assert error.provider_message == "slow down"
