"""What streams leave in memory: read to the end, and cancelled."""

from __future__ import annotations

import asyncio
import gc
import math
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from measure import Row

from interlingua import (
    AdapterConfig,
    AsyncClient,
    Message,
    Request,
    Response,
    TextBlock,
    TextDelta,
    TokenUsage,
    dialect,
    unfold,
)
from interlingua.embedded import LoopbackServer, Script, Step
from interlingua.transport.memory import Answer, AsyncMemoryTransport

__all__ = ["cancelled", "lengths"]

PROVIDERS = {
    "anthropic-messages": "anthropic",
    "openai-chat": "openai-chat",
    "openai-responses": "openai",
    "gemini": "google",
    "ollama": "ollama",
}
PIECE = "Some words"
SHORT, LONG = 2_000, 20_000
CANCELLED, SETTLED = 10_000, 2_000
AT_ONCE = 50
STATM = Path("/proc/self/statm")


def lengths() -> Iterator[Row]:
    """Peak memory beyond the answer's text: a stream of 20,000 events against one of 2,000."""
    for name in PROVIDERS:
        few, many = (asyncio.run(_peak(name, size)) for size in (SHORT, LONG))
        each = (many - few) / (LONG - SHORT)
        yield Row(f"{name}: text", many / few, 1.1, f"{many / 1000:.0f} kB; {each:.0f} bytes for each further event")
    few, many = (asyncio.run(_peak("anthropic-messages", size, quiet=True)) for size in (SHORT, LONG))
    yield Row("anthropic-messages: events without content", many / few, 1.1, f"{many / 1000:.0f} kB")


async def _peak(name: str, size: int, *, quiet: bool = False) -> float:
    transport = AsyncMemoryTransport(
        lambda _: Answer(200, {"content-type": "text/event-stream"}, _wire(name, size, quiet=quiet))
    )
    config = AdapterConfig(api_key="sk-bench-bench")
    client = AsyncClient(PROVIDERS[name], config, model="some-model", transport=transport)
    request = Request((Message("user", "Hello"),))
    async for _ in client.stream(request):  # what is loaded on first use is no part of it
        pass
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    async for _ in client.stream(request):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - before - (0 if quiet else size * len(PIECE))


def _wire(name: str, size: int, *, quiet: bool) -> Iterator[bytes]:
    encoder = dialect(name).stream_encoder()
    whole = Response((TextBlock(PIECE),), id="m", model="some-model", usage=TokenUsage(9, output_tokens=size))
    for event in unfold(whole):
        if isinstance(event, TextDelta):
            for _ in range(size):
                yield b'event: ping\ndata: {"type": "ping"}\n\n' if quiet else encoder.feed(event)
        else:
            yield encoder.feed(event)


def cancelled() -> Iterator[Row]:
    """10,000 streams cancelled on the way: resident memory after the last, against that after the 2,000th."""
    if STATM.exists():
        yield asyncio.run(_cancelled())
    else:
        yield Row("openai-chat", math.nan, 1.02, f"not measured: there is no {STATM}")


async def _cancelled() -> Row:
    left, settled = CANCELLED, 0

    async def leave(client: AsyncClient) -> None:
        nonlocal left, settled
        while left > 0:
            left -= 1
            if left == CANCELLED - SETTLED:
                settled = _resident()
            async with client.stream(Request((Message("user", "Hello"),))) as events:
                for _ in range(left % 4):
                    await anext(events)

    async with LoopbackServer(Script(Step(act="echo", fault="stall", after=5), keep=0)) as server:
        config = AdapterConfig(api_key="sk-bench-bench", base_url=server.url)
        async with AsyncClient("openai-chat", config, model="some-model") as client:
            await asyncio.gather(*(leave(client) for _ in range(AT_ONCE)))
            await server.idle.wait()
        gc.collect()
        note = f"{server.connections} connections, {server.open} still open; the server's share is in it"
        return Row("openai-chat", _resident() / settled, 1.02, note)


def _resident() -> int:
    pages = int(STATM.read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
