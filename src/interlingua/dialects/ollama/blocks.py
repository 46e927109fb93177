"""What an Ollama message says: a thought, a text, pictures, calls. Left column ours, right column theirs.

The wire has a place for each kind and no order among them: blocks are read in the order of ``PLACES``, and one that
stood elsewhere is moved. ``content`` and ``thinking`` are one string each: several blocks are joined by a blank line.

Marks on a call: ``derived`` (the id that we gave it: the wire had none, or that in ``id``), ``numbered`` and
``unnumbered`` (``function.index`` stands where we would not write it, or is missing where we would), ``type``,
``arguments`` (they came as a string). Everywhere: ``absent``, keys that we would write and the wire did not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...codec.arguments import read_arguments, write_arguments
from ...codec.history import is_plain
from ...codec.incomplete import is_left_out
from ...codec.json import is_object
from ...codec.stream import dump
from ...codec.tables import Ledger, kept, marks, own, take
from ...types.base import Json
from ...types.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    OpaqueBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
    TextBlock,
    TextSource,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)

NAME = "ollama"
Wire = dict[str, Json]
Place = tuple[str | int, ...]

PLACES = ("thinking", "content", "images", "tool_calls", "context")
JOINT = "\n\n"
"""Between texts that were blocks. The server's own templates join turns so."""

# The first characters of a picture in base64, for the wire does not say what it is.
PICTURES = (
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
    ("Qk", "image/bmp"),
    ("SUkqA", "image/tiff"),
    ("TU0AK", "image/tiff"),
)
UNKNOWN_PICTURE = "application/octet-stream"


def media_type(data: str) -> str:
    return next((kind for start, kind in PICTURES if data.startswith(start)), UNKNOWN_PICTURE)


# ------------------------------------------------------------------------------------------------------------ reading


Mint = Callable[[int], str]


def read_blocks(rest: Wire, forms: Wire, blanks: Wire, mint: Mint, *, answer: bool) -> list[Block]:
    """Pop what a message says. ``mint`` names a call without an id by its place; ``answer``: the server wrote it."""
    text = read_text(rest, forms, blanks)
    if not rest:
        return [TextBlock(text)] if text else []
    blocks: list[Block] = []
    if thinking := take_typed(rest, "thinking", str, blanks):
        blocks.append(ThinkingBlock(text=thinking))
    if text:
        blocks.append(TextBlock(text))
    blocks += map(read_image, take_typed(rest, "images", list, blanks) or ())
    for number, call in enumerate(take_typed(rest, "tool_calls", list, blanks) or ()):
        blocks.append(read_call(call, number, len(blocks), mint, answer=answer))
    return blocks


def take_typed(rest: Wire, key: str, kind: type, blanks: Wire) -> Json:
    """Pop a known key; what is neither blank nor of its kind is left to be residue."""
    if key not in rest or not (rest[key] is None or type(rest[key]) is kind):
        return None
    return take(rest, key, blanks)


def read_text(rest: Wire, forms: Wire, blanks: Wire) -> str:
    """An empty string is how a message without text is written."""
    content = rest.get("content", blanks)
    if type(content) is str:
        return str(rest.pop("content"))
    if content is None:
        blanks["content"] = rest.pop("content")
    else:
        forms.setdefault("absent", []).append("content")
    return ""


def read_image(wire: Json) -> Block:
    if type(wire) is not str or wire.startswith("data:"):  # the server refuses a data URL
        return OpaqueBlock(dialect=NAME, raw={"images": wire})
    return ImageBlock(source=Base64Source(media_type(wire), wire))


def read_call(wire: Json, number: int, place: int, mint: Mint, *, answer: bool) -> Block:
    if not is_object(wire) or not is_object(wire.get("function")):
        return OpaqueBlock(dialect=NAME, raw={"tool_calls": wire})
    rest, forms, blanks, inner = dict(wire), Wire(), Wire(), dict(wire["function"])
    del rest["function"]
    fields = read_function(inner, number, forms, blanks, answer=answer)
    if fields is None:
        return OpaqueBlock(dialect=NAME, raw={"tool_calls": wire})
    if inner:
        rest["function"] = inner
    if rest.get("type") == "function":
        forms["type"] = rest.pop("type")
    id = take(rest, "id", blanks)
    fields["id"] = id if type(id) is str else read_id(id, mint(place), forms)
    return ToolUseBlock(**fields, **kept(NAME, rest, forms, blanks))


