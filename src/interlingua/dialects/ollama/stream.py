"""The streams of Ollama, both ways: one JSON object a line, the last one ``done``.

Reading: lines add to a thought, a text and a list of calls, which stay open until the last line, because they may go on
at any time; the order of the whole is that of a whole answer. Calls come complete, one or more a line. A call without
an id is held back to the end, because it is named by its place. What is no line of an answer is carried as ``unknown``,
never raised.

Writing: there is a line for each delta, and for each call or picture when it is finished. Blocks of one kind that are
open together are written one after the other. After a failure only what is finished, and the text so far, is written
before the error.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ...codec.framing import NdjsonDecoder, encode_ndjson
from ...codec.history.incomplete import CUT_BLOCK, is_left_out
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.marks import kept, marks
from ...codec.schema.plans import restorer
from ...codec.streams.encoder import Closer, Delta, GrammaticalEncoder, Opener
from ...codec.streams.stream import NOT_JSON, FrameDecoder, decode_frame, dump, lengthen
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
    ToolUseBlock,
)
from ...types.events import (
    BlockComplete,
    Event,
    MessageComplete,
    MessageStart,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseStart,
    UsageUpdate,
)
from ...types.request import Request
from ...types.response import Response
from .errors import ERRORS
from .facts import EPOCH, JOINT, NAME, PLACES
from .read_turns import read_call
from .request import read_context
from .response import as_chat, as_generate, is_prompt_wanted, is_prompted, mint, read_end, write_end
from .rows import ANSWER, BLOCKS
from .write_turns import write_block, write_number, write_slots

TEXTS = {"role", "content", "thinking"}
LINE = {"model", "created_at", "message", "done"}  # a line in the middle
OF_THE_END = ("created_at", "done")
KEYS: dict[type, str] = {
    ThinkingBlock: "thinking",
    TextBlock: "content",
    RefusalBlock: "content",
    JsonBlock: "content",
    DocumentBlock: "content",
    ImageBlock: "images",
    ToolUseBlock: "tool_calls",
}


def is_read(key: str, value: Json) -> bool:
    """Whether a member of a message has been read as a delta, or says nothing."""
    return key in TEXTS and (value is None or type(value) is str) and (key != "role" or value == "assistant")


def place_of(block: Block) -> int:
    """Where a block that was read stands in a whole answer."""
    return PLACES.index(next(iter(block.raw)) if type(block) is OpaqueBlock else KEYS[type(block)])


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
        self.marks: Wire = {}

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
            if self.started and wire["done"] is False and wire.keys() == LINE and message.keys() <= TEXTS:
                self.read_texts(message, out)
            elif wire.get("error"):
                self.read_other(wire, out)
            else:
                self.read_line(wire, message, out)
        except (KeyError, TypeError, AttributeError):
            self.read_other(wire, out)

    def read_other(self, wire: Json, out: list[Event]) -> None:
        """A line without a message: an error, the other endpoint's, or none that we know."""
        if not is_object(wire):
            self.unknown(wire, out)
        elif wire.get("error"):
            self.fail(ERRORS.decode(None, None, wire, self.provider), out)
        elif is_prompted(wire):
            self.marks["endpoint"] = "generate"
            chat = as_chat(wire)
            self.read_line(chat, chat["message"], out)
        elif wire.get("done") is True:
            self.read_line(wire, {}, out)
        else:
            self.unknown(wire, out)

    def read_line(self, wire: Wire, message: Wire, out: list[Event]) -> None:
        model = wire.get("model")
        self.begin(out, MessageStart(None, model if type(model) is str and model else None))
        self.read_texts(message, out)
        lengthen(self.message, {key: value for key, value in message.items() if not is_read(key, value)})
        for call in self.take_list("tool_calls"):
            self.read_call(call, out)
        lengthen(self.envelope, {key: wire[key] for key in wire if key != "message" or not is_object(wire[key])})
        if wire.get("done") is True:
            self.finish(out)

    def take_list(self, key: str) -> list[Json]:
        """A list of the message; null says as much as none."""
        found = self.message.get(key)
        if found is None or is_array(found):
            self.message.pop(key, None)
        return found if is_array(found) else []

    def read_texts(self, message: Wire, out: list[Event]) -> None:
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
        text = self.fold.joined(index)
        return ThinkingBlock(text) if index == self.thought else TextBlock(text)

    def read_call(self, wire: Json, out: list[Event]) -> None:
        named = is_object(wire) and type(wire.get("id")) is str and wire["id"]
        if named and not self.held:
            self.add_whole(read_call(wire, self.calls, 0, mint, answer=True), out)
            self.calls += 1
        else:
            self.held.append(wire)

    def add_whole(self, block: Block, out: list[Event]) -> None:
        """A block that came in one piece."""
        if type(block) is not ToolUseBlock:
            out.append(self.fold.close(self.open(block, out), block))
            return
        arguments = block.input_text if block.input_text is not None else dump(block.input).decode()
        if self.restore is not None:
            block = self.restore(block)
        if block.kind == "text":
            arguments = block.input_text or ""
        index = self.open(replace(block, input={}, input_text=None), out)
        out.append(self.fold.arguments(index, arguments))
        out.append(self.fold.close(index, block))

    def close_blocks(self, out: list[Event], *, cut: bool = False) -> None:
        super().close_blocks(out, cut=cut)
        pictures = [BLOCKS.read({"images": picture}) for picture in self.take_list("images")]
        for block in pictures:
            self.add_whole(block, out)
        place = (self.thought is not None) + (self.text is not None) + len(pictures)
        for call in self.held:
            self.add_whole(read_call(call, self.calls, place + self.calls, mint, answer=True), out)
            self.calls += 1
        self.held = []
        for block in read_context(self.envelope):
            self.add_whole(block, out)

    def content(self) -> tuple[Block, ...]:
        return tuple(sorted(self.fold.content, key=place_of))

    def finish(self, out: list[Event]) -> None:
        fields: Wire = {}
        read_end(fields, dict(self.envelope), {}, calls=False)
        if "usage" in fields:
            out.append(UsageUpdate(fields["usage"]))
        self.complete(out)

    def response(self, *, finished: bool) -> Response:
        envelope = {key: value for key, value in self.envelope.items() if finished or key not in OF_THE_END}
        if self.message:
            envelope["message"] = self.message
        fields, rest, marks = ANSWER.take(envelope)
        marks |= self.marks
        read_end(fields, rest, marks, calls=any(type(block) is ToolUseBlock for block in self.fold.blocks))
        return Response(**fields, **kept(NAME, rest, marks))


