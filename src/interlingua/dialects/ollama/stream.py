"""Reads and writes streams of Ollama: one JSON object per line, ``done`` in the last one.

Reading: lines add to a thought and a text, which stay open until the last line, because they may go on at any time; the
final order is that of a whole answer. Calls arrive complete, one or more per line. A call without an id is held back to
the end, because its place gives its id. A line that we do not know is carried as ``unknown`` and never raises.

Writing: there is a line for each delta, and for each call or image when it is finished. Blocks of one kind that are
open together are written one after the other. After a failure, finished blocks and the text so far are written before
the error.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...codec.framing import NdjsonDecoder, encode_ndjson
from ...codec.history.incomplete import CUT_BLOCK, is_left_out
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.marks import extras_and_forms, marks
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
from ...types.events import Event, MessageComplete, MessageStart, TextDelta, ThinkingDelta, UsageUpdate
from ...types.request import Request
from ...types.response import Response
from .errors import ERRORS
from .facts import EPOCH, JOINT, NAME, PLACES
from .read_turns import read_call
from .request import read_context
from .response import as_chat_answer, as_prompt_answer, is_for_prompt, is_prompt_answer, make_id, read_end, write_end
from .rows import ANSWER, BLOCKS
from .write_turns import write_block, write_number, write_slots

TEXTS = {"role", "content", "thinking"}
LINE = {"model", "created_at", "message", "done"}  # the keys of a line that is not the last one
LAST_LINE_KEYS = ("created_at", "done")
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
    """Whether a key of a message has been read as a delta, or holds no information."""
    return key in TEXTS and (value is None or type(value) is str) and (key != "role" or value == "assistant")


def rank_of(block: Block) -> int:
    """The rank of a block in the order of a whole answer."""
    return PLACES.index(next(iter(block.raw)) if type(block) is OpaqueBlock else KEYS[type(block)])


class Decoder(FrameDecoder):
    dialect = NAME

    def __init__(self, request: Request | None = None, provider: str | None = None) -> None:
        super().__init__(NdjsonDecoder())
        self.provider = provider
        self.restore = restorer(request, texts=False)
        self.envelope: Wire = {}
        self.message: Wire = {}  # of the message: everything but thought, text and calls
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
            if not self.skip_broken_frame(frame, fault, out):
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
        """Read a line without a message: an error, an answer to a prompt, or an unknown line."""
        if not is_object(wire):
            self.unknown(wire, out)
        elif wire.get("error"):
            self.fail(ERRORS.decode(None, None, wire, self.provider), out)
        elif is_prompt_answer(wire):
            self.marks["endpoint"] = "generate"
            chat = as_chat_answer(wire)
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
        """Take a list from the message; empty if the key is absent, null or no list."""
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
            self.add_whole(read_call(wire, self.calls, 0, make_id, answer=True), out)
            self.calls += 1
        else:
            self.held.append(wire)

    def add_whole(self, block: Block, out: list[Event]) -> None:
        """Add a block that arrived in one piece."""
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
            self.add_whole(read_call(call, self.calls, place + self.calls, make_id, answer=True), out)
            self.calls += 1
        self.held = []
        for block in read_context(self.envelope):
            self.add_whole(block, out)

    def content(self) -> tuple[Block, ...]:
        """The blocks in the order of a whole answer."""
        return tuple(sorted(self.fold.content, key=rank_of))

    def finish(self, out: list[Event]) -> None:
        fields: Wire = {}
        read_end(fields, dict(self.envelope), {}, calls=False)
        if "usage" in fields:
            out.append(UsageUpdate(fields["usage"]))
        self.complete(out)

    def response(self, *, finished: bool) -> Response:
        envelope = {key: value for key, value in self.envelope.items() if finished or key not in LAST_LINE_KEYS}
        if self.message:
            envelope["message"] = self.message
        fields, rest, marks = ANSWER.take(envelope)
        marks |= self.marks
        read_end(fields, rest, marks, calls=any(type(block) is ToolUseBlock for block in self.fold.blocks))
        return Response(**fields, **extras_and_forms(NAME, rest, marks))


# -------------------------------------------------------------------------------------------------------------- writing


Pieces = list[tuple[int, str | Block]]
"""What may be written now: texts, and blocks that are written whole, each with the index of its block."""
WHOLE = ("images", "tool_calls")
JOINTS = {"thinking": JOINT, "content": ""}


class Queue:
    """The blocks for one key of a message, written one after the other: texts in pieces, other blocks whole."""

    def __init__(self) -> None:
        self.waiting: dict[int, list[str | Block]] = {}  # unfinished blocks in order, and their pieces so far
        self.ended: set[int] = set()

    def open(self, index: int) -> None:
        self.waiting[index] = []

    def add(self, index: int, piece: str | Block) -> Pieces:
        """Add a piece of a block. Returns what may be written now."""
        if index == next(iter(self.waiting)):
            return [(index, piece)]
        self.waiting[index].append(piece)
        return []

    def end(self, index: int) -> Pieces:
        """End a block. Returns what may be written now."""
        self.ended.add(index)
        ready: Pieces = []
        while self.waiting and (first := next(iter(self.waiting))) in self.ended:
            del self.waiting[first]
            if self.waiting:
                following = next(iter(self.waiting))
                ready += [(following, piece) for piece in self.waiting[following]]
        return ready


class Encoder(GrammaticalEncoder):
    def __init__(self, request: Request | None = None) -> None:
        super().__init__()
        self.for_prompt = is_for_prompt(None, request)
        self.model, self.time = "", EPOCH
        self.queues = {key: Queue() for key in ("thinking", "content", "images", "tool_calls")}
        self.latest: dict[str, int] = {}  # by key, the block that was written last
        self.calls = 0

    def start(self, event: MessageStart) -> bytes:
        self.model = event.model or ""
        self.time = event.extras.get(NAME, {}).get("created_at", EPOCH)
        return b""

    def open(self, event: Opener) -> bytes:
        block, key = event.block, _key_of(event.block)
        if key not in self.queues:
            return b""
        self.queues[key].open(event.index)
        text = block.text if isinstance(block, TextBlock | ThinkingBlock | RefusalBlock) else ""
        return self.write_pieces(key, self.queues[key].add(event.index, text))

    def delta(self, event: Delta) -> bytes:
        match event:
            case TextDelta():
                return self.write_pieces("content", self.queues["content"].add(event.index, event.text))
            case ThinkingDelta():
                return self.write_pieces("thinking", self.queues["thinking"].add(event.index, event.text))
            case _:
                return b""

    def end(self, event: Closer) -> bytes:
        index, block, key = event.index, event.block, _key_of(event.block)
        if key not in self.queues or index not in self.queues[key].waiting:
            return b""
        queue = self.queues[key]
        pieces: Pieces = []
        if isinstance(block, JsonBlock | DocumentBlock):
            written = write_block(block, Ledger())  # losses are declared once, at the end
            pieces = [] if written is None else queue.add(index, written[1])
        elif key in WHOLE and not is_left_out(block, NAME, Ledger()):
            pieces = queue.add(index, block)
        return self.write_pieces(key, pieces) + self.write_pieces(key, queue.end(index))

    def write_pieces(self, key: str, pieces: Pieces) -> bytes:
        """The lines for these pieces."""
        texts: list[str] = []
        lines: list[bytes] = []
        for index, piece in pieces:
            if not isinstance(piece, str):
                lines.append(self.write_whole(piece))
            elif piece:
                if self.latest.get(key, index) != index:
                    texts.append(JOINTS[key])
                texts.append(piece)
                self.latest[key] = index
        return b"".join(lines) if not texts else self.write_line(**{key: "".join(texts)})

    def write_whole(self, block: Block) -> bytes:
        """The line of a finished call or image."""
        key, wire = write_block(block, Ledger()) or ("", {})
        if isinstance(block, ToolUseBlock):
            write_number(wire, block, self.calls, answer=True)
            self.calls += 1
        elif key != "images":
            return b""
        return self.write_line(**{key: [wire]})

    def write_line(self, **slots: Json) -> bytes:
        """A line that is not the last one."""
        message: Wire = {"role": "assistant", "content": "", **slots}
        return self.write({"model": self.model, "created_at": self.time, "message": message, "done": False})

    def write(self, wire: Wire) -> bytes:
        return encode_ndjson(dump(as_prompt_answer(wire) if self.for_prompt else wire))

    def complete(self, event: MessageComplete) -> bytes:
        response = event.response
        before = self.abandon()
        placed = [(("content", index), block) for index, block in enumerate(response.content)]
        whole = write_slots(placed, self.ledger, answer=True, context=True)
        wire: Wire = {"context": whole["context"]} if "context" in whole else {}
        wire["message"] = {"role": "assistant", "content": ""}
        write_end(response, wire, marks(NAME, response), self.ledger)
        wire |= {"created_at": wire.get("created_at", self.time), "done": True}
        self.ended = True
        return before + self.write(wire)

    def write_error(self, error: AdapterError) -> bytes:
        return encode_ndjson(dump(ERRORS.body(error)))

    def abandon(self) -> bytes:
        """Leave out blocks that are still open, and write what waited behind them."""
        lines: list[bytes] = []
        for key, queue in self.queues.items():
            for index in list(queue.waiting):
                if key in WHOLE and index not in queue.ended:
                    self.ledger.lose("dropped", CUT_BLOCK, "content", index)
                lines.append(self.write_pieces(key, queue.end(index)))
        return b"".join(lines)


def _key_of(block: Block) -> str:
    return "images" if type(block) is OpaqueBlock else KEYS.get(type(block), "")
