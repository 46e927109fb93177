"""Running the calls of a turn: at once, in order, with limits, and with somebody to ask."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from interlingua import ToolAnnotations, ToolDefinition, ToolResultBlock, ToolUseBlock
from interlingua.agent.tools import Toolbox, ToolContext, tool
from tools.tool_support import GIVEN_UP, said

DESTRUCTIVE = ToolAnnotations(destructive=True)
PATIENCE = 30.0  # seconds, where a failure would otherwise be a test that hangs


def call(name: str, id: str = "c1", **input: Any) -> ToolUseBlock:
    return ToolUseBlock(id=id, name=name, input=input)


def run_async(box: Toolbox, calls: Any, **options: Any) -> tuple[ToolResultBlock, ...]:
    return asyncio.run(box.run(calls, **options))


def run_sync(box: Toolbox, calls: Any, **options: Any) -> tuple[ToolResultBlock, ...]:
    return box.run_sync(calls, **options)


def run_sync_in_a_loop(box: Toolbox, calls: Any, **options: Any) -> tuple[ToolResultBlock, ...]:
    async def main() -> tuple[ToolResultBlock, ...]:
        return box.run_sync(calls, **options)

    return asyncio.run(main())


Run = Callable[..., tuple[ToolResultBlock, ...]]
EVERY_WAY = pytest.mark.parametrize("run", [run_async, run_sync, run_sync_in_a_loop])


# -------------------------------------------------------------------------------------------------- at once, in order


@EVERY_WAY
def test_results_are_in_the_order_of_the_calls(run: Run):
    @tool
    def plain(n: int) -> int:
        return n

    @tool
    async def waiting(n: int) -> int:
        await asyncio.sleep(0)
        return n

    def written(input: dict[str, int]) -> int:
        return input["n"]

    box = Toolbox([plain, waiting, (ToolDefinition(name="written"), written)])
    names = ["plain", "waiting", "written", "nobody", "plain"]
    results = run(box, (call(name, str(n), n=n) for n, name in enumerate(names)))
    assert [result.tool_use_id for result in results] == list("01234")
    assert [said(result) for result in results if not result.is_error] == ["0", "1", "2", "4"]
    assert [result.is_error for result in results] == [None, None, None, True, None]


@EVERY_WAY
def test_no_calls_no_results(run: Run):
    assert run(Toolbox(), []) == ()


@EVERY_WAY
def test_plain_functions_run_at_the_same_time(run: Run):
    meeting = threading.Barrier(3)

    @tool
    def meet() -> str:
        meeting.wait(PATIENCE)  # breaks unless all three are here
        return "met"

    results = run(Toolbox([meet]), [call("meet", str(n)) for n in range(3)])
    assert [said(result) for result in results] == ["met"] * 3


@EVERY_WAY
def test_asynchronous_functions_run_at_the_same_time(run: Run):
    meeting = asyncio.Barrier(3)

    @tool
    async def meet() -> str:
        async with asyncio.timeout(PATIENCE):
            await meeting.wait()
        return "met"

    results = run(Toolbox([meet]), [call("meet", str(n)) for n in range(3)])
    assert [said(result) for result in results] == ["met"] * 3


def test_a_plain_function_does_not_block_the_loop():
    go = threading.Event()

    @tool
    def wait() -> str:
        return "went" if go.wait(PATIENCE) else "never"

    async def main() -> str:
        task = asyncio.create_task(Toolbox([wait]).run([call("wait")]))
        await asyncio.sleep(0.01)
        go.set()  # reached only if the loop is free
        return said((await task)[0])

    assert asyncio.run(main()) == "went"


@EVERY_WAY
def test_each_result_is_told_when_it_is_there(run: Run):
    first = threading.Event()

    @tool
    def early() -> str:
        return "early"

    @tool
    def late() -> str:
        return "late" if first.wait(PATIENCE) else "never"

    told: list[str] = []

    def on_result(result: ToolResultBlock) -> None:
        told.append(said(result))
        first.set()

    results = run(Toolbox([late, early]), [call("late", "1"), call("early", "2")], on_result=on_result)
    assert told == ["early", "late"]
    assert [said(result) for result in results] == ["late", "early"]


@EVERY_WAY
def test_whoever_is_told_may_be_asynchronous(run: Run):
    told: list[str] = []

    async def on_result(result: ToolResultBlock) -> None:
        await asyncio.sleep(0)
        told.append(result.tool_use_id)

    run(Toolbox(), [call("nobody")], on_result=on_result)
    assert told == ["c1"]


@EVERY_WAY
def test_metadata_and_context_variables_reach_the_tool(run: Run):
    user = contextvars.ContextVar("user", default="nobody")

    @tool
    def plain(context: ToolContext) -> list[Any]:
        return [context.call_id, context.tool_name, context.metadata, user.get()]

    @tool
    async def waiting(context: ToolContext) -> list[Any]:
        return [context.call_id, context.tool_name, context.metadata, user.get()]

    token = user.set("me")
    try:
        results = run(Toolbox([plain, waiting]), [call("plain"), call("waiting")], metadata={"k": 1})
    finally:
        user.reset(token)
    assert [said(result) for result in results] == ['["c1","plain",{"k":1},"me"]', '["c1","waiting",{"k":1},"me"]']


# --------------------------------------------------------------------------------------------------------------- errors


@EVERY_WAY
def test_errors_are_results(run: Run):
    @tool
    def plain() -> None:
        raise ValueError("no")

    @tool
    async def waiting() -> None:
        raise LookupError("not here")

    @tool
    async def gives_up() -> None:
        raise asyncio.CancelledError("by myself")

    @tool
    def stops() -> None:
        raise StopIteration("x")

    @tool
    async def own_timeout() -> None:
        raise TimeoutError("theirs")

    @tool(timeout=PATIENCE)
    def good() -> str:
        return "good"

    tools = [plain, waiting, gives_up, stops, own_timeout, good]
    results = run(Toolbox(tools), [call(one.name) for one in tools])
    assert [result.is_error for result in results] == [True] * 5 + [None]
    assert [said(result) for result in results[:3]] == [
        "ValueError: no",
        "LookupError: not here",
        "CancelledError: by myself",
    ]
    assert "StopIteration" in said(results[3])
    assert said(results[4]) == "TimeoutError: theirs"
    assert "Traceback" not in str(results)


def test_a_plain_function_may_return_something_to_await():
    async def later() -> str:
        return "later"

    def promise() -> Any:
        return later()

    assert said(Toolbox([promise]).run_sync([call("promise")])[0]) == "later"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("is_async", [False, True])
def test_an_interrupt_is_not_a_result(kind, is_async):
    def plain() -> None:
        raise kind

    async def waiting() -> None:
        raise kind

    box = Toolbox([tool(waiting if is_async else plain, name="t")])
    with pytest.raises(kind):
        box.run_sync([call("t")])


@EVERY_WAY
def test_a_malformed_call_is_never_run(run: Run):
    ran: list[str] = []

    @tool
    def t(x: int = 1) -> None:
        ran.append("t")

    (result,) = run(Toolbox([t]), [ToolUseBlock(id="c1", name="t", input_text='{"x": ')])
    assert result.is_error
    assert "Input data was truncated (byte 6)" in said(result)
    assert ran == []


# ------------------------------------------------------------------------------------------------------------- timeouts


@EVERY_WAY
def test_a_tool_that_takes_too_long_is_given_up(run: Run):
    end = threading.Event()
    stopped: list[str] = []

    @tool(timeout=0.05)
    def plain() -> str:
        end.wait(PATIENCE)
        return "too late"

    @tool(timeout=0.05)
    async def waiting() -> str:
        try:
            await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            stopped.append("waiting")
            raise
        return "too late"

    @tool
    def good() -> str:
        return "good"

    results = run(Toolbox([plain, waiting, good]), [call("plain"), call("waiting"), call("good")])
    end.set()
    assert said(results[0]) == GIVEN_UP.format("plain", "0.05")
    assert said(results[1]) == GIVEN_UP.format("waiting", "0.05")
    assert [result.is_error for result in results] == [True, True, None]
    assert stopped == ["waiting"]  # what can be stopped is stopped


def test_the_boxs_timeout_is_for_tools_without_their_own():
    @tool(timeout=PATIENCE)
    async def patient() -> str:
        await asyncio.sleep(0.1)
        return "done"

    @tool
    async def other() -> str:
        await asyncio.sleep(PATIENCE)
        return "done"

    results = Toolbox([patient, other], timeout=0.05).run_sync([call("patient"), call("other")])
    assert [result.is_error for result in results] == [None, True]


def test_an_abandoned_thread_keeps_neither_the_loop_nor_the_program():
    code = """
