"""Token counts: every dialect's endpoint answers with the provider's own count or with our estimate."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gateway.asking import BEDROCK, CHAT, CLAUDE, GEMINI, OLLAMA, RESPONSES, body_of
from gateway.raw_http import Recorder, fetch, recorder
from gateway.serving_gateway import MODEL, UPSTREAMS, Served, gateway, manager_for
from interlingua import dialect
from interlingua.client.adapter import Adapter
from interlingua.gateway.admission import Key, hash_key
from interlingua.gateway.config import Route, Snapshot
from interlingua.gateway.state import State

COUNTED = {
    # provider's dialect: path of its endpoint, its answer, keys that the request must and must not have
    CLAUDE: ("/v1/messages/count_tokens", {"input_tokens": 41}, ("messages", "model"), ("max_tokens", "stream")),
    RESPONSES: ("/v1/responses/input_tokens", {"input_tokens": 41, "object": "x"}, ("input",), ("stream", "store")),
    GEMINI: (f"/v1beta/models/{MODEL}:countTokens", {"totalTokens": 41}, ("generateContentRequest",), ("contents",)),
    BEDROCK: (f"/model/{MODEL}/count-tokens", {"inputTokens": 41}, ("input",), ("messages", "inferenceConfig")),
}


def question(client: str) -> tuple[str, Any]:
    """The path and the body with which a client of this dialect asks for a count."""
    body = body_of(client)
    body = {key: value for key, value in body.items() if key not in ("max_tokens", "stream")}
    return {
        CLAUDE: ("/v1/messages/count_tokens?beta=true", {**body, "model": "asked"}),
        RESPONSES: ("/v1/responses/input_tokens", {**body, "model": "asked"}),
        GEMINI: ("/v1beta/models/asked:countTokens", {"generateContentRequest": {"model": "models/asked", **body}}),
        BEDROCK: ("/model/asked/count-tokens", {"input": {"converse": body}}),
    }[client]


KEYS = {CLAUDE: "input_tokens", RESPONSES: "input_tokens", GEMINI: "totalTokens", BEDROCK: "inputTokens"}


@contextmanager
def counting(upstream: str, **settings: Any) -> Iterator[tuple[Served, Recorder]]:
    with recorder() as provider:
        manager: Any = manager_for(provider)  # type: ignore[arg-type]
        snapshot = Snapshot(routes={"*": Route(f"{UPSTREAMS[upstream]}:{MODEL}")}, **settings)
        with gateway(State(snapshot, manager=manager)) as running:
            yield running, provider


@pytest.mark.parametrize("upstream", COUNTED)
@pytest.mark.parametrize("client", KEYS)
def test_a_provider_that_counts_is_asked(client: str, upstream: str) -> None:
    path, answer, has, has_not = COUNTED[upstream]
    with counting(upstream) as (running, provider):
        provider.body = json.dumps(answer).encode()
        got = fetch(running.url, *question(client))
        assert got.json() == (answer if client == upstream else {**got.json(), KEYS[client]: 41})
        (asked,) = provider.asked
        assert asked.path == path
        body = json.loads(asked.body)
        assert set(has) <= set(body)
        assert not set(has_not) & set(body)
        assert "What is 1 + 2?" in asked.body.decode()
        assert "upstream-key-1234" in str(asked.headers)


@pytest.mark.parametrize("client", KEYS)
def test_else_the_count_is_our_estimate(client: str) -> None:
    path, body = question(client)
    for upstream, status, answer in (
        (CHAT, 200, b"{}"),
        (OLLAMA, 200, b"{}"),
        (CLAUDE, 404, b'{"type":"error","error":{"type":"not_found_error","message":"no"}}'),
        (RESPONSES, 200, b'{"input_tokens": -1}'),
        (GEMINI, 200, b"<html>"),
        (BEDROCK, 200, b'{"inputTokens": 1' + b" " * 70_000 + b"}"),
    ):
        with counting(upstream) as (running, provider):
            provider.status, provider.body = status, answer
            got = fetch(running.url, path, body)
            assert got.status == 200
            adapter = running.state.manager.get_adapter(UPSTREAMS[upstream])
            assert isinstance(adapter, Adapter)
            inner: Any = body
            for key in {GEMINI: ("generateContentRequest",), BEDROCK: ("input", "converse")}.get(client, ()):
                inner = inner[key]
            request = dialect(client).decode_request({**inner, "model": MODEL} if client != GEMINI else inner)
            estimate = adapter.estimate(type(request)(**{**_fields(request), "model": MODEL}))
            assert got.json()[KEYS[client]] == estimate > 10
            assert len(provider.asked) == (upstream in COUNTED)


def _fields(request: Any) -> dict[str, Any]:
    return {name: getattr(request, name) for name in request.__struct_fields__}


def test_bedrock_is_asked_about_bodies_of_messages_too() -> None:
    """Claude Code in Bedrock mode sends such bodies."""
    wire = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]}
    packed = base64.b64encode(json.dumps(wire).encode()).decode()
    with counting(CLAUDE) as (running, provider):
        provider.body = b'{"input_tokens": 8}'
        got = fetch(running.url, "/model/asked/count-tokens", {"input": {"invokeModel": {"body": packed}}})
        assert got.json() == {"inputTokens": 8}
        assert json.loads(provider.asked[0].body) == {"model": MODEL, "messages": wire["messages"]}


def test_the_sdks_count() -> None:
    anthropic, openai = pytest.importorskip("anthropic"), pytest.importorskip("openai")
    genai = pytest.importorskip("google.genai")
    with counting(CHAT) as (running, _):
        asked: list[Any] = [{"role": "user", "content": "What is 1 + 2?"}]
        with anthropic.Anthropic(api_key="k", base_url=running.url, max_retries=0) as client:
            assert client.messages.count_tokens(model="asked", messages=asked).input_tokens > 5
        with openai.OpenAI(api_key="k", base_url=f"{running.url}/v1", max_retries=0) as client:
            assert client.responses.input_tokens.count(model="asked", input="What is 1 + 2?").input_tokens > 5
        options = genai.types.HttpOptions(base_url=running.url)
        client = genai.Client(api_key="k", vertexai=False, http_options=options)
        assert client.models.count_tokens(model="asked", contents="What is 1 + 2?").total_tokens > 5
        client.close()


def test_a_key_counts_for_its_models_only() -> None:
    key = Key(name="narrow", sha256=hash_key("narrow"), models=("gpt-*",))
    with counting(CHAT, keys=(key,)) as (running, _):
        path, body = question(CLAUDE)
        assert fetch(running.url, path, body, x_api_key="narrow").status == 404
        assert fetch(running.url, path, {**body, "model": "gpt-5"}, x_api_key="narrow").status == 200
