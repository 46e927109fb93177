"""One run: an agent in a clean environment and a new folder, with a gateway to call, until it ends or time is up."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from interlingua.codec.json import is_dict, is_list
from interlingua.gateway.pointing import environment_of, trust_variables
from interlingua.gateway.serve import fill

from .faults import Cell
from .rows import AGENTS, PROMPT, Agent
from .scripted import WRITTEN
from .servers import PLAIN, gateway

__all__ = ["USUAL", "Seen", "answer_requests", "finish", "run"]

USUAL = 90.0
"""The usual time limit of a run, in seconds."""


class Seen(Struct, frozen=True):
    """What was observed in a run."""

    exit: int | None
    """The exit code; None if time was up."""
    output: str
    ran: int
    """How many commands were really run, counted by the lines that they wrote to a file."""
    requests: int
    """How many requests for an answer reached the upstream."""
    whole: int
    """How many of these asked for a whole answer, which no fault cuts."""
    results: int
    """How many of these held the result of a call."""
    seconds: float
    limit: float = USUAL
    """The time limit in seconds."""


def run(cell: Cell, program: Path, path: list[Path], served: dict[str, str], place: Path, limit: float) -> Seen:
    """Run an agent once. ``place`` is a new folder; the folders in ``path`` come first in its ``PATH``."""
    captured = place.parents[1] / "captured" / place.name
    for old in (place, captured):
        shutil.rmtree(old, ignore_errors=True)
    for name in ("home", "folder", "project"):
        (place / name).mkdir(parents=True)
    project = place / "project"
    (project / "README.md").write_text("# demo\n")
    agent = AGENTS[cell.agent]
    home = {**PLAIN, "HOME": str(place / "home"), "PATH": ":".join([*map(str, path), PLAIN["PATH"]])}
    subprocess.run(["git", "init", "-q"], cwd=project, env=home, check=True)
    with gateway(cell, served, place) as (base, key):
        command, environment = _prepared(agent, program, home, base, key, place / "folder")
        begun = time.monotonic()
        code = finish(command, environment, project, place / "output.txt", limit)
        seconds = time.monotonic() - begun
    found = list(answer_requests(captured))
    written = [project / name for name in WRITTEN]
    return Seen(
        exit=code,
        output=(place / "output.txt").read_text(errors="replace"),
        ran=sum(len(file.read_text().splitlines()) for file in written if file.exists()),
        requests=len(found),
        whole=sum(not streams for streams, _ in found),
        results=sum(has_result for _, has_result in found),
        seconds=round(seconds, 1),
        limit=limit,
    )


def _prepared(
    agent: Agent, program: Path, home: dict[str, str], base: str, key: str, folder: Path
) -> tuple[list[str], dict[str, str]]:
    """The command and its environment: those of ``interlingua launch`` with the changes of the row."""
    known = agent.known
    for name, text in {**known.files, **agent.files}.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(fill(text, base, key, agent.model, str(folder)))
    own = {name: fill(value, base, key, agent.model, str(folder)) for name, value in agent.variables.items()}
    clean = {**home, **trust_variables(known, folder.parent / "project", Path(home["HOME"]))}
    environment = {**environment_of(known, clean, base, key, agent.model, str(folder)), **own}
    words = (word.replace("{prompt}", PROMPT) for word in (*known.arguments, *agent.argv))
    return [str(program), *(fill(word, base, key, agent.model, str(folder)) for word in words)], environment


def finish(command: list[str], environment: dict[str, str], folder: Path, output: Path, limit: float) -> int | None:
    """Run a command and return its exit code, or None if time was up. All processes that it started are killed."""
    with output.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        code: int | None = process.wait(limit)
    except subprocess.TimeoutExpired:
        code = None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return code


def answer_requests(folder: Path) -> Iterator[tuple[bool, bool]]:
    """For each request for an answer: whether it asks for a stream, and whether it holds the result of a call."""
    for file in sorted(folder.glob("*.json")):
        wire = json.loads(file.read_bytes())
        path, body = wire.get("path", ""), wire["body"] if "method" in wire else wire
        if not is_dict(body) or path.endswith(("count_tokens", ":countTokens", "input_tokens")):
            continue
        yield body.get("stream") is True or ":stream" in path, _has_result(body)


def _has_result(value: Any) -> bool:
    """Whether a body holds the result of a call, in any of the protocols."""
    if is_list(value):
        return any(map(_has_result, value))
    if not is_dict(value):
        return False
    kind = str(value.get("type", ""))
    if value.get("role") == "tool" or kind == "tool_result" or kind.endswith("_call_output"):
        return True
    return "functionResponse" in value or any(map(_has_result, value.values()))
