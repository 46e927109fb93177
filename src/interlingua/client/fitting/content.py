"""Content that a model cannot read, found before the request is sent."""

from __future__ import annotations

from collections.abc import Iterator

from ...types.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    DocumentBlock,
    ImageBlock,
    ServerToolUseBlock,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    VideoBlock,
)
from ...types.capabilities import AdapterCapabilities
from ...types.messages import Message
from ...types.request import Request
from ...types.words import Role

__all__ = ["lack_of", "unreadable_parts", "prefill_problems"]

SYSTEM, ASSISTANT = Role.system, Role.assistant

# fmt: off
NEEDS: dict[type, tuple[str, str]] = {
    # block           ability      the error without it
    ImageBlock:      ("images",    "takes no images"),
    DocumentBlock:   ("documents", "takes no documents"),
    AudioBlock:      ("audio",     "takes no audio"),
    VideoBlock:      ("video",     "takes no video"),
    ToolUseBlock:    ("tools",     "calls no tools, and there is a call"),
    ToolResultBlock: ("tools",     "calls no tools, and there is a tool's result"),
}
# fmt: on


def unreadable_parts(request: Request, able: AdapterCapabilities) -> Iterator[str]:
    """The reasons why the model cannot read this request, each with the place in the request."""
    name = request.model or "the model"
    if request.tools and not able.tools:
        yield f"tools: {name} calls no tools"
    if not able.system_prompt and (request.system or any(m.role is SYSTEM for m in request.messages)):
        yield f"system: {name} takes no system prompt"
    if request.stream and not able.streaming:
        yield f"stream: {name} does not stream; ask for the whole answer"
    elif request.stream and request.tools and not able.streaming_tool_calls:
        yield f"stream: {name} calls no tools in a stream; ask for the whole answer"
    if request.output_schema is not None and not (able.structured_output or able.tools):
        yield f"output_schema: {name} has no structured output, and no tools to approximate it with"
    if not _is_plain(request):
        for place, block in _special_blocks(request):
            if (lack := lack_of(block, able)) is not None:
                yield f"{place}: {name} {lack}"


def _is_plain(request: Request) -> bool:
    """Whether every model can read its content, as is the case for nearly all requests."""
    kinds = {type(block) for message in request.messages for block in message.content}
    return kinds.isdisjoint(NEEDS) and (not request.system or {*map(type, request.system)}.isdisjoint(NEEDS))


def _special_blocks(request: Request) -> list[tuple[str, Block]]:
    """The blocks that not every model can read, with their paths."""
    found: list[tuple[str, Block]] = [("system", block) for block in request.system if type(block) in NEEDS]
    for index, message in enumerate(request.messages):
        for block in message.content:
            if type(block) in NEEDS:
                found.append((f"messages/{index}", block))
                if type(block) is ToolResultBlock:
                    found += [(f"messages/{index}", inner) for inner in block.content if type(inner) in NEEDS]
    return found


def lack_of(block: Block, able: AdapterCapabilities) -> str | None:
    """Why the model cannot read this block, as a predicate such as "takes no images"; None if it can."""
    need = NEEDS.get(type(block))
    if need is not None and not getattr(able, need[0]):
        return need[1]
    if type(block) is ImageBlock and able.image_types and isinstance(block.source, Base64Source | UrlSource):
        kind = (block.source.media_type or "").lower()
        if kind and kind not in able.image_types:
            return f"takes no {kind}, only {', '.join(able.image_types)}"
    return None


def prefill_problems(request: Request) -> Iterator[str]:
    """The error for a request that ends with an assistant message, unless it paused for a tool of the provider."""
    last = request.messages[-1] if request.messages else None
    if last is not None and last.role is ASSISTANT and not _is_paused(last):
        place, name = f"messages/{len(request.messages) - 1}", request.model or "the model"
        yield f"{place}: {name} does not continue an assistant message; end with a user message"


def _is_paused(message: Message) -> bool:
    return any(isinstance(block, ServerToolUseBlock) for block in message.content)
