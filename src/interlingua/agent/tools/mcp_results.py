"""What an MCP tool answered, in blocks."""

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
    """The result, yet without the call that it answers."""
    blocks = [_CONTENT.get(content.type, _anything)(content) for content in result.content]
    structured = result.structured_content
    if structured is not None and not _says(blocks, structured):
        blocks.append(JsonBlock(value=structured))
    return ToolResultBlock(tool_use_id="", content=blocks, is_error=True if result.is_error else None)


def _says(blocks: list[Block], structured: Json) -> bool:
    """Whether the content says the structured result too, as servers should: whole, or what is wrapped in it."""
    texts = [block.text for block in blocks if isinstance(block, TextBlock)]
    meant: list[Json] = [structured]
    if is_schema(structured) and len(structured) == 1:  # a value that is no object is wrapped in one
        meant += structured.values()
    return any(_same(text, value) for text in texts for value in meant) or _listed(texts, meant)


def _same(text: str, value: Json) -> bool:
    if text == value:
        return True
    try:
        return bool(msgspec.json.decode(text) == value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False


def _listed(texts: list[str], meant: list[Json]) -> bool:
    """A list goes as one text for each item."""
    lists = [value for value in meant if is_list(value) and len(value) == len(texts) > 0]
    return any(all(map(_same, texts, value)) for value in lists)


# ------------------------------------------------------------------------------------------------------- the contents


def _resource(content: Any) -> Block:
    found = content.resource
    if hasattr(found, "text"):  # as text: many protocols take no documents in a result
        return TextBlock(text=f"[{found.uri}]\n{found.text}")
    media_type = found.mime_type or "application/octet-stream"
    source = Base64Source(media_type=media_type, data=found.blob)
    name = found.uri.rstrip("/").rpartition("/")[2] or None
    media = _MEDIA.get(media_type.partition("/")[0])
    return media(source) if media else DocumentBlock(source=source, filename=name)


def _anything(content: Any) -> Block:
    """What there is no block for, as its JSON: a link to a resource, and what future servers may say."""
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
    "resource": _resource,
}
