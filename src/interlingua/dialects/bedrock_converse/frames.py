"""The frames of ``converse-stream``: the general framing, and a short way through it for what nearly always comes.

Servers write one frame at a time, and its headers are one of six blocks. A chunk that is just such a frame is read
here, with both checksums; everything else goes the general way.
"""

from __future__ import annotations

from struct import Struct
from zlib import crc32

from ...framing import EventStreamDecoder, Frame, HeaderValue, encode_frame
from .._stream import dump

_PRELUDE, _CHECKSUM = Struct(">III"), Struct(">I")
_OVERHEAD = _PRELUDE.size + _CHECKSUM.size

EVENT_NAMES = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")


def event_headers(name: str) -> dict[str, HeaderValue]:
    return {":event-type": name, ":content-type": "application/json", ":message-type": "event"}


def encode_event(name: str, wire: object) -> bytes:
    return encode_frame(event_headers(name), dump(wire))


KNOWN: dict[bytes, dict[str, HeaderValue]] = {
    encode_frame(event_headers(name), b"")[_PRELUDE.size : -_CHECKSUM.size]: event_headers(name) for name in EVENT_NAMES
}


class EventFrames(EventStreamDecoder):
    """Bytes to frames. The headers of the six events are shared between frames: they are read, never written."""

    def feed(self, chunk: bytes) -> list[Frame]:
        size = len(chunk)
        if size >= _OVERHEAD and not self._open and self._fault is None:
            total, headers_length, checksum = _PRELUDE.unpack_from(chunk)
            if total == size and crc32(chunk[:8]) == checksum:
                start, end = headers_length + _PRELUDE.size, size - _CHECKSUM.size
                headers = KNOWN.get(chunk[_PRELUDE.size : start])
                if headers is not None and crc32(chunk[:end]) == _CHECKSUM.unpack_from(chunk, end)[0]:
                    return [Frame(headers, chunk[start:end])]
        return super().feed(chunk)
