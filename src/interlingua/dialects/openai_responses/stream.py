"""Reading a stream of OpenAI Responses.

An item's wire form is put together from its start and its deltas. ``output_item.done`` brings it whole and wins, but
for what deltas have already brought; the ``output`` of the last event fills items that were never finished. Then it is
read as in a whole answer. Blocks stay open until their item is done. Events about progress only are ``unknown``.

A block is incomplete if its item was not done when the stream failed, or if the item's own status says so.

An event of the envelope that is not JSON makes no hole: the last event has all of it again, and without a last event
the stream is cut. It is handed on; any other ends the stream. (Recorded once, in a stream that somebody wrote by hand.)
"""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from ...codec.framing import SseDecoder
from ...codec.json import Wire, is_object
from ...codec.marks import kept
from ...codec.rows.kinds import REFUSED
from ...codec.schema.plans import restorer
from ...codec.streams.stream import NOT_JSON, FrameDecoder, decode_frame
from ...errors import AdapterError
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.events import CitationDelta, Event, MessageStart, TextDelta, UsageUpdate
from ...types.request import Request
from ...types.response import Response
from .assembly import EMPTY_PARTS, Item, Key, emptied, empty_item, fitting, rank, text_key, text_of, with_part
from .errors import ERRORS
from .facts import BEGUN, FAILED, NAME, REASON, SUMMARY, is_cut
from .hosted import read_item
from .response import read_echo, read_ending
from .rows import ANNOTATIONS, ANSWER, USAGE

ENVELOPE = re.compile(rb'\s*\{\s*"type"\s*:\s*"response\.(?:created|queued|in_progress|completed|incomplete|failed)"')


