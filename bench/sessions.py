"""The cost of a session compared with its bare adapter call: CPU time of the calling thread, over real HTTP."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator

from measure import Row

from interlingua import (
    AdapterConfig,
    AsyncClient,
    Message,
    ProviderManager,
    Request,
    Response,
    Session,
    TextBlock,
    Toolbox,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.client.embedded import LoopbackServer, Script, Step

__all__ = ["growth", "turns"]

LENGTHS = (10, 50, 100, 1_000)
BUDGETS = {50: 1.2}
LINEAR = 1.25
"""By which factor a message of the longest history may cost more than one of a shorter; more would not be linear."""
WORDS = "The harbour master wrote that the ferry leaves at seven, unless the wind turns. " * 4
MODEL = "some-model"
PASSES = 15
CALLS = {10: 20, 50: 20, 100: 10, 1_000: 3}

Costs = dict[int, tuple[float, float]]
"""By the length of the history: seconds of a bare call, and of a session's turn."""

_found: Costs = {}


def turns() -> Iterator[Row]:
    """CPU time of a session's turn against the bare adapter call, by messages of history (anthropic-messages)."""
    for length, (bare, turn) in _costs().items():
        note = f"{bare * 1e6:.0f} µs → {turn * 1e6:.0f} µs"
        yield Row(f"{length} messages of history", turn / bare, BUDGETS.get(length, float("inf")), note)


def growth() -> Iterator[Row]:
    """What one more message of history costs a session's turn, against the same over shorter histories."""
    (few, some, many) = ((length, _costs()[length][1]) for length in (10, 100, 1_000))
    early, late = ((more[1] - less[1]) / (more[0] - less[0]) for less, more in ((few, some), (some, many)))
    note = f"{early * 1e6:.1f} µs a message up to 100, {late * 1e6:.1f} µs up to 1,000"
    yield Row("100 → 1,000 messages against 10 → 100", late / early, LINEAR, note)


def _costs() -> Costs:
    if not _found:
        with LoopbackServer.in_thread(Script(Step(content=(TextBlock(WORDS),)), keep=0)) as server:
            for length in LENGTHS:
                _found[length] = asyncio.run(_measure(server.url, length))
    return _found


def look_up(place: str, days: int = 1) -> str:
    """The forecast for a place."""
    return f"{place}: calm for {days} days"


def history(size: int) -> list[Message]:
    """The history of an agent: a question, a call, its result, an answer, and so on."""
    found: list[Message] = []
    for turn in range(0, size, 4):
        id = f"tu_{turn:026d}"
        found += [
            Message("user", WORDS),
            Message("assistant", [ToolUseBlock(id, "look_up", input={"place": "Oslo", "days": turn})]),
            Message("tool", [ToolResultBlock(id, (TextBlock(WORDS),))]),
            Message("assistant", WORDS),
        ]
    return found[:size] if size % 4 != 2 else [*found[: size - 2], found[-4], found[-1]]


async def _measure(url: str, length: int) -> tuple[float, float]:
    config = AdapterConfig(api_key="sk-bench-bench", base_url=url)
    manager = ProviderManager()
    manager.register("anthropic", config={"api_key": "sk-bench-bench", "base_url": url})
    earlier, tools = tuple(history(length)), tuple(Toolbox([look_up]).definitions)
    async with AsyncClient("anthropic", config, model=MODEL) as client:
        session = Session(f"anthropic:{MODEL}", [look_up], "Be brief.", manager=manager, messages=earlier)

        async def bare() -> Response:
            return await client.complete(
                Request((*earlier, Message("user", "And now?")), system="Be brief.", tools=tools)
            )

        async def turn() -> Response:
            response = await session.send("And now?")
            del session.history.messages[length:]
            return response

        both = [(await _spent(bare, CALLS[length]), await _spent(turn, CALLS[length])) for _ in range(PASSES)]
        await manager.close()
    ratio = statistics.median(ours / theirs for theirs, ours in both)
    least = min(theirs for theirs, _ in both)
    return least, least * ratio


async def _spent(work: Callable[[], Awaitable[Response]], times: int) -> float:
    """CPU seconds of this thread for each call, without those of the server's thread."""
    await work()
    start = time.thread_time()
    for _ in range(times):
        await work()
    return (time.thread_time() - start) / times
