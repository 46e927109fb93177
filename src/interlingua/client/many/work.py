"""The state of a map: inputs taken, results ready and handed out. Nothing waits; a lock makes it safe for threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Sized
from threading import Lock
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...codec.typed import Output, output_of
from ...errors import AdapterError
from ...models.pricing import Pricing
from ...types.request import Request
from ...types.response import Response
from ..adapter import new_ulid
from ..asking import read_answer, with_output_schema
from .progress import Progress, progress_on, standard_error
from .results import MapReport, MapResult
from .settings import Input, Inputs, MapSettings, as_request, check_inputs, key_of
from .sqlite_journal import journal_at

__all__ = ["Task", "Work"]

AHEAD = 4
"""How many results may be ready but unread, for each concurrent call, before no more inputs are taken."""


class Task(Struct, frozen=True):
    """One request to be made."""

    index: int
    request: Request
    key: str


class Work:
    """The state of a map."""

    def __init__(self, settings: MapSettings, model: str, inputs: Inputs) -> None:
        check_inputs(inputs)
        self.settings = settings
        self.report = MapReport()
        self.failure: BaseException | None = None
        """The error that ended the map early."""
        self.room = settings.concurrency * (1 + AHEAD)
        """How many inputs may be taken beyond the results that were handed out."""
        self._output: Output[Any] | None = None if settings.output is None else output_of(settings.output)
        self._pricing = settings.pricing or Pricing()
        self._journal = None if settings.journal is None else journal_at(settings.journal, model)
        self._progress: Progress | None = None
        if settings.progress:
            total = len(inputs) if settings.total is None and isinstance(inputs, Sized) else settings.total
            self._progress = progress_on(standard_error(), total)
        self._taken = self._handed_out = 0
        self._ready: deque[MapResult] = deque()
        self._waiting: dict[int, MapResult] = {}
        self._lock = Lock()

    def task(self, given: Input) -> Task | None:
        """The next input as a task; None if its answer is in the journal, which makes the result ready at once."""
        request = as_request(given, self.settings.defaults)
        with self._lock:
            index, self._taken = self._taken, self._taken + 1
            key, saved = "", None
            if self._journal is not None:
                key = key_of(request if self._output is None else with_output_schema(request, self._output))
                saved = self._journal.find(index, key)
        request = replace(request, request_id=request.request_id or new_ulid())
        task = Task(index, request, key)
        if saved is None:
            return task
        if self._output is not None:
            saved = read_answer(saved, self._output)
        self._add(MapResult(index, request, saved, None, self._cost(saved), resumed=True))
        return None

    def done(self, task: Task, response: Response | None, error: AdapterError | None) -> None:
        """Note the result of a task. It is written to the journal before it is handed out."""
        if self._journal is not None:
            with self._lock:
                self._journal.add(task.index, task.key, response, error)
        cost = None if response is None else self._cost(response)
        self._add(MapResult(task.index, task.request, response, error, cost))
        if error is not None and self.settings.on_error == "raise":
            self.fail(error)

    def _cost(self, response: Response) -> float | None:
        return self._pricing.of(response).cost_usd

    def _add(self, result: MapResult) -> None:
        with self._lock:
            self.report.add(result)
            self._waiting[result.index] = result
            if not self.settings.ordered:
                self._ready.append(self._waiting.pop(result.index))
            while (first := self._handed_out + len(self._ready)) in self._waiting:
                self._ready.append(self._waiting.pop(first))
            if self._progress is not None:
                self._progress.show(self.report)

    def fail(self, failure: BaseException) -> None:
        """End the map with this error."""
        self.failure = self.failure or failure

    def next(self) -> MapResult | None:
        """The next result, if one is ready."""
        with self._lock:
            if not self._ready:
                return None
            self._handed_out += 1
            return self._ready.popleft()

    def close(self) -> None:
        """Close the journal and the progress bar. It may be called twice."""
        with self._lock:
            journal, self._journal = self._journal, None
            bar, self._progress = self._progress, None
        if journal is not None:
            journal.close()
        if bar is not None:
            bar.close(self.report)