import threading
from interlingua.types import ToolUseBlock
from interlingua.agent.tools import Toolbox, tool

@tool(timeout=0.05)
def hang() -> str:
    threading.Event().wait()
    return ""

for _ in range(3):
    results = Toolbox([hang]).run_sync([ToolUseBlock(id=str(n), name="hang") for n in range(20)])
    assert all(result.is_error for result in results)
print("over")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == ("over\n", 0), done.stderr


# --------------------------------------------------------------------------------------------------------- cancellation


def test_cancelling_stops_what_runs():
    stopped: list[str] = []
    running = asyncio.Event()

    @tool
    async def waiting() -> str:
        running.set()
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            stopped.append("waiting")
        return ""

    end = threading.Event()

    @tool
    def plain() -> str:
        end.wait(PATIENCE)
        return ""

    async def main() -> None:
        task = asyncio.create_task(Toolbox([waiting, plain]).run([call("waiting"), call("plain")]))
        await running.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert stopped == ["waiting"]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    end.set()


@pytest.mark.parametrize("who", ["on_result", "approve"])
def test_what_the_caller_raises_is_raised_and_stops_the_rest(who):
    stopped: list[str] = []

    class Abort(Exception):
        pass

    def abort(*_: Any) -> bool:
        raise Abort

    @tool(annotations=DESTRUCTIVE)
    async def first() -> str:
        return ""

    @tool
    async def second() -> str:
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            stopped.append("second")
        return ""

    options = {"approve": lambda *_: True, who: abort}
    with pytest.raises(Abort):
        Toolbox([first, second]).run_sync([call("second"), call("first")], **options)
    assert stopped == ["second"]


