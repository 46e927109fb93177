"""Play one fault in one dialect, one way and one medium, and return what was observed."""

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
"""Seconds after which a connection that is still open counts as a leak."""


class Seen(NamedTuple):
    """The outcome of a call in the words of the table, and all other problems with it."""

    what: str
    kept: str
    attempts: int
    waits: tuple[float, ...]
    problems: tuple[str, ...] = ()


BACKOFF = (1.0, 2.0)
"""Seconds between attempts without a hint of the server, if the random part is at its largest."""


def expected(row: Row, way: str) -> Seen:
    """The outcome that the table promises."""
    phrase = row.stream if way.endswith("stream") and row.stream is not None else row.complete
    head, comma, kept = phrase.partition(", ")
    what, _, times = head.partition(" ×")
    attempts = int(times or 1)
    return Seen(what, comma + kept, attempts, (BACKOFF if row.waits is None else row.waits)[: attempts - 1])


class Clock:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)


def differences(row: Row, medium: str) -> tuple[list[str], int]:
    """One sentence for each call whose outcome is not the promised one, and the number of calls."""
    seen = observe(row, medium)
    found = [
        f"{medium}, {dialect}, {way}: {row.name}: {_said(was)}, and not {_said(promised)}"
        for (dialect, way), was in seen.items()
        if not agrees(was, promised := expected(row, way), burst=row.burst and medium == "loopback")
    ]
    return found, len(seen)


def agrees(was: Seen, promised: Seen, *, burst: bool = False) -> bool:
    """Whether the outcome is the promised one. In a burst, the number of attempts may differ."""
    if burst and was.attempts in range(1, 4):
        return (was._replace(attempts=1, waits=())) == (promised._replace(attempts=1, waits=()))
    return was == promised


def _said(seen: Seen) -> str:
    times = f" ×{seen.attempts}" if seen.attempts > 1 else ""
    waits = f" after {', '.join(f'{seconds:g}' for seconds in seen.waits)} s" if seen.waits else ""
    return "; ".join([f"{seen.what}{times}{seen.kept}{waits}", *seen.problems])


# ------------------------------------------------------------------------------------------------------- the media


class Medium(NamedTuple):
    """A server for a call: what the client needs to reach it, and a check for when the call is over."""

    url: str | None
    clock: Clock | None
    transport: Callable[[bool], Any]
    after: Callable[[], Iterator[str]]


@contextmanager
def in_memory(row: Row, around: Callable[[Handler], Handler] | None = None) -> Generator[Medium]:
    """A server in memory. ``around`` may wrap the handler that answers."""
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
    """The outcome for every dialect and way. A row with another ``door`` is not played in memory."""
    if medium == "memory":
        return {} if row.door else {cell: play(row, *cell, in_memory(row)) for cell in CELLS}
    if row.seconds is not None:  # these wait for real seconds, so they run at the same time
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
    """Make one call and check it."""
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
    """Make one call, and check that it leaves nothing open. ``listeners`` are called with the bus of the call."""
    call, bus = Call(), Bus()
    bus.subscribe(call.bus_events.append)
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
    """A ``sleep`` for the client that notes the waits between attempts; it moves ``clock``, and never really waits."""

    def wait(seconds: float) -> None:
        call.waits.append(seconds)
        if clock is not None:
            clock.sleep(seconds)

    async def wait_async(seconds: float) -> None:
        wait(seconds)

    return wait_async if awaited else wait
