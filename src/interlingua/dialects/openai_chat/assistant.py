"""Assistant messages, which are alike in requests and answers: slots on the wire, a list of blocks in our types.

The wire has one slot for each kind: reasoning, content, refusal, audio, calls. We read them in that order; blocks in
another order are moved, which is declared. Marks: those of the row of ``Turn``; ``refusal`` (it was a field although
the content had parts); on a call ``derived`` (the wire had no id; ours is never sent) and ``legacy`` (it was a
``function_call``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger
from ...codec.marks import marks, with_marks
from ...codec.rows.table import Table
from ...types.base import Json
from ...types.blocks import (
    AudioBlock,
    Block,
    Citation,
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    VideoBlock,
)
from . import rules
from .facts import DERIVED_ID, NAME, Quirks
from .rows import PARTS, Turn

Placed = list[tuple[int, Block]]
MEDIA = (ImageBlock, DocumentBlock, VideoBlock)
"""Blocks that an assistant's content cannot have, unless they were read there."""

# ------------------------------------------------------------------------------------------------------------- reading


def read_turn(table: Table, wire: Wire) -> Turn:
    """Read the slots of a message."""
    turn: Turn = table.read(wire)
    if turn.citations:
        turn = _read_citations(turn, wire)
    if turn.refusal is not None and marks(NAME, turn).get("content") == "parts":
        turn = with_marks(NAME, turn, refusal="field")  # a refusal may also be a part
    return turn


def _read_citations(turn: Turn, wire: Wire) -> Turn:
    """Citations belong to the text of a message. If it has several texts, or none, they become residue."""
    texts = [block for block in turn.content if type(block) is TextBlock]
    if len(texts) == 1 and texts[0].text:
        return turn
    residue = {**turn.extras.get(NAME, {}), "annotations": wire["annotations"]}
    return replace(turn, citations=(), extras={NAME: residue})


def read_blocks(turn: Turn) -> tuple[Block, ...]:
    """The blocks of a message in one order. Calls without an id get one from their place."""
    blocks = turn.content + turn.tool_calls
    if turn.thinking or turn.refusal or turn.audio is not None or turn.function_call is not None or turn.citations:
        blocks = _read_slots(turn)
    for block in turn.tool_calls:
        if type(block) is ToolUseBlock and not block.id:
            return number_calls(blocks)
    return blocks if turn.function_call is None else number_calls(blocks)


def _read_slots(turn: Turn) -> tuple[Block, ...]:
    blocks: list[Block] = [ThinkingBlock(turn.thinking)] if turn.thinking else []
    cited = turn.citations
    blocks += [replace(text, citations=cited) if cited and type(text) is TextBlock else text for text in turn.content]
    if turn.refusal:
        blocks.append(RefusalBlock(turn.refusal))
    if turn.audio is not None:
        blocks.append(turn.audio)
    blocks += turn.tool_calls
    if turn.function_call is not None:
        blocks.append(with_marks(NAME, turn.function_call, legacy=True))
    return tuple(blocks)


def number_calls(blocks: Sequence[Block], prefix: str = "call") -> tuple[Block, ...]:
    """The blocks, with an id made from their place for calls that have none."""
    return tuple(
        replace(with_marks(NAME, block, derived=True), id=f"{prefix}_{place}")
        if type(block) is ToolUseBlock and not block.id
        else block
        for place, block in enumerate(blocks)
    )


# ------------------------------------------------------------------------------------------------------------- writing


class Slots(NamedTuple):
    """The blocks of a message with their places, by the slot that holds them on the wire."""

    thinking: list[tuple[int, ThinkingBlock]]
    parts: Placed
    audio: list[tuple[int, AudioBlock]]
    calls: Placed


def rank_of(block: Block, mark: Mapping[str, Json]) -> int:
    """The rank of a block's slot: reasoning, content, refusal, audio, calls."""
    if type(block) is ToolUseBlock or (type(block) is OpaqueBlock and _is_call(block)):
        return 4
    if type(block) is AudioBlock:
        return 3
    if type(block) is ThinkingBlock and not is_part(block):
        return 0
    return 2 if type(block) is RefusalBlock and not refusal_is_part(mark) else 1


def is_part(block: ThinkingBlock) -> bool:
    """Whether reasoning is a part of the content."""
    return "part" in marks(NAME, block).get("verbatim", ())


def refusal_is_part(mark: Mapping[str, Json]) -> bool:
    return mark.get("content") == "parts" and "refusal" not in mark


def _is_call(block: OpaqueBlock) -> bool:
    raw: Json = block.raw
    return block.dialect == NAME and is_object(raw) and raw.keys() == {"tool_call"}


