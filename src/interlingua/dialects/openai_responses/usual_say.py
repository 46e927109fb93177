"""The shapes that nearly all requests have, said without bookkeeping.

Each function does exactly what the tables would do with such a value, or says that it is none of its own, and then the
tables speak: nothing here has an opinion. A test holds both ways against each other.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec.json import encode

from ...codec.arguments import write_arguments
from ...codec.schemas import say_strict
from ...types.base import Json
from ...types.blocks import (
    Base64Source,
    Block,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
)
from ...types.loss import Loss
from ...types.messages import Message
from ...types.tools import Tool, ToolDefinition
from .names import LONGEST_ID, Scribe, is_name
from .wire import DETAIL, NAME, NEEDS_DETAIL, NO_FLAG, NOT_STRICT, SUMMARY, Wire

NO_DETAIL: Wire = {NAME: {"detail": "absent"}}
NO_STRICT: Wire = {NAME: {"strict": "absent"}}
STRING: Wire = {NAME: {"content": "string"}}
UNTYPED: Wire = {NAME: {"item": {"type": False}}}
TYPED_STRING: Wire = {NAME: {"type": True, "content": "string"}}


def say_turn(message: Message, index: int, scribe: Scribe, items: list[Wire]) -> bool:
    """Texts and calls of the assistant's, with an id or without, and thoughts that their issuer will know again.

    Not right behind another turn of the assistant's: that is for the tables.
    """
    start, block = len(items), None
    for block in message.content:
        if block.extras or block.signature is not None or block.cache is not None or NAME in block.forms:
            wire = _say_issued(block, message, scribe)
        elif type(block) is ToolUseBlock:
            wire = _say_call(block, scribe)
        elif type(block) is not TextBlock or block.citations:
            wire = None
        else:
            wire = {"type": "message", "role": "assistant", "content": block.text}
        if wire is None:
            return _take_back(message, items, start, scribe)
        items.append(wire)
    if type(block) is ThinkingBlock:  # nothing follows it
        return _take_back(message, items, start, scribe)
    return block is not None


def _take_back(message: Message, items: list[Wire], start: int, scribe: Scribe) -> bool:
    """The tables shall say the whole turn."""
    for block in message.content[: len(items) - start]:
        if type(block) is ToolUseBlock:
            del scribe.calls[block.id]
            scribe.taken.discard(scribe.renamed.pop(block.id, ""))
    del items[start:]
    return False


def _say_call(block: ToolUseBlock, scribe: Scribe) -> Wire | None:
    id, name, text, calls = block.id, block.name, block.input_text, scribe.calls
    if block.kind != "json" or id in calls or not is_name(name):
        return None
    own = id
    if block.native_ids:
        id = block.native_ids.get(NAME, own)
    if id in scribe.taken or not id or len(id) > LONGEST_ID:
        return None
    if id is not own and id != own:
        if id in calls:
            return None
        scribe.renamed[own] = id
        scribe.taken.add(id)
    calls[own] = False
    arguments = encode(block.input).decode() if text is None else write_arguments(block.input, text)
    return {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}


def _say_issued(block: Block, message: Message, scribe: Scribe) -> Wire | None:
    """A thought, or a text or call whose only residue is the id of its item."""
    if block.cache is not None:
        return None
    if NAME in block.forms:
        return _say_untyped(block)
    id = _id_of(block) if block.extras else ""
    if id is None:
        return None
    if type(block) is ThinkingBlock:
        return _say_thought(block, id, message, scribe)
    if not id or block.signature is not None:
        return None
    if type(block) is ToolUseBlock:
        call = _say_call(block, scribe)
        return {**call, "id": id, "status": "completed"} if call is not None else None
    if type(block) is not TextBlock or block.citations:
        return None
    part: Wire = {"type": "output_text", "text": block.text, "annotations": [], "logprobs": []}
    return {"type": "message", "role": "assistant", "content": [part], "id": id, "status": "completed"}


def _say_untyped(block: Block) -> Wire | None:
    """A text that was put in without a type."""
    if type(block) is not TextBlock or block.forms != UNTYPED:
        return None
    if block.extras or block.signature is not None or block.citations:
        return None
    return {"role": "assistant", "content": block.text}


def _id_of(block: Block) -> str | None:
    extras = block.extras
    residue: Json = extras.get(NAME)
    if len(extras) == 1 and type(block) is not ToolUseBlock and residue and len(residue) == 1:
        residue = residue.get("item")
    if len(extras) != 1 or not residue or len(residue) != 1:
        return None
    id = residue.get("id")
    return id if type(id) is str and id else None


def _say_thought(block: ThinkingBlock, id: str, message: Message, scribe: Scribe) -> Wire | None:
    signature, origin = block.signature, message.origin
    if not (id or signature) or (origin is not None and not scribe.trusts(origin)):
        return None
    wire: Wire = {"type": "reasoning", "summary": [{"type": SUMMARY, "text": block.text}] if block.text else []}
    if signature is not None:
        wire["encrypted_content"] = signature
    if id:
        wire["id"] = id
    return wire


# ---------------------------------------------------------------------------------------------------------- results


def say_results(message: Message, index: int, scribe: Scribe, items: list[Wire]) -> bool:
    """Texts that answer calls, or that and that they are no errors."""
    start, told, calls = len(items), len(scribe.losses), scribe.calls
    for block in message.content:
        if type(block) is not ToolResultBlock or len(block.content) != 1 or calls.get(block.tool_use_id) is not False:
            break
        if block.extras or block.cache is not None or block.signature is not None or block.is_error or block.forms:
            break
        only, id = block.content[0], block.tool_use_id
        if type(only) is not TextBlock or not only.text or only.extras or only.forms or only.citations:
            break
        if only.cache is not None or only.signature is not None or id in scribe.derived:
            break
        calls[id] = None
        wire: Wire = {"type": "function_call_output", "call_id": scribe.renamed.get(id, id), "output": only.text}
        if block.name is not None:
            wire["name"] = block.name
        if block.is_error is not None:
            place = len(items) - start
            scribe.losses.append(Loss(f"messages/{index}/content/{place}/is_error", "dropped", NO_FLAG, weight="form"))
        items.append(wire)
    else:
        return len(items) != start
    for block in message.content[: len(items) - start]:
        if type(block) is ToolResultBlock:
            calls[block.tool_use_id] = False
    del items[start:], scribe.losses[told:]
    return False


# ------------------------------------------------------------------------------------------------------------ words


def say_user(message: Message, index: int, scribe: Scribe, items: list[Wire]) -> bool:
    """Texts and pictures of the user's."""
    if NAME in message.forms:
        return _say_string(message, items)
    told = len(scribe.losses)
    parts: list[Json] = []
    for place, block in enumerate(message.content):
        if type(block) is TextBlock and _is_bare(block):
            parts.append({"type": "input_text", "text": block.text})
            continue
        part = _say_image(block, (index, place), scribe) if type(block) is ImageBlock else None
        if part is None:
            del scribe.losses[told:]
            return False
        parts.append(part)
    if parts:
        items.append({"role": "user", "content": parts})
    return bool(parts)