# -------------------------------------------------------------------------------------------------------------- writing


class Lane:
    """One string of the protocol, into which blocks are written one after the other, ``joint`` between them."""

    __slots__ = ("ended", "joint", "latest", "waiting")

    def __init__(self, joint: str) -> None:
        self.joint = joint
        self.waiting: dict[int, list[str]] = {}  # the blocks that are not over, in order, and their texts so far
        self.ended: set[int] = set()
        self.latest: int | None = None

    def open(self, index: int) -> None:
        self.waiting[index] = []

    def add(self, index: int, text: str) -> str:
        """What may be written now that a block has more text."""
        if index != next(iter(self.waiting)):
            self.waiting[index].append(text)
            return ""
        return self._follow(index, text)

    def end(self, index: int) -> str:
        """What may be written now that a block has ended."""
        self.ended.add(index)
        ready: list[str] = []
        while self.waiting and (first := next(iter(self.waiting))) in self.ended:
            del self.waiting[first]
            if self.waiting:
                following = next(iter(self.waiting))
                ready.append(self._follow(following, "".join(self.waiting[following])))
        return "".join(ready)

    def _follow(self, index: int, text: str) -> str:
        if text and self.latest not in (None, index):
            text = self.joint + text
        if text:
            self.latest = index
        return text


Queue = dict[int, Block | None]
"""Blocks that are written whole, in the order in which they began: finished ones, and None for an open one."""


