"""Answers of Bedrock Converse, and the writing of ``converse-stream``: one block at a time, in order.

Reading streams is in ``stream``. Text and reasoning have no start there, so a block without any delta gets one empty
delta. Marks are those of ``codec.rows.endings``.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...codec.bodies.answers import answer_of
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
    return ANSWERS.read(answer_of(body, NAME, "output", "stopReason"), request)


# ---------------------------------------------------------------------------------------------------- writing a stream


EMPTY: dict[type[Block], Wire] = {
    RefusalBlock: {"text": ""},
    TextBlock: {"text": ""},
    ThinkingBlock: {"reasoningContent": {"text": ""}},
}
STARTED = ("toolUse", "toolResult", "image")
STREAMED = ("text", "citationsContent", "guardContent", "reasoningContent", *STARTED)
NO_FIELD = f"a stream of {NAME} has no such field"


class Encoder(claude.BlockEncoder):
    answers, citations = ANSWERS, CITATIONS
    spelled = {
        TextDelta: lambda text: {"text": text},
        ThinkingDelta: lambda text: {"reasoningContent": {"text": text}},
        ToolUseInputDelta: lambda text: {"toolUse": {"input": text}},
    }

    def start(self, event: MessageStart) -> bytes:
        if event.message_id is not None:
            self.ledger.lose_form("dropped", f"an answer of {NAME} has no id", "id")
        if event.model is not None:
            self.ledger.lose_form("dropped", f"an answer of {NAME} does not name its model", "model")
        return _event("messageStart", {"role": "assistant"})

    def begin_block(self, event: Opener) -> bytes:
        self.silent, self.cited = True, 0
        wire = ANSWER_BLOCKS.write(event.block, Ledger())  # what cannot be written is declared once, at the end
        tag = next((key for key in wire if key in STREAMED), None) if wire is not None else None
        if type(event.block) is OpaqueBlock:
            tag = None  # its deltas are not known
        self.can_write = tag is not None
        if wire is None or tag is None:
            return b""
        self.written += 1
        if tag not in STARTED:
            return b""
        start = {key: value for key, value in wire[tag].items() if key not in ("input", "content", "source")}
        return _event("contentBlockStart", {"contentBlockIndex": self.written, "start": {tag: start}})

    def spelled_citation(self, wire: Wire) -> Wire:
        return {"citation": wire}

    def piece(self, delta: Wire) -> bytes:
        self.silent = False
        return _event("contentBlockDelta", {"contentBlockIndex": self.written, "delta": delta})

    def finish(self, block: Block) -> bytes:
        return self.last_words(block) + self.stop_block() if self.can_write else self.lost(block)

    def last_words(self, block: Block) -> bytes:
        """What is known only now: a signature, a whole input, and what could not be said."""
        wire, malformed = self.write_whole(block)
        said = b""
        if "reasoningContent" in wire:
            said = self._end_reasoning(wire["reasoningContent"])
        elif "toolUse" in wire:
            if self.silent:
                said = self.piece({"toolUse": {"input": malformed or write_arguments(wire["toolUse"]["input"], None)}})
            self.silent = False
        elif "toolResult" in wire:
            said = self._end_result(wire["toolResult"]["content"])
        elif "image" in wire:
            said = self.piece({"image": {"source": wire["image"]["source"]}})
        else:
            said = self._end_text(block, wire)
        self._lose_residue(block, wire)
        return said

    def _end_text(self, block: Block, wire: Wire) -> bytes:
        said: list[bytes] = []
        if isinstance(block, TextBlock):
            said = list(map(self.cite, block.citations[self.cited :]))
            if self.silent:
                said.append(self.piece({"text": block.text}))
        elif self.silent:
            said.append(self.piece({"text": wire["text"]}))
        return b"".join(said)

    def _end_reasoning(self, wire: Wire) -> bytes:
        if "redactedContent" in wire:
            return self.piece({"reasoningContent": {"redactedContent": wire["redactedContent"]}})
        said = self.piece({"reasoningContent": {"text": wire["reasoningText"]["text"]}}) if self.silent else b""
        if wire["reasoningText"].get("signature"):
            said += self.piece({"reasoningContent": {"signature": wire["reasoningText"]["signature"]}})
        return said

    def _end_result(self, content: list[Wire]) -> bytes:
        pieces = [piece for piece in content if "text" in piece or "json" in piece]
        if len(pieces) != len(content):
            self.ledger.lose("dropped", f"a streamed result of {NAME} is text or JSON", "content")
        return self.piece({"toolResult": pieces}) if pieces else b""

    def _lose_residue(self, block: Block, wire: Wire) -> None:
        """Text and reasoning are bare in a stream: what else the block held has no place."""
        started = next((tag for tag in STARTED if tag in wire), None)
        for key, value in block.extras.get(NAME, {}).items():
            if key != started and not is_blank(value):
                self.ledger.lose("dropped", NO_FIELD, "extras", NAME, key)
        if block.cache is not None:
            self.ledger.lose("dropped", f"a stream of {NAME} has no cache points", "cache")

    def lost(self, block: Block) -> bytes:
        if ANSWER_BLOCKS.write(block, self.ledger) is not None:
            self.ledger.lose("dropped", f"streams of {NAME} have no {block.type} blocks")
        return b""

    def stop_block(self) -> bytes:
        if not self.can_write:
            return b""
        empty = EMPTY.get(type(self.block)) if self.silent else None
        said = self.piece(empty) if empty is not None else b""
        return said + _event("contentBlockStop", {"contentBlockIndex": self.written})

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
        self.ledger.foreign(response, NAME)
        self.ended = True
        return _event("messageStop", stop) + (_event("metadata", metadata) if metadata else b"")

    def write_error(self, error: AdapterError) -> bytes:
        return encode_frame_error(error)


def _event(name: str, wire: Wire) -> bytes:
    return encode_event(name, dump(wire))
