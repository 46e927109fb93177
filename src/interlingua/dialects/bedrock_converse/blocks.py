"""The blocks of Bedrock Converse: left column ours, right column theirs. A block is tagged by its only key.

A cache point is a block of its own on the wire and a mark on the block before it here: ``gather`` and ``scatter`` are
the way between. One that has nothing before it is carried whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ...codec.stream import dump
from ...codec.tables import BlockTable, CacheWord, Ledger, Row, kept, marks
from ...types.base import Json
from ...types.blocks import (
    AudioBlock,
    Block,
    CacheMark,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)
from .citations import read_cited, read_text, say_text
from .media import (
    read_document,
    read_media,
    say_audio,
    say_document,
    say_image,
    say_video,
)
from .names import NAME, Scribe
from .wire import Wire, is_array, is_object, leave, opened, pop_text, take_text

TTLS = ("5m", "1h")
STATUS = {"success": False, "error": True}
STATUS_WORDS = {False: "success", True: "error"}
SERVER_CALL = "server_tool_use"


def say_cache(mark: CacheMark, ledger: Ledger) -> Wire:
    wire: Wire = {"type": "default"}
    if mark.ttl in TTLS:
        wire["ttl"] = mark.ttl
    elif mark.ttl is not None:
        ledger.lose("dropped", f"{NAME} caches for {' or '.join(TTLS)} only", "cache", "ttl")
    return wire


def read_cache(wire: Json) -> CacheMark | None:
    if not is_object(wire) or wire.get("type") != "default":
        return None
    rest = {key: value for key, value in wire.items() if key != "type"}
    ttl = rest.pop("ttl") if rest.get("ttl") in TTLS else None
    return CacheMark(ttl=ttl, **kept(NAME, rest, {}, {}))


CACHE = CacheWord("cachePoint", say_cache, read_cache)


def gather(wires: Iterable[Json]) -> list[Json]:
    """Wire blocks, each with the cache point that followed it as a key of its own."""
    found: list[Json] = []
    for wire in wires:
        point = wire.get("cachePoint") if is_object(wire) and len(wire) == 1 else None
        before: Json = found[-1] if found else None
        if read_cache(point) is not None and is_object(before) and "cachePoint" not in before:
            found[-1] = {**before, "cachePoint": point}
        else:
            found.append(wire)
    return found


def scatter(wire: Json) -> list[Wire]:
    """A block as it goes out: itself, then its cache point."""
    if not is_object(wire) or "cachePoint" not in wire or len(wire) == 1:
        return [wire]
    return [{key: value for key, value in wire.items() if key != "cachePoint"}, {"cachePoint": wire["cachePoint"]}]


def read_guarded(rest: Wire) -> dict[str, Any] | None:
    """Text for the guardrail to judge. (A guarded image is read by a table of its own: it is another block.)"""
    inner = opened(rest, "guardContent")
    text = opened(inner, "text")
    fields = {"text": pop_text(text, "text"), "forms": {NAME: {"tag": "guardContent"}}}
    leave(inner, "text", text)
    leave(rest, "guardContent", inner)
    return fields


def read_guarded_image(rest: Wire) -> dict[str, Any] | None:
    inner = opened(rest, "guardContent")
    fields = read_media("image")(inner)
    if fields is None:
        return None
    leave(rest, "guardContent", inner)
    fields.setdefault("forms", {NAME: {}})[NAME]["tag"] = "guardContent"
    return fields


def read_reasoning(rest: Wire) -> dict[str, Any]:
    inner, blanks = opened(rest, "reasoningContent"), Wire()
    said = opened(inner, "reasoningText")
    fields = {"text": pop_text(said, "text"), "signature": take_text(said, "signature", blanks)}
    leave(inner, "reasoningText", said)
    leave(rest, "reasoningContent", inner)
    return {**fields, **kept(NAME, {}, {}, {"reasoningContent": {"reasoningText": blanks}} if blanks else {})}


def say_thinking(block: ThinkingBlock, ledger: Ledger) -> Wire:
    said: Wire = {"text": block.text}
    if block.signature is not None:
        said["signature"] = block.signature
    return {"reasoningContent": {"reasoningText": said}}


def say_redacted(block: RedactedThinkingBlock, ledger: Ledger) -> Wire:
    return {"reasoningContent": {"redactedContent": block.data}}


def read_redacted(rest: Wire) -> dict[str, Any]:
    inner = opened(rest, "reasoningContent")
    fields = {"data": pop_text(inner, "redactedContent")}
    leave(rest, "reasoningContent", inner)
    return fields


def read_call(rest: Wire) -> dict[str, Any] | None:
    inner, forms = opened(rest, "toolUse"), Wire()
    fields: dict[str, Any] = {"id": pop_text(inner, "toolUseId"), "name": pop_text(inner, "name")}
    fields["input"] = inner.pop("input")
    if not is_object(fields["input"]):
        return None
    if inner.get("type") == "tool_use":
        forms["type"] = inner.pop("type")
    leave(rest, "toolUse", inner)
    return {**fields, **kept(NAME, {}, forms, {})}


def say_call(block: ToolUseBlock, ledger: Ledger) -> Wire:
    mark, input = marks(NAME, block), block.input
    if block.kind == "text":
        ledger.lose("approximated", f"{NAME} has no free-text calls; sent as one string `input`", "input_text")
        ledger.lose("approximated", f"{NAME} has no free-text calls; sent as one string `input`", "kind")
        ledger.lose("added", f"{NAME} has no free-text calls; sent as one string `input`", "input")
        input = {"input": block.input_text or ""}
    elif block.input_text is not None:
        ledger.lose_form("dropped", f"{NAME} takes parsed arguments, not the text", "input_text")
    wire: Wire = {"toolUseId": fit_id(block.id, "id", mark, ledger), "name": block.name, "input": input}
    if isinstance(ledger, Scribe) and "verbatim" not in mark:
        wire["name"] = fit_tool_name(block.name, ledger, "name")
    elif "type" in mark:  # answers have it, requests may not
        wire["type"] = mark["type"]
    return {"toolUse": wire}


def fit_id(original: str, key: str, mark: Wire, ledger: Ledger) -> str:
    """The id as the service takes it. Answers keep theirs: the caller must get back what was issued."""
    if "verbatim" in mark or not isinstance(ledger, Scribe):
        return original
    assert ledger.ids is not None
    fitted = ledger.ids.fit(original)
    if fitted != original:
        ledger.lose_form("approximated", f"{NAME} takes ids of 64 letters, digits and _.:-; one derived", key)
    return fitted


def fit_tool_name(name: str, ledger: Scribe, *path: str) -> str:
    fitted = ledger.tools.fit(name)
    if fitted != name:
        ledger.lose("approximated", f"tool names of {NAME} are up to 64 of A-Z a-z 0-9 _ -; one was derived", *path)
    return fitted


def read_server_call(rest: Wire) -> dict[str, Any] | None:
    fields = read_call(rest)
    if fields is None:
        return None
    inner = opened(rest, "toolUse")
    del inner["type"]
    leave(rest, "toolUse", inner)
    return {**fields, "dialect": NAME}


def say_server_call(block: ServerToolUseBlock, ledger: Ledger) -> Wire | None:
    if block.dialect not in ("", NAME):
        ledger.lose("dropped", f"the call of a hosted tool of {block.dialect} that is not translated to {NAME}")
        return None
    return {"toolUse": {"toolUseId": block.id, "name": block.name, "input": block.input, "type": SERVER_CALL}}


def read_result(rest: Wire) -> dict[str, Any] | None:
    inner = opened(rest, "toolResult")
    content = inner.pop("content", None)
    if not is_array(content):
        return None
    fields: dict[str, Any] = {"tool_use_id": pop_text(inner, "toolUseId")}
    fields["content"] = tuple(map(RESULT_BLOCKS.decode, content))
    if inner.get("status") in STATUS:
        fields["is_error"] = STATUS[inner.pop("status")]
    leave(rest, "toolResult", inner)
    return fields


def say_result(block: ToolResultBlock, ledger: Ledger) -> Wire:
    inner: Wire = {"toolUseId": fit_id(block.tool_use_id, "tool_use_id", marks(NAME, block), ledger)}
    inner["content"] = say_result_content(block, ledger)
    if block.is_error is not None:
        inner["status"] = STATUS_WORDS[block.is_error]
    if block.name is not None:
        ledger.lose_form("dropped", f"a tool result of {NAME} has no name", "name")
    wire: Wire = {"toolResult": inner}
    marked = next((b.cache for b in reversed(block.content) if b.cache is not None), None)
    if marked is not None and block.cache is None:
        wire["cachePoint"] = say_cache(marked, ledger)
    return wire


def say_result_content(block: ToolResultBlock, ledger: Ledger) -> list[Wire]:
    where, said = ledger.where, list[Wire]()
    for index, inner in enumerate(block.content):
        ledger.where = (*where, "content", index)
        if type(inner) is TextBlock and not inner.text and "verbatim" not in marks(NAME, inner):
            ledger.lose_form("dropped", f"{NAME} accepts no empty text")
            continue
        wire = RESULT_BLOCKS.encode(inner, ledger)
        if wire is not None:
            if inner.cache is not None:
                wire = {key: value for key, value in wire.items() if key != "cachePoint"}
                ledger.lose_form("moved", f"{NAME} takes the cache point after the whole result", "cache")
            said.append(wire)
    ledger.where = where
    return said


def say_result_text(block: TextBlock, ledger: Ledger) -> Wire:
    if block.citations:
        ledger.lose("dropped", f"{NAME} takes citations in assistant messages only", "citations")
        block = replace(block, citations=())
    return say_text(block, ledger)


def read_server_result(rest: Wire) -> dict[str, Any]:
    """``content`` stays in the service's words."""
    inner = opened(rest, "toolResult")
    word: str = inner.pop("type")
    fields: dict[str, Any] = {"tool_use_id": pop_text(inner, "toolUseId"), "name": word.removesuffix("_result")}
    fields |= {"content": inner.pop("content"), "dialect": NAME}
    if inner.get("status") in STATUS:
        fields["is_error"] = STATUS[inner.pop("status")]
    leave(rest, "toolResult", inner)
    return {**fields, **kept(NAME, {}, {} if word.endswith("_result") else {"type": word}, {})}


