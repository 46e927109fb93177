"""The translators that are compared: the pairs that each documents, how it is installed, how it is called."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator, Mapping
from itertools import permutations
from pathlib import Path
from typing import Any, Final, NamedTuple

from lab.oracles import DIALECTS
from lab.translators.sample import EVENTS, Task

__all__ = ["PEERS", "Install", "Pair", "Peer", "ask"]

Pair = tuple[str, str]
PROGRAMS: Final = Path(__file__).resolve().parents[2] / "examples" / "compare" / "translators"


def all_pairs(*dialects: str) -> frozenset[Pair]:
    return frozenset(permutations(dialects, 2))


class Peer(NamedTuple):
    """A translator: its package, its program, and the pairs that it documents for each verb."""

    name: str
    program: str
    pairs: Mapping[str, frozenset[Pair]]
    package: str = ""


FOUR: Final = all_pairs(*EVENTS)
FIVE: Final = all_pairs(*EVENTS, "bedrock-converse")
OURS: Final = Peer("interlingua", "with_interlingua.py", {
    "request": all_pairs(*DIALECTS),
    "answer": all_pairs(*DIALECTS),
    "stream": FOUR,
})  # fmt: skip
PEERS: Final = (
    OURS,
    Peer("llm-rosetta", "with_llm_rosetta.py", {"request": FOUR, "answer": FOUR, "stream": FOUR}, "llm-rosetta"),
    Peer("llm-babel", "with_llm_babel.py", {
        "request": FIVE,
        "answer": FIVE,
        "stream": frozenset(pair for pair in FOUR if pair[1] in ("openai-chat", "anthropic-messages")),
    }, "llm-babel"),
    Peer("litellm", "with_litellm.py", {
        "request": frozenset({("anthropic-messages", "openai-chat"), ("anthropic-messages", "openai-responses"),
                              ("openai-responses", "openai-chat"), ("gemini", "openai-chat")}),
        "answer": frozenset({("openai-chat", "anthropic-messages"), ("openai-responses", "anthropic-messages"),
                             ("openai-chat", "openai-responses"), ("openai-chat", "gemini")}),
        "stream": frozenset({("openai-chat", "anthropic-messages"), ("openai-chat", "gemini")}),
    }, "litellm"),
    Peer("llm-bridge", "with_llm_bridge.mjs", {"request": FOUR, "answer": frozenset(), "stream": FOUR}, "llm-bridge"),
)  # fmt: skip


class Install(NamedTuple):
    """The folder in which the other libraries are installed, each in a folder of its own."""

    folder: Path

    def command(self, peer: Peer) -> list[str] | None:
        """The command that runs a peer's program. The peer is installed first if it is missing; None if that fails."""
        if not peer.package:
            return [sys.executable, str(PROGRAMS / peer.program)]
        return self._node(peer) if peer.program.endswith(".mjs") else self._python(peer)

    def _python(self, peer: Peer) -> list[str] | None:
        home = self.folder / peer.name
        python = home / "bin" / "python"
        if not (home / "ready").exists():
            print("installing", peer.package, file=sys.stderr)
            venv.create(home, with_pip=True, clear=home.exists())
            if _fails([str(python), "-m", "pip", "install", "-qq", peer.package]):
                return None
            (home / "ready").touch()
        return [str(python), str(PROGRAMS / peer.program)]

    def _node(self, peer: Peer) -> list[str] | None:
        node, npm, home = shutil.which("node"), shutil.which("npm"), self.folder / peer.name
        if node is None or npm is None:
            return None
        if not (home / "ready").exists():
            print("installing", peer.package, file=sys.stderr)
            home.mkdir(parents=True, exist_ok=True)
            (home / "package.json").write_text('{"private": true, "type": "module"}')
            if _fails([npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(home), peer.package]):
                return None
            (home / "ready").touch()
        shutil.copyfile(PROGRAMS / peer.program, home / peer.program)  # modules are looked for beside the program
        return [node, str(home / peer.program)]


def _fails(command: list[str]) -> bool:
    return subprocess.run(command, check=False).returncode != 0


def ask(command: list[str], asked: Iterable[tuple[Task, str]]) -> Iterator[dict[str, Any]]:
    """The program's version, then one result for each task and target. A program that ends early is started again."""
    waiting = [_line(task, target) for task, target in asked]
    place, first = 0, True
    while first or place < len(waiting):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
            assert run.stdin is not None
            assert run.stdout is not None
            head = run.stdout.readline()
            if not head:
                raise RuntimeError("its program does not run")
            if first:
                yield json.loads(head)
            first = False
            while place < len(waiting):
                try:
                    run.stdin.write(waiting[place])
                    run.stdin.flush()
                    line = run.stdout.readline()
                except BrokenPipeError:
                    line = b""
                place += 1
                yield json.loads(line) if line else {"error": "the program ended"}
                if not line:
                    break
            run.stdin.close()


def _line(task: Task, target: str) -> bytes:
    asked = {"verb": task.verb, "source": task.source, "target": target, "body": task.body}
    return json.dumps({**asked, "model": task.model, "stream": task.stream}).encode() + b"\n"
