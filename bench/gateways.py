"""What the gateway costs: CPU time beside a hand-written proxy, memory, start, and how fast it lets go of an upstream.

The yardsticks are the floors beside the checkout (`../shared/bench/floor_proxy.py`): a proxy of a few lines that passes
bytes on, and one that parses and writes each event anew. Gateway and floor call the same mock provider; the load
generator sends both the same requests in turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import math
import os
import random
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from harness import BENCH, GAP, Unavailable, core, free_port, served, until_open, workshop
from leaving import Talker, leave, until_quiet
from measure import Row

__all__ = ["FLOOR_BODY", "Gateways", "cost", "running"]

KEY = "sk-bench"  # what the load generator sends
ROUNDS = 4
REQUESTS, AT_ONCE = 3000, 32  # at once: as many as in the harness beside the floors
STREAMS, STREAMS_AT_ONCE = 20, 10
EVENTS = 300  # of one stream of the mock
MANY, MANY_GAP = 1000, 500_000
IDLE_MB, OPEN_MB, START_SECONDS, CLOSE_MS = 80, 200, 1.0, 10
LEAVERS, LEAVERS_AT_ONCE, STAYS = 10_000, 200, 1.05
PATIENCE = 90.0
QUIET_SECONDS, SETTLE_SECONDS = 1.0, 6.0
PROC = Path("/proc")
NOTHING: Mapping[str, str] = {}


class Way(NamedTuple):
    """One way through the gateway, and the floor to compare it with."""

    name: str
    path: str
    body: str
    floor: str
    model: str
    budget: float
    event_budget: float


WAYS = (
    Way("Chat on Chat, passed on", "/v1/chat/completions", "chat", "raw", "chat:gpt-4o", 3, 1.3),
    Way("Messages on Messages, passed on", "/v1/messages", "messages", "raw", "claude:sonnet", 3, 1.3),
    Way("Messages on Chat, translated", "/v1/messages", "messages", "translate", "chat:gpt-4o", 5, 1.5),
    Way("Chat on Messages, translated", "/v1/chat/completions", "chat", "translate", "claude:sonnet", 5, 1.5),
)
FLOOR_BODY = "chat"


class Running(NamedTuple):
    """A server that is measured."""

    pid: int
    port: int
    seconds: float
    """From its start until it was ready."""


class Costs(NamedTuple):
    """CPU microseconds of one request through the gateway and through the floor, round by round."""

    ours: list[float]
    floor: list[float]

    def row(self, name: str, budget: float, each: int = 1) -> Row:
        """Their ratio: of the best of both, since what disturbs only adds."""
        ours, floor = min(self.ours) / each, min(self.floor) / each
        return Row(name, ours / floor, budget, f"{ours:.0f} µs beside {floor:.0f} µs")


class Gateways:
    """The measurements of the gateway. Each starts the servers that it needs, and ends them."""

    def requests(self) -> Iterator[Row]:
        """CPU time of one whole call through the gateway, against the hand-written proxy."""
        for way in WAYS:
            yield self._row(f"{way.name}: a request", way.budget, lambda way=way: self._costs(way, stream=False).row)

    def events(self) -> Iterator[Row]:
        """CPU time of one event of a paced stream through the gateway, against the hand-written proxy."""
        for way in WAYS:
            yield self._row(
                f"{way.name}: an event", way.event_budget, lambda way=way: self._costs(way, stream=True).row, EVENTS
            )

    def operation(self) -> Iterator[Row]:
        """Memory, start and letting go of the gateway, against their limits."""
        found: tuple[tuple[str, float, str, Callable[[], float]], ...] = (
            ("resident memory, idle", IDLE_MB, "MB", self._idle),
            (f"resident memory, {MANY:,} open streams, passed on", OPEN_MB, "MB", lambda: self._open(WAYS[0])),
            (f"resident memory, {MANY:,} open streams, translated", OPEN_MB, "MB", lambda: self._open(WAYS[2])),
            ("from cold start to ready", START_SECONDS, "s", self._start),
            ("a client leaves: until its upstream is closed", CLOSE_MS, "ms", self._closing),
            (f"{LEAVERS:,} clients left: memory after the last half beside the first", STAYS, "x", self._left),
        )
        for name, limit, unit, measured in found:
            try:
                value = measured()
            except Unavailable as problem:
                yield Row(name, math.nan, 1, f"not measured: {problem}")
            else:
                yield Row(name, value / limit, 1, f"{value:.3g} {unit} of {limit:g} {unit}")

    def _row(self, name: str, budget: float, measured: Callable[[], Any], each: int = 1) -> Row:
        try:
            row: Row = measured()(name, budget, each)
        except Unavailable as problem:
            return Row(name, math.nan, budget, f"not measured: {problem}")
        return row

    # ------------------------------------------------------------------------------------------------ CPU of a request

    def _costs(self, way: Way, *, stream: bool) -> Costs:
        found = Costs([], [])
        with self.place(GAP if stream else 0) as (folder, mock):
            floor = running([str(BENCH / "floor_proxy.py"), "{port}", urlsplit(mock).netloc, way.floor])
            with gateway(folder, way.model, mock) as ours, floor as yardstick:
                for turn in range(ROUNDS + 1):
                    spent = cost(folder, ours, way.path, way.body, stream=stream)
                    least = cost(folder, yardstick, "/v1/chat/completions", FLOOR_BODY, stream=stream)
                    if turn:  # the first is for warming up
                        found.ours.append(spent)
                        found.floor.append(least)
        return found

    @contextlib.contextmanager
    def place(self, gap: int) -> Iterator[tuple[Path, str]]:
        """The folder with the tools, and the URL of a mock provider."""
        if self._missing:
            raise Unavailable(self._missing)
        with workshop("mock", "loadgen") as folder, served(folder, gap) as mock:
            yield folder, mock

    @cached_property
    def _missing(self) -> str:
        missing = [name for name in ("uvicorn", "uvloop", "httptools", "orjson", "yaml") if find_spec(name) is None]
        if missing:
            return f"{', '.join(missing)} not installed"
        return "" if (PROC / "self/schedstat").exists() else "there is no /proc/self/schedstat"

    # ---------------------------------------------------------------------------------------- memory, start, letting go

    def _idle(self) -> float:
        with self.place(0) as (folder, mock), gateway(folder, WAYS[2].model, mock) as ours:
            cost(folder, ours, WAYS[2].path, WAYS[2].body, stream=True, most=20)
            time.sleep(QUIET_SECONDS)
            return resident(ours.pid)

    def _open(self, way: Way) -> float:
        """Resident memory while ``MANY`` streams are open, each after a few events."""
        with self.place(MANY_GAP) as (folder, mock), gateway(folder, way.model, mock) as ours:
            command = load(folder, ours, way.path, way.body, stream=True, at_once=MANY, most=MANY)
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as clients:
                core(clients.pid, 0)
                try:
                    time.sleep(SETTLE_SECONDS)
                    metrics = _fetch(ours.port, "/metrics")
                    if f"interlingua_open_requests {MANY}\n" not in metrics:
                        raise Unavailable(f"not {MANY} streams were open")
                    return resident(ours.pid)
                finally:
                    clients.kill()

    def _start(self) -> float:
        seconds: list[float] = []
        with self.place(0) as (folder, mock):
            for _ in range(ROUNDS):
                with gateway(folder, WAYS[0].model, mock) as ours:
                    seconds.append(ours.seconds)
        return min(seconds)

    def _closing(self) -> float:
        """Milliseconds from the disconnection of a client to that of the connection to the provider; a median."""
        if self._missing:
            raise Unavailable(self._missing)
        with workshop() as folder, Endless() as provider, gateway(folder, WAYS[0].model, provider.url) as ours:
            body = (folder / "fixtures" / "req_chat_small_stream.json").read_bytes()
            head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\n"
            head += f"content-length: {len(body)}\r\n\r\n"
            found: list[float] = []
            for _ in range(100):
                with socket.create_connection(("127.0.0.1", ours.port), 10) as client:
                    client.sendall(head.encode() + body)
                    while b"data:" not in client.recv(65536):
                        pass
                    start = time.perf_counter()
                found.append(provider.ended() - start)
            return statistics.median(found) * 1000

    def _left(self) -> float:
        """How much memory grew while the second half of many clients came and left; no connection may stay open."""
        if self._missing:
            raise Unavailable(self._missing)
        with workshop() as folder:
            return asyncio.run(self._come_and_go(folder))

    async def _come_and_go(self, folder: Path) -> float:
        ways = WAYS[0], WAYS[2]
        bodies = [(way.path, (folder / "fixtures" / f"req_{way.body}_small_stream.json").read_bytes()) for way in ways]
        found, chance = list[float](), random.Random(1)
        async with Talker() as talker:
            with gateway(folder, WAYS[0].model, talker.url) as ours:
                for _ in range(2):
                    await leave(ours.port, bodies, LEAVERS // 2, LEAVERS_AT_ONCE, chance)
                    try:
                        await until_quiet(talker)
                    except TimeoutError:
                        raise Unavailable(f"{talker.open} connections to the provider stayed open") from None
                    metrics = await asyncio.to_thread(_fetch, ours.port, "/metrics")
                    if "interlingua_open_requests 0\n" not in metrics:
                        raise Unavailable("calls of clients that left stayed open")
                    found.append(resident(ours.pid))
        return found[1] / found[0]


# -------------------------------------------------------------------------------------------------------- what is run


@contextlib.contextmanager
def gateway(folder: Path, model: str, mock: str) -> Iterator[Running]:
    """Run the gateway as in production, with a key and a route to the mock."""
    sha = hashlib.sha256(KEY.encode()).hexdigest()
    (folder / "gateway.yaml").write_text(
        f'settings: {{models: {folder / "models.yaml"}}}\nroutes: {{"*": "{model}"}}\n'
        f"keys: [{{name: bench, sha256: {sha}}}]\n"
    )
    (folder / "models.yaml").write_text(
        f"adapters:\n  chat: {{type: openai-chat, base_url: {mock}/v1, api_key_env: BENCH_KEY}}\n"
        f"  claude: {{type: anthropic, base_url: {mock}, api_key_env: BENCH_KEY}}\n"
    )
    words = ["-m", "interlingua", "serve", "--config", str(folder / "gateway.yaml"), "--port", "{port}"]
    with running(words, ready="/readyz") as found:
        yield found


@contextlib.contextmanager
def running(
    words: list[str],
    ready: str | None = None,
    *,
    program: str = sys.executable,
    variables: Mapping[str, str] = NOTHING,
    any_status: bool = False,
) -> Iterator[Running]:
    """Run a program that listens on ``{port}``, alone on the last core, with more environment ``variables``.

    It is ready when the path ``ready`` is answered with 200, or with any status (``any_status``).
    """
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    start = time.perf_counter()
    process = subprocess.Popen(
        [program, *(word.replace("{port}", str(port)) for word in words)],
        env={**environment, "NO_PROXY": "*", "BENCH_KEY": KEY, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    core(process.pid, -1)
    try:
        if ready is None:
            until_open(port)
        else:
            until_ready(process, port, ready, "HTTP" if any_status else "HTTP/1.1 200")
        yield Running(process.pid, port, time.perf_counter() - start)
    finally:
        process.kill()
        process.communicate()


def until_ready(process: subprocess.Popen[str], port: int, path: str, begins: str) -> None:
    """Wait until a server answers with a first line that begins with ``begins``."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError):
            if _fetch(port, path).startswith(begins):
                return
        time.sleep(0.005)
    assert process.stderr is not None
    if process.poll() is None:
        raise Unavailable(f"it was not ready within {PATIENCE:.0f} s")
    raise Unavailable((process.stderr.read().strip().splitlines() or ["it ended"])[-1][:120])


