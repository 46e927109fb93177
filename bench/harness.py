"""The client harness beside the checkout (`../shared/bench`): its mock provider, and one worker for each client.

The worker is a process that calls the mock through one library and reports the cost. Mock and worker get a core each,
if there are two.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["BENCH", "Mocks", "Unavailable", "core", "free_port", "mocks", "served", "until_open", "workshop", "work"]

HERE = Path(__file__).resolve().parent
BENCH = HERE.parents[1] / "shared" / "bench"
GAP = 5000  # microseconds between the events of a paced stream
PATIENCE = 120.0
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]


class Unavailable(Exception):
    """Something cannot be measured here; the message is the reason."""


class Mocks(NamedTuple):
    """The URLs of the mock at full speed and of the mock at a model's pace, and the folder of what both serve."""

    burst: str
    paced: str
    fixtures: Path


@contextlib.contextmanager
def workshop(*programs: str) -> Iterator[Path]:
    """A temporary folder with what the mock serves (``fixtures``) and these programs, compiled."""
    if not BENCH.is_dir():
        raise Unavailable("there is no ../shared/bench beside the checkout")
    compiler = shutil.which("cc")
    if compiler is None:
        raise Unavailable("there is no C compiler (cc) for the mock provider")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run([sys.executable, str(BENCH / "gen_fixtures.py"), str(folder / "fixtures")])
        for program in programs:
            _run([compiler, "-O2", "-o", str(folder / program), str(BENCH / f"{program}.c"), "-lm"])
        yield folder


@contextlib.contextmanager
def mocks() -> Iterator[Mocks]:
    """Build and start both mocks; end them with the block."""
    with workshop("mock") as folder, contextlib.ExitStack() as running:
        burst, paced = (running.enter_context(served(folder, gap)) for gap in (0, GAP))
        yield Mocks(burst, paced, folder / "fixtures")


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def served(folder: Path, gap: int) -> Iterator[str]:
    """Run the mock of a workshop, with ``gap`` microseconds between the events of a stream; gives its URL."""
    port = free_port()
    command = [str(folder / "mock"), str(folder / "fixtures"), str(port), str(gap)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    core(server.pid, 0)
    try:
        until_open(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    """A free port of loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def until_open(port: int) -> None:
    """Wait until a server listens on the port."""
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise Unavailable("the server did not start")


def core(pid: int, place: int) -> None:
    """Bind a process to one core, so that mock and client do not disturb each other."""
    if len(CORES) > 1:
        os.sched_setaffinity(pid, {CORES[place]})


def work(target: str, python: str, at: Mocks, adapter: str | None = None, **sizes: int) -> dict[str, Any]:
    """The costs of one client, as its worker reports them."""
    command = [python, str(BENCH / "client_worker.py"), target, "--burst", at.burst, "--paced", at.paced]
    command += ["--fixtures", str(at.fixtures), *(["--adapter", adapter] if adapter else [])]
    command += [word for name, size in sizes.items() for word in (f"--{name.replace('_', '-')}", str(size))]
    env = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    worker = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**env, "NO_PROXY": "*"}
    )
    core(worker.pid, -1)
    try:
        output, problem = worker.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.communicate()
        raise Unavailable("took too long") from None
    for line in output.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line.removeprefix("RESULT "))
    raise Unavailable((problem.strip().splitlines() or ["said nothing"])[-1][:120])
