"""One JSON array streamed over time, as Gemini writes it without ``alt=sse``: ``[{...}\\n,\\r\\n{...}\\n]``.

Elements are found by their brackets and not parsed. Commas between them are not checked.
"""

from __future__ import annotations

import re

from ...errors import ParseError
from .brackets import BracketScanner
from .decoder import DEFAULT_LIMIT, FrameDecoder

_MARK = re.compile(rb"[^\s,]")


class ArrayDecoder(FrameDecoder[bytes]):
    """Bytes to the array's elements, each an object or an array, delivered at its closing bracket.

    ``finished`` says whether the array's own closing bracket was seen; what follows it is ignored.
    """

    __slots__ = ("_brackets", "_element", "_in_array", "_in_element", "finished")

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        super().__init__(limit)
        self._brackets = BracketScanner()
        self._element = bytearray()
        self._in_array = False
        self._in_element = False
        self.finished = False

    def _read(self, chunk: bytes, frames: list[bytes]) -> None:
        pos = 0
        while pos < len(chunk) and not self.finished:
            if not self._in_element:
                pos = self._read_between(chunk, pos)
                continue
            end = self._brackets.find_end(chunk, pos)
            self._element += chunk[pos:end] if end >= 0 else chunk[pos:]
            if len(self._element) > self.limit:
                raise self._too_long("an element of the JSON array")
            if end < 0:
                return
            frames.append(bytes(self._element))
            self._element.clear()
            self._in_element = False
            pos = end

    def _read_between(self, chunk: bytes, pos: int) -> int:
        """The position after blanks and commas: at the start of an element, or past a bracket of the array itself."""
        found = _MARK.search(chunk, pos)
        if found is None:
            return len(chunk)
        mark = found.group()
        if not self._in_array:
            if mark != b"[":
                raise ParseError(f"expected a JSON array, found {mark!r}")
            self._in_array = True
        elif mark == b"]":
            self.finished = True
        elif mark in (b"{", b"["):
            self._in_element = True
            return found.start()
        else:
            raise ParseError(f"expected an object or the end of the JSON array, found {mark!r}")
        return found.end()


def encode_array_open() -> bytes:
    """The bytes before the first element."""
    return b"["


def encode_array_element(element: bytes, *, first: bool) -> bytes:
    """The bytes of one element, with the separator before it unless it is the first."""
    return element + b"\n" if first else b",\r\n" + element + b"\n"


def encode_array_close() -> bytes:
    """The bytes after the last element, if there was any."""
    return b"]"
