"""Every endpoint of the table, as its own clients call it, in front of a provider that speaks another protocol."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.asking import CALLS, CHAT, CLAUDE, GEMINI, RESPONSES, TEXT, body_of
from gateway.raw_http import fetch
from gateway.serving_gateway import MODEL, Served, served
from interlingua.client.embedded import Script, Step
from interlingua.gateway.admission import Key, hash_key
from interlingua.gateway.choose import SESSION_HEADERS, session_of
from interlingua.gateway.config import Route, Snapshot
from interlingua.gateway.peek import Peek

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")
ollama = pytest.importorskip("ollama")
genai = pytest.importorskip("google.genai")

QUESTION: list[Any] = [{"role": "user", "content": "What is 1 + 2?"}]


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    with served(Script(CALLS, keep=1), dialect=CLAUDE) as (found, _):
        yield found


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Served]:
    with served(Script(CALLS, keep=1), dialect=CHAT) as (found, _):
        yield found


def body(client: str) -> dict[str, Any]:
    return {**body_of(client), "model": "asked"}


PATHS = (
    # client, path
    (CHAT, "/chat/completions"),
    (CHAT, "/openai/v1/chat/completions"),
    (CHAT, "/ollama/v1/chat/completions"),
    (CHAT, "/openai/deployments/asked/chat/completions?api-version=2024-10-21"),
    (RESPONSES, "/responses"),
    (RESPONSES, "/openai/v1/responses"),
    (GEMINI, "/v1beta/models/asked:generateContent"),
    (GEMINI, "/v1/models/asked:generateContent"),
    (GEMINI, "/v1beta/models/asked/models/asked:generateContent"),
    (GEMINI, "/v1/projects/p/locations/us-central1/publishers/google/models/asked:generateContent"),
    (GEMINI, "/v1beta1/projects/p/locations/global/publishers/google/models/asked:generateContent"),
    (GEMINI, "/genai/v1beta/models/asked:generateContent"),
    (GEMINI, "/gemini/v1beta/models/asked:generateContent"),
    ("ollama", "/api/chat"),
    ("ollama", "/ollama/api/chat"),
    ("bedrock-converse", "/bedrock/model/asked/converse"),
)


@pytest.mark.parametrize(("client", "path"), PATHS)
def test_every_spelling_of_a_path_is_answered(client: str, path: str, running: Served) -> None:
    sent = body(client) if client not in (GEMINI, "bedrock-converse") else body_of(client)
    got = fetch(running.url, path, {**sent, "stream": False} if client == "ollama" else sent)
    assert got.status == 200, got.body
    assert TEXT in got.body.decode()


@pytest.mark.parametrize("path", ["/v1/messages", "/messages", "/anthropic/v1/messages", "/v1/messages?beta=true"])
def test_messages_are_answered_with_any_query(path: str, elsewhere: Served) -> None:
    got = fetch(elsewhere.url, path, body(CLAUDE))
    assert got.status == 200
    assert TEXT in got.body.decode()


def test_azures_sdk_names_the_model_in_the_path(running: Served) -> None:
    with openai.AzureOpenAI(api_key="k", azure_endpoint=running.url, api_version="2024-10-21", max_retries=0) as client:
        answer = client.chat.completions.create(model="asked", messages=QUESTION)
        assert answer.choices[0].message.content == TEXT


def test_vertex_sdk_paths_are_answered(running: Served) -> None:
    options = genai.types.HttpOptions(base_url=running.url, headers={"x-goog-api-key": "k"})
    credentials = pytest.importorskip("google.oauth2.credentials").Credentials("token")
    client = genai.Client(
        vertexai=True, project="p", location="us-central1", http_options=options, credentials=credentials
    )
    assert client.models.generate_content(model="asked", contents="What is 1 + 2?").text == TEXT
    client.close()


@pytest.mark.parametrize("stream", [False, True])
def test_ollamas_older_endpoint_answers_a_prompt(stream: bool, running: Served) -> None:
    client = ollama.Client(host=running.url, trust_env=False)
    found = client.generate(model="asked", prompt="What is 1 + 2?", stream=stream)
    chunks = list(found) if stream else [found]
    client.close()
    assert "".join(chunk.response for chunk in chunks) == TEXT
    assert chunks[-1].done


# ----------------------------------------------------------------------------------------------------------- the models

LISTED = Snapshot(routes={"fast": Route(f"openai-chat:{MODEL}"), "claude-x": Route("anthropic:claude-sonnet-4-5")})


def test_the_sdks_list_models_and_look_one_up() -> None:
    with served(snapshot=LISTED) as (running, _):
        with openai.OpenAI(api_key="k", base_url=f"{running.url}/v1") as client:
            assert [model.id for model in client.models.list()] == ["fast", "claude-x"]
            assert client.models.retrieve("fast").id == "fast"
        with anthropic.Anthropic(api_key="k", base_url=running.url) as client:
            assert [model.id for model in client.models.list()] == ["fast", "claude--fast", "claude-x"]
            assert client.models.retrieve("claude-x").type == "model"
        options = genai.types.HttpOptions(base_url=running.url)
        client = genai.Client(api_key="k", vertexai=False, http_options=options)
        assert [model.name for model in client.models.list()] == ["models/fast", "models/claude-x"]
        assert client.models.get(model="fast").name == "models/fast"
        client.close()
        client = ollama.Client(host=running.url, trust_env=False)
        assert [model.model for model in client.list().models] == ["fast", "claude-x"]
        assert client.ps().models is not None
        shown = client.show("fast")
        assert "tools" in shown.capabilities
        assert any(key.endswith(".context_length") for key in client.show("claude-x").modelinfo)
        client.close()


def test_a_list_is_read_in_pages_by_who_asks_so() -> None:
    snapshot = Snapshot(routes={f"claude-{number}": Route(f"openai-chat:{MODEL}") for number in range(5)})
    names = list(snapshot.routes)
    with served(snapshot=snapshot) as (running, _):
        with anthropic.Anthropic(api_key="k", base_url=running.url) as client:
            page = client.models.list(limit=2)
            assert ([model.id for model in page.data], page.has_more) == (names[:2], True)
            assert [model.id for model in page] == names
        options = genai.types.HttpOptions(base_url=running.url)
        client = genai.Client(api_key="k", vertexai=False, http_options=options)
        pager = client.models.list(config={"page_size": 2})
        assert len(pager.page) == 2
        assert [model.name for model in pager] == [f"models/{name}" for name in names]
        client.close()
        first = fetch(running.url, "/inference-profiles?maxResults=4").json()
        rest = fetch(running.url, f"/inference-profiles?maxResults=4&nextToken={first['nextToken']}").json()
        assert [len(got["inferenceProfileSummaries"]) for got in (first, rest)] == [4, 1]
        assert "nextToken" not in rest
        odd = fetch(running.url, "/v1/models?limit=-1&after_id=nobody", anthropic_version="2023-06-01").json()
        assert (len(odd["data"]), odd["has_more"]) == (5, False)


def test_a_key_sees_what_it_may_use() -> None:
    keys = (Key(name="narrow", sha256=hash_key("narrow"), models=("claude-*",)),)
    snapshot = Snapshot(routes=LISTED.routes, keys=keys)
    with served(snapshot=snapshot) as (running, _):
        got = fetch(running.url, "/v1/models", x_api_key="narrow").json()
        assert [model["id"] for model in got["data"]] == ["claude-x"]
        assert fetch(running.url, "/v1/models/fast", x_api_key="narrow").status == 404
        assert fetch(running.url, "/v1/models").status == 401


def test_a_list_is_answered_at_once_and_here() -> None:
    """Claude Code waits three seconds for the list, and follows no redirect."""
    with served(snapshot=LISTED) as (running, provider):
        got = fetch(running.url, "/v1/models?limit=1000", anthropic_version="2023-06-01")
        assert (got.status, "location" in got.headers) == (200, False)
        assert provider.script.asked == 0


# -------------------------------------------------------------------------------------------------- what answers carry


def test_ids_of_items_are_unique_over_a_conversation(running: Served) -> None:
    seen: list[str] = []
    for stream in (False, True, False):
        got = fetch(running.url, "/v1/responses", {**body(RESPONSES), "stream": stream})
        if stream:
            last = got.body.decode().rpartition("data: ")[2]
            answer = json.loads(last)["response"]
        else:
            answer = got.json()
        seen += [answer["id"], *(item["id"] for item in answer["output"])]
        assert abs(answer["created_at"] - time.time()) < 600
    assert len(set(seen)) == len(seen) == 9


def test_chat_answers_say_when_they_were_made_and_by_the_asked_name(running: Served) -> None:
    whole = fetch(running.url, "/v1/chat/completions", body(CHAT)).json()
    lines = fetch(running.url, "/v1/chat/completions", {**body(CHAT), "stream": True}).body.decode().splitlines()
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    for answer in (whole, *chunks):
        assert abs(answer["created"] - time.time()) < 600
        assert answer["model"] == "asked"
    assert len({chunk["id"] for chunk in chunks}) == 1


@pytest.mark.parametrize("path", ["/v1/responses", "/responses", "/openai/v1/responses", "/openai/responses"])
def test_a_websocket_is_refused_so_that_codex_goes_on_at_once(path: str, running: Served) -> None:
    got = fetch(running.url, path, upgrade="websocket", connection="Upgrade", sec_websocket_key="x")
    assert got.status == 426
    assert got.json()["error"]["message"]


def test_versions_of_messages_go_on_to_a_provider_of_messages() -> None:
    with served(Script(Step()), dialect=CLAUDE) as (running, provider):
        fetch(running.url, "/v1/messages", body(CLAUDE), anthropic_version="2023-01-01")
        assert provider.script.asked == 1


# ------------------------------------------------------------------------------------------------------------- affinity


def test_a_session_is_known_by_the_first_header_that_names_it() -> None:
    peek = Peek(b'{"prompt_cache_key":"key","system":"s","messages":[{"role":"user","content":"a"},{"role":"x"}]}')
    headers = {name: f"by {name}" for name in SESSION_HEADERS}
    for name in SESSION_HEADERS:
        assert session_of(headers, peek) == f"by {name}"
        del headers[name]
    assert session_of({}, peek) == "key"
    begun = Peek(b'{"system":"s","messages":[{"role":"user","content":"a"}]}')
    longer = Peek(b'{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"system":"s"}')
    other = Peek(b'{"system":"s","messages":[{"role":"user","content":"b"}]}')
    assert session_of({}, begun) == session_of({}, longer) != session_of({}, other)
