"""The comparison: the same tasks with this library and with others, against the same local server.

``python examples/compare/run.py [PAGE] [--only TASK] [--peers FOLDER]`` prints a table and writes it into PAGE. Other
libraries are installed into FOLDER (default: ``compare`` inside the environment), from the package registries. One that
cannot be installed is named and left out. All requests go to a server on this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tasks import TASKS, Report, Task

from interlingua.embedded import LoopbackServer

HERE = Path(__file__).resolve().parent
PYTHON_PEERS = ("pydantic-ai-slim[openai,anthropic]", "litellm", "llm", "llm-anthropic")
NODE_PEERS = ("ai", "@ai-sdk/openai-compatible", "@ai-sdk/anthropic", "zod")
LIBRARIES = {"interlingua": "py", "pydantic_ai": "py", "litellm": "py", "llm": "py", "ai_sdk": "mjs"}
TITLES = {"pydantic_ai": "pydantic-ai", "ai_sdk": "Vercel AI SDK"}
RUNS, SECONDS = 3, 120
BEGIN, END = "<!-- compared -->", "<!-- end -->"


class Result(NamedTuple):
    """One task with one library: lines of code, wall time, and what was lost; or ``why`` it was not run."""

    lines: int = 0
    seconds: float = 0.0
    lost: tuple[str, ...] = ()
    why: str = ""


def program(task: Task, library: str) -> Path:
    return HERE / task.name / f"with_{library}.{LIBRARIES[library]}"


def lines_of(path: Path) -> int:
    """Lines that are neither empty nor a comment."""
    lines = map(str.strip, path.read_text("utf-8").splitlines())
    return sum(bool(line) and not line.startswith(("#", "//")) for line in lines)


class Peers:
    """The other libraries, installed once."""

    def __init__(self, folder: Path | None) -> None:
        self.folder, self.why = folder, "" if folder is not None else "not installed"

    def command(self, library: str, path: Path) -> list[str] | None:
        """The command that runs a program; None if its library is not installed."""
        if library == "interlingua":
            return [sys.executable, str(path)]
        if self.folder is None:
            return None
        if LIBRARIES[library] == "py":
            python = self.folder / "py" / "bin" / "python"
            return [str(python), str(path)] if python.exists() else None
        node = shutil.which("node")
        if node is None or not (self.folder / "js" / "node_modules" / "ai").exists():
            return None
        copy = self.folder / "js" / f"{path.parent.name}_{path.name}"  # node searches modules beside the program
        shutil.copyfile(path, copy)
        return [node, str(copy)]

    def install(self) -> None:
        """Install the libraries that are missing."""
        assert self.folder is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "py" / "ready").exists():
            print("installing", *PYTHON_PEERS, file=sys.stderr)
            venv.create(self.folder / "py", with_pip=True)
            python = self.folder / "py" / "bin" / "python"
            if not subprocess.run([python, "-m", "pip", "install", "-qq", *PYTHON_PEERS], check=False).returncode:
                (self.folder / "py" / "ready").touch()
        js = self.folder / "js"
        if not js.exists() and shutil.which("npm"):
            print("installing", *NODE_PEERS, file=sys.stderr)
            js.mkdir()
            (js / "package.json").write_text('{"private": true, "type": "module"}')
            subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *NODE_PEERS], cwd=js, check=False)


def run(task: Task, library: str, peers: Peers, runs: int = RUNS) -> Result:
    """Run a program several times, each time with a new server. The result has what was lost in any run."""
    path = program(task, library)
    if not path.exists():
        return Result(why="the library has nothing for it")
    command = peers.command(library, path)
    if command is None:
        return Result(why="not installed")
    lost: dict[str, None] = {}
    seconds: list[float] = []
    for _ in range(runs):
        script = task.script()
        with LoopbackServer.in_thread(script) as server:
            begun = time.perf_counter()
            report = report_of(command, server.url)
            seconds.append(time.perf_counter() - begun)
        lost |= dict.fromkeys(task.judge(report, script))
    return Result(lines_of(path), statistics.median(seconds), tuple(lost))


def report_of(command: Sequence[str], url: str) -> Report:
    """Run a program and return its report, the last line that it prints; if that is no report, an error."""
    env = {**os.environ, "BASE": url, "NO_COLOR": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "HOME": str(HERE)}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=env, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"not finished within {SECONDS} s"}
    try:
        report: Report = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        errors = [line.strip() for line in done.stderr.splitlines() if "Error" in line]
        return {"error": (errors or ["it printed nothing"])[-1][:100]}
    return report


def summary(result: Result) -> str:
    if result.why:
        return result.why
    lost = f"lost: {', '.join(result.lost)}" if result.lost else "nothing lost"
    return f"{result.lines} lines, {result.seconds:.2f} s; {lost}"


def table(results: dict[tuple[str, str], Result]) -> Iterator[str]:
    """The results as a table in Markdown."""
    yield "| | " + " | ".join(TITLES.get(library, library) for library in LIBRARIES) + " |"
    yield "|---" * (1 + len(LIBRARIES)) + "|"
    for task in TASKS:
        if (task.name, "interlingua") in results:
            cells = (summary(results[task.name, library]).replace("; ", "<br>") for library in LIBRARIES)
            yield f"| **{task.name}**: {task.about} | " + " | ".join(cells) + " |"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("page", nargs="?", type=Path)
    options.add_argument("--only", help="one task")
    options.add_argument("--library", help="one library")
    options.add_argument("--runs", type=int, default=RUNS)
    options.add_argument("--peers", type=Path, default=Path(sys.prefix, "compare"))
    arguments = options.parse_args()
    peers = Peers(arguments.peers)
    peers.install()
    results: dict[tuple[str, str], Result] = {}
    for task in TASKS:
        for library in LIBRARIES:
            if arguments.only in (None, task.name) and arguments.library in (None, library):
                results[task.name, library] = run(task, library, peers, arguments.runs)
                print(f"{task.name:8} {library:12} {summary(results[task.name, library])}", flush=True)
    if arguments.page is not None:
        text = arguments.page.read_text("utf-8")
        head, rest = text.split(BEGIN)
        arguments.page.write_text(f"{head}{BEGIN}\n{chr(10).join(table(results))}\n{END}{rest.split(END)[1]}", "utf-8")


if __name__ == "__main__":
    main()
