"""The result that a model gets for what a tool returned or raised.

A success has neither ``is_error`` nor a name, because most protocols have no field for them.
"""

from __future__ import annotations

import json
import logging
import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from ...client.secrets import MASK
from ...codec.surrogates import REPLACED, clean
from ...codec.typed import plain_value
from ...types.blocks import (
    Base64Source,
    Block,
    BlockBase,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)

log = logging.getLogger("interlingua")

__all__ = ["failure", "failure_of", "result_of"]

_MAGIC_NUMBERS: tuple[tuple[Callable[[bytes], bool], str], ...] = (
    (lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"), "image/png"),
    (lambda data: data.startswith(b"\xff\xd8\xff"), "image/jpeg"),
    (lambda data: data.startswith((b"GIF87a", b"GIF89a")), "image/gif"),
    (lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP", "image/webp"),
    (lambda data: data.startswith(b"%PDF-"), "application/pdf"),
)
"""How the bytes of each media type begin."""

_SECRETS = re.compile(
    r"(?i)(bearer\s+|(?:api[-_]?key|access[-_]?token|secret|password|authorization)\W{1,4}|://[^\s/:@]+:)"
    r"(?!bearer\s)[\w.~+/=-]{8,}|\b(?:sk|pk|rk|ghp|gho|xox[abp])[-_][\w-]{16,}"
)
"""Matches what looks like a secret. The text of an exception is sent to the provider, so secrets in it are masked; the
pattern cannot find all of them."""


def result_of(call: ToolUseBlock, value: Any) -> ToolResultBlock:
    """A result with the value that a tool returned; an error result if the value cannot be sent."""
    try:
        if isinstance(value, ToolResultBlock):
            return _cleaned(call, replace(value, tool_use_id=call.id))
        return _cleaned(call, ToolResultBlock(tool_use_id=call.id, content=_blocks(value)))
    except Exception as error:  # noqa: BLE001 - hooks of the value's own class are called
        kind = type(value).__name__
        return failure(call, f"The tool ran, but what it returned ({kind}) cannot be sent: {_error_text(error)}")


def failure(call: ToolUseBlock, text: str) -> ToolResultBlock:
    """An error result with this text."""
    return _cleaned(call, ToolResultBlock(tool_use_id=call.id, content=text, is_error=True))


def _cleaned(call: ToolUseBlock, result: ToolResultBlock) -> ToolResultBlock:
    """The result without characters that cannot be sent or stored. If any were replaced, the log says so."""
    cleaned = clean(result)
    if cleaned is not result:
        log.warning("a result of %s: %s", call.name, REPLACED)
    return cleaned


def failure_of(call: ToolUseBlock, error: BaseException) -> ToolResultBlock:
    """An error result ``Type: message``, without a traceback and without anything that looks like a secret."""
    return failure(call, f"{type(error).__name__}: {_error_text(error)}".removesuffix(": "))


def _error_text(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception as other:  # noqa: BLE001 - a class of the tool's own
        return f"(its message cannot be read: {type(other).__name__})"
    return _SECRETS.sub(lambda found: (found[1] or "") + MASK, text)


def _blocks(value: Any) -> tuple[Block, ...]:
    if isinstance(value, str) and not isinstance(value, Enum):
        return (TextBlock(text=str.__str__(value)),) if value else ()
    if isinstance(value, BlockBase):
        return (cast("Block", value),)
    if isinstance(value, bytes | bytearray):
        return (_media_block(bytes(value)),)
    if isinstance(value, list | tuple) and any(isinstance(item, BlockBase) for item in cast("Sequence[Any]", value)):
        return tuple(block for item in cast("Sequence[Any]", value) for block in _blocks(item))
    return (TextBlock(text=_json(value)),)


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value, enc_hook=plain_value).decode()
    except UnicodeEncodeError:  # for lone surrogates, which _cleaned replaces later
        return json.dumps(msgspec.to_builtins(value, enc_hook=plain_value), ensure_ascii=False, separators=(",", ":"))


def _media_block(data: bytes) -> Block:
    media_type = next((media_type for matches, media_type in _MAGIC_NUMBERS if matches(data)), None)
    if media_type is None:
        raise ValueError("bytes are sent only if they are a PNG, JPEG, GIF or WebP picture or a PDF; return a block")
    source = Base64Source(media_type=media_type, data=b64encode(data).decode())
    return ImageBlock(source=source) if media_type.startswith("image/") else DocumentBlock(source=source)
