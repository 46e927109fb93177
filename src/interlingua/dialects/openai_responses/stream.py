"""Reading a stream of OpenAI Responses.

The wire form of an item is put together from its start and its deltas. ``output_item.done`` repeats it whole and wins,
except over the deltas. The ``output`` of the last event completes items that were never finished. Then the item is read
as in a whole answer. Blocks stay open until their item is done. Events about progress only are ``unknown``.

A block is incomplete if its item was not done when the stream failed, or if the item's own status says so.

An event that is not JSON ends the stream in an error, unless it is one of the envelope: then nothing is missing, since
the last event repeats all of it, and it is passed on as ``unknown``. (Recorded once, in a stream written by hand.)
"""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from ...codec.framing import SseDecoder
from ...codec.json import Wire, is_object
from ...codec.marks import extras_and_forms
from ...codec.rows.kinds import REFUSED
from ...codec.schema.plans import restorer
from ...codec.streams.stream import NOT_JSON, FrameDecoder, decode_frame
from ...errors import AdapterError
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.events import CitationDelta, Event, MessageStart, TextDelta, UsageUpdate
from ...types.request import Request
from ...types.response import Response
from .assembly import EMPTY_PARTS, Item, Key, empty_item, opening_block, rank, reconciled, text_key, text_of, with_part
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
        self.restore = restorer(request, texts=True)
        self.envelope: Wire = {}
        self.items: dict[Json, Item] = {}
        self.numbers: dict[Json, int] = {}  # output indexes by item id, if the server does not send them
        self.texts: dict[tuple[Json, Json], int] = {}  # open texts by output and content index, for the most deltas
        self.keys: list[Key] = []  # the key of each block of the fold

    def read(self, frame: tuple[str, bytes], out: list[Event]) -> None:
        try:
            wire = decode_frame(frame[1])
        except NOT_JSON as fault:
            if not self.skip_broken_frame(frame[1], fault, out, frame[0]):
                self.read_other(frame[1].decode("utf-8", "replace"), out)
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
                self.read_other(wire, out)
            else:
                handler(self, wire if "output_index" in wire else self.with_indexes(wire), out)
        except (KeyError, TypeError, AttributeError, IndexError):
            self.read_other(wire, out)

    def with_indexes(self, wire: Wire) -> Wire:
        """An event with indexes. llama.cpp sends none: the id tells the item, which has one part of each kind."""
        item = wire.get("item")
        name = item.get("id") if is_object(item) else wire.get("item_id")
        if name is None:
            return wire
        part = "summary_index" if "summary" in wire["type"] else "content_index"
        return {part: 0, **wire, "output_index": self.numbers.setdefault(name, len(self.items))}

    def read_other(self, wire: Json, out: list[Event]) -> None:
        if wire == "[DONE]":
            return
        if is_object(wire) and is_object(wire.get("error")):
            self.read_error(wire, out)
        else:
            self.unknown(wire, out)

    def skip_broken_frame(self, data: bytes, fault: Exception, out: list[Event], name: str = "") -> bool:
        if self.read_repaired(data, name, out):
            return True
        return ENVELOPE.match(data) is None and super().skip_broken_frame(data, fault, out, name)

    # ----------------------------------------------------------------------------------------------------- lifecycle

    def read_start(self, wire: Wire, out: list[Event]) -> None:
        response = wire["response"]
        if not is_object(response):
            raise TypeError("a response is an object")
        self.envelope = response
        if not self.started:
            self.begin(out, MessageStart(response.get("id") or None, response.get("model") or None))

    def read_end(self, wire: Wire, out: list[Event]) -> None:
        self.read_start(wire, out)
        response = self.envelope
        for index, item in self.match_items(response.get("output") or []):
            if index not in self.items:
                self.items[index] = Item(index, item)
            self.end_item(index, item, out, cut=is_cut(item, response.get("status")))
        error = response.get("error")
        if response.get("status") == "failed" or is_object(error):
            body = {"error": error} if is_object(error) else {}
            self.fail(ERRORS.decode(None, None, body, self.provider), out)
            return
        if is_object(response.get("usage")):
            out.append(UsageUpdate(USAGE.count(response["usage"])))
        self.complete(out)

    def match_items(self, output: list[Wire]) -> list[tuple[Json, Wire]]:
        """The items of the last event with their output indexes, which may have gaps."""
        known = sorted(self.items, key=lambda index: rank((index, "item", 0)))
        if len(known) == len(output):
            return list(zip(known, output, strict=True))
        ids = {item.wire["id"]: index for index, item in self.items.items() if item.wire.get("id")}
        return [(ids.get(item.get("id"), position), item) for position, item in enumerate(output)]

    def read_error(self, wire: Wire, out: list[Event]) -> None:
        body = {key: value for key, value in wire.items() if key not in ("type", "sequence_number")}
        self.fail(ERRORS.decode(None, None, body, self.provider), out)

    def fail(self, error: AdapterError, out: list[Event]) -> None:
        self.end_items(out, FAILED)
        super().fail(error, out)

    def complete(self, out: list[Event]) -> None:
        self.end_items(out, self.envelope.get("status"))
        super().complete(out)

    def skip(self, wire: Wire, out: list[Event]) -> None:
        """Ignore an event. The end of a part or of a text says nothing that the end of its item does not repeat."""

    # --------------------------------------------------------------------------------------------------------- items

    def read_item_added(self, wire: Wire, out: list[Event]) -> None:
        self.begin(out, MessageStart())
        index, item = wire["output_index"], wire["item"]
        if index in self.items:
            self.unknown(wire, out)
            return
        self.items[index] = Item(index, item)
        if item["type"] not in ("message", "reasoning"):
            self.open((index, "item", 0), self.read_blocks(index, item)[0], out)

    def read_item_done(self, wire: Wire, out: list[Event]) -> None:
        self.begin(out, MessageStart())
        index = wire["output_index"]
        if index not in self.items:
            self.items[index] = Item(index, wire["item"])
        self.end_item(index, wire["item"], out, cut=is_cut(wire["item"], None))

    def read_blocks(self, index: Json, item: Wire) -> list[Block]:
        place = index if type(index) is int else 0
        return read_item(item, place, len(self.fold.blocks))

    def open(self, key: Key, block: Block, out: list[Event]) -> int:
        place = len(self.fold.blocks)
        self.items[key[0]].places[key] = place
        self.keys.append(key)
        self.release(out)
        out.append(self.fold.open(opening_block(block) if isinstance(block, ToolUseBlock) else block))
        return place

    def read_part_added(self, wire: Wire, out: list[Event]) -> None:
        """Open the block of a new part of a message or of reasoning. A part of an unknown type is ``unknown``."""
        field = "summary" if "summary_index" in wire else "content"
        if wire["part"]["type"] not in EMPTY_PARTS:
            self.unknown(wire, out)
        else:
            self.block_index((wire["output_index"], field, wire[f"{field}_index"]), wire["part"], out)

    def block_index(self, key: Key, part: Wire, out: list[Event]) -> int:
        """The index of a part's block, which is opened if the part is new."""
        self.begin(out, MessageStart())
        item = self.items.get(key[0])
        if item is None:
            item = self.items[key[0]] = Item(key[0], empty_item(part))
        if item.done:
            raise KeyError(key)
        if key not in item.places:
            begun = self.read_blocks(key[0], with_part(item.wire, key[1], part, joined=bool(item.places)))[-1]
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

    def read_delta(self, wire: Wire, out: list[Event]) -> None:
        """Read more of a text, of a refusal or of reasoning."""
        field, tag = PARTS[wire["type"]]
        place = self.block_index((wire["output_index"], field, wire[f"{field}_index"]), EMPTY_PARTS[tag], out)
        if isinstance(self.fold.blocks[place], ThinkingBlock) is not (tag in (SUMMARY, REASON)):
            raise TypeError("a text is no reasoning")
        out.append(self.fold.more(place, _text(wire)))

    def read_call_delta(self, wire: Wire, out: list[Event]) -> None:
        item = self.items[wire["output_index"]]
        place = item.places[wire["output_index"], "item", 0]
        if item.done or type(self.fold.blocks[place]) is not ToolUseBlock:
            self.unknown(wire, out)
        else:
            out.append(self.fold.arguments(place, _text(wire)))

    def read_annotation(self, wire: Wire, out: list[Event]) -> None:
        key = (wire["output_index"], "content", wire["content_index"])
        place = self.texts[key[0], key[2]]
        citation = ANNOTATIONS.read(wire["annotation"])
        if citation is REFUSED:
            raise TypeError("an annotation has a type")
        self.items[key[0]].citations.setdefault(key, []).append(wire["annotation"])
        out.append(CitationDelta(place, citation))

    # ----------------------------------------------------------------------------------------------------- finishing

    def end_item(self, index: Json, wire: Wire, out: list[Event], *, cut: bool) -> None:
        """End an item, finished or ``cut`` off: add what no delta brought, and close its blocks."""
        item = self.items[index]
        if item.done:
            return
        if not is_object(wire):
            raise TypeError("an item is an object")
        item.done = True
        if item.wire.get("type") != wire.get("type"):
            wire = item.wire
        known = {key: self.text_so_far(item, key, place) for key, place in item.places.items()}
        wire, keys = item.finished(wire, known)
        blocks = self.read_blocks(index, wire)
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
            place = self.open(key, opening_block(block), out)
        known = self.text_so_far(item, key, place)
        block = reconciled(self.fold.blocks[place], block, wire, known)
        if isinstance(block, TextBlock):
            sent = len(item.citations.get(key, ()))
            out += [CitationDelta(place, citation) for citation in block.citations[sent:]]
        text = text_of(block)
        if text.startswith(known) and (rest := text[len(known) :]):
            out.append(self.fold.more(place, rest))
        if type(block) is ToolUseBlock and self.restore is not None:
            block = self.restore(block)
        self.end_block(place, replace(block, incomplete=True) if cut else block, out)
        if key[1] == "content":
            self.texts.pop((key[0], key[2]), None)

    def end_items(self, out: list[Event], status: Json) -> None:
        """Close the items that were never finished, with what they have; an item without any block is left out.

        ``status`` is that of the answer.
        """
        for index, item in self.items.items():
            if item.places:
                self.end_item(index, item.wire, out, cut=is_cut({**item.wire, "status": BEGUN}, status))

    def finished_block(self, index: int) -> Block:
        """The block with the text of its deltas. Needed only if an item ended in a way the protocol does not have."""
        key = self.keys[index]
        item = self.items[key[0]]
        return reconciled(
            self.fold.blocks[index], OpaqueBlock(NAME, item.wire), item.wire, self.text_so_far(item, key, index)
        )

    def content(self) -> tuple[Block, ...]:
        """The blocks in the order of a whole answer: by item, then by part."""
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
        return Response(**fields, **extras_and_forms(NAME, rest, mark))


