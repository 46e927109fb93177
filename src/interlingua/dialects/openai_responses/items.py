"""The items that a model makes: messages, reasoning, calls. One turn of the assistant is many items.

A message and a reasoning item may become several blocks, one for each part. Their own marks and residue stand under
``item`` on the first block; the others are marked ``joined``. Items have two spellings: in an answer, or with an id,
they carry ``id`` and ``status``; a message put in without an id is a role and a string. ``place`` is the position in an
answer, from which an id is made where the issuer gave none; it is None in a request, where ids are never invented.

Marks under ``item``: ``type`` (present or not, otherwise than we would write), ``content`` (``string`` or ``list``),
``absent`` (keys we would write), ``blank``, ``alone`` (reasoning that nothing follows). On a thought: ``part`` (of the
content, not of the summary), ``bare`` (it has no part). On a call: ``arguments`` (not a string), ``id`` and ``name``
(``verbatim``: the provider would not take it, but it was read here), ``call_id``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from ...arguments import read_arguments, write_arguments
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
from .._tables import Ledger, blank, kept, marks, merge, own
from .hosted import declare_found, read_hosted, say_call as say_hosted, say_image, say_result
from .names import Scribe
from .parts import is_part, read_output, say_output
from .wire import NAME, Wire, is_array, is_object, take_text

PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
SUMMARY, REASON = "summary_text", "reasoning_text"
Placed = Sequence[tuple[int, Block]]


def read_item(item: Wire, place: int | None, index: int, *, first: bool = True) -> list[Block]:
    """The blocks of one item. ``index`` is the place of the first among all, of which a missing call id is made."""
    try:
        match item.get("type", "message" if "role" in item else None):
            case "message" if item["role"] == "assistant":
                return read_message(dict(item), place, first=first) or [OpaqueBlock(NAME, item)]
            case "reasoning":
                return read_reasoning(dict(item), place) or [OpaqueBlock(NAME, item)]
            case "function_call" | "custom_tool_call":
                return [read_call(dict(item), place, index)]
            case _:
                return read_hosted(item, place)
    except (KeyError, TypeError, ValueError, AttributeError):
        return [OpaqueBlock(NAME, item)]


def _read_head(rest: Wire, forms: Wire, tag: str, place: int | None) -> bool:
    """Take what we would write ourselves of an item's id and status; says whether the spelling is that of an answer."""
    absent: list[str] = []
    if place is not None:
        if "id" not in rest:
            absent.append("id")
        elif rest["id"] == f"{PREFIXES[tag]}_{place}":
            del rest["id"]
    formal = place is not None or "id" in rest
    if formal and tag != "reasoning":
        if rest.get("status") == "completed":
            del rest["status"]
        elif "status" not in rest:
            absent.append("status")
    if absent:
        forms["absent"] = absent
    return formal


def _say_head(wire: Wire, forms: Wire, tag: str, place: int | None) -> Wire:
    absent = forms.get("absent", ())
    if place is not None and "id" not in absent:
        wire.setdefault("id", f"{PREFIXES[tag]}_{place}")
    if (place is not None or "id" in wire) and tag != "reasoning" and "status" not in absent:
        wire.setdefault("status", "completed")
    return wire


def _with_item(blocks: list[Block], rest: Wire, forms: Wire, blanks: Wire) -> list[Block]:
    """Put what an item keeps for itself on its first block, and mark the others joined."""
    if blanks:
        forms["blank"] = blanks
    for position, block in enumerate(blocks):
        extras, mine = block.extras.get(NAME, {}), marks(NAME, block)
        if position:
            mine = {**mine, "joined": True}
        else:
            extras = {**extras, **({"item": rest} if rest else {})}
            mine = {**mine, **({"item": forms} if forms else {})}
        blocks[position] = replace(block, extras={NAME: extras} if extras else {}, forms={NAME: mine} if mine else {})
    return blocks


