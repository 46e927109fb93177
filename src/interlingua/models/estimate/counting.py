"""The features that are counted in a prompt: text (``text.py``), and structure: turns, calls, tools, properties.

The tokens of images, documents, sound and video are computed in ``pictures.py`` and ``media.py``.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from msgspec import json

from ...types.blocks import (
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
from ...types.messages import Message
from ...types.request import Request, Thinking
from ...types.tools import Tool, ToolDefinition
from ...types.words import Role
from .families import never_thinks
from .media import media_tokens
from .pictures import USUAL_SIZE, picture_size, picture_tokens
from .text import TEXT, add_text

__all__ = ["FEATURES", "Tally", "answer_counts", "counts"]

# fmt: off
FEATURES = (
    # text, of the conversation and of the tools
    *TEXT,
    # turns
    "once", "system", "systemless", "user_turns", "assistant_turns", "system_turns", "blocks", "calls", "results",
    "documents",
    # tools, and the schema of the answer
    "toolbox", "forced", "tools", "tool_properties", "tool_keywords", "tool_required", "tool_described", "tool_titled",
    "output", "output_words", "output_properties", "output_keywords",
    # reasoning: whether it was requested, its visible text, the characters of its signatures and encrypted data
    # thoughts of turns before the last question are counted apart, because most templates leave them out
    "thinking", "unthinking", "unstated", "thoughts", "thought_words", "old_thoughts", "old_thought_words", "sealed",
)
# fmt: on
THOUGHTS = ("thoughts", "thought_words", "old_thoughts", "old_thought_words")
USER = Role.user
QUIET = frozenset({"none", "minimal", "low"})
"""Efforts for which no server writes an instruction into the prompt."""


class Tally(Counter[str]):
    """Counts by feature; ``media`` is a number of tokens. ``model`` matters only for images, files and reasoning."""

    model: str = ""


def counts(request: Request, model: str | None = None, *, idle_tools: bool = True, thoughts: bool = True) -> Tally:
    """The features of a prompt.

    ``idle_tools``: count the tools even if the choice is ``none``. ``thoughts``: count reasoning that is sent back.
    """
    tally = Tally(once=1)
    tally.model = (model or request.model or "").lower()
    _add_blocks(tally, request.system)
    _add_turns(tally, request.messages)
    led = bool(request.system or tally["system_turns"])
    tally["system"], tally["systemless"] = int(led), int(not led)
    tally["blocks"] = max(0, tally["blocks"] - bool(request.system))  # only the blocks beyond one per turn
    choice = request.tool_choice.mode if request.tool_choice is not None else None
    if request.tools and (idle_tools or choice != "none"):
        tally["forced"] = int(choice in ("any", "specific"))
        _add_tools(tally, request.tools)
    if request.output_schema is not None:
        tally["output"] = 1
        _add_schema(tally, request.output_schema, "output_")
    tally[_thinking(request.thinking, tally.model)] = 1
    if not thoughts:
        for kind in THOUGHTS:
            del tally[kind]
    return tally


def answer_counts(content: Iterable[Block]) -> Tally:
    """The features of an answer."""
    tally = Tally()
    _add_blocks(tally, content)
    for kind in TEXT:
        tally[kind] += tally[f"thought_{kind}"]
    return tally


def _thinking(thinking: Thinking | None, model: str) -> str:
    if thinking is None or (thinking.mode is None and thinking.effort is None and thinking.budget is None):
        return "unthinking" if never_thinks(model) else "unstated"
    off = thinking.mode == "disabled" or thinking.effort in QUIET or thinking.budget == 0
    return "unthinking" if off else "thinking"


def _add_turns(tally: Tally, messages: Iterable[Message]) -> None:
    turns = [*messages]
    last_question = max((index for index, turn in enumerate(turns) if turn.role is USER), default=0)
    for index, message in enumerate(turns):
        tally[f"{message.role}_turns"] += 1
        _add_blocks(tally, message.content, "old_" if index < last_question else "")
    known = tally["user_turns"] + tally["assistant_turns"] + 2 * tally["results"] + tally["calls"]
    tally["blocks"] -= known


def _add_blocks(tally: Tally, blocks: Iterable[Block], age: str = "") -> None:
    for block in blocks:
        tally["blocks"] += 1
        if block.signature is not None:
            tally["sealed"] += len(block.signature)
        match block:
            case TextBlock(text=text) | RefusalBlock(text=text):
                add_text(tally, text)
            case ThinkingBlock(text=text):
                tally[f"{age}thoughts"] += 1
                add_text(tally, text, f"{age}thought_")
            case RedactedThinkingBlock(data=data):
                tally["sealed"] += len(data)
            case ToolUseBlock():
                tally["calls"] += 1
                add_text(tally, block.name)
                add_text(tally, block.input_text or _json(block.input))
            case ToolResultBlock():
                tally["results"] += 1
                _add_blocks(tally, block.content)
            case JsonBlock(value=value):
                add_text(tally, _json(value))
            case _:
                _add_media(tally, block)


def _add_media(tally: Tally, block: Block) -> None:
    source = getattr(block, "source", None)
    text = _text(source)
    if text is not None:
        tally["documents"] += 1
        add_text(tally, text)
    elif isinstance(block, ImageBlock):
        size = picture_size(source.data) if isinstance(source, Base64Source) else USUAL_SIZE
        tally["pictures"] += 1
        tally["media"] += picture_tokens(*size, tally.model, low=block.detail == "low")
    elif isinstance(block, DocumentBlock | AudioBlock | VideoBlock):
        tally["files"] += 1
        data = source.data if isinstance(source, Base64Source) else None
        tally["media"] += media_tokens(block.type, data, tally.model)


def _text(source: object) -> str | None:
    if isinstance(source, TextSource):
        return source.text
    if isinstance(source, Base64Source) and source.media_type.startswith("text/"):
        try:
            return a2b_base64(source.data).decode(errors="replace")
        except ValueError:
            return None
    return None


def _add_tools(tally: Tally, tools: Sequence[Tool]) -> None:
    tally["toolbox"] = 1
    for tool in tools:
        if isinstance(tool, ToolDefinition):
            tally["tools"] += 1
            add_text(tally, f"{tool.name} {tool.description or ''}")
            _add_schema(tally, tool.input_schema, "tool_")
        else:
            tally["server_tools"] += 1


def _add_schema(tally: Tally, schema: Any, kind: str) -> None:
    """Count a schema: names, descriptions and enum values as text; types as structure."""
    if _is_list(schema):
        for item in schema:
            _add_schema(tally, item, kind)
    elif _is_object(schema):
        for key, value in schema.items():
            _add_keyword(tally, key, value, kind)


DESCRIBING = {"description": "described", "title": "titled"}
NAMING = ("properties", "$defs", "definitions")


def _add_keyword(tally: Tally, key: str, value: Any, kind: str) -> None:
    text_kind = "" if kind == "tool_" else kind  # text in an answer's schema has weights of its own
    if key in DESCRIBING and isinstance(value, str):
        tally[kind + DESCRIBING[key]] += 1
        add_text(tally, value, text_kind)
    elif key in NAMING and _is_object(value):
        tally[f"{kind}properties"] += len(value)
        add_text(tally, " ".join(value), text_kind)
        for inner in value.values():
            _add_schema(tally, inner, kind)
    elif key == "enum":
        add_text(tally, _json(value), text_kind)
    elif key == "required":
        tally[f"{kind}required"] += len(value) if _is_list(value) else 0
    else:
        tally[f"{kind}keywords"] += 1
        _add_schema(tally, value, kind)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _json(value: Any) -> str:
    return json.encode(value).decode()
