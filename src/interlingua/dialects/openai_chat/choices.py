"""One choice of a stream: its deltas become events, and are put together as the choice of a whole answer.

Calls are told apart by index *and* id: a new id begins a new call even on a known index, and a fragment without an
index belongs to the latest call. Fields that we do not know are accumulated: objects and indexed lists merge, texts of
indexed entries grow, anything else is replaced by the newest value.
"""

from __future__ import annotations

from collections.abc import Callable

from ...codec.json import Wire, is_object
from ...codec.streams.fold import Accumulator
from ...codec.streams.growing import accumulate
from ...codec.streams.stream import dump
from ...codec.tools.arguments import parse_object
from ...types.base import Json
from ...types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.events import Event
from .facts import NAME, THINKING_KEYS, holds_one_text
from .rows import PARTS

__all__ = ["Choice"]

NO_THOUGHT: Wire = {"type": "thinking", "thinking": []}
GROWING = ("data", "transcript")  # fields of audio
THOUGHT = ThinkingBlock(forms={NAME: {"verbatim": ["part"]}})
EMPTY: dict[str, Block] = {"text": TextBlock(""), "thinking": ThinkingBlock(), "refusal": RefusalBlock("")}


class Call:
    """A call that is arriving in fragments."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.custom = False
        self.arguments: list[str] = []
        self.rest: Wire = {}
        self.value: Json = None  # arguments that came as an object
        self.place: int | None = None  # in the fold

    def take(self, wire: Wire) -> str:
        """Read a fragment and return the piece of arguments that it holds."""
        self.custom = self.custom or wire.get("type") == "custom" or ("custom" in wire and "function" not in wire)
        kind = "custom" if self.custom else "function"
        rest = {key: value for key, value in wire.items() if key not in ("index", kind)}
        body: Wire = wire.get(kind) or {}
        if isinstance(id := rest.get("id"), str):
            self.id = self.id or id
            del rest["id"]
        if isinstance(name := body.get("name"), str):
            self.name = self.name or name
        piece = body.get("input" if self.custom else "arguments")
        if inner := {key: value for key, value in body.items() if key not in ("name", "arguments", "input")}:
            rest[kind] = inner
        self.rest |= {key: value for key, value in rest.items() if value is not None}
        text = piece if isinstance(piece, str) else "" if piece is None else self._take_value(piece)
        if text and self.value is not None:
            self.value, text = None, dump(self.value).decode() + text  # text follows the value: both are text
        self.arguments.append(text)
        return text

    def _take_value(self, value: Json) -> str:
        """Keep arguments that are a value instead of text. If text came before, return them as more text."""
        if any(self.arguments):
            return dump(value).decode()
        self.value = value
        return ""

    def as_wire(self) -> Wire:
        kind, key = ("custom", "input") if self.custom else ("function", "arguments")
        body = {"name": self.name, key: "".join(self.arguments) if self.value is None else self.value}
        inner: Wire = self.rest.get(kind) or {}
        wire: Wire = {"type": kind, **self.rest, kind: {**body, **inner}}
        return {"id": self.id, **wire} if self.id else wire


class Choice:
    """A choice that is arriving: it emits what its deltas add, and ``as_wire`` makes a whole choice of them."""

    def __init__(self, fold: Accumulator) -> None:
        self.fold = fold
        self.slots: dict[str, int] = {}
        self.text: int | None = None  # the slot of the text, once it is open
        self.parts: list[Wire] = []  # the parts of content that is a list
        self.thinking: dict[str, list[str]] = {}  # pieces by key
        self.calls: list[Call] = []
        self.by_id: dict[str, Call] = {}
        self.by_index: dict[Json, Call] = {}  # the latest call at each index
        self.legacy: Call | None = None
        self.audio: dict[str, list[str]] = {}  # data and transcript, which grow
        self.finish_reason: Json = None
        self.rest: Wire = {}  # other fields of the choice
        self.turn: Wire = {}  # other fields of the message

    def delta(self, delta: Wire, out: list[Event]) -> None:
        """Read a delta. Text comes first, because most deltas hold nothing else."""
        content: str | list[Wire] | None = delta.get("content")
        if content:
            if type(content) is str:
                self.content(content, out)
            elif type(content) is list:
                for part in content:
                    self.part(part, out)
        if len(delta) > 1 or content is None:
            unknown: Wire = {}
            for key, value in delta.items():
                handler = FIELDS.get(key)
                if handler is None or (value and not handler(self, key, value, out)):
                    unknown[key] = value
            accumulate(self.turn, unknown)

    def content(self, text: str, out: list[Event]) -> None:
        if self.text is None:
            self.text = self.slot("text", out)
        out.append(self.fold.text(self.text, text))
        if self.parts:
            self.add_part({"type": "text", "text": text})

    def skip(self, key: str, value: Json, out: list[Event]) -> bool:
        """Ignore a key that is read elsewhere or never changes."""
        return True

    def reasoning(self, key: str, value: Json, out: list[Event]) -> bool:
        """Read reasoning. If a server sends it under two keys, only the first of them becomes events."""
        if isinstance(value, str):
            self.thinking.setdefault(key, []).append(value)
            if key == next(iter(self.thinking)):
                out.append(self.fold.thinking(self.slot("thinking", out), value))
        return isinstance(value, str)

    def refusal(self, key: str, value: Json, out: list[Event]) -> bool:
        if isinstance(value, str):
            out.append(self.fold.text(self.slot("refusal", out), value))
        return isinstance(value, str)

    def sound(self, key: str, value: Json, out: list[Event]) -> bool:
        """Read audio: its data and its transcript grow, everything else is sent once."""
        if not is_object(value):
            return False
        grown = {name: text for name, text in value.items() if name in GROWING and isinstance(text, str)}
        for name, text in grown.items():
            self.audio.setdefault(name, []).append(text)
        accumulate(self.turn, {key: {name: other for name, other in value.items() if name not in grown}})
        return True

    def slot(self, kind: str, out: list[Event], empty: Block | None = None) -> int:
        """The index of the block of this kind, which is opened if it is new."""
        index = self.slots.get(kind)
        if index is None:
            index = self.slots[kind] = len(self.fold.blocks)
            out.append(self.fold.open(empty or EMPTY[kind]))
        return index

    # --------------------------------------------------------------------------------------------------------- parts

    def part(self, part: Wire, out: list[Event]) -> None:
        """Read a content part. Text and reasoning add to their blocks; any other part is a block at once."""
        if part == NO_THOUGHT and "thinking" in self.slots:
            return  # magistral sends one before its text; it must not close the thought too early
        if not self.parts and self.text is not None:
            self.add_part({"type": "text", "text": self.fold.joined(self.text)})
        self.add_part(part)
        if part.get("type") == "text" and isinstance(part.get("text"), str):
            out.append(self.fold.text(self.slot("text", out), part["text"]))
        elif is_thought(part):
            out.append(self.fold.thinking(self.slot("thinking", out, THOUGHT), part["thinking"][0]["text"]))
        else:
            block: Block = PARTS.read(part)
            out.append(self.fold.open(block))
            out.append(self.fold.close(len(self.fold.blocks) - 1, block))

    def add_part(self, part: Wire) -> None:
        """Append text or reasoning to the last part if that is of the same kind; else add a copy of the part."""
        last = self.parts[-1] if self.parts else {}
        if is_thought(part) and not part["thinking"][0]["text"]:  # the end of a thought, perhaps behind the text
            last = next((known for known in reversed(self.parts) if is_thought(known)), last)
        if part.get("type") == last.get("type") == "text" and part.keys() == last.keys() == {"type", "text"}:
            last["text"] += part["text"]
        elif part.get("type") == last.get("type") == "thinking" and is_thought(part) and is_thought(last):
            last["thinking"][0]["text"] += part["thinking"][0]["text"]
            last.update({key: value for key, value in part.items() if key not in ("type", "thinking")})
        else:
            self.parts.append({**part, "thinking": [dict(part["thinking"][0])]} if is_thought(part) else dict(part))

    # --------------------------------------------------------------------------------------------------------- calls

    def tool_calls(self, key: str, value: Json, out: list[Event]) -> bool:
        for wire in value:
            self.fragment(self.call_for(wire), wire, out)
        return True

    def legacy_call(self, key: str, value: Json, out: list[Event]) -> bool:
        if self.legacy is None:
            self.legacy = Call()
        self.fragment(self.legacy, {"function": value, "id": "call_legacy"}, out)
        return True

    def call_for(self, wire: Wire) -> Call:
        """The call that a fragment belongs to; a new call if the fragment has an id or an index that no call has."""
        index, id = wire.get("index"), wire.get("id")
        key = index if isinstance(index, int | str) else repr(index)
        if isinstance(id, str) and id in self.by_id:
            return self.by_id[id]
        call = (self.calls[-1] if self.calls else None) if index is None else self.by_index.get(key)
        if call is None or (id and call.id) or (index is None and _begins_call(wire, call)):
            call = self.by_index[key] = Call()
            self.calls.append(call)
        if isinstance(id, str) and id and not call.id:
            self.by_id[id] = call
        return call

    def fragment(self, call: Call, wire: Wire, out: list[Event]) -> None:
        """Read a fragment of a call, which opens once its id and its name are known."""
        text = call.take(wire)
        if call.place is None:
            if call.id and call.name:
                self.open_call(call, call.id, out)
        elif text:
            out.append(self.fold.arguments(call.place, text))

    def open_call(self, call: Call, id: str, out: list[Event]) -> None:
        place = call.place = len(self.fold.blocks)
        if call is self.legacy:
            id = f"call_{place}"
        out.append(self.fold.open(ToolUseBlock(id, call.name, "text" if call.custom else "json")))
        out.extend(self.fold.arguments(place, text) for text in call.arguments if text)

    # --------------------------------------------------------------------------------------------------------- whole

    def as_wire(self, index: int) -> Wire:
        text = None if self.text is None else self.fold.joined(self.text)
        message: Wire = {"role": "assistant", "content": self.parts or text}
        message |= {key: "".join(texts) for key, texts in self.thinking.items()}
        if "refusal" in self.slots:
            message["refusal"] = self.fold.joined(self.slots["refusal"])
        if self.calls:
            message["tool_calls"] = [call.as_wire() for call in self.calls]
        if self.legacy is not None:
            message["function_call"] = self.legacy.as_wire()["function"]
        if self.audio:
            grown = {name: "".join(pieces) for name, pieces in self.audio.items()}
            message["audio"] = {**(self.turn.get("audio") or {}), **grown}
        return {**self.rest, "index": index, "message": {**self.turn, **message}, "finish_reason": self.finish_reason}


def is_thought(part: Wire) -> bool:
    """Whether a part is reasoning that has a single text."""
    return holds_one_text(part.get("thinking"))


def _begins_call(wire: Wire, before: Call) -> bool:
    """Whether a fragment without an index begins a call: its name is not just repeated while arguments arrive."""
    function: Wire = wire.get("function") or {}
    name: Json = function.get("name")
    if not name or not before.name or (wire.get("id") and wire["id"] == before.id):
        return False
    return name != before.name or parse_object("".join(before.arguments)) is not None


FIELDS: dict[str, Callable[[Choice, str, Json, list[Event]], bool]] = {
    "content": Choice.skip,
    "role": Choice.skip,
    "refusal": Choice.refusal,
    "tool_calls": Choice.tool_calls,
    "function_call": Choice.legacy_call,
    "audio": Choice.sound,
    **dict.fromkeys(THINKING_KEYS, Choice.reasoning),
}
