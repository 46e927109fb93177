"""The shapes that nearly all traffic has, read and said without bookkeeping.

Each function does exactly what the tables would do with such a value, or gives None, and then the tables speak:
nothing here has an opinion of its own. A test holds both ways against each other over all recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...codec.arguments import read_arguments, write_arguments
from ...types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from ...types.messages import Message, Origin
from ...types.words import Role
from .parts import Wire

Fits = Callable[[str], object]
# looked up once: an enum's members are slow to reach
USER, ASSISTANT, TOOLS = Role.user, Role.assistant, Role.tool


def read_message(wire: Wire, origin: Origin, fits: Fits) -> Message | None:
    """A user's or an assistant's plain text, or an assistant's calls with or without one."""
    calls: list[Wire] | None
    role, content = wire.get("role"), wire.get("content")
    if role == "user" and len(wire) == 2 and type(content) is str and content:
        return Message(USER, (TextBlock(content),))
    if role != "assistant" or "content" not in wire or not (content is None or (type(content) is str and content)):
        return None
    blocks: list[Block] = [TextBlock(content)] if content else []
    if len(wire) == 3 and type(calls := wire.get("tool_calls")) is list and calls:
        for call in calls:
            block = read_call(call, fits)
            if block is None:
                return None
            blocks.append(block)
    elif len(wire) != 2 or not blocks:
        return None
    return Message(ASSISTANT, tuple(blocks), origin=origin)


def read_call(wire: Wire, fits: Fits) -> ToolUseBlock | None:
    if type(wire) is not dict or len(wire) != 3 or wire.get("type") != "function":
        return None
    function: Wire | None
    id, function = wire.get("id"), wire.get("function")
    if type(id) is not str or not id or id == "absent" or type(function) is not dict or len(function) != 2:
        return None
    name, arguments = function.get("name"), function.get("arguments")
    if type(name) is not str or type(arguments) is not str or not fits(id):
        return None
    input, text = read_arguments(arguments)
    return ToolUseBlock(id, name, "json", input, text)


def read_result(wire: Wire, answered: Sequence[str], fits: Fits) -> ToolResultBlock | None:
    """A text that answers one of the calls right before it."""
    id, content = wire.get("tool_call_id"), wire.get("content")
    if len(wire) != 3 or type(id) is not str or type(content) is not str or not content:
        return None
    return ToolResultBlock(id, (TextBlock(content),)) if id in answered and fits(id) else None


def say_message(message: Message, fits: Fits) -> Wire | None:
    """A user's text, or an assistant's text and calls, with nothing to remember of them."""
    content = message.content
    if message.role is USER:
        text = say_text(content[0]) if len(content) == 1 else None
        return None if text is None else {"role": "user", "content": text}
    wire: Wire = {"role": "assistant", "content": None}
    calls: list[Wire] = []
    for block in content:
        if type(block) is ToolUseBlock:
            if block.extras or block.forms or block.cache is not None or block.signature is not None:
                return None
            if block.kind != "json" or not fits(block.id):
                return None
            function = {"name": block.name, "arguments": write_arguments(block.input, block.input_text)}
            calls.append({"id": block.id, "type": "function", "function": function})
        elif calls or wire["content"] is not None or (text := say_text(block)) is None:
            return None
        else:
            wire["content"] = text
    if calls:
        wire["tool_calls"] = calls
    return wire if content else None


def say_text(block: Block) -> str | None:
    if type(block) is not TextBlock or not block.text or block.citations or block.extras or block.forms:
        return None
    return block.text if block.cache is None and block.signature is None else None


def say_results(message: Message, fits: Fits) -> list[Wire] | None:
    """Results of one plain text each."""
    said: list[Wire] = []
    for block in message.content:
        wire = _say_result(block, fits)
        if wire is None:
            return None
        said.append(wire)
    return said


def _say_result(block: Block, fits: Fits) -> Wire | None:
    if type(block) is not ToolResultBlock or len(block.content) != 1 or block.extras or block.forms:
        return None
    if block.cache is not None or block.signature is not None or block.name is not None or block.is_error is not None:
        return None
    text = say_text(block.content[0])
    if text is None or not fits(block.tool_use_id):
        return None
    return {"role": "tool", "tool_call_id": block.tool_use_id, "content": text}


def say_history(messages: Sequence[Message], fits: Fits, thoughtful: bool) -> list[Wire] | None:
    """A history of nothing but usual turns, every result right behind its call.

    ``thoughtful``: the assistant's turns must bring their reasoning, so they are not usual.
    """
    turns: list[Wire] = []
    called: Sequence[str] = ()
    before = USER
    for message in messages:
        role = message.role
        if message.extras or message.forms or (thoughtful and role is ASSISTANT):
            return None
        if role is TOOLS and before is not USER:
            for block in message.content:
                wire = _say_result(block, fits)
                if wire is None or wire["tool_call_id"] not in called:
                    return None
                turns.append(wire)
        else:
            wire = say_message(message, fits) if role is USER or role is ASSISTANT else None
            if wire is None:
                return None
            turns.append(wire)
            called = [call["id"] for call in wire["tool_calls"]] if "tool_calls" in wire else ()
        before = role
    return turns
