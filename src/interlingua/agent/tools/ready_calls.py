"""A call with its arguments read, ready to run; or the error result that says what is wrong with them."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from ...codec.arguments import parse_error, parse_object
from ...codec.schema import restore_optional
from ...codec.schema.nulls import allows_null
from ...codec.schema.walk import properties_of, required_of, well_formed
from ...types.base import Json
from ...types.blocks import ToolResultBlock, ToolUseBlock
from .bound_tool import BoundTool
from .context import ToolContext
from .results import failure, failure_of
from .schema_check import complaints
from .signatures import read_arguments

__all__ = ["Ready", "read_call"]


class Ready(Struct, frozen=True):
    """A call whose arguments were read, so that it can be run."""

    call: ToolUseBlock
    tool: BoundTool[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}

    def invoke(self, metadata: dict[str, Any] | None = None) -> Any:
        """Call the handler. An async handler returns an awaitable."""
        context = {}
        if self.tool.context is not None:
            context[self.tool.context] = ToolContext(self.call.id, self.tool.name, metadata or {})
        return self.tool.handler(*self.args, **self.kwargs, **context)


def read_call(call: ToolUseBlock, tool: BoundTool[..., Any]) -> Ready | ToolResultBlock:
    """The call with its arguments, or the result that tells the model what is wrong with it."""
    if tool.definition.kind == "text":
        text = _text(call)
        return failure(call, f"`{tool.name}` takes plain text.") if text is None else Ready(call, tool, (text,))
    if (why := _malformed(call)) is not None:
        return failure(call, f"The arguments of `{tool.name}` are not a JSON object, so it was not run: {why}")
    input = _without_forced_nulls(_input(call), tool.definition.input_schema)
    try:
        if tool.parameters is not None:
            return Ready(call, tool, (), read_arguments(tool.parameters, input))
        if found := complaints(input, tool.definition.input_schema):
            raise ValueError("\n".join(f"- {complaint}" for complaint in found))
        return Ready(call, tool, (input,))
    except ValueError as error:
        return failure(call, f"The arguments of `{tool.name}` do not fit its schema, so it was not run:\n{error}")
    except Exception as error:  # noqa: BLE001 - the class of an argument may raise anything
        return failure_of(call, error)


def _text(call: ToolUseBlock) -> str | None:
    """The text for a free-text tool. In dialects without free-text tools it is the one member ``input``."""
    if call.kind == "text":
        return call.input_text or ""
    wrapped = _input(call).get("input")
    return wrapped if isinstance(wrapped, str) else None


def _input(call: ToolUseBlock) -> dict[str, Json]:
    return call.input or (parse_object(call.input_text) if call.input_text else None) or {}


def _malformed(call: ToolUseBlock) -> str | None:
    """Why the text is not a JSON object. A parsed ``input`` is used before the text; no text means no arguments."""
    text = call.input_text
    if call.input or text is None or not text.strip() or (why := parse_error(text)) is None:
        return None
    near = _near(text, why)
    return f"{why}, near {near!r}" if near else why


def _near(text: str, why: str) -> str:
    found = re.search(r"byte (\d+)", why)
    if found is None:
        return ""
    data, at = text.encode("utf-8", "surrogatepass"), int(found[1])
    return data[max(0, at - 30) : at + 15].decode("utf-8", "ignore")


def _without_forced_nulls(input: dict[str, Json], schema: dict[str, Json]) -> dict[str, Json]:
    """Without the nulls that strict mode forced, and without those at the top that can only mean "absent".

    A schema that cannot be strict forces no nulls, but models send them nevertheless.
    """
    restored: dict[str, Json] = restore_optional(input, schema)
    if None not in restored.values():
        return restored
    root = well_formed(schema)
    properties, required = properties_of(root), required_of(root)
    absent = {
        name
        for name, value in restored.items()
        if value is None and name in properties and name not in required and not allows_null(properties[name], root)
    }
    return {name: value for name, value in restored.items() if name not in absent}
