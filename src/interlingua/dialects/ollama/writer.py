"""Writing the streams of Ollama: a line for each delta, and for each call or picture when it is finished.

Blocks of one kind that are open together speak one after the other. After a failure only what is finished, and the text
so far, goes out before the error.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...codec.framing import encode_ndjson
from ...codec.incomplete import CUT_BLOCK, is_left_out
from ...codec.stream import GrammaticalEncoder, dump
from ...codec.tables import Ledger, marks, own, say_constants
from ...errors import AdapterError
from ...types.base import Json
from ...types.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    OpaqueBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
)
from ...types.events import (
    BlockComplete,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseStart,
)
from ...types.request import Request
from . import generate
from .blocks import JOINT, NAME, Wire, say_block, say_blocks, say_number
from .errors import encode_error_body
from .response import CONSTANTS, EPOCH, say_envelope

LANES: dict[type, str] = {
    ThinkingBlock: "thinking",
    TextBlock: "content",
    RefusalBlock: "content",
    JsonBlock: "content",
    DocumentBlock: "content",
}


class Lane:
    """One string of the protocol, into which blocks speak one after the other, a blank line between them."""

    __slots__ = ("ended", "turns", "voice")

    def __init__(self) -> None:
        self.turns: dict[int, list[str]] = {}  # who wants to speak, in order, and what waits to be said
        self.ended: set[int] = set()
        self.voice: int | None = None

    def open(self, index: int) -> None:
        self.turns[index] = []

    def say(self, index: int, text: str) -> str:
        if index != next(iter(self.turns)):
            self.turns[index].append(text)
            return ""
        return self._speak(index, text)

    def end(self, index: int) -> str:
        """What may be said now that a block has ended."""
        self.ended.add(index)
        said: list[str] = []
        while self.turns and (first := next(iter(self.turns))) in self.ended:
            del self.turns[first]
            if self.turns:
                following = next(iter(self.turns))
                said.append(self._speak(following, "".join(self.turns[following])))
        return "".join(said)

    def _speak(self, index: int, text: str) -> str:
        if text and self.voice not in (None, index):
            text = JOINT + text
        if text:
            self.voice = index
        return text


Queue = dict[int, Block | None]
"""Blocks that go out whole, in the order in which they began: finished ones, and None for an open one."""


class Encoder(GrammaticalEncoder):
    def __init__(self, request: Request | None = None) -> None:
        super().__init__()
        self.generate = generate.is_wanted(None, request)
        self.model = ""
        self.lanes = {"thinking": Lane(), "content": Lane()}
        self.calls: Queue = {}
        self.pictures: Queue = {}
        self.numbered = 0

    def say(self, event: Event) -> bytes:
        match event:
            case MessageStart():
                self.model = event.model or ""
                return b""
            case TextDelta():
                return self.speak("content", event.index, event.text)
            case ThinkingDelta():
                return self.speak("thinking", event.index, event.text)
            case BlockStart():
                return self.open(event)
            case BlockComplete():
                return self.end(event)
            case ToolUseStart():
                self.calls[event.index] = None
                return b""
            case ToolUseEnd():
                return self.call(event)
            case MessageComplete():
                return self.complete(event)
            case _:
                return b""

    def line(self, **said: Json) -> bytes:
        """A line in the middle."""
        message: Wire = {"role": "assistant", "content": "", **said}
        return self.write({"model": self.model, "created_at": EPOCH, "message": message, "done": False})

    def write(self, wire: Wire) -> bytes:
        return encode_ndjson(dump(generate.as_generate(wire) if self.generate else wire))

    def speak(self, lane: str, index: int, text: str) -> bytes:
        said = self.lanes[lane].say(index, text)
        return self.line(**{lane: said}) if said else b""

    def open(self, event: BlockStart) -> bytes:
        lane = LANES.get(type(event.block))
        if lane is None:
            if isinstance(event.block, ImageBlock | OpaqueBlock):
                self.pictures[event.index] = None
            return b""
        self.lanes[lane].open(event.index)
        text = event.block.text if isinstance(event.block, TextBlock | ThinkingBlock | RefusalBlock) else ""
        return self.speak(lane, event.index, text)

    def end(self, event: BlockComplete) -> bytes:
        lane = LANES.get(type(event.block))
        if lane is None:
            return self.picture(event) if event.index in self.pictures else b""
        said = say_block(event.block, Ledger())  # losses are declared once, at the end
        spoken = b""
        if isinstance(event.block, JsonBlock | DocumentBlock) and said is not None:
            spoken = self.speak(lane, event.index, said[1])
        following = self.lanes[lane].end(event.index)
        return spoken + (self.line(**{lane: following}) if following else b"")

    def picture(self, event: BlockComplete) -> bytes:
        if is_left_out(event.block, NAME, Ledger()):
            del self.pictures[event.index]
        else:
            self.pictures[event.index] = event.block
        return self.ready_pictures()

    def ready_pictures(self) -> bytes:
        found = [say_block(block, Ledger()) for block in _ready(self.pictures)]
        return b"".join(self.line(images=[said[1]]) for said in found if said is not None and said[0] == "images")

    def call(self, event: ToolUseEnd) -> bytes:
        if is_left_out(event.block, NAME, Ledger()):  # which is declared at the end
            del self.calls[event.index]
        else:
            self.calls[event.index] = event.block
        return self.ready_calls()

    def ready_calls(self) -> bytes:
        lines: list[bytes] = []
        for block in _ready(self.calls):
            _, wire = say_block(block, Ledger()) or ("", {})
            say_number(wire["function"], marks(NAME, block), self.numbered, answer=True)
            self.numbered += 1
            lines.append(self.line(tool_calls=[wire]))
        return b"".join(lines)

    def complete(self, event: MessageComplete) -> bytes:
        if event.error is not None:
            return self.fail(event.error)
        response = event.response
        said = self.abandon()
        placed = [(("content", index), block) for index, block in enumerate(response.content)]
        whole = say_blocks(placed, self.ledger, answer=True, context=True)
        wire: Wire = {"context": whole["context"]} if "context" in whole else {}
        wire |= {"message": {"role": "assistant", "content": ""}, **say_envelope(response, self.ledger)}
        own(NAME, wire, response)
        say_constants(wire, {}, CONSTANTS)
        wire["done"] = True
        self.ended = True
        return said + self.write(wire)

    def fail(self, error: AdapterError) -> bytes:
        if self.ended:
            return b""
        said = self.abandon()
        self.ended = True
        return said + encode_ndjson(dump(encode_error_body(error)))

    def abandon(self) -> bytes:
        """The answer ends here: what is still open is left out, and what waited behind it is written."""
        said: list[bytes] = []
        for key, lane in self.lanes.items():
            said.extend(self.line(**{key: text}) for index in list(lane.turns) if (text := lane.end(index)))
        for queue in (self.calls, self.pictures):
            for index in [index for index, block in queue.items() if block is None]:
                del queue[index]
                self.ledger.lose("dropped", CUT_BLOCK, "content", index)
        return b"".join([*said, self.ready_pictures(), self.ready_calls()])


def _ready(queue: Queue) -> Iterator[Block]:
    """The finished blocks that no open one stands before; they leave the queue."""
    while queue and (block := queue[first := next(iter(queue))]) is not None:
        del queue[first]
        yield block