def sort_slots(blocks: Iterable[tuple[int, Block]], mark: Mapping[str, Json], ledger: Ledger) -> Slots:
    """Put every block into its slot, and declare those that are moved by it."""
    slots, highest = Slots([], [], [], []), 0
    by_rank: Any = (slots.thinking, slots.parts, slots.parts, slots.audio, slots.calls)
    for index, block in ledger.each(blocks, "content"):
        is_chat = type(block) is OpaqueBlock and block.dialect == NAME
        if not is_chat and type(block) is not ToolUseBlock and type(block) not in PARTS.by_type:
            PARTS.interpret_write(block, ledger)
            continue
        rank = rank_of(block, mark)
        by_rank[rank].append((index, block))
        if rank < highest:
            ledger.lose("moved", f"{NAME} has reasoning, text and calls in that order")
        highest = max(rank, highest)
    return slots


def declare_joined(blocks: Iterable[tuple[int, Block]], kind: type[Block], ledger: Ledger) -> None:
    """Declare that several blocks of a kind are joined, because their slot holds one text."""
    indexes = [index for index, block in blocks if isinstance(block, kind)]
    for index in indexes if len(indexes) > 1 else ():
        noun = kind.__struct_config__.tag
        ledger.lose_form("moved", f"{NAME} has one {noun} per message; joined", "content", index)


def declare_cited(blocks: Iterable[tuple[int, Block]], ledger: Ledger) -> None:
    """Declare that citations move to the message, which does not tell which of several texts they belong to."""
    texts = [(index, block) for index, block in blocks if isinstance(block, TextBlock)]
    for index, text in texts if len(texts) > 1 else ():
        if text.citations:
            ledger.lose_form("moved", f"{NAME} has citations on the message", "content", index, "citations")


def lose_marks(block: Block, ledger: Ledger) -> None:
    """Declare signature, cache mark and residue of a block lost, because its slot holds only its text."""
    for name in ("signature", "cache"):
        if getattr(block, name) is not None:
            ledger.lose("dropped", f"an assistant's {block.type} in {NAME} has no {name}", name)
    ledger.lose_foreign_extras(block, NAME)


def usual_turn(blocks: tuple[Block, ...]) -> Turn | None:
    """The slots of texts followed by calls, which have the order of the wire already; None for other blocks."""
    texts = calls = 0
    for block in blocks:
        if type(block) is ToolUseBlock:
            if block.forms and "derived" in marks(NAME, block):
                return None
            calls += 1
        elif type(block) is not TextBlock or calls or block.citations:
            return None
        else:
            texts += 1
    return Turn(blocks[:texts], blocks[texts:])


def regroup(
    blocks: Iterable[tuple[int, Block]], mark: Mapping[str, Json], quirks: Quirks, ledger: Ledger, *, answer: bool
) -> tuple[Turn, dict[str, str]]:
    """The slots of these blocks, and where each path on the wire stands in our types (see ``Ledger.relocate``).

    ``answer``: a server writes it, which may show reasoning and cite.
    """
    slots = sort_slots(blocks, mark, ledger)
    places: dict[str, str] = {}
    verbatim = mark.get("verbatim", ())
    thinking = None
    if slots.thinking:
        shown = answer or quirks.thinking_key is not None or "thinking" in verbatim
        thinking = join_thoughts(slots.thinking, ledger, shown=shown)
    if quirks.replay_thinking and slots.calls and not answer:
        thinking = thinking or ""
    citations = place_citations(slots.parts, ledger, places, allowed=answer or "citations" in verbatim)
    content = content_of(slots.parts, mark, ledger, answer=answer)
    if citations and len(content) > 1:
        declare_cited(slots.parts, ledger)
    legacy = [(index, block) for index, block in slots.calls if type(block) is ToolUseBlock and is_legacy(block)]
    for index, block in legacy:
        if not DERIVED_ID.fullmatch(block.id):
            ledger.lose_form("dropped", f"a legacy `function_call` of {NAME} has no id", "content", index, "id")
    calls = [(index, _without_id(block)) for index, block in slots.calls if not is_legacy(block)]
    audio = pick_audio(slots.audio, ledger)
    start = "".join([f"{step}/" for step in ledger.where])
    for name, placed in (("content", content), ("tool_calls", calls)):
        places |= {f"{start}{name}/{at}": f"{start}content/{index}" for at, (index, _) in enumerate(placed)}
    places |= {f"{start}audio": f"{start}content/{index}" for index, _ in audio}
    places |= {f"{start}function_call": f"{start}content/{index}" for index, _ in legacy}
    turn = Turn(
        tuple([block for _, block in content]),
        tuple([block for _, block in calls]),
        thinking,
        refusal_of(slots.parts, mark, ledger),
        audio[0][1] if audio else None,
        legacy[-1][1] if legacy else None,
        citations,
    )
    return turn, places


def joined(texts: Iterable[tuple[int, Any]], ledger: Ledger, joint: str = "\n\n", moved: str = "") -> str:
    """The texts of blocks that share a slot, joined. ``moved`` is the reason to declare each as moved, if any."""
    found: list[str] = []
    for _, block in ledger.each(texts, "content"):
        lose_marks(block, ledger)
        if moved:
            ledger.lose_form("moved", moved)
        found.append(block.text)
    return joint.join(filter(None, found))


