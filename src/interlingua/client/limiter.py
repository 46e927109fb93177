"""``Limiter``: how many requests and tokens a minute, and how many calls at once, shared by clients and sessions.

It does not wait itself: the holder of a ``Permit`` calls ``delay``, waits so long or until it is woken, and calls
again. So code that awaits and code that blocks can share one limiter, from any thread.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from math import inf
from threading import Lock

__all__ = ["Limiter", "Permit"]

MINUTE = 60.0


class Permit:
    """One attempt of a call: it waits in line, is granted, and ends. ``tokens`` are an estimate until it has ended."""

    __slots__ = ("at", "counts", "is_running", "key", "tokens", "wake")

    def __init__(self, tokens: int, key: str, wake: Callable[[], object]) -> None:
        self.tokens, self.key, self.wake = tokens, key, wake
        self.at = 0.0
        self.is_running = self.counts = False


class Limiter:
    """At most ``rate`` requests and ``tokens_per_minute`` in any minute, and ``concurrency`` at the same time.

    Every attempt counts. Tokens are reserved by the estimate before the call, and settled by the usage after it. When a
    provider asks to wait (``Retry-After``), all its calls wait. Calls are granted in the order in which they came.
    """

    def __init__(
        self,
        *,
        rate: int | None = None,
        tokens_per_minute: int | None = None,
        concurrency: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for name, value in (("rate", rate), ("tokens_per_minute", tokens_per_minute), ("concurrency", concurrency)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self.rate, self.tokens_per_minute, self.concurrency = rate, tokens_per_minute, concurrency
        self._clock, self._lock = clock, Lock()
        self._line: list[Permit] = []
        self._minute: deque[Permit] = deque()
        self._tokens = self._running = 0
        self._output = 0.0
        self._paused: dict[str, float] = {}

    def __repr__(self) -> str:
        limits = f"rate={self.rate}, tokens_per_minute={self.tokens_per_minute}, concurrency={self.concurrency}"
        return f"Limiter({limits}; {self._running} running, {len(self._line)} waiting)"

    def join(self, tokens: int, key: str, wake: Callable[[], object]) -> Permit:
        """Get in line. ``tokens`` is an estimate of the prompt, ``key`` the provider; ``wake`` is called when it is
        worth asking again."""
        with self._lock:
            permit = Permit(tokens + round(self._output), key, wake)
            self._line.append(permit)
            return permit

    def delay(self, permit: Permit) -> float | None:
        """None: the call may be made now. Else seconds until it is worth asking again; ``inf`` is until woken."""
        with self._lock:
            now = self._clock()
            self._forget_before(now - MINUTE)
            pause = self._paused.get(permit.key, 0.0) - now
            delay = pause if pause > 0 else self._wait_in_line(permit, now)
            if delay > 0:
                return delay
            self._grant(permit, now)
        self._wake_first()
        return None

    def _forget_before(self, then: float) -> None:
        while self._minute and self._minute[0].at <= then:
            old = self._minute.popleft()
            old.counts = False
            self._tokens -= old.tokens

    def _wait_in_line(self, permit: Permit, now: float) -> float:
        if permit is not self._first(now) or (self.concurrency is not None and self._running >= self.concurrency):
            return inf
        until = now
        if self.rate is not None and len(self._minute) >= self.rate:
            until = max(until, self._minute[-self.rate].at + MINUTE)
        if self.tokens_per_minute is not None:
            excess = self._tokens + permit.tokens - self.tokens_per_minute
            for earlier in self._minute:
                if excess <= 0:
                    break
                excess, until = excess - earlier.tokens, max(until, earlier.at + MINUTE)
        return until - now

    def _first(self, now: float) -> Permit | None:
        """The first in line whose provider did not ask to wait."""
        return next((permit for permit in self._line if self._paused.get(permit.key, 0.0) <= now), None)

    def _grant(self, permit: Permit, now: float) -> None:
        self._line.remove(permit)
        permit.at, permit.is_running, permit.counts = now, True, True
        self._running += 1
        self._tokens += permit.tokens
        self._minute.append(permit)

    def _wake_first(self) -> None:
        with self._lock:
            first = self._first(self._clock())
        if first is not None:
            first.wake()

    def end(self, permit: Permit, tokens: int | None = None, output: int | None = None) -> None:
        """End an attempt, or leave the line. ``tokens`` and ``output`` are its usage."""
        with self._lock:
            if permit.is_running:
                permit.is_running = False
                self._running -= 1
            elif permit in self._line:
                self._line.remove(permit)
            if tokens is not None and permit.counts:
                self._tokens += tokens - permit.tokens
                permit.tokens = tokens
            if output is not None:
                self._output += (output - self._output) / 8  # answers of about this length are expected
        self._wake_first()

    def pause(self, key: str, seconds: float) -> None:
        """Grant no call to this provider for so many seconds, because it asked to wait."""
        with self._lock:
            self._paused[key] = max(self._paused.get(key, 0.0), self._clock() + seconds)
            waiting = list(self._line)
        for permit in waiting:
            permit.wake()
