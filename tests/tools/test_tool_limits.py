"""How many calls and threads run at once, and what happens when no thread is free."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from interlingua import Limits, ToolAnnotations, ToolUseBlock
from interlingua.agent.tools import Toolbox, tool
from tools.tool_support import GIVEN_UP, said

PATIENCE = 30.0


def calls(name: str, count: int) -> list[ToolUseBlock]:
    return [ToolUseBlock(id=str(n), name=name) for n in range(count)]


class Meter:
    """How many were inside together, at most."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.inside = self.most = 0

    def __enter__(self) -> None:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.inside -= 1


def test_two_thousand_calls_of_one_answer_run_sixteen_at_a_time() -> None:
    meter, meeting = Meter(), threading.Barrier(16)

    @tool
    def work() -> None:
        with meter:
            meeting.wait(PATIENCE)  # breaks unless sixteen are here together

    before = threading.active_count()
    results = Toolbox([work]).run_sync(calls("work", 2000))
    assert [result.is_error for result in results] == [None] * 2000
    assert meter.most == 16
    assert threading.active_count() <= before + 16


@pytest.mark.parametrize(("limit", "calls_made", "most"), [(3, 2, 2), (3, 3, 3), (3, 4, 3), (None, 40, 40)])
def test_parallel_tools_one_below_and_one_above(limit: int | None, calls_made: int, most: int) -> None:
    meter = Meter()

    async def main() -> None:
        @tool
        async def work() -> None:
            with meter:
                for _ in range(5):
                    await asyncio.sleep(0)

        await Toolbox([work], limits=Limits(parallel_tools=limit)).run(calls("work", calls_made))

    asyncio.run(main())
    assert meter.most == most


@pytest.mark.parametrize(("made", "most"), [(2, 2), (3, 3), (4, 3)])
def test_threads_one_below_and_one_above(made: int, most: int) -> None:
    meter, meeting = Meter(), threading.Barrier(min(made, 3))

    @tool
    def work(last: bool = False) -> None:
        with meter:
            if not last:
                meeting.wait(PATIENCE)

    asked = [ToolUseBlock(str(n), "work", input={"last": n >= 3}) for n in range(made)]
    results = Toolbox([work], limits=Limits(threads=3)).run_sync(asked)
    assert [result.is_error for result in results] == [None] * made
    assert meter.most == most


def test_approval_stays_in_order_beyond_the_limit() -> None:
    asked: list[str] = []

    @tool(annotations=ToolAnnotations(destructive=True))
    def remove() -> None: ...

    def approve(call: ToolUseBlock, _: Any) -> bool:
        asked.append(call.id)
        return True

    Toolbox([remove], limits=Limits(parallel_tools=2, threads=2)).run_sync(calls("remove", 30), approve=approve)
    assert asked == [str(n) for n in range(30)]


NO_THREAD = "Not run: no thread was free for `{}`; all 2 are kept by calls that have not ended yet."


def test_threads_of_tools_that_hang_stay_taken_and_later_calls_say_so() -> None:
    end = threading.Event()

    @tool(timeout=0.05)
    def hang() -> None:
        end.wait(PATIENCE)

    @tool
    def work() -> str:
        return "worked"

    @tool
    async def waiting() -> str:
        return "no thread is needed"

    box = Toolbox([hang, work, waiting], limits=Limits(threads=2))
    results = box.run_sync(calls("hang", 3))
    assert [said(result) for result in results] == [
        GIVEN_UP.format("hang", "0.05"),
        GIVEN_UP.format("hang", "0.05"),
        NO_THREAD.format("hang"),
    ]
    assert said(box.run_sync(calls("work", 1))[0]) == NO_THREAD.format("work"), "without a timeout: at once"
    assert said(box.run_sync(calls("waiting", 1))[0]) == "no thread is needed"
    end.set()
    while said(box.run_sync(calls("work", 1))[0]) != "worked":
        pass


def test_whoever_waits_gets_the_thread_that_is_free_first() -> None:
    """Across loops: the first call is given up in one loop, the second waits in another."""
    end, waits = threading.Event(), threading.Event()

    @tool(timeout=0.01)
    def hang() -> None:
        end.wait(PATIENCE)

    @tool(timeout=PATIENCE)
    def work() -> str:
        return "worked"

    box = Toolbox([hang, work], limits=Limits(threads=1))
    box.run_sync(calls("hang", 1))

    async def main() -> str:
        task = asyncio.create_task(box.run(calls("work", 1)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waits.set()
        end.set()
        return said((await task)[0])

    assert asyncio.run(main()) == "worked"


def test_one_who_waited_and_was_cancelled_takes_no_place() -> None:
    end = threading.Event()

    @tool
    def hold() -> str:
        end.wait(PATIENCE)
        return "held"

    async def main() -> list[str]:
        box = Toolbox([hold], limits=Limits(threads=1))
        first = asyncio.create_task(box.run(calls("hold", 1)))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(box.run(calls("hold", 1)))
        await asyncio.sleep(0.01)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        end.set()
        return [said((await task)[0]) for task in (first, asyncio.create_task(box.run(calls("hold", 1))))]

    assert asyncio.run(main()) == ["held", "held"]


def test_a_tool_that_runs_tools_of_its_own_box_needs_no_second_place() -> None:
    """With one thread, it would wait for itself."""

    @tool
    def inner() -> str:
        return "inner"

    @tool
    def outer() -> str:
        return said(box.run_sync(calls("inner", 1))[0])

    box = Toolbox([inner, outer], limits=Limits(threads=1))
    assert said(box.run_sync(calls("outer", 1))[0]) == "inner"
