"""A behaviour at work in a session: what each family of models is sent with the preset, and that without it nothing is.

Bodies are what went to the transport. With thirty tools, OpenAI's limit counts and Claude's does not.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlingua import ErrorClass, Message, Request, TextBlock, ToolUseBlock
from interlingua.agent.session import SyncSession
from interlingua.agent.tools import tool
from interlingua.client.behaviour import preset
from interlingua.client.embedded import Script, Step
from lab.oracles import problems
from session.scenes import PROVIDERS, scripted

CODING = "coding-agent"
SYSTEM = "You mend code."
CORE = ("Read", "Write", "TodoWrite", "Bash")
OPENAI, CLAUDE = ("openai-chat", "openai-responses"), ("anthropic-messages", "bedrock-converse")
MODELS = {"anthropic": "claude-sonnet-4-5", "bedrock": "anthropic.claude-sonnet-4-5-20250929-v1:0"}
MODELS |= {"openai": "gpt-5", "openai-chat": "gpt-5", "google": "gemini-3-pro-preview", "ollama": "some-model"}
ADDENDUM = preset(CODING).rows["openai"].addendum or ""


def made(name: str) -> Any:
    def act(path: str, lines: int = 0) -> str:
        return f"{name}: {path}"

    return tool(act, name=name, description=f"Does the work of {name}.")


TOOLS = [made(name) for name in (*(f"extra_{n:02}" for n in range(26)), *CORE)]
CALL = Step(content=(ToolUseBlock("c1", "Read", input={"path": "a.py"}),))
SCRIPT = (CALL, Step(content=(TextBlock("read"),)), Step(content=(TextBlock("bye"),)))


def model_of(dialect: str) -> str:
    return f"{PROVIDERS[dialect]}:{MODELS[PROVIDERS[dialect]]}"


def talk(dialect: str, behaviour: str | None, **settings: Any) -> tuple[SyncSession, list[Any]]:
    """Two turns, with one call in the first: the session, and its three bodies."""
    manager = scripted(Script(*SCRIPT), on_loss="allow")
    session = SyncSession(model_of(dialect), TOOLS, SYSTEM, manager=manager, behaviour=behaviour, **settings)
    session.run("Read a.py")
    session.run("Thanks")
    transport: Any = manager._sync_transport
    bodies = [json.loads(request.body) for request in transport.requests]
    assert [problems(body, dialect) for body in bodies] == [[]] * 3
    return session, bodies


@pytest.mark.parametrize("dialect", OPENAI)
def test_openai_gets_the_addendum_a_forced_first_tool_and_twenty_tools(dialect: str) -> None:
    session, (first, second, third) = talk(dialect, CODING)
    for body in (first, second, third):
        told = json.dumps(body, ensure_ascii=False)
        assert told.count(json.dumps(ADDENDUM, ensure_ascii=False)[1:-1]) == 1
        assert SYSTEM in told
        assert len(body["tools"]) <= 20
    names = [tool.get("name") or tool["function"]["name"] for tool in first["tools"]]
    assert set(CORE) <= set(names)
    assert [(tool.get("function") or tool)["strict"] for tool in first["tools"]] == [True] * len(names)
    assert first["tool_choice"] == "required"
    assert "tool_choice" not in second
    assert "tool_choice" not in third
    assert first["tools"] == second["tools"], "the choice is the same as long as the question is"
    assert len(session.report.left_out) == len(TOOLS) - len(third["tools"])


@pytest.mark.parametrize("dialect", CLAUDE)
def test_claude_gets_none_of_it(dialect: str) -> None:
    with_it, without = talk(dialect, CODING), talk(dialect, None)
    assert with_it[1] == without[1]
    assert with_it[0].report.left_out == ()


@pytest.mark.parametrize(("dialect", "most"), [("gemini", 30), ("ollama", 20)])
def test_others_get_a_limit_and_nothing_else(dialect: str, most: int) -> None:
    _, bodies = talk(dialect, CODING)
    _, plain = talk(dialect, None)
    for body, without in zip(bodies, plain, strict=True):
        assert ADDENDUM[:20] not in json.dumps(body)
        tools = body.pop("tools")
        assert len(tools[0].get("functionDeclarations", tools)) == min(most, len(TOOLS))
        del without["tools"]
        assert body == without


@pytest.mark.parametrize("dialect", PROVIDERS)
def test_without_a_behaviour_nothing_is_added(dialect: str) -> None:
    """The first body is, byte for byte, what the bare client sends for the same request."""
    session, (first, *_) = talk(dialect, None)
    manager = scripted(Script(*SCRIPT), on_loss="allow")
    client = manager.get_client(PROVIDERS[dialect])
    request = Request(
        [Message("user", "Read a.py")], MODELS[PROVIDERS[dialect]], system=SYSTEM, tools=session.definitions
    )
    client.complete(request)
    transport: Any = manager._sync_transport
    assert json.dumps(json.loads(transport.requests[0].body)) == json.dumps(first)


def test_moving_takes_the_behaviour_of_the_new_model() -> None:
    """And nothing of the former's: what was added is in the request, not in the history."""
    manager = scripted(Script(*SCRIPT, CALL, *SCRIPT[1:]), on_loss="allow")
    session = SyncSession(model_of("openai-responses"), TOOLS, SYSTEM, manager=manager, behaviour=CODING)
    session.run("Read a.py")
    session.model = model_of("anthropic-messages")
    session.run("Thanks")
    transport: Any = manager._sync_transport
    away = json.loads(transport.requests[-1].body)
    assert ADDENDUM[:20] not in json.dumps(away)
    assert len(away["tools"]) == len(TOOLS)
    assert all("strict" not in tool for tool in away["tools"])
    assert [block.text for block in session.system if isinstance(block, TextBlock)] == [SYSTEM]


@pytest.mark.parametrize(("dialect", "attempts"), [("openai-responses", 6), ("anthropic-messages", 4), ("gemini", 4)])
def test_failures_are_repeated_as_the_preset_says(dialect: str, attempts: int) -> None:
    """Also where the adapter itself would not (it was told never to)."""
    limit = Step(act="fail", error=ErrorClass.rate_limit, retry_after=0.001)
    session = SyncSession(
        model_of(dialect), manager=scripted(Script(*[limit] * (attempts - 1), Step(act="echo"))), behaviour=CODING
    )
    session.send("hello")
    assert session.messages[-1].metadata["attempts"] == attempts
