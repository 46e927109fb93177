"""One choice of a stream, put together into the object that a whole answer has there.

Calls are told apart by index *and* id: an id not seen before begins a new call even on a known index, a fragment
without an index belongs to the call that is being written. Fields we do not know are accumulated: objects and indexed
lists merge, texts of indexed entries grow, anything else is replaced by the newest.
"""

from __future__ import annotations

from ...codec.json import Wire
from ...codec.streams.growing import accumulate
from ...codec.streams.stream import dump
from ...codec.tools.arguments import parse_object
from ...types.base import Json
from .facts import holds_one_text


class Call:
    """A call on its way."""

    __slots__ = ("arguments", "custom", "id", "index", "name", "place", "rest", "value", "waiting")

    def __init__(self, index: Json) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.custom = False
        self.arguments: list[str] = []
        self.waiting: list[str] = []  # fragments that came before the call could be opened
        self.rest: Wire = {}
        self.value: Json = None  # arguments that came as an object
        self.place: int | None = None  # in the fold

    def take(self, wire: Wire) -> str:
        """Read one fragment; the piece of arguments it holds."""
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
        inner = {key: value for key, value in body.items() if key not in ("name", "arguments", "input")}
        if inner:
            rest[kind] = inner
        for key, value in rest.items():
            if value is not None:
                self.rest[key] = value
        text = piece if isinstance(piece, str) else "" if piece is None else self._take_value(piece)
        if text and self.value is not None:
            self.value, text = None, dump(self.value).decode() + text  # a value and text: it can only be read as text
        self.arguments.append(text)
        return text

    def _take_value(self, value: Json) -> str:
        """Arguments that are no text stand alone, or are text behind text."""
        if any(self.arguments):
            return dump(value).decode()
        self.value = value
        return ""

    def whole(self) -> Wire:
        kind, key = ("custom", "input") if self.custom else ("function", "arguments")
        body = {"name": self.name, key: "".join(self.arguments) if self.value is None else self.value}
        inner: Wire = self.rest.get(kind) or {}
        wire: Wire = {"type": kind, **self.rest, kind: {**body, **inner}}
        return {"id": self.id, **wire} if self.id else wire


class Choice:
    """A choice on its way, as a wire object."""

    __slots__ = (
        *("audio", "by_id", "by_index", "calls", "content", "finish_reason", "legacy", "parts", "refusal", "rest"),
        *("thinking", "turn"),
    )

    def __init__(self) -> None:
        self.content: list[str] = []
        self.parts: list[Wire] = []  # where content comes as a list
        self.refusal: list[str] = []
        self.thinking: dict[str, list[str]] = {}
        self.calls: list[Call] = []
        self.by_id: dict[str, Call] = {}
        self.by_index: dict[Json, Call] = {}  # the latest of each
        self.audio: dict[str, list[str]] = {}  # sound and its transcript, which grow
        self.legacy: Call | None = None
        self.finish_reason: Json = None
        self.rest: Wire = {}  # of the choice
        self.turn: Wire = {}  # of the message

    def call_for(self, wire: Wire) -> Call:
        """The call a fragment belongs to: a new one if it brings an id or an index that no call has."""
        index, id = wire.get("index"), wire.get("id")
        key = index if isinstance(index, int | str) else repr(index)
        if isinstance(id, str) and id in self.by_id:
            return self.by_id[id]
        call = (self.calls[-1] if self.calls else None) if index is None else self.by_index.get(key)
        if call is None or (id and call.id) or (index is None and _begins(wire, call)):
            call = self.by_index[key] = Call(index)
            self.calls.append(call)
        if isinstance(id, str) and id and not call.id:
            self.by_id[id] = call
        return call

    def keep(self, delta: Wire) -> None:
        """Accumulate fields of the delta that we do not know."""
        accumulate(self.turn, delta)

    def add_part(self, part: Wire) -> None:
        """A list chunk: texts of one kind grow together, anything else stands alone."""
        last = self.parts[-1] if self.parts else {}
        if one_text(part) and not part["thinking"][0]["text"]:  # the last words of a thought, perhaps behind the text
            last = next((known for known in reversed(self.parts) if one_text(known)), last)
        if part.get("type") == last.get("type") == "text" and part.keys() == last.keys() == {"type", "text"}:
            last["text"] += part["text"]
        elif part.get("type") == last.get("type") == "thinking" and one_text(part) and one_text(last):
            last["thinking"][0]["text"] += part["thinking"][0]["text"]
            last.update({key: value for key, value in part.items() if key not in ("type", "thinking")})
        else:
            self.parts.append(_private(part))

    def whole(self, index: int) -> Wire:
        message: Wire = {"role": "assistant", "content": self._content()}
        for key, texts in self.thinking.items():
            message[key] = "".join(texts)
        if self.refusal:
            message["refusal"] = "".join(self.refusal)
        if self.calls:
            message["tool_calls"] = [call.whole() for call in self.calls]
        if self.legacy is not None:
            message["function_call"] = self.legacy.whole()["function"]
        if self.audio:
            message["audio"] = {**(self.turn.get("audio") or {}), **_joined(self.audio)}
        if self.turn:
            message = {**self.turn, **message}
        return {**self.rest, "index": index, "message": message, "finish_reason": self.finish_reason}

    def _content(self) -> Json:
        if self.parts:
            return self.parts
        return "".join(self.content) if self.content else None


def _joined(texts: dict[str, list[str]]) -> Wire:
    return {key: "".join(parts) for key, parts in texts.items()}


def _begins(wire: Wire, before: Call) -> bool:
    """Where nothing numbers the calls, a name begins one, unless it is said again while arguments are on their way."""
    function: Wire = wire.get("function") or {}
    name: Json = function.get("name")
    if not name or not before.name or (wire.get("id") and wire["id"] == before.id):
        return False
    return name != before.name or parse_object("".join(before.arguments)) is not None


def one_text(part: Wire) -> bool:
    """Whether a part is reasoning in one text."""
    return holds_one_text(part.get("thinking"))


def _private(part: Wire) -> Wire:
    """A copy deep enough to grow."""
    inner = part.get("thinking")
    return {**part, "thinking": [dict(inner[0])]} if one_text(part) and inner else dict(part)
