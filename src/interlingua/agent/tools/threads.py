"""Threads for tools that block: how many there may be, and one that runs a handler.

A thread cannot be stopped: a handler that hangs keeps its thread when nobody waits for it any more. Therefore threads
are counted, over all turns, and a call for which no thread is free says so in the end instead of waiting for ever.
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

_HELD: contextvars.ContextVar[tuple[Threads, ...]] = contextvars.ContextVar("held", default=())
"""Whose threads this code runs in. What it runs in turn takes no place of its own: the outer call waits for it."""


class Threads:
    """At most ``limit`` threads at once; None for any number."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._busy = 0
        self._given_up = 0
        """How many of them nobody waits for any more."""
        self._waiting: deque[tuple[Future[bool], bool]] = deque()
        """Who waits for a place, and whether they wait only for so long."""

    async def enter(self, seconds: float | None) -> bool:
        """Take a place, waiting for one at most ``seconds``. False: there is none.

        Without a limit of time, nobody waits while all threads are kept by calls that were given up.
        """
        with self._lock:
            if self.limit is None or self._busy < self.limit or self in _HELD.get():
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
                self.leave()  # the place was given at the same moment
            if isinstance(error, TimeoutError):
                return False
            raise

    def leave(self) -> None:
        """Give a place back; it goes to whoever waits longest."""
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
        """Whoever would wait for ever is told that there is no place."""
        if self._given_up < self._busy:
            return
        for waiter, bounded in self._waiting:
            if not bounded and waiter.set_running_or_notify_cancel():
                waiter.set_result(False)
        self._waiting = deque(one for one in self._waiting if one[1])

    async def run(self, work: Callable[[], Any], name: str, told: Callable[[Any, BaseException | None], None]) -> None:
        """Run ``work`` in a thread, for which a place was taken; return when ``told`` was called there.

        Not in the loop's pool: a few tools that hang would fill it, and the loop waits for its pool at the end.
        """
        ended: Future[None] = Future()
        context = contextvars.copy_context()
        context.run(_HELD.set, (*_HELD.get(), self))

        def run() -> None:
            try:
                told(context.run(work), None)
            except BaseException as error:  # noqa: BLE001 - whoever waits is told
                told(None, error)
            self._end(ended)

        try:
            threading.Thread(target=run, name=f"tool {name}", daemon=True).start()
        except RuntimeError:
            self.leave()
            raise
        try:
            await asyncio.wrap_future(ended)
        except BaseException:
            self._give_up(ended)
            raise

    def _end(self, ended: Future[None]) -> None:
        with self._lock:
            if ended.set_running_or_notify_cancel():
                ended.set_result(None)
            else:
                self._given_up -= 1
            self._leave()

    def _give_up(self, ended: Future[None]) -> None:
        with self._lock:
            if ended.cancel():
                self._given_up += 1
                self._refuse_hopeless()
