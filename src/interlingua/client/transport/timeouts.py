"""Time limits of many requests with one timer: to set one for each of them, and anew at each chunk, is dear."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from types import TracebackType

__all__ = ["SharedTimer", "TimedRequest"]


class SharedTimer:
    """Looks when the first of those it knows is due, and ends whoever is late."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._known: set[TimedRequest] = set()
        self._at = inf
        self._timer: asyncio.TimerHandle | None = None
        self.now = self._loop.time

    def add(self, timed: TimedRequest, due: float) -> None:
        """Know one from now on."""
        self._known.add(timed)
        timed.known = True
        if due < self._at:
            self._look_at(due)

    def drop(self, timed: TimedRequest) -> None:
        """Know it no more."""
        self._known.discard(timed)
        timed.known = False

    def _look_at(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._at, self._timer = due, self._loop.call_at(due, self._look)

    def _look(self) -> None:
        self._at, self._timer, now = inf, None, self.now()
        found = [(timed.due, timed) for timed in self._known]
        self._known = {timed for due, timed in found if now < due < inf}
        for due, timed in found:
            timed.known = now < due < inf
            if due <= now:
                timed.expire()
        if self._known:
            self._look_at(min(due for due, timed in found if timed.known))

    def close(self) -> None:
        """Look no more."""
        self._known.clear()
        if self._timer is not None:
            self._timer.cancel()


class TimedRequest:
    """One request: ``total`` seconds for all of it, ``patience`` for each part of the answer's body.

    As a context it is what ``asyncio.timeout`` is, until the head is there and ``close`` says how else to end it.
    """

    __slots__ = ("_before", "_shared_timer", "_task", "close", "deadline", "head", "known", "late", "patience", "since")

    def __init__(self, timer: SharedTimer, total: float | None, patience: float | None) -> None:
        self._shared_timer, self.patience = timer, patience
        self.deadline = self.head = inf if total is None else timer.now() + total
        self.since: float | None = None
        self.known, self.late, self._before = False, False, 0
        self._task: asyncio.Task[object] | None = None
        self.close: Callable[[], None] | None = None

    @property
    def due(self) -> float:
        """When it will have taken too long. A silence that nobody sits through is never too long."""
        if self.close is None:
            return self.head
        if self.patience is None:
            return self.deadline
        return inf if self.since is None else min(self.deadline, self.since + self.patience)

    def expire(self) -> None:
        """It has taken too long."""
        self.late = True
        if self.close is not None:
            self.close()
        elif self._task is not None:
            self._task.cancel()

    def head_within(self, seconds: float) -> None:
        """The head of the answer must be there in so many seconds."""
        self.head = min(self.deadline, self._shared_timer.now() + seconds)
        if self.known:
            self._shared_timer.add(self, self.head)

    def __enter__(self) -> None:
        if self.head < inf:
            self._task = task = asyncio.current_task()
            self._before = 0 if task is None else task.cancelling()
            self._shared_timer.add(self, self.head)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None and not self.late:
            return
        ours = self.late and self._task is not None and self._task.uncancel() <= self._before
        if error is not None:
            self.end()
        if ours and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error

    def begin(self, close: Callable[[], None]) -> None:
        """The head is there; from now on ``close`` ends it."""
        self.close = close
        if self.patience is not None and self.known:
            self._shared_timer.drop(self)  # it is due anew with each ``wait``

    def wait(self) -> None:
        """Somebody with ``patience`` waits for the next bytes."""
        self.since = self._shared_timer.now()
        if not self.known:
            self._shared_timer.add(self, self.due)

    def end(self) -> None:
        """It is over."""
        if self.known:
            self._shared_timer.drop(self)