def read_id(id: Json, derived: str, forms: Wire) -> str:
    if type(id) is str and id == derived:
        return id
    forms["derived"] = derived
    if id is not None:
        forms["id"] = id
    return derived


def read_function(inner: Wire, number: int, forms: Wire, blanks: Wire, *, answer: bool) -> dict[str, Any] | None:
    if type(inner.get("name")) is not str:
        return None
    fields: dict[str, Any] = {"name": inner.pop("name")}
    if inner.get("index", number) == number and type(inner.get("index", 0)) is int:
        numbered = inner.pop("index", None) is not None
        if numbered is not answer:
            forms["numbered" if numbered else "unnumbered"] = True
    arguments = inner.pop("arguments", inner)
    if arguments is inner:
        forms.setdefault("absent", []).append("arguments")
    elif type(arguments) is dict:
        fields["input"] = arguments
    elif type(arguments) is str:
        forms["arguments"] = "string"
        fields["input"], fields["input_text"] = read_arguments(arguments)
    elif arguments is None:
        blanks["function"] = {"arguments": None}
    else:
        return None
    return fields


# ------------------------------------------------------------------------------------------------------------- saying

Said = tuple[str, Json] | None


def say_attributes(block: Block, ledger: Ledger) -> None:
    """Declare what no block can carry here."""
    if block.signature is not None:
        ledger.lose("dropped", f"{NAME} has no signatures", "signature", weight="state")
    if block.cache is not None:
        ledger.lose("dropped", f"{NAME} has no cache marks", "cache")
    if block.extras:
        ledger.foreign(block, NAME)


def say_text(block: TextBlock, ledger: Ledger) -> Said:
    if block.citations:
        ledger.lose("dropped", f"{NAME} has no citations", "citations")
    if not block.text:
        ledger.lose_form("dropped", f"{NAME} has no empty texts")
        return None
    return "content", block.text


def say_thinking(block: ThinkingBlock, ledger: Ledger) -> Said:
    if not block.text:
        ledger.lose("dropped", f"{NAME} has no empty thinking", weight="state")
        return None
    return "thinking", block.text


def say_image(block: ImageBlock, ledger: Ledger) -> Said:
    source = block.source
    if not isinstance(source, Base64Source):
        ledger.lose("dropped", f"{NAME} takes images as data only, not by URL or file id")
        return None
    if source.media_type != media_type(source.data):
        ledger.lose_form("dropped", f"images of {NAME} have no media type", "source", "media_type")
    if block.detail is not None:
        ledger.lose("dropped", f"{NAME} has no `detail` of images", "detail")
    ledger.foreign(source, NAME, "source")
    return "images", source.data


def say_document(block: DocumentBlock, ledger: Ledger) -> Said:
    if not isinstance(block.source, TextSource) or not block.source.text:
        ledger.lose("dropped", f"{NAME} takes no documents")
        return None
    ledger.lose("approximated", f"{NAME} takes no documents; sent as text")
    return "content", block.source.text


def say_json(block: JsonBlock, ledger: Ledger) -> Said:
    ledger.lose_form("approximated", f"{NAME} has no JSON here; sent as JSON text")
    return "content", dump(block.value).decode()


def say_refusal(block: RefusalBlock, ledger: Ledger) -> Said:
    ledger.lose("approximated", f"{NAME} has no refusals; sent as text")
    return ("content", block.text) if block.text else None


def say_opaque(block: OpaqueBlock, ledger: Ledger) -> Said:
    if block.dialect != NAME or not is_object(block.raw) or len(block.raw) != 1:
        ledger.opaque(block)
        return None
    key = next(iter(block.raw))
    return key, block.raw[key]


def say_call(block: ToolUseBlock, ledger: Ledger) -> Said:
    mark = marks(NAME, block)
    wire: Wire = {"function": {"name": block.name}}
    say_id(block.id, mark, wire, "id", ledger)
    if "type" in mark:
        wire["type"] = mark["type"]
    arguments = say_arguments(block, mark, ledger)
    if arguments or not ("arguments" in mark.get("absent", ()) or "function" in mark.get("blank", ())):
        wire["function"]["arguments"] = arguments
    return "tool_calls", own(NAME, wire, block)


def say_id(id: str, mark: Wire, wire: Wire, key: str, ledger: Ledger) -> None:
    """An id that we made up ourselves is never sent."""
    if id and mark.get("derived") == id:
        if "id" in mark:
            wire[key] = mark["id"]
    elif id:
        wire[key] = id
    else:
        ledger.lose_form(
            "added", f"a call of {NAME} without an id goes by position", "id" if key == "id" else "tool_use_id"
        )


