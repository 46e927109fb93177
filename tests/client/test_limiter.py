"""The limiter: never more than allowed in any minute, first come first served, and pauses that providers ask for."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from client.support import CANARY, Clock, ask
from interlingua import (
    CancelledError,
    ErrorClass,
    Limiter,
    RateLimitError,
    SyncSession,
    connect,
    connect_sync,
)
from interlingua.client import limiter as module
from interlingua.client.embedded import LoopbackServer, Script, Step, handler
from interlingua.client.limiter import Permit
from interlingua.client.transport.memory import AsyncMemoryTransport, MemoryTransport


class Line:
    """A limiter whose clock is moved by hand, and what happened on it."""

    def __init__(self, **limits: Any) -> None:
        self.clock = Clock()
        self.limiter = Limiter(clock=self.clock, **limits)
        self.granted: list[tuple[float, int]] = []

    def join(self, tokens: int = 0, key: str = "a") -> Permit:
        return self.limiter.join(tokens, key, lambda: None)

    def run(self, permits: list[Permit]) -> None:
        """Let time pass until all are granted; each ends at once, with the tokens that it reserved."""
        waiting = list(permits)
        for _ in range(10_000):
            if not waiting:
                return
            delays = []
            for permit in list(waiting):
                delay = self.limiter.delay(permit)
                if delay is None:
                    waiting.remove(permit)
                    self.granted.append((self.clock.now, permit.tokens))
                    self.limiter.end(permit)
                else:
                    delays.append(delay)
            if len(delays) == len(waiting) and waiting and min(delays) < inf:
                self.clock.now += min(delays)
        raise AssertionError("somebody waits for ever")


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(50, 400), st.lists(st.integers(0, 150), min_size=1, max_size=40))
def test_no_minute_has_more_than_allowed(rate: int, most: int, tokens: list[int]) -> None:
    line = Line(rate=rate, tokens_per_minute=most)
    line.run([line.join(count) for count in tokens])
    assert [count for _, count in line.granted] == tokens  # first come, first served
    for start, _ in line.granted:
        minute = [count for at, count in line.granted if start <= at < start + 60]
        assert len(minute) <= rate
        assert sum(minute) <= most or len([count for count in minute if count]) == 1  # one that is too big goes alone


def test_calls_at_once() -> None:
    line = Line(concurrency=2)
    one, two, three = line.join(), line.join(), line.join()
    assert (line.limiter.delay(three), line.limiter.delay(one)) == (inf, None)
    assert line.limiter.delay(two) is None
    assert line.limiter.delay(three) == inf
    line.limiter.end(one)
    line.limiter.end(one)  # twice is once
    assert line.limiter.delay(three) is None
    assert "2 running, 0 waiting" in repr(line.limiter)


def test_leaving_the_line_makes_room() -> None:
    woken: list[int] = []
    limiter = Limiter(concurrency=1)
    running = limiter.join(0, "a", lambda: None)
    assert limiter.delay(running) is None
    first, second = (limiter.join(0, "a", partial(woken.append, n)) for n in (1, 2))
    limiter.end(first)
    limiter.end(running)
    assert woken[-1] == 2
    assert limiter.delay(second) is None


def test_tokens_are_settled_by_the_usage() -> None:
    line = Line(tokens_per_minute=100)
    first, second = line.join(90), line.join(50)
    assert line.limiter.delay(first) is None
    assert line.limiter.delay(second) == 60
    line.limiter.end(first, tokens=20)
    assert line.limiter.delay(second) is None  # 20 and 50
    line.limiter.end(second, tokens=95, output=80)
    third = line.join(10)
    assert third.tokens == 20  # answers of some length are expected
    assert line.limiter.delay(third) == 60


def test_a_provider_that_asks_to_wait_stops_only_its_own_calls() -> None:
    line = Line(rate=100)
    line.limiter.pause("a", 30)
    line.limiter.pause("a", 5)  # the longer one holds
    slow, other = line.join(key="a"), line.join(key="b")
    assert line.limiter.delay(slow) == 30
    assert line.limiter.delay(other) is None
    line.clock.now += 30
    assert line.limiter.delay(slow) is None


@pytest.mark.parametrize("limits", [{"rate": 0}, {"tokens_per_minute": -1}, {"concurrency": 0}])
def test_a_limit_that_lets_nothing_through_is_refused(limits: Any) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        Limiter(**limits)


# ------------------------------------------------------------------------------------------------------- with clients


def test_clients_and_sessions_share_one() -> None:
    """Async and blocking, in one process: never more than two at once."""
    limiter = Limiter(concurrency=2)
    with LoopbackServer.in_thread(Step(act="echo", delay=0.03)) as server:
        most: list[int] = []

        def watch() -> None:
            while not over.is_set():
                most.append(limiter._running)
                time.sleep(0.002)

        over = threading.Event()
        words: Any = {"base_url": server.url, "api_key": CANARY, "limiter": limiter}

        def block() -> None:
            with connect_sync("openai-chat:m", **words) as client, SyncSession("anthropic:m", **words) as session:
                for _ in range(2):
                    client.complete(ask(model=None))
                    session.send("hello")

        async def scene() -> None:
            async with connect("google:m", **words) as client:
                await asyncio.gather(*(client.complete(ask(model=None)) for _ in range(6)))
                async with client.stream(ask(model=None)) as stream:
                    assert [event async for event in stream]

        threads = [threading.Thread(target=watch), *(threading.Thread(target=block) for _ in range(3))]
        for thread in threads:
            thread.start()
        asyncio.run(scene())
        for thread in threads[1:]:
            thread.join()
        over.set()
        threads[0].join()
        assert server.script.asked == 19
    assert max(most) == 2
    assert (limiter._running, limiter._line) == (0, [])


def test_every_attempt_counts_and_a_hint_holds_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MINUTE", 0.4)
    limiter = Limiter(rate=2)
    steps = [Step(act="fail", error=ErrorClass.rate_limit, retry_after=0.3), Step(act="echo")]
    transport = MemoryTransport(handler(Script(*steps)))
    began = time.monotonic()
    with connect_sync("openai-chat:m", api_key=CANARY, transport=transport, limiter=limiter) as client:
        assert client.complete(ask(model=None)).attempts == 2
        client.complete(ask(model=None))
    assert len(transport.requests) == 3
    assert time.monotonic() - began >= 0.4  # the third attempt waited for the first to be a minute old


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(0.001)


def test_a_call_that_waits_in_line_can_be_cancelled() -> None:
    limiter = Limiter(concurrency=1)
    taken = limiter.join(0, "a", lambda: None)
    assert limiter.delay(taken) is None

    async def scene() -> None:
        transport = AsyncMemoryTransport(handler(Script()))
        async with connect("embedded:", transport=transport, limiter=limiter) as client:
            task = asyncio.create_task(client.complete(ask(request_id="r")))
            await until(lambda: bool(limiter._line))
            assert await client.cancel("r")
            with pytest.raises(CancelledError):
                await task
            task = asyncio.create_task(client.complete(ask()))
            await until(lambda: bool(limiter._line))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert transport.requests == []

    asyncio.run(scene())
    with connect_sync("embedded:", limiter=limiter) as client:
        failed: list[BaseException] = []

        def block() -> None:
            try:
                client.complete(ask(request_id="r"))
            except CancelledError as error:
                failed.append(error)

        thread = threading.Thread(target=block)
        thread.start()
        while not limiter._line:
            time.sleep(0.001)
        assert client.cancel("r")
        thread.join()
        assert len(failed) == 1
    assert limiter._line == []


def test_a_tool_loop_does_not_wait_longer_than_it_may() -> None:
    limiter = Limiter(concurrency=1)
    assert limiter.delay(limiter.join(0, "a", lambda: None)) is None
    with SyncSession("embedded:", limiter=limiter) as session:
        response = session.run("hello", seconds=0.05)
    assert (response.stopped, response.stopped_reason) == (
        "limit",
        "the limit of 0.05 seconds for this turn is reached",
    )
    assert limiter._line == []


def test_the_line_does_not_count_as_time_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MINUTE", 0.3)
    limiter = Limiter(rate=1)
    settings: Any = {"timeout_seconds": 0.2, "max_retries": 1, "retry": {"base": 0.01}}
    steps = [Step(act="echo"), Step(act="fail", status=500), Step(act="echo")]
    transport = MemoryTransport(handler(Script(*steps)))
    with connect_sync("openai-chat:m", settings, api_key=CANARY, transport=transport, limiter=limiter) as client:
        client.complete(ask(model=None))
        assert client.complete(ask(model=None)).attempts == 2


def test_a_failure_is_not_hidden() -> None:
    script, limiter = [Step(act="fail", error=ErrorClass.rate_limit)], Limiter(rate=5)
    client = connect_sync("embedded:", {"max_retries": 0}, script=script, limiter=limiter)
    with client, pytest.raises(RateLimitError):
        client.complete(ask())
    assert limiter._running == 0
