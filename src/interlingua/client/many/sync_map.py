"""A map that blocks: threads that take one request after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from threading import Condition, Lock, Semaphore, Thread
from typing import Generic

from ...errors import AdapterError
from ...types.output import T
from ...types.request import Request
from ...types.response import Response
from .results import MapReport, MapResult
from .settings import END, Input, MapSettings
from .work import Task, Work

__all__ = ["SyncMap"]

Complete = Callable[[Request], Response]
Cancel = Callable[[str], object]
SECONDS_BETWEEN = 0.05
"""Seconds between two attempts to cancel the call of a thread, which may not have begun at the first one."""


class _Threads:
    """The threads of a map. They have no reference to the ``SyncMap``, so that dropping it while they run ends them."""

    def __init__(self, work: Work, complete: Complete, cancel: Cancel, inputs: Iterable[Input]) -> None:
        self.work, self._complete, self._cancel = work, complete, cancel
        self._inputs: Iterator[Input] | None = iter(inputs)
        self._room = Semaphore(work.room)
        self._input_lock, self._changed = Lock(), Condition()
        self._running: set[str] = set()
        self._stopped = False
        count = work.settings.concurrency
        self._threads = [Thread(target=self._run, name="interlingua-map", daemon=True) for _ in range(count)]
        self._alive = count
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        try:
            while not self._stopped and self.work.failure is None:
                self._room.acquire()
                found = self._take()
                if found is None:
                    break
                for task in found:
                    self._answer(task)
                self._notify()
        except BaseException as error:  # noqa: BLE001  # it is raised where the results are read
            self.work.fail(error)
        finally:
            with self._changed:
                self._alive -= 1
                self._changed.notify_all()

    def _take(self) -> list[Task] | None:
        """A list with the next task, or an empty one if its answer is known; None after the last input."""
        with self._input_lock:
            if self._inputs is None or self._stopped:
                return None
            given = next(self._inputs, END)
            if given is END:
                self._inputs = None
                return None
            task = self.work.task(given)
            return [] if task is None else [task]

    def _answer(self, task: Task) -> None:
        id = task.request.request_id or ""
        self._running.add(id)
        try:
            if not self._stopped:
                self.work.done(task, self._complete(task.request), None)
        except AdapterError as error:
            if not self._stopped:
                self.work.done(task, None, error)
        finally:
            self._running.discard(id)

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def next(self) -> MapResult | None:
        """The next result; None after the last."""
        with self._changed:
            while self.work.failure is None:
                is_over = self._alive == 0
                result = self.work.next()
                if result is not None:
                    self._room.release()
                    return result
                if is_over:
                    return None
                self._changed.wait()
        raise self.work.failure

    def stop(self) -> None:
        """End all calls: their sockets close at once."""
        self._stopped = True
        self._room.release(len(self._threads))
        for id in tuple(self._running):
            self._cancel(id)

    def close(self) -> None:
        """``stop``, and wait for the threads."""
        self.stop()
        for thread in self._threads:
            while thread.is_alive():
                self.stop()
                thread.join(SECONDS_BETWEEN)


class SyncMap(Generic[T]):
    """The results of many requests, as ``AsyncMap``: ``for result in …``, or ``list(…)``."""

    _over = True  # until ``__init__`` is done, for ``__del__``

    def __init__(
        self,
        complete: Complete,
        cancel: Cancel,
        inputs: Iterable[Input],
        settings: MapSettings,
        model: str,
        close: Callable[[], object] | None = None,
    ) -> None:
        self._work = Work(settings, model, inputs)
        self._threads: _Threads | None = None
        self._parts, self._close, self._over = (complete, cancel, inputs), close, False

    @property
    def report(self) -> MapReport:
        """How many are done and failed, their usage and their cost."""
        return self._work.report

    def __iter__(self) -> SyncMap[T]:
        return self

    def __next__(self) -> MapResult[T]:
        if self._over:
            raise StopIteration
        if self._threads is None:
            self._threads = _Threads(self._work, *self._parts)
        try:
            result = self._threads.next()
        except BaseException:
            self.close()
            raise
        if result is None:
            self.close()
            raise StopIteration
        return result

    def __enter__(self) -> SyncMap[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all calls that are still running."""
        self._over = True
        if self._threads is not None:
            self._threads.close()
        self._work.close()
        close, self._close = self._close, None
        if close is not None:
            close()

    def __del__(self) -> None:
        if not self._over:
            if self._threads is not None:
                self._threads.stop()
            self._work.close()
