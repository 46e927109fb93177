"""The servers for an agent, each as a process of its own on loopback: a gateway, and the upstreams behind it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import interlingua

from .faults import FAULTS, REAL, UPSTREAMS, Cell

__all__ = ["PLAIN", "gateway", "upstreams"]

PLAIN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}
"""The environment of every process, without any variable of the user."""
OWN = {**PLAIN, "PYTHONPATH": str(Path(interlingua.__file__).parents[1])}
"""The environment of our own servers: they import this checkout, whatever is installed."""
KEYS = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "upstream-key-1234")
START_SECONDS = 60.0
OFTEN = {"keep_alive_seconds": 0.5}
"""For slow upstreams: the gateway soon sends keep-alives, so that the agents are tested with them."""


@contextmanager
def _process(command: list[str], log: Path, environment: dict[str, str]) -> Generator[str]:
    """A process that prints one line when it is ready; gives that line. It is ended at the end of the block."""
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment)
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            if not line:
                raise RuntimeError(f"{command[1:4]} did not start:\n{log.read_text(errors='replace')}")
            yield line.strip()
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


@contextmanager
def upstreams(shared: Path, place: Path, llama: Path | None) -> Generator[dict[str, str]]:
    """The URLs of the scripted upstream and, if ``llama`` is a Python that has it, of a real llama.cpp."""
    own = [sys.executable, "-m", "lab.agents.scripted", str(shared / "capture_server.py"), str(place / "captured")]
    with _process(own, place / "scripted.log", OWN) as scripted:
        if llama is None:
            yield {"scripted": scripted}
            return
        with _llama(shared, place, llama) as real:
            command = [sys.executable, "-m", "lab.agents.recording", real, str(place / "captured")]
            with _process(command, place / "recording.log", OWN) as recording:
                yield {"scripted": scripted, "llama.cpp": recording}


@contextmanager
def _llama(shared: Path, place: Path, python: Path) -> Generator[str]:
    """llama.cpp's own server with a model of 6 MB, which calls tools as the grammar demands."""
    model = place / "tiny.gguf"
    if not model.exists():
        subprocess.run([str(python), str(shared / "tiny_llama_gguf.py"), str(model)], check=True, env=PLAIN)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(python), str(shared / "tiny_llama_server.py"), str(model), str(port)]
    with _process(command, place / "llama.log", PLAIN):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def gateway(cell: Cell, served: dict[str, str], place: Path) -> Generator[tuple[str, str]]:
    """Run ``interlingua serve`` for the upstream of one run. Gives its URL and the key that it made."""
    upstream = UPSTREAMS[cell.upstream]
    if cell.upstream in served:
        base = f"{served[cell.upstream]}/{place.name}{upstream.path}"
    else:
        base = f"{served['scripted']}/x/{place.name}/{FAULTS[cell.fault].script_for(cell.upstream)}{upstream.path}"
    models = place / "models.yaml"
    models.write_text(json.dumps({"adapters": {upstream.adapter: {"base_url": base}}}))
    settings = {"port": 0, "models": str(models), "not_ready_seconds": 0.0, "stream_seconds": 0}
    if cell.fault == "slow" or cell.upstream == REAL:
        settings |= OFTEN
    routes = {"*": f"{upstream.adapter}:{upstream.model}"}
    config = place / "gateway.yaml"
    config.write_text(json.dumps({"settings": settings, "routes": routes}))
    command = [sys.executable, "-m", "interlingua", "serve", "--config", str(config), "--json"]
    with _process(command, place / "gateway.log", {**OWN, **KEYS}) as line:
        started: dict[str, Any] = json.loads(line)
        _wait(started["url"])
        yield started["url"], started["key"]


def _wait(url: str) -> None:
    """Wait until the port is open: the server prints its address before that."""
    host, _, port = url.removeprefix("http://").partition(":")
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return
