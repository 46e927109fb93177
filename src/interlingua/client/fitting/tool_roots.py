"""Tools whose schema is a reference to one of its own definitions: providers require an object at the root."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...codec.schema.conjoin import with_own_root
from ...types.loss import Loss
from ...types.request import Request
from ...types.tools import Tool, ToolDefinition

__all__ = ["roots_are_plain", "with_plain_roots"]

COPIED = "the definition that the root of the schema refers to was copied to the root, which has to be an object"


def roots_are_plain(tools: Sequence[Tool]) -> bool:
    """Whether no tool's schema has a reference at its root."""
    for tool in tools:  # noqa: SIM110  (a generator takes twice as long, and this is called for every request)
        if type(tool) is ToolDefinition and "$ref" in tool.input_schema:
            return False
    return True


def with_plain_roots(request: Request) -> tuple[Request, tuple[Loss, ...]]:
    """Replace each tool schema with a reference at its root by an equal one without, if the reference is known."""
    tools, losses = list(request.tools), list[Loss]()
    for place, tool in enumerate(tools):
        if isinstance(tool, ToolDefinition) and (schema := with_own_root(tool.input_schema)) is not tool.input_schema:
            tools[place] = replace(tool, input_schema=schema)
            losses.append(Loss(f"tools/{place}/input_schema", "approximated", COPIED, "form"))
    return replace(request, tools=tuple(tools)), tuple(losses)
