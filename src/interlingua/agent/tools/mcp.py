"""The tools of an MCP server as tools of a toolbox (extra ``mcp``): listing them, calling them, reading their results.

The official package speaks the protocol; it is imported when a server is opened. Its sessions belong to the task and
loop that opened them. So a task of this module holds each session, and calls from other loops and threads run there.
"""

from __future__ import annotations

import asyncio
import logging
import re
import shlex
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from ...types.base import Json
from ...types.blocks import ToolResultBlock
from ...types.tools import ToolAnnotations, ToolDefinition
from .binding import BoundTool, bind
from .blocking import BLOCKED
from .mcp_results import read_result

if TYPE_CHECKING:
    from mcp import Client, ClientSession, StdioServerParameters, Tool
    from mcp.client import Transport
    from mcp.server import MCPServer, Server
    from mcp.types import ToolAnnotations as Hints

    AnyServer = (
        str | Sequence[str] | Client | ClientSession | StdioServerParameters | Transport | MCPServer | Server[Any]
    )

__all__ = ["McpTools"]

log = logging.getLogger("interlingua")

_CONNECT_SECONDS = 30.0
_READ_SECONDS = 300.0
"""The time limits to connect and between two reads. The package has the same defaults, but not with headers."""
MAX_PAGES = 1000
"""How many pages of a server's list of tools are read, so that a list without an end does not run for ever."""


class McpTools:
    """The tools of one MCP server: ``async with McpTools("https://...") as tools: box = Toolbox([tools])``.

    ``server`` is a URL (streamable HTTP), a command (a string or a list of words) that speaks over stdio, or an object
    of the ``mcp`` package: an open ``ClientSession`` or ``Client``, which stays open, a transport, a server in memory.

    ``prefix`` is put before each name; ``timeout`` is for each call. ``env`` and ``cwd`` are for a command, ``headers``
    for a URL. The protocol takes a tool for destructive unless it says otherwise. Here this default is used for tools
    with annotations; with ``cautious`` also for tools without any.
    """

    def __init__(
        self,
        server: AnyServer,
        *,
        prefix: str = "",
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
        cautious: bool = False,
    ) -> None:
        self._server, self._prefix, self._timeout = server, prefix, timeout
        self._env, self._cwd, self._headers, self._cautious = env, cwd, headers, cautious
        self._client: Client | ClientSession | None = None
        self._tools: tuple[BoundTool[..., Any], ...] = ()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._owner: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._thread: threading.Thread | None = None

    @property
    def tools(self) -> tuple[BoundTool[..., Any], ...]:
        """The tools, as the server listed them when it was opened or last refreshed."""
        self._connection()
        return self._tools

    async def refresh(self) -> None:
        """List the tools again. A ``Toolbox`` made before keeps the tools that it has."""
        client, _ = self._connection()
        self._tools = await self._run_in_loop(self._list_tools(client))

    # -------------------------------------------------------------------------------------------- opening and closing

    async def open(self) -> Self:
        """Connect and list the tools. ``close`` may be called from any task."""
        if self._owner is not None:
            raise RuntimeError("this MCP server is open already")
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        ready: asyncio.Future[None] = self._loop.create_future()
        self._owner = asyncio.create_task(self._hold(ready), name="mcp")
        try:
            await ready
        except BaseException:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        """Disconnect. If the server is a command, its process is ended."""
        owner, self._owner = self._owner, None
        if owner is not None:
            if self._client is None:
                owner.cancel()
            self._closing.set()
            await asyncio.gather(owner, return_exceptions=True)

    async def _hold(self, ready: asyncio.Future[None]) -> None:
        """Hold the connection until ``close``. The same task must enter and leave the package's context managers."""
        try:
            async with self._connect() as client:
                self._tools = await self._list_tools(client)
                self._client = client
                if not ready.done():
                    ready.set_result(None)
                await self._closing.wait()
        except Exception as error:  # noqa: BLE001 - ``open`` raises it
            if ready.done():
                log.warning("the connection to an MCP server ended in an error: %s", _innermost(error))
            else:
                ready.set_exception(_innermost(error))
        finally:
            self._client = None

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __enter__(self) -> Self:
        """Open the connection for synchronous code, in an event loop in a thread of its own."""
        loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=loop.run_forever, name="mcp", daemon=True)
        self._thread.start()
        try:
            return asyncio.run_coroutine_threadsafe(self.open(), loop).result()
        except BaseException:
            self._stop_loop(loop)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self.close(), self._loop).result()
        self._stop_loop(self._loop)

    def _stop_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_soon_threadsafe(loop.stop)
        if self._thread is not None:
            self._thread.join()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    @asynccontextmanager
    async def _connect(self) -> AsyncGenerator[Client | ClientSession]:
        mcp = _package()
        if isinstance(self._server, mcp.ClientSession | mcp.Client):
            yield cast("Client | ClientSession", self._server)
            return
        async with AsyncExitStack() as stack:
            yield await stack.enter_async_context(mcp.Client(await self._transport(stack)))

    async def _transport(self, stack: AsyncExitStack) -> Any:
        server = self._server
        if isinstance(server, str) and re.match(r"https?://", server):
            return await _with_headers(server, self._headers, stack) if self._headers else server
        if isinstance(server, str):
            server = shlex.split(server)
        if isinstance(server, Sequence):
            command, *args = server
            env = dict(self._env) if self._env is not None else None
            return _package().StdioServerParameters(command=command, args=args, env=env, cwd=self._cwd)
        return server

    # ------------------------------------------------------------------------------------------- listing and calling

    async def _list_tools(self, client: Client | ClientSession) -> tuple[BoundTool[..., Any], ...]:
        found = [tool async for tool in _read_pages(client)]
        names = _valid_names([f"{self._prefix}{tool.name}" for tool in found])
        return tuple(self._bind(name, tool) for name, tool in zip(names, found, strict=True))

    def _bind(self, name: str, tool: Tool) -> BoundTool[..., Any]:
        definition = ToolDefinition(
            name=name,
            description=tool.description or tool.title,
            input_schema=tool.input_schema,
            annotations=_annotations(tool.annotations, self._cautious),
        )
        return bind(definition, partial(self._call, tool.name), timeout=self._timeout)

    async def _call(self, name: str, input: dict[str, Json]) -> ToolResultBlock:
        client, _ = self._connection()
        return read_result(await self._run_in_loop(client.call_tool(name, input)))

    def _connection(self) -> tuple[Client | ClientSession, asyncio.AbstractEventLoop]:
        if self._client is None or self._loop is None:
            raise RuntimeError("this MCP server is not connected: open it by `async with` (or `with`, without a loop)")
        return self._client, self._loop

    async def _run_in_loop(self, job: Any) -> Any:
        """Run the job in the loop that holds the connection, and return its result."""
        _, loop = self._connection()
        if loop is asyncio.get_running_loop():
            return await job
        if BLOCKED.get() is loop or not loop.is_running():
            job.close()
            raise RuntimeError(
                "the loop that holds this MCP server cannot answer: await `run` there, or open it by `with`"
            )
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(job, loop))