def _fetch(port: int, path: str) -> str:
    with socket.create_connection(("127.0.0.1", port), 5) as asking:
        asking.sendall(f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: asking.recv(65536), b"")).decode()


def load(
    folder: Path,
    at: Running,
    path: str,
    body: str,
    *,
    stream: bool,
    at_once: int,
    most: int,
    headers: Sequence[str] = (),
) -> list[str]:
    """The command that sends requests: ``at_once`` at the same time, ``most`` in all."""
    file = folder / "fixtures" / f"req_{body}_small{'_stream' if stream else ''}.json"
    return [str(folder / "loadgen"), str(at.port), path, str(file), str(at_once), "120", "0", str(most), *headers]


def cost(
    folder: Path,
    at: Running,
    path: str,
    body: str,
    *,
    stream: bool,
    most: int | None = None,
    headers: Sequence[str] = (),
) -> float:
    """CPU microseconds of one request, the mean of many."""
    most = most or (STREAMS if stream else REQUESTS)
    at_once = STREAMS_AT_ONCE if stream else AT_ONCE
    command = load(folder, at, path, body, stream=stream, at_once=at_once, most=most, headers=headers)
    before = cpu(at.pid)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as clients:
        core(clients.pid, 0)
        output, problem = clients.communicate()
    spent = cpu(at.pid) - before
    result = json.loads(output)
    if result["err"] or result["n"] != most:
        raise Unavailable(f"{result['n']} of {most} requests were answered: {problem.strip()[:120]}")
    return spent / most


def cpu(pid: int) -> float:
    """Microseconds that all threads of a process have run."""
    files = (PROC / str(pid) / "task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in files) / 1000


def resident(pid: int) -> float:
    """Resident memory, in megabytes."""
    pages = int((PROC / str(pid) / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class Endless:
    """A provider whose streams begin and never end. It notes when a connection to it is closed."""

    def __enter__(self) -> Endless:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._ended: list[float] = []
        self._noted = threading.Semaphore(0)
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()

    def ended(self) -> float:
        """Wait for the next connection to end, and return the time."""
        if not self._noted.acquire(timeout=10):
            raise Unavailable("the upstream was not closed within 10 s")
        return self._ended.pop(0)

    def _serve(self) -> None:
        event = b'data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}\n\n'
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                with connection, contextlib.suppress(ConnectionError):
                    read = b""
                    while not read.endswith(b"}"):
                        read += connection.recv(65536)
                    connection.sendall(head + b"%x\r\n%s\r\n" % (len(event), event))
                    connection.recv(1)
                self._ended.append(time.perf_counter())
                self._noted.release()
