"""Reasoning items: one block for each part of the summary and of the content; the encrypted content signs the last.

The provider knows a thought by the id under which it is stored or by its encrypted content. The content names its item,
so an id must be the issuer's own or left out, as recorded clients do; a thought that has neither cannot be put in.

Marks under ``item``: ``summary`` (``absent``), ``blank``, ``alone`` (nothing follows it), ``unproved`` (neither an id
nor encrypted content, though it was read here). On a thought: ``part`` (which it is: of the content, or empty, which we
would leave out).
"""

from __future__ import annotations

from ...codec.tables import blank, marks, merge, own
from ...types.blocks import Block, RedactedThinkingBlock, ThinkingBlock
from .item_fields import Placed, bare, item_marks, item_residue, read_head, say_head, walk, with_item
from .names import Scribe
from .wire import NAME, REASON, SUMMARY, Wire, take_text

FIELDS = (("summary", SUMMARY), ("content", REASON))


def read_reasoning(rest: Wire, place: int | None) -> list[Block]:
    forms: Wire = {}
    blanks: Wire = {}
    del rest["type"]
    found: list[tuple[Wire, str]] = []
    for key, tag in FIELDS:
        parts = rest.pop(key, "absent")
        if blank(parts):
            if key == "content" or parts != []:
                blanks[key] = parts
        elif parts != "absent":
            found += [(dict(part), tag) for part in parts]
        elif key == "summary":
            forms["summary"] = "absent"
    signature = rest.get("encrypted_content")
    if isinstance(signature, str) and signature:
        del rest["encrypted_content"]
    else:
        signature = None
        if "encrypted_content" in rest and blank(rest["encrypted_content"]):
            blanks["encrypted_content"] = rest.pop("encrypted_content")
        if "id" not in rest and "encrypted_content" not in rest:
            forms["unproved"] = True
    if blanks:
        forms["blank"] = blanks
    read_head(rest, forms, "reasoning", place)
    last = len(found) - 1
    thoughts = [read_thought(part, tag, signature if at == last else None) for at, (part, tag) in enumerate(found)]
    return with_item(thoughts or [ThinkingBlock(signature=signature)], rest, forms)


def read_thought(rest: Wire, tag: str, signature: str | None) -> Block:
    if rest.pop("type") != tag:
        raise ValueError(tag)
    text = take_text(rest, "text")
    forms = {NAME: {"part": tag}} if tag != SUMMARY or not text else {}
    return ThinkingBlock(text, signature=signature, extras={NAME: rest} if rest else {}, forms=forms)


def is_proved(group: Placed) -> bool:
    """Whether the provider would know a thought again. What was read here may always go back."""
    if any(block.signature for _, block in group):
        return True
    head = group[0][1]
    residue = item_residue(head)
    return "id" in residue or "encrypted_content" in residue or "unproved" in item_marks(head)


def say_reasoning(group: Placed, place: int | None, scribe: Scribe) -> Wire | None:
    """An item, or None and a loss: nobody would know the thought."""
    if place is None and not is_proved(group):
        for _ in walk(group, scribe):
            scribe.lose("dropped", f"{NAME} takes reasoning with an id or encrypted; this is neither", weight="state")
        return None
    head = group[0][1]
    forms = item_marks(head)
    wire: Wire = {"type": "reasoning"}
    for block in walk(group, scribe):
        say_thought(block, wire, scribe, alone=len(group) == 1)
    merge(wire, forms.get("blank", {}))
    if forms.get("summary") != "absent":
        wire.setdefault("summary", [])
    return say_head(merge(wire, item_residue(head)), forms, "reasoning", place)


def say_thought(block: Block, wire: Wire, scribe: Scribe, *, alone: bool) -> None:
    """A thought as a part of its item. An empty one is no part, unless it was."""
    mark = marks(NAME, block)
    if isinstance(block, ThinkingBlock) and (block.text or is_empty_part(block)):
        tag = mark.get("part", SUMMARY)
        part = own(NAME, {"type": tag, "text": block.text}, bare(block))
        wire.setdefault("summary" if tag == SUMMARY else "content", []).append(part)
    elif not alone:
        scribe.lose_form("dropped", f"empty reasoning beside other has no form in {NAME}")
    if block.signature is not None:
        wire["encrypted_content"] = block.signature
    if block.cache is not None:
        scribe.lose("dropped", f"{NAME} takes cache marks on input parts only", "cache")
    if block.extras:
        scribe.foreign(block, NAME)


def is_empty_part(block: ThinkingBlock) -> bool:
    """Whether a thought without text stands in its item all the same."""
    mark = marks(NAME, block)
    return "part" in mark or "joined" in mark


def say_redacted(block: RedactedThinkingBlock, index: int, place: int | None, scribe: Scribe) -> Wire | None:
    scribe.lose_form("approximated", f"encrypted reasoning in {NAME} is a reasoning item without text")
    thought = ThinkingBlock(signature=block.data, cache=block.cache, extras=block.extras)
    return say_reasoning([(index, thought)], place, scribe)
