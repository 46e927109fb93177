"""Writing the streams of Gemini: server-sent events, each an answer that holds what is new.

The protocol has no beginning or end of a block: parts follow each other. A text goes out as it comes; all other parts
go out whole. A text that is still open when the next block begins is at its end for the reader. Calls without ids go
out together, since a reader could take the second for the first once more. After a failure only what is finished, and
the text so far, goes out before the error.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

from msgspec.structs import replace

from ...codec.framing import encode_sse
from ...codec.incomplete import CUT_BLOCK
from ...codec.stream import GrammaticalEncoder, dump
from ...codec.tables import Ledger
from ...errors import AdapterError
from ...types.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
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
)
from ...types.response import Response
from .candidates import PLAIN
from .errors import encode_error_body
from .key_case import Wire, is_object
from .media import NAME
from .parts import is_signable, wire_id
from .response import Told, Worded, say_answer, say_block
from .stream import TEXT, THOUGHT
from .usual import SIGNATURE

Opener = BlockStart | ToolUseStart
Closer = BlockComplete | ToolUseEnd
Delta = TextDelta | ThinkingDelta | CitationDelta | ToolUseInputDelta


class Waiting(NamedTuple):
    """A block that began while one before it was still open, and what was said of it since."""

    opener: Opener
    events: list[Delta | Closer]


class Early(NamedTuple):
    """A text that was ended when the next block began: what came late, and the signature that was said."""

    texts: list[str]
    signature: str | None


class Encoder(GrammaticalEncoder):
    def __init__(self) -> None:
        super().__init__()
        self.envelope: Wire = {}
        self.current: int | None = None
        self.block: Block
        self.live = False  # the text goes out as it comes
        self.begun = False  # some of it is out
        self.pieces: list[str] = []  # the text so far, where it goes out whole
        self.last: str | None = None  # what the last part is, if a reader would go on with it
        self.held: list[Wire] = []  # calls without ids
        self.waiting: dict[int, Waiting] = {}
        self.turns: list[int] = []  # a heap of those who wait
        self.early: dict[int, Early] = {}  # texts ended before they were complete
        self.order: list[int] = []  # of the blocks, as their parts follow each other
        self.split: dict[int, list[str]] = {}  # the parts of texts that have several

    def say(self, event: Event) -> bytes:
        match event:
            case TextDelta() | ThinkingDelta() | CitationDelta() | ToolUseInputDelta():
                return self.delta(event)
            case BlockStart() | ToolUseStart():
                return self.open(event)
            case BlockComplete() | ToolUseEnd():
                return self.end(event)
            case MessageStart():
                known = {"modelVersion": event.model, "responseId": event.message_id}
                self.envelope = {key: value for key, value in known.items() if value is not None}
                return b""
            case MessageComplete():
                return self.complete(event)
            case _:
                return b""

    def open(self, event: Opener) -> bytes:
        if self.waiting or (self.current is not None and not isinstance(self.block, Worded)):
            self.wait(event.index, Waiting(event, []))
            return b""
        return self.begin_block(event)

    def wait(self, index: int, waiting: Waiting) -> None:
        self.waiting[index] = waiting
        heappush(self.turns, index)

    def begin_block(self, event: Opener) -> bytes:
        said = b""
        if self.current is not None:
            said = self.close_text() if self.live else self.say_whole(self.current)
            self.early[self.current] = Early([], self.block.signature)
        self.current, self.block, self.begun, self.pieces = event.index, event.block, False, []
        self.order.append(event.index)
        self.live = isinstance(event.block, Worded) and not (
            event.block.signature or NAME in event.block.extras or NAME in event.block.forms
        )
        return said

    def delta(self, event: Delta) -> bytes:
        if event.index in self.waiting:
            self.waiting[event.index].events.append(event)
        elif isinstance(event, TextDelta | ThinkingDelta):
            if event.index != self.current:
                self.early[event.index].texts.append(event.text)
            elif not self.live:
                self.pieces.append(event.text)
            elif event.text:
                return self.say_text(event.text)
        return b""

    def say_whole(self, index: int) -> bytes:
        """A text that goes out whole, as far as it has come when the next block begins."""
        block = replace(self.block, text="".join(self.pieces))
        wire = say_block(block, index, Ledger())  # what it cannot say is declared once, at its end
        return self.say_parts(wire) if wire is not None else b""

    def say_text(self, text: str) -> bytes:
        kind = THOUGHT if isinstance(self.block, ThinkingBlock) else TEXT
        part: Wire = {"text": text, "thought": True} if kind == THOUGHT else {"text": text}
        if self.begun:
            return self.chunk([part])
        self.begun = True
        return self.say_parts(part)

    def say_parts(self, part: Wire) -> bytes:
        """A part that is not to be taken for more of the last one: within a chunk parts stay apart."""
        kind = None
        if is_object(part) and type(part.get("text")) is str and part.keys() <= PLAIN:
            kind = THOUGHT if part.get("thought") is True else TEXT
        said = self.release()
        before = [{**part, "text": ""}] if kind is not None and kind == self.last else []
        self.last = kind
        return said + self.chunk([*before, part])

    def release(self) -> bytes:
        """The calls that were held back."""
        if not self.held:
            return b""
        held, self.held, self.last = self.held, [], None
        return self.chunk(held)

    def chunk(self, parts: list[Wire]) -> bytes:
        content = {"parts": parts, "role": "model"}
        return encode_sse(dump({"candidates": [{"content": content}], **self.envelope}))

    def end(self, event: Closer) -> bytes:
        if event.index in self.waiting:
            self.waiting[event.index].events.append(event)
            return b""
        if event.index in self.early:
            return self.late(event)
        said = self.finish(event.block, event.index)
        self.current = None
        return said + self.next_waiting()

    def finish(self, block: Block, index: int) -> bytes:
        """The last words of the current block, or all of them."""
        wire = say_block(block, index, self.ledger)
        if wire is None:
            return b""
        if self.live:
            return self.close_text() + self.say_signature(block, index)
        if isinstance(block, ToolUseBlock) and wire_id(block) is None:
            self.held.append(wire)
            return b""
        return self.say_parts(wire)

    def close_text(self) -> bytes:
        """A text that never said anything is a part all the same."""
        return self.say_text("") if self.live and not self.begun else b""

    def say_signature(self, block: Block, index: int) -> bytes:
        """A signature that came after its text has a part of its own, as the protocol itself streams it."""
        if block.signature is None or not is_signable(block):
            return b""
        self.ledger.where = ("content", index)
        self.ledger.lose_form("moved", f"a late signature of {NAME} has its own part", "signature")
        self.ledger.where = ()
        self.order.append(index)
        self.split[index] = [block.text if isinstance(block, Worded) else "", ""]
        thought = {"thought": True} if isinstance(block, ThinkingBlock) else {}
        return self.say_parts({"text": "", **thought, SIGNATURE: block.signature})

    def late(self, event: Closer) -> bytes:
        """A text that went on after the next block had begun: its rest waits for a part of its own."""
        index, block, early = event.index, event.block, self.early.pop(event.index)
        assert isinstance(block, Worded)
        rest = "".join(early.texts)
        say_block(block, index, self.ledger)
        if block.signature != early.signature:
            why = "the signature covers all of the part, and some of it was written earlier"
            self.ledger.lose("dropped", why, "content", index, "signature", weight="state")
        if rest:
            why = "blocks are written one after another; the rest of this one follows later"
            self.ledger.lose("moved", why, "content", index)
            self.split[index] = [block.text[: -len(rest)], rest]
            late = replace(block, text=rest, signature=None)
            delta = ThinkingDelta if isinstance(block, ThinkingBlock) else TextDelta
            empty = replace(late, text="")
            self.wait(index, Waiting(BlockStart(index, empty), [delta(index, rest), BlockComplete(index, late)]))
        return self.next_waiting() if self.current is None else b""

    def next_waiting(self) -> bytes:
        """Write the blocks that waited for their turn, until one is still open."""
        said: list[bytes] = []
        while self.current is None and self.waiting:
            while self.turns[0] not in self.waiting:
                heappop(self.turns)
            opener, events = self.waiting.pop(heappop(self.turns))
            said.append(self.begin_block(opener))
            for event in events:
                if isinstance(event, Closer):
                    said.append(self.finish(event.block, event.index))
                    self.current = None
                else:
                    said.append(self.delta(event))
        return b"".join(said)

    def complete(self, event: MessageComplete) -> bytes:
        if event.error is not None:
            return self.fail(event.error)
        response: Response = event.response
        said = self.abandon() + self.release()
        self.ended = True
        self.ledger.where = ()
        wire = say_answer(response, [], self.ledger, told=self.told(response))
        return said + encode_sse(dump({**self.envelope, **wire}))

    def told(self, response: Response) -> Told:
        """The answer as its reader has it: what went out in two parts is two blocks, of which the first one cites."""
        if not self.split or len(response.content) != len(set(self.order)):
            return list(enumerate(response.content))
        parts = {index: iter(texts) for index, texts in self.split.items()}
        found, blocks = Told(), list(response.content)
        for index in self.order:
            block = blocks[index]
            if index in parts and isinstance(block, Worded):
                found.append((index, replace(block, text=next(parts[index]))))
                blocks[index] = replace(block, citations=()) if isinstance(block, TextBlock) else block
            else:
                found.append((index, block))
        return found

    def fail(self, error: AdapterError) -> bytes:
        if self.ended:
            return b""
        said = self.abandon() + self.release()
        self.ended = True
        return said + encode_sse(dump(encode_error_body(error)))

    def abandon(self) -> bytes:
        """The answer ends here: what is still open is left out, and what waited behind it is written."""
        if self.current is not None and not isinstance(self.block, Worded):
            self.ledger.lose("dropped", CUT_BLOCK, "content", self.current)
        self.current = None
        for index, (opener, events) in list(self.waiting.items()):
            if not (events and isinstance(events[-1], Closer)) and not isinstance(opener.block, Worded):
                self.ledger.lose("dropped", CUT_BLOCK, "content", index)
                del self.waiting[index]
        for index, early in self.early.items():
            if early.texts:
                self.ledger.lose(
                    "dropped", "the answer ended before the rest of this text could be written", "content", index
                )
        said: list[bytes] = []
        while self.waiting:
            said.append(self.next_waiting())
            self.current = None
        return b"".join(said)
