"""Conversion between streams and whole responses; no other module accumulates blocks.

Decoders open, feed and close blocks with an ``Accumulator`` and get the events to emit. ``fold`` builds a Response from
the finished blocks of a stream and checks that the deltas add up to them. ``unfold`` gives the events of a response.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from msgspec.structs import replace

from ...errors import ParseError
from ...types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.events import (
    BlockComplete,
    BlockStart,
    CitationDelta,
    Event,
    MessageComplete,
    MessageStart,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from ...types.response import Response
from ..tools.arguments import is_text_of, parse_object, read_arguments, write_arguments
from .grammar import StreamGrammar

__all__ = ["Accumulator", "fold", "unfold", "without_undelivered"]


MANY = 4096
"""After this many pieces, the pieces of a text are joined before it is complete."""


class Accumulator:
    """The blocks of one stream while they grow. Appending costs O(1); text is joined when its block is closed.

    The pieces of a long text are also joined in between, each once, because small strings take much more memory.
    """

    __slots__ = ("blocks", "joined_parts", "open_indexes", "parts")

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.parts: list[list[str]] = []
        self.joined_parts: dict[int, list[str]] = {}
        self.open_indexes: dict[int, None] = {}  # a set that keeps its order

    def open(self, block: Block) -> Event:
        """Begin a block at the next free index and return its event."""
        index = len(self.blocks)
        self.blocks.append(block)
        self.parts.append([])
        self.open_indexes[index] = None
        if type(block) is ToolUseBlock:
            return ToolUseStart(index, block.id, block.name, block)
        return BlockStart(index, block)

    def text(self, index: int, text: str) -> TextDelta:
        """Add text to a text block or a refusal."""
        parts = self.parts[index]
        parts.append(text)
        if len(parts) >= MANY:
            self._join(index)
        return TextDelta(index, text)

    def thinking(self, index: int, text: str) -> ThinkingDelta:
        """Add reasoning to a thinking block."""
        parts = self.parts[index]
        parts.append(text)
        if len(parts) >= MANY:
            self._join(index)
        return ThinkingDelta(index, text)

    def arguments(self, index: int, text: str) -> ToolUseInputDelta:
        """Add text to the arguments of a call."""
        parts = self.parts[index]
        parts.append(text)
        if len(parts) >= MANY:
            self._join(index)
        return ToolUseInputDelta(index, text)

    def more(self, index: int, text: str) -> TextDelta | ThinkingDelta | ToolUseInputDelta:
        """Add text to a block of any kind."""
        kind = type(self.blocks[index])
        if kind is ToolUseBlock:
            return self.arguments(index, text)
        return self.thinking(index, text) if kind is ThinkingBlock else self.text(index, text)

    def longest_input(self) -> int:
        """The length in bytes of the longest arguments of the open calls."""
        calls = [index for index in self.open_indexes if type(self.blocks[index]) is ToolUseBlock]
        return max((len(self.joined(index).encode()) for index in calls), default=0)

    def joined(self, index: int) -> str:
        """The text of a block's deltas so far."""
        return "".join((*self.joined_parts.get(index, ()), *self.parts[index]))

    def _join(self, index: int) -> None:
        self.joined_parts.setdefault(index, []).append("".join(self.parts[index]))
        self.parts[index].clear()

    def close(self, index: int, block: Block) -> Event:
        """End a block and return its event; ``block`` is the finished block."""
        del self.open_indexes[index]
        self.blocks[index] = block
        self.parts[index] = []
        if self.joined_parts:
            self.joined_parts.pop(index, None)
        if type(block) is ToolUseBlock:
            return ToolUseEnd(index, block.input, block)
        return BlockComplete(index, block)

    @property
    def content(self) -> tuple[Block, ...]:
        """The blocks in the order in which they were opened."""
        return tuple(self.blocks)


def fold(events: Iterable[Event]) -> Response:
    """The response that a stream adds up to. Raises ``ParseError`` if the events break the grammar or do not complete.

    Exceptions of ``events`` are passed on: ``fold(decode_stream(...))`` of a stream that failed raises its error, whose
    ``response`` is the partial answer. A list of the same events gives the partial answer itself.
    """
    if hasattr(events, "__aiter__"):
        raise TypeError("fold reads a plain iterable: pass [event async for event in stream] for an async stream")
    grammar = StreamGrammar()
    deltas: dict[int, list[Event]] = {}
    finished: dict[int, Block] = {}
    response: Response | None = None
    for event in events:
        grammar.check(event)
        kind = type(event)
        if kind is ToolUseEnd or kind is BlockComplete:
            event = cast("ToolUseEnd | BlockComplete", event)
            _verify(event.block, deltas.pop(event.index))
            finished[event.index] = event.block
        elif kind is MessageComplete:
            response = _assemble(cast("MessageComplete", event), [finished[index] for index in sorted(finished)])
        elif (index := getattr(event, "index", None)) is not None:
            deltas.setdefault(index, []).append(event)
    if response is None:
        raise ParseError("the stream ended without message.complete")
    return response


def _assemble(event: MessageComplete, blocks: list[Block]) -> Response:
    """The response with the finished blocks, in its own order if it holds the same ones (they may end out of order)."""
    content, left = event.response.content, list(blocks)
    for block in content:
        if block in left:
            left.remove(block)
    if len(content) == len(blocks) and not left:
        return event.response
    return replace(event.response, content=tuple(blocks))


