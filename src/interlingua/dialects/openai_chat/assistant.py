"""The assistant's turn, the same in a request's history and in an answer.

The wire has one slot per kind: reasoning, text, refusal, calls. We read them in that order; blocks of other orders are
moved into it, declared. Marks: ``content`` (``list`` for one plain text in a list, ``absent``, or a blank),
``thinking`` (the keys that held the reasoning), ``refusal`` is a field unless it was a part, ``annotations`` (citations
stood on the turn).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from ...codec.ids import IdMap
from ...codec.json import is_array, is_dict
from ...codec.tables import Ledger, kept, marks, own, take
from ...types.base import Json
from ...types.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    Citation,
    DocumentBlock,
    FileSource,
    ImageBlock,
    OpaqueBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    VideoBlock,
)
from .calls import read_call, read_legacy_call, say_call, say_legacy_call
from .citations import declare_cited, read_annotations, say_annotations
from .parts import NAME, PARTS, Wire, as_listed, read_part, say_part
from .quirks import Quirks

THINKING_KEYS = ("reasoning_content", "reasoning")


class Turn(NamedTuple):
    """What an assistant's wire object says: blocks, and what to keep of the object itself."""

    blocks: tuple[Block, ...]
    rest: Wire
    forms: Wire
    blanks: Wire


def read_turn(wire: Wire) -> Turn:
    """Read the object. It is copied first; ``role`` is popped by the caller."""
    rest = wire
    forms: Wire = {}
    blanks: Wire = {}
    blocks: list[Block] = []
    if len(rest) > 1 or "content" not in rest:
        read_thinking(rest, blocks, forms, blanks)
    read_content(rest, blocks, forms, blanks)
    if rest:
        read_more(rest, blocks, forms, blanks)
    return Turn(tuple(blocks), rest, forms, blanks)


def read_more(rest: Wire, blocks: list[Block], forms: Wire, blanks: Wire) -> None:
    """What a turn has beside reasoning and text."""
    if isinstance(refusal := take(rest, "refusal", blanks), str):
        blocks.append(RefusalBlock(refusal))
        if forms.get("content") == "parts":
            forms["refusal"] = "field"
    elif refusal is not None:
        rest["refusal"] = refusal
    if "audio" in rest:
        read_audio(rest, blocks, blanks)
    if "annotations" in rest:
        read_annotations(rest, blocks, forms, blanks)
    calls = take(rest, "tool_calls", blanks)
    if is_array(calls):
        for position, call in enumerate(calls):
            blocks.append(read_call(call, len(blocks), position))
    elif calls is not None:
        rest["tool_calls"] = calls
    legacy = take(rest, "function_call", blanks) if rest else None
    if is_dict(legacy) and isinstance(legacy.get("name"), str) and legacy["name"]:
        blocks.append(read_legacy_call(legacy, len(blocks)))
    elif legacy is not None:
        rest["function_call"] = legacy


def read_thinking(rest: Wire, blocks: list[Block], forms: Wire, blanks: Wire) -> None:
    """Two keys that say the same are one thought; a second one that differs stays residue."""
    keys: list[str] = []
    text: str | None = None
    for key in THINKING_KEYS:
        if key not in rest:
            continue
        value = rest[key]
        if value is None or value == "":
            blanks[key] = rest.pop(key)
        elif isinstance(value, str) and (text is None or value == text):
            text = rest.pop(key)
            keys.append(key)
    if text is not None:
        blocks.append(ThinkingBlock(text))
        forms["thinking"] = keys


def read_content(rest: Wire, blocks: list[Block], forms: Wire, blanks: Wire) -> None:
    if "content" not in rest:
        forms["content"] = "absent"
        return
    if rest["content"] is None:
        del rest["content"]
        forms["content"] = None
        return
    content = take(rest, "content", blanks)
    if type(content) is str:
        blocks.append(TextBlock(content))
    elif is_array(content):
        parts = list(map(read_part, content))
        if all(isinstance(part, TextBlock) for part in parts) and len(parts) == 1 and writes_string(parts):
            forms["content"] = "list"
        elif not all(isinstance(part, TextBlock) for part in parts):
            forms["content"] = "parts"
        blocks.extend(parts)
    elif content is not None:
        rest["content"] = content
        forms["content"] = "absent"  # of no shape we know: residue says it


def writes_string(parts: list[Block]) -> bool:
    """Whether we would write this content as a plain string: one text that says nothing else."""
    if len(parts) != 1:
        return False
    part = parts[0]
    return (
        type(part) is TextBlock and bool(part.text) and not (part.cache or part.signature or part.extras or part.forms)
    )