class Decoder(FrameDecoder):
    dialect = NAME

    def __init__(self, request: Request | None = None, provider: str | None = None) -> None:
        super().__init__(SseDecoder())
        self.provider = provider
        self.finish = restorer(request, texts=True)
        self.envelope: Wire = {}
        self.items: dict[Json, Item] = {}
        self.numbers: dict[Json, int] = {}  # output indexes by item id, where the server does not send them
        self.texts: dict[tuple[Json, Json], int] = {}  # open texts, for the deltas of which there are most
        self.keys: list[Key] = []  # by place in the fold

    def read(self, frame: tuple[str, bytes], out: list[Event]) -> None:
        try:
            wire = decode_frame(frame[1])
        except NOT_JSON as fault:
            if not self.broken(frame[1], fault, out, frame[0]):
                self.other(frame[1].decode("utf-8", "replace"), out)
            return
        try:
            kind = wire["type"]
            if kind == "response.output_text.delta":
                place, text = self.texts.get((wire.get("output_index"), wire.get("content_index"))), wire["delta"]
                if place is not None and type(text) is str:
                    self.fold.parts[place].append(text)
                    out.append(TextDelta(place, text))
                    return
            handler = EVENTS.get(kind)
            if handler is None:
                self.other(wire, out)
            else:
                handler(self, wire if "output_index" in wire else self.placed(wire), out)
        except (KeyError, TypeError, AttributeError, IndexError):
            self.other(wire, out)

    def placed(self, wire: Wire) -> Wire:
        """An event with its indexes. llama.cpp sends none: an item is known by its id, and has one part of a kind."""
        item = wire.get("item")
        name = item.get("id") if is_object(item) else wire.get("item_id")
        if name is None:
            return wire
        part = "summary_index" if "summary" in wire["type"] else "content_index"
        return {part: 0, **wire, "output_index": self.numbers.setdefault(name, len(self.items))}

    def other(self, wire: Json, out: list[Event]) -> None:
        if wire == "[DONE]":
            return
        if is_object(wire) and is_object(wire.get("error")):
            self.failed(wire, out)
        else:
            self.unknown(wire, out)

    def broken(self, data: bytes, fault: Exception, out: list[Event], name: str = "") -> bool:
        if self.mended(data, name, out):
            return True
        return ENVELOPE.match(data) is None and super().broken(data, fault, out, name)

    # ----------------------------------------------------------------------------------------------------- lifecycle

    def begun(self, wire: Wire, out: list[Event]) -> None:
        response = wire["response"]
        if not is_object(response):
            raise TypeError("a response is an object")
        self.envelope = response
        if not self.started:
            self.begin(out, MessageStart(response.get("id") or None, response.get("model") or None))

    def ended(self, wire: Wire, out: list[Event]) -> None:
        self.begun(wire, out)
        response = self.envelope
        for index, item in self.matched(response.get("output") or []):
            if index not in self.items:
                self.items[index] = Item(index, item)
            self.settle(index, item, out, cut=is_cut(item, response.get("status")))
        error = response.get("error")
        if response.get("status") == "failed" or is_object(error):
            body = {"error": error} if is_object(error) else {}
            self.fail(ERRORS.decode(None, None, body, self.provider), out)
            return
        if is_object(response.get("usage")):
            out.append(UsageUpdate(USAGE.count(response["usage"])))
        self.complete(out)

    def matched(self, output: list[Wire]) -> list[tuple[Json, Wire]]:
        """The items of the last event with their output indexes, which may have had gaps."""
        known = sorted(self.items, key=lambda index: rank((index, "item", 0)))
        if len(known) == len(output):
            return list(zip(known, output, strict=True))
        ids = {item.wire["id"]: index for index, item in self.items.items() if item.wire.get("id")}
        return [(ids.get(item.get("id"), position), item) for position, item in enumerate(output)]

    def failed(self, wire: Wire, out: list[Event]) -> None:
        body = {key: value for key, value in wire.items() if key not in ("type", "sequence_number")}
        self.fail(ERRORS.decode(None, None, body, self.provider), out)

    def fail(self, error: AdapterError, out: list[Event]) -> None:
        self.settle_all(out, FAILED)
        super().fail(error, out)

    def complete(self, out: list[Event]) -> None:
        self.settle_all(out, self.envelope.get("status"))
        super().complete(out)

    def skip(self, wire: Wire, out: list[Event]) -> None:
        """Nothing is read from it: where a part or a text is done, the item says it all once more."""

    # --------------------------------------------------------------------------------------------------------- items

    def item_added(self, wire: Wire, out: list[Event]) -> None:
        self.begin(out, MessageStart())
        index, item = wire["output_index"], wire["item"]
        if index in self.items:
            self.unknown(wire, out)
            return
        self.items[index] = Item(index, item)
        if item["type"] not in ("message", "reasoning"):
            self.open((index, "item", 0), self.blocks(index, item)[0], out)

    def item_done(self, wire: Wire, out: list[Event]) -> None:
        self.begin(out, MessageStart())
        index = wire["output_index"]
        if index not in self.items:
            self.items[index] = Item(index, wire["item"])
        self.settle(index, wire["item"], out, cut=is_cut(wire["item"], None))

    def blocks(self, index: Json, item: Wire) -> list[Block]:
        place = index if type(index) is int else 0
        return read_item(item, place, len(self.fold.blocks))

    def open(self, key: Key, block: Block, out: list[Event]) -> int:
        place = len(self.fold.blocks)
        self.items[key[0]].places[key] = place
        self.keys.append(key)
        self.release(out)
        out.append(self.fold.open(emptied(block) if isinstance(block, ToolUseBlock) else block))
        return place

    def part_added(self, wire: Wire, out: list[Event]) -> None:
        """A part of a message or of reasoning: it opens a block, unless it is of a kind we do not know."""
        field = "summary" if "summary_index" in wire else "content"
        if wire["part"]["type"] not in EMPTY_PARTS:
            self.unknown(wire, out)
        else:
            self.part((wire["output_index"], field, wire[f"{field}_index"]), wire["part"], out)

    def part(self, key: Key, part: Wire, out: list[Event]) -> int:
        """The place of a part; a part not seen before opens its block."""
        self.begin(out, MessageStart())
        item = self.items.get(key[0])
        if item is None:
            item = self.items[key[0]] = Item(key[0], empty_item(part))
        if item.done:
            raise KeyError(key)
        if key not in item.places:
            begun = self.blocks(key[0], with_part(item.wire, key[1], part, joined=bool(item.places)))[-1]
            if not isinstance(begun, TextBlock | RefusalBlock | ThinkingBlock):
                raise KeyError(key)
            item.parts[key] = part
            if isinstance(begun, ThinkingBlock):
                begun = replace(begun, signature=None)
            place = self.open(key, begun, out)
            if key[1] == "content" and not isinstance(begun, ThinkingBlock):
                self.texts[key[0], key[2]] = place
        return item.places[key]

    # -------------------------------------------------------------------------------------------------------- deltas

    def delta(self, wire: Wire, out: list[Event]) -> None:
        """More of a part: of a text, a refusal or reasoning."""
        field, tag = PARTS[wire["type"]]
        place = self.part((wire["output_index"], field, wire[f"{field}_index"]), EMPTY_PARTS[tag], out)
        if isinstance(self.fold.blocks[place], ThinkingBlock) is not (tag in (SUMMARY, REASON)):
            raise TypeError("a text is no reasoning")
        out.append(self.fold.more(place, _text(wire)))

    def call_delta(self, wire: Wire, out: list[Event]) -> None:
        item = self.items[wire["output_index"]]
        place = item.places[wire["output_index"], "item", 0]
        if item.done or type(self.fold.blocks[place]) is not ToolUseBlock:
            self.unknown(wire, out)
        else:
            out.append(self.fold.arguments(place, _text(wire)))

    def annotation(self, wire: Wire, out: list[Event]) -> None:
        key = (wire["output_index"], "content", wire["content_index"])
        place = self.texts[key[0], key[2]]
        citation = ANNOTATIONS.read(wire["annotation"])
        if citation is REFUSED:
            raise TypeError("an annotation has a type")
        self.items[key[0]].citations.setdefault(key, []).append(wire["annotation"])
        out.append(CitationDelta(place, citation))

    # ----------------------------------------------------------------------------------------------------- finishing

    def settle(self, index: Json, wire: Wire, out: list[Event], *, cut: bool) -> None:
        """An item is at its end, finished or ``cut`` off: add what no delta brought, and close its blocks."""
        item = self.items[index]
        if item.done:
            return
        if not is_object(wire):
            raise TypeError("an item is an object")
        item.done = True
        if item.wire.get("type") != wire.get("type"):
            wire = item.wire
        known = {key: self.text_so_far(item, key, place) for key, place in item.places.items()}
        wire, keys = item.settled(wire, known)
        blocks = self.blocks(index, wire)
        if not keys or len(keys) != len(blocks):
            keys = [*keys, *((index, "item", position) for position in range(len(blocks)))][: len(blocks)]
        for key, block in zip(keys, blocks, strict=True):
            self.close_block(item, key, block, wire, out, cut=cut)
        for key, place in item.places.items():
            if place in self.fold.open_indexes:  # the finished item has no such part
                self.close_block(item, key, OpaqueBlock(NAME, wire), wire, out, cut=cut)

    def text_so_far(self, item: Item, key: Key, place: int) -> str:
        part = item.parts.get(key)
        return (part.get(text_key(part)) or "" if part is not None else "") + self.fold.joined(place)

    def close_block(self, item: Item, key: Key, block: Block, wire: Wire, out: list[Event], *, cut: bool) -> None:
        place = item.places.get(key)
        if place is None:
            place = self.open(key, emptied(block), out)
        known = self.text_so_far(item, key, place)
        block = fitting(self.fold.blocks[place], block, wire, known)
        if isinstance(block, TextBlock):
            sent = len(item.citations.get(key, ()))
            out += [CitationDelta(place, citation) for citation in block.citations[sent:]]
        text = text_of(block)
        if text.startswith(known) and (rest := text[len(known) :]):
            out.append(self.fold.more(place, rest))
        if type(block) is ToolUseBlock and self.finish is not None:
            block = self.finish(block)
        self.end_block(place, replace(block, incomplete=True) if cut else block, out)
        if key[1] == "content":
            self.texts.pop((key[0], key[2]), None)

    def settle_all(self, out: list[Event], status: Json) -> None:
        """Close what nobody finished, with what there is; an item that has brought nothing yet is left out.

        ``status`` is that of the answer.
        """
        for index, item in self.items.items():
            if item.places:
                self.settle(index, item.wire, out, cut=is_cut({**item.wire, "status": BEGUN}, status))

    def finished_block(self, index: int) -> Block:
        """Asked for only where an item ended in a way that no protocol has: what the deltas brought stands."""
        key = self.keys[index]
        item = self.items[key[0]]
        return fitting(
            self.fold.blocks[index], OpaqueBlock(NAME, item.wire), item.wire, self.text_so_far(item, key, index)
        )

    def content(self) -> tuple[Block, ...]:
        """Blocks in the order of the whole: by item, then by part."""
        order = sorted(range(len(self.keys)), key=lambda place: rank(self.keys[place]))
        return tuple(self.fold.blocks[place] for place in order)

    def response(self, *, finished: bool) -> Response:
        mark: Wire = {}
        fields, rest, spelled = ANSWER.take(read_echo(self.envelope, mark))
        mark |= spelled
        rest.pop("output", None)
        ended = finished or rest.get("status") == FAILED
        read_ending(fields, rest, mark, self.content(), self.provider, ended=ended)
        fields.pop("error", None)
        return Response(**fields, **kept(NAME, rest, mark))


