"""Reading a stream of Anthropic Messages. Writing one is in ``response``.

What is not in ``EVENTS`` or ``DELTAS`` is carried as ``unknown``, never raised.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...codec.framing import SseDecoder
from ...codec.json import Wire, is_dict
from ...codec.streams.stream import NOT_JSON, decode_frame
from ...codec.tools.arguments import parse_object
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.events import CitationDelta, Event, MessageStart, TextDelta, ThinkingDelta, ToolUseInputDelta
from ...types.request import Request
from .. import claude
from .errors import ERRORS
from .facts import NAME
from .rows import ANSWER_BLOCKS as BLOCKS, ANSWERS, CITATIONS

__all__ = ["Decoder"]

USUAL: dict[type, tuple[str, str, Any]] = {
    # block         its frequent delta   its field       the event it becomes
    TextBlock: ("text_delta", "text", TextDelta),
    ThinkingBlock: ("thinking_delta", "thinking", ThinkingDelta),
    ToolUseBlock: ("input_json_delta", "partial_json", ToolUseInputDelta),
}
DELTA_FIELDS = {delta: field for delta, field, _ in USUAL.values()} | {"signature_delta": "signature"}
NO_TEXT: Wire = {"type": "text", "text": ""}
EMPTY: dict[Json, tuple[str, Json]] = {
    # type: what its start may leave out, or have as null or "", because deltas bring it
    "text": ("text", ""),
    "thinking": ("thinking", ""),
    "tool_use": ("input", {}),
    "server_tool_use": ("input", {}),
}
MESSAGE_DELTA_KEYS = ("type", "delta", "usage")


class Decoder(claude.BlockDecoder):
    dialect, answers = NAME, ANSWERS

    def __init__(self, request: Request | None = None, provider: str | None = None) -> None:
        super().__init__(SseDecoder(), request, provider)
        self.usual: dict[Json, tuple[str, str, Any, int, list[str]]] = {}  # by wire index: a block's frequent delta
        self.restarted = False  # a second message_start came; what follows tells its meaning

    def read(self, frame: tuple[str, bytes], out: list[Event]) -> None:
        try:
            wire = decode_frame(frame[1])
        except NOT_JSON as fault:
            if not self.skip_broken_frame(frame[1], fault, out, frame[0]):
                self.read_other(frame[1].decode("utf-8", "replace"), out)
            return
        try:
            kind = wire["type"]
            if kind == "content_block_delta":
                delta, usual = wire["delta"], self.usual.get(wire["index"])
                if usual is not None and delta["type"] == usual[0]:
                    _, field, event, index, parts = usual
                    text = delta[field]
                    if type(text) is str:
                        parts.append(text)
                        out.append(event(index, text))
                        return
            handler = EVENTS.get(kind)
            if handler is None:
                self.read_other(wire, out)
            else:
                handler(self, wire, out)
        except (KeyError, TypeError, AttributeError):
            self.read_other(frame[1].decode("utf-8", "replace"), out)

    def read_other(self, wire: Json, out: list[Event]) -> None:
        """Read a frame that is not a known event: an error, OpenAI's ``[DONE]``, or anything else."""
        if wire == "[DONE]":
            return
        if is_dict(wire) and isinstance(wire.get("error"), dict):
            self.failed(wire, out)
        else:
            self.unknown(wire, out)

    def message_start(self, wire: Wire, out: list[Event]) -> None:
        message = wire["message"]
        self.restarted = self.started
        self.envelope = {**message, "content": [], **self.envelope}
        self.begin(out, MessageStart(message.get("id") or None, message.get("model") or None))
        self.usage(out)

    def block_start(self, wire: Wire, out: list[Event]) -> None:
        self.begin(out)
        block: Wire
        block, place = wire["content_block"], wire["index"]
        if type(block) is not dict or type(place) is not int:
            self.unknown(wire, out)
            return
        field, value = EMPTY.get(block.get("type"), ("", None))
        if field and not block.get(field):
            block = {**block, field: value}
        empty: Block = BLOCKS.read(block)
        if type(empty) is ToolUseBlock and empty.input:
            empty = replace(empty, input={})
        if self.restarted:
            self.begin_anew(out)
        self.stopped = False
        growing = self.open(place, block, empty, out)
        self.usual.pop(place, None)
        if (usual := USUAL.get(type(empty))) is not None:
            self.usual[place] = (*usual, growing.index, growing.parts)

    def begin_anew(self, out: list[Event]) -> None:
        """Begin the answer again from its first block; the blocks received so far stay unfinished.

        A second ``message_start`` alone does not mean that: some gateways send it twice while a block goes on.
        """
        self.restarted = False
        if self.stopped and self.envelope.get("stop_reason") == "tool_use":
            self.release(out)  # the first answer was complete, and another one follows
        self.release_cut(out)
        self.close_blocks(out, cut=True)
        self.growing.clear()
        self.usual.clear()

    def block_delta(self, wire: Wire, out: list[Event]) -> None:
        """Read a delta that ``read`` has not handled itself. A delta with text must belong to an open block."""
        delta = wire["delta"]
        handler = DELTAS.get(delta["type"])
        growing = self.growing.get(wire["index"])
        if handler is not None and growing is not None and growing.index in self.fold.open_indexes:
            handler(self, growing, delta, out)
        elif isinstance(text := delta.get(DELTA_FIELDS.get(delta["type"])), str) and text:
            problem = f"a {delta['type']} for block {wire['index']}, and no block of that kind is open there"
            self.fail(ParseError(f"the stream has {problem}"), out)
        else:
            self.unknown(wire, out)

    def input_delta(self, growing: claude.GrowingBlock, delta: Wire, out: list[Event]) -> None:
        """Keep the input of a tool that the provider runs itself; ``read`` handles the input of the caller's tools."""
        text = delta["partial_json"]
        if isinstance(text, str) and not isinstance(self.fold.blocks[growing.index], TextBlock | ThinkingBlock):
            growing.pieces.append(text)

    def signature_delta(self, growing: claude.GrowingBlock, delta: Wire, out: list[Event]) -> None:
        signature = delta["signature"]
        if isinstance(signature, str) and isinstance(self.fold.blocks[growing.index], ThinkingBlock):
            growing.pieces.append(signature)

    def citations_delta(self, growing: claude.GrowingBlock, delta: Wire, out: list[Event]) -> None:
        citation = CITATIONS.read(delta["citation"])
        if type(self.fold.blocks[growing.index]) is TextBlock:
            growing.pieces.append(delta["citation"])
            out.append(CitationDelta(growing.index, citation))

    def compaction_delta(self, growing: claude.GrowingBlock, delta: Wire, out: list[Event]) -> None:
        growing.wire = {**growing.wire, **{key: value for key, value in delta.items() if key != "type"}}

    def block_stop(self, wire: Wire, out: list[Event]) -> None:
        growing = self.growing[wire["index"]]
        if growing.index in self.fold.open_indexes:
            self.usual.pop(wire["index"], None)
            self.restarted = False
            self.end_block(growing.index, self.finished_block(growing.index), out)

    def finished_block(self, index: int) -> Block:
        growing, start, text = self.places[index], self.fold.blocks[index], self.fold.joined(index)
        pieces = growing.pieces
        if growing.wire == NO_TEXT and not pieces:
            return TextBlock(text)
        wire = dict(growing.wire)
        if isinstance(start, TextBlock):
            wire["text"] = start.text + text
            if pieces:
                wire["citations"] = [*(wire.get("citations") or ()), *pieces]
        elif isinstance(start, ThinkingBlock):
            wire["thinking"] = start.text + text
            if pieces:
                wire["signature"] = "".join(pieces)
        elif isinstance(start, ToolUseBlock):
            return self.finished_call(text, wire["input"], lambda value: {**wire, "input": value})
        elif pieces and (value := parse_object("".join(pieces))) is not None:
            wire["input"] = value
        block: Block = BLOCKS.read(wire)
        return OpaqueBlock(NAME, wire) if type(block) is ToolUseBlock else block  # a call must begin as one

    def message_delta(self, wire: Wire, out: list[Event]) -> None:
        envelope = self.envelope
        before: Wire = envelope.get("usage") or {}
        now: Wire = wire.get("usage") or {}
        for key, value in wire.items():
            if key not in MESSAGE_DELTA_KEYS:
                envelope[key] = value
        delta: Wire = wire.get("delta") or {}
        for key, value in delta.items():
            if value is not None or envelope.get(key) is None:  # a later delta may have null for the reason
                envelope[key] = value
        self.stopped = self.stopped or delta.get("stop_reason") is not None
        envelope["usage"] = {**before, **now}
        self.begin(out)
        self.usage(out)

    def is_finished(self) -> bool:
        """Whether the answer is complete if the bytes end here: some servers send no ``message_stop``."""
        return self.stopped and not self.fold.open_indexes

    def message_stop(self, wire: Wire, out: list[Event]) -> None:
        if self.restarted:
            self.close_blocks(out, cut=True)
        self.complete(out)

    def failed(self, wire: Wire, out: list[Event]) -> None:
        self.fail(ERRORS.decode(None, None, wire, self.provider), out)

    def ping(self, wire: Wire, out: list[Event]) -> None:
        """Ignore an event that only keeps the connection alive."""


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
