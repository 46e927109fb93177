"""Writing a stream of OpenAI Responses: every event that the protocol has for an answer, in its order and numbered.

Items may interleave, so only the end of an item is delayed, until no block can join it any more: it comes when the next
block begins an item of its own, or at the end. An item is written from its finished blocks as in a whole answer, and
the last event repeats exactly these items.

After a failure or a cancellation an unfinished item gets no event that ends it, and is not in the last event. (A call
that the output limit cut off is ended by the provider itself, as ``incomplete``.)
"""

from __future__ import annotations

from msgspec.structs import replace

from ...codec.framing import encode_sse
from ...codec.history.incomplete import declare_last_call
from ...codec.json import Wire, is_object
from ...codec.marks import marks
from ...codec.streams.encoder import Closer, Delta, GrammaticalEncoder, Opener
from ...codec.streams.stream import dump
from ...codec.tools.arguments import is_text_of
from ...errors import AdapterError
from ...types.base import Json
from ...types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.events import (
    Event,
    MessageComplete,
    MessageStart,
    TextDelta,
    ThinkingDelta,
    ToolUseInputDelta,
    Unknown,
)
from ...types.request import Request
from ...types.response import Response
from ...types.tools import ToolDefinition
from ...types.words import StopReason
from .assembly import EMPTY_PARTS, text_key, text_of
from .facts import CALLS, CUT, DONE, NAME, REASON, SUMMARY
from .hosted import can_join, write_item
from .items import bare, is_empty_part
from .response import scribe_for, write_envelope
from .rows import OUTPUT
from .rules import Scribe
from .stream import EVENTS

ENDS = {"completed": "response.completed", "failed": "response.failed"}


class Draft:
    """An item being written: its wire form at the start, and its blocks so far by index in the answer."""

    __slots__ = ("blocks", "counts", "deltas", "head", "index", "parts", "unfinished", "wire")

    def __init__(self, index: int, wire: Wire) -> None:
        self.index = index
        self.wire = wire
        self.head: Wire = {"item_id": wire.get("id") or "", "output_index": index}
        self.blocks: dict[int, Block] = {}
        self.counts = {"summary_index": 0, "content_index": 0}  # how many parts of each kind the item has
        self.parts: dict[int, Wire] = {}  # the index of each block's part, as in {"content_index": 0}
        self.deltas: dict[int, list[str]] = {}  # the deltas of each block, as the model spelled them
        self.unfinished = 0  # how many blocks are not finished

    @property
    def first(self) -> Block:
        return next(iter(self.blocks.values()))


