"""Clients that disconnect at random points, to find what stays of them in the gateway and at the provider.

``leave`` runs many clients, some at the same time. Each disconnects before the head of its answer, within its stream,
or between two events. The provider's streams never end, so that only the gateway can end a call.
"""

from __future__ import annotations

import asyncio
import contextlib
import random

__all__ = ["Talker", "leave", "until_quiet"]

EVENT = b'data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}\n\n'
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
PACE, SLOWEST = 0.02, 0.03
PATIENCE = 20.0


class Talker:
    """A provider of Chat whose streams begin after a while and never end. ``open`` counts its connections."""

    async def __aenter__(self) -> Talker:
        self.open = 0
        self._chance = random.Random(1)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        talking = asyncio.ensure_future(self._talk(writer))
        with contextlib.suppress(ConnectionError):
            while await reader.read(65536):
                pass
        talking.cancel()
        writer.close()
        self.open -= 1

    async def _talk(self, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self._chance.random() * SLOWEST)
        writer.write(HEAD)
        while True:
            writer.write(b"%x\r\n%b\r\n" % (len(EVENT), EVENT))
            await asyncio.sleep(PACE)


async def leave(port: int, bodies: list[tuple[str, bytes]], count: int, at_once: int, chance: random.Random) -> None:
    """Run ``count`` clients that disconnect early. ``bodies``: the requests to choose from, each with its path."""
    left = iter(range(count))

    async def some() -> None:
        for _ in left:
            path, body = chance.choice(bodies)
            await _come_and_go(port, path, body, chance)

    await asyncio.gather(*(some() for _ in range(at_once)))


async def _come_and_go(port: int, path: str, body: bytes, chance: random.Random) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-bench\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    point = chance.randrange(3)
    with contextlib.suppress(TimeoutError, asyncio.IncompleteReadError, ConnectionError):
        async with asyncio.timeout(PATIENCE):
            if point == 0:
                await asyncio.sleep(chance.random() * SLOWEST)
            elif point == 1:
                await reader.readexactly(chance.randrange(1, 700))
            else:
                for _ in range(chance.randrange(1, 4)):
                    await reader.readuntil(b"\n\n\r\n")
    writer.transport.abort()


async def until_quiet(talker: Talker) -> None:
    """Wait until the provider has no open connection."""
    async with asyncio.timeout(PATIENCE):
        while talker.open:  # noqa: ASYNC110  # in another task
            await asyncio.sleep(0.05)
