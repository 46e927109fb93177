"""Items of tools that the provider runs or defines, and the reader and writer for items of all types.

``web_search_call`` is a ``ServerToolUseBlock`` named ``web_search``: its input is what the item says about the call.
The result of a call is a ``ServerToolResultBlock``, marked ``joined`` if both are one item. A picture that the model
made is an ``ImageBlock``. Other items are carried whole. Marks: ``id`` (the key that has the id of the call, if it is
not the usual one), ``tag`` (of an MCP call, whose block has the name of the tool).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger
from ...codec.marks import extras_and_forms, marks
from ...codec.paths import ABSENT, merge
from ...codec.rows.kinds import REFUSED
from ...types.base import Json
from ...types.blocks import (
    Base64Source,
    Block,
    ImageBlock,
    OpaqueBlock,
    RedactedThinkingBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from .facts import DONE, NAME, is_part
from .items import (
    Placed,
    declare_marks,
    item_marks,
    item_residue,
    read_call,
    read_id_and_status,
    read_message,
    read_reasoning,
    walk,
    write_call,
    write_id_and_status,
    write_message,
    write_reasoning,
    write_redacted,
)
from .rows import HOSTED_CALL, MCP_CALLS, PICTURES
from .rules import HOSTED_HERE, NO_FLAG, Scribe

# By the name of our block. A tool that is not listed has the type "<name>_call", an "id", and an item for its result.
TAGS = {"program": "program"}
CALL_IDS = ("computer", "shell", "local_shell", "apply_patch", "tool_search", "program")
FOUND = {"file_search": "results", "code_interpreter": "outputs"}
OUTPUT_TAGS = {"tool_search": "tool_search_output", "program": "program_output"}
OUTPUT_KEYS = {"tool_search": "tools", "program": "result"}
CLIENT = ("computer", "shell", "local_shell", "apply_patch", "tool_search")
"""Tools that the caller has to run and answer, unless the item says that the provider does."""

NAMES = {tag: name for name, tag in TAGS.items()}
OUTPUT_NAMES = {tag: name for name, tag in OUTPUT_TAGS.items()}
MCP, IMAGE = "mcp_call", "image_generation_call"
MCP_FOUND = ("output", "error")
NOT_INPUT = ("id", "call_id", "status", "created_by")

# ------------------------------------------------------------------------------------------------------------- reading


def read_item(item: Wire, place: int | None, index: int, *, new_turn: bool = False, cut: bool = False) -> list[Block]:
    """The blocks of one item. ``index`` is the index of the first block; an id for a call without one is made of it."""
    kind: Json = item.get("type", ABSENT)
    if kind == "message" or (kind is ABSENT and "role" in item):
        return read_message(item, place, new_turn=new_turn, cut=cut)
    if kind == "function_call" or kind == "custom_tool_call":
        return [read_call(item, place, index, cut=cut)]
    if kind == "reasoning":
        return read_reasoning(item, place)
    return read_hosted(item, kind, place) if type(kind) is str else [OpaqueBlock(NAME, item)]


def read_hosted(item: Wire, tag: str, place: int | None) -> list[Block]:
    """The blocks of an item that is no message, no reasoning and no call of the caller's tools."""
    found: list[Block] | None = None
    if tag == MCP:
        found = read_mcp_call(item)
    elif tag == IMAGE and (picture := PICTURES.read(item)) is not REFUSED:
        found = [picture if place is None else _placed(picture, place)]
    elif tag in OUTPUT_NAMES or tag.endswith("_call_output"):
        found = read_output(item, OUTPUT_NAMES.get(tag) or tag.removesuffix("_call_output"))
    elif tag in NAMES or tag.endswith("_call"):
        found = read_hosted_call(item, NAMES.get(tag) or tag.removesuffix("_call"))
    return found or [OpaqueBlock(NAME, item)]


def _placed(block: ImageBlock, place: int) -> Block:
    rest, mark = dict(block.extras.get(NAME, {})), dict(marks(NAME, block))
    status = rest.pop("status", None)  # kept as residue: it is always written as it was read
    read_id_and_status(rest, mark, IMAGE, place)
    rest |= {"status": status} if status is not None else {}
    return replace(block, **{"extras": {}, "forms": {}, **extras_and_forms(NAME, rest, mark)})


def read_hosted_call(item: Wire, name: str) -> list[Block] | None:
    _, rest, mark = HOSTED_CALL.take(item)
    del rest["type"]
    id = _read_id(rest, "call_id" if name in CALL_IDS else "id", mark)
    if id is None:
        return None
    found = FOUND.get(name)
    content = rest.pop(found) if found is not None and rest.get(found) is not None else None
    input = {key: rest.pop(key) for key in [*rest] if key not in NOT_INPUT and key != found}
    call = ServerToolUseBlock(id, name, input, NAME, **extras_and_forms(NAME, rest, mark))
    return [call] if content is None else [call, _result_of(call, content)]


