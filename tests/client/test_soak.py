"""Ten thousand streams, cancelled at random points over real sockets: no socket, no task and no memory is left.

They end by ``cancel()``, by cancelling the task, or by leaving the loop, before the headers or in the stream.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from client.support import DIALECTS, PROVIDERS, ask, config, run
from interlingua import CancelledError, Event, Request, Response, StopReason
from interlingua.client.connect import AsyncClient, Client
from interlingua.client.embedded import LoopbackServer, Script, Step
from interlingua.types import MessageComplete, TextDelta

STREAMS, WARM, AT_ONCE = 10_000, 2_000, 32
MOST_GROWTH = 0.02
PATIENCE = 200  # hundredths of a second
GUARD = 300  # seconds after which a hanging test is a failed one
HOWS = ("cancel", "task", "leave")
PLACES = (0, 0, 5, 6, 7)


def place(request: Request) -> Step:
    """The request says after how many chunks the server stalls; 0 is before the headers."""
    after = int(request.messages[-1].content[0].text.split()[0])  # type: ignore[union-attr]
    return Step(act="echo", fault="stall", after=after) if after else Step(fault="stall_first")


class Soak:
    """Streams against one server, one client per dialect."""

    def __init__(self, server: LoopbackServer, seed: int) -> None:
        self.server, self.chance = server, random.Random(seed)
        self.clients = [AsyncClient(PROVIDERS[name], config(base_url=server.url)) for name in DIALECTS]
        self.ended: Counter[str] = Counter()

    async def run(self, streams: int) -> None:
        left = iter(range(streams))
        before = open_files()
        await asyncio.gather(*(self._work(left) for _ in range(AT_ONCE)))
        await self.server.idle.wait()
        for _ in range(PATIENCE):  # a socket is closed in a turn of the loop of its own
            if open_files() <= before:
                break
            await asyncio.sleep(0.01)

    async def _work(self, left: Any) -> None:
        for _ in left:
            chance = self.chance
            after, how, client = chance.choice(PLACES), chance.choice(HOWS), chance.choice(self.clients)
            await getattr(self, f"_{how}")(client, ask(f"{after} two three four five"), after, chance.randrange(8))
            self.ended[f"{how} {'in the middle' if after else 'before the headers'}"] += 1

    async def _cancel(self, client: AsyncClient, request: Request, after: int, ticks: int) -> None:
        stream = client.stream(request)
        reached = asyncio.Event()
        task = asyncio.create_task(read(stream, reached))
        await until(reached, after, ticks)
        assert await client.cancel(stream.request_id)
        last = (await task)[-1]
        assert isinstance(last, MessageComplete)
        assert last.response.stop_reason is StopReason.cancelled

    async def _task(self, client: AsyncClient, request: Request, after: int, ticks: int) -> None:
        reached = asyncio.Event()
        task = asyncio.create_task(read(client.stream(request), reached))
        await until(reached, after, ticks)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def _leave(self, client: AsyncClient, request: Request, after: int, ticks: int) -> None:
        if not after:  # there is no event to leave at: the block is left while the first is waited for
            async with client.stream(request) as stream:
                first = asyncio.create_task(anext(stream))
                await until(asyncio.Event(), after, ticks)
                first.cancel()
            return
        async for event in client.stream(request):
            if isinstance(event, TextDelta):
                break

    async def close(self) -> None:
        for client in self.clients:
            assert len(client._open_calls) == 0
            await client.close()


async def read(stream: Any, reached: asyncio.Event) -> list[Event]:
    events: list[Event] = []
    async for event in stream:
        events.append(event)
        if isinstance(event, TextDelta):
            reached.set()
    return events


async def until(reached: asyncio.Event, after: int, ticks: int) -> None:
    """Wait for the random point: a number of turns of the loop, counted from the first event if ``after`` is set."""
    if after:
        await reached.wait()
    for _ in range(ticks):
        await asyncio.sleep(0)


class Held(NamedTuple):
    """What the process holds."""

    blocks: int
    resident: int
    tasks: int
    files: int


def held() -> Held:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Held(sys.getallocatedblocks(), pages, len(asyncio.all_tasks()), open_files())


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="no /proc here: memory and sockets cannot be seen"
)


async def soak() -> tuple[Counter[str], list[Held]]:
    """How the streams ended, and what was held at the start, after the first streams and after all."""
    seen: list[Held] = []
    async with LoopbackServer(Script(place, keep=0)) as server:
        soak = Soak(server, seed=4)
        for streams in (0, WARM, STREAMS - WARM):
            await soak.run(streams)
            seen.append(held())
        await soak.close()
        assert server.open == 0
    return soak.ended, seen


@needs_proc
def test_ten_thousand_cancelled_streams_leave_nothing() -> None:
    done = subprocess.run(  # in a process of its own: the memory of this one depends on the tests before
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ended, *seen = json.loads(done.stdout)
    start, warm, end = (Held(*each) for each in seen)
    growth = {name: now / before - 1 for name, before, now in zip(Held._fields, warm, end, strict=True)}
    print(f"\n{ended}\nafter {WARM}: {warm}\nafter {STREAMS}: {end}")
    assert sum(ended.values()) == STREAMS
    assert min(ended.values()) > STREAMS / 20
    assert (start.tasks, start.files) == (warm.tasks, warm.files) == (end.tasks, end.files)
    assert growth["blocks"] <= MOST_GROWTH
    assert growth["resident"] <= MOST_GROWTH


@needs_proc
def test_the_soak_check_finds_leaks() -> None:
    async def scene() -> tuple[Held, Held]:
        before = held()
        kept = [object() for _ in range(50_000)], socket.socket(), asyncio.create_task(asyncio.sleep(GUARD))
        after = held()
        kept[1].close()
        kept[2].cancel()
        await asyncio.wait([kept[2]])
        return before, after

    before, after = run(scene())
    assert after.blocks - before.blocks > 49_000  # the collector may have found something else meanwhile
    assert (after.files - before.files, after.tasks - before.tasks) == (1, 1)


# ------------------------------------------------------------------------------------------- whole answers, one by one


async def begun(client: AsyncClient, server: LoopbackServer, after: int) -> None:
    """Until the request is there; in the middle, until a part of the body is read and the server is silent."""
    await server.asked.wait()
    while after and not any(opened.reply for opened in tuple(client._open_calls)):  # noqa: ASYNC110
        await asyncio.sleep(0)


async def by_cancel(client: AsyncClient, task: asyncio.Task[Response]) -> None:
    assert await client.cancel("r1") is True
    with pytest.raises(CancelledError) as caught:
        await task
    assert caught.value.response is not None
    assert caught.value.response.stop_reason is StopReason.cancelled
    assert (task.cancelling(), await client.cancel("r1")) == (0, False)


async def by_task(client: AsyncClient, task: asyncio.Task[Response]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


ENDS = {"cancel": by_cancel, "task": by_task}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("after", [0, 3], ids=["before the headers", "within the body"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_cancelled_complete_closes_the_socket(dialect: str, after: int, how: str) -> None:
    async def scene() -> None:
        where = LoopbackServer(place)
        async with where as server, AsyncClient(PROVIDERS[dialect], config(base_url=server.url)) as client:
            task = asyncio.create_task(client.complete(ask(f"{after} two", request_id="r1")))
            await begun(client, server, after)
            await ENDS[how](client, task)
            await server.gone.wait()
            assert (server.left, len(client._open_calls)) == (1, 0)

    run(asyncio.wait_for(scene(), GUARD))


@pytest.mark.parametrize("after", [0, 3], ids=["before the headers", "within the body"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_another_thread_cancels_a_blocking_complete_within_the_body(dialect: str, after: int) -> None:
    caught: list[BaseException] = []

    def ask_and_wait(client: Client) -> None:
        try:
            client.complete(ask(f"{after} two", request_id="r1"))
        except CancelledError as error:
            caught.append(error)

    with LoopbackServer.in_thread(place) as server, Client(PROVIDERS[dialect], config(base_url=server.url)) as client:
        thread = threading.Thread(target=ask_and_wait, args=(client,))
        thread.start()
        server.wait(server.asked)
        while after and not any(opened.reply for opened in tuple(client._open_calls)):
            time.sleep(0.0005)
        assert client.cancel("r1") is True
        thread.join()
        server.wait(server.gone)
        assert (server.left, len(client._open_calls)) == (1, 0)
    assert len(caught) == 1


if __name__ == "__main__":
    ended, seen = run(asyncio.wait_for(soak(), GUARD))
    print(json.dumps([ended, *seen]))
