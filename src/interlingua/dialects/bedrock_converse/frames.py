"""The frames of ``converse-stream``: the general framing, knowing beforehand the headers of this protocol's events.

Nearly all chunks are one frame, most of them of one delta. ``delta`` and ``event`` read just that, with both checksums,
and leave everything else to the general way.
"""

from __future__ import annotations

from struct import Struct
from zlib import crc32

from ...codec.framing import EventStreamDecoder, HeaderValue, encode_frame
from ...codec.stream import dump

_PRELUDE, _CHECKSUM = Struct(">III"), Struct(">I")
EVENT_NAMES = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")


def event_headers(name: str) -> dict[str, HeaderValue]:
    return {":event-type": name, ":content-type": "application/json", ":message-type": "event"}


def encode_event(name: str, wire: object) -> bytes:
    return encode_frame(event_headers(name), dump(wire))


BLOCKS = {encode_event(name, {})[12:-6]: name for name in EVENT_NAMES}
KNOWN = {block: event_headers(name) for block, name in BLOCKS.items()}
_DELTA = next(block for block, name in BLOCKS.items() if name == "contentBlockDelta")
_DELTA_SIZE = len(_DELTA)
_START = _PRELUDE.size + _DELTA_SIZE
_LEAST = _PRELUDE.size + _CHECKSUM.size
_read_prelude, _read_checksum = _PRELUDE.unpack_from, _CHECKSUM.unpack_from


class EventFrames(EventStreamDecoder):
    """Bytes to frames."""

    def __init__(self) -> None:
        super().__init__()
        self._headers = KNOWN.copy()

    def delta(self, chunk: bytes) -> bytes | None:
        """The payload of a chunk that is one frame of one delta; None for any other."""
        size = len(chunk)
        if size < _LEAST or self._open or self._fault is not None:
            return None
        total, headers_length, checksum = _read_prelude(chunk)
        if total != size or headers_length != _DELTA_SIZE or crc32(chunk[:8]) != checksum:
            return None
        end = size - 4
        if not chunk.startswith(_DELTA, 12) or crc32(chunk[:end]) != _read_checksum(chunk, end)[0]:
            return None
        return chunk[_START:end]

    def event(self, chunk: bytes) -> tuple[str, bytes] | None:
        """Name and payload of a chunk that is one frame of an event we know; None for any other."""
        size = len(chunk)
        if size < _LEAST or self._open or self._fault is not None:
            return None
        total, headers_length, checksum = _read_prelude(chunk)
        if total != size or crc32(chunk[:8]) != checksum:
            return None
        start, end = 12 + headers_length, size - 4
        name = BLOCKS.get(chunk[12:start])
        if name is None or crc32(chunk[:end]) != _read_checksum(chunk, end)[0]:
            return None
        return name, chunk[start:end]