def _read_id(rest: Wire, key: str, mark: Wire) -> str | None:
    """Take the id of a call, from ``key`` or else from the other key for ids, which is marked then."""
    if type(rest.get(key)) is not str or not rest[key]:
        key = mark["id"] = "id" if key == "call_id" else "call_id"
    return rest.pop(key) if type(rest.get(key)) is str else None


def _result_of(call: ServerToolUseBlock, content: Json, failed: bool | None = None) -> Block:
    return ServerToolResultBlock(call.id, call.name, content, NAME, failed, forms={NAME: {"joined": True}})


def read_mcp_call(item: Wire) -> list[Block] | None:
    """A call of an MCP server's tool, whose name and arguments are like those of any other call, and its result."""
    found = next((key for key in MCP_FOUND if item.get(key) is not None), None)
    call: Any = MCP_CALLS.read({key: value for key, value in item.items() if key != found})
    if call is REFUSED:
        return None
    call = replace(call, forms={NAME: {**marks(NAME, call), "tag": MCP}})
    if found is None:
        return [call]
    return [call, _result_of(call, item[found], True if found == "error" else None)]


def read_output(item: Wire, name: str) -> list[Block] | None:
    rest = {key: value for key, value in item.items() if key != "type"}
    mark: Wire = {}
    id = _read_id(rest, "call_id", mark)
    if id is None:
        return None
    key = OUTPUT_KEYS.get(name, "output")
    content = rest.pop(key) if rest.get(key) is not None else None  # null stays in the residue
    return [ServerToolResultBlock(id, name, content, NAME, **extras_and_forms(NAME, rest, mark))]


def waits_for_caller(block: Block, answered: set[str]) -> bool:
    """Whether a block is a call that the caller still has to run: the answer ends with it, as with any tool call."""
    return (
        type(block) is ServerToolUseBlock
        and block.dialect == NAME
        and block.name in CLIENT
        and block.id not in answered
        and block.input.get("execution") != "server"
    )


# ------------------------------------------------------------------------------------------------------------- writing


def groups_of(blocks: Iterable[tuple[int, Block]]) -> list[list[tuple[int, Block]]]:
    """Blocks with their indexes, in groups that are one item each."""
    groups: list[list[tuple[int, Block]]] = []
    for index, block in blocks:
        if block.forms and groups and "joined" in marks(NAME, block) and can_join(block, groups[-1][0][1]):
            groups[-1].append((index, block))
        else:
            groups.append([(index, block)])
    return groups


def can_join(block: Block, head: Block) -> bool:
    """Whether a block marked ``joined`` can be in the item that begins with ``head``."""
    if isinstance(head, ServerToolUseBlock):
        return isinstance(block, ServerToolResultBlock)
    if isinstance(head, ThinkingBlock):
        return isinstance(block, ThinkingBlock)
    return is_part(head) and is_part(block)


def write_item(
    group: Placed, place: int | None, scribe: Scribe, *, new_turn: bool = False, cut: bool = False
) -> Wire | None:
    """The item of one group of blocks, or None and a loss. ``scribe.where`` is the path of the first block."""
    index, head = group[0]
    cut = cut or head.incomplete or (len(group) > 1 and any(block.incomplete for _, block in group))
    match head:
        case TextBlock():
            return write_message(group, place, scribe, new_turn=new_turn, cut=cut)
        case ToolUseBlock():
            return write_call(head, place, scribe, cut=cut)
        case ThinkingBlock():
            return write_reasoning(group, place, scribe)
        case ServerToolUseBlock():
            return write_hosted_call(head, group, scribe)
        case RedactedThinkingBlock():
            return write_redacted(head, index, place, scribe)
        case ServerToolResultBlock():
            return write_output(head, scribe)
        case ImageBlock() if "tag" not in marks(NAME, head):
            return write_picture(head, place, scribe)
        case OpaqueBlock() if not is_part(head):
            raw: Json = head.raw
            return dict(raw) if is_object(raw) else None
        case _ if is_part(head):
            return write_message(group, place, scribe, new_turn=new_turn, cut=cut)
        case _:
            scribe.lose("dropped", f"{NAME} has no {head.type} blocks of an assistant")
            return None


