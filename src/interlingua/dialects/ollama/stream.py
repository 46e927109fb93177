"""Reading the streams of Ollama: one JSON object a line, the last one ``done``.

Lines add to a thought, a text and a list of calls, which stay open until the last line, for they may go on at any time;
the order of the whole is that of a whole answer. Calls come complete, one or more a line. A call without an id is held
back to the end, where its place is known, for it is named by that. What is no line of an answer is carried as
``unknown``, never raised.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...codec.framing import NdjsonDecoder
from ...codec.json import is_array, is_object
from ...codec.schemas import restorer
from ...codec.stream import NOT_JSON, FrameDecoder, decode_frame, dump
from ...types.base import Json
from ...types.blocks import (
    Block,
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from ...types.events import (
    Event,
    MessageStart,
    UsageUpdate,
)
from ...types.request import Request
from ...types.response import Response
from . import generate
from .blocks import (
    NAME,
    PLACES,
    Wire,
    read_call,
    read_image,
    take_typed,
)
from .errors import decode_error
from .response import CONSTANTS, mint, read_envelope, read_usage

SPOKEN = {"role", "content", "thinking"}
LINE = {"model", "created_at", "message", "done"}  # a line in the middle
KINDS: dict[type, str] = {
    ThinkingBlock: "thinking",
    TextBlock: "content",
    ImageBlock: "images",
    ToolUseBlock: "tool_calls",
}


def is_spoken(key: str, value: Json) -> bool:
    """Whether a member of a message has been said as a delta, or says nothing."""
    return key in SPOKEN and (value is None or type(value) is str) and (key != "role" or value == "assistant")


def place_of(block: Block) -> int:
    """Where a block that was read stands in a whole answer."""
    return PLACES.index(next(iter(block.raw)) if type(block) is OpaqueBlock else KINDS[type(block)])


class Decoder(FrameDecoder):
    dialect = NAME

    def __init__(self, request: Request | None = None, provider: str | None = None) -> None:
        super().__init__(NdjsonDecoder())
        self.provider = provider
        self.restore = restorer(request, texts=False)
        self.envelope: Wire = {}
        self.message: Wire = {}  # what the message says beside its thought, its text and its calls
        self.thought: int | None = None
        self.text: int | None = None
        self.calls = 0
        self.held: list[Json] = []
        self.forms: Wire = {}

    def read_data(self, name: str, data: bytes, out: list[Event]) -> None:
        self.read(data, out)

    def read(self, frame: bytes, out: list[Event]) -> None:
        try:
            wire = decode_frame(frame)
        except NOT_JSON as fault:
            if not self.broken(frame, fault, out):
                self.unknown(frame.decode("utf-8", "replace"), out)
            return
        try:
            message = wire["message"]
            if self.started and wire["done"] is False and wire.keys() == LINE and message.keys() <= SPOKEN:
                self.speak(message, out)
            elif wire.get("error"):
                self.other(wire, out)
            else:
                self.line(wire, message, out)
        except (KeyError, TypeError, AttributeError):
            self.other(wire, out)

    def other(self, wire: Json, out: list[Event]) -> None:
        """A line without a message: an error, the other endpoint's, or none that we know."""
        if not is_object(wire):
            self.unknown(wire, out)
        elif wire.get("error"):
            self.fail(decode_error(None, None, wire, self.provider), out)
        elif generate.is_answer(wire):
            self.forms["endpoint"] = generate.ENDPOINT
            chat = generate.as_chat(wire)
            self.line(chat, chat["message"], out)
        elif wire.get("done") is True:
            self.line(wire, {}, out)
        else:
            self.unknown(wire, out)

    def line(self, wire: Wire, message: Wire, out: list[Event]) -> None:
        model = wire.get("model")
        self.begin(out, MessageStart(None, model if type(model) is str and model else None))
        self.speak(message, out)
        for key, value in message.items():
            if not is_spoken(key, value):
                self.extend(self.message, key, value)
        for call in take_typed(self.message, "tool_calls", list, {}) or ():
            self.call(call, out)
        for key, value in wire.items():
            if key != "message" or not is_object(value):
                self.extend(self.envelope, key, value)
        if wire.get("done") is True:
            self.finish(out)

    @staticmethod
    def extend(into: Wire, key: str, value: Json) -> None:
        """Lists go on from line to line; of anything else the last word counts."""
        before = into.get(key)
        if is_array(before) and is_array(value):
            before.extend(value)
        else:
            into[key] = value

    def speak(self, message: Wire, out: list[Event]) -> None:
        thought = message.get("thinking")
        if thought and type(thought) is str:
            if self.thought is None:
                self.thought = self.open(ThinkingBlock(), out)
            out.append(self.fold.thinking(self.thought, thought))
        text = message.get("content")
        if text and type(text) is str:
            if self.text is None:
                self.text = self.open(TextBlock(""), out)
            out.append(self.fold.text(self.text, text))

    def open(self, block: Block, out: list[Event]) -> int:
        out.append(self.fold.open(block))
        return len(self.fold.blocks) - 1

    def finished_block(self, index: int) -> Block:
        said = self.fold.joined(index)
        return ThinkingBlock(text=said) if index == self.thought else TextBlock(said)

    def call(self, wire: Json, out: list[Event]) -> None:
        named = is_object(wire) and type(wire.get("id")) is str and wire["id"]
        if named and not self.held:
            self.whole(read_call(wire, self.calls, 0, mint, answer=True), out)
            self.calls += 1
        else:
            self.held.append(wire)

    def whole(self, block: Block, out: list[Event]) -> None:
        """A block that came in one piece."""
        if type(block) is not ToolUseBlock:
            out.append(self.fold.close(self.open(block, out), block))
            return
        said = block.input_text if block.input_text is not None else dump(block.input).decode()
        if self.restore is not None:
            block = self.restore(block)
        if block.kind == "text":
            said = block.input_text or ""
        index = self.open(replace(block, input={}, input_text=None), out)
        out.append(self.fold.arguments(index, said))
        out.append(self.fold.close(index, block))

    def close_blocks(self, out: list[Event], *, cut: bool = False) -> None:
        super().close_blocks(out, cut=cut)
        pictures = list(map(read_image, take_typed(self.message, "images", list, {}) or ()))
        for block in pictures:
            self.whole(block, out)
        place = (self.thought is not None) + (self.text is not None) + len(pictures)
        for call in self.held:
            self.whole(read_call(call, self.calls, place + self.calls, mint, answer=True), out)
            self.calls += 1
        self.held = []
        for block in generate.read_context(self.envelope):
            self.whole(block, out)

    def content(self) -> tuple[Block, ...]:
        return tuple(sorted(self.fold.content, key=place_of))

    def finish(self, out: list[Event]) -> None:
        found: Wire = {}
        read_usage(dict(self.envelope), found, {})
        if found:
            out.append(UsageUpdate(found["usage"]))
        self.complete(out)

    def response(self, *, finished: bool) -> Response:
        rest = {key: value for key, value in self.envelope.items() if finished or key not in CONSTANTS}
        if self.message:
            rest["message"] = self.message
        calls = any(type(block) is ToolUseBlock for block in self.fold.blocks)
        return Response(**read_envelope(rest, dict(self.forms), {}, calls=calls))
