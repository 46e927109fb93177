"""Tools that can be run: a definition for the model and a handler for its calls. ``tool`` makes one of a function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from ...codec.typed import read_docstring
from ...types.tools import ToolAnnotations, ToolDefinition
from .context import ToolContext
from .signatures import Parameter, name_of, read_signature, without_partials

__all__ = ["BoundTool", "bind", "tool"]

P = ParamSpec("P")
R = TypeVar("R")

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what every provider accepts


@dataclass(frozen=True, slots=True, eq=False)
class BoundTool(Generic[P, R]):
    """A tool and the handler of its calls. It can be called like the function that it was made of."""

    definition: ToolDefinition
    handler: Callable[P, R]
    timeout: float | None = None
    """The time limit of a call in seconds; None for the limit of the toolbox."""
    context: str | None = None
    """The parameter that receives the ``ToolContext``; None if the handler has no such parameter."""
    parameters: tuple[Parameter, ...] | None = None
    """The parameters. None: the handler gets the whole input, or the text, as its one argument."""
    delegates: bool = False
    """Whether the tool is a session."""

    @property
    def name(self) -> str:
        """The name by which the model calls the tool."""
        return self.definition.name

    @property
    def wants_context(self) -> bool:
        """Whether the handler takes a ``ToolContext``."""
        return self.context is not None

    @property
    def is_async(self) -> bool:
        """Whether the handler is a coroutine function. Any other handler runs in a thread."""
        called = getattr(self.handler, "__call__", None)  # noqa: B004 - an object may be called asynchronously
        return inspect.iscoroutinefunction(self.handler) or inspect.iscoroutinefunction(called)

    @property
    def is_destructive(self) -> bool:
        """Whether calls need an approval before they run."""
        annotations = self.definition.annotations
        return annotations is not None and annotations.destructive is True

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.handler(*args, **kwargs)


@overload
def tool(
    function: Callable[P, R],
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    annotations: ToolAnnotations | None = None,
    strict: bool | None = None,
) -> BoundTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    annotations: ToolAnnotations | None = None,
    strict: bool | None = None,
) -> Callable[[Callable[P, R]], BoundTool[P, R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    annotations: ToolAnnotations | None = None,
    strict: bool | None = None,
) -> Any:
    """Make a tool of a typed function: ``@tool``, ``@tool(timeout=5)`` or ``tool(function, name=...)``.

    The schema comes from the annotations; the descriptions of the tool and its parameters come from the docstring.
    """

    def made(function: Callable[..., Any]) -> BoundTool[..., Any]:
        doc = read_docstring(_doc(function))
        signature = read_signature(function, doc.parameters)
        definition = ToolDefinition(
            name=_checked(name_of(function) if name is None else name),
            description=description if description is not None else doc.text or None,
            input_schema=signature.schema,
            annotations=annotations,
            strict=strict,
        )
        return BoundTool(definition, function, timeout, signature.context, signature.parameters)

    return made if function is None else made(function)


def bind(
    definition: ToolDefinition, handler: Callable[..., Any], *, timeout: float | None = None
) -> BoundTool[..., Any]:
    """A tool of a definition written by hand. Its handler gets the input as one dict, or the text of a text tool."""
    if not callable(handler):
        raise TypeError(f"the handler of {definition.name} cannot be called: {handler!r}")
    return BoundTool(definition, handler, timeout, _context_of(handler))


def _doc(function: Any) -> str | None:
    """The docstring of a tool: of the function inside of a partial, or of a callable object's ``__call__`` or class."""
    inner = without_partials(function)
    if inspect.isroutine(inner):
        return inspect.getdoc(inner)
    cls = cast("Any", type(inner))
    doc: str | None = cls.__call__.__doc__ or cls.__doc__
    return None if doc and doc.startswith(f"{cls.__name__}(") else doc  # the generated docstring of a dataclass


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be the name of a tool (letters, digits, _ and -, at most 64); pass name=")
    return name


def _context_of(handler: Callable[..., Any]) -> str | None:
    """The parameter annotated with ``ToolContext``, as a type or as its name in a string. Others need no annotation."""
    try:
        parameters: Mapping[str, inspect.Parameter] = inspect.signature(handler).parameters
    except ValueError:
        return None
    annotations = (ToolContext, "ToolContext", "ToolContext | None", ToolContext | None)
    return next((name for name, found in parameters.items() if found.annotation in annotations), None)
