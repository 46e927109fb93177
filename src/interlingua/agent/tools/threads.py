"""Threads for tools that block, and the limit on their number.

A thread cannot be stopped: a handler that hangs keeps its thread even after its call was given up. So threads are
counted over all turns, and a call that gets no thread ends with an error instead of waiting for ever.
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
"""The ``Threads`` in whose thread this code runs. Tools that it calls in turn may exceed the limit: it waits for them,
so waiting for a free place could last for ever."""


class Threads:
    """Runs handlers in threads, at most ``limit`` at once; None for any number."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._busy = 0
        self._given_up = 0
        """How many of the busy threads run a call that was given up."""
        self._waiting: deque[tuple[Future[bool], bool]] = deque()
        """Calls that wait for a place, and whether they wait for a limited time."""

    async def enter(self, seconds: float | None) -> bool:
        """Take a place, and wait for it at most ``seconds``. Return False if there is none.

        Without a time limit, the result is False as soon as all threads are held by calls that were given up.
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
                self.leave()  # the place was given at the moment of the error
            if isinstance(error, TimeoutError):
                return False
            raise

    def leave(self) -> None:
        """Give a place back. It goes to the call that has waited longest."""
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
        """If all busy threads run calls that were given up, refuse the waiting calls that have no time limit."""
        if self._given_up < self._busy:
            return
        for waiter, bounded in self._waiting:
            if not bounded and waiter.set_running_or_notify_cancel():
                waiter.set_result(False)
        self._waiting = deque(one for one in self._waiting if one[1])

    async def run(
        self, work: Callable[[], Any], name: str, on_end: Callable[[Any, BaseException | None], None]
    ) -> None:
        """Run ``work`` in a new thread, then call ``on_end`` there with its value or error. ``enter`` must come first.

        The loop's thread pool is not used: a few tools that hang would fill it, and a loop that ends waits for it.
        """
        ended: Future[None] = Future()
        context = contextvars.copy_context()
        context.run(_HELD.set, (*_HELD.get(), self))

        def run() -> None:
            try:
                on_end(context.run(work), None)
            except BaseException as error:  # noqa: BLE001 - passed on to the caller
                on_end(None, error)
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