def read_audio(rest: Wire, blocks: list[Block], blanks: Wire) -> None:
    audio = take(rest, "audio", blanks)
    if not is_dict(audio):
        if audio is not None:
            rest["audio"] = audio
        return
    inner = dict(audio)
    if isinstance(inner.get("data"), str) and inner["data"]:
        source: Any = Base64Source("audio/wav", inner.pop("data"))
        transcript = inner.pop("transcript") if isinstance(inner.get("transcript"), str) else None
        blocks.append(AudioBlock(source, transcript, **kept(NAME, inner, {}, {})))
    elif isinstance(inner.get("id"), str) and inner["id"] and "data" not in inner:
        source = FileSource(inner.pop("id"), dialect=NAME)
        blocks.append(AudioBlock(source, **kept(NAME, inner, {}, {})))
    else:
        rest["audio"] = audio


MEDIA = (ImageBlock, DocumentBlock, VideoBlock)  # no parts of an assistant's content, unless they were read there


class Slots:
    """The blocks of a turn, each in the slot where the wire has it."""

    def __init__(self) -> None:
        self.thinking: list[tuple[int, ThinkingBlock]] = []
        self.parts: list[tuple[int, Block]] = []
        self.calls: list[tuple[int, Block]] = []
        self.audio: list[tuple[int, AudioBlock]] = []

    def put(self, index: int, block: Block, *, refusal_is_part: bool) -> int:
        """Sort one block in; its slot's rank."""
        if type(block) is ToolUseBlock or (isinstance(block, OpaqueBlock) and _is_call(block)):
            self.calls.append((index, block))
            return 4
        if isinstance(block, AudioBlock):
            self.audio.append((index, block))
            return 3
        if isinstance(block, ThinkingBlock) and marks(NAME, block).get("part") != "thinking":
            self.thinking.append((index, block))
            return 0
        self.parts.append((index, block))
        return 2 if isinstance(block, RefusalBlock) and not refusal_is_part else 1


def _is_call(block: OpaqueBlock) -> bool:
    return block.dialect == NAME and is_dict(block.raw) and block.raw.keys() == {"tool_call"}


def refusal_is_part(mark: Wire) -> bool:
    return mark.get("content") == "parts" and "refusal" not in mark


def sort_slots(blocks: list[tuple[int, Block]], mark: Wire, ledger: Ledger) -> Slots:
    """Every block in its slot; one that stood elsewhere is moved."""
    slots, rank, where = Slots(), 0, ledger.where
    for index, block in blocks:
        if not PARTS.knows(block) and type(block) is not ToolUseBlock:
            ledger.where = (*where, "content", index)
            PARTS.encode(block, ledger)
            ledger.where = where
            continue
        mine = slots.put(index, block, refusal_is_part=refusal_is_part(mark))
        if mine < rank:
            ledger.lose("moved", f"{NAME} has reasoning, text and calls in that order", "content", index)
        else:
            rank = mine
    return slots


def declare_joined(blocks: list[tuple[int, Block]], kind: type[Block], ledger: Ledger) -> None:
    """A slot holds one text: several lose their bounds."""
    several = [index for index, block in blocks if isinstance(block, kind)]
    for index in several if len(several) > 1 else ():
        ledger.lose_form(
            "approximated", f"{NAME} has one {kind.__struct_config__.tag} per message; joined", "content", index
        )


def lose_marks(block: Block, ledger: Ledger) -> None:
    """A slot holds what a block says, and nothing that it carries."""
    for name in ("signature", "cache"):
        if getattr(block, name) is not None:
            ledger.lose("dropped", f"an assistant's {block.type} in {NAME} has no {name}", name)
    ledger.foreign(block, NAME)


def say_turn(
    wire: Wire, blocks: list[tuple[int, Block]], mark: Wire, quirks: Quirks, ids: IdMap, ledger: Ledger, *, answer: bool
) -> None:
    """Say the blocks of a turn on its wire object. ``answer``: a server speaks, which may show reasoning and cite."""
    blocks = [(index, as_listed(block)) for index, block in blocks] if quirks.list_content else blocks
    slots, where = sort_slots(blocks, mark, ledger), ledger.where
    if slots.thinking or quirks.replay_thinking:
        say_thinking(slots, wire, mark, quirks, ledger, answer=answer)
    if len(slots.parts) == 1 and not mark and writes_string([slots.parts[0][1]]) and not _citations(slots.parts[0][1]):
        wire["content"] = slots.parts[0][1].text  # type: ignore[union-attr]
    else:
        say_content(slots, wire, mark, quirks, ledger, answer=answer)
        if "annotations" in wire and is_array(wire.get("content")):
            declare_cited(slots.parts, ledger)
    if slots.audio:
        say_audio(slots, wire, ledger)
    if slots.calls:
        say_calls(slots, wire, ids, ledger)
    ledger.where = where


def _citations(block: Block) -> tuple[Citation, ...]:
    return block.citations if isinstance(block, TextBlock) else ()


