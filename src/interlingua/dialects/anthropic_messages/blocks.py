"""The blocks of Anthropic Messages: left column ours, right column theirs."""

from __future__ import annotations

from typing import Any

from ...codec.json import is_array, is_dict
from ...codec.stream import dump
from ...codec.tables import BlockTable, CacheWord, Ledger, Row, kept, marks, own, take
from ...types.base import Json
from ...types.blocks import (
    Base64Source,
    CacheMark,
    DocumentBlock,
    FileSource,
    ImageBlock,
    JsonBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
    Source,
    TextBlock,
    TextSource,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
)
from .citations import NAME, Wire, read_citation, say_citation

__all__ = ["BLOCKS", "CACHE", "NAME", "Wire"]

TTLS = ("5m", "1h")
PLAIN = "text/plain"
IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")


def say_cache(mark: CacheMark, ledger: Ledger) -> Wire:
    wire: Wire = {"type": "ephemeral"}
    if mark.ttl in TTLS:
        wire["ttl"] = mark.ttl
    elif mark.ttl is not None:
        ledger.lose("dropped", f"{NAME} caches for {' or '.join(TTLS)} only", "cache", "ttl")
    return wire


def read_cache(wire: Json) -> CacheMark | None:
    if not is_dict(wire) or wire.get("type") != "ephemeral":
        return None
    rest = {key: value for key, value in wire.items() if key != "type"}
    ttl = rest.pop("ttl") if rest.get("ttl") in TTLS else None
    return CacheMark(ttl=ttl, **kept(NAME, rest, {}, {}))


def read_text(rest: Wire) -> dict[str, Any] | None:
    blanks: Wire = {}
    if not isinstance(rest["text"], str):
        return None
    fields: dict[str, Any] = {"text": rest.pop("text")}
    if "citations" in rest:
        citations = take(rest, "citations", blanks)
        if citations:
            fields["citations"] = tuple(map(read_citation, citations))
        if blanks:
            fields["forms"] = {NAME: {"blank": blanks}}
    return fields


def say_text(block: TextBlock, ledger: Ledger) -> Wire:
    wire: Wire = {"text": block.text}
    if block.citations:
        said = [say_citation(c, ledger, "citations", i) for i, c in enumerate(block.citations)]
        wire["citations"] = [citation for citation in said if citation is not None]
        if not wire["citations"]:
            del wire["citations"]
    return wire


def read_source(wire: Wire) -> Source | None:
    rest = dict(wire)
    kind = rest.pop("type")
    if kind == "base64":
        return Base64Source(rest.pop("media_type"), rest.pop("data"), **kept(NAME, rest, {}, {}))
    if kind == "url":
        return UrlSource(rest.pop("url"), **kept(NAME, rest, {}, {}))
    if kind == "file":
        return FileSource(rest.pop("file_id"), dialect=NAME, **kept(NAME, rest, {}, {}))
    if kind == "text":
        text, media_type = rest.pop("data"), rest.pop("media_type")
        odd = {} if media_type == PLAIN else {"media_type": "verbatim"}
        return TextSource(text, media_type, **kept(NAME, rest, odd, {}))
    return None  # "content": blocks inside a document; carried whole


def say_source(source: Source, ledger: Ledger) -> Wire | None:
    ledger.foreign(source, NAME, "source")
    match source:
        case Base64Source():
            wire = {"type": "base64", "media_type": source.media_type, "data": source.data}
        case UrlSource():
            wire = {"type": "url", "url": source.url}
            if source.media_type is not None:
                ledger.lose_form("dropped", f"{NAME} takes no media type beside a URL", "source", "media_type")
        case FileSource():
            if source.dialect not in (None, NAME):
                ledger.lose("dropped", f"the file is stored elsewhere, with {source.dialect}", weight="state")
                return None
            wire = {"type": "file", "file_id": source.file_id}
            if source.media_type is not None:
                ledger.lose_form("dropped", f"{NAME} takes no media type beside a file id", "source", "media_type")
        case TextSource():
            wire = {"type": "text", "media_type": source.media_type, "data": source.text}
            if source.media_type != PLAIN and "media_type" not in marks(NAME, source):
                ledger.lose_form("approximated", f"{NAME} takes {PLAIN} only", "source", "media_type")
                wire["media_type"] = PLAIN
    return own(NAME, wire, source)


