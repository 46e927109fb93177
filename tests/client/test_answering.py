"""Calls and results that do not match are refused, or repaired with a Loss, before anything is sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interlingua import (
    AdapterCapabilities,
    Message,
    Request,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolStateError,
    ToolUseBlock,
    repair_tool_results,
)
from interlingua.agent.session import SyncSession
from interlingua.client.embedded import Script, Step
from session.scenes import DIALECTS, PROVIDERS, scripted

ADD = ToolDefinition("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
ASKED = Message("user", "one and one?")
CALLED = Message("assistant", (ToolUseBlock("tu_1", "add", input={"a": 1}),))
ANSWERED = Message("tool", (ToolResultBlock("tu_1", "2"),))
ON = Message("user", "go on")


def request(*messages: Message, **more: Any) -> Request:
    return Request(messages, tools=(ADD,), model="m", max_output_tokens=99, **more)


def results_sent(script: Script) -> list[tuple[str, str]]:
    """The texts of the results in the latest request, with the names of the calls that they answer."""
    names = {b.id: b.name for m in script.seen[-1].messages for b in m.content if isinstance(b, ToolUseBlock)}
    blocks = [b for m in script.seen[-1].messages for b in m.content if isinstance(b, ToolResultBlock)]
    texts = [next((i.text for i in b.content if isinstance(i, TextBlock)), repr(b.content)) for b in blocks]
    return [(names.get(b.tool_use_id, "?"), text) for b, text in zip(blocks, texts, strict=True)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_without_a_result_is_refused_before_it_is_sent(dialect: str) -> None:
    script = Script(Step(act="echo"))
    manager, name = scripted(script), PROVIDERS[dialect]
    unanswered = request(ASKED, CALLED, ON)

    async def awaited() -> None:
        async with scripted(script) as other:
            await other.get_adapter(name).complete(unanswered)

    ways = (
        lambda: manager.get_client(name).complete(unanswered),
        lambda: list(manager.get_client(name).stream(unanswered)),
        lambda: manager.prepare_request(name, unanswered),
        lambda: asyncio.run(awaited()),
    )
    for way in ways:
        with pytest.raises(ToolStateError, match=r"add \(tu_1\)") as caught:
            way()
        assert not caught.value.retryable
        assert caught.value.provider == name
    assert not script.seen
    mended = repair_tool_results(unanswered.messages, dialect=dialect)  # as the error says
    manager.get_client(name).complete(request(*mended))
    assert len(script.seen) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_result_without_a_call_is_dropped_with_a_loss(dialect: str) -> None:
    script = Script(Step(act="echo"))
    orphan = Message("tool", (ToolResultBlock("tu_0", "old"), ToolResultBlock("tu_1", "2")))
    response = scripted(script).get_client(PROVIDERS[dialect]).complete(request(ASKED, CALLED, orphan, ON))
    ((name, text),) = results_sent(script)
    assert (name, "2" in text, "old" in text) == ("add", True, False)
    (loss,) = [loss for loss in response.losses if loss.path == "messages/2/content/0"]
    assert (loss.kind, loss.weight) == ("dropped", "content")
    assert "no call in the conversation has the id 'tu_0'" in loss.reason


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_that_was_answered_twice_is_sent_with_its_later_result(dialect: str) -> None:
    script = Script(Step(act="echo"))
    interrupted = Message("tool", (ToolResultBlock("tu_1", "interrupted", is_error=True),))
    history = (ASKED, CALLED, interrupted, ON, Message("assistant", "ok"), ANSWERED, ON)
    response = scripted(script).get_client(PROVIDERS[dialect]).complete(request(*history))
    ((name, text),) = results_sent(script)
    assert name == "add"
    assert "2" in text
    assert "interrupted" not in text
    (loss,) = [loss for loss in response.losses if loss.path == "messages/5/content/0"]
    assert loss.kind == "moved"
    assert "has two results" in loss.reason


def test_three_results_of_one_call() -> None:
    script = Script(Step(act="echo"))
    more = [Message("tool", (ToolResultBlock("tu_1", str(n)),)) for n in (3, 4)]
    scripted(script).get_client("anthropic").complete(request(ASKED, CALLED, ANSWERED, *more, ON))
    assert results_sent(script) == [("add", "4")]


def test_an_id_may_be_used_again_by_a_later_call() -> None:
    """Some protocols issue no ids; then the calls of each answer are counted from 0."""
    script = Script(Step(act="echo"))
    history = (ASKED, CALLED, ANSWERED, Message("assistant", "2"), ASKED, CALLED, ANSWERED, ON)
    response = scripted(script).get_client("google").complete(request(*history))
    assert len(results_sent(script)) == 2
    assert not [loss for loss in response.losses if "answered" in loss.reason]
    with pytest.raises(ToolStateError, match="tu_1"):
        scripted(script).get_client("google").complete(request(ASKED, CALLED, ON, CALLED, ANSWERED))


def test_an_incomplete_call_needs_no_result() -> None:
    script = Script(Step(act="echo"))
    cut = Message("assistant", (TextBlock("Let me"), ToolUseBlock("tu_1", "add", incomplete=True)))
    scripted(script).get_client("anthropic").complete(request(ASKED, cut, ON))
    assert len(script.seen) == 1


def test_calls_that_the_server_stores_are_not_checked() -> None:
    script = Script(Step(act="echo"))
    held = request(ANSWERED, extras={"openai-responses": {"previous_response_id": "resp_1"}})
    encoded = scripted(script).prepare_request("openai", held)
    assert [item["type"] for item in encoded.body["input"]] == ["function_call_output"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_late_result_of_a_session_replaces_the_placeholder(dialect: str) -> None:
    script = Script(Step(content=(ToolUseBlock("c1", "add", input={"a": 1}),)), Step(act="echo"), Step(act="echo"))
    session = SyncSession(f"{PROVIDERS[dialect]}:m", [ADD], manager=scripted(script))
    call = session.send("one and one?").tool_uses[0]
    session.send("never mind")
    session.add(Message("tool", (ToolResultBlock(call.id, "late: 2"),)))
    session.send("and now?")
    ((name, text),) = results_sent(script)
    assert (name, "late: 2" in text) == ("add", True)
    assert any("has two results" in loss.reason for loss in session.report.losses)


# --------------------------------------------------------------------------------------------------------- plan_swap


class Own:
    """A custom adapter, as users may write it."""

    name, capabilities = "own", AdapterCapabilities(images=False)

    def capabilities_for(self, model: str) -> AdapterCapabilities:
        return self.capabilities


def test_a_plan_treats_open_calls_as_the_next_turn_does() -> None:
    script = Script(Step(content=(ToolUseBlock("c1", "add", input={"a": 1}),)), Step(act="echo"))
    session = SyncSession("anthropic:m", [ADD], manager=scripted(script))
    session.send("one and one?")
    plan = session.plan_swap("openai:m")
    assert plan.legal, plan.problems
    session.model = "openai:m"
    session.send("go on")  # as the plan says
    strict = SyncSession("anthropic:m", [ADD], manager=scripted(), messages=[ASKED, CALLED], repair="refuse")
    assert not strict.plan_swap("openai:m").legal
    with pytest.raises(ToolStateError):
        strict.send("go on")


def test_a_plan_for_a_custom_adapter() -> None:
    manager: Any = scripted()
    manager.register("own", Own())
    session = SyncSession("anthropic:m", manager=manager, messages=[ASKED])
    plan = session.plan_swap("own:m")
    assert (plan.legal, plan.losses, plan.cost_usd, plan.cache_survives) == (True, (), None, False)
    assert plan.input_tokens > 0
