"""Reading a stream of OpenAI Responses.

An item's wire form is put together from its start and its deltas; ``output_item.done`` brings it whole and wins, but for
what deltas have already said; the last word's ``output`` fills items that were never finished. Then it is read as in a
whole answer. Blocks stay open until their item is done. Events that tell only of progress are ``unknown``.
"""

from __future__ import annotations

from typing import Any

from msgspec import DecodeError
from msgspec.structs import replace

from ...errors import AdapterError
from ...framing import SseDecoder
from ...types.base import Json
from ...types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.events import CitationDelta, Event, MessageStart, UsageUpdate
from ...types.request import Request
from ...types.response import Response
from .._stream import FrameDecoder, decode_json
from .errors import decode_error
from .items import REASON, SUMMARY, read_item
from .parts import NAME, Wire, read_annotation
from .response import finisher, read_envelope

Key = tuple[Json, str, Json]
"""Output index, kind of part, index of the part. Kinds: ``content``, ``summary``, and ``item`` for an item of one block."""

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
EMPTY_PARTS: dict[str, Wire] = {
    "output_text": {"type": "output_text", "text": "", "annotations": [], "logprobs": []},
    "refusal": {"type": "refusal", "refusal": ""},
    SUMMARY: {"type": SUMMARY, "text": ""},
    REASON: {"type": REASON, "text": ""},
}


class Item:
    """An item on its way: its wire form at the start, and its parts by key, each with its place in the fold."""

    __slots__ = ("citations", "done", "parts", "places", "wire")

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.parts: dict[Key, Wire] = {}
        self.places: dict[Key, int] = {}
        self.citations: dict[Key, list[Wire]] = {}
        self.done = False


