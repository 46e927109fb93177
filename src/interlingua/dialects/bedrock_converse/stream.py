"""Reads ``converse-stream``; ``response`` writes it.

Text and reasoning have no start: the first delta opens them. ``messageStop`` ends the message, but usage follows it in
``metadata``, so the stream is complete there, or at the end of the bytes. What is not in ``EVENTS`` or ``DELTAS`` is
carried as ``unknown``, never raised; the padding ``p`` is dropped.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

from ...codec.framing import Frame
from ...codec.framing.known_events import EventNames, KnownEvents
from ...codec.json import Wire, is_array, is_object
from ...codec.rows.kinds import REFUSED
from ...codec.streams.stream import NOT_JSON, decode_frame
from ...codec.tools.arguments import parse_object
from ...errors import AdapterError, ParseError
from ...types.base import Json
from ...types.blocks import (
    Block,
    ImageBlock,
    RedactedThinkingBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ...types.events import CitationDelta, Event, TextDelta
from ...types.request import Request
from .. import claude
from .errors import decode_frame_error
from .facts import NAME
from .rows import ANSWER_BLOCKS, ANSWERS, CITATIONS

MALFORMED = (*NOT_JSON, KeyError, TypeError, AttributeError, ValueError, IndexError, StopIteration)


class Decoder(claude.BlockDecoder):
    dialect, answers = NAME, ANSWERS

    def __init__(self, request: Request | None = None, provider: str | None = None) -> None:
        frames = KnownEvents(EVENT_NAMES)
        super().__init__(frames, request, provider)
        self.delta, self.event = frames.frequent, frames.event
        self.texts: dict[Json, claude.GrowingBlock] = {}  # open texts by wire index; empty once the answer has ended
        self.pictures: dict[Json, Wire] = {}  # starts of images, whose blocks open with their source

    def feed(self, chunk: bytes) -> list[Event]:
        """Read a chunk. Fast paths: more of an open text (most chunks), one whole event; else the base class reads."""
        if self.texts and (payload := self.delta(chunk)) is not None:
            try:
                wire = decode_frame(payload)
                growing, text = self.texts[wire["contentBlockIndex"]], wire["delta"]["text"]
            except MALFORMED:
                return super().feed(chunk)
            if type(text) is str:
                growing.parts.append(text)
                return [TextDelta(growing.index, text)]
        event = None if self.done else self.event(chunk)
        if event is None:
            return super().feed(chunk)
        out: list[Event] = []
        self.read_event(event[0], event[1], out)
        self.room -= len(chunk)
        if self.room < 0:
            self.check_arguments(out)
        return out

    def read_data(self, name: str, data: bytes, out: list[Event]) -> None:
        self.read_event(name, data, out)

    def read_event(self, name: str, payload: bytes, out: list[Event]) -> None:
        """Read an event whose name we know."""
        try:
            wire = decode_frame(payload)
        except NOT_JSON as fault:
            if not self.skip_broken_frame(payload, fault, out, name):
                self.carry_unknown(name, payload, out)
            return
        if self.stopped and name != "metadata":
            return  # the message is over
        try:
            EVENTS[name](self, wire, out)
        except MALFORMED:
            if name == "contentBlockDelta" and _has_text(wire):
                self.fail(ParseError("the stream goes on with a block that is not open, or is of another kind"), out)
            else:
                self.carry_unknown(name, payload, out)

    def read(self, frame: Frame, out: list[Event]) -> None:
        name = frame.headers.get(":event-type")
        if type(name) is str and name in EVENTS:
            self.read_event(name, frame.payload, out)
        elif frame.headers.get(":message-type") not in ("exception", "error"):
            self.carry_unknown(name, frame.payload, out)
        elif self.stopped:
            self.complete(out)
        else:
            self.fail(decode_frame_error(frame, self.provider), out)

    def carry_unknown(self, name: Json, payload: bytes, out: list[Event]) -> None:
        """Carry an event that we cannot read as ``unknown``, under its name."""
        try:
            wire = decode_frame(payload)
        except NOT_JSON:
            wire = payload.decode("utf-8", "replace")
        self.unknown({str(name): _unpadded(wire)}, out)

    def message_start(self, wire: Wire, out: list[Event]) -> None:
        self.begin(out)

    def open(self, at: Json, wire: Wire, block: Block, out: list[Event]) -> claude.GrowingBlock:
        self.begin(out)
        growing = super().open(at, wire, block, out)
        if type(block) is TextBlock:
            self.texts[at] = growing
        return growing

    def grow(self, at: Json, wire: Wire, out: list[Event]) -> claude.GrowingBlock:
        """The block that a delta belongs to; without a start event it begins now."""
        growing = self.growing.get(at)
        if growing is None:
            growing = self.open(at, wire, TextBlock("") if wire is NO_TEXT else ANSWER_BLOCKS.read(wire), out)
        elif growing.index not in self.fold.open_indexes:
            raise KeyError(at)
        return growing

    def block_start(self, wire: Wire, out: list[Event]) -> None:
        start: Wire = wire["start"]
        if not start:
            return  # some servers begin a text so: its first delta opens it
        tag = next(iter(start))
        if tag == "image":
            self.pictures[wire["contentBlockIndex"]] = dict(start["image"])
            return
        block: Wire = {tag: {**start[tag], **{key: value.copy() for key, value in STARTS[tag].items()}}}
        self.open(wire["contentBlockIndex"], block, ANSWER_BLOCKS.read(block), out)

    def block_delta(self, wire: Wire, out: list[Event]) -> None:
        delta = wire["delta"]
        DELTAS[next(iter(delta))](self, wire["contentBlockIndex"], delta, out)

    def text_delta(self, at: Json, delta: Wire, out: list[Event]) -> None:
        text = delta["text"]
        if type(text) is not str:
            raise TypeError("text")
        growing = self.grow(at, NO_TEXT, out)
        if type(self.fold.blocks[growing.index]) is not TextBlock:
            raise TypeError("text")
        out.append(self.fold.text(growing.index, text))

    def citation(self, at: Json, delta: Wire, out: list[Event]) -> None:
        citation = CITATIONS.read(delta["citation"])
        if citation is REFUSED:
            raise TypeError("citation")
        growing = self.grow(at, NO_TEXT, out)
        if type(self.fold.blocks[growing.index]) is not TextBlock:
            raise TypeError("citation")
        growing.pieces.append(delta["citation"])
        out.append(CitationDelta(growing.index, citation))

    def reasoning(self, at: Json, delta: Wire, out: list[Event]) -> None:
        tag, text = next(iter(delta["reasoningContent"].items()))
        if type(text) is not str:
            raise TypeError("reasoningContent")
        growing = self.grow(at, NO_REASONING[tag], out)
        kind = type(self.fold.blocks[growing.index])
        if kind is not (RedactedThinkingBlock if tag == "redactedContent" else ThinkingBlock):
            raise TypeError("reasoningContent")
        if tag == "text":
            out.append(self.fold.thinking(growing.index, text))
        else:
            growing.pieces.append(text)

    def call_input(self, at: Json, delta: Wire, out: list[Event]) -> None:
        text, growing = delta["toolUse"]["input"], self.growing[at]
        if type(text) is not str or "toolUse" not in growing.wire or growing.index not in self.fold.open_indexes:
            raise TypeError("toolUse")
        if type(self.fold.blocks[growing.index]) is ToolUseBlock:
            out.append(self.fold.arguments(growing.index, text))
        else:
            growing.pieces.append(text)

    def result_content(self, at: Json, delta: Wire, out: list[Event]) -> None:
        pieces, growing = delta["toolResult"], self.growing[at]
        if not is_array(pieces) or "toolResult" not in growing.wire or growing.index not in self.fold.open_indexes:
            raise TypeError("toolResult")
        growing.pieces.extend(pieces)

    def picture(self, at: Json, delta: Wire, out: list[Event]) -> None:
        wire: Wire = {"image": {**self.pictures.get(at, {}), **delta["image"]}}
        if "source" in wire["image"]:
            self.grow(at, wire, out).wire = wire
        self.pictures[at] = wire["image"]

    def block_stop(self, wire: Wire, out: list[Event]) -> None:
        at = wire["contentBlockIndex"]
        growing = self.growing.get(at)
        if growing is not None and growing.index in self.fold.open_indexes:
            self.texts.pop(at, None)
            self.end_block(growing.index, self.finished_block(growing.index), out)

    def finished_block(self, index: int) -> Block:
        growing, text, start = self.places[index], self.fold.joined(index), self.fold.blocks[index]
        if type(start) is TextBlock and not growing.pieces:
            return TextBlock(text)
        wire = growing.wire
        match start:
            case TextBlock():
                content = {"content": [{"text": text}]} if growing.parts else {}
                wire = {"citationsContent": {**content, "citations": growing.pieces}}
            case ThinkingBlock():
                signed = {"signature": "".join(growing.pieces)} if growing.pieces else {}
                wire = {"reasoningContent": {"reasoningText": {"text": text, **signed}}}
            case RedactedThinkingBlock():
                wire = {"reasoningContent": {"redactedContent": _join_bytes(growing.pieces)}}
            case ToolUseBlock():
                start_of_call = wire["toolUse"]
                return self.finished_call(text, {}, lambda value: {"toolUse": {**start_of_call, "input": value}})
            case ServerToolUseBlock():
                wire = {"toolUse": {**wire["toolUse"], "input": parse_object("".join(growing.pieces)) or {}}}
            case ToolResultBlock() | ServerToolResultBlock():
                wire = {"toolResult": {**wire["toolResult"], "content": growing.pieces}}
            case ImageBlock() | _:
                pass
        block: Block = ANSWER_BLOCKS.read(wire)
        return block

    def message_stop(self, wire: Wire, out: list[Event]) -> None:
        self.begin(out)
        has_usage = "usage" in self.envelope
        self.envelope |= _unpadded(wire)
        self.stopped = True
        self.texts.clear()
        self.close_blocks(out)
        if has_usage:
            self.complete(out)

    def metadata(self, wire: Wire, out: list[Event]) -> None:
        self.begin(out)
        self.envelope |= _unpadded(wire)
        self.usage(out)
        if self.stopped:
            self.complete(out)

    def fail(self, error: AdapterError, out: list[Event]) -> None:
        self.texts.clear()
        super().fail(error, out)

    def is_finished(self) -> bool:
        return self.stopped


def _has_text(wire: Json) -> bool:
    """Whether a delta of a kind that we know holds text."""
    delta = wire.get("delta") if is_object(wire) else None
    kind, content = next(iter(delta.items()), ("", None)) if is_object(delta) else ("", None)
    texts = content.values() if is_object(content) else (content,)
    return kind in DELTAS and any(isinstance(text, str) and text for text in texts)


def _unpadded(payload: Json) -> Json:
    if not is_object(payload) or "p" not in payload:
        return payload
    return {key: value for key, value in payload.items() if key != "p"}


def _join_bytes(pieces: list[str]) -> str:
    """Base64 texts as one; each piece may have its own padding."""
    if len(pieces) == 1:
        return pieces[0]
    try:
        return b64encode(b"".join(map(b64decode, pieces))).decode()
    except ValueError:
        return "".join(pieces)


EVENT_NAMES = EventNames(
    ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"),
    frequent="contentBlockDelta",
)
NO_TEXT: Wire = {"text": ""}
NO_REASONING: dict[str, Wire] = {
    "text": {"reasoningContent": {"reasoningText": {"text": ""}}},
    "signature": {"reasoningContent": {"reasoningText": {"text": ""}}},
    "redactedContent": {"reasoningContent": {"redactedContent": ""}},
}
# what a start lacks and the whole block has
STARTS: dict[Json, Wire] = {"toolUse": {"input": {}}, "toolResult": {"content": []}}
EVENTS: dict[Json, Any] = {
    "contentBlockDelta": Decoder.block_delta,
    "contentBlockStart": Decoder.block_start,
    "contentBlockStop": Decoder.block_stop,
    "messageStart": Decoder.message_start,
    "messageStop": Decoder.message_stop,
    "metadata": Decoder.metadata,
}
DELTAS: dict[Json, Any] = {
    "text": Decoder.text_delta,
    "toolUse": Decoder.call_input,
    "reasoningContent": Decoder.reasoning,
    "citation": Decoder.citation,
    "toolResult": Decoder.result_content,
    "image": Decoder.picture,
}
