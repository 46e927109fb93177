"""One call without I/O: headers, options, and answers that are not what was requested."""

from __future__ import annotations

import json
from typing import Any

import pytest

from client.support import CANARY, DIALECTS, PROVIDERS, ask, config
from interlingua import (
    AdapterError,
    AuthError,
    ContextOverflowError,
    ErrorClass,
    InvalidRequestError,
    LossyTranslation,
    Message,
    NotConfigured,
    ParseError,
    Request,
    StopReason,
    TextBlock,
    TextDelta,
    connect_sync,
    dialect,
    fold,
    to_json,
)
from interlingua.client.config import AdapterConfig
from interlingua.client.embedded import Script, handler
from interlingua.client.exchange import AnswerReader, Exchange
from interlingua.client.http import Timeouts
from interlingua.models.providers import PROVIDERS as ROWS


def exchange(name: str, settings: AdapterConfig | None = None, *, stream: bool = False, **fields: Any) -> Exchange:
    row = ROWS[name]
    return Exchange(
        row, settings or config(), dialect(row.dialect, name), ask(request_id="r9", **fields), stream=stream
    )


def read(made: Exchange, status: int, kind: str, *chunks: bytes, **headers: str) -> tuple[AnswerReader, list[Any]]:
    reading = made.read(status, {"content-type": kind, **headers})
    events: list[Any] = []
    for chunk in chunks:
        events += reading.feed(chunk)
        reading = reading.successor or reading
    return reading, [*events, *reading.end()]


# fmt: off
HEADERS = (
    # provider      options                                     header                  value
    ("anthropic",   {},                                         "x-api-key",            CANARY),
    ("anthropic",   {},                                         "anthropic-version",    "2023-06-01"),
    ("anthropic",   {"api_version": "2030-01-01"},              "anthropic-version",    "2030-01-01"),
    ("anthropic",   {"betas": ["b1", "b2"]},                    "anthropic-beta",       "b1,b2"),
    ("openai",      {},                                         "authorization",        f"Bearer {CANARY}"),
    ("openai",      {"organization": "org", "project": "pr"},   "openai-organization",  "org"),
    ("openai-chat", {"organization": "org", "project": "pr"},   "openai-project",       "pr"),
    ("google",      {},                                         "x-goog-api-key",       CANARY),
    ("azure",       {"resource": "res"},                        "api-key",              CANARY),
    ("openrouter",  {"referer": "https://a.b", "title": "App"}, "http-referer",         "https://a.b"),
    ("openrouter",  {"referer": "https://a.b", "title": "App"}, "x-title",              "App"),
    ("bedrock",     {},                                         "authorization",        f"Bearer {CANARY}"),
    ("ollama",      {},                                         "authorization",        f"Bearer {CANARY}"),
)
# fmt: on


@pytest.mark.parametrize(("name", "options", "header", "value"), HEADERS)
def test_headers(name: str, options: dict[str, Any], header: str, value: str) -> None:
    made = exchange(name, config(options=options, extra_headers={"X-Mine": "1"})).http(Timeouts())
    assert made.headers[header] == value
    assert made.headers["x-mine"] == "1"
    assert made.headers["content-type"] == "application/json"
    assert CANARY not in made.url
    assert CANARY.encode() not in made.body


def test_the_callers_own_header_wins() -> None:
    made = exchange("openai", AdapterConfig(extra_headers={"Authorization": "Bearer other"}))
    assert made.headers["authorization"] == "Bearer other"


@pytest.mark.parametrize("dialect_name", DIALECTS)
def test_options_body_and_extras_pass_through(dialect_name: str) -> None:
    settings = config(options={"body": {"brand_new": {"deep": [1]}, "other": None}})
    made = exchange(PROVIDERS[dialect_name], settings, extras={dialect_name: {"also_new": True}})
    body = made.wire
    assert body["brand_new"] == {"deep": [1]}
    assert body["other"] is None
    assert body["also_new"] is True


def test_options_body_is_merged_and_wins() -> None:
    settings = config(options={"body": {"generationConfig": {"maxOutputTokens": 7, "newKnob": 1}}})
    body = exchange("google", settings, temperature=0.5).wire
    assert body["generationConfig"] == {"maxOutputTokens": 7, "newKnob": 1, "temperature": 0.5}