def say_image(block: ImageBlock, ledger: Ledger) -> Wire | None:
    source = block.source
    if isinstance(source, TextSource) or (isinstance(source, Base64Source) and source.media_type not in IMAGE_TYPES):
        ledger.lose("dropped", f"{NAME} takes images of {', '.join(IMAGE_TYPES)} only")
        return None
    wire = say_source(source, ledger)
    if wire is None:
        return None
    if block.detail is not None:
        ledger.lose("dropped", f"{NAME} has no `detail` of images", "detail")
    return {"source": wire}


def read_image(rest: Wire) -> dict[str, Any] | None:
    source = read_source(rest["source"])
    if source is None or isinstance(source, TextSource):
        return None
    del rest["source"]
    return {"source": source}


def say_document(block: DocumentBlock, ledger: Ledger) -> Wire | None:
    source = block.source
    if isinstance(source, Base64Source) and source.media_type != "application/pdf":
        ledger.lose("dropped", f"{NAME} takes documents as data only if they are PDF, not {source.media_type}")
        return None
    wire = say_source(source, ledger)
    if wire is None:
        return None
    said: Wire = {"source": wire}
    if block.title is not None:
        said["title"] = block.title
    if block.context is not None:
        said["context"] = block.context
    if block.filename is not None:
        ledger.lose("dropped", f"{NAME} has no file names of documents", "filename")
    return said


def read_document(rest: Wire) -> dict[str, Any] | None:
    source, blanks = read_source(rest["source"]), Wire()
    if source is None:
        return None
    del rest["source"]
    fields = {"source": source, "title": take(rest, "title", blanks), "context": take(rest, "context", blanks)}
    return {**fields, **kept(NAME, {}, {}, blanks)}


def say_thinking(block: ThinkingBlock, ledger: Ledger) -> Wire:
    """An unsigned block is written with an empty signature, as the protocol's own streams begin one."""
    if block.signature is None and marks(NAME, block).get("signature") == "absent":
        return {"thinking": block.text}
    return {"thinking": block.text, "signature": block.signature or ""}


def read_thinking(rest: Wire) -> dict[str, Any] | None:
    if not isinstance(rest["thinking"], str):
        return None
    fields: dict[str, Any] = {"text": rest.pop("thinking")}
    if "signature" not in rest:
        fields["forms"] = {NAME: {"signature": "absent"}}
    elif isinstance(rest["signature"], str):
        fields["signature"] = rest.pop("signature") or None
    return fields


def say_redacted(block: RedactedThinkingBlock, ledger: Ledger) -> Wire:
    return {"data": block.data}


def read_redacted(rest: Wire) -> dict[str, Any]:
    return {"data": rest.pop("data")}


def say_tool_use(block: ToolUseBlock, ledger: Ledger) -> Wire:
    input = block.input
    if block.kind == "text":
        ledger.lose("approximated", f"{NAME} has no free-text calls; sent as one string `input`", "input_text")
        ledger.lose("approximated", f"{NAME} has no free-text calls; sent as one string `input`", "kind")
        ledger.lose("added", f"{NAME} has no free-text calls; sent as one string `input`", "input")
        input = {"input": block.input_text or ""}
    elif block.input_text is not None:
        ledger.lose_form("dropped", f"{NAME} takes parsed arguments, not the text", "input_text")
    return {"id": block.id, "name": block.name, "input": input}


def read_tool_use(rest: Wire) -> dict[str, Any] | None:
    if type(rest["input"]) is not dict or type(rest["id"]) is not str or type(rest["name"]) is not str:
        return None
    return {"id": rest.pop("id"), "name": rest.pop("name"), "input": rest.pop("input")}


def say_tool_result(block: ToolResultBlock, ledger: Ledger) -> Wire:
    wire: Wire = {"tool_use_id": block.tool_use_id}
    content = say_result_content(block, ledger)
    if content is not None:
        wire["content"] = content
    if block.is_error is not None:
        wire["is_error"] = block.is_error
    if block.name is not None:
        ledger.lose_form("dropped", f"a tool result of {NAME} has no name", "name")
    return wire


def say_result_content(block: ToolResultBlock, ledger: Ledger) -> Json:
    """A list of blocks, or nothing; a string only where it was one and still can be."""
    if not block.content:
        return None
    if len(block.content) == 1 and marks(NAME, block).get("content") == "string":
        only = block.content[0]
        if type(only) is TextBlock and not (only.extras or only.citations or only.cache or only.signature):
            return only.text
    where, said = ledger.where, list[Wire]()
    for index, inner in enumerate(block.content):
        ledger.where = (*where, "content", index)
        if isinstance(inner, TextBlock) and not inner.text and "verbatim" not in marks(NAME, block):
            ledger.lose_form("dropped", f"{NAME} accepts no empty text")
            continue
        wire = RESULT_BLOCKS.encode(inner, ledger)
        if wire is not None:
            said.append(wire)
    ledger.where = where
    return said or None