def say_arguments(block: ToolUseBlock, mark: Wire, ledger: Ledger) -> Json:
    if block.kind == "text":
        ledger.lose("approximated", f"{NAME} has no free-text calls; sent as one string `input`", "input_text")
        ledger.lose("added", f"{NAME} has no free-text calls; sent as one string `input`", "input")
        ledger.lose("approximated", f"{NAME} has no free-text calls; sent as one string `input`", "kind")
        return {"input": block.input_text or ""}
    if mark.get("arguments") == "string":
        return write_arguments(block.input, block.input_text)
    if block.input_text is not None:
        ledger.lose_form("dropped", f"{NAME} takes parsed arguments, not the text", "input_text")
    return block.input


# canonical             said as
WORDS: dict[type, Callable[[Any, Ledger], Said] | None] = {
    TextBlock: say_text,
    ThinkingBlock: say_thinking,
    ImageBlock: say_image,
    ToolUseBlock: say_call,
    JsonBlock: say_json,
    RefusalBlock: say_refusal,
    DocumentBlock: say_document,
    OpaqueBlock: say_opaque,
    RedactedThinkingBlock: None,  # no word for it: using it is a Loss
    AudioBlock: None,
    VideoBlock: None,
    ServerToolUseBlock: None,
    ServerToolResultBlock: None,
    ToolResultBlock: None,  # a turn of its own: messages.py
}


def say_block(block: Block, ledger: Ledger) -> Said:
    """The wire key a block goes under and what it adds there, or nothing after declaring a loss."""
    say = WORDS.get(type(block))
    if say is None:
        ledger.lose("dropped", f"{NAME} has no {block.type} blocks")
        return None
    said = say(block, ledger)
    if said is not None:
        say_attributes(block, ledger)
    return said


def say_blocks(
    placed: Sequence[tuple[Place, Block]], ledger: Ledger, *, answer: bool = False, context: bool = False
) -> Wire:
    """The keys of a message, and ``context`` where there may be one. ``answer``: as the server writes it."""
    if len(placed) == 1 and type(only := placed[0][1]) is TextBlock and only.text and is_plain(only):
        return {"content": only.text}
    where = ledger.where
    parts: dict[str, list[tuple[Place, Json]]] = {key: [] for key in PLACES}
    order: list[tuple[int, Place]] = []
    for place, block in placed:
        ledger.where = place
        said = None if answer and is_left_out(block, NAME, ledger) else say_block(block, ledger)
        if said is None:
            continue
        key, value = said
        if key not in PLACES or (key == "context" and not context):
            ledger.lose("dropped", f"a message of {NAME} has no {key}")
            continue
        if key == "tool_calls" and type(block) is ToolUseBlock:
            say_number(value["function"], marks(NAME, block), len(parts[key]), answer=answer)
        order.append((PLACES.index(key), place))
        parts[key].append((place, value))
    lose_order(order, ledger)
    wire = say_parts(parts, ledger)
    ledger.where = where
    return wire


def lose_order(order: list[tuple[int, Place]], ledger: Ledger) -> None:
    for before, after in zip(order, sorted(order, key=lambda member: member[0]), strict=True):
        if before is not after:
            ledger.where = before[1]
            ledger.lose("moved", f"a message of {NAME} holds thinking, text, images and calls in that order")


def say_parts(parts: dict[str, list[tuple[Place, Json]]], ledger: Ledger) -> Wire:
    wire: Wire = {"content": joined(parts["content"], ledger)}
    if parts["thinking"]:
        wire["thinking"] = joined(parts["thinking"], ledger)
    for key in ("images", "tool_calls"):
        if parts[key]:
            wire[key] = [value for _, value in parts[key]]
    if parts["context"]:
        wire["context"] = parts["context"][-1][1]
    return wire


def say_number(function: Wire, mark: Wire, number: int, *, answer: bool) -> None:
    """The server numbers the calls of an answer; clients send them back without."""
    if "index" not in function and ("unnumbered" not in mark if answer else "numbered" in mark):
        function["index"] = number


def joined(texts: list[tuple[Place, str]], ledger: Ledger) -> str:
    if len(texts) > 1:
        for place, _ in texts:
            ledger.where = place
            ledger.lose_form("approximated", f"{NAME} has one text per message; joined by blank lines")
    return JOINT.join(text for _, text in texts)
