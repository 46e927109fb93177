"""The items that a model makes: messages, calls, and all of them together. One turn of the assistant is many items.

Items have two spellings: in an answer, or with an id, they carry ``id`` and ``status``; a message put in without an id
is a type, a role and a string. The type is optional in the protocol and demanded by llama.cpp; it is left out only at
the border of two turns, which nothing else tells.

What all items have is in ``item_fields.py``, reasoning in ``reasoning.py``.

Marks under ``item``: ``type`` (False: absent though there is no border), ``content`` (``string`` or ``list``),
``absent`` (keys we would write), ``status`` (completed or not, otherwise than the answer tells). On a call:
``arguments`` (not a string), ``id`` and ``name`` (``verbatim``: the provider would not take it, but it was read here),
``call_id``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ...codec.arguments import read_arguments, write_arguments
from ...codec.tables import Ledger, kept, marks, merge, own
from ...types.base import Json
from ...types.blocks import (
    Block,
    ImageBlock,
    OpaqueBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from .hosted import IMAGE, declare_found, read_hosted, say_call as say_hosted, say_image, say_result
from .item_fields import DONE, Placed, bare, item_marks, item_residue, read_head, say_head, walk, with_item
from .names import Scribe
from .parts import is_part, read_output, say_output
from .reasoning import read_reasoning, say_reasoning, say_redacted
from .wire import NAME, Wire, is_array, is_object, take_text


def read_item(item: Wire, place: int | None, index: int, *, border: bool = False, cut: bool = False) -> list[Block]:
    """The blocks of one item. ``index`` is the place of the first among all, of which a missing call id is made."""
    try:
        match item.get("type", "message" if "role" in item else None):
            case "message" if item["role"] == "assistant":
                return read_message(dict(item), place, border=border, cut=cut) or [OpaqueBlock(NAME, item)]
            case "reasoning":
                return read_reasoning(dict(item), place)
            case "function_call" | "custom_tool_call":
                return [read_call(dict(item), place, index, cut=cut)]
            case _:
                return read_hosted(item, place)
    except (KeyError, TypeError, ValueError, AttributeError):
        return [OpaqueBlock(NAME, item)]


# --------------------------------------------------------------------------------------------------------- messages


def read_message(rest: Wire, place: int | None, *, border: bool, cut: bool) -> list[Block]:
    typed = "type" in rest
    forms: Wire = {}
    rest.pop("type", None)
    del rest["role"]
    content = rest.pop("content")
    formal = read_head(rest, forms, "message", place, cut=cut)
    if typed is not (formal or not border):
        forms["type"] = typed
    if type(content) is str:
        blocks: list[Block] = [TextBlock(content)]
        if formal:
            forms["content"] = "string"
    elif not is_array(content):
        raise TypeError("content is text or parts")
    else:
        blocks = list(map(read_output, content))
        if not formal:
            forms["content"] = "list"
    return with_item(blocks, rest, forms)


def say_message(group: Placed, place: int | None, scribe: Scribe, *, border: bool, cut: bool) -> Wire | None:
    """A message, or None where none of its parts can be said."""
    head = group[0][1]
    forms, residue = item_marks(head), item_residue(head)
    formal = place is not None or "id" in residue
    wire: Wire = {"type": "message"} if forms.get("type", formal or not border) else {}
    wire["role"] = "assistant"
    as_text = forms.get("content", "list" if formal else "string") == "string"
    if as_text and len(group) == 1 and isinstance(head, TextBlock | RefusalBlock):
        wire["content"] = _say_string(head, scribe)
    else:
        said = [say_output(bare(block), scribe) for block in walk(group, scribe)]
        wire["content"] = [part for part in said if part is not None]
        if not wire["content"]:
            return None
    merge(wire, residue)
    return say_head(wire, forms, "message", place, cut=cut)


def _say_string(block: TextBlock | RefusalBlock, ledger: Ledger) -> str:
    """A message put in without an id is plain text."""
    if isinstance(block, RefusalBlock):
        ledger.lose("approximated", f"{NAME} takes a refusal only with its message's id; sent as text")
    elif block.citations:
        ledger.lose("dropped", f"{NAME} takes citations only with their message's id", "citations")
    if block.signature is not None:
        ledger.lose("dropped", f"{block.type} blocks of {NAME} have no signature", "signature", weight="state")
    if block.cache is not None:
        ledger.lose("dropped", f"{NAME} takes cache marks on input parts only", "cache")
    ledger.foreign(block, NAME)
    return block.text


# ------------------------------------------------------------------------------------------------------------ calls


def read_call(rest: Wire, place: int | None, index: int, *, cut: bool) -> Block:
    forms: Wire = {}
    tag: str = rest.pop("type")
    id = rest.pop("call_id", "absent") if "call_id" in rest else "absent"
    if not isinstance(id, str) or id in ("", "absent"):
        forms["call_id"], id = id, f"call_{index}"
    fields: dict[str, Any] = {"id": id, "name": take_text(rest, "name")}
    if tag == "custom_tool_call":
        fields |= {"kind": "text", "input_text": take_text(rest, "input")}
    else:
        fields |= _read_arguments(rest, forms)
    read_head(rest, forms, tag, place, cut=cut)
    return ToolUseBlock(**fields, **kept(NAME, rest, forms, {}))


def _read_arguments(rest: Wire, forms: Wire) -> dict[str, Any]:
    if "arguments" not in rest:
        forms["arguments"] = "absent"
        return {}
    arguments = rest.pop("arguments")
    if isinstance(arguments, str):
        input, text = read_arguments(arguments)
        return {"input": input, "input_text": text}
    if is_object(arguments):
        forms["arguments"] = "object"
        return {"input": arguments}
    forms["arguments"] = arguments
    return {}


def say_call(block: ToolUseBlock, place: int | None, scribe: Scribe, *, cut: bool) -> Wire:
    mark = marks(NAME, block)
    free = block.kind == "text"
    tag = "custom_tool_call" if free else "function_call"
    wire: Wire = {"type": tag}
    if "call_id" not in mark:
        wire["call_id"] = scribe.call_id(block)
    elif mark["call_id"] != "absent":
        wire["call_id"] = mark["call_id"]
    wire["name"] = scribe.tool_name(block.name, block)
    if free:
        wire["input"] = block.input_text or ""
    else:
        wire |= _say_arguments(block, mark)
    if block.signature is not None:
        scribe.lose("dropped", f"calls of {NAME} have no signature", "signature", weight="state")
    if block.cache is not None:
        scribe.lose("dropped", f"{NAME} takes cache marks on input parts only", "cache")
    scribe.foreign(block, NAME)
    own(NAME, wire, block)
    if block.name in scribe.namespaces and NAME not in block.extras:
        wire["namespace"] = scribe.namespaces[block.name]
    return say_head(wire, mark, tag, place, cut=cut)


def _say_arguments(block: ToolUseBlock, mark: Wire) -> Wire:
    form = mark.get("arguments", "text")
    if form == "object":
        return {"arguments": block.input}
    if form != "text" and not block.input:
        return {} if form == "absent" else {"arguments": form}
    return {"arguments": write_arguments(block.input, block.input_text)}


# ------------------------------------------------------------------------------------------------------ all together


def grouped(blocks: Iterable[tuple[int, Block]]) -> list[list[tuple[int, Block]]]:
    """Blocks with their places, those of one item together."""
    groups: list[list[tuple[int, Block]]] = []
    for index, block in blocks:
        if groups and "joined" in marks(NAME, block) and goes_with(block, groups[-1][0][1]):
            groups[-1].append((index, block))
        else:
            groups.append([(index, block)])
    return groups


def _say_hosted(call: ServerToolUseBlock, group: Placed, scribe: Scribe) -> Wire | None:
    found = None
    for block in walk(group, scribe):
        if isinstance(block, ServerToolResultBlock):
            found = block
            declare_found(call, found, scribe)
    return say_hosted(call, found, scribe)


def spelled_out(head: Block, place: int, *, cut: bool) -> Block:
    """The first block of an item of an answer, with the id and the status that the item has there by its place."""
    tag = item_tag(head)
    if tag is None:
        return head
    mine: Wire = head.extras.get(NAME, {})
    if tag in ("message", "reasoning"):
        said = say_head(dict(item_residue(head)), item_marks(head), tag, place, cut=cut)
        residue = {**mine, "item": said}
    else:
        said = residue = say_head(dict(mine), marks(NAME, head), tag, place, cut=cut)
    if said.get("status") == DONE:
        del said["status"]
    return replace(head, extras={**head.extras, NAME: residue}) if said else head


def item_tag(head: Block) -> str | None:
    """The tag of an item whose id may be of our making."""
    if isinstance(head, ToolUseBlock):
        return "custom_tool_call" if head.kind == "text" else "function_call"
    if isinstance(head, ThinkingBlock):
        return "reasoning"
    if isinstance(head, ImageBlock):
        return IMAGE if "tag" not in marks(NAME, head) else "message"
    return "message" if is_part(head) else None


def goes_with(block: Block, head: Block) -> bool:
    """Whether a block marked as joined can be of the item that another begins."""
    if isinstance(head, ServerToolUseBlock):
        return isinstance(block, ServerToolResultBlock)
    if isinstance(head, ThinkingBlock):
        return isinstance(block, ThinkingBlock)
    return is_part(head) and is_part(block)


def say_group(
    group: Placed, place: int | None, scribe: Scribe, *, border: bool = False, cut: bool = False
) -> Wire | None:
    """The item of some blocks that belong together, or nothing and a loss. The ledger's place is on the first."""
    cut = cut or any(block.incomplete for _, block in group)
    match group[0][1]:
        case ToolUseBlock() as call:
            return say_call(call, place, scribe, cut=cut)
        case ThinkingBlock():
            return say_reasoning(group, place, scribe)
        case ServerToolUseBlock() as call:
            return _say_hosted(call, group, scribe)
        case RedactedThinkingBlock() as redacted:
            return say_redacted(redacted, group[0][0], place, scribe)
        case ServerToolResultBlock() as result:
            return say_result(result, scribe)
        case ImageBlock() as image if "tag" not in marks(NAME, image):
            return say_image(image, place, scribe)
        case OpaqueBlock() as opaque if not is_part(opaque):
            raw: Json = opaque.raw
            return dict(raw) if is_object(raw) else None
        case head if is_part(head):
            return say_message(group, place, scribe, border=border, cut=cut)
        case head:
            scribe.lose("dropped", f"{NAME} has no {head.type} blocks of an assistant")
            return None
