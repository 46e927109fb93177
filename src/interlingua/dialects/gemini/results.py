"""Function responses: between an object, which the protocol demands, and what a tool said.

``{"output": …}`` and ``{"error": …}`` are the protocol's own words for a result and a failure; any other object is the
result itself. A text goes as ``output``, unless it spells an object just as we would write it: then as that object.
Marks on a result: ``id`` (the one that we gave it: the wire had none), ``name`` (absent), ``response`` (it was absent,
or held as ``output`` what we would write as an object).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ...codec.arguments import parse_object
from ...codec.history import is_plain
from ...codec.stream import dump
from ...codec.tables import BlockTable, Ledger, kept, marks
from ...types.base import Json
from ...types.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    OpaqueBlock,
    RefusalBlock,
    TextBlock,
    ToolResultBlock,
    VideoBlock,
)
from .key_case import Wire, is_array, is_object
from .media import FAILURES_ONLY, KEYS, NAME, ROWS, tag_of

PARTS = BlockTable(NAME, *ROWS, tagged="key")
MEDIA = (ImageBlock, AudioBlock, VideoBlock, DocumentBlock, OpaqueBlock)


def is_wrapped(value: Json) -> bool:
    """Whether an object would be read as something else than the result itself."""
    if not is_object(value) or not value:
        return True
    if len(value) > 1:
        return False
    if "output" in value:
        return is_wrapped(value["output"])
    return "error" in value


def spelled_object(text: str) -> dict[str, Json] | None:
    """The object that a text spells just as we would write it."""
    value = parse_object(text) if text.startswith("{") else None
    return value if value is not None and not is_wrapped(value) and dump(value) == text.encode() else None


def read_result(rest: Wire) -> dict[str, Any] | None:
    """The fields of a result; an id that is not there is left empty, for the reader of the turn to find."""
    wire: Wire = rest.pop("functionResponse")
    forms, blanks = Wire(), Wire()
    fields: dict[str, Any] = {"tool_use_id": _word(wire, "id", blanks) or "", "name": _word(wire, "name", blanks)}
    if fields["name"] is None:
        forms["name"] = "absent"
    content = read_response(wire, fields, forms)
    parts = wire.get("parts")
    if is_array(parts) and parts:
        content += tuple(map(read_result_part, wire.pop("parts")))
    elif parts is not None or "parts" in wire:
        blanks["parts"] = wire.pop("parts")
    fields["content"] = content
    if wire:
        rest["functionResponse"] = wire
    return {**fields, **kept(NAME, {}, forms, {"functionResponse": blanks} if blanks else {})}


def _word(wire: Wire, key: str, blanks: Wire) -> str | None:
    value = wire.get(key)
    if type(value) is str and value:
        del wire[key]
        return value
    if key in wire and not value:
        blanks[key] = wire.pop(key)
    return None


def read_response(wire: Wire, fields: dict[str, Any], forms: Wire) -> tuple[Block, ...]:
    response = wire.get("response")
    if not is_object(response):
        forms["response"] = "absent"
        return ()
    del wire["response"]
    if not response:
        return ()
    if not is_wrapped(response):
        return (JsonBlock(value=response),)
    ((key, said),) = response.items()
    if key == "error":
        fields["is_error"] = True
    elif type(said) is str and spelled_object(said) is not None:
        forms["response"] = "output"
    return (TextBlock(said),) if type(said) is str else (JsonBlock(value=said),)


def read_result_part(wire: Json) -> Block:
    if is_object(wire) and any(is_object(wire.get(key)) for key in KEYS):
        block = PARTS.decode({tag_of(wire): None, **wire})
        if getattr(block, "detail", None) is None and getattr(block, "transcript", None) is None:
            return block
        return replace(block, forms={NAME: {**marks(NAME, block), "detailed": True}})
    return OpaqueBlock(dialect=NAME, raw=wire)


def say_result(block: ToolResultBlock, ledger: Ledger) -> Wire:
    """A result without what only the history knows."""
    mark = marks(NAME, block)
    wire: Wire = {} if "id" in mark else {"id": block.tool_use_id}
    if mark.get("id", block.tool_use_id) != block.tool_use_id:
        ledger.lose_form("dropped", f"{NAME} gave this call no id, so none is sent", "tool_use_id")
    if block.name is not None:
        wire["name"] = block.name
    words: list[tuple[int, Block]] = [(i, b) for i, b in enumerate(block.content) if not isinstance(b, MEDIA)]
    response = say_response(block, words, ledger)
    if response or mark.get("response") != "absent":
        wire["response"] = response
    parts = list(say_parts(block, words[0][0] if words else 0, ledger))
    if parts:
        wire["parts"] = parts
    if block.is_error is False:
        ledger.lose_form("dropped", FAILURES_ONLY, "is_error")
    return {"functionResponse": wire}


def say_parts(block: ToolResultBlock, first_word: int, ledger: Ledger) -> Iterator[Wire]:
    """The media of a result, which come after its words."""
    where = ledger.where
    for index, inner in enumerate(block.content):
        if isinstance(inner, MEDIA):
            ledger.where = (*where, "content", index)
            wire = PARTS.encode(_bare(inner, ledger), ledger)
            if wire is not None:
                yield wire
                if index < first_word:
                    ledger.lose_form("moved", f"media in a result of {NAME} come after its text")
    ledger.where = where


def _bare(block: Block, ledger: Ledger) -> Block:
    """Media inside a result have no words beside them, unless they were read so."""
    for field in ("detail", "transcript"):
        if getattr(block, field, None) is not None and "detailed" not in marks(NAME, block):
            ledger.lose("dropped", f"media in a result of {NAME} have no {field}", field)
            block = replace(block, **{field: None})
    return block


def say_response(block: ToolResultBlock, words: list[tuple[int, Block]], ledger: Ledger) -> Wire:
    key = "error" if block.is_error else "output"
    for index, inner in words:
        lose_attributes(inner, ledger, "content", index)
    if not words:
        if block.is_error:
            ledger.lose_form("added", f"a failed result of {NAME} needs a text; added", "content")
        return {"error": ""} if block.is_error else {}
    if len(words) == 1:
        index, only = words[0]
        if type(only) is JsonBlock:
            return say_json(only, key, ledger, index)
        if type(only) is TextBlock:
            return say_text(only, key, marks(NAME, block), ledger, index)
    for index, inner in words:
        ledger.lose_form("approximated", f"a result of {NAME} is one text; several were joined", "content", index)
        if type(inner) is not JsonBlock and not isinstance(inner, TextBlock | RefusalBlock):
            ledger.lose("dropped", f"a result of {NAME} has no {inner.type} blocks", "content", index)
    return {key: "\n".join(said for _, inner in words if (said := as_text(inner)) is not None)}


def lose_attributes(block: Block, ledger: Ledger, *path: str | int) -> None:
    """The words of a result carry nothing but themselves."""
    if is_plain(block):
        return
    for field in ("citations", "cache", "signature"):
        if getattr(block, field, None):
            ledger.lose(
                "dropped",
                f"text in a result of {NAME} has no {field}",
                *path,
                field,
                weight="state" if field == "signature" else "content",
            )
    ledger.foreign(block, "", *path)


def as_text(block: Block) -> str | None:
    if isinstance(block, TextBlock | RefusalBlock):
        return block.text
    return dump(block.value).decode() if type(block) is JsonBlock else None


def say_json(block: JsonBlock, key: str, ledger: Ledger, index: int) -> Wire:
    if isinstance(block.value, str):
        ledger.lose_form("approximated", f"{NAME} reads a JSON string in a result as text", "content", index)
    value: Json = block.value
    return {key: value} if key == "error" or is_wrapped(value) else value


def say_text(block: TextBlock, key: str, mark: Wire, ledger: Ledger, index: int) -> Wire:
    value = spelled_object(block.text) if key == "output" and mark.get("response") != "output" else None
    if value is None:
        return {key: block.text}
    ledger.lose_form("approximated", f"{NAME} reads text that is a JSON object as the object", "content", index)
    return value
