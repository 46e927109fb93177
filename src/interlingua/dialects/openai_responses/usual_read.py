"""The shapes that nearly all requests have, read without bookkeeping.

Each function does exactly what the tables would do with such an item, or says that it is none of its own, and then the
tables speak: nothing here has an opinion. A test holds both ways against each other.
"""

from __future__ import annotations

from collections.abc import Callable

from ...codec.arguments import read_arguments
from ...types.base import Json
from ...types.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ...types.tools import ToolDefinition
from ...types.words import Role
from .names import LONGEST_ID, is_name
from .open_messages import ASSISTANT, Drafts
from .wire import NAME, SUMMARY, Wire, is_array, is_object

USER, TOOL = Role.user, Role.tool


def read_call(item: Wire, into: Drafts) -> bool:
    """A call, with the id of its item or without."""
    id, name, arguments, calls = item.get("call_id"), item.get("name"), item.get("arguments"), into.calls
    if type(id) is not str or type(name) is not str or type(arguments) is not str:
        return False
    if id in calls or not id or len(id) > LONGEST_ID or not is_name(name):
        return False
    if len(item) == 4:
        input, text = read_arguments(arguments)
        call = ToolUseBlock(id, name, "json", input, text)
    elif len(item) == 6 and type(item.get("id")) is str and item.get("status") == "completed":
        input, text = read_arguments(arguments)
        call = ToolUseBlock(id, name, "json", input, text, extras={NAME: {"id": item["id"]}})
    else:
        return False
    calls[id] = "json"
    drafts = into.drafts
    last = drafts[-1] if drafts and drafts[-1].role is ASSISTANT else into.add(ASSISTANT)
    last.blocks.append(call)
    last.message_last = False
    return True


def read_result(item: Wire, into: Drafts) -> bool:
    """A text that answers a call."""
    id, output = item.get("call_id"), item.get("output")
    if type(output) is not str or not output or type(id) is not str or into.calls.get(id) != "json":
        return False
    if len(item) == 3:
        result = ToolResultBlock(id, (TextBlock(output),))
    elif len(item) == 4 and type(item.get("name")) is str:
        result = ToolResultBlock(id, (TextBlock(output),), item["name"])
    else:
        return False
    into.behind(TOOL).blocks.append(result)
    return True


def read_words(item: Wire, into: Drafts) -> bool:
    """A message that is a role and text. The assistant's is marked unless it begins a turn right behind another."""
    role, content, drafts = item.get("role"), item.get("content"), into.drafts
    last = drafts[-1] if drafts else None
    if len(item) != 2 or not content or (last is not None and last.silent):
        return False
    if role == "user":
        return _read_user(content, into, {})
    if role != "assistant" or type(content) is not str:
        return False
    goes_on = last is not None and last.role is ASSISTANT
    border = last is not None and goes_on and last.message_last
    last = last if last is not None and goes_on and not border else into.add(ASSISTANT)
    last.blocks.append(TextBlock(content) if border else TextBlock(content, forms={NAME: {"item": {"type": False}}}))
    last.message_last = True
    return True


def read_message(item: Wire, into: Drafts) -> bool:
    """The user's, or the assistant's: a text that was put in, or one that was answered, with an id."""
    role, content, drafts = item.get("role"), item.get("content"), into.drafts
    if role == "user":
        silent = bool(drafts) and drafts[-1].silent
        return len(item) == 3 and bool(content) and not silent and _read_user(content, into, {"type": True})
    block = _spoken(item, content) if role == "assistant" else None
    if block is None:
        return False
    last = drafts[-1] if drafts and drafts[-1].role is ASSISTANT else into.add(ASSISTANT)
    last.blocks.append(block)
    last.message_last = True
    return True


def _spoken(item: Wire, content: Json) -> TextBlock | None:
    """A string without an id, or one part with one."""
    if len(item) == 3:
        return TextBlock(content) if type(content) is str else None
    if len(item) != 5 or type(item.get("id")) is not str or item.get("status") != "completed":
        return None
    text = _answered_text(content[0]) if is_array(content) and len(content) == 1 else None
    return TextBlock(text, extras={NAME: {"item": {"id": item["id"]}}}) if text is not None else None


def _answered_text(part: Json) -> str | None:
    """The text of a part that is written as in an answer."""
    if not is_object(part) or len(part) != 4 or part.get("type") != "output_text":
        return None
    text = part.get("text")
    return text if type(text) is str and part.get("annotations") == [] and part.get("logprobs") == [] else None


def _read_user(content: Json, into: Drafts, forms: Wire) -> bool:
    """Texts, or a string."""
    if type(content) is str:
        blocks: list[Block] = [TextBlock(content)]
        forms["content"] = "string"
    elif is_array(content):
        blocks = []
        for part in content:
            if not is_object(part) or len(part) != 2 or part.get("type") != "input_text":
                return False
            text = part.get("text")
            if type(text) is not str:
                return False
            blocks.append(TextBlock(text))
    else:
        return False
    draft = into.add(USER)
    draft.blocks = blocks
    if forms:
        draft.fields = {"forms": {NAME: forms}}
    return True


def read_reasoning(item: Wire, into: Drafts) -> bool:
    """A thought of one part or none that its issuer will know again, by an id or by encrypted content."""
    id, signature, text = item.get("id"), item.get("encrypted_content"), _thought_text(item.get("summary"))
    known = (type(id) is str) + (type(signature) is str and signature != "")
    if text is None or not known or len(item) != 2 + known:
        return False
    extras: Wire = {NAME: {"item": {"id": id}}} if id is not None else {}
    drafts = into.drafts
    last = drafts[-1] if drafts and drafts[-1].role is ASSISTANT else into.add(ASSISTANT)
    last.blocks.append(ThinkingBlock(text, signature=signature, extras=extras))
    last.message_last = False
    into.thought = True
    return True


def _thought_text(summary: Json) -> str | None:
    if not is_array(summary) or len(summary) > 1:
        return None
    if not summary:
        return ""
    part: Json = summary[0]
    if not is_object(part) or len(part) != 2 or part.get("type") != SUMMARY:
        return None
    text = part.get("text")
    return text if type(text) is str and text else None


def read_tool(wire: Wire, taken: set[str]) -> ToolDefinition | None:
    """A function that is not strict, or does not say."""
    if wire.get("type") != "function":
        return None
    name, description, schema = wire.get("name"), wire.get("description"), wire.get("parameters")
    if type(name) is not str or type(description) is not str or not description or not is_object(schema):
        return None
    if schema.get("type") != "object" or "properties" not in schema or not is_name(name):
        return None
    if len(wire) == 5 and wire.get("strict") is False:
        taken.add(name)
        return ToolDefinition(name, description, schema, None, False)
    if len(wire) == 4:
        taken.add(name)
        return ToolDefinition(name, description, schema, forms={NAME: {"strict": "absent"}})
    return None


USUAL: dict[Json, Callable[[Wire, Drafts], bool]] = {
    "function_call": read_call,
    "function_call_output": read_result,
    "reasoning": read_reasoning,
    "message": read_message,
    None: read_words,
}
