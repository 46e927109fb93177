"""How far calls came: the table of moves, and what a batch says at any time."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from interlingua import ToolAnnotations, ToolResultBlock, ToolStateError, ToolUseBlock
from interlingua.agent.tools import Toolbox, tool
from interlingua.agent.tools.calls import MOVES, CallRun
from tools.tool_support import said

DESTRUCTIVE = ToolAnnotations(destructive=True)
CAUSE = "the turn was cancelled"
UNKNOWN = f"The call was started; its outcome is unknown: {CAUSE}."
NOT_RUN = f"Not run: {CAUSE}."
PATIENCE = 30.0


def call(name: str, id: str = "c1", **input: Any) -> ToolUseBlock:
    return ToolUseBlock(id=id, name=name, input=input)


@pytest.mark.parametrize("state", MOVES)
def test_only_the_moves_of_the_table_are_legal(state: Any) -> None:
    for after in MOVES:
        run = CallRun(call("t"))
        run.state = state
        if after in MOVES[state]:
            run.move(after)
            assert run.state == after
        else:
            with pytest.raises(ToolStateError, match=f"cannot be {after} after {state}"):
                run.move(after)


def test_a_call_that_was_started_never_says_that_it_was_not_run() -> None:
    for state in MOVES:
        run = CallRun(call("t"))
        run.state = state
        text = said(run.give_up(CAUSE))
        reached = state in ("started", "finished", "failed", "interrupted")
        if state == "started":
            assert (text, run.state) == (UNKNOWN, "interrupted")
        if not reached:
            assert (text, run.state) == (NOT_RUN, state)


async def cut(box: Toolbox, calls: list[ToolUseBlock], at: asyncio.Event, **options: Any) -> list[tuple[str, str]]:
    """Run the calls, cancel them when ``at`` is set, and say what is known of each."""
    batch = box.batch(calls, **options)
    task = asyncio.create_task(batch.run())
    await at.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    results = batch.give_up(CAUSE)
    return [(run.state, said(result)) for run, result in zip(batch.runs, results, strict=True)]


def test_a_batch_that_is_cut_knows_how_far_each_call_came() -> None:
    async def main() -> list[tuple[str, str]]:
        asked, end = asyncio.Event(), threading.Event()

        @tool
        async def quick() -> str:
            return "done"

        @tool
        async def broken() -> str:
            raise ValueError("no")

        @tool
        async def slow() -> str:
            await asyncio.sleep(PATIENCE)
            return "never"

        @tool
        def stuck() -> str:
            end.wait(PATIENCE)
            return "never"

        @tool(annotations=DESTRUCTIVE)
        async def delete() -> str:
            return "deleted"

        async def approve(call: ToolUseBlock, _: Any) -> bool:
            if call.id == "6":
                asked.set()
                await asyncio.sleep(PATIENCE)
            return call.id == "4"

        names = ["quick", "broken", "slow", "stuck", "delete", "delete", "delete", "delete", "nobody"]
        calls = [call(name, str(n)) for n, name in enumerate(names)]
        found = await cut(Toolbox([quick, broken, slow, stuck, delete]), calls, asked, approve=approve)
        end.set()
        return found

    assert asyncio.run(main()) == [
        ("finished", "done"),
        ("failed", "ValueError: no"),
        ("interrupted", UNKNOWN),
        ("interrupted", UNKNOWN),
        ("finished", "deleted"),
        ("asked", "The user declined this call of `delete`, so it was not run."),
        ("asked", NOT_RUN),
        ("offered", NOT_RUN),
        ("offered", "There is no tool named `nobody`. There are: quick, broken, slow, stuck, delete."),
    ]


def test_what_a_thread_returned_before_the_end_is_kept() -> None:
    """Also where the loop had no time to hear of it."""

    async def main() -> tuple[str, str]:
        started = asyncio.Event()
        loop = asyncio.get_running_loop()

        @tool
        def pay() -> str:
            loop.call_soon_threadsafe(started.set)
            return "paid"

        batch = Toolbox([pay]).batch([call("pay")])
        task = asyncio.create_task(batch.run())
        await started.wait()
        while batch.runs[0].outcome is None:  # the loop stands still, the thread goes on
            pass
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (result,) = batch.give_up(CAUSE)
        return batch.runs[0].state, said(result)

    assert asyncio.run(main()) == ("finished", "paid")


@pytest.mark.parametrize("raises", [False, True])
def test_a_handler_waits_until_its_start_was_told(raises: bool) -> None:
    ran: list[str] = []

    async def on_start(run: CallRun) -> None:
        await asyncio.sleep(0)
        ran.append(f"{run.state} {run.call.id}")
        if raises:
            raise OSError("disk full")

    @tool
    def plain() -> None:
        ran.append("plain")

    async def main() -> tuple[ToolResultBlock, ...]:
        return await Toolbox([plain]).batch([call("plain")], on_start=on_start).run()

    if raises:
        with pytest.raises(OSError, match="disk full"):
            asyncio.run(main())
        assert ran == ["offered c1"]
    else:
        asyncio.run(main())
        assert ran == ["offered c1", "plain"]


def test_after_a_stop_no_handler_is_called() -> None:
    """Not even where the approval does not let itself be cancelled."""
    ran: list[str] = []

    @tool(annotations=DESTRUCTIVE)
    async def delete() -> None:
        ran.append("delete")

    async def main() -> str:
        asked = asyncio.Event()

        async def stubborn(*_: Any) -> bool:
            asked.set()
            try:
                await asyncio.sleep(PATIENCE)
            except asyncio.CancelledError:
                return True
            return False

        batch = Toolbox([delete]).batch([call("delete")], approve=stubborn)
        task = asyncio.create_task(batch.run())
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert batch.runs[0].state == "approved"
        return said(batch.give_up(CAUSE)[0])

    assert asyncio.run(main()).startswith("Not run: ")
    assert ran == []


def test_an_incomplete_call_is_never_run() -> None:
    ran: list[str] = []

    @tool
    def note(text: str) -> None:
        ran.append(text)

    @tool
    def anything() -> None:
        ran.append("anything")

    calls = [
        ToolUseBlock("1", "note", input={"text": "half of it"}, incomplete=True),
        ToolUseBlock("2", "anything", incomplete=True),
    ]
    results = Toolbox([note, anything]).run_sync(calls)
    assert [said(result) for result in results] == [
        "This call of `note` broke off before it was complete, so it was not run.",
        "This call of `anything` broke off before it was complete, so it was not run.",
    ]
    assert all(result.is_error for result in results)
    assert ran == []


# ------------------------------------------------------------------------------------------------------- odd results


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("is_async", [False, True])
def test_an_exception_without_words_is_a_result(is_async: bool) -> None:
    def plain() -> None:
        raise Unspeakable

    async def waiting() -> None:
        raise Unspeakable

    (result,) = Toolbox([tool(waiting if is_async else plain, name="t")]).run_sync([call("t")])
    assert said(result) == "Unspeakable: (its message cannot be read: RuntimeError)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("caf\udce9", "caf\ufffd"),
        (["a\ud800", {"b\udfff": 1}], '["a\ufffd",{"b\ufffd":1}]'),
        ("\ud83d\ude00", "\U0001f600"),
        (ToolResultBlock("x", "caf\udce9"), "caf\ufffd"),
    ],
)
def test_lone_surrogates_in_results_are_replaced(value: Any, text: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "interlingua")

    def names() -> Any:
        return value

    (result,) = Toolbox([names]).run_sync([call("names")])
    assert said(result) == text
    assert not result.is_error
    (record,) = caplog.records
    assert record.getMessage().startswith("a result of names: text held lone surrogates")


def test_lone_surrogates_in_the_text_of_an_exception_are_replaced() -> None:
    def read() -> None:
        raise FileNotFoundError("caf\udce9")

    assert said(Toolbox([read]).run_sync([call("read")])[0]) == "FileNotFoundError: caf\ufffd"
