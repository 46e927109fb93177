"""What every item that a model makes has: an id, a status, and a place for its own marks and residue.

A message and a reasoning item may become several blocks, one for each part. Their own marks and residue stand under
``item`` on the first block; the others are marked ``joined``. ``place`` is the position in an answer, from which an id
is made where the issuer gave none; it is None in a request, where ids are never invented. ``cut``: the item is the last
of an answer that ended early, or holds an incomplete block, so we would write that it is incomplete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ...codec.tables import marks
from ...types.base import Json
from ...types.blocks import Block
from .assembly import CALLS
from .names import Scribe
from .wire import NAME, Wire, is_object

PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "image_generation_call": "ig",
}
DONE, CUT, BEGUN, FAILED = "completed", "incomplete", "in_progress", "failed"
BROKEN_OFF = (FAILED, "cancelled")
Placed = Sequence[tuple[int, Block]]


def is_cut(item: Json, answer: Json) -> bool:
    """Whether an item was left unfinished. ``answer`` is the status of its answer, None where that is not known.

    Texts that the output limit ended are not: nobody runs a text. A call may be in progress in an answer that is
    complete, if its caller is a program.
    """
    if not is_object(item):
        return False
    status = item.get("status")
    if answer in BROKEN_OFF:
        return status in (CUT, BEGUN)
    return item.get("type") in CALLS and (status == CUT or (status == BEGUN and answer not in (DONE, None)))


def read_head(rest: Wire, forms: Wire, tag: str, place: int | None, *, cut: bool = False) -> bool:
    """Take what we would write ourselves of an item's id and status; says whether the spelling is that of an answer."""
    absent: list[str] = []
    if place is not None:
        if "id" not in rest:
            absent.append("id")
        elif rest["id"] == f"{PREFIXES[tag]}_{place}":
            del rest["id"]
    formal = place is not None or "id" in rest
    if formal and tag != "reasoning":
        status = rest.get("status")
        if status == (CUT if cut else DONE):
            del rest["status"]
        elif "status" not in rest:
            absent.append("status")
        elif place is not None and status in (DONE, CUT):
            forms["status"] = rest.pop("status")
    if absent:
        forms["absent"] = absent
    return formal


def say_head(wire: Wire, forms: Wire, tag: str, place: int | None, *, cut: bool = False) -> Wire:
    absent = forms.get("absent", ())
    if place is not None and "id" not in absent:
        wire.setdefault("id", f"{PREFIXES[tag]}_{place}")
    if (place is not None or "id" in wire) and tag != "reasoning" and "status" not in absent and "status" not in wire:
        wire["status"] = forms.get("status") or (CUT if cut else DONE)
    return wire


def with_item(blocks: list[Block], rest: Wire, forms: Wire) -> list[Block]:
    """Put what an item keeps for itself on its first block, and mark the others joined."""
    for position, block in enumerate(blocks):
        extras, mine = block.extras.get(NAME, {}), marks(NAME, block)
        if position:
            mine = {**mine, "joined": True}
        elif rest or forms:
            extras = {**extras, "item": rest} if rest else extras
            mine = {**mine, "item": forms} if forms else mine
        else:
            continue
        blocks[position] = replace(block, extras={NAME: extras} if extras else {}, forms={NAME: mine} if mine else {})
    return blocks


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


def walk(group: Placed, scribe: Scribe) -> Iterator[Block]:
    """The blocks of a group; the ledger's place is on each in turn."""
    where = scribe.where
    for index, block in group:
        scribe.where = (*where[:-1], index)
        yield block
    scribe.where = where
