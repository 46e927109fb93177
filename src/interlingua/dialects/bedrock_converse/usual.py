"""The shapes that nearly all histories have, read and said without bookkeeping.

Each function does exactly what the tables would do with such a value, or gives None, and then the tables speak:
nothing here has an opinion of its own. A test holds both ways against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...types.base import Json
from ...types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from ...types.messages import Message, Origin
from ...types.tools import Tool, ToolDefinition
from ...types.words import Role
from .names import IDS, TOOL_NAME
from .wire import Wire, is_array, is_object

ID, TOOL = IDS.pattern.fullmatch, TOOL_NAME.fullmatch
USER, ASSISTANT, TOOLS = Role.user, Role.assistant, Role.tool


def read_turn(turn: Wire, origin: Origin) -> Message | None:
    """A turn of text and calls, or of results, in the usual spelling."""
    content, word = turn.get("content"), turn.get("role")
    if len(turn) != 2 or not is_array(content) or not content:
        return None
    blocks: list[Block] = []
    for wire in content:
        block = _read(wire)
        if block is None:
            return None
        blocks.append(block)
    if word == "assistant":
        return Message(ASSISTANT, tuple(blocks), origin=origin)
    if word != "user":
        return None
    results = sum(type(block) is ToolResultBlock for block in blocks)
    if results and results != len(blocks):
        return None
    return Message(TOOLS if results else USER, tuple(blocks))


def _read(wire: Json) -> Block | None:
    if not is_object(wire) or len(wire) != 1:
        return None
    for tag, inner in wire.items():
        if tag == "text":
            return TextBlock(inner) if type(inner) is str and inner else None
        reader = _READ.get(tag)
        if reader is not None and is_object(inner):
            return reader(inner)
    return None


def _read_call(inner: Wire) -> Block | None:
    if len(inner) != 3:
        return None
    id, name, input = inner.get("toolUseId"), inner.get("name"), inner.get("input")
    if type(id) is str and type(name) is str and is_object(input) and ID(id) and TOOL(name):
        return ToolUseBlock(id, name, "json", input)
    return None


def _read_result(inner: Wire) -> Block | None:
    id, content, status = inner.get("toolUseId"), inner.get("content"), inner.get("status")
    is_error = _STATUS.get(status) if type(status) is str else None
    if len(inner) != (2 if is_error is None else 3) or type(id) is not str or not is_array(content) or not ID(id):
        return None
    blocks: list[Block] = []
    for wire in content:
        text = wire.get("text") if is_object(wire) and len(wire) == 1 else None
        if type(text) is not str or not text:
            return None
        blocks.append(TextBlock(text))
    return ToolResultBlock(id, tuple(blocks), None, is_error)


_STATUS = {"success": False, "error": True}
_READ: dict[Json, Callable[[Wire], Block | None]] = {"toolUse": _read_call, "toolResult": _read_result}


def say_history(messages: Sequence[Message]) -> list[Wire] | None:
    """A history of nothing but usual turns: the user's first, then by turns, results right behind their calls."""
    turns: list[Wire] = []
    before = ASSISTANT
    for message in messages:
        role = message.role
        if (role is not USER and role is not TOOLS) if before is ASSISTANT else role is not ASSISTANT:
            return None
        content = say_content(message) if turns or role is USER else None
        if content is None:
            return None
        turns.append({"role": "assistant" if role is ASSISTANT else "user", "content": content})
        before = role
    return turns


def say_content(message: Message) -> list[Wire] | None:
    """The blocks of a message that leaves nothing to remember or to declare, whoever wrote it: nothing is opaque."""
    if message.extras or message.forms:
        return None
    said: list[Wire] = []
    for block in message.content:
        if block.extras or block.forms or block.cache is not None or block.signature is not None:
            return None
        if type(block) is TextBlock:
            wire: Wire | None = {"text": block.text} if block.text and not block.citations else None
        elif type(block) is ToolUseBlock:
            wire = _say_call(block)
        else:
            wire = _say_result(block) if type(block) is ToolResultBlock else None
        if wire is None:
            return None
        said.append(wire)
    return said or None


def _say_call(block: ToolUseBlock) -> Wire | None:
    if block.kind != "json" or block.input_text is not None or not ID(block.id) or not TOOL(block.name):
        return None
    return {"toolUse": {"toolUseId": block.id, "name": block.name, "input": block.input}}


def _say_result(block: ToolResultBlock) -> Wire | None:
    if block.name is not None or not ID(block.tool_use_id):
        return None
    said: list[Wire] = []
    for inner in block.content:
        if type(inner) is not TextBlock or not inner.text or inner.citations or inner.extras or inner.forms:
            return None
        if inner.cache is not None or inner.signature is not None:
            return None
        said.append({"text": inner.text})
    wire: Wire = {"toolUseId": block.tool_use_id, "content": said}
    if block.is_error is not None:
        wire["status"] = "error" if block.is_error else "success"
    return {"toolResult": wire}


def say_tool(tool: Tool) -> Wire | None:
    """A definition with nothing but a name, a description and a schema."""
    if type(tool) is not ToolDefinition or tool.extras or tool.forms or tool.cache is not None:
        return None
    if tool.strict is not None:
        return None
    if tool.kind != "json" or not tool.description or tool.input_schema.get("type") != "object" or not TOOL(tool.name):
        return None
    spec = {"name": tool.name, "description": tool.description, "inputSchema": {"json": tool.input_schema}}
    return {"toolSpec": spec}
