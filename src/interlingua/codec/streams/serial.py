"""Writing streams of protocols that have one block open at a time.

A text that is still open when the next block begins is ended there; the rest of it waits for a block of its own,
declared ``moved``. Calls, whole blocks and texts that broke off are never ended early: other blocks wait until they
end. If the stream fails before that, the waiting blocks are not written; the finished ones are declared ``dropped``.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

from msgspec.structs import replace

from ...types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock
from ...types.events import (
    BlockComplete,
    BlockStart,
    CitationDelta,
    Event,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
)
from .encoder import Closer, Delta, GrammaticalEncoder, Opener

__all__ = ["Closer", "Delta", "Opener", "SerialEncoder"]


class Early(NamedTuple):
    """A text that was ended early: the texts that came after, and how many of its citations were written before."""

    texts: list[str]
    cited: int


class SerialEncoder(GrammaticalEncoder):
    """``block`` is the current block, which is being written; ``can_write``: whether the protocol can express it."""

    block: Block
    can_write: bool
    cited: int  # how many citations of the current block were written

    def __init__(self) -> None:
        super().__init__()
        self.current: int | None = None
        self.last: int | None = None  # the block that was written last
        self.waiting: dict[int, list[Event]] = {}
        self.early: dict[int, Early] = {}

    @abstractmethod
    def begin_block(self, event: Opener) -> bytes:
        """Write the start of a block. Sets ``can_write`` and ``cited``."""

    @abstractmethod
    def write_delta(self, event: Delta) -> bytes:
        """Write more of the current block. Counts ``cited``."""

    @abstractmethod
    def finish(self, block: Block) -> bytes:
        """Write what is left of the current block, which is ``block`` now that it is finished, and its end."""

    @abstractmethod
    def stop_block(self) -> bytes:
        """Write the end of the current block."""

    @abstractmethod
    def declare(self, block: Block) -> None:
        """Declare what the protocol cannot express of a finished block."""

    def open(self, event: Opener) -> bytes:
        if self.current is None:
            return self.begin(event)
        if isinstance(self.block, TextBlock | ThinkingBlock | RefusalBlock) and not self.is_cut(self.current):
            stop = self.stop_block()
            self.early[self.current] = Early([], self.cited)
            self.current, self.waiting[event.index] = None, [event]
            return stop + self.next_waiting()  # others may have waited longer
        self.waiting[event.index] = [event]
        return b""

    def is_cut(self, index: int) -> bool:
        """Whether a block broke off. It may not be ended before ``message.complete`` says how the answer ended."""
        return any(closer.index == index for closer in self.unfinished)

    def begin(self, event: Opener) -> bytes:
        self.current, self.block = event.index, event.block
        self.ledger.where = ("content", event.index)
        return self.begin_block(event)

    def delta(self, event: Delta) -> bytes:
        if event.index == self.current:
            return self.write_delta(event) if self.can_write else b""
        if event.index in self.waiting:
            self.waiting[event.index].append(event)
        elif isinstance(event, TextDelta | ThinkingDelta):
            self.early[event.index].texts.append(event.text)
        return b""

    def end(self, event: Closer) -> bytes:
        if event.index in self.waiting:
            self.waiting[event.index].append(event)
            return b""
        if event.index in self.early:
            return self.end_early_block(event)
        self.ledger.where = ("content", event.index)
        last = self.finish(event.block)
        if self.can_write:
            self.last = event.index
        self.current = None
        return last + self.next_waiting()

    def end_early_block(self, event: Closer) -> bytes:
        """Take the end of a text that was ended early: its rest waits for a block of its own."""
        block, index = event.block, event.index
        texts, cited = self.early.pop(index)
        rest = "".join(texts)
        self.ledger.where = ("content", index)
        self.declare(block)
        if block.signature is not None:
            self.ledger.lose(
                "dropped", "the signature covers text that was written earlier", "signature", weight="state"
            )
        if rest:
            self.ledger.lose_form("moved", "blocks are written one by one; the rest of this follows")
            self.waiting[index] = _rest(index, block, rest, cited)
        elif isinstance(block, TextBlock) and cited < len(block.citations):
            self.ledger.lose("dropped", "the citations came after the next block had begun", "citations")
        return self.next_waiting() if self.current is None else b""

    def write_cut_block(self, event: Closer) -> bytes:
        """Write the end of a call that was cut off as the last block, because its place shows readers that it was cut.

        Waiting blocks are not written.
        """
        if isinstance(event, ToolUseEnd) and event.index not in self.waiting:
            self.lose_waiting("the answer reached its limit within a call, and nothing can be written behind it")
        return self.end(event)

    def lose_waiting(self, reason: str) -> None:
        """Declare the waiting blocks that are finished, and forget all waiting ones."""
        self.ledger.where = ()
        for index, events in self.waiting.items():
            if isinstance(events[-1], BlockComplete | ToolUseEnd):
                self.ledger.lose("dropped", reason, "content", index)
        self.waiting.clear()

    def abandon(self) -> bytes:
        self.lose_waiting("the stream failed before this block could be written")
        return b""

    def next_waiting(self) -> bytes:
        """Write the blocks that waited for their turn, until one is still open."""
        written: list[bytes] = []
        while self.current is None and self.waiting:
            events = self.waiting.pop(min(self.waiting))
            written.extend(self.write_event(event) for event in events)
        return b"".join(written)


def _rest(index: int, block: Block, text: str, cited: int) -> list[Event]:
    """The events of the late text as a block of its own, without what was written at its start."""
    late = replace(block, text=text, signature=None, cache=None, extras={})
    if isinstance(late, TextBlock):
        late = replace(late, citations=late.citations[cited:])
        citations = [CitationDelta(index, citation) for citation in late.citations]
        start = replace(late, text="", citations=())
        return [BlockStart(index, start), TextDelta(index, text), *citations, BlockComplete(index, late)]
    delta = ThinkingDelta if isinstance(late, ThinkingBlock) else TextDelta
    return [BlockStart(index, replace(late, text="")), delta(index, text), BlockComplete(index, late)]
