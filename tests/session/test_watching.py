"""Turns that are watched: steps, tools and approvals as events, the text alone, ids that are kept."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from interlingua import (
    MessageStart,
    SessionEvent,
    ToolAnnotations,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseInputDelta,
    ToolUseStart,
)
from interlingua.agent.session import Session, SyncSession
from interlingua.agent.tools import tool
from interlingua.bus import Bus, CallEvent
from interlingua.client.embedded import Script, Step, call
from session.scenes import DIALECTS, PROVIDERS, check_grammar, scripted

DESTRUCTIVE = ToolAnnotations(destructive=True)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fail() -> None:
    """Fails."""
    raise ValueError("no luck")


@tool(annotations=DESTRUCTIVE)
def drop(path: str) -> str:
    """Deletes a file."""
    return f"{path} is gone"


def approve(asked: ToolUseBlock, _: Any) -> bool | str:
    return True if asked.input["path"] == "/tmp/a" else "only below /tmp"


SCRIPT = (
    Step(content=(call("add", a=1, b=2), call("fail"), call("add", a="x"))),
    Step(content=(call("drop", path="/tmp/a"), call("drop", path="/etc"))),
    "done",
)
TOLD = [
    *("step.start 1", "message", "step.end 1"),
    *("step.start 2", "message", "step.end 2"),
    *("step.start 3", "message", "step.end 3"),
]


def line(event: SessionEvent) -> str:
    """An event of the session in short."""
    match event.type:
        case "tool.start" | "approval.asked" | "approval.given":
            return f"{event.type} {event.call.name}"
        case "tool.result" | "tool.failure":
            return f"{event.type} {event.call.name}: {event.result.content[0].text}"  # type: ignore[union-attr]
        case "approval.refused":
            return f"{event.type} {event.reason}"
        case "step.start" | "step.end":
            return f"{event.type} {event.step}"
        case "message.start":
            return "message"
        case _:
            return ""


def watch(kind: type[Session] | type[SyncSession], *arguments: Any, **settings: Any) -> tuple[Any, list[Any]]:
    """A session of that kind, and the events of one run of it."""
    session: Any = kind(*arguments, **settings)

    async def awaited() -> list[Any]:
        async with session, session.run_stream("go") as events:
            return [event async for event in events]

    if kind is Session:
        return session, asyncio.run(awaited())
    with session, session.run_stream("go") as events:
        return session, list(events)


@pytest.mark.parametrize("kind", [Session, SyncSession])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_steps_tools_and_approvals_are_told(dialect: str, kind: Any) -> None:
    settings = {"manager": scripted(Script(*SCRIPT)), "approve": approve}
    session, events = watch(kind, f"{PROVIDERS[dialect]}:m", [add, fail, drop], **settings)
    check_grammar(events)
    told = [said for event in events if (said := line(event))]
    assert [said for said in told if said.split()[0] in ("step.start", "message", "step.end")] == TOLD
    first, second = told[: told.index("step.end 1")], told[told.index("step.start 2") : told.index("step.end 2")]
    assert first[:2] == ["step.start 1", "message"]
    assert sorted(first[2:]) == [
        "tool.failure add: " + text_of(session, 2, 2),
        "tool.failure fail: ValueError: no luck",
        "tool.result add: 3",
        "tool.start add",
        "tool.start fail",
    ]
    approvals = [said for said in second if said.startswith("approval")]
    assert approvals[:3] == ["approval.asked drop", "approval.given drop", "approval.asked drop"]
    assert "approval.refused The user declined this call of `drop`, so it was not run: only below /tmp" in second
    assert told.index("tool.start drop") < told.index("tool.result drop: /tmp/a is gone")
    assert second.count("tool.start drop") == 1
    ends = [event for event in events if event.type == "step.end"]
    answers = [message for message in session.messages if message.role == "assistant"]
    assert [str(end.stop_reason) for end in ends] == [m.metadata["stop_reason"] for m in answers]
    assert [end.cost_usd for end in ends] == [m.metadata["cost_usd"] for m in answers]
    assert all(msgspec.json.decode(msgspec.json.encode(event), type=SessionEvent) == event for event in events[:-2])


def text_of(session: Session | SyncSession, place: int, index: int) -> str:
    result = session.messages[place].content[index]
    assert isinstance(result, ToolResultBlock)
    text: str = result.content[0].text  # type: ignore[union-attr]
    return text


@pytest.mark.parametrize("kind", [Session, SyncSession])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_ids_of_events_are_those_of_the_history(dialect: str, kind: Any) -> None:
    manager = scripted(Script(call("add", a=1, b=2), "three"))
    session, events = watch(kind, f"{PROVIDERS[dialect]}:m", [add], manager=manager)
    kept = [message.id for message in session.messages if message.role == "assistant"]
    assert [event.message_id for event in events if isinstance(event, MessageStart)] == kept
    deltas = [event for event in events if isinstance(event, ToolUseInputDelta)]
    assert {event.id for event in deltas} <= {event.id for event in events if isinstance(event, ToolUseStart)}
    assert all(event.id for event in deltas)


def test_a_stream_of_one_answer_has_no_events_of_steps() -> None:
    with SyncSession("openai:m", manager=scripted(Script("hello"))) as session, session.stream("hi") as events:
        assert not [event.type for event in events if event.type.startswith("step")]


def test_the_text_alone() -> None:
    script = [call("add", a=1, b=2), "it is three"]

    async def scene() -> str:
        async with Session("anthropic:m", [add], manager=scripted(Script(*script))) as session:
            stream = session.run_stream("1 + 2?")
            found = "".join([piece async for piece in stream.text])
            assert stream.response is not None
            return found

    assert asyncio.run(scene()) == "it is three"
    with SyncSession("anthropic:m", [add], manager=scripted(Script(*script))) as session:
        assert "".join(session.run_stream("1 + 2?").text) == "it is three"


@pytest.mark.parametrize("is_async", [True, False])
def test_events_come_while_tools_run(is_async: bool) -> None:
    """A tool that waits until the reader has seen that it was started."""
    seen = threading.Event()

    async def waits() -> str:
        assert await asyncio.to_thread(seen.wait, 30)
        return "seen"

    def blocks() -> str:
        assert seen.wait(30)
        return "seen"

    named = tool(waits if is_async else blocks, name="waits")

    async def scene() -> None:
        async with Session("openai:m", [named], manager=scripted(Script(call("waits"), "done"))) as session:
            async for event in session.run_stream("go"):
                if event.type == "tool.start":
                    seen.set()
            assert text_of(session, 2, 0) == "seen"

    asyncio.run(scene())
    seen.clear()
    with SyncSession("openai:m", [named], manager=scripted(Script(call("waits"), "done"))) as session:
        for event in session.run_stream("go"):
            if event.type == "tool.start":
                seen.set()
        assert text_of(session, 2, 0) == "seen"


async def test_a_call_that_is_given_up_is_told_too() -> None:
    async def waits() -> None:
        await asyncio.sleep(60)

    async with Session("openai:m", [waits], manager=scripted(Script(call("waits")))) as session:
        told = []
        async for event in session.run_stream("go"):
            told.append(line(event))
            if event.type == "tool.start":
                await session.cancel()
        unknown = "The call was started; its outcome is unknown: the turn was cancelled by the caller."
        assert told[-2:] == [f"tool.failure waits: {unknown}", "step.end 1"]
        assert session.report.stopped == "cancelled"


def leave_async(session: Session) -> None:
    async def scene() -> None:
        async with session.run_stream("go") as events:
            async for event in events:
                if event.type == "tool.start":
                    break

    asyncio.run(scene())


def leave_sync(session: SyncSession) -> None:
    with session.run_stream("go") as events:
        for event in events:
            if event.type == "tool.start":
                break


@pytest.mark.parametrize(("kind", "leave"), [(Session, leave_async), (SyncSession, leave_sync)])
def test_a_reader_who_leaves_while_tools_run(kind: Any, leave: Callable[[Any], None]) -> None:
    stopped: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.append("stopped")
            raise

    session = kind("openai:m", [waits], manager=scripted(Script(call("waits"), "fine")))
    leave(session)
    assert stopped == ["stopped"]
    assert "outcome is unknown: the caller left before the turn was over" in text_of(session, 2, 0)
    answer = session.run("go on")
    assert (asyncio.run(answer) if kind is Session else answer).text == "fine"


def test_watching_inside_a_running_loop() -> None:
    """As in a notebook: the tools run in a loop of another thread."""

    async def scene() -> list[str]:
        async def slow() -> str:
            await asyncio.sleep(0)
            return "slow"

        with SyncSession("openai:m", [slow], manager=scripted(Script(call("slow"), "fine"))) as session:
            return [said for event in session.run_stream("go") if (said := line(event))]

    assert "tool.result slow: slow" in asyncio.run(scene())


# ---------------------------------------------------------------------------------------------------------- on the bus


@pytest.mark.parametrize("kind", [Session, SyncSession])
def test_every_call_says_which_session_message_and_step_it_is_of(kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    bus, heard = Bus(), list[CallEvent]()
    bus.subscribe(heard.append)
    manager = scripted(Script(call("add", a=1, b=2), "three"), bus=bus)
    manager.register("work", "anthropic", {"api_key": "sk-1234567890"})
    session, events = watch(kind, "work:m", [add], manager=manager, seed=3)
    answers = [message.id for message in session.messages if message.role == "assistant"]
    assert [event.type for event in heard] == ["llm.call_started", "llm.call_completed"] * 2
    assert {(event.session_id, event.account, event.provider) for event in heard} == {(session.id, "work", "anthropic")}
    assert [(event.message_id, event.step) for event in heard[::2]] == list(zip(answers, (1, 2), strict=True))
    assert len({event.request_id for event in heard}) == 2, "each call has an id of its own"
    (lost,) = [vars(record)["interlingua"] for record in caplog.records if hasattr(record, "interlingua")]
    told = {name: lost[name] for name in ("session_id", "message_id", "step", "account")}
    assert told == {"session_id": session.id, "message_id": answers[0], "step": 1, "account": "work"}
    assert events[-1].type == "step.end"