# ------------------------------------------------------------------------------------------------------------- approval


def removing(ran: list[str]) -> Toolbox:
    @tool(annotations=DESTRUCTIVE)
    def remove(path: str) -> str:
        ran.append(path)
        return f"removed {path}"

    @tool(annotations=ToolAnnotations(read_only=True))
    def look() -> str:
        return "looked"

    return Toolbox([remove, look])


NO_VERDICT = "`remove` was not run: its approval returned neither True, False nor a reason, but {}."


async def later(verdict: Any) -> Any:
    await asyncio.sleep(0)
    return verdict


@EVERY_WAY
@pytest.mark.parametrize(
    ("approve", "result"),
    [
        (lambda *_: True, "removed a"),
        (lambda *_: later(True), "removed a"),
        (lambda *_: False, "The user declined this call of `remove`, so it was not run."),
        (lambda *_: later(False), "The user declined this call of `remove`, so it was not run."),
        (lambda *_: "not on Fridays", "The user declined this call of `remove`, so it was not run: not on Fridays"),
        (lambda *_: "", "The user declined this call of `remove`, so it was not run."),
        (lambda *_: None, NO_VERDICT.format("NoneType")),
        (lambda *_: 1, NO_VERDICT.format("int")),
        (lambda *_: {"approved": False}, NO_VERDICT.format("dict")),
        (lambda *_: later(1), NO_VERDICT.format("int")),
        (lambda *_: later(later(False)), "The user declined this call of `remove`, so it was not run."),
        (lambda *_: later(later(True)), "removed a"),
        (lambda *_: later(object()), NO_VERDICT.format("object")),
        (
            None,
            "`remove` is destructive and nobody can approve it, so it was not run (the caller must pass approve=).",
        ),
    ],
)
def test_a_destructive_tool_needs_approval(run: Run, approve, result):
    ran: list[str] = []
    got = run(removing(ran), [call("remove", path="a"), call("look")], approve=approve)
    assert said(got[0]) == result
    assert ran == (["a"] if result == "removed a" else [])
    assert got[0].is_error is (None if ran else True)
    assert said(got[1]) == "looked"


@EVERY_WAY
def test_only_what_would_run_is_asked_one_at_a_time_and_in_order(run: Run):
    asked: list[tuple[str, str]] = []
    open_questions: list[str] = []

    async def approve(call: ToolUseBlock, definition: ToolDefinition) -> bool:
        assert open_questions == []
        open_questions.append(call.id)
        asked.append((call.id, definition.name))
        await asyncio.sleep(0.001)
        open_questions.remove(call.id)
        return call.id != "2"

    ran: list[str] = []
    calls = [call("remove", str(n), path=str(n)) for n in range(4)]
    calls[1] = ToolUseBlock(id="1", name="remove", input_text="{")
    run(removing(ran), [*calls, call("look", "4")], approve=approve)
    assert asked == [("0", "remove"), ("2", "remove"), ("3", "remove")]
    assert sorted(ran) == ["0", "3"]


def test_a_blocking_question_is_asked_in_the_callers_thread():
    asked: list[threading.Thread] = []

    def approve(*_: Any) -> bool:
        asked.append(threading.current_thread())
        return True

    removing([]).run_sync([call("remove", path="a")], approve=approve)
    assert asked == [threading.current_thread()]


# ---------------------------------------------------------------------------------------------------------- imports


def test_the_tools_bring_no_extra_along():
    extras = "('mcp', 'pydantic', 'anyio', 'aiohttp')"
    code = f"import sys, interlingua.agent.tools; print([m for m in {extras} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
