"""Running the calls of one answer together: limits, approval, threads for what would block the loop."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from functools import partial
from typing import Any, TypedDict, TypeVar, Unpack

from ...types.blocks import ToolResultBlock, ToolUseBlock
from ...types.session_events import (
    ApprovalAsked,
    ApprovalGiven,
    ApprovalRefused,
    SessionEvent,
    ToolFailure,
    ToolResult,
    ToolStart,
)
from ...types.tools import ToolDefinition
from .calls import RUNNING, CallRun
from .reading import Ready
from .results import failure, failure_of, result_of
from .threads import Threads

__all__ = ["Approve", "Batch", "BatchArguments", "OnResult", "OnStart", "cancellations"]

log = logging.getLogger("interlingua")

T = TypeVar("T")

STOPPED = "the turn was stopped"
ENDED = "the program ended before the call did"
"""Why nobody knows what became of a call that was started by an earlier process."""

Approve = Callable[[ToolUseBlock, ToolDefinition], bool | str | Awaitable[bool | str]]
"""Asked before a destructive tool runs: ``True`` to run it, ``False`` or a reason to refuse. Nothing else approves."""

OnResult = Callable[[ToolResultBlock], object]
"""Told of each result as soon as it is there; what it returns is awaited if it can be."""

OnStart = Callable[[CallRun], Awaitable[None]]
"""Awaited before a handler is called. If it raises, the handler is not called."""

Watcher = Callable[[SessionEvent], object]
"""Told of what happens to each call."""


class BatchArguments(TypedDict, total=False):
    """What a batch may be told beside its calls."""

    started: Container[str]
    """Ids of calls that were started earlier; they are answered, but not run again."""
    approve: Approve | None
    on_result: OnResult | None
    on_start: OnStart | None
    metadata: Mapping[str, Any] | None
    """For ``ToolContext``."""


class Batch:
    """The calls of one answer. ``run`` and ``watch`` run them; ``runs`` says at any time how far each came."""

    def __init__(
        self,
        calls: Iterable[ToolUseBlock],
        prepare: Callable[[ToolUseBlock], Ready | ToolResultBlock],
        threads: Threads,
        *,
        parallel: int | None,
        timeout: float | None,
        **arguments: Unpack[BatchArguments],
    ) -> None:
        started = arguments.get("started", ())
        self.runs = tuple(CallRun(call, "started" if call.id in started else "offered") for call in calls)
        self.cause: str | None = None
        """Why the calls were stopped, where it is known here and nowhere else."""
        self._prepare, self._threads, self._timeout = prepare, threads, timeout
        self._approve, self._on_result = arguments.get("approve"), arguments.get("on_result")
        self._on_start = arguments.get("on_start")
        self._metadata = dict(arguments.get("metadata") or {})
        self._asking = asyncio.Lock()
        self._places: AbstractAsyncContextManager[Any] = (
            nullcontext() if parallel is None else asyncio.Semaphore(max(1, parallel))
        )
        self._tasks: list[asyncio.Task[ToolResultBlock]] = []
        self._closed: str | None = None
        """Why no handler is called any more."""
        self.time: tuple[float, str] | None = None
        """After how many seconds the calls are given up, and why."""
        self._ended = False
        self._watcher: Watcher | None = None
        self.observer: Watcher | None = None
        """Told of the same as whoever watches, whether anybody watches or not."""

    async def run(self) -> tuple[ToolResultBlock, ...]:
        """All results, in order. When one call raises or the caller is cancelled, the others are cancelled first."""
        before = cancellations()
        self._tasks = [asyncio.create_task(_held(partial(self._answer, run))) for run in self.runs]
        timer = (
            None if self.time is None else asyncio.get_running_loop().call_later(self.time[0], self.end, self.time[1])
        )
        try:
            return tuple(await asyncio.gather(*self._tasks))
        except GeneratorExit:  # nothing can be awaited any more
            self.stop(STOPPED)
            raise
        except BaseException as error:
            self.stop(STOPPED)
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if isinstance(error, _Held):
                raise error.error from None
            if self._ended and isinstance(error, asyncio.CancelledError) and cancellations() == before:
                return self.give_up(STOPPED)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    async def watch(self) -> AsyncGenerator[SessionEvent, None]:
        """``run``, told event by event."""
        told: asyncio.Queue[SessionEvent | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(event: SessionEvent | None) -> None:
            with suppress(RuntimeError):  # the loop is closed: a thread was given up, and nobody watches any more
                loop.call_soon_threadsafe(told.put_nowait, event)

        self._watcher = tell
        for run in self.runs:
            run.tell = tell
        running = asyncio.create_task(_held(self.run))
        running.add_done_callback(lambda _: tell(None))
        try:
            while (event := await told.get()) is not None:
                yield event
        except BaseException:
            running.cancel()
            await asyncio.wait([running])
            if not running.cancelled():
                running.exception()  # else asyncio logs that it was never retrieved
            raise
        try:
            running.result()
        except _Held as held:
            raise held.error from None

    @property
    def is_observed(self) -> bool:
        """Whether anybody is told of events."""
        return self._watcher is not None or self.observer is not None

    def _tell(self, event: SessionEvent) -> None:
        for told in (self.observer, self._watcher):
            if told is not None:
                told(event)

    def end(self, cause: str) -> None:
        """As ``stop``, but ``run`` returns with what is known of each call."""
        self.cause, self._ended = self.cause or cause, True
        self.stop(cause)

    def untold(self) -> list[SessionEvent]:
        """The ends that whoever watched was not told: of calls that were given up."""
        return [_ending(run) for run in self.runs if run.result is not None and not run.is_told]

    def close(self, cause: str) -> None:
        """Call no more handlers; those that run are waited for."""
        self._closed = self._closed or cause

    def stop(self, cause: str) -> None:
        """Call no more handlers, and cancel what still runs."""
        self.close(cause)
        for task in self._tasks:
            task.cancel()

    def give_up(self, cause: str) -> tuple[ToolResultBlock, ...]:
        """A result for each call: those that exist, and what is known of the others."""
        return tuple(run.give_up(self.cause or cause) for run in self.runs)

    async def _answer(self, run: CallRun) -> ToolResultBlock:
        if run.state == "started":
            return run.give_up(ENDED)
        RUNNING.set(run)
        ready = self._prepare(run.call)
        result = run.answer(ready) if isinstance(ready, ToolResultBlock) else await self._result(run, ready)
        if self.is_observed:
            self._tell(_ending(run))
            run.is_told = True
        if self._on_result is not None:
            await _settled(self._on_result(result))
        return result

    async def _result(self, run: CallRun, ready: Ready) -> ToolResultBlock:
        if ready.tool.is_destructive and (why := await self._refusal(run, ready)) is not None:
            return run.answer(failure(run.call, why))
        async with self._places:
            return await self._run(run, ready)

    # ------------------------------------------------------------------------------------------------------ approval

    async def _refusal(self, run: CallRun, ready: Ready) -> str | None:
        """Why a destructive tool may not run. One question at a time, in the order of the calls."""
        name = ready.tool.name
        if self._approve is None:
            return (
                f"`{name}` is destructive and nobody can approve it, so it was not run (the caller must pass approve=)."
            )
        async with self._asking:
            run.move("asked")
            if self.is_observed:
                self._tell(ApprovalAsked(run.call, ready.tool.definition))
            verdict = await self._verdict(ready)
        if verdict is not True:
            why = _why_refused(name, verdict)
        else:
            run.move("approved")
            why = None
        if self.is_observed:
            self._tell(ApprovalGiven(run.call) if why is None else ApprovalRefused(run.call, why))
        return why

    async def _verdict(self, ready: Ready) -> Any:
        assert self._approve is not None
        try:
            verdict: Any = self._approve(ready.call, ready.tool.definition)
            while inspect.isawaitable(verdict):  # also what an asynchronous approval returned without awaiting it
                verdict = await verdict
            return verdict
        except Exception as error:
            self.cause = self.cause or f"the approval function raised {type(error).__name__}"
            raise

    # --------------------------------------------------------------------------------------------------- one handler

    async def _run(self, run: CallRun, ready: Ready) -> ToolResultBlock:
        seconds = ready.tool.timeout if ready.tool.timeout is not None else self._timeout
        if ready.tool.is_async:
            refused = await self._refused_start(run)
            return refused or await _outcome(run, ready, seconds, partial(ready.invoke, self._metadata))
        if not await self._threads.enter(seconds):
            return run.answer(failure(run.call, self._no_thread(ready)))
        try:
            refused = await self._refused_start(run)
        except BaseException:
            self._threads.leave()
            raise
        if refused is not None:
            self._threads.leave()
            return refused
        return await _outcome(run, ready, seconds, partial(self._in_thread, run, ready))

    async def _refused_start(self, run: CallRun) -> ToolResultBlock | None:
        """None: the call is started now, and its handler must be called before anything is awaited."""
        if self._on_start is not None and self._closed is None:
            await self._on_start(run)
        if _is_cancelled():  # an approval may have swallowed it
            raise asyncio.CancelledError
        if self._closed is not None:
            return run.give_up(self.cause or self._closed)
        run.move("started")
        if self.is_observed:
            self._tell(ToolStart(run.call))
        return None

    def _no_thread(self, ready: Ready) -> str:
        return (
            f"Not run: no thread was free for `{ready.tool.name}`; "
            f"all {self._threads.limit} are kept by calls that have not ended yet."
        )

    async def _in_thread(self, run: CallRun, ready: Ready) -> Any:
        def told(value: Any, error: BaseException | None) -> None:
            run.outcome = value, error

        await self._threads.run(partial(ready.invoke, self._metadata), ready.tool.name, told)
        assert run.outcome is not None
        value, error = run.outcome
        if error is not None:
            raise _Raised(error)
        return await _settled(value)


async def _outcome(
    run: CallRun, ready: Ready, seconds: float | None, work: Callable[[], Awaitable[Any]]
) -> ToolResultBlock:
    """What a handler came to that is started here and now, without waiting for anything before."""
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            value = await work()
    except _Raised as raised:
        if isinstance(raised.error, KeyboardInterrupt | SystemExit):
            raise raised.error from None
        return run.answer(failure_of(run.call, raised.error))
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        return run.answer(failure_of(run.call, error))  # the tool's own
    except Exception as error:  # noqa: BLE001 - whatever it is, the model is told
        if scope.expired():
            return run.give_up(f"`{ready.tool.name}` did not answer within {seconds:g} seconds and was given up")
        return run.answer(failure_of(run.call, error))
    return run.answer(result_of(run.call, value))


def _why_refused(name: str, verdict: Any) -> str:
    if verdict is False or isinstance(verdict, str):
        return f"The user declined this call of `{name}`, so it was not run" + (f": {verdict}" if verdict else ".")
    kind = type(verdict).__name__
    log.warning("approve returned %s for a call of %s, which was not run: only True approves", kind, name)
    return f"`{name}` was not run: its approval returned neither True, False nor a reason, but {kind}."


def _ending(run: CallRun) -> SessionEvent:
    assert run.result is not None
    return (ToolFailure if run.result.is_error else ToolResult)(run.call, run.result)


class _Raised(Exception):
    """What a handler raised in its thread; a StopIteration cannot pass through a coroutine as it is."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _is_cancelled() -> bool:
    return cancellations() > 0


def cancellations() -> int:
    """How often the task that this runs in was cancelled."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


async def _settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


class _Held(Exception):
    """A KeyboardInterrupt or SystemExit: raised by a task as it is, it would end the loop before anybody cleans up."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


async def _held(work: Callable[[], Awaitable[T]]) -> T:
    try:
        return await work()
    except (KeyboardInterrupt, SystemExit) as error:
        raise _Held(error) from None
