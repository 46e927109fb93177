"""Turns that come to nothing: the session goes on, a probe is given free, and what was said is accounted for."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from interlingua import (
    AdapterCapabilities,
    AdapterError,
    ErrorClass,
    NotConfigured,
    SqliteStore,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.agent.routing import Router, Rules
from interlingua.agent.session import Session, SyncSession
from interlingua.client.embedded import Script, Step
from session.scenes import DIALECTS, PROVIDERS, scripted

SLOW = Step(act="echo", fault="stall", after=6)
CUT = Step(act="echo", fault="cut", after=6)
ECHO = Step(act="echo")
QUESTION = "one two three four five"


async def test_a_stream_that_nobody_read() -> None:
    session = Session("anthropic:m", manager=scripted())
    async with session.stream("hello"):
        pass
    unread = session.stream("are you there?")
    await unread.aclose()
    assert (await session.send("go on")).text == "You said: go on"
    await session.close()


async def test_a_turn_after_a_stream_that_was_read_is_not_disturbed() -> None:
    """A stream without a reference is over at once; but not the turn that runs after it."""

    async def ask_again() -> str:
        """Ask again."""
        await session.send("at the same time")
        return "asked"

    script = Script(ECHO, Step(content=(ToolUseBlock("c", "ask_again", input={}),)), ECHO)
    session = Session("anthropic:m", [ask_again], manager=scripted(script))
    async for _ in session.stream("hello"):
        pass
    await session.run("go on")
    (result,) = session.messages[4].content
    assert isinstance(result, ToolResultBlock)
    assert "a turn of this session is still running" in str(result.content)
    assert [message.role for message in session.messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    await session.close()


def test_a_stream_that_nobody_read_blocking() -> None:
    session = SyncSession("anthropic:m", manager=scripted())
    with session.stream("hello"):
        pass
    session.run_stream("are you there?").close()
    assert session.send("go on").text == "You said: go on"


class Awaiting:
    """An adapter of somebody's own, which cannot block."""

    name, capabilities = "own", AdapterCapabilities()

    def capabilities_for(self, model: str) -> AdapterCapabilities:
        return self.capabilities


def test_a_turn_that_could_not_begin() -> None:
    manager: Any = scripted()
    manager.register("own", Awaiting())
    session = SyncSession("own:m", manager=manager)
    for _ in range(2):
        with pytest.raises(NotConfigured, match="no synchronous client"):
            session.send("hello")
    session.model = "anthropic:m"
    assert session.send("go on").text == "You said: go on"


# -------------------------------------------------------------------------------------------------------- what is known


FAIL = Step(act="fail", error=ErrorClass.server_error)


def two_models(script: Script, now: list[float]) -> Router:
    """Of which one failure is enough to leave the first alone for thirty seconds."""
    rules = Rules(failures=1, cooldown=30)
    return Router(["anthropic:a", "openai:b"], scripted(script), rules=rules, clock=lambda: now[0])


def left(session: SyncSession) -> None:
    with session.stream(QUESTION) as stream:
        for event in stream:
            if event.type == "text.delta":
                break


async def cancelled(session: Session) -> None:
    task = asyncio.create_task(session.send(QUESTION))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_probe_that_is_left_leaves_the_place_to_another() -> None:
    now = [0.0]
    session = SyncSession(two_models(Script(FAIL, ECHO, SLOW, ECHO), now))
    session.send("hello")
    assert session.router.states() == {"anthropic:a": "open", "openai:b": "closed"}
    now[0] = 31.0
    left(session)
    assert session.messages[-1].metadata["routing"] == [{"model": "anthropic:a", "outcome": "cancelled", "attempts": 1}]
    session.send("go on")
    assert session.messages[-1].origin is not None
    assert session.messages[-1].origin.provider == "anthropic", "it was probed again"
    assert session.router.states()["anthropic:a"] == "closed"


async def test_a_probe_whose_task_is_cancelled_leaves_the_place_to_another() -> None:
    now = [0.0]
    session = Session(two_models(Script(FAIL, ECHO, Step(fault="stall_first"), ECHO), now))
    await session.send("hello")
    now[0] = 31.0
    await cancelled(session)
    await session.send("go on")
    assert session.router.states()["anthropic:a"] == "closed"
    await session.close()


@pytest.mark.parametrize("how", ["cut", "left"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_broke_off_has_its_usage_and_cost(dialect: str, how: str) -> None:
    """Most providers tell the usage with their last word. What came before it was paid for, too."""
    session = SyncSession(f"{PROVIDERS[dialect]}:m", manager=scripted(Script(CUT if how == "cut" else SLOW)))
    if how == "cut":
        with pytest.raises(AdapterError):
            list(session.stream(QUESTION))
    else:
        left(session)
    told = session.messages[-1].metadata
    assert told["usage"]["input_tokens"] > 0
    assert told["usage"]["output_tokens"] > 0
    assert "cost_usd" in told
    assert session.usage.total_tokens == session.report.usage.total_tokens > 0


# ---------------------------------------------------------------------------------------------------- loaded, and kept


@pytest.mark.parametrize("name", ["talk.json", "talk.db"])
def test_what_is_loaded_can_be_kept_where_it_was(name: str, tmp_path: Path) -> None:
    first = SyncSession("anthropic:m", manager=scripted(), store=tmp_path / name)
    first.send("one")
    second = SyncSession.load(tmp_path / name, manager=scripted(), store=tmp_path / name)
    second.send("two")
    assert SyncSession.load(tmp_path / name, manager=scripted()).messages == second.messages
    assert len(second.messages) == 4


def test_what_is_loaded_can_be_kept_elsewhere_whole(tmp_path: Path) -> None:
    SyncSession("anthropic:m", manager=scripted(), store=tmp_path / "talk.json").send("one")
    other = SqliteStore(tmp_path / "other.db")
    session = SyncSession.load(tmp_path / "talk.json", manager=scripted(), store=other)
    session.send("two")
    assert other.load().messages == session.messages
    other.close()
