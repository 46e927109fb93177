"""Reading a call: from the arguments that the model wrote to those of the handler, or to an error result."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from ...codec.tools.arguments import parse_error, parse_object
from ...codec.typed import complaints, without_forced_nulls
from ...types.base import Json
from ...types.blocks import ToolResultBlock, ToolUseBlock
from .binding import BoundTool
from .context import ToolContext
from .results import failure, failure_of
from .signatures import read_arguments

__all__ = ["Ready", "read_call"]


class Ready(Struct, frozen=True):
    """A call whose arguments were read, so that it can be run."""

    call: ToolUseBlock
    tool: BoundTool[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}

    def invoke(self, metadata: dict[str, Any] | None = None) -> Any:
        """Call the handler and return its value; if the handler is asynchronous, an awaitable."""
        given = {}
        if self.tool.context is not None:
            given[self.tool.context] = ToolContext(self.call.id, self.tool.name, metadata or {})
        return self.tool.handler(*self.args, **self.kwargs, **given)


def read_call(call: ToolUseBlock, tool: BoundTool[..., Any]) -> Ready | ToolResultBlock:
    """The call with its arguments read, or the error result that tells the model what is wrong with them."""
    if tool.definition.kind == "text":
        text = _text(call)
        return failure(call, f"`{tool.name}` takes plain text.") if text is None else Ready(call, tool, (text,))
    if (why := _malformed(call)) is not None:
        return failure(call, f"The arguments of `{tool.name}` are not a JSON object, so it was not run: {why}")
    input = without_forced_nulls(_input(call), tool.definition.input_schema)
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
    """The text of a call of a text tool. From a protocol without text tools it comes as the argument ``input``."""
    if call.kind == "text":
        return call.input_text or ""
    wrapped = _input(call).get("input")
    return wrapped if isinstance(wrapped, str) else None


def _input(call: ToolUseBlock) -> dict[str, Json]:
    return call.input or (parse_object(call.input_text) if call.input_text else None) or {}


def _malformed(call: ToolUseBlock) -> str | None:
    """Why the text is not a JSON object, if so. A repaired ``input`` wins over it; an empty text means no arguments."""
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
