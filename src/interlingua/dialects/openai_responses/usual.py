"""The shapes that nearly all traffic has, read and said without bookkeeping.

Each function does exactly what the tables would do with such a value, or gives None, and then the tables speak:
nothing here has an opinion of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...arguments import read_arguments, write_arguments
from ...types.base import Json
from ...types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from ...types.messages import Message
from ...types.tools import Tool, ToolDefinition
from .names import LONGEST_ID, TOOL_NAME, Scribe
from .wire import Wire, is_array, is_object


def read_call(item: Wire, calls: Mapping[str, str]) -> ToolUseBlock | None:
    """A call without an id of its own."""
    if len(item) != 4:
        return None
    id, name, arguments = item.get("call_id"), item.get("name"), item.get("arguments")
    if type(id) is not str or type(name) is not str or type(arguments) is not str:
        return None
    if id in calls or not 0 < len(id) <= LONGEST_ID or not TOOL_NAME.fullmatch(name):
        return None
    input, text = read_arguments(arguments)
    return ToolUseBlock(id, name, "json", input, text)


def read_result(item: Wire, calls: Mapping[str, str]) -> ToolResultBlock | None:
    """A text that answers a call."""
    if len(item) != 3:
        return None
    id, output = item.get("call_id"), item.get("output")
    if type(output) is not str or not output or type(id) is not str or calls.get(id) != "json":
        return None
    return ToolResultBlock(id, (TextBlock(output),))


def read_words(item: Wire) -> tuple[Block, ...] | None:
    """The texts of a message that is a role and parts."""
    content = item.get("content")
    if len(item) != 2 or not is_array(content) or not content:
        return None
    blocks: list[Block] = []
    for part in content:
        if not is_object(part) or len(part) != 2 or part.get("type") != "input_text":
            return None
        text = part.get("text")
        if type(text) is not str:
            return None
        blocks.append(TextBlock(text))
    return tuple(blocks)


def read_tool(wire: Wire, taken: set[str]) -> ToolDefinition | None:
    """A function that is not strict."""
    if len(wire) != 5 or wire.get("type") != "function" or wire.get("strict") is not False:
        return None
    name, description, schema = wire.get("name"), wire.get("description"), wire.get("parameters")
    if type(name) is not str or type(description) is not str or not description or not is_object(schema):
        return None
    if schema.get("type") != "object" or "properties" not in schema or not TOOL_NAME.fullmatch(name):
        return None
    taken.add(name)
    return ToolDefinition(name, description, schema, None, False)


# ---------------------------------------------------------------------------------------------------------- writing


def say_turn(message: Message, scribe: Scribe) -> list[Wire] | None:
    """Texts and calls of the assistant's."""
    said: list[Wire] = []
    calls: list[str] = []
    for block in message.content:
        if block.forms or block.extras or block.signature is not None or block.cache is not None:
            return None
        if type(block) is TextBlock and not block.citations:
            if said:
                said.append({"type": "message", "role": "assistant", "content": block.text})
            else:
                said.append({"role": "assistant", "content": block.text})
        elif type(block) is ToolUseBlock and block.kind == "json":
            id, name = block.id, block.name
            if not scribe.takes(id, name) or id in calls:
                return None
            calls.append(id)
            arguments = write_arguments(block.input, block.input_text)
            said.append({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
        else:
            return None
    for id in calls:
        scribe.took(id)
    return said or None


def say_results(message: Message, scribe: Scribe) -> list[Wire] | None:
    """Texts that answer calls."""
    said: list[Wire] = []
    for block in message.content:
        if type(block) is not ToolResultBlock or block.forms or block.extras or len(block.content) != 1:
            return None
        if (
            block.name is not None
            or block.is_error is not None
            or block.cache is not None
            or block.signature is not None
        ):
            return None
        only, id = block.content[0], block.tool_use_id
        if type(only) is not TextBlock or not only.text or only.forms or only.extras or only.citations:
            return None
        if only.cache is not None or only.signature is not None or not scribe.knows(id):
            return None
        said.append({"type": "function_call_output", "call_id": id, "output": only.text})
    for wire in said:
        scribe.answered(wire["call_id"])
    return said or None


def say_user(message: Message, scribe: Scribe) -> list[Wire] | None:
    """Texts of the user's."""
    if message.forms or not message.content:
        return None
    parts: list[Json] = []
    for block in message.content:
        if type(block) is not TextBlock or not is_bare(block):
            return None
        parts.append({"type": "input_text", "text": block.text})
    return [{"role": "user", "content": parts}]


def is_bare(block: TextBlock) -> bool:
    return not (
        block.forms or block.extras or block.citations or block.signature is not None or block.cache is not None
    )


def say_tool(tool: Tool, scribe: Scribe) -> Wire | None:
    """A function that is not strict."""
    if type(tool) is not ToolDefinition or tool.strict is not False or tool.forms or tool.extras:
        return None
    schema = tool.input_schema
    if tool.kind != "json" or tool.annotations is not None or tool.cache is not None or tool.description is None:
        return None
    if schema.get("type") != "object" or "properties" not in schema or not scribe.fits(tool.name):
        return None
    wire: Wire = {"type": "function", "name": tool.name, "description": tool.description}
    wire["parameters"], wire["strict"] = schema, False
    return wire