def test_vertex_takes_claude_without_a_model_in_the_body() -> None:
    settings = config(options={"project": "p"})
    body = exchange("vertex-anthropic", settings).wire
    assert "model" not in body
    assert body["anthropic_version"] == "vertex-2023-10-16"


@pytest.mark.parametrize("name", ["anthropic", "openai", "google", "mistral"])
def test_a_missing_key_says_what_to_do(name: str) -> None:
    with pytest.raises(NotConfigured) as caught:
        exchange(name, AdapterConfig())
    assert ROWS[name].auth.keys[0] in str(caught.value)
    assert "AdapterConfig(api_key=" in str(caught.value)
    assert caught.value.error_class is ErrorClass.auth


@pytest.mark.parametrize("name", ["vllm", "llamacpp", "ollama"])
def test_local_servers_need_no_key(name: str) -> None:
    assert "authorization" not in exchange(name, AdapterConfig()).headers


def test_a_key_with_characters_that_no_header_may_have() -> None:
    assert exchange("openai", AdapterConfig(f" {CANARY}\n")).headers["authorization"] == f"Bearer {CANARY}"
    with pytest.raises(NotConfigured, match="line break") as caught:
        exchange("openai", AdapterConfig(f"{CANARY}\n{CANARY}"))
    assert CANARY not in repr(caught.value)


def test_no_model() -> None:
    with pytest.raises(AdapterError, match="model"):
        exchange("google", model=None)


# ------------------------------------------------------------------------------------------------ odd answers


def test_a_refusal_has_everything() -> None:
    made = exchange("anthropic")
    body = b'{"type":"error","error":{"type":"authentication_error","message":"no such key"},"request_id":"req_1"}'
    reading, events = read(made, 401, "application/json", body[:20], body[20:], **{"request-id": "req_1"})
    error = reading.error
    assert isinstance(error, AuthError)
    assert (error.provider, error.request_id, error.provider_status) == ("anthropic", "r9", 401)
    assert error.response is not None
    assert error.response.raw == json.loads(body)
    assert error.response.losses == made.losses
    assert error.response.origin == made.origin
    assert error.response.stop_reason is StopReason.error
    assert events == []
    assert "req_1" in "".join(error.__notes__)


def test_an_empty_or_foreign_refusal() -> None:
    reading, _ = read(exchange("openai"), 502, "text/html", b"<html>bad gateway</html>")
    assert reading.error is not None
    assert reading.error.error_class is ErrorClass.server_error
    reading, _ = read(exchange("google"), 413, "")
    assert isinstance(reading.error, ContextOverflowError)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect_name", DIALECTS)
def test_an_html_page_instead_of_an_answer(dialect_name: str, stream: bool) -> None:
    reading, _ = read(
        exchange(PROVIDERS[dialect_name], stream=stream), 200, "text/html; charset=utf-8", b"<html>hi</html>"
    )
    assert isinstance(reading.error, ParseError)
    assert "text/html" in str(reading.error)
    assert "base URL" in str(reading.error)


@pytest.mark.parametrize("dialect_name", DIALECTS)
def test_json_where_a_stream_was_asked_for(dialect_name: str) -> None:
    name = PROVIDERS[dialect_name]
    whole = handler(Script())(exchange(name).http(Timeouts()))
    reading, events = read(exchange(name, stream=True), 200, "application/json", *whole.parts)
    assert reading.error is None
    assert fold(events).content == (TextBlock("You said: one two three four"),)


@pytest.mark.parametrize("dialect_name", DIALECTS)
def test_a_stream_where_json_was_asked_for(dialect_name: str) -> None:
    name = PROVIDERS[dialect_name]
    streamed = handler(Script())(exchange(name, stream=True).http(Timeouts()))
    reading, _ = read(exchange(name), 200, streamed.headers["content-type"], *streamed.parts)
    assert reading.error is None
    assert reading.response is not None
    assert reading.response.content == (TextBlock("You said: one two three four"),)


