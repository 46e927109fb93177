"""An item of a stream while it grows, and its wire form when it is put together.

The caller has the text of the deltas already. So if a finished item contradicts them, the deltas are kept.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...codec.json import Wire, is_array, is_object
from ...codec.tools.arguments import read_arguments, write_arguments
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from .facts import CALLS, NAME, REASON, SUMMARY

Key = tuple[Json, str, Json]
"""Output index, kind of part, index of the part. Kinds: ``content``, ``summary``, ``item`` for an item of one block."""

EMPTY_PARTS: dict[str, Wire] = {
    "output_text": {"type": "output_text", "text": "", "annotations": [], "logprobs": []},
    "refusal": {"type": "refusal", "refusal": ""},
    SUMMARY: {"type": SUMMARY, "text": ""},
    REASON: {"type": REASON, "text": ""},
}
FIELDS = ("summary", "content")


class Item:
    """An item while it is streamed: its wire form at the start, its parts by key, and their indexes in the fold."""

    __slots__ = ("citations", "done", "index", "parts", "places", "wire")

    def __init__(self, index: Json, wire: Wire) -> None:
        self.index = index
        self.wire = wire
        self.parts: dict[Key, Wire] = {}
        self.places: dict[Key, int] = {}
        self.citations: dict[Key, list[Wire]] = {}
        self.done = False

    def finished(self, wire: Wire, known: dict[Key, str]) -> tuple[Wire, list[Key]]:
        """The finished item with the texts of its deltas (``known``), and the keys of its parts in order."""
        tag = str(wire.get("type"))
        if tag in CALLS:
            text, field = known.get((self.index, "item", 0), ""), CALLS[tag]
            given = wire.get(field)
            if text and not (isinstance(given, str) and given.startswith(text)):
                wire = {**wire, field: text}
        if tag not in ("message", "reasoning"):
            return wire, []
        keys: list[Key] = []
        for field in FIELDS:
            if field in wire or any(key[1] == field for key in self.parts):
                parts, found = self.merge_parts(field, wire.get(field), known)
                keys += found
                if parts:
                    wire = {**wire, field: parts}
        return wire, keys

    def merge_parts(self, field: str, given: Json, known: dict[Key, str]) -> tuple[list[Json], list[Key]]:
        """The parts of one field as given, except those that are missing or that differ from their deltas."""
        parts: list[Json] = list(given) if is_array(given) else []
        opened = sorted((key for key in self.parts if key[1] == field), key=rank)
        if all(type(key[2]) is int and key[2] < len(parts) for key in opened):
            keys: list[Key] = [(self.index, field, position) for position in range(len(parts))]
        else:  # the finished item numbers its parts differently: match them in order
            more = range(len(opened), len(parts))
            keys = [*opened, *((self.index, field, f"more {position}") for position in more)]
        for position, key in enumerate(keys):
            if position == len(parts):
                parts.append(None)
            if key in self.parts and not _continues(parts[position], self.parts[key], known[key]):
                parts[position] = self.part_so_far(key, known[key])
        return parts, keys

    def part_so_far(self, key: Key, text: str) -> Wire:
        """A part put together from its start and its deltas."""
        part = self.parts[key]
        wire = {**part, text_key(part): text}
        if key in self.citations:
            wire["annotations"] = [*(part.get("annotations") or ()), *self.citations[key]]
        return wire


def text_key(part: Wire) -> str:
    return "refusal" if part["type"] == "refusal" else "text"


def _continues(given: Json, part: Wire, known: str) -> bool:
    """Whether a finished part has the type of the part that was opened, and begins with the text of its deltas."""
    if not is_object(given) or given.get("type") != part["type"]:
        return False
    text = given.get(text_key(part))
    return isinstance(text, str) and text.startswith(known)


def empty_item(part: Wire) -> Wire:
    """The start of an item whose first part came without an event for the item itself."""
    if part["type"] in (SUMMARY, REASON):
        return {"type": "reasoning", "summary": []}
    return {"type": "message", "role": "assistant", "content": []}


def with_part(item: Wire, field: str, part: Wire, *, joined: bool) -> Wire:
    """A copy of an item with this part as its last. ``joined``: the item had parts before."""
    summary: Wire = {"summary": []} if item.get("type") == "reasoning" else {}
    return {**item, **summary, field: [part, part] if joined else [part]}


def rank(key: Key) -> tuple[int, int, int, str]:
    """The sort key for the order of a whole answer: by item, then by field, then by part."""
    index, field, part = key
    item_rank, part_rank = (number if type(number) is int else 1 << 30 for number in (index, part))
    return (item_rank, int(field == "content"), part_rank, str(part))


def opening_block(block: Block) -> Block:
    """A block as it is when its stream begins: without text, citations and arguments."""
    if isinstance(block, TextBlock):
        return replace(block, text="", citations=())
    if isinstance(block, RefusalBlock | ThinkingBlock):
        return replace(block, text="", signature=None)
    if isinstance(block, ToolUseBlock):
        return replace(block, input={}, input_text="" if block.kind == "text" else None)
    return block


def text_of(block: Block) -> str:
    """The text that the deltas of a block add up to."""
    if isinstance(block, TextBlock | RefusalBlock | ThinkingBlock):
        return block.text
    if isinstance(block, ToolUseBlock):
        return (block.input_text or "") if block.kind == "text" else write_arguments(block.input, block.input_text)
    return ""


_TEXTS = (TextBlock, RefusalBlock, ThinkingBlock)


def block_so_far(block: Block, known: str) -> Block:
    """A block that was never finished, with the text of its deltas."""
    if isinstance(block, ToolUseBlock):
        input, text = ({}, known) if block.kind == "text" else read_arguments(known)
        return replace(block, input=input, input_text=text)
    return replace(block, text=known) if isinstance(block, _TEXTS) else block


def reconciled(opened: Block, block: Block, wire: Wire, known: str) -> Block:
    """The finished block if it has the type of the opened one and begins with ``known``; else the opened one so far."""
    if type(opened) is type(block):
        return block if text_of(block).startswith(known) else block_so_far(block, known)
    if isinstance(opened, (*_TEXTS, ToolUseBlock)):
        return block_so_far(opened, known)
    return OpaqueBlock(NAME, wire) if isinstance(block, (*_TEXTS, ToolUseBlock)) else block