def say_thinking(slots: Slots, wire: Wire, mark: Wire, quirks: Quirks, ledger: Ledger, *, answer: bool) -> None:
    known: list[str] = mark.get("thinking") or (["reasoning_content"] if answer else [])
    keys = [quirks.thinking_key] if quirks.thinking_key else known
    where = ledger.where
    if keys:
        declare_joined(slots.thinking, ThinkingBlock, ledger)  # type: ignore[arg-type]
    for index, block in slots.thinking:
        ledger.where = (*where, "content", index)
        if not keys:
            ledger.lose("dropped", f"{NAME} takes no reasoning in a request", weight="state")
            continue
        for key in keys:
            wire[key] = "\n\n".join(filter(None, (wire.get(key), block.text)))
        lose_marks(block, ledger)
        if not block.text:
            ledger.lose("dropped", f"reasoning of {NAME} is text, and this has none", weight="state")
    ledger.where = where
    if quirks.replay_thinking and slots.calls and not answer:
        wire.setdefault(quirks.thinking_key or "reasoning_content", "")


def say_content(slots: Slots, wire: Wire, mark: Wire, quirks: Quirks, ledger: Ledger, *, answer: bool) -> None:
    where, form = ledger.where, mark.get("content", "")
    inner = [(i, b) for i, b in slots.parts if form == "parts" or not isinstance(b, MEDIA)]
    if not refusal_is_part(mark):
        inner = [(i, b) for i, b in inner if not isinstance(b, RefusalBlock)]
        declare_joined(slots.parts, RefusalBlock, ledger)
    length = 0
    for index, block in slots.parts:
        ledger.where = (*where, "content", index)
        if form != "parts" and isinstance(block, MEDIA):
            ledger.lose("dropped", f"an assistant message of {NAME} takes only text")
        if isinstance(block, RefusalBlock) and not refusal_is_part(mark):
            wire["refusal"] = "\n\n".join(filter(None, (wire.get("refusal"), block.text)))
            lose_marks(block, ledger)
        elif isinstance(block, TextBlock):
            if block.citations:
                say_annotations(block, length, wire, ledger, answer=answer or "annotations" in mark)
            length += len(block.text)
    plain = [(i, replace(b, citations=()) if isinstance(b, TextBlock) and b.citations else b) for i, b in inner]
    if form != "list" and writes_string([b for _, b in plain]):
        wire["content"] = plain[0][1].text  # type: ignore[union-attr]
    elif answer and form not in ("list", "parts") and all(isinstance(b, TextBlock) for _, b in plain) and plain:
        say_joined(plain, wire, where, ledger)
    elif plain:
        said = say_parts(plain, where, quirks, ledger)
        if said:
            wire["content"] = said
    ledger.where = where
    if "content" not in wire and "content" not in mark.get("blank", ()) and form != "absent":
        wire["content"] = None


def say_joined(texts: list[tuple[int, Block]], wire: Wire, where: tuple[str | int, ...], ledger: Ledger) -> None:
    """An answer's content is one string."""
    wire["content"] = "".join(block.text for _, block in texts)  # type: ignore[union-attr]
    for index, block in texts:
        ledger.where = (*where, "content", index)
        PARTS.encode(block, ledger)
        ledger.lose_form("approximated", f"an answer of {NAME} is one text; several were joined")


def say_parts(
    blocks: list[tuple[int, Block]], where: tuple[str | int, ...], quirks: Quirks, ledger: Ledger
) -> list[Wire]:
    said: list[Wire] = []
    for index, block in blocks:
        ledger.where = (*where, "content", index)
        wire = say_part(block, quirks, ledger)
        if wire is not None:
            said.append(wire)
    return said


def say_audio(slots: Slots, wire: Wire, ledger: Ledger) -> None:
    where = ledger.where
    for index, block in slots.audio:
        ledger.where = (*where, "content", index)
        source = block.source
        lose_marks(block, ledger)
        if isinstance(source, FileSource) and source.dialect in (None, NAME) and "audio" not in wire:
            wire["audio"] = own(NAME, {"id": source.file_id}, block)
            for path, value in ((("transcript",), block.transcript), (("source", "media_type"), source.media_type)):
                if value is not None:
                    ledger.lose_form("dropped", f"an assistant's audio in {NAME} is sent by its id alone", *path)
        elif isinstance(source, Base64Source) and "id" in block.extras.get(NAME, ()):
            said = {"data": source.data}
            if block.transcript is not None:
                said["transcript"] = block.transcript
            wire["audio"] = own(NAME, said, block)
        else:
            ledger.lose("dropped", f"an assistant's audio in {NAME} is sent by its issuer's id only", weight="state")
    ledger.where = where


def say_calls(slots: Slots, wire: Wire, ids: IdMap, ledger: Ledger) -> None:
    where, calls = ledger.where, list[Json]()
    for index, block in slots.calls:
        ledger.where = (*where, "content", index)
        if isinstance(block, OpaqueBlock):
            calls.append(block.raw["tool_call"])
        elif isinstance(block, ToolUseBlock) and "legacy" in marks(NAME, block):
            wire["function_call"] = say_legacy_call(block, ledger)
        elif isinstance(block, ToolUseBlock):
            calls.append(say_call(block, ids, ledger))
    if calls:
        wire["tool_calls"] = calls
    ledger.where = where
