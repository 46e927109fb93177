"""Writes streams of OpenAI Chat: a chunk per delta, a chunk with the finish reason, a chunk with usage, ``[DONE]``.

Residue of the answer is written in the chunk with the finish reason, where readers merge it like any delta.
"""

from __future__ import annotations

from ...codec.framing import encode_sse
from ...codec.history.incomplete import declare_last_call
from ...codec.json import Wire, is_array, is_dict
from ...codec.ledger import Ledger
from ...codec.marks import marks
from ...codec.paths import merge
from ...codec.rows.kinds import REFUSED
from ...codec.streams.encoder import Closer, Delta, GrammaticalEncoder, Opener
from ...codec.streams.stream import dump
from ...codec.tools.arguments import write_arguments
from ...errors import AdapterError
from ...types.base import Json
from ...types.blocks import AudioBlock, Block, OpaqueBlock, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.events import (
    MessageComplete,
    MessageStart,
    TextDelta,
    ThinkingDelta,
    ToolUseInputDelta,
    ToolUseStart,
)
from ...types.request import Request
from ...types.response import Response
from .assistant import declare_cited, declare_joined, is_part, lose_marks, pick_audio, sort_slots, with_place
from .errors import ERRORS
from .facts import NAME
from .response import ending_of, last_call, write_usage
from .rows import ANNOTATIONS, ANSWER_CALLS, PARTS, SPOKEN

DONE = b"data: [DONE]\n\n"