def _package() -> Any:
    try:
        import mcp  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError("the tools of an MCP server need the extra `mcp`: pip install 'interlingua[mcp]'") from error
    return mcp


async def _with_headers(url: str, headers: Mapping[str, str], stack: AsyncExitStack) -> Any:
    import httpx2  # noqa: PLC0415 - the package's own client, and its own way to set headers
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS)
    client = await stack.enter_async_context(httpx2.AsyncClient(headers=dict(headers), timeout=timeout))
    return streamable_http_client(url, http_client=client)


async def _read_pages(client: Client | ClientSession) -> AsyncIterator[Tool]:
    from mcp.types import PaginatedRequestParams  # noqa: PLC0415

    session: Any = getattr(client, "session", client)
    seen: set[str | None] = set()
    cursor: str | None = None
    while cursor not in seen:  # stop if the server repeats a cursor
        seen.add(cursor)
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        for tool in page.tools:
            yield tool
        cursor = page.next_cursor
        if cursor is None:
            return
        if len(seen) >= MAX_PAGES:
            raise RuntimeError(f"the MCP server lists its tools on more than {MAX_PAGES} pages; it was given up")


def _valid_names(names: Sequence[str]) -> list[str]:
    """Names that every provider accepts. Two that would become the same, such as ``a.b`` and ``a_b``, are numbered."""
    found: dict[str, None] = {}
    for name in names:
        fitting = fit = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]
        number = 2
        while fit in found:
            fit = f"{fitting[: 63 - len(str(number))]}_{number}"
            number += 1
        found[fit] = None
    return list(found)


def _annotations(hints: Hints | None, cautious: bool) -> ToolAnnotations | None:
    """The server's annotations. By the protocol's default, a tool that is not read-only is destructive."""
    if hints is None:
        return ToolAnnotations(destructive=True) if cautious else None
    return ToolAnnotations(
        read_only=hints.read_only_hint,
        destructive=hints.destructive_hint if hints.destructive_hint is not None else not hints.read_only_hint,
        idempotent=hints.idempotent_hint,
        open_world=hints.open_world_hint,
    )


def _innermost(error: BaseException) -> BaseException:
    """The error inside exception groups with one error, in which task groups wrap their errors."""
    inner: Sequence[BaseException] = getattr(error, "exceptions", ())
    return _innermost(inner[0]) if len(inner) == 1 else error
