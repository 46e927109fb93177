"""The items that a model makes: messages, calls and reasoning. One assistant turn is usually several items.

Items have two forms. In an answer, or with an id, they are *formal*: they have ``id`` and ``status``. An *easy* message
(the protocol's word), as requests have it, is a type, a role and a string. The type is optional in the protocol and
required by llama.cpp; we leave it out only where a message begins a new assistant turn behind another (``new_turn``).

A message and a reasoning item may become several blocks, one for each part. The item's own marks and residue are under
``item`` on the first block; the others are marked ``joined``. ``place`` is the index of the item in an answer, from
which an id is made if the issuer gave none; it is None in a request, where ids are never invented. ``cut``: the item is
the last of an answer that ended early, or holds an incomplete block, so its status is ``incomplete``.

Reasoning is one block for each part of the summary and of the content; the encrypted content is the signature of the
last. The provider recognises reasoning by its stored id or by its encrypted content, which names the item's id. So an
id must be the issuer's own or left out, and reasoning that has neither cannot be sent.

Marks of an item: ``id`` (``[]``: there was none), ``status`` (not the one that follows from the answer's), ``content``
of a message (``string`` or ``list``), ``summary`` and ``content`` of reasoning (a list of what stood there instead of
parts, if anything), ``unproved`` (it has neither an id nor encrypted content, though it was read here), ``alone``
(nothing follows it). On a call: ``call_id`` (a list of what stood there instead of an id, if anything). On a block of
reasoning: ``part`` (its part was empty; we would write none).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import force_setattr, replace

from ...codec.json import Wire, is_array, is_empty
from ...codec.ledger import Ledger
from ...codec.marks import marks
from ...codec.paths import ABSENT, merge
from ...codec.rows.kinds import REFUSED
from ...types.base import Json
from ...types.blocks import (
    Block,
    OpaqueBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from .facts import CUT, DONE, NAME, PREFIXES, REASON, SUMMARY
from .rows import ANSWER_CALLS, EASY_ITEMS, EASY_MESSAGE, ITEM_CALLS, ITEM_MESSAGE, OUTPUT, REASONING, THOUGHTS
from .rules import Scribe

Placed = Sequence[tuple[int, Block]]
UNTYPED: Wire = {"=type": []}
FIELDS = (("summary", SUMMARY), ("content", REASON))

# --------------------------------------------------------------------------------------------- what all items have


def with_item(blocks: list[Block], rest: Wire, item: Wire) -> list[Block]:
    """Put the residue and marks of an item on its first block, and mark the others ``joined``. Modifies the blocks."""
    if rest or item:
        first = blocks[0]
        if rest:
            own = {**first.extras[NAME], "item": rest} if first.extras else {"item": rest}
            force_setattr(first, "extras", {NAME: own})
        if item:
            force_setattr(first, "forms", {NAME: {**marks(NAME, first), "item": item}})
    for block in blocks[1:] if len(blocks) > 1 else ():
        force_setattr(block, "forms", {NAME: {**marks(NAME, block), "joined": True}})
    return blocks


def item_marks(block: Block) -> Wire:
    """The marks of the item that a block begins."""
    return marks(NAME, block).get("item", {}) if block.forms else {}


def item_residue(block: Block) -> Wire:
    """The residue of the item that a block begins."""
    return block.extras.get(NAME, {}).get("item", {}) if block.extras else {}


def bare(block: Block) -> Block:
    """A block without the marks and residue of its item, so that its table can write it."""
    if not block.extras and not block.forms:
        return block
    residue, mark = block.extras.get(NAME, {}), marks(NAME, block)
    if "item" in residue:
        left = {key: value for key, value in residue.items() if key != "item"}
        others = {name: value for name, value in block.extras.items() if name != NAME}
        block = replace(block, extras={**others, NAME: left} if left else others)
    if "item" in mark or "joined" in mark:
        own = {key: value for key, value in mark.items() if key not in ("item", "joined")}
        block = replace(block, forms={NAME: own} if own else {})
    return block


def walk(group: Placed, scribe: Ledger) -> Iterator[Block]:
    """The blocks of a group. ``scribe.where`` is set to the path of each in turn."""
    where = scribe.where
    for index, block in group:
        scribe.where = (*where[:-1], index)
        yield block
    scribe.where = where


def read_id_and_status(rest: Wire, item: Wire, tag: str, place: int, *, cut: bool = False) -> None:
    """Take the id and the status of an answer's item if we would write the same, else mark them.

    The rows have already taken the status ``completed``, or marked that there is none.
    """
    if "id" not in rest:
        item["id"] = []
    elif rest["id"] == f"{PREFIXES[tag]}_{place}":
        del rest["id"]
    if rest.get("status") == CUT:
        del rest["status"]
        if not cut:
            item["status"] = CUT
    elif cut and "status" not in rest and "=status" not in item.get("spelling", ()):
        item["status"] = DONE


def write_id_and_status(wire: Wire, item: Wire, tag: str, place: int | None, *, cut: bool = False) -> None:
    """Write the id and the status of an item, unless they are in its residue or the wire had none."""
    if place is not None and "id" not in item:
        wire.setdefault("id", f"{PREFIXES[tag]}_{place}")
    if tag != "reasoning" and "status" not in wire and "=status" not in item.get("spelling", ()):
        wire["status"] = item.get("status") or (CUT if cut else DONE)


# --------------------------------------------------------------------------------------------------------- messages


def read_message(item: Wire, place: int | None, *, new_turn: bool, cut: bool) -> list[Block]:
    """The parts of an assistant message. ``new_turn``: it begins a turn right behind another one."""
    if item.get("role") != "assistant":
        return [OpaqueBlock(NAME, item)]
    formal = place is not None or "id" in item
    _, rest, mark = (ITEM_MESSAGE if formal else EASY_MESSAGE).take(item)
    content = rest.pop("content", None)
    if is_array(content) and content:
        blocks: list[Block] = list(map(OUTPUT.read, content))
        if not formal:
            mark["content"] = "list"
    elif type(content) is str:
        blocks = [TextBlock(content)]
        if formal:
            mark["content"] = "string"
    else:
        return [OpaqueBlock(NAME, item)]
    if place is not None:
        read_id_and_status(rest, mark, "message", place, cut=cut)
    elif new_turn and not formal:
        mark.pop("spelling", None)  # a new turn is written without the type, too
    return with_item(blocks, rest, mark)


def write_message(group: Placed, place: int | None, scribe: Ledger, *, new_turn: bool, cut: bool) -> Wire | None:
    """The item of a message, or None if none of its parts can be written."""
    head = group[0][1]
    mark, residue = item_marks(head), item_residue(head)
    if place is None and len(group) > 1 and not mark and not residue:
        _, message, _, at = scribe.where
        residue = {"id": f"{PREFIXES['message']}_{message}_{at}"}
        scribe.lose_form("added", f"a message of several parts has an id in {NAME}")
    formal = place is not None or "id" in residue
    wire: Wire = {}
    as_text = mark.get("content", "list" if formal else "string") == "string"
    if as_text and len(group) == 1 and isinstance(head, TextBlock | RefusalBlock):
        wire["content"] = _write_string(head, scribe)
    else:
        content = OUTPUT.write_each_usual([bare(block) for _, block in group])
        if content is None:
            written = [OUTPUT.write(bare(block), scribe) for block in walk(group, scribe)]
            content = [part for part in written if part is not None]
        if not content:
            return None
        wire["content"] = content
    merge(wire, residue)
    if formal:
        write_id_and_status(wire, mark, "message", place, cut=cut)
    elif new_turn:
        mark = {**mark, "spelling": UNTYPED}
    (ITEM_MESSAGE if formal else EASY_MESSAGE).put_constants(wire, mark)
    return wire


def _write_string(block: TextBlock | RefusalBlock, ledger: Ledger) -> str:
    """The text of an easy message, which can hold nothing else."""
    if isinstance(block, RefusalBlock):
        ledger.lose("approximated", f"{NAME} takes a refusal only with its message's id; sent as text")
    elif block.citations:
        ledger.lose("dropped", f"{NAME} takes citations only with their message's id", "citations")
    declare_marks(block, ledger)
    return block.text


def declare_marks(block: Block, ledger: Ledger) -> None:
    """Declare the signature, the cache mark and the foreign residue of a block that no row writes."""
    if block.signature is not None:
        ledger.lose("dropped", f"{block.type} blocks of {NAME} have no signature", "signature", weight="state")
    if block.cache is not None:
        ledger.lose("dropped", f"{NAME} takes cache marks on input parts only", "cache")
    if block.extras:
        ledger.lose_foreign_extras(block, NAME)


# ------------------------------------------------------------------------------------------------------------ calls


def read_call(item: Wire, place: int | None, index: int, *, cut: bool) -> Block:
    """A call. ``index`` is the index of its block; an id for a call without one is made of it."""
    given = item.get("call_id")
    named = type(given) is str and given
    table = ANSWER_CALLS if place is not None else ITEM_CALLS if "id" in item else EASY_ITEMS
    read: Any = table.read(item if named else {**item, "call_id": f"call_{index}"})
    if read is REFUSED:
        return OpaqueBlock(NAME, item)
    block: ToolUseBlock = read
    if named and (place is None or _has_usual_place(item, place, cut=cut)):
        return block
    mark, rest = dict(marks(NAME, block)), dict(block.extras.get(NAME, {}))
    if not named:
        mark["call_id"] = [given] if "call_id" in item else []
    if place is not None:
        read_id_and_status(rest, mark, item["type"], place, cut=cut)
    if mark:
        force_setattr(block, "forms", {NAME: mark})
    force_setattr(block, "extras", {NAME: rest} if rest else {})
    return block


def _has_usual_place(item: Wire, place: int, *, cut: bool) -> bool:
    """Whether a call of an answer has its issuer's id and is complete, so that nothing has to be marked."""
    return not cut and item.get("status") == DONE and "id" in item and item["id"] != f"{PREFIXES[item['type']]}_{place}"


