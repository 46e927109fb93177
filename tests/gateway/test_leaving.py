"""Clients that disconnect at any point, and slow ones: no tasks or connections remain, and no bytes pile up.

``make bench`` lets 10,000 of them leave.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from gateway.asking import CHAT, CLAUDE, body_of
from gateway.held_upstream import HeldUpstream, Reading
from interlingua import ProviderManager
from interlingua.gateway.config import Route, Snapshot
from interlingua.gateway.state import State

uvicorn = pytest.importorskip("uvicorn", reason="the gateway is an extra: pip install interlingua[gateway]")

CLIENTS, AT_ONCE, PATIENCE = 400, 50, 20.0
WAYS = (("/v1/chat/completions", CHAT), ("/v1/messages", CLAUDE))  # passed on, and translated
POINTS = ("before the body", "before the head", "in an event", "between two events")


@asynccontextmanager
async def gateway(state: State) -> AsyncIterator[str]:
    """The gateway in this event loop, so that its tasks can be counted."""
    from interlingua.gateway.server import Server, settings_of

    server = Server(uvicorn.Config(**{**settings_of(state), "port": 0}), state)
    serving = asyncio.ensure_future(server.serve())
    while not server.started:  # noqa: ASYNC110  # another task
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


async def come_and_go(url: str, point: str, chance: random.Random) -> None:
    path, name = chance.choice(WAYS)
    model = "silent" if point == "before the head" else "endless"
    client = Reading(url, path, {**body_of(name), "model": model, "stream": True})
    if point == "before the body":
        await client.say(-chance.randrange(1, 80))
    elif point == "before the head":
        await client.say()
    else:
        mark = b"data:" if point == "in an event" else b"\n\n"
        await client.begin(mark, at_once=chance.choice((1, 99)))
    await asyncio.sleep(chance.random() * 0.02)
    client.leave()


async def until(found: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not found():  # noqa: ASYNC110  # in another task
            await asyncio.sleep(0.02)


@asynccontextmanager
async def stage() -> AsyncIterator[tuple[str, State, HeldUpstream]]:
    async with HeldUpstream() as upstream:
        manager = ProviderManager(environment={}, on_loss="allow")
        manager.register("chat", "openai-chat", {"api_key": "upstream-key-1234", "base_url": f"{upstream.url}/v1"})
        models = {name: Route(f"chat:{name}") for name in ("silent", "endless", "flood")}
        state = State(Snapshot(routes=models), manager=manager)
        async with gateway(state) as url:
            yield url, state, upstream


async def test_nothing_stays_of_clients_that_leave() -> None:
    chance = random.Random(2026)
    async with stage() as (url, state, upstream):
        before = len(asyncio.all_tasks())
        points = [chance.choice(POINTS) for _ in range(CLIENTS)]
        for at in range(0, CLIENTS, AT_ONCE):
            await asyncio.gather(*(come_and_go(url, point, chance) for point in points[at : at + AT_ONCE]))
        await until(lambda: not (upstream.open or state.open) and len(asyncio.all_tasks()) <= before)
        lines = state.metrics_text().splitlines()
        line = next(line for line in lines if line.startswith("interlingua_left_total"))
        assert int(line.split()[1]) == CLIENTS
        assert upstream.began > CLIENTS // 2


@pytest.mark.parametrize("way", WAYS)
async def test_a_slow_client_holds_the_upstream_back(way: tuple[str, str]) -> None:
    """When the buffers of the gateway and the system are full, nothing more is read from the provider."""

    async with stage() as (url, _, upstream):
        client = Reading(url, way[0], {**body_of(way[1]), "model": "flood", "stream": True})
        await client.begin(b"data:")
        for _ in range(2):
            await until_still(upstream)
            full = upstream.sent
            await client.some(20_000_000)
            assert upstream.sent > full  # it goes on when the client does
        assert full < 60_000_000
        client.leave()
        await until(lambda: not upstream.open)


async def until_still(upstream: HeldUpstream) -> None:
    """Wait until the provider sends no more bytes."""
    async with asyncio.timeout(PATIENCE):
        before = -1
        while upstream.sent != before:
            before = upstream.sent
            await asyncio.sleep(0.5)