def _verify(block: Block, events: list[Event]) -> None:
    opener, deltas = events[0], events[1:]
    start = cast("BlockStart | ToolUseStart", opener).block
    if isinstance(block, TextBlock | RefusalBlock | ThinkingBlock):
        joined = "".join(event.text for event in deltas if isinstance(event, TextDelta | ThinkingDelta))
        if not isinstance(start, type(block)) or start.text + joined != block.text:
            raise ParseError(f"the deltas of a {block.type} block do not add up to it")
    elif isinstance(block, ToolUseBlock):
        joined = "".join(event.partial_json for event in deltas if isinstance(event, ToolUseInputDelta))
        if joined and not _same_arguments(joined, block):
            raise ParseError(f"the deltas of call {block.id} do not add up to its input")


def _same_arguments(joined: str, block: ToolUseBlock) -> bool:
    if block.kind == "text":  # the free text itself, or the object that carried it
        return joined == block.input_text or (parse_object(joined) or {}).get("input") == block.input_text
    return joined == block.input_text if block.input_text is not None else is_text_of(joined, block.input)


def without_undelivered(closing: list[Event], undelivered: list[Event]) -> list[Event]:
    """The closing events of a cancelled stream, for a reader that did not get the events ``undelivered``.

    The partial answer holds only what the reader saw, so that the deltas still add up to it. ``closing`` ends in
    ``message.complete``."""
    opened = {event.index for event in undelivered if isinstance(event, BlockStart | ToolUseStart)}
    undelivered_texts: dict[int, str] = {}
    for event in undelivered:
        if isinstance(event, TextDelta | ThinkingDelta):
            undelivered_texts[event.index] = undelivered_texts.get(event.index, "") + event.text
        elif isinstance(event, ToolUseInputDelta):
            undelivered_texts[event.index] = undelivered_texts.get(event.index, "") + event.partial_json
    complete = cast("MessageComplete", closing[-1])
    ends: list[Event] = []
    seen: dict[int, Block | None] = {}  # what the reader saw of a block, by the block's identity
    for event in (*undelivered, *closing):
        if isinstance(event, BlockComplete | ToolUseEnd):
            seen[id(event.block)] = None
            if event.index not in opened:
                block = seen[id(event.block)] = _shortened(event.block, undelivered_texts.get(event.index, ""))
                ends.append(_closer(event.index, block))
    content = [seen.get(id(block), block) for block in complete.response.content]
    response = replace(complete.response, content=tuple(block for block in content if block is not None))
    return [*ends, MessageComplete(response, complete.error, complete.extras)]


def _closer(index: int, block: Block) -> Event:
    if isinstance(block, ToolUseBlock):
        return ToolUseEnd(index, block.input, block)
    return BlockComplete(index, block)


def _shortened(block: Block, tail: str) -> Block:
    """The block without ``tail`` at the end of its text, marked incomplete."""
    if isinstance(block, ToolUseBlock):
        text = block.input_text if block.kind == "text" else write_arguments(block.input, block.input_text)
        start = text.removesuffix(tail) if text and text.endswith(tail) else ""
        if block.kind == "text":
            return replace(block, input_text=start, incomplete=True)
        given, literal = read_arguments(start) if start else ({}, None)
        return replace(block, input=given, input_text=literal, incomplete=True)
    if isinstance(block, TextBlock | RefusalBlock | ThinkingBlock):
        return replace(block, text=block.text.removesuffix(tail), incomplete=True)
    return replace(block, incomplete=True)


def unfold(response: Response) -> Iterator[Event]:
    """The events of a response: at most one delta for each text. Only the events that end blocks say ``incomplete``."""
    yield MessageStart(response.id, response.model, response.origin, response.extras)
    for index, block in enumerate(response.content):
        yield from _unfold_block(index, block)
    if response.usage is not None:
        yield UsageUpdate(response.usage)
    yield MessageComplete(response, response.error)


def _unfold_block(index: int, block: Block) -> Iterator[Event]:
    if isinstance(block, ToolUseBlock):
        yield from _unfold_call(index, block)
        return
    if isinstance(block, TextBlock | RefusalBlock | ThinkingBlock):
        delta = ThinkingDelta if isinstance(block, ThinkingBlock) else TextDelta
        empty = replace(block, text="", incomplete=False)
        yield BlockStart(index, replace(empty, citations=()) if isinstance(empty, TextBlock) else empty)
        if block.text:
            yield delta(index, block.text)
        for citation in block.citations if isinstance(block, TextBlock) else ():
            yield CitationDelta(index, citation)
    else:
        yield BlockStart(index, replace(block, incomplete=False) if block.incomplete else block)
    yield BlockComplete(index, block)


def _unfold_call(index: int, block: ToolUseBlock) -> Iterator[Event]:
    yield ToolUseStart(index, block.id, block.name, replace(block, input={}, input_text=None, incomplete=False))
    if text := _arguments(block):
        yield ToolUseInputDelta(index, text)
    yield ToolUseEnd(index, block.input, block)


def _arguments(block: ToolUseBlock) -> str | None:
    """The text of a call's arguments; for an incomplete call, only what the model wrote."""
    if block.kind == "text" or (block.incomplete and (block.input_text is not None or not block.input)):
        return block.input_text
    return write_arguments(block.input, block.input_text)
