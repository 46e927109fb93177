"""The streams of Anthropic Messages, both ways.

Reading: a block's wire form is put together from its start and its deltas and then read with the same table as in a
whole answer, so a stream cannot say anything else than its whole. What is not in ``EVENTS`` or ``DELTAS`` is carried as
``unknown``, never raised.

Writing: the protocol has one block open at a time. A text that is still open when the next block begins is ended
there; calls are written one after the other.
"""

from __future__ import annotations

from typing import Any

from msgspec import DecodeError
from msgspec.structs import replace

from ...arguments import parse_object, write_arguments
from ...errors import AdapterError
from ...framing import SseDecoder, encode_sse
from ...types.base import Json
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
    UsageUpdate,
)
from ...types.request import Request
from ...types.response import Response
from .._schemas import restorer
from .._stream import FrameDecoder, GrammaticalEncoder, decode_json, dump
from .._tables import Ledger, marks, merge
from .blocks import BLOCKS, NAME, Wire, read_citation, say_citation
from .errors import decode_error, encode_error_body
from .response import read_envelope, read_usage, say_stop, say_usage


USUAL: dict[type, tuple[str, str, Any]] = {
    # block         its delta            field           the event it becomes
    TextBlock: ("text_delta", "text", TextDelta),
    ThinkingBlock: ("thinking_delta", "thinking", ThinkingDelta),
    ToolUseBlock: ("input_json_delta", "partial_json", ToolUseInputDelta),
}


class Growing:
    """A block on its way: its place in the fold, its wire form so far, and what the fold does not hold.

    ``delta``, ``field`` and ``event`` are what nearly all of its deltas are; ``parts`` is the fold's own list.
    """

    __slots__ = ("citations", "delta", "event", "field", "index", "input", "parts", "signature", "wire")

    def __init__(self, index: int, wire: Wire, block: Block, parts: list[str]) -> None:
        self.index = index
        self.wire = wire
        self.parts = parts
        self.delta, self.field, self.event = USUAL.get(type(block), ("", "", None))
        self.signature: list[str] = []
        self.input: list[str] = []
        self.citations: list[Wire] = []