class Encoder(GrammaticalEncoder):
    def __init__(self, request: Request | None = None) -> None:
        super().__init__()
        self.request = request
        self.ledger: Scribe = scribe_for(request)
        tools = request.tools if request is not None else ()
        self.free_text = {tool.name for tool in tools if isinstance(tool, ToolDefinition) and tool.kind == "text"}
        self.number = 0
        self.started: MessageStart | None = None
        self.ready: dict[int, Draft] = {}  # items whose blocks are finished, but which another block may still join
        self.latest: Draft | None = None
        self.last: int | None = None  # the latest block that has an item
        self.owner: dict[int, Draft | None] = {}  # the item of each block; None for a block that cannot be written
        self.whole: dict[int, Block] = {}  # finished blocks
        self.items: list[Wire | None] = []  # the finished items by output index; None for an unfinished one

    def write_event(self, event: Event) -> bytes:
        match event:
            case MessageComplete():
                return self.complete(event)
            case Unknown():
                return self.write_progress(event)
            case _:
                return super().write_event(event)

    def delta(self, event: Delta) -> bytes:
        match event:
            case TextDelta() | ThinkingDelta():
                return self.write_piece(event.index, event.text)
            case ToolUseInputDelta():
                return self.write_piece(event.index, event.partial_json)
            case _:
                return b""  # citations are written when their text is finished

    def numbered(self, kind: str, wire: Wire) -> bytes:
        """The bytes of one event, with its sequence number."""
        number = self.number
        self.number = number + 1
        return encode_sse(dump({"type": kind, "sequence_number": number, **wire}), kind)

    # ----------------------------------------------------------------------------------------------------- lifecycle

    def start(self, event: MessageStart) -> bytes:
        wire = self.begun_envelope(event)
        out = self.numbered("response.created", {"response": wire})
        return out + self.numbered("response.in_progress", {"response": wire})

    def begun_envelope(self, event: MessageStart) -> Wire:
        """The envelope at the start of the answer, without items."""
        self.started = event
        created = event.extras.get(NAME, {}).get("created_at", 0)
        empty = Response(id=event.message_id, model=event.model, extras={NAME: {"created_at": created}})
        return {**write_envelope(empty, self.request, Scribe()), "status": "in_progress", "output": []}

    def complete(self, event: MessageComplete) -> bytes:
        response = event.response
        if event.error is not None and response.stop_reason != StopReason.cancelled:
            return self.fail(event.error, response)
        self.ledger.where = ()
        wire = write_envelope(replace(response, error=None), self.request, self.ledger)
        out = self.end_ready_items(cut=wire.get("status") == CUT)
        self.ledger.where = ()
        begun = [self.whole[index] for index in sorted(self.whole)]
        if len(begun) == len(response.content) and begun != list(response.content):
            self.ledger.lose_form("moved", f"items of {NAME} have the order in which they began", "content")
        declare_last_call(response, self.last, self.ledger)
        self.keep_id(wire)
        self.ended = True
        kind = ENDS.get(str(wire.get("status", "completed")), "response.incomplete")
        return out + self.last_event(kind, wire)

    def fail(self, error: AdapterError, response: Response | None = None) -> bytes:
        if self.ended:
            return b""
        self.ended = True
        out, start = self.end_ready_items(), self.started
        if start is None:  # readers refuse a stream that begins with anything else
            start = MessageStart(model=self.request.model if self.request is not None else None)
            out = self.numbered("response.created", {"response": self.begun_envelope(start)})
        begun = Response(id=start.message_id, model=start.model)
        failed = replace(response or begun, error=error, stop_reason=StopReason.error)
        wire = write_envelope(failed, self.request, Scribe())
        self.keep_id(wire)
        return out + self.last_event("response.failed", wire)

    def last_event(self, kind: str, wire: Wire) -> bytes:
        """The last event of a stream: the envelope, and the items that are finished."""
        output = [item for item in self.items if item is not None]
        return self.numbered(kind, {"response": {**wire, "output": output}})

    def keep_id(self, wire: Wire) -> None:
        """Write the id that the stream began with: readers refuse an answer whose id changes."""
        begun = (self.started.message_id if self.started is not None else None) or ""
        given, wire["id"] = wire.get("id", begun), begun
        if given != begun:
            self.ledger.lose_form("approximated", f"{NAME} keeps the id that the stream began with", "id")

    def write_progress(self, event: Unknown) -> bytes:
        """Pass on an event of this protocol that has no canonical event, as it was read."""
        raw: Json = event.raw
        kind: Json = raw.get("type") if is_object(raw) else None
        if event.dialect != NAME or not isinstance(kind, str) or kind in EVENTS:
            return b""
        left = {key: value for key, value in raw.items() if key not in ("type", "sequence_number")}
        return self.numbered(kind, left) if kind.startswith("response.") else b""

    # --------------------------------------------------------------------------------------------------------- items

    def open(self, event: Opener) -> bytes:
        index, block = event.index, event.block
        latest, out = self.latest, b""
        if latest is None or "joined" not in marks(NAME, block) or not can_join(block, latest.first):
            out = self.end_ready_items()
            latest = self.latest = self.begin_item(index, block)
            if latest is not None:
                added = {"output_index": latest.index, "item": latest.wire}
                out += self.numbered("response.output_item.added", added)
        self.owner[index] = latest
        if latest is None:
            return out
        self.last = index
        self.ready.pop(latest.index, None)
        latest.unfinished += 1
        latest.blocks[index] = block
        latest.deltas[index] = []
        if isinstance(block, TextBlock | RefusalBlock):
            out += self.add_part(latest, index)
        text = block.text if isinstance(block, TextBlock | RefusalBlock | ThinkingBlock) else ""
        return out + self.write_piece(index, text) if text else out

    def begin_item(self, index: int, block: Block) -> Draft | None:
        """The item that a block begins; None if it cannot be written, which is declared when the block ends."""
        if isinstance(block, ToolUseBlock) and block.name in self.free_text:
            block = replace(block, kind="text", input={}, input_text="")
        place = len(self.items)
        wire = write_item([(index, block)], place, scribe_for(self.request))
        if wire is None:
            return None
        tag = wire.get("type")
        if tag == "message" or tag == "reasoning":
            wire |= {key: [] for key in ("content", "summary") if key in wire}
        elif isinstance(block, ToolUseBlock):
            wire[CALLS[wire["type"]]] = ""
        if wire.get("status") in (DONE, CUT):
            wire["status"] = "in_progress"
        self.items.append(None)
        return Draft(place, wire)

    def add_part(self, draft: Draft, index: int) -> bytes:
        tag = _tag(draft.blocks[index])
        key = "summary_index" if tag == SUMMARY else "content_index"
        draft.parts[index] = {key: draft.counts[key]}
        draft.counts[key] += 1
        kind = "reasoning_summary_part" if tag == SUMMARY else "content_part"
        return self.numbered(f"response.{kind}.added", {**draft.head, **draft.parts[index], "part": EMPTY_PARTS[tag]})

    def write_piece(self, index: int, text: str) -> bytes:
        """A fragment of a text, of reasoning or of arguments."""
        draft = self.owner[index]
        if draft is None or not text:
            return b""
        block = draft.blocks[index]
        draft.deltas[index].append(text)
        if isinstance(block, ToolUseBlock):
            return self.write_call_piece(draft, block, text)
        out = self.add_part(draft, index) if index not in draft.parts else b""
        kind, logprobs = DELTAS[_tag(block)]
        return out + self.numbered(
            f"response.{kind}.delta", {**draft.head, **draft.parts[index], "delta": text, **logprobs}
        )

    def write_call_piece(self, draft: Draft, block: ToolUseBlock, text: str) -> bytes:
        free = draft.wire["type"] == "custom_tool_call"
        if free and block.kind != "text":
            return b""  # the text is inside JSON: it is written when the call is finished
        return self.numbered(f"response.{CALL_EVENTS[draft.wire['type']]}.delta", {**draft.head, "delta": text})

    def end(self, event: Closer) -> bytes:
        index, block = event.index, event.block
        draft = self.owner[index]
        self.whole[index] = block
        self.ledger.where = ("content", index)
        if draft is None:
            write_item([(index, block)], 0, self.ledger)
            return b""
        draft.unfinished -= 1
        if not draft.unfinished:
            self.ready[draft.index] = draft
        if isinstance(block, ToolUseBlock):
            return self.end_call(draft, index, block)
        draft.blocks[index] = block
        out = b""
        if isinstance(block, ThinkingBlock) and index not in draft.parts and is_empty_part(block):
            out = self.add_part(draft, index)
        return self.end_part(draft, index, block, out) if index in draft.parts else b""

    def end_part(self, draft: Draft, index: int, block: Block, out: bytes) -> bytes:
        place, tag = {**draft.head, **draft.parts[index]}, _tag(block)
        kind, logprobs = DELTAS[tag]
        part = (
            {"type": tag, "text": text_of(block)}
            if isinstance(block, ThinkingBlock)
            else OUTPUT.write(bare(block), Scribe()) or {}
        )
        for number, annotation in enumerate(part.get("annotations", ())):
            cited = {**place, "annotation_index": number, "annotation": annotation}
            out += self.numbered("response.output_text.annotation.added", cited)
        key = text_key(part)
        out += self.numbered(f"response.{kind}.done", {**place, key: part[key], **logprobs})
        group = "reasoning_summary_part" if tag == SUMMARY else "content_part"
        return out + self.numbered(f"response.{group}.done", {**place, "part": part})

    def end_call(self, draft: Draft, index: int, block: ToolUseBlock) -> bytes:
        tag, begun = draft.wire["type"], draft.blocks[index]
        hidden = tag == "custom_tool_call" and isinstance(begun, ToolUseBlock) and begun.kind != "text"
        text_before = "" if hidden else "".join(draft.deltas[index])
        block = _as_begun(block, tag)
        if tag == "function_call" and text_before and is_text_of(text_before, block.input):
            block = replace(block, input_text=text_before)
        draft.blocks[index] = block
        text, kind, out = text_of(block), f"response.{CALL_EVENTS[tag]}", b""
        if text and not text_before:
            out = self.numbered(f"{kind}.delta", {**draft.head, "delta": text})
        whole: Wire = {**draft.head, CALLS[tag]: text}
        if tag == "function_call":
            whole["name"] = block.name
        return out + self.numbered(f"{kind}.done", whole)

    def end_ready_items(self, *, cut: bool = False) -> bytes:
        """Write the end of the items whose blocks are all finished. ``cut``: the answer ended early."""
        ready, self.ready = self.ready, {}
        last = len(self.items) - 1
        return b"".join([self.end_item(ready[index], cut=cut and index == last) for index in sorted(ready)])

    def end_item(self, draft: Draft, *, cut: bool) -> bytes:
        group = list(draft.blocks.items())
        self.ledger.where = ("content", group[0][0])
        item = write_item(group, draft.index, self.ledger, cut=cut) or draft.wire
        if item.get("id") != draft.wire.get("id") and "id" in draft.wire:
            item["id"] = draft.wire["id"]
            self.ledger.lose_form("approximated", f"{NAME} keeps the id that the item began with", "extras", NAME)
        self.items[draft.index] = item
        return self.numbered("response.output_item.done", {"output_index": draft.index, "item": item})


DELTAS: dict[str, tuple[str, Wire]] = {
    # part           events                     what else they carry
    "output_text": ("output_text", {"logprobs": []}),
    "refusal": ("refusal", {}),
    SUMMARY: ("reasoning_summary_text", {}),
    REASON: ("reasoning_text", {}),
}
CALL_EVENTS = {"function_call": "function_call_arguments", "custom_tool_call": "custom_tool_call_input"}


def _as_begun(block: ToolUseBlock, tag: str) -> ToolUseBlock:
    """The finished call in the form in which its item began: free text or JSON."""
    if tag == "custom_tool_call" and block.kind != "text":
        return replace(block, kind="text", input={}, input_text=text_of(block))
    if tag == "function_call" and block.kind == "text":
        return replace(block, kind="json", input={"input": block.input_text or ""}, input_text=None)
    return block


def _tag(block: Block) -> str:
    if isinstance(block, ThinkingBlock):
        tag: str = marks(NAME, block).get("tag", SUMMARY)
        return tag
    return "refusal" if isinstance(block, RefusalBlock) else "output_text"