@pytest.mark.parametrize("kind", ["", "application/json", "text/plain", "application/octet-stream"])
@pytest.mark.parametrize("dialect_name", DIALECTS)
def test_a_stream_under_another_label(dialect_name: str, kind: str) -> None:
    name = PROVIDERS[dialect_name]
    streamed = handler(Script())(exchange(name, stream=True).http(Timeouts()))
    reading, events = read(exchange(name, stream=True), 200, kind, *streamed.parts)
    assert reading.error is None
    assert fold(events).content == (TextBlock("You said: one two three four"),)


@pytest.mark.parametrize("body", [b"", b"{", b"12", b'"hello"', b"\xff\xfe"])
@pytest.mark.parametrize("dialect_name", DIALECTS)
def test_a_garbled_body(dialect_name: str, body: bytes) -> None:
    reading, _ = read(exchange(PROVIDERS[dialect_name]), 200, "application/json", body)
    assert isinstance(reading.error, ParseError)
    assert PROVIDERS[dialect_name] in str(reading.error)


@pytest.mark.parametrize("body", [b"{}", b'{"detail": "Not Found"}', b'{"choices": null}', b"[]", b'["x"]'])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect_name", DIALECTS)
def test_a_200_that_is_no_answer_is_an_error(dialect_name: str, stream: bool, body: bytes) -> None:
    reading, _ = read(exchange(PROVIDERS[dialect_name], stream=stream), 200, "application/json", body)
    assert isinstance(reading.error, AdapterError)
    assert reading.response is not None
    assert (reading.response.stop_reason, reading.response.usage) == (StopReason.error, None)
    if body.startswith(b"{"):
        assert isinstance(reading.error, ParseError)
        assert (reading.error.provider_status, reading.error.provider) == (200, PROVIDERS[dialect_name])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect_name", DIALECTS)
def test_a_body_that_is_nested_without_end(dialect_name: str, stream: bool) -> None:
    made = exchange(PROVIDERS[dialect_name], stream=stream)
    reading, _ = read(made, 200, "application/json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000)
    assert isinstance(reading.error, AdapterError)


def test_an_empty_chunk_before_the_first_word_holds_nothing_up() -> None:
    reading = exchange("google", stream=True).read(200, {"content-type": "text/event-stream"})
    reading.feed(b"")
    wire = {"candidates": [{"content": {"parts": [{"text": "now"}], "role": "model"}}]}
    events = reading.feed(b"data: " + json.dumps(wire).encode() + b"\r\n\r\n")
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["now"]


def test_losses_are_on_the_response() -> None:
    made = exchange("anthropic", seed=7)
    assert [loss.path for loss in made.losses] == ["seed"]
    whole = handler(Script())(made.http(Timeouts()))
    reading, _ = read(made, 200, "application/json", *whole.parts)
    assert reading.response is not None
    assert reading.response.losses == made.losses
    assert reading.response.message == Message("assistant", reading.response.content)


DEEP: Any = {}
for _ in range(100_000):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize("value", [object(), DEEP], ids=["object", "deep"])
def test_a_request_that_is_no_json_is_refused(value: Any) -> None:
    request = ask(extras={"anthropic-messages": {"x": value}})
    with connect_sync("embedded:") as client:
        for call in (client.complete, lambda made: list(client.stream(made))):
            with pytest.raises(InvalidRequestError, match="cannot be"):
                call(request)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_lone_surrogate_is_replaced_with_a_loss(name: str) -> None:  # for calls without a session
    request = Request("a\ud800b")
    with connect_sync(f"embedded:{name}") as client:
        answer = client.complete(request)
        assert answer.text == "You said: a\ufffdb"
        assert [loss.kind for loss in answer.losses if "surrogates" in loss.reason] == ["approximated"]
        assert [result.text for result in client.map([request, "fine"])] == ["You said: a\ufffdb", "You said: fine"]
    with connect_sync(f"embedded:{name}", on_loss="raise") as client, pytest.raises(LossyTranslation):
        client.complete(request)
    with pytest.raises(InvalidRequestError, match="surrogate"):
        to_json(request)
