"""A seventh dialect, as somebody else might write it: its wire is our own JSON, its streams are lines of it.

It cannot express ``seed`` and videos, so that some of its losses can be tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua import (
    AdapterError,
    Block,
    BlockComplete,
    BlockStart,
    Dialect,
    Encoded,
    Event,
    Message,
    MessageComplete,
    MessageStart,
    Request,
    Response,
    TextDelta,
    ThinkingDelta,
    Tool,
    ToolChoice,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    WireError,
    error_type,
)
from interlingua.codec.framing import NdjsonDecoder, encode_ndjson
from interlingua.codec.history.rules import blocks_to_send
from interlingua.codec.ledger import Ledger
from interlingua.codec.streams.encoder import GrammaticalEncoder
from interlingua.codec.streams.stream import FrameDecoder
from interlingua.testing.differences import plain

NAME = "toy"
LOST = object()


def write_value(value: Any, ledger: Ledger, *path: str | int) -> Any:
    """A value as JSON, without what the toy cannot express and without the residue of other dialects."""
    if isinstance(value, Message):
        ledger.where = path
        value = replace(value, content=tuple(block for _, block in blocks_to_send(value, NAME, None, ledger)))
        ledger.where = ()
    if isinstance(value, tuple):
        written = [write_value(item, ledger, *path, index) for index, item in enumerate(value)]
        return [item for item in written if item is not LOST]
    if not isinstance(value, msgspec.Struct):
        return plain(value)
    if is_foreign(value) or is_foreign(getattr(value, "source", None)) or getattr(value, "type", None) == "video":
        ledger.lose("dropped", "no word for it", *path)
        return LOST
    fields = plain(value)
    written = {key: fields[key] if key == "type" else write_field(value, key, ledger, *path) for key in fields}
    return {key: item for key, item in written.items() if item is not LOST and item != []}


def is_foreign(value: Any) -> bool:
    return getattr(value, "dialect", None) not in (None, "", NAME)


def write_field(value: Any, key: str, ledger: Ledger, *path: str | int) -> Any:
    if key == "extras":
        for name in value.extras.keys() - {NAME}:
            ledger.lose("dropped", f"only {name} has a word for it", *path, "extras", name)
        return {NAME: value.extras[NAME]} if NAME in value.extras else LOST
    if key == "seed":
        ledger.lose("dropped", "no word for it", *path, "seed")
        return LOST
    return write_value(getattr(value, key), ledger, *path, key)


class Toy(Dialect):
    name = NAME

    def encode_request(self, request: Request, target: Any = None) -> Encoded:
        return self.encode(request)

    def decode_request(self, body: Any, headers: Any = None, model: Any = None, stream: Any = None) -> Request:
        return msgspec.convert(body, Request)

    def encode_response(self, response: Response, request: Any = None) -> Encoded:
        return self.encode(response)

    def decode_response(self, body: Any, headers: Any = None, request: Any = None) -> Response:
        return msgspec.convert(body, Response)

    def stream_decoder(self, request: Any = None) -> Decoder:
        return Decoder(NdjsonDecoder())

    def stream_encoder(self, request: Any = None) -> Encoder:
        return Encoder()

    def encode_error(self, error: AdapterError) -> WireError:
        fields = {
            "class": error.error_class,
            "message": error.message,
            "retry": error.retryable,
            "after": error.retry_after,
        }
        return WireError(500, {}, msgspec.json.encode(fields))

    def decode_error(self, status: int, headers: Any, body: bytes) -> AdapterError:
        fields = msgspec.json.decode(body)
        return error_type(fields["class"])(fields["message"], retryable=fields["retry"], retry_after=fields["after"])

    def encode_messages(self, messages: Sequence[Message], target: Any = None) -> Encoded:
        return self.encode(tuple(messages), "messages")

    def encode_system(self, system: Sequence[Block], target: Any = None) -> Encoded:
        return self.encode(tuple(system), "system")

    def encode_tools(self, tools: Sequence[Tool], target: Any = None) -> Encoded:
        return self.encode(tuple(tools), "tools")

    def encode_tool_choice(self, choice: ToolChoice, target: Any = None) -> Encoded:
        return self.encode(choice, "tool_choice")

    def encode(self, value: Any, *path: str) -> Encoded:
        ledger = Ledger()
        return Encoded(write_value(value, ledger, *path), losses=tuple(ledger.losses))


class Decoder(FrameDecoder):
    dialect = NAME
    whole = Response()

    def read(self, frame: bytes, out: list[Event]) -> None:
        event: Any = msgspec.json.decode(frame, type=Event)
        match event:
            case MessageStart():
                self.begin(out, event)
            case BlockStart() | ToolUseStart():
                out.append(self.fold.open(event.block))
            case TextDelta():
                out.append(self.fold.text(event.index, event.text))
            case ThinkingDelta():
                out.append(self.fold.thinking(event.index, event.text))
            case ToolUseInputDelta():
                out.append(self.fold.arguments(event.index, event.partial_json))
            case BlockComplete() | ToolUseEnd():
                out.append(self.fold.close(event.index, event.block))
            case MessageComplete():
                self.whole = event.response
                self.complete(out)
            case _:
                out.append(event)

    def finished_block(self, index: int) -> Block:
        block: Any = self.fold.blocks[index]
        if isinstance(block, ToolUseBlock):
            return replace(block, input_text=self.fold.joined(index))
        return replace(block, text=self.fold.joined(index)) if hasattr(block, "text") else block

    def response(self, *, finished: bool) -> Response:
        return self.whole


class Encoder(GrammaticalEncoder):
    def __init__(self) -> None:
        super().__init__()
        self.places: dict[int, int | None] = {}  # our index -> that on the wire; None: not expressed

    def write_event(self, event: Any) -> bytes:
        if isinstance(event, BlockStart | ToolUseStart):
            lost = write_value(event.block, Ledger()) is LOST
            self.places[event.index] = None if lost else sum(place is not None for place in self.places.values())
        if isinstance(event, MessageComplete):
            if event.error is not None:
                return self.fail(event.error)
            write_value(event.response, self.ledger)
        index = getattr(event, "index", None)
        if index is not None:
            if self.places[index] is None:
                return b""
            event = replace(event, index=self.places[index])
        return encode_ndjson(msgspec.json.encode(write_value(event, Ledger())))

    def fail(self, error: AdapterError) -> bytes:
        self.ended = True
        return b""  # the toy expresses an error by a stream that breaks off
