"""What must be known of a body that is passed on as it is: the fields at its top, and where they stand.

Nothing below the top is decoded. A body that is passed on keeps all of its bytes but those of the model's name.
``KnownTools`` spares what is translated the parsing of tools that came before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from ..codec.json import is_array
from ..codec.known_lists import KnownList
from ..errors import InvalidRequestError

__all__ = ["KnownTools", "Peek"]

_top = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_value = msgspec.json.Decoder().decode
_first = re.compile(rb'\s*\{\s*"(\w+)"\s*:\s*').match
SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")
TURNS = ("messages", "input", "contents")
TOOLS = "tools"


class KnownTools:
    """The latest lists of tools, by their bytes: a client sends the same with every request. ``most``: bytes in all."""

    def __init__(self, most: int = 2**21) -> None:
        self._most, self._size = most, 0
        self._kept: dict[bytes, KnownList] = {}

    def value(self, raw: bytes) -> Any:
        """What the bytes say: a list that nobody may change, or whatever else stands there."""
        found = self._kept.get(raw)
        if found is not None:
            return found
        value = _value(raw)
        if not is_array(value) or len(raw) > self._most:
            return value
        found = self._kept[raw] = KnownList(value)
        self._size += len(raw)
        while self._size > self._most:
            oldest = next(iter(self._kept))
            self._size -= len(oldest)
            del self._kept[oldest]
        return found


class Peek:
    """The top of a JSON object."""

    __slots__ = ("body", "fields")

    def __init__(self, body: bytes) -> None:
        self.body = body
        try:
            self.fields = _top(body)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise InvalidRequestError(f"the body is not a JSON object: {str(error)[:200]}") from None

    def body_value(self, known: KnownTools) -> Any:
        """The whole body, decoded."""
        try:
            return {
                name: known.value(bytes(raw)) if name == TOOLS else _value(raw) for name, raw in self.fields.items()
            }
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise InvalidRequestError(f"the body is not JSON: {str(error)[:200]}") from None

    def get(self, name: str) -> Any:
        """The value of a field; None if there is none."""
        raw = self.fields.get(name)
        if raw is None:
            return None
        try:
            return _value(raw)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise InvalidRequestError(f"`{name}` is not JSON: {str(error)[:200]}") from None

    def text(self, name: str) -> str | None:
        """The value of a field, if it is a string."""
        value = self.get(name)
        return value if isinstance(value, str) else None

    def beginning(self) -> Iterator[bytes]:
        """How a conversation begins: the system text, and the turns until the first of the user's."""
        yield from (bytes(self.fields[name]) for name in SYSTEM if name in self.fields)
        turns = next((self.fields[name] for name in TURNS if name in self.fields), None)
        if turns is None or not bytes(turns).startswith(b"["):
            yield b"" if turns is None else bytes(turns)
            return
        for turn in _items(turns):
            yield bytes(turn)
            if b'"user"' in bytes(turn):
                return

    def with_value(self, name: str, value: str) -> bytes | None:
        """The body with another value of a field, all other bytes as they are; a field that is missing comes first.
        None where its place is not certain, since a name occurs twice."""
        if name not in self.fields:
            at = _after_space(self.body, 0) + 1
            said = msgspec.json.encode({name: value})[1:-1] + (b"," if self.fields else b"")
            return b"".join((self.body[:at], said, self.body[at:]))
        span = self._first_span(name) or self._span(name)
        if span is None:
            return None
        return b"".join((self.body[: span[0]], msgspec.json.encode(value), self.body[span[1] :]))

    def _first_span(self, name: str) -> tuple[int, int] | None:
        """Where the value of a field stands, if the field comes first and is usually written: most begin with it."""
        found, raw = _first(self.body), bytes(self.fields[name])
        if found is None or found[1] != name.encode() or raw[:1] != b'"':
            return None
        if not self.body.startswith(raw, found.end()):
            return None
        return found.end(), found.end() + len(raw)

    def _span(self, name: str) -> tuple[int, int] | None:
        """Where the value of a field stands. The values before it are skipped by their lengths."""
        body = self.body
        at = _after_space(body, 0) + 1
        for key, raw in self.fields.items():
            at = _after_string(body, _after_space(body, at))
            at = _after_space(body, _after_space(body, at) + 1)  # the colon
            end = at + len(memoryview(raw))
            if body[at:end] != bytes(raw):
                return None
            if key == name:
                return at, end
            at = _after_space(body, end) + 1  # the comma
        return None


def _after_space(body: bytes, at: int) -> int:
    while body[at : at + 1] in (b" ", b"\t", b"\r", b"\n"):
        at += 1
    return at


def _after_string(body: bytes, at: int) -> int:
    """The place behind a string that begins here."""
    end = at
    while True:
        end = body.find(b'"', end + 1)
        if end < 0:
            return len(body)
        slashes = end
        while body[slashes - 1 : slashes] == b"\\":
            slashes -= 1
        if (end - slashes) % 2 == 0:
            return end + 1