def say_server_result(block: ServerToolResultBlock, ledger: Ledger) -> Wire | None:
    if block.dialect not in ("", NAME):
        ledger.lose("dropped", f"the result of a hosted tool of {block.dialect} that is not translated to {NAME}")
        return None
    word = marks(NAME, block).get("type")
    word = word if word == block.name else f"{block.name}_result"
    wire: Wire = {"toolUseId": block.tool_use_id, "content": block.content, "type": word}
    if block.is_error is not None:
        wire["status"] = STATUS_WORDS[block.is_error]
    return {"toolResult": wire}


def read_json(rest: Wire) -> dict[str, Any]:
    return {"value": rest.pop("json")}


def say_json(block: JsonBlock, ledger: Ledger) -> Wire:
    """The service takes objects only, whatever its model says."""
    if is_object(block.value) or "verbatim" in marks(NAME, block):
        return {"json": block.value}
    return say_json_text(block, ledger)


def say_json_text(block: JsonBlock, ledger: Ledger) -> Wire:
    ledger.lose_form("approximated", f"{NAME} has no JSON here; sent as JSON text")
    return {"text": dump(block.value).decode()}


def say_refusal(block: RefusalBlock, ledger: Ledger) -> Wire:
    ledger.lose("approximated", f"{NAME} has no refusals; sent as text")
    return {"text": block.text}


