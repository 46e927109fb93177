"""The result of an MCP tool as blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from ...codec.schema.walk import is_list, is_schema
from ...types.base import Json
from ...types.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    TextBlock,
    ToolResultBlock,
    VideoBlock,
)

if TYPE_CHECKING:
    from mcp.types import CallToolResult

__all__ = ["read_result"]


def read_result(result: CallToolResult) -> ToolResultBlock:
    """The result of a call. The caller sets its ``tool_use_id``."""
    blocks = [_CONTENT.get(content.type, _read_other)(content) for content in result.content]
    structured = result.structured_content
    if structured is not None and not _contains(blocks, structured):
        blocks.append(JsonBlock(value=structured))
    return ToolResultBlock(tool_use_id="", content=blocks, is_error=True if result.is_error else None)


def _contains(blocks: list[Block], structured: Json) -> bool:
    """Whether the texts contain the structured result too, as the protocol asks: the whole of it, or its only value."""
    texts = [block.text for block in blocks if isinstance(block, TextBlock)]
    values: list[Json] = [structured]
    if is_schema(structured) and len(structured) == 1:  # servers wrap a value that is not an object in one
        values += structured.values()
    return any(_is_json_of(text, value) for text in texts for value in values) or _is_list_of(texts, values)


def _is_json_of(text: str, value: Json) -> bool:
    if text == value:
        return True
    try:
        return bool(msgspec.json.decode(text) == value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False


def _is_list_of(texts: list[str], values: list[Json]) -> bool:
    """Whether one of the values is a list of which each text is an item, which is how servers send lists."""
    lists = [value for value in values if is_list(value) and len(value) == len(texts) > 0]
    return any(all(map(_is_json_of, texts, value)) for value in lists)


# ------------------------------------------------------------------------------------------------------- the contents


def _read_resource(content: Any) -> Block:
    found = content.resource
    if hasattr(found, "text"):  # not as a document: many protocols accept no documents in a result
        return TextBlock(text=f"[{found.uri}]\n{found.text}")
    media_type = found.mime_type or "application/octet-stream"
    source = Base64Source(media_type=media_type, data=found.blob)
    name = found.uri.rstrip("/").rpartition("/")[2] or None
    media = _MEDIA.get(media_type.partition("/")[0])
    return media(source) if media else DocumentBlock(source=source, filename=name)


def _read_other(content: Any) -> Block:
    """Content that no block type fits, as JSON text: a link to a resource, or a type of a later protocol version."""
    return TextBlock(text=content.model_dump_json(by_alias=True, exclude_none=True))


_MEDIA: dict[str, Callable[[Base64Source], Block]] = {
    "image": lambda source: ImageBlock(source=source),
    "audio": lambda source: AudioBlock(source=source),
    "video": lambda source: VideoBlock(source=source),
}
_CONTENT: dict[str, Callable[[Any], Block]] = {
    "text": lambda c: TextBlock(text=c.text),
    "image": lambda c: ImageBlock(source=Base64Source(media_type=c.mime_type, data=c.data)),
    "audio": lambda c: AudioBlock(source=Base64Source(media_type=c.mime_type, data=c.data)),
    "resource": _read_resource,
}
