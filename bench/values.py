"""The cost of the checks when values are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
from measure import Row, ratio
from msgspec.structs import fields

from interlingua import Message, Request, TextBlock, ToolDefinition, ToolUseBlock

__all__ = ["construction"]


def construction() -> Iterator[Row]:
    """Values made by hand, against msgspec Structs of the same fields without checks (for information, no budget)"""
    text, call = TextBlock("I look at the next file."), ToolUseBlock("t1", "Read", input={"path": "parser.py"})
    history = tuple(Message("user" if turn % 2 == 0 else "assistant", (text,)) for turn in range(20))
    tools = (ToolDefinition("Read", "Reads a file.", {"type": "object", "properties": {}}),)
    cases: tuple[tuple[type[msgspec.Struct], dict[str, Any], str], ...] = (
        (TextBlock, {"text": text.text}, ""),
        (ToolUseBlock, {"id": call.id, "name": call.name, "input": call.input}, "one argument"),
        (Message, {"role": "assistant", "content": (text, call)}, "two blocks, made before"),
        (Request, {"messages": history, "model": "some-model", "tools": tools}, "20 messages and a tool, made before"),
    )
    for kind, given, note in cases:
        yield Row(kind.__name__, ratio(_many(kind, given), _many(_unchecked(kind), given)), note=note)


def _unchecked(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """A Struct of the same fields and defaults that checks nothing."""
    unchecked: list[Any] = [(field.name, Any, _default(field)) for field in fields(kind)]
    return msgspec.defstruct(kind.__name__, unchecked, frozen=True, kw_only=True)


def _default(field: Any) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.field(default_factory=field.default_factory)
    return msgspec.field() if field.default is msgspec.NODEFAULT else msgspec.field(default=field.default)


def _many(kind: Callable[..., Any], given: dict[str, Any]) -> Callable[[], None]:
    """A function that makes a hundred values in a loop, so that the cost of the loop itself is small."""
    make = partial(kind, **given)

    def run() -> None:
        for _ in range(100):
            make()

    return run
