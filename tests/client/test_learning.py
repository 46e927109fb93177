"""Estimates follow the counts that a provider reports: from the first call on, for each model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from client.support import ask, config
from interlingua import Base64Source, DocumentBlock, Message, Request, ServerTool, ToolDefinition
from interlingua.client.connect import AsyncClient, Client, connect_sync
from interlingua.client.http import HttpRequest
from interlingua.client.transport.memory import Answer, AsyncMemoryTransport, MemoryTransport
from interlingua.models.estimate import Learner, estimate_request
from interlingua.models.estimate.learning import LAST, Count, corrected

HIDDEN = 200
SHORT = "What is the capital of France?"
LONG = "Tell me of the capital of France, of its river, and of its towers. " * 20
ADD = ToolDefinition("add", "Adds two numbers.", {"type": "object", "properties": {"a": {"type": "integer"}}})


def prompt(text: str = SHORT, model: str = "some-model", **fields: Any) -> Request:
    return Request([Message("user", text)], model, **fields)


def cold(request: Request) -> int:
    return estimate_request(request, "openai-chat")


def secretive(request: HttpRequest) -> Answer:
    """A server that counts as we do, plus a constant for its own hidden prompt."""
    asked = json.loads(request.body)
    text = asked["messages"][0]["content"]
    reported = cold(prompt(text, asked["model"])) + HIDDEN
    usage = {"prompt_tokens": reported, "completion_tokens": 1, "total_tokens": reported + 1}
    choice = {"index": 0, "message": {"role": "assistant", "content": "Paris"}, "finish_reason": "stop"}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    if not asked.get("stream"):
        return Answer(200, {"content-type": "application/json"}, [json.dumps(whole).encode()])
    said = {**choice, "delta": choice["message"]}
    chunk = {**whole, "object": "chat.completion.chunk", "choices": [said]}
    events = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
    return Answer(200, {"content-type": "text/event-stream"}, [events.encode()])


def asking(client: AsyncClient | Client, text: str = SHORT) -> int:
    return client.estimate_input_tokens([Message("user", text)])


@pytest.mark.parametrize("how", ["complete", "stream"])
async def test_a_client_learns_what_a_server_adds(how: str) -> None:
    client = AsyncClient("openai-chat", config(), model="some-model", transport=AsyncMemoryTransport(secretive))
    assert asking(client) == cold(prompt())
    if how == "complete":
        await client.complete(ask(SHORT))
    else:
        assert [event async for event in client.stream(ask(SHORT))]
    assert asking(client) == cold(prompt()) + HIDDEN
    assert asking(client, LONG) == cold(prompt(LONG)) + HIDDEN
    assert client.estimate(prompt(tools=(ADD,))) == cold(prompt(tools=(ADD,))) + HIDDEN
    assert client.estimate(prompt(model="other-model")) == cold(prompt(model="other-model"))
    await client.close()


def test_the_blocking_client_too() -> None:
    with Client("openai-chat", config(), model="some-model", transport=MemoryTransport(secretive)) as client:
        assert asking(client) == cold(prompt())
        client.complete(ask(SHORT))
        assert asking(client) == cold(prompt()) + HIDDEN


def test_before_the_first_question_nothing_is_kept() -> None:
    with Client("openai-chat", config(), model="some-model", transport=MemoryTransport(secretive)) as client:
        client.complete(ask(SHORT))
        assert asking(client) == cold(prompt())


MAPPED = "adapters:\n  openai-chat: {api_key_env: KEY, model_map: {quick: gpt-4o-mini}}\n"


def mapped(folder: Path, **environment: str) -> Client:
    models = folder / "models.yaml"
    models.write_text(MAPPED)
    transport = MemoryTransport(secretive)
    return connect_sync("openai-chat:gpt-4o", models=models, environment=environment, transport=transport)


def test_a_model_is_known_by_all_its_names(tmp_path: Path) -> None:
    with mapped(tmp_path, KEY="sk-of-nobody") as client:
        meant = prompt(model="gpt-4o-mini")
        assert client.estimate(prompt(model="quick")) == cold(meant)
        client.complete(ask(SHORT, model="quick"))
        assert client.estimate(prompt(model="quick")) == client.estimate(meant) == cold(meant) + HIDDEN


def test_to_estimate_one_needs_no_key(tmp_path: Path) -> None:
    with mapped(tmp_path) as client:
        assert client.estimate(prompt(model="gpt-4o-mini")) == cold(prompt(model="gpt-4o-mini"))


def test_requests_with_tools_are_learned_separately() -> None:
    learner = Learner("openai-chat")
    with_tool = prompt(tools=(ADD,))
    assert learner.estimate(with_tool) == cold(with_tool)
    learner.observe(prompt(), cold(prompt()) + 50)
    assert learner.estimate(with_tool) == cold(with_tool) + 50
    learner.observe(with_tool, cold(with_tool) + 300)
    assert learner.estimate(with_tool) == cold(with_tool) + 300
    assert learner.estimate(prompt()) == cold(prompt()) + 50


def test_the_prompt_nearest_in_size_counts() -> None:
    seen = [Count(100, 150), Count(1000, 1300)]
    assert corrected(120, seen) == 170
    assert corrected(900, seen) == 1200


def test_fewer_tokens_a_word_are_fewer_in_all() -> None:
    assert corrected(1000, [Count(100, 50)]) == 500
    assert corrected(1, [Count(100, 1)]) == 1


def test_a_good_estimate_is_not_corrected() -> None:
    assert corrected(1000, [Count(100, 104)]) == 1000
    assert corrected(1000, [Count(100, 96)]) == 1000


def test_only_the_last_answers_count() -> None:
    learner = Learner("openai-chat")
    learner.estimate(prompt())
    for extra in (500, *(60,) * LAST):
        learner.observe(prompt(), cold(prompt()) + extra)
        learner.estimate(prompt())
    assert learner.estimate(prompt()) == cold(prompt()) + 60


FILE = DocumentBlock(Base64Source("application/pdf", "JVBERi0="))
UNTELLING = {
    "the server holds some of it": prompt(extras={"openai-responses": {"previous_response_id": "resp_1"}}),
    "the server runs a tool": prompt(tools=(ServerTool("openai-responses", {"type": "web_search"}),)),
    "there is a file": Request([Message("user", (FILE,))], "some-model"),
}


@pytest.mark.parametrize("why", UNTELLING)
def test_nothing_is_learned_from(why: str) -> None:
    learner = Learner("openai-chat")
    learner.estimate(prompt())
    learner.observe(UNTELLING[why], 100_000)
    assert learner.estimate(prompt()) == cold(prompt())


def test_a_server_that_reports_nothing_teaches_nothing() -> None:
    learner = Learner("openai-chat")
    learner.estimate(prompt())
    learner.observe(prompt(), 0)
    assert learner.estimate(prompt()) == cold(prompt())
