"""The scripted model as a real HTTP server on loopback. It is written on sockets, to break a connection at any byte."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Thread
from types import TracebackType
from typing import Any

from ...errors import AdapterError
from ..transport.memory import CUT, RESET, STALL, Answer
from .model import Script
from .responder import Choice, as_script, respond

__all__ = ["LoopbackServer", "deaf_url"]

TLS_HELLO = b"\x16"
NO_LINGER = struct.pack("ii", 1, 0)
"""A socket option: closing the socket then sends a reset and drops unsent bytes."""


class LoopbackServer:
    """``async with LoopbackServer(script) as server: … server.url …``; elsewhere ``with LoopbackServer.in_thread(…)``.

    ``open`` counts open connections; ``left`` counts answers whose client closed the connection before their end, and
    ``gone`` is set when that happens. ``asked`` is set when a request has come, ``idle`` while no connection is open.
    """

    def __init__(self, script: Choice = None) -> None:
        self.script: Script = as_script(script)
        self.open = self.left = self.connections = 0
        self.asked = asyncio.Event()
        self.gone = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def url(self) -> str:
        """The base URL, without a path: the server answers every dialect."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    async def __aenter__(self) -> LoopbackServer:
        self._loop = asyncio.get_running_loop()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @classmethod
    @contextmanager
    def in_thread(cls, script: Choice = None) -> Generator[LoopbackServer]:
        """For synchronous code: the server runs in its own event loop, in its own thread."""
        loop = asyncio.new_event_loop()
        thread = Thread(target=loop.run_forever, name="interlingua-loopback", daemon=True)
        thread.start()
        server = cls(script)
        try:
            asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
            try:
                yield server
            finally:
                asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def wait(self, event: asyncio.Event, seconds: float = 20.0) -> None:
        """Wait for ``asked``, ``gone`` or ``idle`` from another thread; raises ``TimeoutError``."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(asyncio.wait_for(event.wait(), seconds), self._loop).result()

    # ------------------------------------------------------------------------------------------------ one connection

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open += 1
        self.connections += 1
        self.idle.clear()
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
            self._tasks.discard(task)
            writer.close()
            self.open -= 1
            if not self.open:
                self.idle.set()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request. Returns whether the connection can serve another."""
        head = await reader.readexactly(1)
        if head == TLS_HELLO:  # TLS on a port without TLS: nginx answers the same
            writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
            return False
        head += await reader.readuntil(b"\r\n\r\n")
        line, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (item.partition(":") for item in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.asked.set()
        method, path = line.split(" ")[:2]
        answer = respond(self.script, path, headers, body)
        if answer.delay and await self._is_closed_within(answer.delay, reader):
            return False
        if answer.instead is not None:
            return await self._break_off(answer.instead, reader, writer)
        return await self._write(answer, reader, writer, is_head=method == "HEAD")

    async def _write(
        self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_head: bool
    ) -> bool:
        names = {**answer.headers, "transfer-encoding": "chunked"}
        head = "".join(f"{name}: {value}\r\n" for name, value in names.items())
        writer.write(f"HTTP/1.1 {answer.status} Scripted\r\n{head}\r\n".encode("latin-1"))
        if is_head:  # its answer has no body
            return True
        for part in answer.parts:
            if not isinstance(part, bytes):
                await writer.drain()
                return await self._break_off(part, reader, writer)
            writer.write(b"%x\r\n%s\r\n" % (len(part), part))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _break_off(self, how: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Stall, reset, cut, or send ``how`` as bytes. Afterwards the connection cannot be used."""
        if how is STALL:
            await self._until_gone(reader)
        elif how is RESET:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            writer.transport.abort()
        elif isinstance(how, bytes):
            writer.write(how)
        else:
            assert how is CUT or isinstance(how, AdapterError)
        return False

    async def _until_gone(self, reader: asyncio.StreamReader) -> None:
        """Wait for the other side to close."""
        with suppress(ConnectionError):
            await reader.read(1)
        self._leave()

    async def _is_closed_within(self, seconds: float, reader: asyncio.StreamReader) -> bool:
        """Wait for that long. Returns whether the client closed the connection meanwhile."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._until_gone(reader)
                return True
        return False

    def _leave(self) -> None:
        self.left += 1
        self.gone.set()


def deaf_url() -> str:
    """A URL on loopback where no server listens, so that connections are refused."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"