def write_hosted_call(call: ServerToolUseBlock, group: Placed, scribe: Ledger) -> Wire | None:
    """The item of a hosted call, with its result if both are one item."""
    found: ServerToolResultBlock | None = None
    for block in walk(group, scribe):
        if isinstance(block, ServerToolResultBlock):
            found = block
            _declare_found(call, found, scribe)
    if not HOSTED_HERE.holds(call):
        HOSTED_HERE.fit(call, scribe)
        return None
    mark, name = marks(NAME, call), call.name
    if mark.get("tag") == MCP:
        wire: Wire = MCP_CALLS.write(call, scribe)
        key = MCP_FOUND[1] if found is not None and found.is_error else MCP_FOUND[0]
    else:
        id_key = mark.get("id") or ("call_id" if name in CALL_IDS else "id")
        wire = {"type": TAGS.get(name, f"{name}_call"), id_key: call.id, **_write_input(call, scribe)}
        key = FOUND.get(name, "results")
        declare_marks(call, scribe)
        merge(wire, call.extras.get(NAME, {}))
        HOSTED_CALL.put_constants(wire, mark)
    if found is not None:
        wire[key] = found.content
    return wire


def _write_input(block: ServerToolUseBlock, ledger: Ledger) -> Wire:
    """The input as keys of the item, without keys that every item has for itself."""
    taken = [key for key in ("type", *NOT_INPUT, FOUND.get(block.name, "type")) if key in block.input]
    for key in taken:
        ledger.lose("dropped", f"the field has the name of one that every item of {NAME} has", "input", key)
    return {key: value for key, value in block.input.items() if key not in taken} if taken else block.input


def _declare_found(call: ServerToolUseBlock, found: ServerToolResultBlock, ledger: Ledger) -> None:
    """Declare the losses of a result that is written inside the item of its call: it has no id or name of its own."""
    for field, value in (("tool_use_id", call.id), ("name", call.name)):
        if getattr(found, field) != value:
            ledger.lose_form("dropped", f"{NAME} has the result inside the item of its call", field)
    if found.is_error is False or (found.is_error and marks(NAME, call).get("tag") != MCP):
        ledger.lose("dropped", NO_FLAG, "is_error", weight="content" if found.is_error else "form")
    declare_marks(found, ledger)


def write_output(block: ServerToolResultBlock, ledger: Ledger) -> Wire | None:
    """The result of a hosted call as an item of its own."""
    if not HOSTED_HERE.holds(block):
        HOSTED_HERE.fit(block, ledger)
        return None
    tag = OUTPUT_TAGS.get(block.name, f"{block.name}_call_output")
    wire: Wire = {"type": tag, marks(NAME, block).get("id", "call_id"): block.tool_use_id}
    if block.content is not None:
        wire[OUTPUT_KEYS.get(block.name, "output")] = block.content
    if block.is_error is not None:
        ledger.lose("dropped", NO_FLAG, "is_error", weight="content" if block.is_error else "form")
    declare_marks(block, ledger)
    return merge(wire, block.extras.get(NAME, {}))


def write_picture(block: ImageBlock, place: int | None, ledger: Ledger) -> Wire | None:
    """The item of a picture, or None and a loss: in a request it needs the id that its issuer gave it."""
    if not isinstance(block.source, Base64Source) or (place is None and "id" not in block.extras.get(NAME, {})):
        ledger.lose("dropped", f"an assistant's image in {NAME} needs its issuer's id", weight="state")
        return None
    wire: Wire = PICTURES.write(block, ledger)
    write_id_and_status(wire, marks(NAME, block), IMAGE, place)
    return wire


# --------------------------------------------------------------------------------------------- an answer as a turn


def with_id_and_status(head: Block, place: int, *, cut: bool) -> Block:
    """The first block of an item of an answer, with the item's id and status in its residue, as histories need it."""
    tag = _tag_of(head)
    if tag is None:
        return head
    residue: Wire = head.extras.get(NAME, {})
    is_shared = tag in ("message", "reasoning")
    item = dict(item_residue(head)) if is_shared else dict(residue)
    write_id_and_status(item, item_marks(head) if is_shared else marks(NAME, head), tag, place, cut=cut)
    if item.get("status") == DONE:
        del item["status"]
    if not item:
        return head
    return replace(head, extras={**head.extras, NAME: {**residue, "item": item} if is_shared else item})


def _tag_of(head: Block) -> str | None:
    """The type of the item that a block begins, if we may make its id; else None."""
    if isinstance(head, ToolUseBlock):
        return "custom_tool_call" if head.kind == "text" else "function_call"
    if isinstance(head, ThinkingBlock):
        return "reasoning"
    if isinstance(head, ImageBlock):
        return IMAGE if "tag" not in marks(NAME, head) else "message"
    return "message" if is_part(head) else None