def join_thoughts(thoughts: Sequence[tuple[int, ThinkingBlock]], ledger: Ledger, *, shown: bool) -> str | None:
    """The reasoning as one text; None if it is not ``shown``: OpenAI takes none in a request, some servers do."""
    text = None
    if shown:
        declare_joined(thoughts, ThinkingBlock, ledger)
        text = joined(thoughts, ledger)
    for _, block in ledger.each(thoughts, "content"):
        if not shown:
            ledger.lose("dropped", f"{NAME} takes no reasoning in a request", weight="state")
        elif not block.text:
            ledger.lose("dropped", f"reasoning of {NAME} is text, and this has none", weight="state")
    return text


def refusal_of(parts: Placed, mark: Mapping[str, Json], ledger: Ledger) -> str | None:
    """The refusals as one text; None if there are none, or if they are parts of the content."""
    refusals = [placed for placed in parts if type(placed[1]) is RefusalBlock]
    if not refusals or refusal_is_part(mark):
        return None
    declare_joined(refusals, RefusalBlock, ledger)
    return joined(refusals, ledger)


def content_of(parts: Placed, mark: Mapping[str, Json], ledger: Ledger, *, answer: bool) -> Placed:
    """The parts of the content. The content of an answer is one text, unless it was read as a list."""
    form = mark.get("content")
    content: Placed = []
    for index, block in parts:
        if type(block) is TextBlock:
            content.append((index, replace(block, citations=()) if block.citations else block))
        elif type(block) is RefusalBlock:
            content += [(index, block)] if refusal_is_part(mark) else []
        elif form != "parts" and isinstance(block, MEDIA):
            ledger.lose("dropped", f"an assistant message of {NAME} takes only text", "content", index)
        else:
            content.append((index, block))
    texts = [block for _, block in content if type(block) is TextBlock]
    one = len(content) == 1 and texts and texts[0] == TextBlock(texts[0].text) and texts[0].text
    if answer and form not in ("list", "parts") and len(texts) == len(content) and content and not one:
        why = f"an answer of {NAME} is one text; several were joined"
        return [(content[0][0], TextBlock(joined(content, ledger, "", why)))]
    return content


def pick_audio(sounds: Sequence[tuple[int, AudioBlock]], ledger: Ledger) -> list[tuple[int, AudioBlock]]:
    """The first audio that this provider has issued, if any. All others are declared lost."""
    found: list[tuple[int, AudioBlock]] = []
    for index, block in ledger.each(sounds, "content"):
        if rules.ISSUED.holds(block) and not found:
            found.append((index, block))
        else:
            rules.ISSUED.fit(block, ledger)
    return found


def is_legacy(block: Block) -> bool:
    """Whether a call was a ``function_call``."""
    return "legacy" in marks(NAME, block)


def _without_id(block: Block) -> Block:
    """The call as it was read: without its id, if we made it."""
    if type(block) is ToolUseBlock and "derived" in marks(NAME, block) and DERIVED_ID.fullmatch(block.id):
        return replace(block, id="")
    return block


# ----------------------------------------------------------------------------------------------------------- citations


def place_citations(parts: Placed, ledger: Ledger, places: dict[str, str], *, allowed: bool) -> tuple[Citation, ...]:
    """The citations of all texts, with positions in the whole content; their paths are added to ``places``."""
    found: list[Citation] = []
    length, start = 0, "".join([f"{step}/" for step in ledger.where])
    for index, block in parts:
        if type(block) is not TextBlock:
            continue
        if block.citations and not (allowed and block.text):
            why = f"citations of {NAME} have a position in the text, and it is empty"
            ledger.lose("dropped", why if allowed else rules.NO_CITATIONS, "content", index, "citations")
        elif block.citations:
            for at, citation in enumerate(block.citations):
                places[f"{start}citations/{len(found)}"] = f"{start}content/{index}/citations/{at}"
                path = ("content", index, "citations", at)
                found.append(with_place(citation, (length, length + len(block.text)), ledger, *path))
        length += len(block.text)
    return tuple(found)


def with_place(citation: Citation, span: tuple[int, int], ledger: Ledger, *path: str | int) -> Citation:
    """The citation; if it has no position, with ``span``, the position of its text in the whole content."""
    if citation.kind != "url" or citation.url is None or "start" in marks(NAME, citation).get("verbatim", ()):
        return citation
    placed = {"start": span[0], "end": span[1]}
    missing = {name: place for name, place in placed.items() if getattr(citation, name) is None}
    for name in missing:
        ledger.lose_form("added", f"{NAME} requires a position; that of the text was added", *path, name)
    return replace(citation, **missing) if missing else citation
