"""The CPU time that a call costs in our client and in others, measured in the worker process of the harness."""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import venv
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from harness import HERE, Mocks, Unavailable, mocks, work
from measure import Row

__all__ = ["Clients"]

ADAPTER = str(HERE / "adapter_interlingua.py")
CALL, EVENT = "call_c50_cpu_us", "paced_cpu_us_per_chunk"
HEAVY = ("litellm", "mcp", "pydantic-ai-slim[openai]", "orjson")
REPEATS = 5
SIZES = {"n1": 20, "n50": 3000, "streams": 4, "paced_streams": 20}
COALESCED = 1.2  # events per read; above it the machine was too busy, and an event seems cheaper than it is


class Target(NamedTuple):
    """A client: its name here and in the harness (``word``); ``heavy``: it runs in the environment of heavy peers."""

    name: str
    word: str
    heavy: bool = False
    ours: bool = False


BARE = Target("bare aiohttp + orjson", "aiohttp+orjson")
CORE = (
    BARE,
    Target("interlingua, openai-chat", "interlingua:openai-chat", ours=True),
    Target("interlingua, anthropic-messages", "interlingua:anthropic-messages", ours=True),
    Target("interlingua, openai-responses", "interlingua:openai-responses", ours=True),
    Target("interlingua, gemini", "interlingua:gemini", ours=True),
)
PEERS = (
    Target("floor (httptools by hand, no product)", "floor"),
    Target("openai", "openai"),
    Target("anthropic", "anthropic"),
    Target("litellm", "litellm", heavy=True),
    Target("pydantic-ai-slim", "pydantic-ai", heavy=True),
)

Costs = dict[str, Any]


class Clients:
    """Measures all clients. ``peers`` is the folder for an environment with the heavy ones; None leaves them out."""

    def __init__(self, peers: Path | None = None) -> None:
        self.peers = peers
        self.why: dict[str, str] = {}

    def calls(self) -> Iterator[Row]:
        """CPU time of one whole call, 50 at once, against bare aiohttp + orjson."""
        return self._rows(CALL, 1.5)

    def events(self) -> Iterator[Row]:
        """CPU time of one event of a paced stream, 10 streams at once, against bare aiohttp + orjson."""
        return self._rows(EVENT, 1.3)

    def _rows(self, what: str, budget: float) -> Iterator[Row]:
        bare = self.measured.get(BARE.name)
        for target in (*PEERS[:1], *CORE, *PEERS[1:]):
            limit = budget if target.ours else math.inf
            runs = self.measured.get(target.name)
            if runs and bare:
                yield Row(target.name, _ratio(runs, bare, what), limit, _note(runs, what))
            else:
                why = self.why.get(target.name, "bare aiohttp, the yardstick, failed")
                yield Row(target.name, math.nan, limit, f"not measured: {why}")

    @cached_property
    def measured(self) -> dict[str, list[Costs]]:
        """Every client's costs, run by run. ``why`` has the reasons for clients that are missing."""
        found: dict[str, list[Costs]] = {}
        heavy = self._environment()
        try:
            with mocks() as at:
                for turn in range(REPEATS):
                    for target in (*CORE, *(PEERS if turn == 0 else ())):
                        self._measure(target, sys.executable if not target.heavy else heavy, at, found)
        except Unavailable as problem:
            self.why = dict.fromkeys((target.name for target in (*CORE, *PEERS)), str(problem))
        return found

    def _measure(self, target: Target, python: str | None, at: Mocks, found: dict[str, list[Costs]]) -> None:
        if python is None or target.name in self.why:
            self.why.setdefault(target.name, "left out by --no-peers")
            return
        print(f"    {target.name} …", file=sys.stderr, flush=True)
        try:
            costs = work(target.word, python, at, ADAPTER if target.ours else None, **SIZES)
            found.setdefault(target.name, []).append(costs)
        except Unavailable as problem:
            self.why[target.name] = str(problem)

    def _environment(self) -> str | None:
        """The interpreter of the environment with the heavy peers, which is made if needed; None without one."""
        if self.peers is None:
            return None
        python, ready = self.peers / "bin" / "python", self.peers / "ready"
        if not ready.exists():
            print(f"    installing {', '.join(HEAVY)} …", file=sys.stderr, flush=True)
            venv.create(self.peers, with_pip=True)
            done = subprocess.run([python, "-m", "pip", "install", "-qq", *HEAVY], check=False)
            if done.returncode:
                self.why |= {target.name: "could not be installed" for target in PEERS if target.heavy}
                return None
            ready.touch()
        return str(python)


def _ratio(runs: list[Costs], bare: list[Costs], what: str) -> float:
    """The median of the ratios of each run to the bare run beside it, since the machine is not always equally busy."""
    return statistics.median(run[what] / beside[what] for run, beside in zip(runs, bare, strict=False))


def _note(runs: list[Costs], what: str) -> str:
    cost = statistics.median(run[what] for run in runs)
    if what == CALL:
        return f"{cost:.0f} µs"
    together = statistics.median(run["paced_events_per_read"] for run in runs)
    return f"{cost:.0f} µs" + (f"; unsure, {together:.1f} events came at a time" if together > COALESCED else "")
