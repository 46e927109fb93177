"""Where cache marks are put: on the tools, the system prompt, and the part of the history that will not change.

Only dialects that can write cache marks get them; elsewhere a mark would be a Loss, and most providers cache without.
Marks are put on the request, never on the history, so a conversation that moves to another model has none left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from ...types.blocks import Block, CacheMark, TextBlock, ThinkingBlock
from ...types.messages import Message
from ...types.request import Request
from ...types.tools import ToolDefinition
from ...types.words import Role

__all__ = ["CachePolicy", "mark_cache"]

CachePolicy = Literal["off", "auto"]

# How many cache marks a request may have, for each dialect that can write them.
MAX_MARKS = {"anthropic-messages": 4, "bedrock-converse": 4}

MARK = CacheMark()
USER, TOOL = Role.user, Role.tool


def mark_cache(request: Request, dialect: str) -> Request:
    """The request with cache marks, as many as the dialect allows. Marks set by the caller stay, and count."""
    left = MAX_MARKS.get(dialect, 0) - _count_marks(request)
    if left <= 0:
        return request
    changes: dict[str, object] = {}
    last = request.tools[-1] if request.tools else None
    if isinstance(last, ToolDefinition) and last.cache is None:
        changes["tools"] = (*request.tools[:-1], replace(last, cache=MARK))
        left -= 1
    if left and request.system and _takes_mark(request.system[-1]):
        changes["system"] = (*request.system[:-1], replace(request.system[-1], cache=MARK))
        left -= 1
    ends = _last_turn_ends(request.messages)[:left]
    if ends:
        messages = list(request.messages)
        for index in ends:
            messages[index] = _with_mark(messages[index])
        changes["messages"] = tuple(messages)
    return replace(request, **changes) if changes else request


def _count_marks(request: Request) -> int:
    tools = sum(tool.cache is not None for tool in request.tools if isinstance(tool, ToolDefinition))
    system = sum(block.cache is not None for block in request.system)
    return tools + system + sum(block.cache is not None for message in request.messages for block in message.content)


def _last_turn_ends(messages: Sequence[Message]) -> list[int]:
    """The indexes of the last two messages that are the user's or a tool's, the newest first: the newest ends what is
    written to the cache now, the other ends what was written before."""
    found: list[int] = []
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role in (USER, TOOL) and message.content and _takes_mark(message.content[-1]):
            found.append(index)
            if len(found) == 2:
                break
    return found


def _takes_mark(block: Block) -> bool:
    empty = type(block) is TextBlock and not block.text
    return block.cache is None and not empty and type(block) is not ThinkingBlock


def _with_mark(message: Message) -> Message:
    return replace(message, content=(*message.content[:-1], replace(message.content[-1], cache=MARK)))
