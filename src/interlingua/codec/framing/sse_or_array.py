"""Streams that are server-sent events or one JSON array, as the client requested; the first byte decides."""

from __future__ import annotations

from typing import Any

from .array import ArrayDecoder
from .decoder import DEFAULT_LIMIT
from .sse import SseDecoder

__all__ = ["SseOrArrayDecoder"]

BLANK = b" \t\r\n"
BOM = b"\xef\xbb\xbf"


class SseOrArrayDecoder:
    """Decodes server-sent events or one JSON array: the first byte that is not blank decides."""

    def __init__(self) -> None:
        self.head = b""  # at most a byte-order mark, or the beginning of one
        self.limit = DEFAULT_LIMIT
        self.inner: SseDecoder | ArrayDecoder | None = None
        self.alone = False  # whether the stream is one answer without an array around it
        self.whole = False  # set by ``close``: whether the stream ended properly

    def feed(self, chunk: bytes) -> list[Any]:
        if self.inner is not None:
            return self.inner.feed(chunk)
        data = (self.head + chunk).lstrip(BLANK)
        mark = BOM if data.startswith(BOM) else b""
        start = data.removeprefix(BOM).lstrip(BLANK)
        if not start or (not mark and BOM.startswith(start)):
            self.head = mark or start
            return []
        if start[:1] not in (b"[", b"{"):
            self.inner = SseDecoder(self.limit)
            return self.inner.feed(mark + start)
        self.inner = ArrayDecoder(self.limit)
        if start.startswith(b"{"):  # one answer, although a stream was requested
            self.alone = True
            self.inner.feed(b"[")
        return self.inner.feed(start)

    def close(self) -> list[Any]:
        frames = self.inner.close() if self.inner is not None else []
        if isinstance(self.inner, ArrayDecoder):
            self.whole = self.alone or self.inner.finished
        elif self.inner is not None:
            self.whole = bool(frames) or not self.inner.holds_data
        return frames