def write_call(block: ToolUseBlock, place: int | None, scribe: Scribe, *, cut: bool) -> Wire | None:
    mark, residue = marks(NAME, block), block.extras.get(NAME, ())
    own = block
    if place is None and "call_id" not in mark:
        id = scribe.call_id(block)
        if id != block.id:
            own = replace(block, id=id)
    formal = place is not None or "id" in residue
    table = ANSWER_CALLS if place is not None else ITEM_CALLS if formal else EASY_ITEMS
    wire: Wire | None = table.write(own, scribe)
    if wire is None:
        return None
    if mark.get("call_id"):
        wire["call_id"] = mark["call_id"][0]
    elif "call_id" in mark:
        del wire["call_id"]
    if block.name in scribe.namespaces and NAME not in block.extras:
        wire["namespace"] = scribe.namespaces[block.name]
    if formal:
        if "status" not in residue:
            wire.pop("status", None)  # it is written again below, behind the id
        write_id_and_status(wire, mark, wire["type"], place, cut=cut)
    return wire


# -------------------------------------------------------------------------------------------------------- reasoning


def read_reasoning(item: Wire, place: int | None) -> list[Block]:
    fields, rest, mark = REASONING.take(item)
    thoughts = read_thoughts(rest, mark)
    if thoughts is None:
        return [OpaqueBlock(NAME, item)]
    signature = fields["signature"]
    if signature is None and "id" not in rest and "encrypted_content" not in rest:
        mark["unproved"] = True
    if place is not None:
        read_id_and_status(rest, mark, "reasoning", place)
    if not thoughts:
        thoughts.append(ThinkingBlock(signature=signature))
    elif signature is not None:
        force_setattr(thoughts[-1], "signature", signature)
    return with_item(thoughts, rest, mark)


