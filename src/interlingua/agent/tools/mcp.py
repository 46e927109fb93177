"""An MCP server's tools as ours (extra ``mcp``): listed, called, and their results told in blocks.

The official package does the talking; it is imported when a server is opened. Its sessions belong to the task and to
the loop that opened them, so a task of our own holds each one, and calls from other loops and threads are sent there.
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

_SECONDS = 30.0
_SILENCE = 300.0
"""Seconds to connect, and of silence: what the package sets where no headers are given."""
MOST_PAGES = 1000
"""Pages of one server's list of tools; a server that never ends would be read for ever."""


class McpTools:
    """The tools of one MCP server: ``async with McpTools("https://...") as tools: box = Toolbox([tools])``.

    ``server`` is a URL (streamable HTTP), a command (a string or its words) that speaks over stdio, or what the package
    itself has: a ``ClientSession`` or ``Client`` that is open already and stays so, a transport, a server in memory.

    ``prefix`` goes before each name; ``timeout`` is for each call. ``env`` and ``cwd`` are for a command, ``headers``
    for a URL. ``cautious`` treats a tool that says nothing of itself as destructive, which is the protocol's own
    default; without it, that holds only for tools that have annotations at all.
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
        """As the server listed them when it was opened, or last refreshed."""
        self._connection()
        return self._tools

    async def refresh(self) -> None:
        """List the tools anew. A ``Toolbox`` that was made before keeps what it had."""
        client, _ = self._connection()
        self._tools = await self._sent(self._listed(client))

    # -------------------------------------------------------------------------------------------- opening and closing

    async def open(self) -> Self:
        """Connect and list the tools. Any task may ``close`` again."""
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
        """Disconnect; a command's process is ended."""
        owner, self._owner = self._owner, None
        if owner is not None:
            if self._client is None:
                owner.cancel()
            self._closing.set()
            await asyncio.gather(owner, return_exceptions=True)

    async def _hold(self, ready: asyncio.Future[None]) -> None:
        """Whoever enters the package's context managers must leave them: this task does both."""
        try:
            async with self._connected() as client:
                self._tools = await self._listed(client)
                self._client = client
                if not ready.done():
                    ready.set_result(None)
                await self._closing.wait()
        except Exception as error:  # noqa: BLE001 - told to whoever opens
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
        """Without a loop of the caller's: the connection lives in one of its own, in a thread."""
        loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=loop.run_forever, name="mcp", daemon=True)
        self._thread.start()
        try:
            return asyncio.run_coroutine_threadsafe(self.open(), loop).result()
        except BaseException:
            self._end(loop)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self.close(), self._loop).result()
        self._end(self._loop)

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_soon_threadsafe(loop.stop)
        if self._thread is not None:
            self._thread.join()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Client | ClientSession]:
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

    async def _listed(self, client: Client | ClientSession) -> tuple[BoundTool[..., Any], ...]:
        found = [tool async for tool in _pages(client)]
        names = _distinct([f"{self._prefix}{tool.name}" for tool in found])
        return tuple(self._bound(name, tool) for name, tool in zip(names, found, strict=True))

    def _bound(self, name: str, tool: Tool) -> BoundTool[..., Any]:
        definition = ToolDefinition(
            name=name,
            description=tool.description or tool.title,
            input_schema=tool.input_schema,
            annotations=_annotations(tool.annotations, self._cautious),
        )
        return bind(definition, partial(self._call, tool.name), timeout=self._timeout)

    async def _call(self, name: str, input: dict[str, Json]) -> ToolResultBlock:
        client, _ = self._connection()
        return read_result(await self._sent(client.call_tool(name, input)))

    def _connection(self) -> tuple[Client | ClientSession, asyncio.AbstractEventLoop]:
        if self._client is None or self._loop is None:
            raise RuntimeError("this MCP server is not connected: open it by `async with` (or `with`, without a loop)")
        return self._client, self._loop

    async def _sent(self, job: Any) -> Any:
        """The job done in the loop that holds the connection."""
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

    timeout = httpx2.Timeout(_SECONDS, read=_SILENCE)
    client = await stack.enter_async_context(httpx2.AsyncClient(headers=dict(headers), timeout=timeout))
    return streamable_http_client(url, http_client=client)


async def _pages(client: Client | ClientSession) -> AsyncIterator[Tool]:
    from mcp.types import PaginatedRequestParams  # noqa: PLC0415

    session: Any = getattr(client, "session", client)
    seen: set[str | None] = set()
    cursor: str | None = None
    while cursor not in seen:  # a server that goes in circles is left
        seen.add(cursor)
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        for tool in page.tools:
            yield tool
        cursor = page.next_cursor
        if cursor is None:
            return
        if len(seen) >= MOST_PAGES:
            raise RuntimeError(f"the MCP server lists its tools on more than {MOST_PAGES} pages; it was given up")


def _distinct(names: Sequence[str]) -> list[str]:
    """Names that every vendor takes. Two that would be the same, such as ``a.b`` and ``a_b``, are numbered."""
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
    """As said. Where ``destructiveHint`` is not, the protocol takes a tool that is not read-only for destructive."""
    if hints is None:
        return ToolAnnotations(destructive=True) if cautious else None
    return ToolAnnotations(
        read_only=hints.read_only_hint,
        destructive=hints.destructive_hint if hints.destructive_hint is not None else not hints.read_only_hint,
        idempotent=hints.idempotent_hint,
        open_world=hints.open_world_hint,
    )


def _innermost(error: BaseException) -> BaseException:
    """The one error inside groups of one: task groups wrap what goes wrong in them."""
    inner: Sequence[BaseException] = getattr(error, "exceptions", ())
    return _innermost(inner[0]) if len(inner) == 1 else error
