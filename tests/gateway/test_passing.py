"""Endpoints beside conversations are passed on to a provider of their protocol, else refused with 501."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gateway.asking import BEDROCK, CHAT, CLAUDE, GEMINI, OLLAMA, RESPONSES
from gateway.raw_http import Recorder, fetch, recorder
from gateway.serving_gateway import MODEL, UPSTREAMS, Served, gateway, manager_for
from interlingua import DIALECTS, dialect
from interlingua.gateway.admission import Key, hash_key
from interlingua.gateway.config import Route, Snapshot
from interlingua.gateway.state import State

HEADERS = {CLAUDE: {"anthropic_version": "2023-06-01"}}
ENDPOINTS = (
    # client, method, path, the provider's path
    (CLAUDE, "POST", "/v1/messages/batches", "/v1/messages/batches"),
    (
        CLAUDE,
        "GET",
        "/v1/messages/batches/b_1/results?limit=2",
        "/v1/messages/batches/b_1/results?limit=2",
    ),
    (CLAUDE, "POST", "/v1/messages/batches/b_1/cancel", "/v1/messages/batches/b_1/cancel"),
    (CLAUDE, "GET", "/v1/files", "/v1/files"),
    (CLAUDE, "DELETE", "/anthropic/v1/files/file_1", "/v1/files/file_1"),
    (CHAT, "POST", "/v1/files", "/v1/files"),
    (CHAT, "GET", "/files/file-1/content", "/v1/files/file-1/content"),
    (CHAT, "POST", "/v1/batches", "/v1/batches"),
    (CHAT, "POST", "/v1/images/generations", "/v1/images/generations"),
    (CHAT, "POST", "/openai/v1/audio/transcriptions", "/v1/audio/transcriptions"),
    (CHAT, "POST", "/v1/embeddings", "/v1/embeddings"),
    (CHAT, "GET", "/v1/responses/resp_1", "/v1/responses/resp_1"),
    (CHAT, "GET", "/v1/chat/completions?limit=2", "/v1/chat/completions?limit=2"),
    (CHAT, "DELETE", "/v1/chat/completions/c_1", "/v1/chat/completions/c_1"),
    (CHAT, "POST", "/v1/fine_tuning/jobs", "/v1/fine_tuning/jobs"),
    (GEMINI, "GET", "/v1beta/files/abc", "/v1beta/files/abc"),
    (GEMINI, "POST", "/v1beta/cachedContents", "/v1beta/cachedContents"),
    (GEMINI, "POST", "/v1beta/models/asked:embedContent", f"/v1beta/models/{MODEL}:embedContent"),
    (
        GEMINI,
        "POST",
        "/gemini/v1beta/models/asked:batchGenerateContent",
        f"/v1beta/models/{MODEL}:batchGenerateContent",
    ),
    (OLLAMA, "POST", "/api/embed", "/api/embed"),
)


@contextmanager
def passing(upstream: str, **settings: Any) -> Iterator[tuple[Served, Recorder]]:
    with recorder() as provider:
        manager: Any = manager_for(provider)  # type: ignore[arg-type]
        snapshot = Snapshot(routes={"*": Route(f"{UPSTREAMS[upstream]}:{MODEL}")}, **settings)
        with gateway(State(snapshot, manager=manager)) as running:
            yield running, provider


@pytest.mark.parametrize("upstream", DIALECTS)
def test_endpoints_beside_conversations_are_passed_on_or_refused(upstream: str) -> None:
    with passing(upstream) as (running, provider):
        for client, method, path, meant in ENDPOINTS:
            provider.asked.clear()
            body = b'{ "model":"asked", "x":[1] }' if method == "POST" else None
            got = fetch(running.url, path, body, method=method, **HEADERS.get(client, {}))
            if upstream == client or (client, upstream) == (CHAT, RESPONSES):
                assert (got.status, got.body) == (200, b"{}"), path
                (asked,) = provider.asked
                assert (provider.methods[-1], asked.path) == (method, meant)
                assert asked.body == (body or b"").replace(b'"asked"', f'"{MODEL}"'.encode())
                assert "upstream-key-1234" in str(asked.headers)
                continue
            assert got.status == 501, path
            assert provider.asked == []
            error = dialect(client).decode_error(got.status, got.headers, got.body)
            assert "its own protocol" in error.message


def test_what_is_no_json_goes_on_byte_for_byte() -> None:
    """Forms with a file, as the SDKs send them."""
    openai = pytest.importorskip("openai")
    with passing(CHAT) as (running, provider):
        provider.body = b'{"id":"file-1","object":"file","bytes":3,"created_at":0,"filename":"a.txt","purpose":"batch"}'
        with openai.OpenAI(api_key="k", base_url=f"{running.url}/v1", max_retries=0) as client:
            assert client.files.create(file=("a.txt", b"\x00\xff!"), purpose="batch").id == "file-1"
        assert b"\x00\xff!" in provider.asked[0].body
        assert "boundary=" in provider.asked[0].headers["content-type"]
        provider.body, provider.headers = bytes(range(256)) * 100, {"content-type": "audio/mpeg"}
        got = fetch(running.url, "/v1/audio/speech", {"model": "asked", "input": "hi"})
        assert (got.body, got.headers["content-type"]) == (provider.body, "audio/mpeg")


def test_errors_come_back_as_they_are() -> None:
    with passing(CLAUDE) as (running, provider):
        provider.status, provider.body = 404, b'{"type":"error","error":{"type":"not_found_error","message":"no"}}'
        got = fetch(running.url, "/v1/files/x", **HEADERS[CLAUDE])
        assert (got.status, got.body) == (404, provider.body)


def test_it_is_metered() -> None:
    with passing(CHAT) as (running, provider):
        provider.body = json.dumps({"data": [], "usage": {"prompt_tokens": 7, "total_tokens": 7}}).encode()
        got = fetch(running.url, "/v1/embeddings", {"model": "asked", "input": "hi"})
        id = got.headers["x-interlingua-receipt"].partition(";")[0]
        receipt = fetch(running.url, f"/receipts/{id}").json()
        assert (receipt["passed"], receipt["asked"], receipt["served"]) == (True, "asked", f"openai-chat:{MODEL}")
        assert receipt["usage"]["input_tokens"] == 7
        metrics = fetch(running.url, "/metrics").body.decode()
        assert 'interlingua_requests_total{dialect="openai-chat",way="passed",status="200"} 1' in metrics
        assert 'interlingua_tokens_total{kind="input"} 7' in metrics


def test_keys_and_limits_hold() -> None:
    keys = (
        Key(name="narrow", sha256=hash_key("narrow"), models=("text-*",)),
        Key(name="slow", sha256=hash_key("slow"), per_minute=1),
    )
    with passing(CHAT, keys=keys) as (running, provider):
        assert fetch(running.url, "/v1/files").status == 401
        assert fetch(running.url, "/v1/files", x_api_key="narrow").status == 404
        assert fetch(running.url, "/v1/embeddings", {"model": "gpt-5"}, x_api_key="narrow").status == 404
        assert provider.asked == []
        assert fetch(running.url, "/v1/embeddings", {"model": "text-1"}, x_api_key="narrow").status == 200
        assert [fetch(running.url, "/v1/files", x_api_key="slow").status for _ in range(2)] == [200, 429]


REFUSED = (
    # client, path: what is neither translated nor passed on
    (CHAT, "/v1/realtime/client_secrets"),
    (CHAT, "/openai/v1/realtime/sessions"),
    (CHAT, "/openai/deployments/d/embeddings?api-version=2024-10-21"),
    (GEMINI, "/gemini/upload/v1beta/files"),
    (GEMINI, "/genai/upload/v1beta/files?uploadType=resumable"),
    (OLLAMA, "/ollama/api/pull"),
)


def test_what_is_neither_translated_nor_passed_on_is_refused_in_the_dialect() -> None:
    for upstream in (CHAT, BEDROCK):
        with passing(upstream) as (running, provider):
            assert fetch(running.url, "/v1/realtime?model=x", upgrade="websocket", connection="Upgrade").status == 501
            assert fetch(running.url, "/upload/v1beta/files", {}, x_goog_api_key="k").json()["error"]["code"] == 501
            for client, path in REFUSED:
                got = fetch(running.url, path, {"model": "asked"})
                assert got.status == 501, path
                assert "not relayed" in dialect(client).decode_error(501, got.headers, got.body).message
            assert provider.asked == []
