"""Running the calls of one turn, all at once: timeouts, approval, threads for what would block the loop."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from ..types.blocks import ToolResultBlock, ToolUseBlock
from ..types.tools import ToolDefinition
from .reading import Ready
from .results import failure, failure_of, result_of

__all__ = ["BLOCKED", "Approve", "OnResult", "Turn", "run_blocking", "together"]

T = TypeVar("T")

Approve = Callable[[ToolUseBlock, ToolDefinition], bool | str | Awaitable[bool | str]]
"""Asked before a destructive tool runs: True to run it, False or a reason to refuse."""

OnResult = Callable[[ToolResultBlock], object]
"""Told of each result as soon as it is there; what it returns is awaited if it can be."""

BLOCKED: contextvars.ContextVar[asyncio.AbstractEventLoop | None] = contextvars.ContextVar("blocked", default=None)
"""The loop whose thread waits for ``run_blocking``: nothing can be asked of it meanwhile."""


class Turn:
    """How the calls of one turn are answered."""

    def __init__(
        self,
        prepare: Callable[[ToolUseBlock], Ready | ToolResultBlock],
        *,
        approve: Approve | None,
        on_result: OnResult | None,
        metadata: dict[str, Any] | None,
        timeout: float | None,
    ) -> None:
        self._prepare, self._approve, self._on_result = prepare, approve, on_result
        self._metadata, self._timeout = metadata, timeout
        self._asking = asyncio.Lock()

    async def answer(self, call: ToolUseBlock) -> ToolResultBlock:
        ready = self._prepare(call)
        result = ready if isinstance(ready, ToolResultBlock) else await self._result(ready)
        if self._on_result is not None:
            await _settled(self._on_result(result))
        return result

    async def _result(self, ready: Ready) -> ToolResultBlock:
        if ready.tool.is_destructive and (why := await self._refusal(ready)) is not None:
            return failure(ready.call, why)
        seconds = ready.tool.timeout if ready.tool.timeout is not None else self._timeout
        return await _run(ready, self._metadata, seconds)

    async def _refusal(self, ready: Ready) -> str | None:
        """Why a destructive tool may not run. One question at a time, in the order of the calls."""
        name = ready.tool.name
        if self._approve is None:
            return (
                f"`{name}` is destructive and nobody can approve it, so it was not run (the caller must pass approve=)."
            )
        async with self._asking:
            verdict = await _settled(self._approve(ready.call, ready.tool.definition))
        if verdict and not isinstance(verdict, str):
            return None
        return f"The user declined this call of `{name}`, so it was not run" + (f": {verdict}" if verdict else ".")


async def _settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def together(jobs: Iterable[Coroutine[Any, Any, T]]) -> tuple[T, ...]:
    """All at once, in order. When one raises or the caller is cancelled, the others are cancelled and waited for."""
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        return tuple(await asyncio.gather(*tasks))
    finally:
        running = [task for task in tasks if not task.done()]
        for task in running:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# ------------------------------------------------------------------------------------------------------ one handler


async def _run(ready: Ready, metadata: dict[str, Any] | None, seconds: float | None) -> ToolResultBlock:
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            value = await _value(ready, metadata)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return failure_of(ready.call, error)  # the tool's own
    except Exception as error:  # noqa: BLE001 - whatever it is, the model is told
        if scope.expired():
            return failure(
                ready.call, f"`{ready.tool.name}` did not answer within {seconds:g} seconds and was given up."
            )
        return failure_of(ready.call, error)
    return result_of(ready.call, value)


async def _value(ready: Ready, metadata: dict[str, Any] | None) -> Any:
    if ready.tool.is_async:
        return await ready.invoke(metadata)
    return await _settled(await _in_thread(partial(ready.invoke, metadata), ready.tool.name))


async def _in_thread(work: Callable[[], T], name: str) -> T:
    """In a thread of its own. It cannot be stopped: whoever gives up waiting leaves it behind.

    Not in the loop's pool: a few tools that hang would fill it, and the loop waits for its pool at the end.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Callable[[], T]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(told: Callable[[], T]) -> None:
        if not outcome.done():
            outcome.set_result(told)

    def run() -> None:
        try:
            value = context.run(work)
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            told: Callable[[], T] = partial(_throw, error)
        else:
            told = partial(_give, value)
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, told)

    threading.Thread(target=run, name=f"tool {name}", daemon=True).start()
    return (await outcome)()


def _throw(error: BaseException) -> Any:
    raise error


def _give(value: T) -> T:
    return value


def run_blocking(job: Coroutine[Any, Any, T]) -> T:
    """The job's outcome, waited for. Where this thread runs a loop already, in another thread."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return _run_loop(job)
    context = contextvars.copy_context()
    context.run(BLOCKED.set, loop)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(context.run, _run_loop, job).result()


def _run_loop(job: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:  # leaves the thread's own loop as it was
        return runner.run(job)