class Decoder(FrameDecoder):
    dialect = NAME

    def __init__(self, request: Request | None = None, provider: str | None = None) -> None:
        super().__init__(SseDecoder())
        self.provider = provider
        self.finish = finisher(request)
        self.envelope: Wire = {}
        self.items: dict[Json, Item] = {}
        self.texts: dict[tuple[Json, Json], int] = {}  # open texts, for the deltas of which there are most
        self.keys: list[Key] = []  # by place in the fold

    def read(self, frame: tuple[str, bytes], out: list[Event]) -> None:
        try:
            wire = decode_json(frame[1])
            handler = EVENTS.get(wire["type"])
            if handler is None:
                self.other(wire, out)
            else:
                handler(self, wire, out)
        except (DecodeError, UnicodeError, KeyError, TypeError, AttributeError, IndexError):
            self.other(frame[1].decode("utf-8", "replace"), out)

    def other(self, wire: Json, out: list[Event]) -> None:
        if wire == "[DONE]":
            return
        if isinstance(wire, dict) and isinstance(wire.get("error"), dict):
            self.failed(wire, out)
        else:
            self.unknown(wire, out)

    # ----------------------------------------------------------------------------------------------------- lifecycle

    def begun(self, wire: Wire, out: list[Event]) -> None:
        self.envelope = response = wire["response"]
        if not self.started:
            self.begin(out, MessageStart(response.get("id") or None, response.get("model") or None))

    def ended(self, wire: Wire, out: list[Event]) -> None:
        self.envelope = response = wire["response"]
        self.begin(out, MessageStart(response.get("id") or None, response.get("model") or None))
        for index, item in enumerate(response.get("output") or ()):
            if index not in self.items:
                self.items[index] = Item(item)
            self.settle(index, item, out)
        error = response.get("error")
        if response.get("status") == "failed" or isinstance(error, dict):
            body = {"error": error} if isinstance(error, dict) else {}
            self.fail(decode_error(None, None, body, self.provider), out)
            return
        if isinstance(response.get("usage"), dict):
            out.append(UsageUpdate(read_envelope(dict(response), {}, [], self.provider)["usage"]))
        self.complete(out)

    def failed(self, wire: Wire, out: list[Event]) -> None:
        body = {key: value for key, value in wire.items() if key not in ("type", "sequence_number")}
        self.fail(decode_error(None, None, body, self.provider), out)

    def fail(self, error: AdapterError, out: list[Event]) -> None:
        self.settle_all(out)
        super().fail(error, out)

    def complete(self, out: list[Event]) -> None:
        self.settle_all(out)
        super().complete(out)

    def keepalive(self, wire: Wire, out: list[Event]) -> None:
        """Nothing to say."""

    # --------------------------------------------------------------------------------------------------------- items

    def item_added(self, wire: Wire, out: list[Event]) -> None:
        self.begin(out, MessageStart())
        index, item = wire["output_index"], wire["item"]
        if index in self.items and self.items[index].done:
            self.unknown(wire, out)
            return
        self.items[index] = Item(item)
        if item["type"] not in ("message", "reasoning"):
            self.open((index, "item", 0), self.blocks(index, item)[0], out)

    def item_done(self, wire: Wire, out: list[Event]) -> None:
        self.begin(out, MessageStart())
        index = wire["output_index"]
        if index not in self.items:
            self.items[index] = Item(wire["item"])
        self.settle(index, wire["item"], out)

    def blocks(self, index: Json, item: Wire) -> list[Block]:
        place = index if type(index) is int else 0
        return read_item(item, place, len(self.fold.blocks))

    def open(self, key: Key, block: Block, out: list[Event]) -> int:
        place = len(self.fold.blocks)
        self.items[key[0]].places[key] = place
        self.keys.append(key)
        if isinstance(block, ToolUseBlock):
            block = replace(block, input={}, input_text="" if block.kind == "text" else None)
        out.append(self.fold.open(block))
        return place

    def part_added(self, wire: Wire, out: list[Event]) -> None:
        """A part of a message or of reasoning: it opens a block, unless it is of a kind we do not know."""
        kind, part_index = ("summary", wire["summary_index"]) if "summary_index" in wire else ("content", wire["content_index"])
        part = wire["part"]
        if part["type"] not in EMPTY_PARTS:
            self.unknown(wire, out)
        else:
            self.part((wire["output_index"], kind, part_index), part, out)

    def part(self, key: Key, part: Wire, out: list[Event]) -> int:
        """The place of a part; a part not seen before opens its block."""
        self.begin(out, MessageStart())
        item = self.items.get(key[0])
        if item is None:
            item = self.items[key[0]] = Item(_empty_item(part))
        if item.done:
            raise KeyError(key)
        if key not in item.places:
            item.parts[key] = part
            first = self.blocks(key[0], _assembled(item.wire, {key: part}))[0]
            if not isinstance(first, TextBlock | RefusalBlock | ThinkingBlock):
                raise KeyError(key)
            if isinstance(first, ThinkingBlock):
                first = replace(first, signature=None)
            place = self.open(key, first, out)
            if key[1] == "content" and not isinstance(first, ThinkingBlock):
                self.texts[key[0], key[2]] = place
        return item.places[key]

    # -------------------------------------------------------------------------------------------------------- deltas

    def text_delta(self, wire: Wire, out: list[Event]) -> None:
        place = self.texts.get((wire["output_index"], wire["content_index"]))
        if place is None:
            tag = "output_text" if wire["type"] == "response.output_text.delta" else "refusal"
            place = self.part((wire["output_index"], "content", wire["content_index"]), EMPTY_PARTS[tag], out)
        out.append(self.fold.text(place, wire["delta"]))

    def summary_delta(self, wire: Wire, out: list[Event]) -> None:
        place = self.part((wire["output_index"], "summary", wire["summary_index"]), EMPTY_PARTS[SUMMARY], out)
        out.append(self.fold.thinking(place, wire["delta"]))

    def reasoning_delta(self, wire: Wire, out: list[Event]) -> None:
        place = self.part((wire["output_index"], "content", wire["content_index"]), EMPTY_PARTS[REASON], out)
        out.append(self.fold.thinking(place, wire["delta"]))

    def call_delta(self, wire: Wire, out: list[Event]) -> None:
        item = self.items[wire["output_index"]]
        place = item.places[wire["output_index"], "item", 0]
        if item.done or type(self.fold.blocks[place]) is not ToolUseBlock:
            self.unknown(wire, out)
        else:
            out.append(self.fold.arguments(place, wire["delta"]))

    def annotation(self, wire: Wire, out: list[Event]) -> None:
        key = (wire["output_index"], "content", wire["content_index"])
        place = self.texts[key[0], key[2]]
        citation = read_annotation(wire["annotation"])
        self.items[key[0]].citations.setdefault(key, []).append(wire["annotation"])
        out.append(CitationDelta(place, citation))

    def whole_part(self, wire: Wire, out: list[Event]) -> None:
        """A part or a text is done: the item says it all once more."""

    # ----------------------------------------------------------------------------------------------------- finishing

    def settle(self, index: Json, wire: Wire, out: list[Event]) -> None:
        """An item is whole: say what no delta said, and close its blocks."""
        item = self.items[index]
        if item.done:
            return
        item.done = True
        if item.wire.get("type") != wire.get("type"):
            wire = item.wire
        said = {key: self.fold.joined(place) for key, place in item.places.items()}
        wire = _settled(wire, item, said)
        blocks = self.blocks(index, wire)
        keys = _keys(index, wire, len(blocks))
        for key, block in zip(keys, blocks, strict=True):
            place = item.places.get(key)
            if place is None:
                place = self.open(key, _emptied(block), out)
            self.say_rest(place, block, said.get(key, ""), out)
            out.append(self.fold.close(place, self.finished(block)))
            if key[1] == "content":
                self.texts.pop((key[0], key[2]), None)

    def settle_all(self, out: list[Event]) -> None:
        """Close what nobody finished, with what there is."""
        if not self.items:
            return
        for index, item in self.items.items():
            if not item.done:
                self.settle(index, item.wire, out)

    def say_rest(self, place: int, block: Block, said: str, out: list[Event]) -> None:
        if isinstance(block, ThinkingBlock):
            if rest := block.text[len(said) :]:
                out.append(self.fold.thinking(place, rest))
        elif isinstance(block, TextBlock | RefusalBlock):
            if rest := block.text[len(said) :]:
                out.append(self.fold.text(place, rest))
        elif isinstance(block, ToolUseBlock):
            text = _input_of(block)
            if text.startswith(said) and (rest := text[len(said) :]):
                out.append(self.fold.arguments(place, rest))

    def finished(self, block: Block) -> Block:
        return self.finish(block) if self.finish is not None and type(block) is ToolUseBlock else block

    def finished_block(self, index: int) -> Block:
        """Never asked for: items are settled before the stream ends."""
        return self.fold.blocks[index]

    def content(self) -> tuple[Block, ...]:
        """Blocks in the order of the whole: by item, then by part."""
        order = sorted(range(len(self.keys)), key=lambda place: _rank(self.keys[place]))
        return tuple(self.fold.blocks[place] for place in order)

    def response(self, *, finished: bool) -> Response:
        rest, forms = dict(self.envelope), Wire()
        if rest.pop("output", None) is None and finished and "output" in self.envelope:
            forms["output"] = None
        fields = read_envelope(rest, forms, list(self.content()), self.provider)
        return Response(**{key: value for key, value in fields.items() if key != "error"})
