"""Several processes that serve together: started, restarted when one dies, and ended together.

The parent holds the listening sockets and serves nothing. It never runs an event loop or a thread, so that a process
can be forked from it at any time. Each process has a separate socket: the kernel spreads connections over them, and
connections that wait on the socket of a dead process are accepted by its successor.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable

__all__ = ["can_fork", "supervise"]

log = logging.getLogger("interlingua.gateway")

PAUSE = 1.0
"""A process that lived for less than this many seconds is restarted after this many seconds."""
ENDS = (signal.SIGTERM, signal.SIGINT)
WATCHED = frozenset({*ENDS, signal.SIGCHLD, signal.SIGHUP}) if hasattr(signal, "SIGCHLD") else frozenset(ENDS)
FAILED = 1


def can_fork() -> bool:
    """Whether this system can run several processes."""
    return hasattr(os, "fork") and hasattr(signal, "sigtimedwait")


def supervise(count: int, work: Callable[[int, int], int], release: Callable[[], object]) -> int:
    """Run ``work(number, alive)`` in so many processes until a signal ends them. Returns the exit code.

    ``alive`` is the reading end of a pipe, at its end when the parent has ended, however that happened. ``release``
    closes the sockets that the parent holds.
    """
    return _Parent(count, work, release).run()


class _Parent:
    def __init__(self, count: int, work: Callable[[int, int], int], release: Callable[[], object]) -> None:
        self._work, self._release = work, release
        self._alive, self._own_end = os.pipe()
        self._running: dict[int, tuple[int, float]] = {}
        """By process id: the number of the process, and when it was started."""
        self._missing: dict[int, float] = dict.fromkeys(range(count), 0.0)
        """By number: when the process is to be started."""
        self._ended_by: int | None = None

    def run(self) -> int:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
        try:
            while self._running or self._ended_by is None:
                self._start_missing()
                self._forward(self._next_signal())
                self._reap()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return 128 + self._ended_by if self._ended_by == signal.SIGINT else 0

    def _next_signal(self) -> int | None:
        if not self._missing:
            return signal.sigwait(WATCHED)
        wait = max(0.0, min(self._missing.values()) - time.monotonic())
        found = signal.sigtimedwait(WATCHED, wait)
        return None if found is None else found.si_signo

    def _forward(self, sig: int | None) -> None:
        """Send a signal to every process; the first that ends the gateway also closes the sockets."""
        if sig is None or sig == signal.SIGCHLD:
            return
        if sig in ENDS and self._ended_by is None:
            self._ended_by = sig
            self._missing.clear()
            self._release()
        for id in self._running:
            os.kill(id, sig)

    def _reap(self) -> None:
        while self._running:
            id, status = os.waitpid(-1, os.WNOHANG)
            if id == 0:
                return
            number, since = self._running.pop(id)
            if self._ended_by is None:
                log.error("process %d ended (%s) and is started again", number, os.waitstatus_to_exitcode(status))
                now = time.monotonic()
                self._missing[number] = now if now - since > PAUSE else now + PAUSE

    def _start_missing(self) -> None:
        now = time.monotonic()
        for number in [number for number, due in self._missing.items() if due <= now]:
            del self._missing[number]
            self._running[self._fork(number)] = number, now

    def _fork(self, number: int) -> int:
        id = os.fork()
        if id:
            return id
        code = FAILED
        try:
            os.close(self._own_end)
            os.setpgid(0, 0)  # Ctrl-C comes from the parent, once
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the server handles it
            signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
            code = self._work(number, self._alive)
        except BaseException:
            log.exception("process %d failed", number)
        finally:
            os._exit(code)
