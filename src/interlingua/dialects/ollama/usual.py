"""The shapes that nearly all traffic has, read and said without bookkeeping.

Each function does exactly what the tables would do with such a value, or gives None, and then the tables speak:
nothing here has an opinion of its own. A test holds both ways against each other over all recordings.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...types.base import Json
from ...types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from ...types.messages import Message, Origin
from ...types.tools import Tool, ToolDefinition
from ...types.words import Role
from .._json import Wire, is_array, is_object
from .schemas import is_ours

# looked up once: an enum's members are slow to reach
SYSTEM, USER, ASSISTANT, TOOLS = Role.system, Role.user, Role.assistant, Role.tool


def read_turn(turn: Wire, before: Role | None, origin: Origin) -> Message | None:
    """A text of the user's, or a text and calls of the model's; not where a turn of the model's follows another."""
    word, text = turn.get("role"), turn.get("content")
    if type(text) is not str:
        return None
    if word == "user":
        return Message(USER, (TextBlock(text),)) if text and len(turn) == 2 else None
    if word != "assistant" or before is ASSISTANT:
        return None
    if len(turn) == 2:
        return Message(ASSISTANT, (TextBlock(text),), origin=origin) if text else None
    blocks = read_calls(turn.get("tool_calls"), text) if len(turn) == 3 else None
    return None if blocks is None else Message(ASSISTANT, blocks, origin=origin)


def read_calls(calls: Json, text: str) -> tuple[Block, ...] | None:
    """Calls with ids and arguments, behind a text if there is one."""
    if not is_array(calls) or not calls:
        return None
    blocks: list[Block] = [TextBlock(text)] if text else []
    for call in calls:
        function: Json = call.get("function") if is_object(call) and len(call) == 2 else None
        if not is_object(function) or len(function) != 2:
            return None
        id, name, input = call.get("id"), function.get("name"), function.get("arguments")
        if type(id) is not str or not id or type(name) is not str or not is_object(input):
            return None
        blocks.append(ToolUseBlock(id, name, "json", input))
    return tuple(blocks)


def read_result(turn: Wire, called: list[ToolUseBlock]) -> ToolResultBlock | None:
    """A named text that answers one of the calls right before it, which then is open no more."""
    id, name, text = turn.get("tool_call_id"), turn.get("tool_name"), turn.get("content")
    if len(turn) != 4 or type(id) is not str or type(name) is not str or type(text) is not str:
        return None
    if not id or not name or not text:
        return None
    for place, call in enumerate(called):
        if call.id == id:
            del called[place]
            return ToolResultBlock(id, (TextBlock(text),), name)
    return None


def read_tool(wire: Wire) -> ToolDefinition | None:
    """A function with nothing but a name, a description and a schema that the server holds whole."""
    function = wire.get("function")
    if len(wire) != 2 or wire.get("type") != "function" or not is_object(function) or len(function) != 3:
        return None
    name, description, schema = function.get("name"), function.get("description"), function.get("parameters")
    if type(name) is not str or type(description) is not str or not is_object(schema) or not is_ours(name, schema):
        return None
    return ToolDefinition(name, description, schema)


def say_history(messages: Sequence[Message]) -> list[Wire] | None:
    """A history of nothing but usual turns, all results right behind the turn that called."""
    turns: list[Wire] = []
    before = USER
    for message in messages:
        role = message.role
        if role is TOOLS:
            said = say_results(message) if before is ASSISTANT else None
            if said is None:
                return None
            turns += said
        else:
            turn = None if role is before is ASSISTANT else say_message(message)
            if turn is None:
                return None
            turns.append(turn)
        before = role
    return turns


def say_message(message: Message) -> Wire | None:
    """One text; with the model, one text or none and then calls."""
    role, text, calls = message.role, "", list[Wire]()
    if message.extras or message.forms:
        return None
    for block in message.content:
        if block.extras or block.forms or block.cache is not None or block.signature is not None:
            return None
        if type(block) is ToolUseBlock and block.kind == "json" and block.input_text is None and block.id:
            calls.append({"function": {"name": block.name, "arguments": block.input}, "id": block.id})
        elif text or calls or type(block) is not TextBlock or not block.text or block.citations:
            return None
        else:
            text = block.text
    if calls:
        return {"role": "assistant", "content": text, "tool_calls": calls} if role is ASSISTANT else None
    return {"role": _WORDS[role], "content": text} if text and role is not TOOLS else None


_WORDS = {SYSTEM: "system", USER: "user", ASSISTANT: "assistant"}


def say_results(message: Message) -> list[Wire] | None:
    """Results of one plain text each, with the names of their tools."""
    turns: list[Wire] = []
    if message.extras or message.forms:
        return None
    for block in message.content:
        if type(block) is not ToolResultBlock or block.name is None or block.is_error is not None:
            return None
        if block.extras or block.forms or block.cache is not None or block.signature is not None:
            return None
        text = _plain_text(block.content)
        if text is None or not block.tool_use_id:
            return None
        turns.append({"role": "tool", "content": text, "tool_name": block.name, "tool_call_id": block.tool_use_id})
    return turns or None


def _plain_text(content: Sequence[Block]) -> str | None:
    block = content[0] if len(content) == 1 else None
    if type(block) is not TextBlock or not block.text or block.citations or block.extras or block.forms:
        return None
    return block.text if block.cache is None and block.signature is None else None


def say_tool(tool: Tool) -> Wire | None:
    """A definition with nothing but a name, a description and a schema that the server holds whole."""
    if type(tool) is not ToolDefinition or tool.extras or tool.forms or tool.cache is not None:
        return None
    if tool.annotations is not None or tool.strict is not None or tool.kind != "json" or tool.description is None:
        return None
    if not is_ours(tool.name, tool.input_schema):
        return None
    function = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": function}
