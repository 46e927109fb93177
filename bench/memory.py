"""The memory that streams use, when they are read to the end and when they are cancelled."""

from __future__ import annotations

import asyncio
import gc
import math
import os
import tracemalloc
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
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
from interlingua.client.embedded import LoopbackServer, Script, Step
from interlingua.client.transport.memory import Answer, AsyncMemoryTransport

__all__ = ["cancelled", "lengths"]

PROVIDERS = {
    # dialect             a provider that uses it, and the content type of its streams
    "anthropic-messages": ("anthropic", "text/event-stream"),
    "openai-chat": ("openai-chat", "text/event-stream"),
    "openai-responses": ("openai", "text/event-stream"),
    "gemini": ("google", "text/event-stream"),
    "ollama": ("ollama", "application/x-ndjson"),
    "bedrock-converse": ("bedrock", "application/vnd.amazon.eventstream"),
}
PIECE = "Some words"
SHORT, LONG = 2_000, 20_000
CANCELLED, SETTLED = 10_000, 2_000
AT_ONCE = 50
STATM = Path("/proc/self/statm")


def lengths() -> Iterator[Row]:
    """Peak memory for each further event of a stream, against a list of the same pieces and the text they add up to."""
    plain = _growth(_plain_peak)
    for name in PROVIDERS:
        each = _growth(partial(_peak, name))
        yield Row(f"{name}: text", each / plain, 1.5, f"{each:.0f} bytes for each further event of {len(PIECE)}")
    few, many = (_peak("anthropic-messages", size, quiet=True) for size in (SHORT, LONG))
    yield Row("anthropic-messages: events without content", many / few, 1.1, f"{many / 1000:.0f} kB, ten times as many")


def _growth(peak: Callable[[int], int]) -> float:
    """Bytes for each further event."""
    return (peak(LONG) - peak(SHORT)) / (LONG - SHORT)


def _plain_peak(size: int) -> int:
    """The least possible peak: the pieces of a text, and the whole text at the end."""
    data = PIECE.encode()
    with _traced() as peak:
        pieces = [data.decode() for _ in range(size)]
        whole = "".join(pieces)
        assert len(whole) == size * len(PIECE)
        return peak()


def _peak(name: str, size: int, *, quiet: bool = False) -> int:
    return asyncio.run(_read(name, size, quiet=quiet))


async def _read(name: str, size: int, *, quiet: bool) -> int:
    provider, kind = PROVIDERS[name]
    transport = AsyncMemoryTransport(lambda _: Answer(200, {"content-type": kind}, _wire(name, size, quiet=quiet)))
    config = AdapterConfig(api_key="sk-bench-bench", options={"region": "eu-west-1"})
    client = AsyncClient(provider, config, model="some-model", transport=transport)
    request = Request((Message("user", "Hello"),))
    async for _ in client.stream(request):  # a first stream, so that modules loaded on first use do not count
        pass
    with _traced() as peak:
        async for _ in client.stream(request):
            pass
        return peak()


@contextmanager
def _traced() -> Generator[Callable[[], int]]:
    """Trace memory; gives a function that returns the peak since the beginning of the block."""
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def _wire(name: str, size: int, *, quiet: bool) -> Iterator[bytes]:
    """A stream as chunks of one event each. Empty chunks are left out: no transport has them."""
    encoder = dialect(name).stream_encoder()
    whole = Response((TextBlock(PIECE),), id="m", model="some-model", usage=TokenUsage(9, output_tokens=size))
    for event in unfold(whole):
        if isinstance(event, TextDelta):
            for _ in range(size):
                yield b'event: ping\ndata: {"type": "ping"}\n\n' if quiet else encoder.feed(event)
        elif chunk := encoder.feed(event):
            yield chunk


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
