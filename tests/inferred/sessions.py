"""What type checkers infer of sessions. ``mypy`` and ``pyright`` read this file; nothing runs it.

A line with ``type: ignore`` must be an error: both checkers complain of an ignore that is not needed.
"""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Literal, assert_type

from interlingua import (
    ApprovalAsked,
    Message,
    Request,
    Response,
    Session,
    StepEnd,
    SyncSession,
    TextDelta,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseInputDelta,
    connect,
)


async def events_narrow_by_their_type(session: Session) -> None:
    async for event in session.stream("hello"):
        if event.type == "text.delta":
            assert_type(event, TextDelta)
            print(event.text, end="", flush=True)
        elif event.type == "tool.use_input_delta":
            assert_type(event, ToolUseInputDelta)
            assert_type(event.id, str | None)
        elif event.type == "message.complete":
            assert_type(event.response, Response)


async def events_of_a_run_narrow_too(session: Session) -> None:
    async with session.run_stream("hello") as events:
        async for event in events:
            match event.type:
                case "text.delta":
                    print(event.text)
                case "tool.result":
                    assert_type(event, ToolResult)
                    assert_type(event.result, ToolResultBlock)
                case "approval.asked":
                    assert_type(event, ApprovalAsked)
                    assert_type(event.call, ToolUseBlock)
                case "step.end":
                    assert_type(event, StepEnd)
                    assert_type(event.cost_usd, float | None)
                case _:
                    pass
        assert_type(events.response, Response | None)


def events_of_the_blocking_twin(session: SyncSession) -> None:
    for event in session.stream("hello"):
        if event.type == "text.delta":
            print(event.text)
    with session.run_stream("hello") as events:
        for told in events:
            if told.type == "tool.failure":
                assert_type(told.result, ToolResultBlock)


async def text_alone(session: Session, blocking: SyncSession) -> None:
    assert_type(session.stream("hello").text, AsyncIterator[str])
    assert_type(blocking.run_stream("hello").text, Iterator[str])


async def a_client_s_stream(text: str) -> None:
    async with connect("embedded:") as client:
        async for event in client.stream(Request([Message("user", text)])):
            if event.type == "text.delta":
                print(event.text)


async def limits_of_a_run(session: Session) -> None:
    response = await session.run("hello", steps=3, seconds=2.5, tokens=1000, dollars=0.1, calls={"add": 2})
    assert_type(response.stopped, Literal["limit", "cancelled", "handed_over"] | None)
    await session.retry(seconds=5)


async def what_is_misspelt(session: Session, blocking: SyncSession) -> None:
    Session("embedded:", temprature=1)  # type: ignore[call-arg]
    await session.run("hello", temprature=1)  # type: ignore[call-arg]
    await session.send("hello", max_tokens=1)  # type: ignore[call-arg]
    blocking.run_stream("hello", second=1)  # type: ignore[call-arg]
    await session.send("hello", tokens=1)  # type: ignore[call-arg]
    await session.run("hello", calls=["add"])  # type: ignore[arg-type]
    async for event in session.stream("hello"):
        print(event.type == "text")  # type: ignore[comparison-overlap]
