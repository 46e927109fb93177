"""Reads streams of OpenAI Chat; ``encoder`` writes them.

The chunks are put together into a whole answer (``choices``), which is read like any other, so a stream and a whole
answer are read alike. There is one slot per kind (reasoning, text, refusal) and one block per call; they stay open to
the end, since any of them may go on.

A ``finish_reason`` or ``[DONE]`` finishes the answer. Usage may follow a ``finish_reason``, so the stream ends at
``[DONE]`` or at the end of the bytes.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...codec.framing import SseDecoder
from ...codec.json import Wire, is_object
from ...codec.marks import marks
from ...codec.streams.fold import Accumulator
from ...codec.streams.stream import NOT_JSON, FrameDecoder, decode_frame, lengthen
from ...types.base import Json
from ...types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.events import Event, MessageStart, UsageUpdate
from ...types.request import Request
from ...types.response import Response
from .assistant import rank_of
from .choices import Choice
from .errors import ERRORS
from .facts import NAME
from .response import read_answer

__all__ = ["Decoder"]

STREAMED = (TextBlock, ThinkingBlock, RefusalBlock, ToolUseBlock)  # blocks that are emitted in deltas


class Decoder(FrameDecoder):
    dialect = NAME

    def __init__(self, request: Request | None = None, provider: str | None = None) -> None:
        super().__init__(SseDecoder())
        self.request = request
        self.provider = provider
        self.envelope: Wire = {}
        self.latest: Wire | None = None
        self.usage: Wire | None = None
        self.answer = Choice(self.fold)
        self.choices: dict[int, Choice] = {0: self.answer}
        self.finished = False
        self.whole: Response | None = None
        self.whole_calls: dict[int, Block] = {}  # calls of the whole answer, by place in the fold
        self.cut = False

    def read(self, frame: tuple[str, bytes], out: list[Event]) -> None:
        try:
            chunk = decode_frame(frame[1])
            choices = chunk.pop("choices", None)
        except NOT_JSON as fault:
            if not self.skip_broken_frame(frame[1], fault, out, frame[0]):
                self.read_other(frame[1], out)
            return
        except AttributeError:
            self.read_other(frame[1], out)
            return
        if not self.started:
            self.begin(out, MessageStart(_text(chunk.get("id")), _text(chunk.get("model"))))
        if choices:
            for choice in choices:
                self.choice(choice, out)
        self.rest(chunk, out)

    def read_other(self, data: bytes, out: list[Event]) -> None:
        """Read data that is not a chunk: ``[DONE]``, or anything else."""
        text = data.strip().decode("utf-8", "replace")
        if text == "[DONE]":
            self.complete(out)
        else:
            self.unknown(text, out)

    def rest(self, chunk: Wire, out: list[Event]) -> None:
        """Read everything of a chunk but its choices. If it repeats the last one, that costs one comparison."""
        usage = chunk.pop("usage", None)
        if usage:
            self.usage = usage
        chunk.pop("obfuscation", None)
        chunk.pop("p", None)
        if chunk == self.latest:
            return
        self.latest = chunk
        groq: Wire | None = chunk.get("x_groq")
        if isinstance(groq, dict):
            self.usage = groq.get("usage") or self.usage
        fault = chunk.get("error") or (groq.get("error") if isinstance(groq, dict) else None)
        if fault:
            self.fail(ERRORS.decode(None, None, {"error": fault}, self.provider), out)
            return
        for key, value in chunk.items():
            if value is not None or key not in self.envelope:
                self.envelope[key] = value

    def choice(self, wire: Wire, out: list[Event]) -> None:
        index = wire.get("index") or 0
        delta = wire.get("delta")
        if delta is None:
            delta = wire.get("message")
        if index == 0:
            choice = self.answer
            if delta:
                choice.delta(delta, out)
        elif type(index) is int and index > 0:
            choice = self.choices.get(index) or self.choices.setdefault(index, Choice(Accumulator()))
            choice.delta(delta or {}, [])  # collected, without events
        else:
            self.unknown(wire, out)
            return
        reason = wire.get("finish_reason")
        if reason is not None:
            choice.finish_reason = reason
            self.finished = self.finished or index == 0
        usual = delta is not None and "index" in wire and "finish_reason" in wire
        if usual and len(wire) == 4 and wire.get("logprobs", wire) is None and "logprobs" in choice.rest:
            return
        if len(wire) > 3 or not usual:
            self.choice_rest(choice, wire)

    def choice_rest(self, choice: Choice, wire: Wire) -> None:
        for key, value in wire.items():
            if key in ("index", "delta", "message", "finish_reason") or (value is None and key in choice.rest):
                continue
            if key == "logprobs" and is_object(value):
                known = choice.rest.get(key)
                value = lengthen(known if is_object(known) else {}, value)
            choice.rest[key] = value

    def close_blocks(self, out: list[Event], *, cut: bool = False) -> None:
        """Read the whole answer, and open calls that never got an id or a name as that answer has them."""
        whole = self.whole = read_answer(self.body(), self.request)
        self.cut = cut
        answer = self.answer
        calls = answer.calls if answer.legacy is None else [*answer.calls, answer.legacy]
        for call, read in zip(calls, whole.tool_uses if calls else (), strict=False):
            if call.place is None:
                answer.open_call(call, read.id, out)
            if call.place is not None:
                self.whole_calls[call.place] = read
        if whole.usage is not None:
            out.append(UsageUpdate(whole.usage))
        super().close_blocks(out, cut=cut)
        self.release(out)  # ``read_answer`` has marked a call that was cut off
        for block in whole.content:
            if type(block) not in STREAMED and block not in self.fold.blocks:
                out.append(self.fold.open(block))
                out.append(self.fold.close(len(self.fold.blocks) - 1, replace(block, incomplete=cut)))

    def body(self) -> Wire:
        choices = [self.choices[index].as_wire(index) for index in sorted(self.choices)]
        body = {**self.envelope, "object": "chat.completion", "choices": choices}
        if self.usage is not None:
            body["usage"] = self.usage
        return body

    def finished_block(self, index: int) -> Block:
        """The block of the whole answer for this slot; else the block with the text of its deltas."""
        assert self.whole is not None
        start = self.fold.blocks[index]
        if isinstance(start, ToolUseBlock):
            return self.whole_calls.get(index) or replace(start, input_text=self.fold.joined(index))
        same = [block for block in self.whole.content if type(block) is type(start)]
        text = self.fold.joined(index)
        whole = next((block for block in same if block.text == text), None)  # type: ignore[union-attr]
        return whole if whole is not None else replace(start, text=text)

    def content(self) -> tuple[Block, ...]:
        """The blocks in the order of the slots, whichever came first."""
        assert self.whole is not None
        blocks, whole = self.fold.blocks, self.whole.content
        same = set(map(id, blocks)) & set(map(id, whole))  # usually all of them
        others = [block for block in blocks if id(block) not in same]
        ordered = [] if self.cut else [block for block in whole if id(block) in same or block in others]
        if len(ordered) != len(blocks):  # texts around another part were one block in the stream
            mark = marks(NAME, self.whole).get("turn", {})
            return tuple(sorted(blocks, key=lambda block: rank_of(block, mark)))
        return whole if len(whole) == len(blocks) else tuple(ordered)

    def is_finished(self) -> bool:
        return self.finished

    def response(self, *, finished: bool) -> Response:
        assert self.whole is not None
        return self.whole


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