def read_thoughts(rest: Wire, mark: Wire) -> list[Block] | None:
    """The blocks of a summary and of a content; None if one of them has another shape."""
    thoughts: list[Any] = []
    for key, tag in FIELDS:
        parts = rest.pop(key, ABSENT)
        if is_array(parts) and parts:
            thoughts += [_read_thought(part, tag) for part in parts]
        elif parts is ABSENT:
            if key == "summary":
                mark[key] = []
        elif not is_empty(parts):
            return None
        elif key == "content" or parts != []:
            mark[key] = [parts]
    return None if REFUSED in thoughts else thoughts


def _read_thought(part: Json, tag: str) -> Any:
    thought: Any = THOUGHTS.read(part)
    if thought is REFUSED or part["type"] != tag:
        return REFUSED
    if not thought.text and not thought.forms:
        force_setattr(thought, "forms", {NAME: {"part": True}})
    return thought


def is_proved(group: Placed) -> bool:
    """Whether the provider would recognise this reasoning. What was read here may always be sent back."""
    if any(block.signature for _, block in group):
        return True
    residue = item_residue(group[0][1])
    return "id" in residue or "encrypted_content" in residue or "unproved" in item_marks(group[0][1])


def write_reasoning(group: Placed, place: int | None, scribe: Ledger) -> Wire | None:
    """The item of some reasoning, or None and a loss if the provider would not recognise it."""
    if place is None and not is_proved(group):
        for _ in walk(group, scribe):
            scribe.lose("dropped", f"{NAME} takes reasoning with an id or encrypted; this is neither", weight="state")
        return None
    head = group[0][1]
    mark, signature = item_marks(head), None
    parts: dict[str, list[Json]] = {}
    for block in walk(group, scribe):
        signature = block.signature if block.signature is not None else signature
        _write_thought(block, parts, scribe, alone=len(group) == 1)
    wire = REASONING.put(ThinkingBlock(signature=signature, forms={NAME: mark} if mark else {}), scribe)
    wire |= parts
    for key in ("summary", "content"):
        if key not in wire and mark.get(key):
            wire[key] = mark[key][0]
    if "summary" not in mark:
        wire.setdefault("summary", [])
    merge(wire, item_residue(head))
    write_id_and_status(wire, mark, "reasoning", place)
    REASONING.put_constants(wire, mark)
    return wire


