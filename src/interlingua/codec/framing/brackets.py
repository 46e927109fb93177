"""Finds the end of a bracketed JSON value. Brackets are counted and strings skipped; nothing is parsed or checked."""

from __future__ import annotations

import re
from functools import cache

# Possessive, so that a long value costs no backtracking. Without captures: Python before 3.11.5 matches them wrongly.
_PLAIN = rb'[^"{}\[\]]++'
_STRING_REST = rb'(?:[^"\\]++|\\.)*+"'
_STRING_END = re.compile(_STRING_REST, re.DOTALL)
_BRACKET_OR_OPEN_STRING = re.compile(rb'(?:%b|"%b)*+["{}\[\]]' % (_PLAIN, _STRING_REST), re.DOTALL)


def _nested_value(depth: int) -> bytes:
    inner = _nested_value(depth - 1) if depth else rb"(?!)"
    return rb'[{\[](?:%b|"%b|%b)*+[}\]]' % (_PLAIN, _STRING_REST, inner)


@cache
def _whole_value() -> re.Pattern[bytes]:
    """A pattern that matches a value of usual depth at once; a deeper value is scanned bracket by bracket."""
    return re.compile(_nested_value(depth=15), re.DOTALL)


_QUOTE = ord('"')
_OPENERS = b"{["


class BracketScanner:
    """Finds the end of each of several values; a value may be spread over any number of chunks."""

    __slots__ = ("_depth", "_escaped", "_in_string")

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def find_end(self, chunk: bytes, pos: int = 0) -> int:
        """The index just past the value's last bracket, or -1 if the value goes on after ``chunk``.

        A value begins at its opening bracket. If its first chunk does not hold the whole value, it is scanned twice.
        """
        if self._depth == 0 and (whole := _whole_value().match(chunk, pos)):
            return whole.end()
        while not self._in_string or (pos := self._leave_string(chunk, pos)) >= 0:
            found = _BRACKET_OR_OPEN_STRING.match(chunk, pos)
            if found is None:
                return -1
            pos = found.end()
            if self._closes_value(chunk[pos - 1]):
                return pos
        return -1

    def _closes_value(self, mark: int) -> bool:
        if mark == _QUOTE:
            self._in_string = True
            return False
        self._depth += 1 if mark in _OPENERS else -1
        return self._depth == 0

    def _leave_string(self, chunk: bytes, pos: int) -> int:
        """The index past the closing quote, or -1 if the string goes on; then a trailing escape is remembered."""
        pos += self._escaped
        found = _STRING_END.match(chunk, pos)
        if found is None:
            backslashes = len(chunk) - max(pos, len(chunk.rstrip(b"\\")))
            self._escaped = backslashes % 2 == 1
            return -1
        self._in_string = self._escaped = False
        return found.end()


def is_whole_value(text: bytes) -> bool:
    """Whether ``text`` is one bracketed value that closes at its last byte; a truncated value never is."""
    return text[:1] in (b"{", b"[") and BracketScanner().find_end(text) == len(text)
