"""Time limits of many requests with one timer. A timer for each request, set again at each chunk, would be slow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from types import TracebackType

__all__ = ["SharedTimer", "TimedRequest"]


class SharedTimer:
    """Runs when the first of its requests is due, and ends the requests that are late."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._known: set[TimedRequest] = set()
        self._at = inf
        self._timer: asyncio.TimerHandle | None = None
        self.now = self._loop.time

    def add(self, timed: TimedRequest, due: float) -> None:
        """Add a request."""
        self._known.add(timed)
        timed.is_registered = True
        if due < self._at:
            self._set_timer(due)

    def drop(self, timed: TimedRequest) -> None:
        """Remove a request."""
        self._known.discard(timed)
        timed.is_registered = False

    def _set_timer(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._at, self._timer = due, self._loop.call_at(due, self._check)

    def _check(self) -> None:
        self._at, self._timer, now = inf, None, self.now()
        found = [(timed.due, timed) for timed in self._known]
        self._known = {timed for due, timed in found if now < due < inf}
        for due, timed in found:
            timed.is_registered = now < due < inf
            if due <= now:
                timed.expire()
        if self._known:
            self._set_timer(min(due for due, timed in found if timed.is_registered))

    def close(self) -> None:
        """Stop the timer, and forget all requests."""
        self._known.clear()
        if self._timer is not None:
            self._timer.cancel()


class TimedRequest:
    """One request: ``total`` seconds for all of it, ``patience`` seconds of silence between parts of the body.

    Until the headers have come it is used as a context, and works as ``asyncio.timeout``; or, after ``await_head``,
    ``give_up`` is called when the request is late. After ``begin``, ``close`` is called.
    """

    __slots__ = (
        *("_cancellations_before", "_give_up", "_shared_timer", "_task", "close", "deadline", "head_deadline"),
        *("is_registered", "is_late", "patience", "waiting_since"),
    )

    def __init__(self, timer: SharedTimer, total: float | None, patience: float | None) -> None:
        self._shared_timer, self.patience = timer, patience
        self.deadline = self.head_deadline = inf if total is None else timer.now() + total
        self.waiting_since: float | None = None
        self.is_registered, self.is_late, self._cancellations_before = False, False, 0
        self._task: asyncio.Task[object] | None = None
        self._give_up: Callable[[], object] | None = None
        self.close: Callable[[], None] | None = None

    @property
    def due(self) -> float:
        """When the request will be late. Silence counts only while the next part is waited for (``waiting_since``)."""
        if self.close is None:
            return self.head_deadline
        if self.patience is None:
            return self.deadline
        return inf if self.waiting_since is None else min(self.deadline, self.waiting_since + self.patience)

    def expire(self) -> None:
        """End the request: it is late."""
        self.is_late = True
        if (close := self.close or self._give_up) is not None:
            close()

    def opening(self, connect: float | None, sending: float) -> TimedRequest:
        """Set the limit for the headers, before there is a connection: ``connect`` seconds to connect, ``sending``
        seconds to send the body."""
        if self.patience is not None:
            self.head_deadline = min(self.deadline, self._shared_timer.now() + (connect or 0) + self.patience + sending)
        return self

    def await_head(self, sending: float, give_up: Callable[[], object]) -> None:
        """Set the limit for the headers, once there is a connection: after it, ``give_up`` is called."""
        self._give_up = give_up
        if self.patience is not None:
            self.head_deadline = min(self.deadline, self._shared_timer.now() + self.patience + sending)
        if self.head_deadline < inf:
            self._shared_timer.add(self, self.head_deadline)

    def __enter__(self) -> None:
        if self.head_deadline < inf:
            task = asyncio.current_task()
            if task is not None:
                self._give_up, self._cancellations_before = task.cancel, task.cancelling()
            self._task = task
            self._shared_timer.add(self, self.head_deadline)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None and not self.is_late:
            return
        is_only_ours = self.is_late and self._task is not None and self._task.uncancel() <= self._cancellations_before
        if error is not None:
            self.end()
        if is_only_ours and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error

    def begin(self, close: Callable[[], None]) -> None:
        """Note that the headers have come. From now on ``close`` is called when the request is late."""
        self.close = close
        if self.patience is not None and self.is_registered:
            self._shared_timer.drop(self)  # each ``wait`` adds it again

    def wait(self) -> None:
        """Begin to wait for the next bytes, for at most ``patience`` seconds."""
        self.waiting_since = self._shared_timer.now()
        if not self.is_registered:
            self._shared_timer.add(self, self.due)

    def end(self) -> None:
        """End the time limits: the request is over."""
        if self.is_registered:
            self._shared_timer.drop(self)
