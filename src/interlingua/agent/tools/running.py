"""Running the calls of one answer together: limits, approval, and threads for handlers that would block the loop."""

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
"""The cause for a call that an earlier process started, so that its outcome is unknown."""

Approve = Callable[[ToolUseBlock, ToolDefinition], bool | str | Awaitable[bool | str]]
"""Called before a destructive tool runs. Only ``True`` lets it run; ``False`` or a reason in words refuses it."""

OnResult = Callable[[ToolResultBlock], object]
"""Called with each result as soon as it exists. If it returns an awaitable, that is awaited."""

OnStart = Callable[[CallRun], Awaitable[None]]
"""Awaited before a handler is called. If it raises, the handler is not called."""

Watcher = Callable[[SessionEvent], object]
"""Called with each event of the calls."""


class BatchArguments(TypedDict, total=False):
    """The optional arguments of a batch."""

    started: Container[str]
    """Ids of calls that an earlier process started. They are answered, but not run again."""
    approve: Approve | None
    on_result: OnResult | None
    on_start: OnStart | None
    metadata: Mapping[str, Any] | None
    """The ``metadata`` of each ``ToolContext``."""


class Batch:
    """The calls of one answer. ``run`` or ``watch`` runs them; ``runs`` says at any time how far each has come."""

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
        """Why the calls were stopped, if the batch knows it better than its caller."""
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
        """Why no further handler is called; None while handlers may be called."""
        self.time: tuple[float, str] | None = None
        """After how many seconds the calls are given up, and the cause to give then."""
        self._ended = False
        self._watcher: Watcher | None = None
        self.observer: Watcher | None = None
        """Called with the same events as the reader of ``watch``, even if there is none."""

    async def run(self) -> tuple[ToolResultBlock, ...]:
        """Run the calls and return all results, in order. If one raises or the caller is cancelled, all end."""
        before = cancellations()
        self._tasks = [asyncio.create_task(_wrap_exits(partial(self._answer, run))) for run in self.runs]
        timer = (
            None if self.time is None else asyncio.get_running_loop().call_later(self.time[0], self.end, self.time[1])
        )
        try:
            return tuple(await asyncio.gather(*self._tasks))
        except GeneratorExit:  # the coroutine was closed, so nothing can be awaited any more
            self.stop(STOPPED)
            raise
        except BaseException as error:
            self.stop(STOPPED)
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if isinstance(error, _WrappedExit):
                raise error.error from None
            if self._ended and isinstance(error, asyncio.CancelledError) and cancellations() == before:
                return self.give_up(STOPPED)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    async def watch(self) -> AsyncGenerator[SessionEvent, None]:
        """Run the calls like ``run``, and yield their events."""
        events: asyncio.Queue[SessionEvent | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def emit(event: SessionEvent | None) -> None:
            with suppress(RuntimeError):  # the loop is closed: the event is from a thread whose call was given up
                loop.call_soon_threadsafe(events.put_nowait, event)

        self._watcher = emit
        for run in self.runs:
            run.emit = emit
        running = asyncio.create_task(_wrap_exits(self.run))
        running.add_done_callback(lambda _: emit(None))
        try:
            while (event := await events.get()) is not None:
                yield event
        except BaseException:
            running.cancel()
            await asyncio.wait([running])
            if not running.cancelled():
                running.exception()  # else asyncio logs that it was never retrieved
            raise
        try:
            running.result()
        except _WrappedExit as wrapped:
            raise wrapped.error from None

    @property
    def is_observed(self) -> bool:
        """Whether anything receives the events."""
        return self._watcher is not None or self.observer is not None

    def _emit(self, event: SessionEvent) -> None:
        for receive in (self.observer, self._watcher):
            if receive is not None:
                receive(event)

    def end(self, cause: str) -> None:
        """Like ``stop``, but ``run`` does not raise: each call gets a result that says what is known of it."""
        self.cause, self._ended = self.cause or cause, True
        self.stop(cause)

    def unreported(self) -> list[SessionEvent]:
        """The final events that were not emitted: those of calls that were given up."""
        return [_final_event(run) for run in self.runs if run.result is not None and not run.is_reported]

    def close(self, cause: str) -> None:
        """Call no more handlers. Those that run already are waited for."""
        self._closed = self._closed or cause

    def stop(self, cause: str) -> None:
        """Call no more handlers, and cancel those that run."""
        self.close(cause)
        for task in self._tasks:
            task.cancel()

    def give_up(self, cause: str) -> tuple[ToolResultBlock, ...]:
        """A result for each call. Calls without one get an error result that says what is known of them."""
        return tuple(run.give_up(self.cause or cause) for run in self.runs)

    async def _answer(self, run: CallRun) -> ToolResultBlock:
        if run.state == "started":
            return run.give_up(ENDED)
        RUNNING.set(run)
        ready = self._prepare(run.call)
        result = run.answer(ready) if isinstance(ready, ToolResultBlock) else await self._result(run, ready)
        if self.is_observed:
            self._emit(_final_event(run))
            run.is_reported = True
        if self._on_result is not None:
            await _value_of(self._on_result(result))
        return result

    async def _result(self, run: CallRun, ready: Ready) -> ToolResultBlock:
        if ready.tool.is_destructive and (why := await self._refusal(run, ready)) is not None:
            return run.answer(failure(run.call, why))
        async with self._places:
            return await self._run(run, ready)

    # ------------------------------------------------------------------------------------------------------ approval

    async def _refusal(self, run: CallRun, ready: Ready) -> str | None:
        """Why a destructive tool may not run; None if it may. Approvals are asked for one at a time, in call order."""
        name = ready.tool.name
        if self._approve is None:
            return (
                f"`{name}` is destructive and nobody can approve it, so it was not run (the caller must pass approve=)."
            )
        async with self._asking:
            run.move("asked")
            if self.is_observed:
                self._emit(ApprovalAsked(run.call, ready.tool.definition))
            verdict = await self._verdict(ready)
        if verdict is not True:
            why = _why_refused(name, verdict)
        else:
            run.move("approved")
            why = None
        if self.is_observed:
            self._emit(ApprovalGiven(run.call) if why is None else ApprovalRefused(run.call, why))
        return why

    async def _verdict(self, ready: Ready) -> Any:
        assert self._approve is not None
        try:
            verdict: Any = self._approve(ready.call, ready.tool.definition)
            while inspect.isawaitable(verdict):  # a loop: an async approval may return a coroutine it did not await
                verdict = await verdict
            return verdict
        except Exception as error:
            self.cause = self.cause or f"the approval function raised {type(error).__name__}"
            raise

    # --------------------------------------------------------------------------------------------------- one handler

    async def _run(self, run: CallRun, ready: Ready) -> ToolResultBlock:
        seconds = ready.tool.timeout if ready.tool.timeout is not None else self._timeout
        if ready.tool.is_async:
            refused = await self._start(run)
            return refused or await _run_handler(run, ready, seconds, partial(ready.invoke, self._metadata))
        if not await self._threads.enter(seconds):
            return run.answer(failure(run.call, self._no_thread(ready)))
        try:
            refused = await self._start(run)
        except BaseException:
            self._threads.leave()
            raise
        if refused is not None:
            self._threads.leave()
            return refused
        return await _run_handler(run, ready, seconds, partial(self._in_thread, run, ready))

    async def _start(self, run: CallRun) -> ToolResultBlock | None:
        """Set the call to ``started``: its handler must be called before anything is awaited. If the batch was closed,
        return an error result instead."""
        if self._on_start is not None and self._closed is None:
            await self._on_start(run)
        if _is_cancelled():  # the approval function may have caught the CancelledError
            raise asyncio.CancelledError
        if self._closed is not None:
            return run.give_up(self.cause or self._closed)
        run.move("started")
        if self.is_observed:
            self._emit(ToolStart(run.call))
        return None

    def _no_thread(self, ready: Ready) -> str:
        return (
            f"Not run: no thread was free for `{ready.tool.name}`; "
            f"all {self._threads.limit} are kept by calls that have not ended yet."
        )

    async def _in_thread(self, run: CallRun, ready: Ready) -> Any:
        def keep_outcome(value: Any, error: BaseException | None) -> None:
            run.outcome = value, error

        await self._threads.run(partial(ready.invoke, self._metadata), ready.tool.name, keep_outcome)
        assert run.outcome is not None
        value, error = run.outcome
        if error is not None:
            raise _HandlerError(error)
        return await _value_of(value)


async def _run_handler(
    run: CallRun, ready: Ready, seconds: float | None, work: Callable[[], Awaitable[Any]]
) -> ToolResultBlock:
    """Run a handler, which ``work`` calls, within its time limit. Nothing is awaited before the handler is called."""
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            value = await work()
    except _HandlerError as raised:
        if isinstance(raised.error, KeyboardInterrupt | SystemExit):
            raise raised.error from None
        return run.answer(failure_of(run.call, raised.error))
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        return run.answer(failure_of(run.call, error))  # the tool itself raised it
    except Exception as error:  # noqa: BLE001 - the model gets every error as a result
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


def _final_event(run: CallRun) -> SessionEvent:
    assert run.result is not None
    return (ToolFailure if run.result.is_error else ToolResult)(run.call, run.result)


class _HandlerError(Exception):
    """Wraps an exception of a handler in a thread, because a coroutine cannot raise StopIteration."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _is_cancelled() -> bool:
    return cancellations() > 0


def cancellations() -> int:
    """How often the current task was cancelled; 0 outside of a task."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


async def _value_of(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


class _WrappedExit(Exception):
    """Wraps a KeyboardInterrupt or SystemExit: raised in a task, these would stop the loop before the cleanup."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


async def _wrap_exits(work: Callable[[], Awaitable[T]]) -> T:
    try:
        return await work()
    except (KeyboardInterrupt, SystemExit) as error:
        raise _WrappedExit(error) from None
