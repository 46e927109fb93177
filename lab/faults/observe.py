"""Play one fault in one dialect, one way, in one medium, and say what was seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

from msgspec.structs import replace

from interlingua.client.async_client import AsyncClient
from interlingua.client.bus import Bus
from interlingua.client.config import AdapterConfig
from interlingua.client.embedded import LoopbackServer, Script, Step, deaf_url, handler
from interlingua.client.sync_client import Client
from interlingua.client.transport.aio import AioTransport
from interlingua.client.transport.blocking import BlockingTransport
from interlingua.client.transport.memory import AsyncMemoryTransport, Handler, MemoryTransport
from interlingua.types.messages import Message
from interlingua.types.request import Request

from .look import look, outcome
from .rows import Row
from .ways import PROVIDERS, WAYS, Call

__all__ = ["CELLS", "MEDIA", "Seen", "agrees", "differences", "expected", "in_memory", "make_call", "observe"]

CONFIG = AdapterConfig("sk-fault-matrix", options={"region": "eu-west-1"})
GUARD = 10.0
"""Seconds after which a connection that still stands is a leak."""


class Seen(NamedTuple):
    """What came of a call, in the words of the table, and what else was wrong with it."""

    what: str
    kept: str
    attempts: int
    waits: tuple[float, ...]
    problems: tuple[str, ...] = ()


BACKOFF = (1.0, 2.0)
"""Between attempts where nobody hints: one second, then two, with chance at its largest."""


def expected(row: Row, way: str) -> Seen:
    """What the table promises."""
    phrase = row.stream if way.endswith("stream") and row.stream is not None else row.complete
    head, comma, kept = phrase.partition(", ")
    what, _, times = head.partition(" ×")
    attempts = int(times or 1)
    return Seen(what, comma + kept, attempts, (BACKOFF if row.waits is None else row.waits)[: attempts - 1])


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)


def differences(row: Row, medium: str) -> tuple[list[str], int]:
    """One sentence for each call that went otherwise than promised, and how many calls there were."""
    seen = observe(row, medium)
    found = [
        f"{medium}, {dialect}, {way}: {row.name}: {_said(was)}, and not {_said(promised)}"
        for (dialect, way), was in seen.items()
        if not agrees(was, promised := expected(row, way), burst=row.burst and medium == "loopback")
    ]
    return found, len(seen)


def agrees(was: Seen, promised: Seen, *, burst: bool = False) -> bool:
    """Whether it went as promised. In a burst, what came in one piece may have been repeated."""
    if burst and was.attempts in range(1, 4):
        return (was._replace(attempts=1, waits=())) == (promised._replace(attempts=1, waits=()))
    return was == promised


def _said(seen: Seen) -> str:
    times = f" ×{seen.attempts}" if seen.attempts > 1 else ""
    waits = f" after {', '.join(f'{seconds:g}' for seconds in seen.waits)} s" if seen.waits else ""
    return "; ".join([f"{seen.what}{times}{seen.kept}{waits}", *seen.problems])


# ------------------------------------------------------------------------------------------------------- the media


class Medium(NamedTuple):
    """Where a call goes: what the client is given for it, and what must be true when it is over."""

    url: str | None
    clock: Clock | None
    transport: Callable[[bool], Any]
    after: Callable[[], Iterator[str]]


@contextmanager
def in_memory(row: Row, around: Callable[[Handler], Handler] | None = None) -> Generator[Medium]:
    """``around`` may change what is answered."""
    clock = Clock()
    answers = handler(Script(*_steps(row)))
    answers = around(answers) if around else answers
    made: list[Any] = []

    def transport(awaited: bool) -> Any:
        made.append(AsyncMemoryTransport(answers, clock.asleep) if awaited else MemoryTransport(answers, clock.sleep))
        return made[-1]

    def after() -> Iterator[str]:
        if any(transport.open for transport in made):
            yield "a reply was left open"

    yield Medium(None, clock, transport, after)


@contextmanager
def on_loopback(row: Row, server: LoopbackServer) -> Generator[Medium]:
    server.script = Script(*_steps(row))
    url = deaf_url() if row.door == "deaf" else server.url
    url = url.replace("http:", "https:") if row.door == "tls" else url

    def transport(awaited: bool) -> Any:
        return AioTransport(tls=False) if awaited else BlockingTransport(tls=False)

    def after() -> Iterator[str]:
        try:
            server.wait(server.idle, GUARD)
        except TimeoutError:
            yield f"{server.open} connections still stand"

    yield Medium(url, None, transport, after)


MEDIA = ("memory", "loopback")
CELLS = [(dialect, way) for dialect in PROVIDERS for way in WAYS]


def observe(row: Row, medium: str) -> dict[tuple[str, str], Seen]:
    """Every dialect and every way: what was seen. In memory, a door that is no server's has no meaning."""
    if medium == "memory":
        return {} if row.door else {cell: play(row, *cell, in_memory(row)) for cell in CELLS}
    if row.seconds is not None:  # real seconds are waited for together
        with ThreadPoolExecutor(8) as pool:
            waiting = {cell: pool.submit(_alone, row, *cell) for cell in CELLS}
            return {cell: future.result() for cell, future in waiting.items()}
    with LoopbackServer.in_thread() as server:
        return {cell: play(row, *cell, on_loopback(row, server)) for cell in CELLS}


def _alone(row: Row, dialect: str, way: str) -> Seen:
    with LoopbackServer.in_thread() as server:
        return play(row, dialect, way, on_loopback(row, server))


# --------------------------------------------------------------------------------------------------------- one call


def play(row: Row, dialect: str, way: str, place: AbstractContextManager[Medium]) -> Seen:
    """Make one call, and look at it from all sides."""
    call = make_call(row, dialect, way, place)
    return Seen(*outcome(call), tuple(call.waits), (*call.problems, *look(call, way, dialect)))


def make_call(
    row: Row,
    dialect: str,
    way: str,
    place: AbstractContextManager[Medium],
    config: AdapterConfig = CONFIG,
    *listeners: Callable[[Bus], object],
) -> Call:
    """Make one call, and see that nothing of it is left. ``listeners`` are told the call's bus."""
    call, bus = Call(), Bus()
    bus.subscribe(call.heard.append)
    for listener in listeners:
        listener(bus)
    awaited = way.startswith("async")
    kind: Any = AsyncClient if awaited else Client
    with place as medium:
        if row.seconds is not None:
            config = replace(config, timeout_seconds=row.seconds)
        if medium.url is not None:
            config = replace(config, base_url=medium.url)
        client = kind(
            PROVIDERS[dialect],
            config,
            transport=medium.transport(awaited),
            sleep=_waiting(call, medium.clock, awaited),
            clock=medium.clock or time.monotonic,
            chance=lambda: 1.0,
            bus=bus,
        )
        WAYS[way](client, ask(row), call)
        if len(client._open_calls):
            call.problems.append("the call is still in the register")
        call.problems += medium.after()
    return call


def ask(row: Row) -> Request:
    return Request([Message("user", "one two three four")], "some-model", tools=row.tools, max_output_tokens=100)


def _steps(row: Row) -> tuple[Step, ...]:
    return row.steps if isinstance(row.steps, tuple) else (row.steps,)


def _waiting(call: Call, clock: Clock | None, awaited: bool) -> Any:
    """Remember how long is waited between attempts, and let only a clock of our own feel it."""

    def wait(seconds: float) -> None:
        call.waits.append(seconds)
        if clock is not None:
            clock.sleep(seconds)

    async def wait_async(seconds: float) -> None:
        wait(seconds)

    return wait_async if awaited else wait