def read_tool_result(rest: Wire) -> dict[str, Any] | None:
    if type(rest["tool_use_id"]) is not str:
        return None
    fields: dict[str, Any] = {"tool_use_id": rest.pop("tool_use_id")}
    forms, blanks = Wire(), Wire()
    content = take(rest, "content", blanks)
    if type(content) is str:
        forms["content"] = "string"
        fields["content"] = (TextBlock(content),)
    elif is_array(content):
        fields["content"] = tuple(map(RESULT_BLOCKS.decode, content))
    elif content is not None:
        return None
    fields["is_error"] = take(rest, "is_error", blanks)
    return {**fields, **kept(NAME, {}, forms, blanks)}


def say_server_call(block: ServerToolUseBlock, ledger: Ledger) -> Wire | None:
    if block.dialect not in ("", NAME):
        ledger.lose("dropped", f"the call of a hosted tool of {block.dialect} that is not translated to {NAME}")
        return None
    tag = marks(NAME, block).get("tag", "server_tool_use")
    return {"type": tag, "id": block.id, "name": block.name, "input": block.input}


def read_server_call(rest: Wire) -> dict[str, Any] | None:
    fields = read_tool_use(rest)
    return None if fields is None else {**fields, "dialect": NAME}


def read_mcp_call(rest: Wire) -> dict[str, Any] | None:
    fields = read_server_call(rest)
    return None if fields is None else {**fields, "forms": {NAME: {"tag": "mcp_tool_use"}}}


def say_server_result(block: ServerToolResultBlock, ledger: Ledger) -> Wire | None:
    if block.dialect not in ("", NAME):
        ledger.lose("dropped", f"the result of a hosted tool of {block.dialect} that is not translated to {NAME}")
        return None
    wire: Wire = {"type": f"{block.name}_tool_result", "tool_use_id": block.tool_use_id, "content": block.content}
    if block.is_error is not None:
        wire["is_error"] = block.is_error
    return wire


def server_result(name: str) -> Row:
    def read(rest: Wire) -> dict[str, Any]:
        fields = {"tool_use_id": rest.pop("tool_use_id"), "name": name, "dialect": NAME}
        fields["content"] = rest.pop("content")
        if type(rest.get("is_error")) is bool:
            fields["is_error"] = rest.pop("is_error")
        return fields

    return Row(ServerToolResultBlock, f"{name}_tool_result", say_server_result, read)


def say_json(block: JsonBlock, ledger: Ledger) -> Wire:
    ledger.lose_form("approximated", f"{NAME} has no JSON here; sent as JSON text")
    return {"type": "text", "text": dump(block.value).decode()}


def say_refusal(block: RefusalBlock, ledger: Ledger) -> Wire:
    ledger.lose("approximated", f"{NAME} has no refusals; sent as text")
    return {"type": "text", "text": block.text}


def never(rest: Wire) -> None:
    """The row is for saying only; the wire has no such tag."""


CACHE = CacheWord("cache_control", say_cache, read_cache)
RESULT_BLOCKS = BlockTable(
    NAME,
    Row(TextBlock, "text", say_text, read_text),
    Row(ImageBlock, "image", say_image, read_image),
    Row(DocumentBlock, "document", say_document, read_document),
    Row(JsonBlock, "(json)", say_json, never),
    Row(RefusalBlock, "(refusal)", say_refusal, never),
    cache=CACHE,
)
BLOCKS = BlockTable(
    NAME,
    # canonical            wire tag             say it               read it
    Row(TextBlock, "text", say_text, read_text),
    Row(ImageBlock, "image", say_image, read_image),
    Row(DocumentBlock, "document", say_document, read_document),
    Row(ThinkingBlock, "thinking", say_thinking, read_thinking, signs=True),
    Row(RedactedThinkingBlock, "redacted_thinking", say_redacted, read_redacted),
    Row(ToolUseBlock, "tool_use", say_tool_use, read_tool_use),
    Row(ToolResultBlock, "tool_result", say_tool_result, read_tool_result),
    Row(JsonBlock, "(json)", say_json, never),
    Row(RefusalBlock, "(refusal)", say_refusal, never),
    Row(ServerToolUseBlock, "server_tool_use", say_server_call, read_server_call),
    Row(ServerToolUseBlock, "mcp_tool_use", say_server_call, read_mcp_call),
    *map(
        server_result,
        ("web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution",
         "tool_search", "advisor", "mcp"),
    ),
    cache=CACHE,
)  # fmt: skip
