"""llama.cpp in a process of its own, with the tiny model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from live.tiny_model import write_model

__all__ = ["NotImportable", "running"]


class NotImportable(Exception):
    """The wheel is there and does not fit this machine."""


@contextmanager
def running(place: Path) -> Iterator[str]:
    """The URL of a server that lives as long as the ``with``. ``place`` is a folder for the model and the log."""
    model = write_model(place / "recites.gguf")
    command = [sys.executable, str(Path(__file__).with_name("serve.py")), str(model)]
    with (place / "log").open("wb") as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log) as process:
        try:
            assert process.stdout is not None
            yield listening(process.stdout.readline().decode(), place / "log")
        finally:
            process.kill()


def listening(line: str, log: Path) -> str:
    if line.startswith("listening "):
        return line.split()[1]
    told = log.read_text(errors="replace")
    if "ImportError" in told:
        raise NotImportable(told.splitlines()[-1])
    raise RuntimeError(f"llama.cpp did not start:\n{told}")