# --------------------------------------------------------------------------------------------------------- messages


def read_message(rest: Wire, place: int | None, *, first: bool) -> list[Block]:
    forms, typed = Wire(), "type" in rest
    rest.pop("type", None)
    del rest["role"]
    content = rest.pop("content")
    formal = _read_head(rest, forms, "message", place)
    if typed is not (formal or not first):
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
    return _with_item(blocks, rest, forms, {})


def say_message(group: Placed, place: int | None, scribe: Scribe, *, first: bool) -> Wire | None:
    """A message, or None where none of its parts can be said."""
    head = group[0][1]
    forms, residue = item_marks(head), item_residue(head)
    formal = place is not None or "id" in residue
    wire: Wire = {"type": "message"} if forms.get("type", formal or not first) else {}
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
    return _say_head(wire, forms, "message", place)


def _say_string(block: TextBlock | RefusalBlock, ledger: Ledger) -> str:
    """A message put in without an id is plain text."""
    if isinstance(block, RefusalBlock):
        ledger.lose("approximated", "a refusal put in without its id goes as text")
    elif block.citations:
        ledger.lose("dropped", "citations go back with the id of their message only", "citations")
    if block.signature is not None:
        ledger.lose("dropped", f"{NAME} does not sign {block.type} blocks", "signature")
    if block.cache is not None:
        ledger.lose("dropped", "cache marks stand on what is put in", "cache")
    ledger.foreign(block, NAME)
    return block.text


def item_marks(block: Block) -> Wire:
    forms: Wire = marks(NAME, block).get("item", {})
    return forms


def item_residue(block: Block) -> Wire:
    residue: Wire = block.extras.get(NAME, {}).get("item", {})
    return residue


def bare(block: Block) -> Block:
    """A block without what its item keeps on it."""
    residue = block.extras.get(NAME)
    if residue is None or "item" not in residue:
        return block
    left = {key: value for key, value in residue.items() if key != "item"}
    others = {name: value for name, value in block.extras.items() if name != NAME}
    return replace(block, extras={**others, NAME: left} if left else others)


# -------------------------------------------------------------------------------------------------------- reasoning


def read_reasoning(rest: Wire, place: int | None) -> list[Block]:
    """One block for each part of the summary and of the content; the encrypted content signs the last."""
    forms, blanks = Wire(), Wire()
    del rest["type"]
    blocks: list[Block] = []
    for key, tag in (("summary", SUMMARY), ("content", REASON)):
        parts = rest.pop(key, "absent")
        if blank(parts):
            if key == "content" or parts != []:
                blanks[key] = parts
        elif parts == "absent":
            if key == "summary":
                forms["summary"] = "absent"
        else:
            blocks += [read_thought(dict(part), tag) for part in parts]
    if not blocks:
        blocks = [ThinkingBlock(forms={NAME: {"bare": True}})]
    signature = rest.get("encrypted_content")
    if isinstance(signature, str) and signature:
        blocks[-1] = replace(blocks[-1], signature=rest.pop("encrypted_content"))
    elif "encrypted_content" in rest and blank(signature):
        blanks["encrypted_content"] = rest.pop("encrypted_content")
    _read_head(rest, forms, "reasoning", place)
    return _with_item(blocks, rest, forms, blanks)


def read_thought(rest: Wire, tag: str) -> Block:
    if rest.pop("type") != tag:
        raise ValueError(tag)
    forms: Wire = {} if tag == SUMMARY else {"part": tag}
    return ThinkingBlock(take_text(rest, "text"), **kept(NAME, rest, forms, {}))


