"""A map in an event loop: tasks that take one request after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import suppress
from typing import Generic

from ...errors import AdapterError
from ...types.output import T
from ...types.request import Request
from ...types.response import Response
from .results import MapReport, MapResult
from .settings import END, Input, MapSettings
from .work import Task, Work

__all__ = ["AsyncMap"]

Complete = Callable[[Request], Awaitable[Response]]


class _Workers:
    """The tasks of a map. They have no reference to the ``AsyncMap``, so that dropping it while they run ends them."""

    def __init__(self, work: Work, complete: Complete, inputs: Iterable[Input] | AsyncIterable[Input]) -> None:
        self.work, self._complete = work, complete
        self._inputs: Iterator[Input] | AsyncIterator[Input] | None
        self._inputs = aiter(inputs) if isinstance(inputs, AsyncIterable) else iter(inputs)
        self._tasks: list[asyncio.Task[None]] = []
        self._alive = 0
        self._room = asyncio.Semaphore(work.room)
        self._input_lock = asyncio.Lock()
        self._changed = asyncio.Event()

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._run()) for _ in range(self.work.settings.concurrency)]
        self._alive = len(self._tasks)
        for task in self._tasks:
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.work.fail(error)
        self._alive -= 1
        self._changed.set()

    async def _run(self) -> None:
        while self.work.failure is None:
            await self._room.acquire()
            async with self._input_lock:
                given = await self._next_input()
                if given is END:
                    return
                task = self.work.task(given)
            if task is not None:
                await self._answer(task)
            self._changed.set()

    async def _next_input(self) -> Input:
        """The next input; ``END`` after the last."""
        given: Input = END
        if isinstance(self._inputs, AsyncIterator):
            given = await anext(self._inputs, END)
        elif self._inputs is not None:
            given = next(self._inputs, END)
        if given is END:
            self._inputs = None
        return given

    async def _answer(self, task: Task) -> None:
        try:
            response = await self._complete(task.request)
        except AdapterError as error:
            self.work.done(task, None, error)
        else:
            self.work.done(task, response, None)

    async def next(self) -> MapResult | None:
        """The next result; None after the last."""
        while self.work.failure is None:
            self._changed.clear()
            is_over = self._alive == 0
            result = self.work.next()
            if result is not None:
                self._room.release()
                return result
            if is_over and self.work.failure is None:
                return None
            if self.work.failure is None:
                await self._changed.wait()
        raise self.work.failure

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """End all calls, and wait until their sockets are closed."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class AsyncMap(Generic[T]):
    """The results of many requests: ``async for result in …``, or ``results = await …`` for a list of all.

    Leaving ``async with``, an error and the last result end all calls. ``report`` counts the results so far.
    """

    _over = True  # until ``__init__`` is done, for ``__del__``

    def __init__(
        self,
        complete: Complete,
        inputs: Iterable[Input] | AsyncIterable[Input],
        settings: MapSettings,
        model: str,
        close: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self._work = Work(settings, model, inputs)
        self._workers: _Workers | None = None
        self._parts, self._close, self._over = (complete, inputs), close, False

    @property
    def report(self) -> MapReport:
        """How many are done and failed, their usage and their cost."""
        return self._work.report

    def __aiter__(self) -> AsyncMap[T]:
        return self

    async def __anext__(self) -> MapResult[T]:
        if self._over:
            raise StopAsyncIteration
        if self._workers is None:
            self._workers = _Workers(self._work, *self._parts)
            self._workers.start()
        try:
            result = await self._workers.next()
        except BaseException:
            await self.aclose()
            raise
        if result is None:
            await self.aclose()
            raise StopAsyncIteration
        return result

    def __await__(self) -> Generator[object, None, list[MapResult[T]]]:
        return self._all().__await__()

    async def _all(self) -> list[MapResult[T]]:
        return [result async for result in self]

    async def __aenter__(self) -> AsyncMap[T]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End all calls that are still running."""
        self._over = True
        if self._workers is not None:
            await self._workers.close()
        self._work.close()
        close, self._close = self._close, None
        if close is not None:
            await close()

    def __del__(self) -> None:
        if not self._over:
            with suppress(RuntimeError):  # the event loop is closed, and the tasks with it
                if self._workers is not None:
                    self._workers.cancel()
            self._work.close()
