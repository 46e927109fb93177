"""What one run may spend. A limit that is reached ends the run legally, and the answer says which."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from math import nan
from typing import Any

import pytest

from interlingua import (
    AdapterError,
    InvalidRequestError,
    Price,
    Pricing,
    ToolAnnotations,
    ToolResultBlock,
    ToolUseBlock,
    validate_tool_results,
)
from interlingua.agent.session import Session, SyncSession
from interlingua.agent.tools import tool
from interlingua.client.embedded import Script, Step, call
from session.scenes import scripted

ENDLESS = Step(content=(call("add", a=1, b=2),))
PRICES = Pricing({"anthropic:m": Price(input=1.0, output=1.0)}, tables=())


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def search(words: str) -> str:
    """Search."""
    return f"nothing about {words}"


def waited(found: Any) -> Any:
    return asyncio.run(found) if asyncio.iscoroutine(found) else found


def results(session: Any) -> list[str]:
    found = [block for message in session.messages for block in message.content if isinstance(block, ToolResultBlock)]
    return [block.content[0].text for block in found]  # type: ignore[union-attr]


REACHED: tuple[tuple[dict[str, Any], int, str], ...] = (
    # limit                    answers  the reason
    ({"steps": 2}, 2, "the limit of 2 steps"),
    ({"tokens": 1}, 1, "the limit of 1 tokens"),
    ({"dollars": 0.0000001}, 1, "the limit of $1e-07"),
    ({"calls": {"add": 2}}, 3, "the limit of 2 calls of `add`"),
    ({"calls": {"add": 0, "search": 1}}, 1, "the limit of 0 calls of `add`"),
)


@pytest.mark.parametrize("kind", [Session, SyncSession])
@pytest.mark.parametrize(("limit", "answers", "reason"), REACHED)
def test_a_limit_that_is_reached_ends_the_run(kind: Any, limit: Any, answers: int, reason: str) -> None:
    session = kind("anthropic:m", [add, search], manager=scripted(Script(*[ENDLESS] * 9)), pricing=PRICES)
    response = waited(session.run("go", **limit))
    told = f"{reason} for this turn is reached"
    assert (response.stopped, response.stopped_reason) == ("limit", told)
    assert (session.report.stopped, session.report.stopped_reason) == ("limit", told)
    assert session.report.warnings[-1:] == (told,)
    assert session.report.steps == answers
    assert results(session) == ["3"] * (answers - 1) + [f"Not run: {told}."]
    assert validate_tool_results(session.messages, dialect="anthropic-messages") == []


@pytest.mark.parametrize("kind", [Session, SyncSession])
def test_limits_that_are_not_reached_change_nothing(kind: Any) -> None:
    manager = scripted(Script(ENDLESS, "three"))
    session = kind("anthropic:m", [add], manager=manager, pricing=PRICES)
    limits: dict[str, Any] = {"steps": 2, "seconds": 60, "tokens": 10**6, "dollars": 9, "calls": {"add": 1}}
    response = waited(session.run("go", **limits))
    assert (response.text, response.stopped, response.stopped_reason) == ("three", None, None)


# -------------------------------------------------------------------------------------------------------------- seconds


@tool(name="add")
async def quick(a: int, b: int) -> int:
    """Add two numbers, at once."""
    return a + b


async def waits() -> str:
    await asyncio.sleep(60)
    return "never"


def blocks() -> str:
    threading.Event().wait(60)
    return "never"


async def asks(*_: Any) -> bool:
    await asyncio.sleep(60)
    return True


DESTRUCTIVE = ToolAnnotations(destructive=True)
UNKNOWN = "The call was started; its outcome is unknown: the limit of 0.5 seconds for this turn is reached."
NOT_RUN = "Not run: the limit of 0.5 seconds for this turn is reached."
SLOW: tuple[tuple[Callable[..., Any], str], ...] = (
    (tool(waits, name="slow"), UNKNOWN),
    (tool(blocks, name="slow"), UNKNOWN),
    (tool(waits, name="slow", annotations=DESTRUCTIVE), NOT_RUN),
)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", [Session, SyncSession])
@pytest.mark.parametrize(("slow", "told"), SLOW)
def test_seconds_bound_tools_and_approvals(kind: Any, slow: Any, told: str, streamed: bool) -> None:
    both = Step(content=(call("add", a=1, b=2), call("slow")))
    session = kind("anthropic:m", [quick, slow], manager=scripted(Script(both, "fine")), approve=asks)

    async def read(stream: Any) -> Any:
        events = [event async for event in stream]
        assert [event.type for event in events][-2:] == ["tool.failure", "step.end"]
        return stream.response

    if not streamed:
        response = waited(session.run("go", seconds=0.5))
    elif kind is Session:
        response = asyncio.run(read(session.run_stream("go", seconds=0.5)))
    else:
        stream = session.run_stream("go", seconds=0.5)
        assert [event.type for event in stream][-2:] == ["tool.failure", "step.end"]
        response = stream.response
    assert (response.stopped, response.stopped_reason) == ("limit", told.partition(": ")[2].rstrip("."))
    assert results(session) == ["3", told]
    assert waited(session.run("go on")).text == "fine"


async def test_the_task_that_is_cancelled_at_the_same_moment_is_cancelled() -> None:
    session = Session("anthropic:m", [waits], manager=scripted(Script(call("waits"), "fine")))
    task = asyncio.create_task(session.run("go", seconds=0.02))
    await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled() or task.result().stopped == "limit"
    assert (await session.run("go on")).text == "fine"


# ----------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("kind", [Session, SyncSession])
def test_dollars_need_a_price(kind: Any) -> None:
    script = Script("hello")
    session = kind("anthropic:nobody-knows-it", manager=scripted(script), pricing=Pricing(tables=()))
    with pytest.raises(InvalidRequestError, match="the price of anthropic:nobody-knows-it is not known"):
        waited(session.run("go", dollars=1.0))
    assert (script.seen, session.messages) == ([], ())


@pytest.mark.parametrize("wrong", [{"calls": {"serach": 1}}, {"steps": 0}])
def test_limits_without_sense_are_refused(wrong: Any) -> None:
    session = SyncSession("anthropic:m", [search], manager=scripted())
    with pytest.raises(AdapterError, match=r"serach|at least one step"):
        session.run("go", **wrong)
    assert session.messages == ()


@pytest.mark.parametrize(
    "wrong", [{"tokens": "9"}, {"seconds": True}, {"dollars": nan}, {"calls": 3}, {"calls": {"search": "2"}}]
)
def test_limits_of_the_wrong_type_are_refused_before_anything_is_asked(wrong: Any) -> None:
    script = Script(call("search"))
    session = SyncSession("anthropic:m", [search], manager=scripted(script))
    with pytest.raises(TypeError, match=f"{next(iter(wrong))}"):
        session.run("go", **wrong)
    assert (script.seen, session.messages) == ([], ())


def test_one_answer_takes_no_limits() -> None:
    session = SyncSession("anthropic:m", manager=scripted())
    with pytest.raises(TypeError, match="tokens limits a run, and this turn is one answer"):
        session.send("go", tokens=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def test_calls_of_a_retried_run_count_anew() -> None:
    steps = [ENDLESS, ToolUseBlock("c", "add", input={"a": 1, "b": 1}), "three"]
    session = SyncSession("anthropic:m", [add], manager=scripted(Script(*steps)))
    assert session.run("go", calls={"add": 1}).stopped == "limit"
    assert session.retry(calls={"add": 1}).text == "three"
