"""``Toolbox``: the tools that are offered to a model, and the functions that answer its calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, Unpack, cast, runtime_checkable

from ...codec.limits import Limits
from ...types.blocks import ToolResultBlock, ToolUseBlock
from ...types.tools import ServerTool, Tool, ToolDefinition
from .binding import BoundTool, bind, tool
from .blocking import run_blocking
from .reading import Ready, read_call
from .results import failure
from .running import Approve, Batch, BatchArguments, OnResult
from .signatures import without_partials
from .threads import Threads

__all__ = ["ToolSource", "Toolbox", "Toolset"]


@runtime_checkable
class Toolset(Protocol):
    """An object that provides several tools, as ``McpTools`` does."""

    @property
    def tools(self) -> Iterable[BoundTool[..., Any]]:
        """The tools that it provides now."""
        ...


ToolSource = Callable[..., Any] | BoundTool[..., Any] | tuple[ToolDefinition, Callable[..., Any]] | ServerTool | Toolset
"""What a toolbox can be made of. A pair is a definition written by hand and the function that handles its calls."""


class Toolbox:
    """Tools by name. ``prepare`` reads a call, ``run`` and ``run_sync`` answer all calls of a turn at once."""

    def __init__(
        self, tools: Iterable[ToolSource] = (), *, timeout: float | None = None, limits: Limits | None = None
    ) -> None:
        """``timeout`` is in seconds, for each tool that has no limit of its own. Of ``limits``, ``parallel_tools`` is
        how many calls of one ``run`` run at once, and ``threads`` how many synchronous functions of this box."""
        limits = limits or Limits()
        self._timeout, self._parallel = timeout, limits.parallel_tools
        self._threads = Threads(limits.threads)
        self._tools: dict[str, BoundTool[..., Any]] = {}
        offered: list[Tool] = []
        for found in _unpacked(tools):
            if isinstance(found, ServerTool):
                offered.append(found)
            else:
                self._add(found)
                offered.append(found.definition)
        self.definitions: tuple[Tool, ...] = tuple(offered)
        """The definitions for ``Request.tools``, in the order in which the tools were given."""

    def _add(self, found: BoundTool[..., Any]) -> None:
        other = self._tools.setdefault(found.name, found)
        if other is not found:
            raise ValueError(
                f"two tools are named {found.name!r}: {_code_name(other)} and {_code_name(found)}; name one otherwise"
            )

    @property
    def delegates(self) -> frozenset[str]:
        """The names of tools that are sessions."""
        return frozenset(name for name, tool in self._tools.items() if tool.delegates)

    def get(self, name: str) -> BoundTool[..., Any] | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    def prepare(self, call: ToolUseBlock) -> Ready | ToolResultBlock:
        """The call with its arguments read, or the error result that says why it cannot be run. Runs nothing."""
        if call.incomplete:
            return failure(call, f"This call of `{call.name}` broke off before it was complete, so it was not run.")
        found = self._tools.get(call.name)
        if found is None:
            return failure(
                call, f"There is no tool named `{call.name}`. There are: {', '.join(self._tools) or 'none'}."
            )
        return read_call(call, found)

    async def run(
        self,
        calls: Iterable[ToolUseBlock],
        *,
        approve: Approve | None = None,
        on_result: OnResult | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> tuple[ToolResultBlock, ...]:
        """A result for each call, in the order of the calls. They run at the same time, as far as the limits allow.

        An exception in a tool becomes an error result. An exception in ``approve`` or ``on_result`` is raised here and
        cancels the tools that still run; cancelling this task does so too. ``metadata`` is for ``ToolContext``.
        """
        return await self.batch(calls, approve=approve, on_result=on_result, metadata=metadata).run()

    def batch(
        self,
        calls: Iterable[ToolUseBlock],
        refused: Mapping[str, str] | None = None,
        **arguments: Unpack[BatchArguments],
    ) -> Batch:
        """A batch, which runs the calls like ``run`` and also knows how far each has come. ``refused`` maps the ids of
        calls that may not run to the reason."""

        def prepare(call: ToolUseBlock) -> Ready | ToolResultBlock:
            why = refused.get(call.id) if refused else None
            return self.prepare(call) if why is None else failure(call, why)

        return Batch(calls, prepare, self._threads, parallel=self._parallel, timeout=self._timeout, **arguments)

    def run_sync(
        self,
        calls: Iterable[ToolUseBlock],
        *,
        approve: Approve | None = None,
        on_result: OnResult | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> tuple[ToolResultBlock, ...]:
        """Like ``run``, for callers without an event loop. Asynchronous tools run in a loop made for these calls."""
        return run_blocking(self.run(calls, approve=approve, on_result=on_result, metadata=metadata))


def _unpacked(tools: Iterable[ToolSource]) -> Iterator[BoundTool[..., Any] | ServerTool]:
    for found in tools:
        if isinstance(found, BoundTool | ServerTool):
            yield cast("BoundTool[..., Any] | ServerTool", found)
        elif isinstance(found, tuple):
            yield bind(*cast("Any", found))
        elif isinstance(found, ToolDefinition):
            raise TypeError(f"nobody answers calls of {found.name!r}: give a pair (definition, handler)")
        elif isinstance(found, Toolset):
            yield from found.tools
        else:
            yield tool(found)


def _code_name(found: BoundTool[..., Any]) -> str:
    """The module and name of a tool's function, for a developer who has two tools of one name."""
    handler = without_partials(found.handler)
    named = handler if hasattr(handler, "__qualname__") else cast("Any", type(handler))
    return f"{named.__module__}.{named.__qualname__}"