def never(rest: Wire) -> None:
    """The row is for saying only; the wire has no such tag."""


RESULT_BLOCKS = BlockTable(
    NAME,
    # canonical          wire tag        say it           read it
    Row(TextBlock,       "text",         say_result_text, read_text),
    Row(JsonBlock,       "json",         say_json,        read_json),
    Row(ImageBlock,      "image",        say_image,       read_media("image")),
    Row(DocumentBlock,   "document",     say_document,    read_document),
    Row(VideoBlock,      "video",        say_video,       read_media("video")),
    Row(RefusalBlock,    "(refusal)",    say_refusal,     never),
    tagged="key",
    cache=CACHE,
)  # fmt: skip
BLOCKS = BlockTable(
    NAME,
    # canonical                wire tag            say it               read it
    Row(TextBlock,             "text",             say_text,            read_text),
    Row(TextBlock,             "citationsContent", say_text,            read_cited),
    Row(TextBlock,             "guardContent",     say_text,            read_guarded),
    Row(ImageBlock,            "image",            say_image,           read_media("image")),
    Row(DocumentBlock,         "document",         say_document,        read_document),
    Row(VideoBlock,            "video",            say_video,           read_media("video")),
    Row(AudioBlock,            "audio",            say_audio,           read_media("audio")),
    Row(ThinkingBlock,         "reasoningContent", say_thinking,        read_reasoning, signs=True),
    Row(RedactedThinkingBlock, "(redacted)",       say_redacted,        never),
    Row(ToolUseBlock,          "toolUse",          say_call,            read_call),
    Row(ToolResultBlock,       "toolResult",       say_result,          read_result),
    Row(JsonBlock,             "(json)",           say_json_text,       never),
    Row(RefusalBlock,          "(refusal)",        say_refusal,         never),
    Row(ServerToolUseBlock,    "(server call)",    say_server_call,     never),
    Row(ServerToolResultBlock, "(server result)",  say_server_result,   never),
    tagged="key",
    cache=CACHE,
)  # fmt: skip
# Blocks whose tag alone does not tell what they are.
REDACTED = BlockTable(
    NAME, Row(RedactedThinkingBlock, "reasoningContent", say_redacted, read_redacted), tagged="key", cache=CACHE
)
GUARDED_IMAGE = BlockTable(
    NAME, Row(ImageBlock, "guardContent", say_image, read_guarded_image), tagged="key", cache=CACHE
)
SERVER = BlockTable(
    NAME,
    Row(ServerToolUseBlock, "toolUse", say_server_call, read_server_call),
    Row(ServerToolResultBlock, "toolResult", say_server_result, read_server_result),
    tagged="key",
    cache=CACHE,
)


def read_block(wire: Json) -> Block:
    table = BLOCKS
    if is_object(wire) and "text" not in wire:
        tag = next(iter(wire), "")
        inner = wire.get(tag)
        if is_object(inner):
            table = _table(tag, inner)
    return table.decode(wire)


def _table(tag: str, inner: Wire) -> BlockTable:
    match tag:
        case "toolUse" if inner.get("type") == SERVER_CALL:
            return SERVER
        case "toolResult" if type(inner.get("type")) is str:
            return SERVER
        case "reasoningContent" if "redactedContent" in inner:
            return REDACTED
        case "guardContent" if "image" in inner:
            return GUARDED_IMAGE
        case _:
            return BLOCKS


def read_content(wires: Iterable[Json]) -> list[Block]:
    return list(map(read_block, gather(wires)))