def _text(wire: Wire) -> str:
    text = wire["delta"]
    if type(text) is not str:
        raise TypeError("a delta is text")
    return text


PARTS: dict[str, tuple[str, str]] = {
    # event                                 where the part stands, and its type
    "response.output_text.delta": ("content", "output_text"),
    "response.refusal.delta": ("content", "refusal"),
    "response.reasoning_summary_text.delta": ("summary", SUMMARY),
    "response.reasoning_text.delta": ("content", REASON),
}
DONE = """
    content_part reasoning_summary_part reasoning_part output_text refusal reasoning_summary_text reasoning_text
    function_call_arguments custom_tool_call_input
""".split()
EVENTS: dict[Json, Any] = {
    **dict.fromkeys(PARTS, Decoder.delta),
    "response.function_call_arguments.delta": Decoder.call_delta,
    "response.custom_tool_call_input.delta": Decoder.call_delta,
    "response.output_text.annotation.added": Decoder.annotation,
    "response.output_text_annotation.added": Decoder.annotation,
    "response.output_item.added": Decoder.item_added,
    "response.output_item.done": Decoder.item_done,
    "response.content_part.added": Decoder.part_added,
    "response.reasoning_summary_part.added": Decoder.part_added,
    "response.reasoning_part.added": Decoder.part_added,
    **{f"response.{done}.done": Decoder.skip for done in DONE},
    "response.created": Decoder.begun,
    "response.queued": Decoder.begun,
    "response.in_progress": Decoder.begun,
    "response.completed": Decoder.ended,
    "response.incomplete": Decoder.ended,
    "response.failed": Decoder.ended,
    "error": Decoder.failed,
    "keepalive": Decoder.skip,
}
