"""Newline-delimited JSON: one value per line. Lines are not parsed."""

from __future__ import annotations

from .brackets import is_whole_value
from .decoder import DEFAULT_LIMIT, FrameDecoder


class NdjsonDecoder(FrameDecoder[bytes]):
    """Bytes to lines, stripped of blanks at both ends, which covers CRLF; blank lines are dropped.

    ``close()`` delivers a last line that was not terminated, unless it is a bracketed value cut short.
    """

    __slots__ = ("_open",)

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        super().__init__(limit)
        self._open = bytearray()

    def _read(self, chunk: bytes, frames: list[bytes]) -> None:
        lines = chunk.split(b"\n")
        if self._open:
            self._open += lines[0]
            if len(self._open) > self.limit:
                raise self._too_long("an NDJSON line")
            if len(lines) == 1:
                return
            lines[0] = bytes(self._open)
            self._open.clear()
        self._open += lines.pop()
        frames += [text for line in lines if (text := line.strip())]

    def _finish(self, frames: list[bytes]) -> None:
        last = bytes(self._open).strip()
        if last and (is_whole_value(last) or not last.startswith((b"{", b"["))):
            frames.append(last)


def encode_ndjson(line: bytes) -> bytes:
    """One line with its line feed. Raises ``ValueError`` for a line feed inside: JSON on one line has none."""
    if b"\n" in line:
        raise ValueError("an NDJSON value must not contain a line feed")
    return line + b"\n"
