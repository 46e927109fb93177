"""Keeps a silent stream open: after a while it sends something that clients skip, so that none of them gives up."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from .http import Answer

__all__ = ["KeepAlive"]


class KeepAlive:
    """Sends the chunks of a stream, and ``pause`` after so many seconds without a chunk.

    ``head`` are the headers of an answer that was not begun: they are sent with the first chunk or pause, whichever
    comes first. A pause is only sent between two events.
    """

    def __init__(self, answer: Answer, seconds: float, pause: bytes, head: Mapping[str, str] | None = None) -> None:
        self._answer, self._seconds, self._pause, self._head = answer, seconds, pause, head
        self._is_between = True
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()

    def __enter__(self) -> KeepAlive:
        if self._pause:
            self._timer = self._loop.call_later(self._seconds, self._check)
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    @property
    def is_between_events(self) -> bool:
        """Whether what was sent so far ends with a complete event."""
        return self._is_between

    def write(self, chunk: bytes) -> None:
        """Send a chunk."""
        self._last = self._loop.time()
        self._is_between = chunk.endswith((b"\n\n", b"\n\r\n"))
        answer = self._answer
        if not answer.started:
            answer.start(200, self._head or {})
        answer.write(chunk)

    def _check(self) -> None:
        """Send a pause if nothing was sent for long, then set the timer again. One timer serves the whole stream."""
        silent = self._loop.time() - self._last
        if silent >= self._seconds:
            silent, self._last = 0.0, self._loop.time()
            if self._is_between and self._answer.drained is None:
                self.write(self._pause)
                self._is_between = True
        self._timer = self._loop.call_later(self._seconds - silent, self._check)
