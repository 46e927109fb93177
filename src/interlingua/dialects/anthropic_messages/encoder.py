"""Writing a stream of Anthropic Messages: one block open at a time.

A text that is still open when the next block begins is ended there; calls are written one after the other.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...arguments import parse_object, write_arguments
from ...errors import AdapterError
from ...framing import encode_sse
from ...types.blocks import Block, OpaqueBlock, RefusalBlock, ServerToolUseBlock, TextBlock, ThinkingBlock, ToolUseBlock
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
from ...types.request import Request
from .._stream import GrammaticalEncoder, dump
from .._tables import Ledger, marks, merge
from .blocks import BLOCKS, NAME, Wire, say_citation
from .errors import encode_error_body
from .response import say_stop, say_usage


class Encoder(GrammaticalEncoder):
    def __init__(self, request: Request | None = None) -> None:
        super().__init__()
        self.written = -1  # wire index of the block being written
        self.current: int | None = None
        self.waiting: dict[int, list[Event]] = {}
        self.early: dict[int, list[str]] = {}  # texts ended before they were complete, and what came late

    def say(self, event: Event) -> bytes:
        match event:
            case MessageStart():
                return self.start(event)
            case MessageComplete():
                return self.complete(event)
            case BlockStart() | ToolUseStart():
                return self.open(event)
            case BlockComplete() | ToolUseEnd():
                return self.end(event)
            case TextDelta() | ThinkingDelta() | CitationDelta() | ToolUseInputDelta():
                return self.delta(event)
            case _:
                return b""

    def start(self, event: MessageStart) -> bytes:
        message: Wire = {"id": event.message_id or "", "type": "message", "role": "assistant"}
        message |= {"model": event.model or "", "content": [], "stop_reason": None, "stop_sequence": None}
        message["usage"] = {"input_tokens": 0, "output_tokens": 0}
        return _event({"type": "message_start", "message": message})

    def open(self, event: BlockStart | ToolUseStart) -> bytes:
        if self.current is None:
            return self.begin_block(event)
        if isinstance(self.block, TextBlock | ThinkingBlock | RefusalBlock):
            stop = self.stop_block()
            self.early[self.current] = []
            self.current, self.waiting[event.index] = None, [event]
            return stop + self.next_waiting()  # others may have waited longer
        self.waiting[event.index] = [event]
        return b""

    def begin_block(self, event: BlockStart | ToolUseStart) -> bytes:
        self.current, self.block, self.told = event.index, event.block, False
        if isinstance(event.block, OpaqueBlock):
            self.said = False  # known only when it is complete
            return b""
        self.ledger.where = ("content", event.index)
        quiet = Ledger()  # what a finished block cannot say is declared once, at its end
        wire: Wire | None = BLOCKS.encode(event.block, quiet)
        self.said = wire is not None
        if wire is None:
            return b""
        self.written += 1
        if isinstance(event.block, ToolUseBlock | ServerToolUseBlock):
            wire = {**wire, "input": {}}
        return _event({"type": "content_block_start", "index": self.written, "content_block": wire})

    def delta(self, event: TextDelta | ThinkingDelta | CitationDelta | ToolUseInputDelta) -> bytes:
        if event.index == self.current:
            return self.say_delta(event) if self.said else b""
        if event.index in self.waiting:
            self.waiting[event.index].append(event)
        elif isinstance(event, TextDelta | ThinkingDelta):
            self.early[event.index].append(event.text)
        elif isinstance(event, CitationDelta):
            self.ledger.where = ("content", event.index)
            self.ledger.lose("dropped", "it came when the next block had begun", "citations")
        return b""

    def say_delta(self, event: Event) -> bytes:
        match event:
            case TextDelta():
                return self.piece({"type": "text_delta", "text": event.text})
            case ThinkingDelta():
                return self.piece({"type": "thinking_delta", "thinking": event.text})
            case ToolUseInputDelta() if isinstance(self.block, ToolUseBlock) and self.block.kind == "json":
                self.told = True
                return self.piece({"type": "input_json_delta", "partial_json": event.partial_json})
            case CitationDelta():
                self.ledger.where = ("content", event.index)
                citation = say_citation(event.citation, self.ledger, "citations")
                return self.piece({"type": "citations_delta", "citation": citation}) if citation else b""
            case _:
                return b""

    def piece(self, delta: Wire) -> bytes:
        return _event({"type": "content_block_delta", "index": self.written, "delta": delta})

    def end(self, event: BlockComplete | ToolUseEnd) -> bytes:
        if event.index in self.waiting:
            self.waiting[event.index].append(event)
            return b""
        if event.index in self.early:
            return self.late(event)
        self.ledger.where = ("content", event.index)
        if isinstance(event.block, OpaqueBlock):
            last = self.whole(event.block)
        else:
            last = self.last_words(event.block) + self.stop_block() if self.said else self.lost(event.block)
        self.current = None
        return last + self.next_waiting()

    def last_words(self, block: Block) -> bytes:
        """What is known only now: the signature, a whole input, and what could not be said."""
        said = block.input_text if isinstance(block, ToolUseBlock) and block.kind == "json" else None
        if said and parse_object(said) is None:
            block = replace(block, input_text=None)  # deltas carry the text, malformed as it is
        BLOCKS.encode(block, self.ledger)
        if isinstance(block, ThinkingBlock) and block.signature:
            return self.piece({"type": "signature_delta", "signature": block.signature})
        untold = isinstance(block, ToolUseBlock) and not self.told and (block.kind == "text" or block.input)
        if isinstance(block, ServerToolUseBlock) or untold:
            wire = BLOCKS.encode(block, Ledger()) or {}
            return self.piece({"type": "input_json_delta", "partial_json": write_arguments(wire["input"], None)})
        return b""

    def whole(self, block: OpaqueBlock) -> bytes:
        """A block that only this protocol knows: it stands complete in its start."""
        wire = BLOCKS.encode(block, self.ledger)
        if wire is None:
            return b""
        self.written, self.said = self.written + 1, True
        return _event({"type": "content_block_start", "index": self.written, "content_block": wire}) + self.stop_block()

    def lost(self, block: Block) -> bytes:
        BLOCKS.encode(block, self.ledger)
        return b""

    def stop_block(self) -> bytes:
        return _event({"type": "content_block_stop", "index": self.written}) if self.said else b""

    def late(self, event: BlockComplete | ToolUseEnd) -> bytes:
        """A text that went on after the next block had begun: its rest waits for a block of its own."""
        rest = "".join(self.early.pop(event.index))
        self.ledger.where = ("content", event.index)
        block = event.block
        BLOCKS.encode(block, self.ledger)
        if block.signature is not None:
            self.ledger.lose("dropped", "a signature proves a whole thought, and this one was ended early", "signature")
        if rest:
            self.ledger.lose("moved", "the rest of a text that went on after the next block had begun")
            block = replace(block, text=rest, signature=None)
            kind = ThinkingDelta if isinstance(block, ThinkingBlock) else TextDelta
            empty = replace(block, text="")
            index = event.index
            self.waiting[index] = [BlockStart(index, empty), kind(index, rest), BlockComplete(index, block)]
        return self.next_waiting() if self.current is None else b""

    def next_waiting(self) -> bytes:
        """Write the blocks that waited for their turn, until one is still open."""
        said: list[bytes] = []
        while self.current is None and self.waiting:
            events = self.waiting.pop(min(self.waiting))
            said.extend(self.say(event) for event in events)
        return b"".join(said)

    def complete(self, event: MessageComplete) -> bytes:
        if event.error is not None:
            return self.fail(event.error)
        response, mark = event.response, marks(NAME, event.response)
        self.ledger.where = ()
        residue = dict(response.extras.get(NAME, {}))
        usage_residue = residue.pop("usage", {})
        delta: Wire = {"stop_reason": None, **say_stop(response, mark, self.ledger), "stop_sequence": None, **residue}
        usage = say_usage(response, {key: value for key, value in mark.items() if key != "usage"}, self.ledger)
        self.ledger.foreign(response, NAME)
        merge(usage, usage_residue)
        self.ended = True
        return _event({"type": "message_delta", "delta": delta, "usage": usage}) + _event({"type": "message_stop"})

    def fail(self, error: AdapterError) -> bytes:
        if self.ended:
            return b""
        self.ended = True
        return _event(encode_error_body(error))


def _event(wire: Wire) -> bytes:
    return encode_sse(dump(wire), wire["type"])