class Decoder(FrameDecoder):
    dialect = NAME

    def __init__(self, request: Request | None = None, provider: str | None = None) -> None:
        super().__init__(SseDecoder())
        self.provider = provider
        self.restore = restorer(request, texts=False)
        self.envelope: Wire = {}
        self.growing: dict[Json, Growing] = {}  # by wire index, which a spliced stream may use twice
        self.places: list[Growing] = []  # by place in the fold

    def read(self, frame: tuple[str, bytes], out: list[Event]) -> None:
        try:
            wire = decode_json(frame[1])
            kind = wire["type"]
            if kind == "content_block_delta":
                delta, growing = wire["delta"], self.growing.get(wire["index"])
                if growing is not None and delta["type"] == growing.delta and growing.index in self.fold.open_indexes:
                    text = delta[growing.field]
                    if type(text) is str:
                        growing.parts.append(text)
                        out.append(growing.event(growing.index, text))
                        return
            handler = EVENTS.get(kind)
            if handler is None:
                self.other(wire, out)
            else:
                handler(self, wire, out)
        except (DecodeError, UnicodeError, KeyError, TypeError, AttributeError):
            self.other(frame[1].decode("utf-8", "replace"), out)

    def other(self, wire: Json, out: list[Event]) -> None:
        if wire == "[DONE]":
            return
        if isinstance(wire, dict) and isinstance(wire.get("error"), dict):
            self.failed(wire, out)
        else:
            self.unknown(wire, out)

    def message_start(self, wire: Wire, out: list[Event]) -> None:
        message = wire["message"]
        self.envelope = {**message, **self.envelope}
        self.begin(out, MessageStart(message.get("id") or None, message.get("model") or None))
        self.usage(out)

    def block_start(self, wire: Wire, out: list[Event]) -> None:
        self.begin(out, MessageStart())
        block, place = wire["content_block"], wire["index"]
        if type(block) is not dict or type(place) is not int:
            self.unknown(wire, out)
            return
        empty = BLOCKS.decode(block)
        if type(empty) is ToolUseBlock:
            empty = replace(empty, input={})
        out.append(self.fold.open(empty))
        index = len(self.fold.blocks) - 1
        growing = Growing(index, block, empty, self.fold.parts[index])
        self.growing[place] = growing
        self.places.append(growing)

    def block_delta(self, wire: Wire, out: list[Event]) -> None:
        delta = wire["delta"]
        handler = DELTAS.get(delta["type"])
        growing = self.growing.get(wire["index"])
        if handler is None or growing is None or growing.index not in self.fold.open_indexes:
            self.unknown(wire, out)
        else:
            handler(self, growing, delta, out)

    def input_delta(self, growing: Growing, delta: Wire, out: list[Event]) -> None:
        """The input of a tool that the provider runs itself; the caller's own calls were told already."""
        if isinstance(delta["partial_json"], str):
            growing.input.append(delta["partial_json"])

    def signature_delta(self, growing: Growing, delta: Wire, out: list[Event]) -> None:
        if isinstance(delta["signature"], str):
            growing.signature.append(delta["signature"])

    def citations_delta(self, growing: Growing, delta: Wire, out: list[Event]) -> None:
        citation = read_citation(delta["citation"])
        growing.citations.append(delta["citation"])
        if type(self.fold.blocks[growing.index]) is TextBlock:
            out.append(CitationDelta(growing.index, citation))

    def compaction_delta(self, growing: Growing, delta: Wire, out: list[Event]) -> None:
        growing.wire = {**growing.wire, **{key: value for key, value in delta.items() if key != "type"}}

    def block_stop(self, wire: Wire, out: list[Event]) -> None:
        index = self.growing[wire["index"]].index
        if index in self.fold.open_indexes:
            out.append(self.fold.close(index, self.finished_block(index)))

    def finished_block(self, index: int) -> Block:
        growing = self.places[index]
        wire, said = dict(growing.wire), self.fold.joined(index)
        start = self.fold.blocks[index]
        if isinstance(start, TextBlock):
            wire["text"] = start.text + said
            if growing.citations:
                wire["citations"] = [*(wire.get("citations") or ()), *growing.citations]
        elif isinstance(start, ThinkingBlock):
            wire["thinking"] = start.text + said
            if growing.signature:
                wire["signature"] = "".join(growing.signature)
        elif isinstance(start, ToolUseBlock):
            return self.finished_call(wire, said)
        elif growing.input and (value := parse_object("".join(growing.input))) is not None:
            wire["input"] = value
        return BLOCKS.decode(wire)

    def finished_call(self, wire: Wire, said: str) -> Block:
        value = parse_object(said) if said else wire["input"]
        block = BLOCKS.decode({**wire, "input": {} if value is None else value})
        if type(block) is not ToolUseBlock:
            return block
        if value is None:
            return replace(block, input_text=said)
        return self.restore(block) if self.restore is not None else block

    def message_delta(self, wire: Wire, out: list[Event]) -> None:
        usage = {**(self.envelope.get("usage") or {}), **(wire.get("usage") or {})}
        known = {"type", "delta", "usage"}
        self.envelope |= {key: value for key, value in wire.items() if key not in known}
        for key, value in (wire.get("delta") or {}).items():
            if value is not None or self.envelope.get(key) is None:  # a later delta may leave the reason out
                self.envelope[key] = value
        self.envelope["usage"] = usage
        self.begin(out, MessageStart())
        self.usage(out)

    def usage(self, out: list[Event]) -> None:
        if isinstance(self.envelope.get("usage"), dict):
            out.append(UsageUpdate(read_usage(dict(self.envelope), {}, {})))

    def message_stop(self, wire: Wire, out: list[Event]) -> None:
        self.complete(out)

    def failed(self, wire: Wire, out: list[Event]) -> None:
        self.fail(decode_error(None, None, wire, self.provider), out)

    def ping(self, wire: Wire, out: list[Event]) -> None:
        """Kept alive; nothing to say."""

    def response(self, *, finished: bool) -> Response:
        rest = {key: value for key, value in self.envelope.items() if key != "content"}
        calls = any(type(block) is ToolUseBlock for block in self.fold.blocks)
        return Response(**read_envelope(rest, {}, calls=calls))


EVENTS: dict[Json, Any] = {
    "content_block_delta": Decoder.block_delta,
    "content_block_start": Decoder.block_start,
    "content_block_stop": Decoder.block_stop,
    "message_start": Decoder.message_start,
    "message_delta": Decoder.message_delta,
    "message_stop": Decoder.message_stop,
    "ping": Decoder.ping,
    "error": Decoder.failed,
}
DELTAS: dict[Json, Any] = {
    "input_json_delta": Decoder.input_delta,
    "signature_delta": Decoder.signature_delta,
    "citations_delta": Decoder.citations_delta,
    "compaction_delta": Decoder.compaction_delta,
}


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
        wire = BLOCKS.encode(event.block, quiet)
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
        if isinstance(event.block, OpaqueBlock):
            last = self.whole(event.block)
        else:
            last = self.last_words(event.block) + self.stop_block() if self.said else self.lost(event.block)
        self.current = None
        return last + self.next_waiting()

    def last_words(self, block: Block) -> bytes:
        """What is known only now: the signature, a whole input, and what could not be said."""
        said = block.input_text if isinstance(block, ToolUseBlock) and block.kind == "json" else None
        if said is not None and parse_object(said) is None:
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
