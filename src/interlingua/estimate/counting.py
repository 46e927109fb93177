"""What is counted in a prompt.

Text is cut as tokenizers cut it before they look anything up: words, numbers, signs, breaks. Structure is counted:
turns, calls, tools, properties. Pictures are measured.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from msgspec import json

from ..types.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    TextSource,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)
from ..types.request import Request
from ..types.tools import Tool, ToolDefinition
from .pictures import USUAL_SIZE, picture_size, picture_tokens

__all__ = ["FEATURES", "counts"]

WORD = re.compile(r"[A-Za-z]+")
DIGITS = re.compile(r"\d{1,3}")
SIGNS = re.compile(r"[!-/:-@\[-`{-~]+")
FOREIGN = re.compile(r"[^\x00-\x7f]")
BREAKS = re.compile(r"\n\s*| {2,}")
LONG = 7
"""Letters beyond this many in a word are likely a second token."""


class Tally(Counter[str]):
    """Counts by kind. The model matters only for pictures."""

    model: str = ""


FEATURES = (
    # text, of the conversation and of the tools
    *("words", "long", "digits", "signs", "breaks", "foreign"),
    # turns
    *("once", "system", "user_turns", "assistant_turns", "system_turns", "blocks", "calls", "results"),
    # tools, and the schema of the answer
    *("toolbox", "tools", "tool_properties", "tool_keywords", "output", "output_words", "output_keywords"),
    # reasoning, shown and sealed (characters)
    *("thought_words", "sealed"),
)
TEXT = FEATURES[:6]


def counts(request: Request, model: str | None = None) -> Tally:
    """What is counted in a prompt, by kind. ``picture_tokens`` is the only count of tokens among them."""
    tally = Tally(once=1)
    tally.model = (model or request.model or "").lower()
    _add_blocks(tally, request.system)
    tally["system"] += bool(request.system)
    for message in request.messages:
        tally[f"{message.role}_turns"] += 1
        _add_blocks(tally, message.content)
    _add_tools(tally, request.tools)
    if request.output_schema is not None:
        tally["output"] += 1
        _add_schema(tally, request.output_schema, "output_")
    for kind in TEXT:
        tally[kind] += tally[f"tool_{kind}"]
    tally["blocks"] -= tally["user_turns"] + tally["assistant_turns"] + tally["system"] + 2 * tally["results"]
    tally["blocks"] = max(0, tally["blocks"] - tally["calls"])  # those beyond one a turn
    return tally


def _add_blocks(tally: Tally, blocks: Iterable[Block]) -> None:
    for block in blocks:
        tally["blocks"] += 1
        if block.signature is not None:
            tally["sealed"] += len(block.signature)
        match block:
            case TextBlock(text=text) | RefusalBlock(text=text):
                _add_text(tally, text)
            case ThinkingBlock(text=text):
                _add_text(tally, text, "thought_")
            case RedactedThinkingBlock(data=data):
                tally["sealed"] += len(data)
            case ToolUseBlock():
                tally["calls"] += 1
                _add_text(tally, block.name)
                _add_text(tally, block.input_text or _json(block.input))
            case ToolResultBlock():
                tally["results"] += 1
                _add_blocks(tally, block.content)
            case JsonBlock(value=value):
                _add_text(tally, _json(value))
            case _:
                _add_media(tally, block)


def _add_media(tally: Tally, block: Block) -> None:
    source = getattr(block, "source", None)
    if isinstance(source, TextSource):
        _add_text(tally, source.text)
    elif isinstance(block, ImageBlock):
        size = picture_size(source.data) if isinstance(source, Base64Source) else USUAL_SIZE
        tally["pictures"] += 1
        tally["picture_tokens"] += picture_tokens(*size, tally.model, low=block.detail == "low")
    elif isinstance(block, DocumentBlock | AudioBlock | VideoBlock):
        tally["media"] += 1
        tally["media_kb"] += len(source.data) // 1365 if isinstance(source, Base64Source) else 100


def _add_text(tally: Tally, text: str, kind: str = "") -> None:
    words = WORD.findall(text)
    tally[f"{kind}words"] += len(words)
    tally[f"{kind}long"] += sum(len(word) - LONG for word in words if len(word) > LONG)
    tally[f"{kind}digits"] += len(DIGITS.findall(text))
    tally[f"{kind}signs"] += len(SIGNS.findall(text))
    tally[f"{kind}breaks"] += len(BREAKS.findall(text))
    if not text.isascii():
        tally[f"{kind}foreign"] += len(FOREIGN.findall(text))


def _add_tools(tally: Tally, tools: Sequence[Tool]) -> None:
    tally["toolbox"] += bool(tools)
    for tool in tools:
        if isinstance(tool, ToolDefinition):
            tally["tools"] += 1
            _add_text(tally, f"{tool.name} {tool.description or ''}", "tool_")
            _add_schema(tally, tool.input_schema, "tool_")
        else:
            tally["server_tools"] += 1


def _add_schema(tally: Tally, schema: Any, kind: str) -> None:
    """Names, descriptions and choices are text; types are structure."""
    if _is_list(schema):
        for item in schema:
            _add_schema(tally, item, kind)
    elif _is_object(schema):
        for key, value in schema.items():
            _add_keyword(tally, key, value, kind)


def _add_keyword(tally: Tally, key: str, value: Any, kind: str) -> None:
    if key in ("description", "title") and isinstance(value, str):
        _add_text(tally, value, kind)
    elif key in ("properties", "$defs", "definitions") and _is_object(value):
        tally[f"{kind}properties"] += len(value)
        _add_text(tally, " ".join(value), kind)
        for inner in value.values():
            _add_schema(tally, inner, kind)
    elif key == "enum":
        _add_text(tally, _json(value), kind)
    elif key != "required":
        tally[f"{kind}keywords"] += 1
        _add_schema(tally, value, kind)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _json(value: Any) -> str:
    return json.encode(value).decode()