def say_reasoning(group: Placed, place: int | None, scribe: Scribe) -> Wire:
    head = group[0][1]
    forms = item_marks(head)
    wire: Wire = {"type": "reasoning"}
    for block in walk(group, scribe):
        mark = marks(NAME, block)
        if isinstance(block, ThinkingBlock) and (block.text or "bare" not in mark):
            if "bare" in mark:
                scribe.lose("added", "a part of the summary was made for it", "text")
            tag = mark.get("part", SUMMARY)
            part = own(NAME, {"type": tag, "text": block.text}, bare(block))
            wire.setdefault("summary" if tag == SUMMARY else "content", []).append(part)
        if block.signature is not None:
            wire["encrypted_content"] = block.signature
        if block.cache is not None:
            scribe.lose("dropped", "cache marks stand on what is put in", "cache")
        scribe.foreign(block, NAME)
    merge(wire, forms.get("blank", {}))
    if forms.get("summary") != "absent":
        wire.setdefault("summary", [])
    return _say_head(merge(wire, item_residue(head)), forms, "reasoning", place)


# ------------------------------------------------------------------------------------------------------------ calls


def read_call(rest: Wire, place: int | None, index: int) -> Block:
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
    _read_head(rest, forms, tag, place)
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


def say_call(block: ToolUseBlock, place: int | None, scribe: Scribe) -> Wire:
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
        scribe.lose("dropped", f"{NAME} does not sign calls", "signature")
    if block.cache is not None:
        scribe.lose("dropped", "cache marks stand on what is put in", "cache")
    scribe.foreign(block, NAME)
    own(NAME, wire, block)
    if block.name in scribe.namespaces and NAME not in block.extras:
        wire["namespace"] = scribe.namespaces[block.name]
    return _say_head(wire, mark, tag, place)


def _say_arguments(block: ToolUseBlock, mark: Wire) -> Wire:
    form = mark.get("arguments", "text")
    if form == "object":
        return {"arguments": block.input}
    if form != "text" and not block.input:
        return {} if form == "absent" else {"arguments": form}
    return {"arguments": write_arguments(block.input, block.input_text)}


# ------------------------------------------------------------------------------------------------------ all together


def walk(group: Placed, scribe: Scribe) -> Iterator[Block]:
    """The blocks of a group; the ledger's place is on each in turn."""
    where = scribe.where
    for index, block in group:
        scribe.where = (*where[:-1], index)
        yield block
    scribe.where = where


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


def _as_thought(block: RedactedThinkingBlock) -> ThinkingBlock:
    return ThinkingBlock(signature=block.data, cache=block.cache, extras=block.extras, forms={NAME: {"bare": True}})


def goes_with(block: Block, head: Block) -> bool:
    """Whether a block marked as joined can be of the item that another begins."""
    if isinstance(head, ServerToolUseBlock):
        return isinstance(block, ServerToolResultBlock)
    if isinstance(head, ThinkingBlock):
        return isinstance(block, ThinkingBlock)
    return is_part(head) and is_part(block)


def say_group(group: Placed, place: int | None, scribe: Scribe, *, first: bool = True) -> Wire | None:
    """The item of some blocks that belong together, or nothing and a loss. The ledger's place is on the first."""
    match group[0][1]:
        case ToolUseBlock() as call:
            return say_call(call, place, scribe)
        case ThinkingBlock():
            return say_reasoning(group, place, scribe)
        case ServerToolUseBlock() as call:
            return _say_hosted(call, group, scribe)
        case RedactedThinkingBlock() as redacted:
            scribe.lose("approximated", "encrypted reasoning is a reasoning item without text")
            return say_reasoning([(group[0][0], _as_thought(redacted))], place, scribe)
        case ServerToolResultBlock() as result:
            return say_result(result, scribe)
        case ImageBlock() as image if "tag" not in marks(NAME, image):
            return say_image(image, place, scribe)
        case OpaqueBlock() as opaque if not is_part(opaque):
            raw: Json = opaque.raw
            return dict(raw) if is_object(raw) else None
        case head if is_part(head):
            return say_message(group, place, scribe, first=first)
        case head:
            scribe.lose("dropped", f"{NAME} has no word for a {head.type} block of the assistant's")
            return None
