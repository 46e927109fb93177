"""Running coroutines from blocking code: in a loop of this thread, or in a new thread if this one runs a loop."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar

__all__ = ["BLOCKED", "iterate_blocking", "run_blocking"]

T = TypeVar("T")

BLOCKED: contextvars.ContextVar[asyncio.AbstractEventLoop | None] = contextvars.ContextVar("blocked", default=None)
"""The loop whose thread waits for ``run_blocking``. It runs nothing else meanwhile, so nothing may wait for it."""


class _BlockingLoop:
    """A context manager whose ``run`` runs coroutines one after the other in the same loop."""

    def __enter__(self) -> Self:
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)  # leaves the thread's own loop as it was
        self._pool: ThreadPoolExecutor | None = None
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            return self
        self._context = contextvars.copy_context()
        self._context.run(BLOCKED.set, running)
        self._pool = ThreadPoolExecutor(1)
        return self

    def run(self, job: Coroutine[Any, Any, T]) -> T:
        """Wait for the job and return its result."""
        if self._pool is None:
            return self._runner.run(job)
        return self._pool.submit(self._context.run, self._runner.run, job).result()

    def __exit__(self, *_: object) -> None:
        if self._pool is None:
            self._runner.close()
            return
        with self._pool:
            self._pool.submit(self._runner.close).result()


def run_blocking(job: Coroutine[Any, Any, T]) -> T:
    """Wait for the job and return its result. The loop is closed afterwards."""
    with _BlockingLoop() as loop:
        return loop.run(job)


def iterate_blocking(values: AsyncGenerator[T, None]) -> Generator[T, None, None]:
    """Yield the values, waiting for one after the other. The loop runs only while the caller waits for a value."""
    with _BlockingLoop() as loop:
        try:
            while (value := loop.run(_next(values))) is not None:
                yield value
        except (KeyboardInterrupt, SystemExit):
            raise  # the generator may be in the middle of a step; closing the loop ends it
        except BaseException:
            loop.run(values.aclose())
            raise


async def _next(values: AsyncGenerator[T, None]) -> T | None:
    return await anext(values, None)