class Encoder(GrammaticalEncoder):
    def __init__(self, request: Request | None = None) -> None:
        super().__init__()
        self.base: Wire = {}
        self.blocks: dict[int, Block] = {}
        self.calls: dict[int, int] = {}
        self.with_arguments: set[int] = set()
        self.latest: dict[str, int] = {}  # by slot, the block that was written last
        self.length = 0  # of the content so far
        self.order: list[int] = []  # the blocks in the content, as written
        self.has_audio = False
        self.offsets: dict[int, int] = {}  # where in the content a block begins
        self.annotations: list[Wire] = []

    def start(self, event: MessageStart) -> bytes:
        created = event.extras.get(NAME, {}).get("created", 0)
        self.base = {"id": event.message_id or "", "object": "chat.completion.chunk", "created": created}
        self.base["model"] = event.model or ""
        return self.chunk({"role": "assistant"})

    def open(self, event: Opener) -> bytes:
        if isinstance(event, ToolUseStart):
            return self.open_call(event)
        self.blocks[event.index] = event.block
        self.offsets[event.index] = self.length
        return b""

    def delta(self, event: Delta) -> bytes:
        match event:
            case TextDelta():
                return self.chunk(self.text(event.index, event.text))
            case ThinkingDelta():
                return self.chunk(self.reasoning(event.index, event.text))
            case ToolUseInputDelta():
                return self.arguments(event.index, event.partial_json)
            case _:
                return b""  # citations are written at the end: clients do not take annotations in pieces

    def text(self, index: int, text: str) -> Wire:
        if isinstance(self.blocks[index], RefusalBlock):
            return {"refusal": self.separated("refusal", index, text)}
        self.length += len(text)
        if not self.order or self.order[-1] != index:
            self.order.append(index)
        return {"content": text}

    def reasoning(self, index: int, text: str) -> Wire:
        """A delta of reasoning: under the usual key, or as a content part if the block was read so."""
        block = self.blocks[index]
        if isinstance(block, ThinkingBlock) and is_part(block):
            return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}
        return {"reasoning_content": self.separated("thinking", index, text)}

    def separated(self, slot: str, index: int, text: str) -> str:
        """The text, behind a blank line if another block has been written to this slot, as in a whole answer."""
        before = self.latest.get(slot, index)
        self.latest[slot] = index
        return text if before == index else f"\n\n{text}"

    def chunk(self, delta: Wire, finish: Wire | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, **(finish or {"finish_reason": None})}
        return encode_sse(dump({**self.base, "choices": [choice]}))

    def open_call(self, event: ToolUseStart) -> bytes:
        place = self.calls[event.index] = len(self.calls)
        block = self.blocks[event.index] = event.block
        kind, key = ("custom", "input") if block.kind == "text" else ("function", "arguments")
        residue = block.extras.get(NAME, {})
        wire: Wire = {"index": place, "id": event.id, "type": kind, kind: {"name": event.name, key: ""}}
        if "derived" in marks(NAME, block):
            del wire["id"]
        return self.chunk({"tool_calls": [merge(wire, residue)]})

    def arguments(self, index: int, text: str) -> bytes:
        if text:
            self.with_arguments.add(index)
        block = self.blocks[index]
        free = isinstance(block, ToolUseBlock) and block.kind == "text"
        body = {"custom": {"input": text}} if free else {"function": {"arguments": text}}
        return self.chunk({"tool_calls": [{"index": self.calls[index], **body}]})

    def end(self, event: Closer) -> bytes:
        index, block = event.index, event.block
        self.ledger.where = ("content", index)
        match block:
            case ToolUseBlock():
                return self.end_call(index, block)
            case TextBlock():
                self.end_text(index, block)
            case ThinkingBlock():
                return self.end_reasoning(block)
            case AudioBlock():
                return self.audio(index, block)
            case OpaqueBlock() if block.dialect == NAME:
                self.order.append(index)
                return self.chunk({"content": [block.raw]})
            case RefusalBlock():
                lose_marks(block, self.ledger)
            case _:
                self.ledger.lose("dropped", f"streams of {NAME} have no {block.type} blocks")
        return b""

    def end_call(self, index: int, block: ToolUseBlock) -> bytes:
        ANSWER_CALLS.write(block, self.ledger)
        if index in self.with_arguments:
            return b""
        text = block.input_text if block.kind == "text" else write_arguments(block.input, block.input_text)
        return self.arguments(index, text) if text else b""

    def end_text(self, index: int, block: TextBlock) -> None:
        if not block.text:
            self.ledger.lose_form("dropped", f"streams of {NAME} have no empty texts")
            return
        span = (self.offsets[index], self.offsets[index] + len(block.text))
        lose_marks(block, self.ledger)
        for place, citation in enumerate(block.citations):
            self.ledger.where = ("content", index, "citations", place)
            wire = ANNOTATIONS.write(with_place(citation, span, self.ledger), self.ledger)
            if wire is not None:
                self.annotations.append(wire)

    def end_reasoning(self, block: ThinkingBlock) -> bytes:
        self.ledger.lose_foreign_extras(block, NAME)
        if is_part(block):
            part: Wire = PARTS.write(block, Ledger()) or {}
            last = {key: value for key, value in part.items() if key != "thinking"}
            return self.chunk({"content": [{**last, "thinking": [{"type": "text", "text": ""}]}]})
        lose_marks(block, self.ledger)
        if not block.text:
            self.ledger.lose("dropped", f"reasoning of {NAME} is text, and this has none", weight="state")
        return b""

    def audio(self, index: int, block: AudioBlock) -> bytes:
        self.ledger.where = ()
        if self.has_audio:
            self.ledger.lose("dropped", f"an answer of {NAME} has one audio", "content", index)
            return b""
        sounds = pick_audio([(index, block)], self.ledger)
        self.has_audio = bool(sounds)
        self.ledger.where = ("content", index)
        return self.chunk({"audio": SPOKEN.write(block, self.ledger)}) if sounds else b""

    def complete(self, event: MessageComplete) -> bytes:
        self.ledger.where = ()
        self.ended = True
        response = event.response
        self.declare_slots(response)
        declare_last_call(response, last_call(response), self.ledger)
        self.base |= {"id": response.id or self.base["id"], "model": response.model or self.base["model"]}
        self.base["created"] = response.extras.get(NAME, {}).get("created", self.base["created"])
        self.ledger.lose_foreign_extras(response, NAME)
        cited = self.chunk({"annotations": self.annotations}) if self.annotations else b""
        return cited + self.finish(response) + self.usage(response) + DONE

    def declare_slots(self, response: Response) -> None:
        """Declare blocks that are moved or joined, because there is one slot for each kind."""
        blocks = list(enumerate(response.content))
        mark = marks(NAME, response).get("turn", {})
        sort_slots(blocks, mark, self.ledger)
        for written, index in zip(self.order, sorted(self.order), strict=True):
            if written != index:
                self.ledger.lose_form("moved", f"streams of {NAME} have blocks one by one; moved", "content", written)
        declare_joined(blocks, TextBlock, self.ledger)
        declare_cited(blocks, self.ledger)
        if mark.get("content") != "parts":
            declare_joined(blocks, ThinkingBlock, self.ledger)
            declare_joined(blocks, RefusalBlock, self.ledger)

    def finish(self, response: Response) -> bytes:
        residue = dict(response.extras.get(NAME, {}))
        choices: list[Wire] = residue.pop("choices", None) or [{}]
        first = dict(choices[0])
        self.declare_annotations(response, first.get("message"))
        if first.pop("delta", None):
            self.ledger.lose_form("dropped", f"streams of {NAME} have no such `delta`", "extras", NAME, "choices")
        word = ending_of(response.content).write(response, marks(NAME, response), self.ledger)
        finish: Wire = {"finish_reason": None, **word}
        choice: Wire = {"index": 0, "delta": first.pop("message", {}), **finish}
        residue.pop("usage", None)
        chunk = {**self.base, **residue, "choices": [merge(choice, first)]}
        return encode_sse(dump(chunk)) + b"".join(map(self.other_choice, choices[1:]))

    def declare_annotations(self, response: Response, message: Json) -> None:
        """Declare annotations of several texts as moved: readers find one text, and read them as its citations."""
        found = message.get("annotations") if is_dict(message) else None
        has_texts = sum(isinstance(block, TextBlock) for block in response.content) > 1
        if has_texts and is_array(found) and found and REFUSED not in map(ANNOTATIONS.read, found):
            place = ("extras", NAME, "choices", 0, "message", "annotations")
            self.ledger.lose_form("moved", f"{NAME} has one text per message; moved there", *place)

    def other_choice(self, choice: Wire) -> bytes:
        """The chunk of a choice other than the answer. It holds the whole choice."""
        message = dict(choice.get("message") or {})
        calls: list[Json] = message.get("tool_calls") or []
        if calls:
            message["tool_calls"] = [{"index": index, **call} for index, call in enumerate(calls)]
        wire = {**{key: value for key, value in choice.items() if key != "message"}, "delta": message}
        return encode_sse(dump({**self.base, "choices": [wire]}))

    def usage(self, response: Response) -> bytes:
        usage = write_usage(response, marks(NAME, response)).get("usage")
        if not is_dict(usage):
            return b""
        residue = response.extras.get(NAME, {})
        merge(usage, residue.get("usage", {}))
        return encode_sse(dump({**self.base, **residue, "choices": [], "usage": usage}))

    def abandon(self) -> bytes:
        if self.annotations:
            self.ledger.lose("dropped", "the stream failed before its citations could be written", "content")
        return b""

    def write_error(self, error: AdapterError) -> bytes:
        return encode_sse(dump(ERRORS.body(error)))
