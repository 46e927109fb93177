"""Reading a JSON text that is not complete yet. Each character is read once, in however many pieces the text comes."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from ...types.base import Json
from ...types.blocks import TextBlock
from ...types.events import BlockStart, TextDelta
from .outputs import Output

__all__ = ["PartialJson", "PartialOutput"]

_START = re.compile(r"[{\[]")
_WORD = re.compile(r'[^\s,:{}\[\]"]+')
_PIECE = re.compile(
    r'(?:[^"\\]|\\["\\/bfnrt]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}'
    r"|\\u(?![dD][89abAB])[0-9a-fA-F]{4})*+"
)
"""What can be read of a string: characters and whole escapes. Half of a surrogate pair waits for the other."""
LONGEST_ESCAPE = 12


class PartialJson:
    """Pass the text to ``feed``; ``value`` is what it holds so far: always the same object, with perhaps half a string.

    Text before the first bracket is skipped. A number or a word is in the value once it is complete. Nothing is ever
    raised: text that is not JSON is read as far as possible, because the whole text is checked later.
    """

    def __init__(self) -> None:
        self._root: Json = None
        self._open: list[Any] = []  # the objects and lists that are not closed yet, outermost first
        self._keys: list[str | None] = []  # of each of them, the key whose value comes next
        self._string: list[str] | None = None  # the pieces of the string that is not closed yet
        self._place: tuple[Any, Any] | None = None  # where it stands; None if it is a key
        self._word = self._rest = ""  # a number or a word, and the beginning of an escape
        self._over = False

    @property
    def value(self) -> Json:
        """The value so far; None before the first bracket."""
        self._show_string()
        return self._root

    def feed(self, text: str) -> None:
        """Read the next piece of the text."""
        text, self._rest = self._rest + text, ""
        at = 0
        while at < len(text) and not self._over:
            if self._string is not None:
                at = self._in_string(text, at, self._string)
            elif self._open:
                at = self._between(text, at)
            else:
                found = _START.search(text, at)
                at = len(text) if found is None else found.start()
                if found is not None:
                    at = self._read_sign(text, at)

    def _between(self, text: str, at: int) -> int:
        if word := _WORD.match(text, at):
            self._word += word[0]
            return word.end()
        if self._word:
            self._end_word()
        return self._read_sign(text, at)

    def _read_sign(self, text: str, at: int) -> int:
        sign = text[at]
        if sign == '"':
            top_is_object = isinstance(self._open[-1], dict)
            self._string, is_key = [], top_is_object and self._keys[-1] is None
            self._place = None if is_key else self._add("")
        elif sign in "{[":
            inner: Any = {} if sign == "{" else []
            if self._open:
                self._add(inner)
            else:
                self._root = inner
            self._open.append(inner)
            self._keys.append(None)
        elif sign in "}]":
            self._open.pop()
            self._keys.pop()
            self._over = not self._open
        return at + 1

    def _add(self, value: Json) -> tuple[Any, Any]:
        """Put a value into the innermost object or list. Return that and the key of the value."""
        top = self._open[-1]
        if isinstance(top, list):
            top.append(value)  # pyright: ignore[reportUnknownMemberType]
            return top, -1  # pyright: ignore[reportUnknownVariableType]
        key, self._keys[-1] = self._keys[-1] or "", None
        top[key] = value
        return top, key

    # ----------------------------------------------------------------------------------------------- strings and words

    def _in_string(self, text: str, at: int, pieces: list[str]) -> int:
        found = _PIECE.match(text, at)
        end = at if found is None else found.end()
        if end > at:
            pieces.append(json.loads(f'"{text[at:end]}"', strict=False))
        if end == len(text):
            return end
        if text[end] == '"':
            self._end_string("".join(pieces))
        elif len(text) - end < LONGEST_ESCAPE:
            self._rest = text[end:]
            return len(text)
        return end + 1  # after the string, or after a backslash that begins no escape

    def _end_string(self, text: str) -> None:
        if self._place is None:
            self._keys[-1] = text
        self._show_string()
        self._string = self._place = None

    def _show_string(self) -> None:
        if self._string is not None and self._place is not None:
            whole = "".join(self._string)
            self._string[:] = [whole]
            container, key = self._place
            container[key] = whole

    def _end_word(self) -> None:
        word, self._word = self._word, ""
        is_key = isinstance(self._open[-1], dict) and self._keys[-1] is None
        with suppress(ValueError):
            if not is_key:
                self._add(json.loads(word))


class PartialOutput:
    """The value of a typed answer so far, read from the events of its stream."""

    def __init__(self, output: Output[Any]) -> None:
        self._output = output
        self._json = PartialJson()
        self._index: int | None = None

    @property
    def value(self) -> Json:
        """The value so far, as dicts and lists; parts that are still to come are absent. None before the first one."""
        return self._output.inside(self._json.value)

    def see(self, event: object) -> None:
        """Read the next event of the stream. Each text block begins a new value: the last one is the answer."""
        if type(event) is BlockStart and type(event.block) is TextBlock:
            self._index, self._json = event.index, PartialJson()
        elif type(event) is TextDelta and event.index == self._index:
            self._json.feed(event.text)
