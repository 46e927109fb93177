"""A request without the content that the model cannot read: left out, or replaced by a note of what was there."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from ...models.estimate.pictures import known_picture_size
from ...types.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    DocumentBlock,
    FileSource,
    ImageBlock,
    TextBlock,
    TextSource,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    VideoBlock,
)
from ...types.messages import Message
from ...types.request import Request
from ...types.words import Role
from ..secrets import shown_url
from .content import lack_of
from .target_model import TargetModel

__all__ = ["leave_out"]

MEDIA = ImageBlock | DocumentBlock | AudioBlock | VideoBlock
NOTED = "; a note says what was there"


def leave_out(request: Request, model: TargetModel, *, describe: bool) -> Request:
    """The request as far as the model can read it. What is lost is noted on ``model``.

    A message of nothing but unreadable media keeps a note in any case, since no message may be empty.
    """
    reading = _Reading(request, model, describe=describe)
    messages = [reading.message(message, index) for index, message in enumerate(request.messages)]
    changes: dict[str, object] = {"messages": tuple(message for message in messages if message is not None)}
    changes["system"] = tuple(reading.blocks(request.system, "system"))
    able = model.able
    if request.tools and not able.tools:
        model.lose("tools", "dropped", "calls no tools")
        changes |= {"tools": (), "tool_choice": None}
    if request.output_schema is not None and not (able.structured_output or able.tools):
        model.lose("output_schema", "dropped", "has no structured output, and no tools to approximate it with")
        changes["output_schema"] = None
    return _without_system(replace(request, **changes), model, describe=describe)


class _Reading:
    """What the model can read of a request, block by block."""

    def __init__(self, request: Request, model: TargetModel, *, describe: bool) -> None:
        self._model, self._describe, self._last = model, describe, len(request.messages) - 1
        self._names: dict[str, str] = {}
        """The tool of each call, by the call's id."""

    def message(self, message: Message, index: int) -> Message | None:
        """What the model can read of a message; None if that is nothing and it held only tool calls or results."""
        found = tuple(self.blocks(message.content, f"messages/{index}/content"))
        if found == message.content:
            return message
        if not found:
            if index < self._last and all(
                isinstance(block, ToolUseBlock | ToolResultBlock) for block in message.content
            ):
                return None
            found = tuple(note for block in message.content for note in self._notes(block))
        return replace(message, content=found)

    def blocks(self, blocks: tuple[Block, ...], path: str) -> Iterator[Block]:
        """The blocks that the model can read, and what stands for the others."""
        for index, block in enumerate(blocks):
            yield from self._block(block, f"{path}/{index}")

    def _block(self, block: Block, path: str) -> Iterator[Block]:
        if isinstance(block, ToolUseBlock):
            self._names[block.id] = block.name
        lack = lack_of(block, self._model.able)
        if lack is not None:
            self._model.lose(path, "approximated" if self._describe else "dropped", lack + NOTED * self._describe)
            if self._describe:
                yield from self._notes(block)
        elif isinstance(block, ToolResultBlock):
            content = tuple(self.blocks(block.content, f"{path}/content"))
            yield block if content == block.content else replace(block, content=content)
        else:
            yield block

    def _notes(self, block: Block) -> Iterator[Block]:
        """What stands for a block that the model cannot read."""
        if isinstance(block, ToolUseBlock):
            arguments = block.input_text if block.kind == "text" else msgspec.json.encode(block.input).decode()
            yield TextBlock(f"[call of the tool {block.name}: {arguments}]")
        elif isinstance(block, ToolResultBlock):
            name = block.name or self._names.get(block.tool_use_id, "a tool")
            text = "".join(inner.text for inner in block.content if isinstance(inner, TextBlock))
            yield TextBlock(f"[{'error' if block.is_error else 'result'} of {name}: {text}]")
            for inner in block.content:
                if not isinstance(inner, TextBlock):
                    yield from self._notes(inner) if lack_of(inner, self._model.able) else (inner,)
        elif isinstance(block, MEDIA):
            yield TextBlock(self._note(block))

    def _note(self, block: MEDIA) -> str:
        if isinstance(block, DocumentBlock) and isinstance(block.source, TextSource):
            return f"[document{_name_of(block)}]\n{block.source.text}"
        transcript = f', "{block.transcript}"' if isinstance(block, AudioBlock) and block.transcript else ""
        why = lack_of(block, self._model.able)
        return (
            f"[{block.type}{_name_of(block)}{_described(block)}{transcript}: left out because {self._model.name} {why}]"
        )


def _name_of(block: MEDIA) -> str:
    name = (block.filename or block.title) if isinstance(block, DocumentBlock) else None
    return f" {name}" if name else ""


def _described(block: MEDIA) -> str:
    """What is known of media without reading them: picture size, type and length, or where they are stored."""
    source = block.source
    if isinstance(source, UrlSource):
        return f" at {shown_url(source.url).partition('?')[0]}"
    if isinstance(source, FileSource):
        return f", file {source.file_id}"
    if not isinstance(source, Base64Source):
        return ""
    size = known_picture_size(source.data) if isinstance(block, ImageBlock) else None
    kind = source.media_type.rpartition("/")[2].upper()
    return f", {f'{size[0]}x{size[1]} ' if size else ''}{kind}, {_bytes(len(source.data) * 3 // 4)}"


def _bytes(count: int) -> str:
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1e3:.0f} kB" if count < 999_500 else f"{count / 1e6:.1f} MB"


def _without_system(request: Request, model: TargetModel, *, describe: bool) -> Request:
    """The request without system text if the model takes none: it is dropped, or moved to user messages."""
    if model.able.system_prompt:
        return request
    if request.system:
        model.lose("system", "moved" if describe else "dropped", "takes no system prompt")
    messages: list[Message] = []
    for index, message in enumerate(request.messages):
        if message.role is not Role.system:
            messages.append(message)
            continue
        model.lose(f"messages/{index}", "moved" if describe else "dropped", "takes no system prompt")
        if describe:
            messages.append(replace(message, role=Role.user))
    if request.system and describe:
        is_user = bool(messages) and messages[0].role is Role.user
        merged = replace(messages[0], content=(*request.system, *messages[0].content)) if is_user else None
        messages[: bool(is_user)] = [merged or Message(Role.user, request.system)]
    return replace(request, system=(), messages=tuple(messages))