def _write_thought(block: Block, parts: dict[str, list[Json]], scribe: Ledger, *, alone: bool) -> None:
    """Add a block of reasoning to the parts of its item. An empty one is left out, unless it was read as a part."""
    if isinstance(block, ThinkingBlock) and (block.text or is_empty_part(block)):
        part = THOUGHTS.write(replace(bare(block), cache=None), Ledger())
        parts.setdefault("summary" if part["type"] == SUMMARY else "content", []).append(part)
    elif not alone:
        scribe.lose_form("dropped", f"empty reasoning beside other reasoning has no place in {NAME}")
    if block.cache is not None:
        scribe.lose("dropped", f"{NAME} takes cache marks on input parts only", "cache")
    if block.extras:
        scribe.lose_foreign_extras(block, NAME)


def is_empty_part(block: ThinkingBlock) -> bool:
    """Whether a block of reasoning was a part of its item even if it has no text."""
    mark = marks(NAME, block)
    return "part" in mark or "tag" in mark or "joined" in mark


def write_redacted(block: RedactedThinkingBlock, index: int, place: int | None, scribe: Ledger) -> Wire | None:
    scribe.lose_form("approximated", f"encrypted reasoning in {NAME} is a reasoning item without text")
    thought = ThinkingBlock(signature=block.data, cache=block.cache, extras=block.extras)
    return write_reasoning([(index, thought)], place, scribe)
