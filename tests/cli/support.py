"""Runs the command in this process, or in a new one."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from interlingua.cli.app import main

SOURCE = str(Path(__file__).resolve().parents[2] / "src")


class Done(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: bytes
    err: str


def command(
    capture: pytest.CaptureFixture[bytes], patch: pytest.MonkeyPatch, *words: str, stdin: bytes | None = None
) -> Done:
    """Run a command line in this process. Without ``stdin``, nothing may be read from it."""
    patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin or b"")))
    code = main(words)
    out, err = capture.readouterr()
    return Done(code, out, err.decode())


def process(*words: str, home: Path, stdin: bytes = b"", **environment: str) -> Done:
    """Run the command in a new process, with only the given variables in its environment."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    variables = {**kept, "HOME": str(home), "PYTHONPATH": SOURCE, "PYTHONWARNINGS": "error", **environment}
    line = [sys.executable, "-m", "interlingua", *words]
    done = subprocess.run(line, input=stdin, capture_output=True, env=variables, check=False, timeout=60, cwd=home)
    return Done(done.returncode, done.stdout, done.stderr.decode())


@contextmanager
def closed_port() -> Iterator[str]:
    """The URL of a port on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
