"""From the environment to a client, and the errors when something is missing."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from threading import Timer
from typing import Any

import pytest

from client.support import CANARY, ask
from interlingua import AsyncClient, CancelledError, Client, NotConfigured, Request, RequestTimeoutError, TextBlock
from interlingua.client.config import AdapterConfig
from interlingua.client.connect import connect, connect_sync
from interlingua.client.embedded import Script, Step, handler
from interlingua.client.embedded.responder import respond
from interlingua.client.environment import configured
from interlingua.client.http import HttpRequest
from interlingua.client.signing import signer_for
from interlingua.client.transport.memory import AsyncMemoryTransport, MemoryTransport
from interlingua.models.providers import PROVIDERS


async def test_five_lines() -> None:
    transport = AsyncMemoryTransport(handler(Script()))
    async with connect("anthropic:claude", environment={"ANTHROPIC_API_KEY": CANARY}, transport=transport) as client:
        response = await client.complete(ask("hello", model=None))
    assert response.content == (TextBlock("You said: hello"),)
    assert transport.requests[0].headers["x-api-key"] == CANARY
    assert response.origin is not None
    assert response.origin.model == "claude"


def test_five_lines_that_block() -> None:
    transport = MemoryTransport(handler(Script()))
    with connect_sync("ollama:llama3:8b", environment={}, transport=transport) as client:
        assert client.complete(ask("hello", model=None)).text == "You said: hello"
        assert client.model == "llama3:8b"


@pytest.mark.parametrize("options", [None, {"include_usage": False}, {"include_usage": True}])
def test_the_scripted_provider_reports_chat_stream_usage_on_request(options: dict[str, bool] | None) -> None:
    """As OpenAI does: only a client that requests usage gets a chunk without choices."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True, "stream_options": options}
    answer = respond(Script(), "/v1/chat/completions", {}, json.dumps(body).encode())
    said = b"".join(part for part in answer.parts if isinstance(part, bytes))
    assert (b'"usage":{' in said, b'"choices":[]' in said) == (options == {"include_usage": True},) * 2


def test_the_scripted_provider_refuses_to_list_files() -> None:
    assert respond(Script(), "/v1/files", {}, b"").status == 404


def test_an_unknown_provider_names_the_known_ones() -> None:
    with pytest.raises(NotConfigured, match=r"anthropic.*openai"):
        connect("nobody:m")


def test_no_key_says_what_to_do() -> None:
    client = connect_sync("openai:gpt", environment={}, transport=MemoryTransport(handler()))
    with pytest.raises(NotConfigured, match="OPENAI_API_KEY"):
        client.complete(ask())


# fmt: off
FILLED = (
    # provider      environment                                             field       value
    ("google",      {"GOOGLE_API_KEY": "k"},                                "secret",   "k"),
    ("google",      {"GOOGLE_API_KEY": "k", "GEMINI_API_KEY": "g"},         "secret",   "g"),
    ("bedrock",     {"AWS_BEARER_TOKEN_BEDROCK": "t", "AWS_REGION": "r"},   "secret",   "t"),
    ("bedrock",     {"AWS_ACCESS_KEY_ID": "a", "AWS_REGION": "r"},          "secret",   None),
    ("bedrock",     {"AWS_DEFAULT_REGION": "r"},                            "options",  {"region": "r"}),
    ("vertex",      {"GOOGLE_APPLICATION_CREDENTIALS": "/a.json"},          "secret",   None),
    ("vertex",      {"GOOGLE_CLOUD_PROJECT": "p"},                          "options",  {"project": "p"}),
    ("ollama",      {"OLLAMA_HOST": "box:11434"},                           "base_url", "http://box:11434"),
    ("openai",      {"OPENAI_BASE_URL": "http://x/v1"},                     "base_url", "http://x/v1"),
)
# fmt: on


@pytest.mark.parametrize(("name", "environment", "field", "value"), FILLED)
def test_what_the_environment_fills(name: str, environment: dict[str, str], field: str, value: Any) -> None:
    assert getattr(configured(PROVIDERS[name], None, environment), field) == value


def test_the_callers_own_settings_win() -> None:
    mine = AdapterConfig("mine", "http://mine", options={"region": "here"})
    found = configured(PROVIDERS["bedrock"], mine, {"AWS_BEARER_TOKEN_BEDROCK": "t", "AWS_REGION": "there"})
    assert (found.secret, found.base_url, found.options["region"]) == ("mine", "http://mine", "here")


def test_bedrock_is_signed_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("botocore")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIACANARY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    transport = MemoryTransport(handler(Script()))
    with connect_sync("bedrock:anthropic.claude:0", transport=transport) as client:
        assert client.complete(ask(model=None)).text
    sent = transport.requests[0]
    assert sent.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIACANARY/")
    assert "x-amz-date" in sent.headers
    assert CANARY not in repr(sent.headers)


def test_without_botocore_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("botocore", "botocore.auth", "botocore.awsrequest", "botocore.session"):
        monkeypatch.setitem(sys.modules, name, None)
    row = PROVIDERS["bedrock"]
    sign = signer_for(row, AdapterConfig())
    assert sign is not None
    with pytest.raises(NotConfigured, match=r"interlingua\[bedrock\]"):
        sign(HttpRequest("POST", "https://x.y/z"))
    assert signer_for(row, AdapterConfig("token")) is None


def test_vertex_needs_a_token_instead_of_a_file_name() -> None:
    environment = {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "r", "GOOGLE_APPLICATION_CREDENTIALS": "/a"}
    client = connect_sync("vertex:gemini", environment=environment, transport=MemoryTransport(handler()))
    with pytest.raises(NotConfigured, match="access token"):
        client.complete(ask())


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_takes_names_and_settings_as_connect_does(kind: Any) -> None:
    client = kind("gemini:gemini-3-pro", {"api_key": CANARY, "timeout_seconds": 5})
    assert (client.name, client.model, client.config.secret) == ("google", "gemini-3-pro", CANARY)
    assert client.config.timeout_seconds == 5
    assert kind("openai/gpt-5", model="gpt-6").model == "gpt-6"
    with pytest.raises(ValueError, match="AdapterConfig has no api_kye"):
        kind("openai", {"api_kye": CANARY})


def test_a_script_that_waits_keeps_the_caller_waiting() -> None:
    slow = Script(Step(text="late", delay=0.2))
    begun = time.monotonic()
    assert connect_sync("embedded:", script=slow).complete(Request("hi")).text == "late"
    assert asyncio.run(connect("embedded:", script=slow).complete(Request("hi"))).text == "late"
    assert time.monotonic() - begun >= 0.4
    with pytest.raises(RequestTimeoutError):
        connect_sync("embedded:", {"timeout_seconds": 0.05}, script=slow).complete(Request("hi"))


def test_a_script_that_waits_can_be_cancelled() -> None:
    client = connect_sync("embedded:", script=Script(Step(text="late", delay=60)))
    Timer(0.1, client.cancel, ("mine",)).start()
    begun = time.monotonic()
    with pytest.raises(CancelledError):
        client.complete(Request("hi", request_id="mine"))
    assert time.monotonic() - begun < 30
