"""The top-level fields of a body and their places, without decoding what is below them.

So a body can be passed on with only the model's name replaced, and all its other bytes unchanged. ``KnownTools`` spares
translated bodies the parsing of tools that an earlier request had.
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
    """A cache of decoded lists of tools by their bytes, since a client sends the same list with every request. It holds
    lists of at most ``most`` bytes in all."""

    def __init__(self, most: int = 2**21) -> None:
        self._most, self._size = most, 0
        self._kept: dict[bytes, KnownList] = {}

    def value(self, raw: bytes) -> Any:
        """The decoded value of the bytes. A list is shared and must not be changed."""
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
    """A body that is a JSON object, with its top-level fields still encoded."""

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
        """The decoded value of a field; None if it is missing."""
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
        """The beginning of the conversation: the system text, and the turns up to the user's first."""
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
        """The body with a field set to a value, all other bytes unchanged; a missing field is added at the front.
        None if the place of the field is not certain, because a name occurs twice."""
        if name not in self.fields:
            at = _after_space(self.body, 0) + 1
            member = msgspec.json.encode({name: value})[1:-1] + (b"," if self.fields else b"")
            return b"".join((self.body[:at], member, self.body[at:]))
        span = self._first_span(name) or self._span(name)
        if span is None:
            return None
        return b"".join((self.body[: span[0]], msgspec.json.encode(value), self.body[span[1] :]))

    def _first_span(self, name: str) -> tuple[int, int] | None:
        """The span of a field's value if it is a string and the field comes first, as in most bodies; else None."""
        found, raw = _first(self.body), bytes(self.fields[name])
        if found is None or found[1] != name.encode() or raw[:1] != b'"':
            return None
        if not self.body.startswith(raw, found.end()):
            return None
        return found.end(), found.end() + len(raw)

    def _span(self, name: str) -> tuple[int, int] | None:
        """The span of a field's value, found by skipping the values before it; None if a name occurs twice."""
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
    """The index behind the string that begins at ``at``."""
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
