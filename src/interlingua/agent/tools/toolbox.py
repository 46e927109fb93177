"""``Toolbox``: the tools that a model is offered, and how its calls are run."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypedDict, Unpack, cast, runtime_checkable

from ...codec.limits import Limits
from ...types.blocks import ToolResultBlock, ToolUseBlock
from ...types.tools import ServerTool, Tool, ToolDefinition
from .batch import Approve, Batch, OnResult, OnStart, run_blocking
from .bound_tool import BoundTool, bind, tool
from .ready_calls import Ready, read_call
from .results import failure
from .signatures import without_partials
from .threads import Threads

__all__ = ["ToolSource", "Toolbox", "Toolset"]


@runtime_checkable
class Toolset(Protocol):
    """An object with several tools, such as ``McpTools``."""

    @property
    def tools(self) -> Iterable[BoundTool[..., Any]]: ...


ToolSource = Callable[..., Any] | BoundTool[..., Any] | tuple[ToolDefinition, Callable[..., Any]] | ServerTool | Toolset
"""What a toolbox accepts as tools. A pair is a definition and its handler."""


class RunOptions(TypedDict, total=False):
    """The arguments of ``run`` and ``run_sync`` beside the calls."""

    approve: Approve | None
    on_result: OnResult | None
    metadata: Mapping[str, Any] | None
    """For ``ToolContext``."""


class Toolbox:
    """Tools by name. ``prepare`` reads the arguments of a call; ``run`` and ``run_sync`` run all calls of an answer."""

    def __init__(
        self, tools: Iterable[ToolSource] = (), *, timeout: float | None = None, limits: Limits | None = None
    ) -> None:
        """``timeout``: seconds for each tool that has no ``timeout``. Of ``limits``, ``parallel_tools`` is for the
        calls of one ``run``, and ``threads`` for all functions of this toolbox that are not async."""
        limits = limits or Limits()
        self._timeout, self._parallel = timeout, limits.parallel_tools
        self._threads = Threads(limits.threads)
        self._tools: dict[str, BoundTool[..., Any]] = {}
        offered: list[Tool] = []
        for found in _bound_tools(tools):
            if isinstance(found, ServerTool):
                offered.append(found)
            else:
                self._add(found)
                offered.append(found.definition)
        self.definitions: tuple[Tool, ...] = tuple(offered)
        """For ``Request.tools``, in the order in which they were given."""

    def _add(self, found: BoundTool[..., Any]) -> None:
        other = self._tools.setdefault(found.name, found)
        if other is not found:
            raise ValueError(
                f"two tools are named {found.name!r}: {_source_of(other)} and {_source_of(found)}; rename one of them"
            )

    def get(self, name: str) -> BoundTool[..., Any] | None:
        """The tool of that name, if there is one."""
        return self._tools.get(name)

    def prepare(self, call: ToolUseBlock) -> Ready | ToolResultBlock:
        """The call with its arguments read, or the error result that says why it cannot be run. Runs nothing."""
        if call.incomplete:
            return failure(call, f"This call of `{call.name}` was cut before it was complete, so it was not run.")
        found = self._tools.get(call.name)
        if found is None:
            return failure(
                call, f"There is no tool named `{call.name}`. There are: {', '.join(self._tools) or 'none'}."
            )
        return read_call(call, found)

    async def run(self, calls: Iterable[ToolUseBlock], **options: Unpack[RunOptions]) -> tuple[ToolResultBlock, ...]:
        """A result for each call, in the order of the calls. They run at the same time, as far as the limits allow.

        An error in a tool becomes an error result. What ``approve`` or ``on_result`` raise is raised here; then the
        tools that still run are cancelled, as they are when this task is cancelled.
        """
        return await self.batch(calls, **options).run()

    def batch(
        self,
        calls: Iterable[ToolUseBlock],
        *,
        refused: Mapping[str, str] | None = None,
        started: Container[str] = (),
        on_start: OnStart | None = None,
        **options: Unpack[RunOptions],
    ) -> Batch:
        """As ``run``, for callers who need the state of each call. ``refused``: by id, why a call is not run.
        ``started``: ids of calls that were started earlier; they get a result, but are not run again."""

        def prepare(call: ToolUseBlock) -> Ready | ToolResultBlock:
            why = refused.get(call.id) if refused else None
            return self.prepare(call) if why is None else failure(call, why)

        return Batch(
            calls,
            prepare,
            self._threads,
            parallel=self._parallel,
            timeout=self._timeout,
            started=started,
            on_start=on_start,
            **options,
        )

    def run_sync(self, calls: Iterable[ToolUseBlock], **options: Unpack[RunOptions]) -> tuple[ToolResultBlock, ...]:
        """``run`` for synchronous code. Async tools run in a new event loop, which is closed at the end."""
        return run_blocking(self.run(calls, **options))


def _bound_tools(tools: Iterable[ToolSource]) -> Iterator[BoundTool[..., Any] | ServerTool]:
    for found in tools:
        if isinstance(found, BoundTool | ServerTool):
            yield cast("BoundTool[..., Any] | ServerTool", found)
        elif isinstance(found, tuple):
            yield bind(*cast("Any", found))
        elif isinstance(found, ToolDefinition):
            raise TypeError(f"the tool {found.name!r} has no handler: give a pair (definition, handler)")
        elif isinstance(found, Toolset):
            yield from found.tools
        else:
            yield tool(found)


def _source_of(found: BoundTool[..., Any]) -> str:
    """Where a tool is defined, for the error about two tools with one name."""
    handler = without_partials(found.handler)
    named = handler if hasattr(handler, "__qualname__") else cast("Any", type(handler))
    return f"{named.__module__}.{named.__qualname__}"
