"""A preset over whole turns of a session: what goes out, to whom, at which step, and how often it is tried again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interlingua import RateLimitError, Request, TextBlock, Tool, ToolDefinition, ToolUseBlock
from interlingua.agent.session import Session
from interlingua.client.behaviour import preset
from interlingua.client.embedded import Script, Step
from session.scenes import scripted

ADDENDUM = preset("coding-agent").behaviour_for("openai", "gpt-5").addendum or ""
CORE = ("Read", "Write", "Edit", "Bash")
PLENTY = [ToolDefinition(name) for name in (*CORE, *(f"gadget_{number}" for number in range(26)))]
OPENAI = ("openai:gpt-5", "openai-chat:gpt-5")
CLAUDE = ("anthropic:claude-opus-4-7", "bedrock:us.anthropic.claude-opus-4-7-v1:0")


def read(path: str) -> str:
    """Read a file."""
    return f"the text of {path}"


def played(model: str, tools: list[Any], script: Script, behaviour: str | None = "coding-agent") -> list[Request]:
    """The requests as the provider got them."""

    async def scene() -> None:
        async with Session(model, tools, "Be kind.", manager=scripted(script), behaviour=behaviour) as session:
            await session.run("fix gadget_17 in main.py")

    asyncio.run(scene())
    return script.seen


def said(request: Request) -> str:
    leading = [block for message in request.messages if message.role == "system" for block in message.content]
    return "\n".join(block.text for block in (*request.system, *leading) if isinstance(block, TextBlock))


def names(tools: tuple[Tool, ...]) -> list[str]:
    return [tool.name for tool in tools if isinstance(tool, ToolDefinition)]


@pytest.mark.parametrize("model", OPENAI)
def test_openai_gets_the_addendum_a_forced_first_tool_and_twenty_tools(model: str) -> None:
    (request,) = played(model, PLENTY, Script(Step(content=(TextBlock("done"),))))
    assert ADDENDUM in said(request)
    assert request.tool_choice is not None
    assert request.tool_choice.mode == "any"
    assert len(request.tools) == 20
    assert {*CORE, "gadget_17"} <= {*names(request.tools)}


@pytest.mark.parametrize("model", OPENAI)
def test_only_the_first_step_is_forced(model: str) -> None:
    script = Script(
        Step(content=(ToolUseBlock("c1", "read", input={"path": "main.py"}),)), Step(content=(TextBlock("done"),))
    )
    first, second = played(model, [read], script)
    assert first.tool_choice is not None
    assert first.tool_choice.mode == "any"
    assert second.tool_choice is None or second.tool_choice.mode == "auto"
    assert said(first) == said(second)


@pytest.mark.parametrize("model", CLAUDE)
def test_claude_gets_none_of_it(model: str) -> None:
    with_it, without = (
        played(model, PLENTY, Script(Step(content=(TextBlock("done"),))), behaviour)[0]
        for behaviour in ("coding-agent", None)
    )
    assert ADDENDUM not in said(with_it)
    assert (with_it.tools, with_it.tool_choice, with_it.system) == (without.tools, without.tool_choice, without.system)
    assert len(with_it.tools) == 30


@pytest.mark.parametrize("model", [*OPENAI, *CLAUDE, "google:gemini-3-pro", "ollama:llama3.1"])
def test_without_the_preset_nothing_is_added(model: str) -> None:
    (request,) = played(model, PLENTY, Script(Step(content=(TextBlock("done"),))), None)
    assert said(request) == "Be kind."
    assert request.tool_choice is None
    assert names(request.tools) == [tool.name for tool in PLENTY]


async def test_what_was_left_out_is_reported() -> None:
    script = Script(Step(content=(TextBlock("done"),)))
    async with Session("openai:gpt-5", PLENTY, manager=scripted(script), behaviour="coding-agent") as session:
        await session.run("fix gadget_17")
        assert len(session.report.left_out) == 10
        assert not {*session.report.left_out} & {*CORE, "gadget_17"}


# attempts: one more than the retries of the preset's row
@pytest.mark.parametrize(
    ("model", "attempts"), [("openai:gpt-5", 6), ("anthropic:claude-opus-4-7", 4), ("google:gemini-3-pro", 4)]
)
def test_failures_are_repeated_as_the_preset_says(model: str, attempts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(seconds: float) -> None:
        waits.append(seconds)

    waits: list[float] = []
    script = Script(*[Step(act="fail", status=429)] * 9)
    manager = scripted(script)
    adapter: Any = manager.get_adapter(model.partition(":")[0])
    monkeypatch.setattr(adapter, "_sleep", at_once)

    async def scene() -> None:
        async with Session(model, [read], manager=manager, behaviour="coding-agent") as session:
            with pytest.raises(RateLimitError) as caught:
                await session.run("hello")
            assert caught.value.attempts == attempts

    asyncio.run(scene())
    assert len(script.seen) == attempts
    assert len(waits) == attempts - 1