class Encoder(GrammaticalEncoder):
    def __init__(self, request: Request | None = None) -> None:
        super().__init__()
        self.prompted = is_prompt_wanted(None, request)
        self.model = ""
        self.lanes = {"thinking": Lane(JOINT), "content": Lane("")}
        self.calls: Queue = {}
        self.pictures: Queue = {}
        self.numbered = 0

    def start(self, event: MessageStart) -> bytes:
        self.model = event.model or ""
        return b""

    def delta(self, event: Delta) -> bytes:
        match event:
            case TextDelta():
                return self.write_text("content", event.index, event.text)
            case ThinkingDelta():
                return self.write_text("thinking", event.index, event.text)
            case _:
                return b""

    def write_line(self, **slots: Json) -> bytes:
        """A line in the middle."""
        message: Wire = {"role": "assistant", "content": "", **slots}
        return self.write({"model": self.model, "created_at": EPOCH, "message": message, "done": False})

    def write(self, wire: Wire) -> bytes:
        return encode_ndjson(dump(as_generate(wire) if self.prompted else wire))

    def write_text(self, key: str, index: int, text: str) -> bytes:
        ready = self.lanes[key].add(index, text)
        return self.write_line(**{key: ready}) if ready else b""

    def open(self, event: Opener) -> bytes:
        if isinstance(event, ToolUseStart):
            self.calls[event.index] = None
            return b""
        key = KEYS.get(type(event.block), "")
        if key not in self.lanes:
            if isinstance(event.block, ImageBlock | OpaqueBlock):
                self.pictures[event.index] = None
            return b""
        self.lanes[key].open(event.index)
        text = event.block.text if isinstance(event.block, TextBlock | ThinkingBlock | RefusalBlock) else ""
        return self.write_text(key, event.index, text)

    def end(self, event: Closer) -> bytes:
        if isinstance(event, ToolUseEnd):
            return self.end_whole(self.calls, event)
        key = KEYS.get(type(event.block), "")
        if key not in self.lanes:
            return self.end_whole(self.pictures, event) if event.index in self.pictures else b""
        before = b""
        if isinstance(event.block, JsonBlock | DocumentBlock):
            written = write_block(event.block, Ledger())  # losses are declared once, at the end
            before = b"" if written is None else self.write_text(key, event.index, written[1])
        following = self.lanes[key].end(event.index)
        return before + (self.write_line(**{key: following}) if following else b"")

    def end_whole(self, queue: Queue, event: BlockComplete | ToolUseEnd) -> bytes:
        """A call or a picture is finished."""
        if is_left_out(event.block, NAME, Ledger()):  # which is declared at the end
            del queue[event.index]
        else:
            queue[event.index] = event.block
        return self.write_ready()

    def write_ready(self) -> bytes:
        """The pictures and calls that no open one stands before."""
        lines: list[bytes] = []
        for block in [*_ready(self.pictures), *_ready(self.calls)]:
            key, wire = write_block(block, Ledger()) or ("", {})
            if isinstance(block, ToolUseBlock):
                write_number(wire, block, self.numbered, answer=True)
                self.numbered += 1
            elif key != "images":
                continue
            lines.append(self.write_line(**{key: [wire]}))
        return b"".join(lines)

    def complete(self, event: MessageComplete) -> bytes:
        response = event.response
        before = self.abandon()
        placed = [(("content", index), block) for index, block in enumerate(response.content)]
        whole = write_slots(placed, self.ledger, answer=True, context=True)
        wire: Wire = {"context": whole["context"]} if "context" in whole else {}
        wire["message"] = {"role": "assistant", "content": ""}
        write_end(response, wire, marks(NAME, response), self.ledger)
        wire |= {"created_at": wire.get("created_at", EPOCH), "done": True}
        self.ended = True
        return before + self.write(wire)

    def write_error(self, error: AdapterError) -> bytes:
        return encode_ndjson(dump(ERRORS.body(error)))

    def abandon(self) -> bytes:
        """The answer ends here: what is still open is left out, and what waited behind it is written."""
        lines: list[bytes] = []
        for key, lane in self.lanes.items():
            lines.extend(self.write_line(**{key: text}) for index in list(lane.waiting) if (text := lane.end(index)))
        for queue in (self.calls, self.pictures):
            for index in [index for index, block in queue.items() if block is None]:
                del queue[index]
                self.ledger.lose("dropped", CUT_BLOCK, "content", index)
        return b"".join([*lines, self.write_ready()])


def _ready(queue: Queue) -> Iterator[Block]:
    """The finished blocks that no open one stands before; they leave the queue."""
    while queue and (block := queue[first := next(iter(queue))]) is not None:
        del queue[first]
        yield block
