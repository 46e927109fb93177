"""A provider whose streams begin and then wait for the test, to be open while a gateway is reloaded or stopped."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

FIRST = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({**FIRST, "choices": [choice]}).encode() + b"\n\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class HeldUpstream:
    """Speaks Chat. Streams of the model ``endless`` never end, ``silent`` says nothing, and ``flood`` talks as fast as
    it is read (``sent`` bytes); others end once ``release`` is set.

    ``open`` counts connections; ``idle`` is set while there is none, ``gone`` when a stream's client left it.
    """

    def __init__(self) -> None:
        self.release, self.idle, self.gone = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.idle.set()
        self.open = self.began = self.sent = 0

    async def __aenter__(self) -> HeldUpstream:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.idle.clear()
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
                body = json.loads(await reader.readexactly(length))
                if not await self._answer(body["model"], reader, writer):
                    break
        writer.close()
        self.open -= 1
        if not self.open:
            self.idle.set()

    async def _answer(self, model: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        self.began += 1
        if model == "silent":
            await reader.read(1)
            return False
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        writer.write(chunk(event({"role": "assistant", "content": "a"})))
        if model == "flood":
            while not writer.is_closing():
                writer.write(chunk(event({"content": "b" * 1000})) * 100)
                await writer.drain()
                self.sent += 100_000
            return False
        left = asyncio.ensure_future(reader.read(1))
        waiting = asyncio.ensure_future(self.release.wait() if model != "endless" else asyncio.Event().wait())
        await asyncio.wait({left, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if left.done():
            self.gone.set()
            return False
        left.cancel()
        with suppress(asyncio.CancelledError):
            await left
        for _ in range(3):
            writer.write(chunk(event({"content": "b"})))
            await writer.drain()
        writer.write(chunk(event({}, "stop")) + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
        await writer.drain()
        return True


class Reading:
    """One request of a client, over its own connection, whose answer is read piece by piece."""

    def __init__(self, url: str, path: str, body: dict[str, Any], **headers: str) -> None:
        self._port = int(url.rpartition(":")[2])
        self._path, self._body, self._headers = path, json.dumps(body).encode(), headers
        self.read = b""

    async def say(self, length: int | None = None) -> None:
        """Send the request, or only its first bytes."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        headers = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in self._headers.items())
        head = f"POST {self._path} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {len(self._body)}\r\n\r\n"
        self._writer.write((head.encode() + self._body)[:length])

    async def begin(self, until: bytes, *, at_once: int = 65536) -> None:
        """Send it, and read until something has come, so many bytes at a time."""
        await self.say()
        while until not in self.read:
            came = await self._reader.read(at_once)
            assert came, self.read
            self.read += came

    async def rest(self) -> bytes:
        """Read the answer up to its end, or to the end of the connection. Returns all that was read."""
        with suppress(ConnectionError):
            while not self.ended and (came := await self._reader.read(65536)):
                self.read += came
        self._writer.close()
        return self.read

    @property
    def ended(self) -> bool:
        """Whether the answer is complete; False if it was broken off."""
        return self.read.endswith(b"\r\n0\r\n\r\n")

    async def some(self, length: int) -> None:
        """Read so many bytes, and discard them."""
        while length > 0:
            length -= len(await self._reader.read(min(length, 65536)))

    def leave(self) -> None:
        """Close the connection, even if the answer is not complete."""
        self._writer.transport.abort()
