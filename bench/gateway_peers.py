"""Measures other gateways against the hand-written proxy: LiteLLM's proxy and Portkey, each in a folder of its own."""

from __future__ import annotations

import json
import math
import secrets
import shutil
import subprocess
import venv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from gateways import FLOOR_BODY, Gateways, cost, running
from harness import BENCH, Unavailable
from measure import Row

__all__ = ["GatewayPeers"]

CHAT = "/v1/chat/completions"
REQUESTS, ROUNDS, FLOOR_REQUESTS = 200, 2, 3000
INSTALL_SECONDS = 600
PORTKEY = {
    "private": True,
    "dependencies": {"@portkey-ai/gateway": "*"},
    "overrides": {"@hono/node-server": "1.13.8"},  # with newer ones it answers 500 to every stream
}


class Peer(NamedTuple):
    """How another gateway is run: program, arguments, variables, and the headers that requests need."""

    program: str
    words: list[str]
    variables: dict[str, str]
    headers: Sequence[str]


class GatewayPeers:
    """Measures the other gateways. ``folder`` is where they are or will be installed; None leaves them out."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def requests(self) -> Iterator[Row]:
        """CPU time of one whole call through other gateways, against the hand-written proxy."""
        for name, made in (("LiteLLM's proxy", self._litellm), ("Portkey", self._portkey)):
            try:
                yield self._row(f"{name}: a request", made)
            except (Unavailable, OSError, subprocess.SubprocessError) as problem:
                yield Row(f"{name}: a request", math.nan, math.inf, f"not measured: {problem}"[:200])

    def _row(self, name: str, made: Callable[[Path, str], Peer]) -> Row:
        if self._folder is None:
            raise Unavailable("left out by --no-peers")
        with Gateways().place(0) as (folder, mock):
            peer: Peer = made(self._folder, mock)
            floor = running([str(BENCH / "floor_proxy.py"), "{port}", urlsplit(mock).netloc, "raw"])
            other = running(peer.words, "/", program=peer.program, variables=peer.variables, any_status=True)
            with other as theirs, floor as yardstick:
                costs = [
                    cost(folder, theirs, CHAT, "chat", stream=False, most=REQUESTS, headers=peer.headers)
                    for _ in range(1 + ROUNDS)
                ]
                least = [
                    cost(folder, yardstick, CHAT, FLOOR_BODY, stream=False, most=FLOOR_REQUESTS)
                    for _ in range(1 + ROUNDS)
                ]
        ours, floor_cost = min(costs[1:]), min(least[1:])
        return Row(name, ours / floor_cost, math.inf, f"{ours:.0f} µs beside {floor_cost:.0f} µs")

    def _litellm(self, peers: Path, mock: str) -> Peer:
        place = peers / "litellm-proxy"
        python = place / "bin" / "python"
        if not (place / "ready").exists():
            venv.create(place, with_pip=True)
            _install([str(python), "-m", "pip", "install", "-qq", "litellm[proxy]", "mcp"], place)
        key = f"sk-{secrets.token_hex(32)}"
        variables = {
            "MOCK_BASE": mock,
            "MOCK_OPENAI_BASE": f"{mock}/v1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it fetches one
            "LITELLM_LOG": "ERROR",
            "LITELLM_MASTER_KEY": key,
        }
        words = ["-m", "litellm.proxy.proxy_cli", "--config", str(BENCH / "litellm_config.yaml"), "--port", "{port}"]
        words += ["--host", "127.0.0.1", "--num_workers", "1", "--telemetry", "False"]
        return Peer(str(python), words, variables, [f"Authorization: Bearer {key}"])

    def _portkey(self, peers: Path, mock: str) -> Peer:
        place = peers / "portkey"
        node, npm = shutil.which("node"), shutil.which("npm")
        if node is None or npm is None:
            raise Unavailable("there is no node and npm")
        if not (place / "ready").exists():
            place.mkdir(parents=True, exist_ok=True)
            (place / "package.json").write_text(json.dumps(PORTKEY))
            _install([npm, "install", "--no-fund", "--no-audit", "--silent", "--prefix", str(place)], place)
        start = place / "node_modules/@portkey-ai/gateway/build/start-server.js"
        variables = {"NODE_ENV": "production", "TRUSTED_CUSTOM_HOSTS": "localhost,127.0.0.1"}
        headers = ["x-portkey-provider: openai", f"x-portkey-custom-host: {mock}/v1"]
        return Peer(node, [str(start), "--port={port}", "--headless"], variables, headers)


def _install(command: list[str], place: Path) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    if done.returncode:
        raise Unavailable(f"not installed: {(done.stderr.strip().splitlines() or ['no reason'])[-1][:120]}")
    (place / "ready").touch()
