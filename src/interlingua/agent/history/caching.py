"""Cache marks for a prompt: on the tools, the system prompt, and the part of the history that will not change.

Providers that cache without marks get none: a mark that a dialect does not have would be a Loss. The marks are put on
the request and never on the history, so none are left when the conversation moves to another model.
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

# How many marks one request may have, in the dialects that have them.
MARKS = {"anthropic-messages": 4, "bedrock-converse": 4}

MARK = CacheMark()
USER, TOOL = Role.user, Role.tool


def mark_cache(request: Request, dialect: str) -> Request:
    """The request with cache marks, within the dialect's limit. Marks of the caller count and are not changed."""
    left = MARKS.get(dialect, 0) - _marked(request)
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
    ends = _ends(request.messages)[:left]
    if ends:
        messages = list(request.messages)
        for index in ends:
            messages[index] = _with_mark(messages[index])
        changes["messages"] = tuple(messages)
    return replace(request, **changes) if changes else request


def _marked(request: Request) -> int:
    tools = sum(tool.cache is not None for tool in request.tools if isinstance(tool, ToolDefinition))
    system = sum(block.cache is not None for block in request.system)
    return tools + system + sum(block.cache is not None for message in request.messages for block in message.content)


def _ends(messages: Sequence[Message]) -> list[int]:
    """The last two user or tool messages, the newest first: the end of this prompt and of the one before."""
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
