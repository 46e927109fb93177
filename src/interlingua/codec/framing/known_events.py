"""A fast path for AWS event streams of a protocol with a fixed list of events, whose header bytes are known beforehand.

Nearly all chunks are one frame, and most frames are of one event. ``KnownEvents.frequent`` and ``KnownEvents.event``
read only such chunks, with both checksums; ``feed`` reads all others.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from zlib import crc32

from .eventstream import EventStreamDecoder, HeaderValue, encode_frame

__all__ = ["EventNames", "KnownEvents", "encode_event"]

_PRELUDE, _CHECKSUM = Struct(">III"), Struct(">I")
_LEAST = _PRELUDE.size + _CHECKSUM.size
_read_prelude, _read_checksum = _PRELUDE.unpack_from, _CHECKSUM.unpack_from


def _headers(name: str) -> dict[str, HeaderValue]:
    return {":event-type": name, ":content-type": "application/json", ":message-type": "event"}


def encode_event(name: str, payload: bytes) -> bytes:
    """One frame of an event with a JSON payload."""
    return encode_frame(_headers(name), payload)


class EventNames:
    """The header bytes of a protocol's events, and those of its most frequent event."""

    def __init__(self, names: Iterable[str], frequent: str) -> None:
        self.blocks = {encode_event(name, b"")[_PRELUDE.size : -_CHECKSUM.size]: name for name in names}
        self.headers = {block: _headers(name) for block, name in self.blocks.items()}
        self.frequent = encode_event(frequent, b"")[_PRELUDE.size : -_CHECKSUM.size]


class KnownEvents(EventStreamDecoder):
    """An event stream decoder that reads a chunk with one known event faster."""

    __slots__ = ("_blocks", "_frequent", "_size")

    def __init__(self, names: EventNames) -> None:
        super().__init__()
        self._headers = names.headers.copy()
        self._blocks, self._frequent, self._size = names.blocks, names.frequent, len(names.frequent)

    def frequent(self, chunk: bytes) -> bytes | None:
        """The payload of a chunk that is one frame of the most frequent event; None for any other."""
        size = len(chunk)
        if size < _LEAST or self._open or self._fault is not None:
            return None
        total, headers_length, checksum = _read_prelude(chunk)
        if total != size or headers_length != self._size or crc32(chunk[:8]) != checksum:
            return None
        end = size - 4
        if not chunk.startswith(self._frequent, 12) or crc32(chunk[:end]) != _read_checksum(chunk, end)[0]:
            return None
        return chunk[12 + self._size : end]

    def event(self, chunk: bytes) -> tuple[str, bytes] | None:
        """The name and payload of a chunk that is one frame of a known event; None for any other."""
        size = len(chunk)
        if size < _LEAST or self._open or self._fault is not None:
            return None
        total, headers_length, checksum = _read_prelude(chunk)
        if total != size or crc32(chunk[:8]) != checksum:
            return None
        start, end = 12 + headers_length, size - 4
        name = self._blocks.get(chunk[12:start])
        if name is None or crc32(chunk[:end]) != _read_checksum(chunk, end)[0]:
            return None
        return name, chunk[start:end]