def _text(wire: Wire) -> str:
    text = wire["delta"]
    if type(text) is not str:
        raise TypeError("a delta is text")
    return text


PARTS: dict[str, tuple[str, str]] = {
    # event                                 the field that has the part, and the type of the part
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
    **dict.fromkeys(PARTS, Decoder.read_delta),
    "response.function_call_arguments.delta": Decoder.read_call_delta,
    "response.custom_tool_call_input.delta": Decoder.read_call_delta,
    "response.output_text.annotation.added": Decoder.read_annotation,
    "response.output_text_annotation.added": Decoder.read_annotation,
    "response.output_item.added": Decoder.read_item_added,
    "response.output_item.done": Decoder.read_item_done,
    "response.content_part.added": Decoder.read_part_added,
    "response.reasoning_summary_part.added": Decoder.read_part_added,
    "response.reasoning_part.added": Decoder.read_part_added,
    **{f"response.{done}.done": Decoder.skip for done in DONE},
    "response.created": Decoder.read_start,
    "response.queued": Decoder.read_start,
    "response.in_progress": Decoder.read_start,
    "response.completed": Decoder.read_end,
    "response.incomplete": Decoder.read_end,
    "response.failed": Decoder.read_end,
    "error": Decoder.read_error,
    "keepalive": Decoder.skip,
}
