"""Reads and writes answers of Bedrock Converse, and writes ``converse-stream``: one block at a time, in order.

``stream`` reads streams. Text and reasoning have no start event, so a block without any delta gets one empty delta.
The marks of an answer are explained in ``codec.rows.endings``.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...codec.bodies.answers import checked_answer
from ...codec.framing.known_events import encode_event
from ...codec.history.incomplete import declare_last_call
from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger, is_blank
from ...codec.marks import marks
from ...codec.paths import merge
from ...codec.streams.serial import Opener
from ...codec.streams.stream import dump
from ...codec.tools.arguments import write_arguments
from ...errors import AdapterError
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, RefusalBlock, TextBlock, ThinkingBlock
from ...types.events import MessageComplete, MessageStart, TextDelta, ThinkingDelta, ToolUseInputDelta
from ...types.request import Request
from ...types.response import Response
from ...types.words import StopReason
from .. import claude
from .errors import ERRORS, encode_frame_error
from .facts import NAME
from .rows import ANSWER, ANSWER_BLOCKS, ANSWERS, CITATIONS, ENDING


def read_response(
    body: Json, headers: Mapping[str, str] | None, request: Request | None, provider: str | None
) -> Response:
    if is_object(body) and "output" not in body and ("message" in body or "__type" in body):
        return Response(stop_reason=StopReason.error, error=ERRORS.decode(None, headers, body, provider))
    return ANSWERS.read(checked_answer(body, NAME, "output", "stopReason"), request)


# ---------------------------------------------------------------------------------------------------- writing a stream


EMPTY: dict[type[Block], Wire] = {
    RefusalBlock: {"text": ""},
    TextBlock: {"text": ""},
    ThinkingBlock: {"reasoningContent": {"text": ""}},
}
STARTED = ("toolUse", "toolResult", "image")  # blocks with a start event
STREAMED = ("text", "citationsContent", "guardContent", "reasoningContent", *STARTED)
NO_FIELD = f"a stream of {NAME} has no such field"


class Encoder(claude.BlockEncoder):
    answers, citations = ANSWERS, CITATIONS
    delta_writers = {
        TextDelta: lambda event: {"text": event.text},
        ThinkingDelta: lambda event: {"reasoningContent": {"text": event.text}},
        ToolUseInputDelta: lambda event: {"toolUse": {"input": event.partial_json}},
    }

    def start(self, event: MessageStart) -> bytes:
        if event.message_id is not None:
            self.ledger.lose_form("dropped", f"an answer of {NAME} has no id", "id")
        if event.model is not None:
            self.ledger.lose_form("dropped", f"an answer of {NAME} does not name its model", "model")
        return _event("messageStart", {"role": "assistant"})

    def begin_block(self, event: Opener) -> bytes:
        self.silent, self.cited = True, 0
        wire = ANSWER_BLOCKS.write(event.block, Ledger())  # losses are declared once, when the block ends
        tag = next((key for key in wire if key in STREAMED), None) if wire is not None else None
        if type(event.block) is OpaqueBlock:
            tag = None  # how its deltas would look is not known
        self.can_write = tag is not None
        if wire is None or tag is None:
            return b""
        self.index += 1
        if tag not in STARTED:
            return b""
        start = {key: value for key, value in wire[tag].items() if key not in ("input", "content", "source")}
        return _event("contentBlockStart", {"contentBlockIndex": self.index, "start": {tag: start}})

    def citation_delta(self, wire: Wire) -> Wire:
        return {"citation": wire}

    def write_piece(self, delta: Wire) -> bytes:
        self.silent = False
        return _event("contentBlockDelta", {"contentBlockIndex": self.index, "delta": delta})

    def finish(self, block: Block) -> bytes:
        return self.write_last_deltas(block) + self.stop_block() if self.can_write else self.lose_block(block)

    def write_last_deltas(self, block: Block) -> bytes:
        """The deltas that need the finished block: a signature, an input that had no deltas, further citations."""
        wire, malformed = self.write_whole(block)
        written = b""
        if "reasoningContent" in wire:
            written = self._end_reasoning(wire["reasoningContent"])
        elif "toolUse" in wire:
            if self.silent:
                arguments = malformed or write_arguments(wire["toolUse"]["input"], None)
                written = self.write_piece({"toolUse": {"input": arguments}})
            self.silent = False
        elif "toolResult" in wire:
            written = self._end_result(wire["toolResult"]["content"])
        elif "image" in wire:
            written = self.write_piece({"image": {"source": wire["image"]["source"]}})
        else:
            written = self._end_text(block, wire)
        self._lose_residue(block, wire)
        return written

    def _end_text(self, block: Block, wire: Wire) -> bytes:
        written: list[bytes] = []
        if isinstance(block, TextBlock):
            written = list(map(self.write_citation, block.citations[self.cited :]))
            if self.silent:
                written.append(self.write_piece({"text": block.text}))
        elif self.silent:
            written.append(self.write_piece({"text": wire["text"]}))
        return b"".join(written)

    def _end_reasoning(self, wire: Wire) -> bytes:
        if "redactedContent" in wire:
            return self.write_piece({"reasoningContent": {"redactedContent": wire["redactedContent"]}})
        data = self.write_piece({"reasoningContent": {"text": wire["reasoningText"]["text"]}}) if self.silent else b""
        if wire["reasoningText"].get("signature"):
            data += self.write_piece({"reasoningContent": {"signature": wire["reasoningText"]["signature"]}})
        return data

    def _end_result(self, content: list[Wire]) -> bytes:
        pieces = [piece for piece in content if "text" in piece or "json" in piece]
        if len(pieces) != len(content):
            self.ledger.lose("dropped", f"a streamed result of {NAME} is text or JSON", "content")
        return self.write_piece({"toolResult": pieces}) if pieces else b""

    def _lose_residue(self, block: Block, wire: Wire) -> None:
        """Declare residue and the cache mark of a block lost: deltas have no place for them."""
        started = next((tag for tag in STARTED if tag in wire), None)
        for key, value in block.extras.get(NAME, {}).items():
            if key != started and not is_blank(value):
                self.ledger.lose("dropped", NO_FIELD, "extras", NAME, key)
        if block.cache is not None:
            self.ledger.lose("dropped", f"a stream of {NAME} has no cache points", "cache")

    def lose_block(self, block: Block) -> bytes:
        if ANSWER_BLOCKS.write(block, self.ledger) is not None:
            self.ledger.lose("dropped", f"streams of {NAME} have no {block.type} blocks")
        return b""

    def stop_block(self) -> bytes:
        if not self.can_write:
            return b""
        empty = EMPTY.get(type(self.block)) if self.silent else None
        written = self.write_piece(empty) if empty is not None else b""
        return written + _event("contentBlockStop", {"contentBlockIndex": self.index})

    def declare(self, block: Block) -> None:
        self._lose_residue(block, ANSWER_BLOCKS.write(block, self.ledger) or {})

    def complete(self, event: MessageComplete) -> bytes:
        response, mark = event.response, marks(NAME, event.response)
        self.ledger.where = ()
        declare_last_call(response, self.last, self.ledger)
        stop = ENDING.write_stop(response, mark, self.ledger)
        metadata = ENDING.write_usage(response, mark, self.ledger)
        merge(metadata, response.extras.get(NAME, {}))
        if metadata.pop("output", None) is not None:
            self.ledger.lose("dropped", NO_FIELD, "extras", NAME, "output")
        if "additionalModelResponseFields" in metadata:
            stop["additionalModelResponseFields"] = metadata.pop("additionalModelResponseFields")
        if metadata:
            ANSWER.put_constants(metadata, mark)
            metadata.pop("output", None)  # the role of the answer, which began the stream
        self.ledger.lose_foreign_extras(response, NAME)
        self.ended = True
        return _event("messageStop", stop) + (_event("metadata", metadata) if metadata else b"")

    def write_error(self, error: AdapterError) -> bytes:
        return encode_frame_error(error)


def _event(name: str, wire: Wire) -> bytes:
    return encode_event(name, dump(wire))
