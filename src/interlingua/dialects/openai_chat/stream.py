"""Reading a stream of OpenAI Chat; ``encoder`` writes one.

Chunks are put together into the object that a whole answer would be (``assembly``) and that object is read
like one, so a stream cannot say anything else than its whole. There is one slot per kind (reasoning, text, refusal)
and one block per call; they stay open to the end, since any of them may go on.

The stream is finished by a ``finish_reason`` or ``[DONE]``; usage may come after the former, so it ends at the latter
or at the end of the bytes.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...codec.framing import SseDecoder
from ...codec.json import Wire, is_object
from ...codec.marks import marks
from ...codec.streams.stream import NOT_JSON, FrameDecoder, decode_frame, lengthen
from ...types.base import Json
from ...types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.events import Event, MessageStart, UsageUpdate
from ...types.request import Request
from ...types.response import Response
from .assembly import Call, Choice, one_text
from .assistant import rank_of
from .errors import ERRORS
from .facts import NAME, THINKING_KEYS
from .response import read_answer
from .rows import PARTS

__all__ = ["Decoder"]


NO_THOUGHT: Wire = {"type": "thinking", "thinking": []}


class Decoder(FrameDecoder):
    dialect = NAME

    def __init__(self, request: Request | None = None, provider: str | None = None) -> None:
        super().__init__(SseDecoder())
        self.request = request
        self.provider = provider
        self.envelope: Wire = {}
        self.last: Wire | None = None
        self.usage: Wire | None = None
        self.choices: dict[int, Choice] = {0: Choice()}
        self.answer = self.choices[0]
        self.finished = False
        self.slots: dict[str, int] = {}
        self.text: int | None = None  # the slot of the text, once it is open
        self.thinking_key: str | None = None
        self.whole: Response | None = None
        self.read_calls: dict[int, Block] = {}  # the calls of the whole, by place in the fold
        self.cut = False

    def read(self, frame: tuple[str, bytes], out: list[Event]) -> None:
        try:
            chunk = decode_frame(frame[1])
            choices = chunk.pop("choices", None)
        except NOT_JSON as fault:
            if not self.broken(frame[1], fault, out, frame[0]):
                self.other(frame[1], out)
            return
        except AttributeError:
            self.other(frame[1], out)
            return
        if not self.started:
            self.begin(out, MessageStart(_text(chunk.get("id")), _text(chunk.get("model"))))
        if choices:
            for choice in choices:
                self.choice(choice, out)
        self.rest(chunk, out)

    def other(self, data: bytes, out: list[Event]) -> None:
        text = data.strip().decode("utf-8", "replace")
        if text == "[DONE]":
            self.complete(out)
        else:
            self.unknown(text, out)

    def rest(self, chunk: Wire, out: list[Event]) -> None:
        """Everything of a chunk but its choices; the same thing every time costs one comparison."""
        usage = chunk.pop("usage", None)
        if usage:
            self.usage = usage
        chunk.pop("obfuscation", None)
        chunk.pop("p", None)
        if chunk == self.last:
            return
        self.last = chunk
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
                self.delta(delta, out)
        elif type(index) is int and index > 0:
            choice = self.choices.setdefault(index, Choice())
            _quiet(choice, delta or {})
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
        value: Wire | list[Json] | str | None
        for key, value in wire.items():
            if key not in ("index", "delta", "message", "finish_reason") and (
                value is not None or key not in choice.rest
            ):
                if key == "logprobs" and is_object(value):
                    known = choice.rest.get(key)
                    choice.rest[key] = lengthen(known if is_object(known) else {}, value)
                else:
                    choice.rest[key] = value

    def delta(self, delta: Wire, out: list[Event]) -> None:
        """What a delta of the answer adds. Text first: it is nearly always all there is."""
        content: str | list[Wire] | None = delta.get("content")
        if content:
            if type(content) is str:
                index = self.text
                if index is None:
                    index = self.text = self.slot("text", out)
                    self.answer.content = self.fold.parts[index]
                out.append(self.fold.text(index, content))
                if self.answer.parts:
                    self.answer.add_part({"type": "text", "text": content})
            elif type(content) is list:
                for part in content:
                    self.part(part, out)
        if len(delta) > 1 or content is None:
            self.delta_rest(delta, out)

    def delta_rest(self, delta: Wire, out: list[Event]) -> None:
        unknown: Wire = {}
        for key, value in delta.items():
            handler = FIELDS.get(key)
            if handler is None:
                unknown[key] = value
            elif value:
                handler(self, key, value, out)
        if unknown:
            self.answer.keep(unknown)

    def audio(self, key: str, value: Wire | str, out: list[Event]) -> None:
        """Sound and its transcript grow; the rest is said once."""
        if isinstance(value, dict):
            grown = {name: said for name, said in value.items() if name in SOUND and isinstance(said, str)}
            for name, said in grown.items():
                self.answer.audio.setdefault(name, []).append(said)
            value = {name: said for name, said in value.items() if name not in grown}
        self.answer.keep({key: value})

    def skip(self, key: str, value: Json, out: list[Event]) -> None:
        """Said elsewhere, or always the same."""

    def reasoning(self, key: str, value: Json, out: list[Event]) -> None:
        """Two keys that say the same are one thought: the first to come speaks."""
        if not isinstance(value, str):
            self.answer.keep({key: value})
            return
        self.answer.thinking.setdefault(key, []).append(value)
        if self.thinking_key is None:
            self.thinking_key = key
        if self.thinking_key == key:
            out.append(self.fold.thinking(self.slot("thinking", out), value))

    def refusal(self, key: str, value: Json, out: list[Event]) -> None:
        if not isinstance(value, str):
            self.answer.keep({key: value})
            return
        self.answer.refusal.append(value)
        out.append(self.fold.text(self.slot("refusal", out), value))

    def part(self, part: Wire, out: list[Event]) -> None:
        if part == NO_THOUGHT and "thinking" in self.slots:
            return  # magistral sends one before its text; a block of its own would close the thought before its end
        if not self.answer.parts and self.answer.content:
            self.answer.add_part({"type": "text", "text": "".join(self.answer.content)})
        self.answer.add_part(part)
        if part.get("type") == "text" and isinstance(part.get("text"), str):
            out.append(self.fold.text(self.slot("text", out), part["text"]))
        elif one_text(part):
            out.append(self.fold.thinking(self.slot("thinking", out, THOUGHT), part["thinking"][0]["text"]))
        else:
            block: Block = PARTS.read(part)
            out.append(self.fold.open(block))
            out.append(self.fold.close(len(self.fold.blocks) - 1, block))

    def slot(self, kind: str, out: list[Event], empty: Block | None = None) -> int:
        index = self.slots.get(kind)
        if index is None:
            index = self.slots[kind] = len(self.fold.blocks)
            out.append(self.fold.open(empty or EMPTY[kind]))
        return index

    def calls(self, key: str, value: Json, out: list[Event]) -> None:
        for wire in value:
            call = self.answer.call_for(wire)
            self.fragment(call, call.take(wire), out)

    def legacy_call(self, key: str, value: Json, out: list[Event]) -> None:
        if self.answer.legacy is None:
            self.answer.legacy = Call(None)
        self.fragment(self.answer.legacy, self.answer.legacy.take({"function": value, "id": "call_legacy"}), out)

    def fragment(self, call: Call, text: str, out: list[Event]) -> None:
        """Hand out a piece of arguments; a call opens once its id and name are known."""
        if call.place is None:
            if not call.id or not call.name:
                call.waiting.append(text)
                return
            self.open_call(call, call.id, out)
        if text and call.place is not None:
            out.append(self.fold.arguments(call.place, text))

    def open_call(self, call: Call, id: str, out: list[Event]) -> None:
        place = call.place = len(self.fold.blocks)
        if call is self.answer.legacy:
            id = f"call_{place}"
        out.append(self.fold.open(ToolUseBlock(id, call.name, "text" if call.custom else "json")))
        out.extend(self.fold.arguments(place, text) for text in call.waiting if text)
        call.waiting = []

    def close_blocks(self, out: list[Event], *, cut: bool = False) -> None:
        """Everything is read as a whole; calls that never got an id or a name open now, with what they have there."""
        whole = self.whole = read_answer(self.body(), self.request)
        self.cut = cut
        calls = self._calls()
        for call, read in zip(calls, whole.tool_uses if calls else (), strict=False):
            if call.place is None:
                self.open_call(call, read.id, out)
            if call.place is not None:
                self.read_calls[call.place] = read
        if whole.usage is not None:
            out.append(UsageUpdate(whole.usage))
        super().close_blocks(out, cut=cut)
        self.release(out)  # ``read_answer`` has marked a call that was cut off
        for block in whole.content:
            if type(block) not in TOLD and block not in self.fold.blocks:
                out.append(self.fold.open(block))
                out.append(self.fold.close(len(self.fold.blocks) - 1, replace(block, incomplete=cut)))

    def body(self) -> Wire:
        choices = [self.choices[index].whole(index) for index in sorted(self.choices)]
        body = {**self.envelope, "object": "chat.completion", "choices": choices}
        if self.usage is not None:
            body["usage"] = self.usage
        return body

    def finished_block(self, index: int) -> Block:
        """The block of the whole that stands in this slot, or the part of it that was said in deltas."""
        assert self.whole is not None
        start = self.fold.blocks[index]
        if isinstance(start, ToolUseBlock):
            return self.read_calls.get(index) or replace(start, input_text=self.fold.joined(index))
        same = [block for block in self.whole.content if type(block) is type(start)]
        said = self.fold.joined(index)
        whole = next((block for block in same if block.text == said), None)  # type: ignore[union-attr]
        return whole if whole is not None else replace(start, text=said)

    def _calls(self) -> list[Call]:
        return [*self.answer.calls, self.answer.legacy] if self.answer.legacy is not None else self.answer.calls

    def content(self) -> tuple[Block, ...]:
        """In the order of the slots, however they were filled."""
        assert self.whole is not None
        mine, whole = self.fold.blocks, self.whole.content
        same = set(map(id, mine)) & set(map(id, whole))  # all of them, mostly
        others = [block for block in mine if id(block) not in same]
        ordered = [] if self.cut else [block for block in whole if id(block) in same or block in others]
        if len(ordered) != len(mine):  # texts around another part came as one
            mark = marks(NAME, self.whole).get("turn", {})
            return tuple(sorted(mine, key=lambda block: rank_of(block, mark)))
        return whole if len(whole) == len(mine) else tuple(ordered)

    def terminal(self) -> bool:
        return self.finished

    def response(self, *, finished: bool) -> Response:
        assert self.whole is not None
        return self.whole


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _quiet(choice: Choice, delta: Wire) -> None:
    """A further choice: kept, not told."""
    for key, value in delta.items():
        if key == "role":
            continue
        if key == "content" and isinstance(value, str):
            choice.content.append(value)
        elif key == "refusal" and isinstance(value, str):
            choice.refusal.append(value)
        elif key in THINKING_KEYS and isinstance(value, str):
            choice.thinking.setdefault(key, []).append(value)
        elif key == "tool_calls" and value:
            for wire in value:
                choice.call_for(wire).take(wire)
        else:
            choice.keep({key: value})


SOUND = ("data", "transcript")
TOLD = (TextBlock, ThinkingBlock, RefusalBlock, ToolUseBlock)  # in deltas, as they come
THOUGHT = ThinkingBlock(forms={NAME: {"verbatim": ["part"]}})
EMPTY: dict[str, Block] = {"text": TextBlock(""), "thinking": ThinkingBlock(), "refusal": RefusalBlock("")}
FIELDS: dict[str, Any] = {
    "content": Decoder.skip,
    "role": Decoder.skip,
    "refusal": Decoder.refusal,
    "tool_calls": Decoder.calls,
    "function_call": Decoder.legacy_call,
    "audio": Decoder.audio,
    **dict.fromkeys(THINKING_KEYS, Decoder.reasoning),
}
