"""A progress bar on a terminal: with ``rich`` if it is installed, else one plain line. Elsewhere nothing is shown."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, TextIO

from .results import MapReport

__all__ = ["Progress", "progress_on"]

SECONDS_BETWEEN = 0.1


class Progress(Protocol):
    """Shows how far a map is."""

    def show(self, report: MapReport) -> None: ...

    def close(self, report: MapReport) -> None: ...


def progress_on(terminal: TextIO | None, total: int | None) -> Progress | None:
    """The progress bar for this output, or None if it is no terminal."""
    if terminal is None or not terminal.isatty():
        return None
    return _Rich(terminal, total) if find_spec("rich") is not None else _Plain(terminal, total)


class _Plain:
    def __init__(self, terminal: TextIO, total: int | None) -> None:
        self._terminal, self._of = terminal, "" if total is None else f" of {total}"
        self._next, self._width = 0.0, 0

    def show(self, report: MapReport) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + SECONDS_BETWEEN
            self._write(report)

    def _write(self, report: MapReport, end: str = "") -> None:
        line = f"{report.done + report.failed}{self._of}: {report}"
        self._terminal.write(f"\r{line.ljust(self._width)}{end}")
        self._terminal.flush()
        self._width = len(line)

    def close(self, report: MapReport) -> None:
        self._write(report, "\n")


class _Rich:
    def __init__(self, terminal: TextIO, total: int | None) -> None:
        console = import_module("rich.console").Console(file=terminal)
        self._bar: Any = import_module("rich.progress").Progress(console=console)
        self._task = self._bar.add_task("", total=total)
        self._bar.start()

    def show(self, report: MapReport) -> None:
        self._bar.update(self._task, completed=report.done + report.failed, description=str(report))

    def close(self, report: MapReport) -> None:
        self.show(report)
        self._bar.stop()


def standard_error() -> TextIO | None:
    """The stream on which the bar is shown; None in a program without standard error."""
    return sys.stderr
