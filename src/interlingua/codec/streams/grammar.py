"""StreamGrammar: the legal sequences of events. Everything that decides legality is in this file.

In ``STREAM`` and ``BLOCK``, each state maps the legal events to the next state; any other event is illegal.

- ``message.start`` comes first, ``message.complete`` last, and nothing after it.
- A new block's index is the highest so far plus one; several may be open together.
- Deltas go to open blocks of their kind; a closed block never reopens; each opener has exactly one closer.
- ``usage.update`` and ``unknown`` may stand anywhere between start and complete.
"""

from __future__ import annotations

from ...errors import ParseError
from ...types.blocks import RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
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
    Unknown,
    UsageUpdate,
)

__all__ = ["StreamGrammar"]

# The stream as a whole. Block events are legal while it is "open"; BLOCK says which.
STREAM: dict[str, dict[type, str]] = {
    "idle": {MessageStart: "open"},
    "open": {
        BlockStart: "open",
        ToolUseStart: "open",
        TextDelta: "open",
        ThinkingDelta: "open",
        CitationDelta: "open",
        ToolUseInputDelta: "open",
        ToolUseEnd: "open",
        BlockComplete: "open",
        UsageUpdate: "open",
        Unknown: "open",
        MessageComplete: "done",
    },
    "done": {},
}

# One block. "new" is a block not yet seen; the state of an open block is its kind.
BLOCK: dict[str, dict[type, str]] = {
    "text": {TextDelta: "text", CitationDelta: "text", BlockComplete: "closed"},
    "refusal": {TextDelta: "refusal", BlockComplete: "closed"},
    "thinking": {ThinkingDelta: "thinking", BlockComplete: "closed"},
    "tool": {ToolUseInputDelta: "tool", ToolUseEnd: "closed"},
    "whole": {BlockComplete: "closed"},
    "closed": {},
}

DELTAS = frozenset((TextDelta, ThinkingDelta, CitationDelta, ToolUseInputDelta))
KINDS: dict[type, str] = {TextBlock: "text", RefusalBlock: "refusal", ThinkingBlock: "thinking", ToolUseBlock: "tool"}


class StreamGrammar:
    """Checks one stream, event by event; an illegal event raises ``ParseError`` and changes nothing."""

    __slots__ = ("_index", "_kind", "blocks", "state")

    def __init__(self) -> None:
        self.state = "idle"
        self.blocks: list[str] = []
        self._kind: type | None = None  # of the event before, if it was a delta
        self._index: int = -1

    def check(self, event: Event) -> None:
        """Check one event and change the state; raise ``ParseError`` if the event is illegal now."""
        kind = type(event)
        if kind is self._kind and event.index == self._index:  # type: ignore[union-attr]  # nearly all events
            return
        self._kind = None
        if kind in DELTAS and self.state == "open":  # deltas change nothing
            index: int = event.index  # type: ignore[union-attr]
            if 0 <= index < len(self.blocks) and kind in BLOCK[self.blocks[index]]:
                self._kind, self._index = kind, index
                return
        after = STREAM[self.state].get(kind)
        if after is None:
            raise ParseError(f"{event.type} is not legal when the stream is {self.state}")
        if kind is BlockStart or kind is ToolUseStart:
            self._open(event)
        elif kind is MessageComplete:
            self._complete()
        elif kind is not MessageStart and kind is not UsageUpdate and kind is not Unknown:
            self._move(event)
        self.state = after

    def _open(self, event: Event) -> None:
        assert isinstance(event, BlockStart | ToolUseStart)
        if event.index != len(self.blocks):
            raise ParseError(f"{event.type} has index {event.index}, the next new block is {len(self.blocks)}")
        kind = KINDS.get(type(event.block), "whole")
        if (kind == "tool") is not (type(event) is ToolUseStart):
            raise ParseError(f"{event.type} cannot open a block of type {event.block.type}")
        self.blocks.append(kind)

    def _move(self, event: Event) -> None:
        index: int = event.index  # type: ignore[union-attr]
        if not 0 <= index < len(self.blocks):
            raise ParseError(f"{event.type} for block {index}, which was never opened")
        after = BLOCK[self.blocks[index]].get(type(event))
        if after is None:
            raise ParseError(f"{event.type} is not legal for block {index}, which is {self.blocks[index]}")
        self.blocks[index] = after

    def _complete(self) -> None:
        still_open = [index for index, kind in enumerate(self.blocks) if kind != "closed"]
        if still_open:
            raise ParseError(f"message.complete while blocks {still_open} are open")
