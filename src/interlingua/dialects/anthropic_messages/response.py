"""Reads and writes answers of Anthropic Messages, and writes streams: named events, one block open at a time.

``stream`` reads streams. The marks of an answer are explained in ``codec.rows.endings``.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ...codec.bodies.answers import checked_answer
from ...codec.framing import encode_sse
from ...codec.history.incomplete import declare_last_call
from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger
from ...codec.marks import marks
from ...codec.paths import merge
from ...codec.streams.serial import Opener
from ...codec.streams.stream import dump
from ...codec.tools.arguments import write_arguments
from ...errors import AdapterError
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, ServerToolUseBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.events import (
    Event,
    MessageComplete,
    MessageStart,
    TextDelta,
    ThinkingDelta,
    ToolUseInputDelta,
    UsageUpdate,
)
from ...types.request import Request
from ...types.response import Response
from ...types.usage import TokenUsage
from ...types.words import StopReason
from .. import claude
from .errors import ERRORS
from .facts import NAME
from .rows import ANSWER_BLOCKS, ANSWERS, CITATIONS, ENDING

# ------------------------------------------------------------------------------------------------------------- reading


def read_response(
    body: Json, headers: Mapping[str, str] | None, request: Request | None, provider: str | None
) -> Response:
    if is_object(body) and (body.get("type") == "error" or "error" in body):
        return Response(stop_reason=StopReason.error, error=ERRORS.decode(None, headers, body, provider))
    return ANSWERS.read(checked_answer(body, NAME, "content", "stop_reason"), request)


# ---------------------------------------------------------------------------------------------------- writing a stream


class Encoder(claude.BlockEncoder):
    answers, citations = ANSWERS, CITATIONS
    delta_writers = {
        TextDelta: lambda event: {"type": "text_delta", "text": event.text},
        ThinkingDelta: lambda event: {"type": "thinking_delta", "thinking": event.text},
        ToolUseInputDelta: lambda event: {"type": "input_json_delta", "partial_json": event.partial_json},
    }

    def __init__(self, request: Request | None = None) -> None:
        super().__init__()
        self.pending_start: MessageStart | None = None  # held until the next event, which may bring usage

    def write_event(self, event: Event) -> bytes:
        if self.pending_start is None:
            return super().write_event(event)
        usage = event.usage if isinstance(event, UsageUpdate) else None
        return self.open_message(usage) + super().write_event(event)

    def start(self, event: MessageStart) -> bytes:
        self.pending_start = event
        return b""

    def open_message(self, usage: TokenUsage | None) -> bytes:
        """Write the held start of the message, if any, with the usage that the next event brings."""
        event, self.pending_start = self.pending_start, None
        if event is None:
            return b""
        message: Wire = {"id": event.message_id or "", "type": "message", "role": "assistant"}
        message |= {"model": event.model or "", "content": [], "stop_reason": None, "stop_sequence": None}
        message["usage"] = {"input_tokens": 0, "output_tokens": 0}
        if usage is not None:
            message["usage"] |= ENDING.write_counts(Response(usage=usage), {}, Ledger())
        return _event({"type": "message_start", "message": message})

    def begin_block(self, event: Opener) -> bytes:
        block = event.block
        self.silent, self.cited = True, 0
        if isinstance(block, OpaqueBlock):
            self.can_write = False  # its content is known only when it is complete
            return b""
        if isinstance(block, TextBlock):
            self.cited = len(block.citations)
        elif isinstance(block, ThinkingBlock) and block.signature is not None:
            block = replace(block, signature=None)  # sent at the end, because it signs the whole block
        wire: Wire | None = ANSWER_BLOCKS.write(block, Ledger())  # losses are declared once, when the block ends
        self.can_write = wire is not None
        if wire is None:
            return b""
        self.index += 1
        if isinstance(block, ToolUseBlock | ServerToolUseBlock):
            wire = {**wire, "input": {}}
        return _event({"type": "content_block_start", "index": self.index, "content_block": wire})

    def write_piece(self, delta: Wire) -> bytes:
        self.silent = False
        return b"%b%b\n\n" % (DELTA, dump({"type": "content_block_delta", "index": self.index, "delta": delta}))

    def finish(self, block: Block) -> bytes:
        if isinstance(block, OpaqueBlock):
            return self.write_opaque(block)
        if not self.can_write:
            self.declare(block)
            return b""
        return self.write_last_deltas(block) + self.stop_block()

    def write_last_deltas(self, block: Block) -> bytes:
        """The deltas that need the finished block: its signature, further citations, an input that had no deltas."""
        wire, malformed = self.write_whole(block)
        match block:
            case ThinkingBlock() if block.signature:
                return self.write_piece({"type": "signature_delta", "signature": block.signature})
            case TextBlock():
                return b"".join(map(self.write_citation, block.citations[self.cited :]))
            case ServerToolUseBlock() | ToolUseBlock() if self.silent:
                arguments = malformed or write_arguments(wire["input"], None)
                return self.write_piece({"type": "input_json_delta", "partial_json": arguments})
            case _:
                return b""

    def citation_delta(self, wire: Wire) -> Wire:
        return {"type": "citations_delta", "citation": wire}

    def write_opaque(self, block: OpaqueBlock) -> bytes:
        """A block that only this protocol has: its start event holds all of it."""
        wire = ANSWER_BLOCKS.write(block, self.ledger)
        if wire is None:
            return b""
        self.index, self.can_write = self.index + 1, True
        return _event({"type": "content_block_start", "index": self.index, "content_block": wire}) + self.stop_block()

    def declare(self, block: Block) -> None:
        ANSWER_BLOCKS.write(block, self.ledger)

    def stop_block(self) -> bytes:
        return _event({"type": "content_block_stop", "index": self.index}) if self.can_write else b""

    def complete(self, event: MessageComplete) -> bytes:
        response, mark = event.response, marks(NAME, event.response)
        self.ledger.where = ()
        declare_last_call(response, self.last, self.ledger)
        residue = dict(response.extras.get(NAME, {}))
        usage_residue = residue.pop("usage", {})
        delta: Wire = {
            "stop_reason": None,
            **ENDING.write_stop(response, mark, self.ledger),
            "stop_sequence": None,
            **residue,
        }
        usage = ENDING.write_counts(response, mark, self.ledger)
        self.ledger.lose_foreign_extras(response, NAME)
        merge(usage, usage_residue)
        self.ended = True
        return _event({"type": "message_delta", "delta": delta, "usage": usage}) + _event({"type": "message_stop"})

    def write_error(self, error: AdapterError) -> bytes:
        return self.open_message(None) + _event({**ERRORS.body(error), "type": "error"})


DELTA = b"event: content_block_delta\ndata: "
"""How nearly all events begin. JSON has no line ends, which ``encode_sse`` would look for."""


def _event(wire: Wire) -> bytes:
    return encode_sse(dump(wire), wire["type"])
