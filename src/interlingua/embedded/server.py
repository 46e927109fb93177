"""The scripted model as a real HTTP server on loopback. Small on purpose: it can break a connection at any byte."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Any

from ..errors import AdapterError
from ..transport.memory import STALL, Answer
from .model import Script
from .speaking import respond

__all__ = ["LoopbackServer"]


class LoopbackServer:
    """``async with LoopbackServer(script) as server: … server.url …``

    ``open`` counts connections that stand; ``left`` counts answers whose reader went away before their end, and
    ``gone`` is set when that happens.
    """

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or Script()
        self.open = self.left = self.connections = 0
        self.asked = asyncio.Event()
        self.gone = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def url(self) -> str:
        """Where it listens; without a path, since it answers every dialect."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    async def __aenter__(self) -> LoopbackServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open += 1
        self.connections += 1
        try:
            while await self._answer(reader, writer):
                pass
        except asyncio.IncompleteReadError:
            pass  # between two requests
        except ConnectionError:
            self._leave()
        except asyncio.CancelledError:
            pass  # the server is closed
        finally:
            self.open -= 1
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection can serve another."""
        head = await reader.readuntil(b"\r\n\r\n")
        line, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (item.partition(":") for item in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.asked.set()
        try:
            answer = respond(self.script, line.split(" ")[1], headers, body)
        except AdapterError:
            return False
        await asyncio.sleep(answer.delay)
        return await self._write(answer, reader, writer)

    async def _write(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        parts = list(answer.parts)
        if parts[:1] == [STALL]:
            await self._until_gone(reader)
            return False
        names = {**answer.headers, "transfer-encoding": "chunked"}
        head = "".join(f"{name}: {value}\r\n" for name, value in names.items())
        writer.write(f"HTTP/1.1 {answer.status} Scripted\r\n{head}\r\n".encode("latin-1"))
        for part in parts:
            if part is STALL:
                await self._until_gone(reader)
                return False
            if isinstance(part, AdapterError):
                return False  # closed in the middle of a chunked body
            writer.write(b"%x\r\n%s\r\n" % (len(part), part))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _until_gone(self, reader: asyncio.StreamReader) -> None:
        """Wait for the other side to close."""
        with suppress(ConnectionError):
            await reader.read(1)
        self._leave()

    def _leave(self) -> None:
        self.left += 1
        self.gone.set()