def _is_bare(block: TextBlock) -> bool:
    return not (
        block.extras or block.citations or block.signature is not None or block.cache is not None or NAME in block.forms
    )


def _say_string(message: Message, items: list[Wire]) -> bool:
    """A message of one text that was a string."""
    forms, content = message.forms, message.content
    only = content[0] if len(content) == 1 else None
    if type(only) is not TextBlock or not _is_bare(only) or (forms != STRING and forms != TYPED_STRING):
        return False
    if len(forms[NAME]) == 1:
        items.append({"role": "user", "content": only.text})
    else:
        items.append({"type": "message", "role": "user", "content": only.text})
    return True


def _say_image(block: ImageBlock, place: tuple[int, int], scribe: Scribe) -> Wire | None:
    """A picture at a URL or within the message."""
    source, detail = block.source, block.detail
    silent = NAME in block.forms
    if block.extras or block.signature is not None or block.cache is not None or source.extras or detail == "":
        return None
    if silent and block.forms != NO_DETAIL:
        return None
    if type(source) is UrlSource and source.media_type is None:
        wire: Wire = {"type": "input_image", "image_url": source.url}
    elif type(source) is Base64Source:
        wire = {"type": "input_image", "image_url": f"data:{source.media_type};base64,{source.data}"}
    else:
        return None
    if detail is not None or not silent:
        wire["detail"] = detail or DETAIL
        if detail is None:
            scribe.losses.append(
                Loss(f"messages/{place[0]}/content/{place[1]}/detail", "added", NEEDS_DETAIL, weight="form")
            )
    return wire


def say_system(message: Message, index: int, scribe: Scribe, items: list[Wire]) -> bool:
    """What the system says in between is not usual."""
    return False


# ------------------------------------------------------------------------------------------------------------ tools


def say_tool(tool: Tool, index: int, scribe: Scribe) -> Wire | None:
    """A function whose parameters are an object with named properties."""
    if type(tool) is not ToolDefinition or tool.kind != "json" or tool.extras:
        return None
    if tool.cache is not None or not is_name(tool.name):
        return None
    schema, strict, description = tool.input_schema, tool.strict, tool.description
    if schema.get("type") != "object" or "properties" not in schema or description is None:
        return None
    silent = tool.forms and NAME in tool.forms
    if silent and (tool.forms != NO_STRICT or strict is not None):
        return None
    if strict:
        scribe.where = ("tools", index)
        schema, strict = say_strict(schema, NAME, scribe, "input_schema")
    elif strict is None and not silent:
        scribe.losses.append(_unsaid(index))
    wire: Wire = {"type": "function", "name": tool.name, "description": description, "parameters": schema}
    if not silent:
        wire["strict"] = strict or False
    return wire


@lru_cache(maxsize=256)
def _unsaid(index: int) -> Loss:
    return Loss(f"tools/{index}/strict", "added", NOT_STRICT, weight="form")
