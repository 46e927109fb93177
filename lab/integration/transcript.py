"""A conversation as lines that a person can read and a test can compare: without ids, provider and wire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from interlingua.types.blocks import Block, ImageBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from interlingua.types.messages import Message
from interlingua.types.words import Role

__all__ = ["described", "transcript"]

_encode = msgspec.json.Encoder(order="deterministic").encode


def transcript(messages: Sequence[Message]) -> list[str]:
    """One line for each message: role, texts, calls with arguments, results with the name of the tool, stop reason."""
    names = {block.id: block.name for m in messages for block in m.content if isinstance(block, ToolUseBlock)}
    return [_line(message, names) for message in messages]


def _line(message: Message, names: dict[str, str]) -> str:
    stop = message.metadata.get("stop_reason") if message.role is Role.assistant else None
    who = f"{message.role} ({stop})" if stop else str(message.role)
    return f"{who}: {' + '.join(described(message.content, names))}"


def described(content: Sequence[Block], names: dict[str, str] | None = None) -> Iterator[str]:
    """Each block as a short text."""
    for block in content:
        if isinstance(block, TextBlock):
            yield block.text
        elif isinstance(block, ToolUseBlock):
            yield f"{block.name}{_encode(block.input).decode()}"
        elif isinstance(block, ToolResultBlock):
            mark = "failed" if block.is_error else "gave"
            name = (names or {}).get(block.tool_use_id, "nobody")
            yield f"{name} {mark} {' + '.join(described(block.content))}"
        elif isinstance(block, ThinkingBlock):
            yield f"({block.text})"
        elif isinstance(block, ImageBlock):
            yield "[image]"
        else:
            yield type(block).__name__
