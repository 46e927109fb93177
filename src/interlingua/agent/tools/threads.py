"""Threads for blocking tools: a limit on their number, and how a handler runs in one.

A thread cannot be stopped: a handler that hangs keeps its thread after its call was abandoned. So threads are counted
over all turns, and a call for which no thread becomes free fails instead of waiting for ever.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

__all__ = ["Threads"]

_OUTER_THREADS: contextvars.ContextVar[tuple[Threads, ...]] = contextvars.ContextVar("outer_threads", default=())
"""The ``Threads`` in which the current code runs. Calls that it makes need no further place: it waits for them."""


class Threads:
    """At most ``limit`` threads at once; None for any number."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._busy = 0
        self._abandoned = 0
        """How many of them run an abandoned call."""
        self._waiting: deque[tuple[Future[bool], bool]] = deque()
        """The calls that wait for a place, and whether they have a time limit."""

    async def enter(self, seconds: float | None) -> bool:
        """Take a place, and wait for one at most ``seconds``. False: none became free.

        A call without a time limit does not wait while all threads run abandoned calls.
        """
        with self._lock:
            if self.limit is None or self._busy < self.limit or self in _OUTER_THREADS.get():
                self._busy += 1
                return True
            waiter: Future[bool] = Future()
            self._waiting.append((waiter, seconds is not None))
            self._refuse_hopeless()
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(waiter)
        except BaseException as error:
            if not waiter.cancel() and waiter.result():
                self.leave()  # a place became free at the same moment
            if isinstance(error, TimeoutError):
                return False
            raise

    def leave(self) -> None:
        """Free a place. The call that has waited longest gets it."""
        with self._lock:
            self._leave()

    def _leave(self) -> None:
        self._busy -= 1
        while self._waiting and (self.limit is None or self._busy < self.limit):
            waiter, _ = self._waiting.popleft()
            if waiter.set_running_or_notify_cancel():
                self._busy += 1
                waiter.set_result(True)

    def _refuse_hopeless(self) -> None:
        """Refuse the calls that would wait for ever."""
        if self._abandoned < self._busy:
            return
        for waiter, bounded in self._waiting:
            if not bounded and waiter.set_running_or_notify_cancel():
                waiter.set_result(False)
        self._waiting = deque(one for one in self._waiting if one[1])

    async def run(
        self, work: Callable[[], Any], name: str, set_outcome: Callable[[Any, BaseException | None], None]
    ) -> None:
        """Run ``work`` in a thread, for which a place was taken. Returns when ``set_outcome`` was called in it.

        It is not a thread of the event loop's pool: tools that hang would fill the pool, and the loop waits for its
        pool when it ends.
        """
        ended: Future[None] = Future()
        context = contextvars.copy_context()
        context.run(_OUTER_THREADS.set, (*_OUTER_THREADS.get(), self))

        def run() -> None:
            try:
                set_outcome(context.run(work), None)
            except BaseException as error:  # noqa: BLE001 - raised in the waiting task
                set_outcome(None, error)
            self._end(ended)

        try:
            threading.Thread(target=run, name=f"tool {name}", daemon=True).start()
        except RuntimeError:
            self.leave()
            raise
        try:
            await asyncio.wrap_future(ended)
        except BaseException:
            self._abandon(ended)
            raise

    def _end(self, ended: Future[None]) -> None:
        with self._lock:
            if ended.set_running_or_notify_cancel():
                ended.set_result(None)
            else:
                self._abandoned -= 1
            self._leave()

    def _abandon(self, ended: Future[None]) -> None:
        with self._lock:
            if ended.cancel():
                self._abandoned += 1
                self._refuse_hopeless()
