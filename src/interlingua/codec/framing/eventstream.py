"""AWS event stream (``application/vnd.amazon.eventstream``): binary frames of headers and a payload, with checksums.

A frame is: total length, headers length, CRC32 of these eight bytes; headers; payload; CRC32 of all before it.
Integers are big-endian. https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import TypeAlias
from uuid import UUID
from zlib import crc32

from msgspec import Struct

from ...errors import ParseError
from .decoder import DEFAULT_LIMIT, FrameDecoder


class Byte(int):
    """An 8-bit header value. A plain ``int`` is written in 32 bits, or in 64 where it needs them."""


class Short(int):
    """A 16-bit header value."""


class Long(int):
    """A 64-bit header value."""


class Timestamp(int):
    """A header value in milliseconds since the start of 1970, UTC."""


HeaderValue: TypeAlias = bool | int | bytes | str | UUID


class Frame(Struct, frozen=True):
    """One message. Headers that were read are written as the same bytes."""

    headers: dict[str, HeaderValue]
    payload: bytes


_PRELUDE = struct.Struct(">III")
_CHECKSUM = struct.Struct(">I")
_OVERHEAD = _PRELUDE.size + _CHECKSUM.size
_HEADER_BLOCKS_KEPT = 64


class EventStreamDecoder(FrameDecoder[Frame]):
    """Bytes to frames, both checksums verified. The limit counts a whole frame."""

    __slots__ = ("_headers", "_needed", "_open")

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        super().__init__(limit)
        self._open = bytearray()
        self._needed = 0  # how many bytes of the open frame are needed to read on
        self._headers: dict[bytes, dict[str, HeaderValue]] = {}  # a stream repeats a few header blocks

    def _read(self, chunk: bytes, frames: list[Frame]) -> None:
        if self._open:
            self._open += chunk
            if len(self._open) < self._needed:
                return
            chunk = bytes(self._open)
            self._open.clear()
        start, self._needed = 0, _PRELUDE.size
        while len(chunk) - start >= _PRELUDE.size:
            total, headers_length, checksum = _PRELUDE.unpack_from(chunk, start)
            if crc32(chunk[start : start + 8]) != checksum or not headers_length + _OVERHEAD <= total <= self.limit:
                raise self._bad_prelude(chunk[start:])
            end = start + total
            if end > len(chunk):
                self._needed = total
                break
            frames.append(self._read_frame(chunk, start, headers_length, end - _CHECKSUM.size))
            start = end
        if start < len(chunk):
            self._open += chunk[start:]

    def _bad_prelude(self, frame: bytes) -> ParseError:
        total, headers_length, checksum = _PRELUDE.unpack_from(frame)
        if crc32(frame[:8]) != checksum:
            return ParseError("the checksum of an event-stream prelude does not match")
        if total > self.limit:
            return self._too_long(f"an event-stream frame of {total} bytes")
        return ParseError(f"an event-stream frame of {total} bytes cannot hold {headers_length} bytes of headers")

    def _read_frame(self, chunk: bytes, start: int, headers_length: int, end: int) -> Frame:
        """The frame that begins at ``start`` and whose last checksum is at ``end``."""
        if crc32(chunk[start:end]) != _CHECKSUM.unpack_from(chunk, end)[0]:
            raise ParseError("the checksum of an event-stream frame does not match")
        headers_start = start + _PRELUDE.size
        payload_start = headers_start + headers_length
        block = chunk[headers_start:payload_start]
        headers = self._headers.get(block) or self._read_headers(block)
        return Frame(headers.copy(), chunk[payload_start:end])

    def _read_headers(self, block: bytes) -> dict[str, HeaderValue]:
        headers = _decode_headers(block)
        if len(self._headers) < _HEADER_BLOCKS_KEPT:
            self._headers[block] = headers
        return headers


def _signed(raw: bytes) -> int:
    return int.from_bytes(raw, "big", signed=True)


# type byte: width (None: a 16-bit length comes first), value
_HEADER_TYPES: dict[int, tuple[int | None, Callable[[bytes], HeaderValue]]] = {
    0: (0, lambda _: True),
    1: (0, lambda _: False),
    2: (1, lambda raw: Byte(_signed(raw))),
    3: (2, lambda raw: Short(_signed(raw))),
    4: (4, _signed),
    5: (8, lambda raw: Long(_signed(raw))),
    6: (None, bytes),
    7: (None, bytes.decode),
    8: (8, lambda raw: Timestamp(_signed(raw))),
    9: (16, lambda raw: UUID(bytes=raw)),
}


class _HeaderBlock:
    """A cursor over a header block; reading past the end raises ``ParseError``."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._pos = 0

    def __bool__(self) -> bool:
        return self._pos < len(self._block)

    def take(self, size: int) -> bytes:
        start, self._pos = self._pos, self._pos + size
        if self._pos > len(self._block):
            raise ParseError("an event-stream header is cut short")
        return self._block[start : self._pos]

    def take_length(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")


def _decode_headers(block: bytes) -> dict[str, HeaderValue]:
    headers: dict[str, HeaderValue] = {}
    rest = _HeaderBlock(block)
    try:
        while rest:
            name = rest.take(rest.take_length(1)).decode()
            if name in headers:
                raise ParseError(f"the event-stream header {name!r} appears twice")
            headers[name] = _decode_value(name, rest)
    except UnicodeDecodeError as error:
        raise ParseError(f"an event-stream header is not UTF-8: {error}") from None
    return headers


def _decode_value(name: str, rest: _HeaderBlock) -> HeaderValue:
    tag = rest.take_length(1)
    if tag not in _HEADER_TYPES:
        raise ParseError(f"the event-stream header {name!r} has the unknown type {tag}")
    width, read = _HEADER_TYPES[tag]
    return read(rest.take(rest.take_length(2) if width is None else width))


def encode_frame(headers: Mapping[str, HeaderValue], payload: bytes) -> bytes:
    """One frame. Raises ``ValueError`` for a header that its type or its length field cannot hold."""
    block = b"".join([_encode_header(name, value) for name, value in headers.items()])
    lengths = _PRELUDE.pack(_OVERHEAD + len(block) + len(payload), len(block), 0)[:8]
    body = b"".join((lengths, _CHECKSUM.pack(crc32(lengths)), block, payload))
    return body + _CHECKSUM.pack(crc32(body))


def _encode_header(name: str, value: HeaderValue) -> bytes:
    try:
        return _with_length(name.encode(), 1) + _encode_value(value)
    except OverflowError:
        raise ValueError(f"the event-stream header {name!r} is too large for the wire: {value!r}") from None


def _encode_value(value: HeaderValue) -> bytes:
    match value:
        case bool():
            return b"\x00" if value else b"\x01"
        case int():
            tag, width = _integer_form(value)
            return tag + value.to_bytes(width, "big", signed=True)
        case bytes():
            return b"\x06" + _with_length(value, 2)
        case str():
            return b"\x07" + _with_length(value.encode(), 2)
        case _:
            return b"\x09" + value.bytes


def _integer_form(value: int) -> tuple[bytes, int]:
    """The type byte and the width of an integer: those of its class, or the smallest that hold a plain ``int``."""
    match value:
        case Byte():
            return b"\x02", 1
        case Short():
            return b"\x03", 2
        case Timestamp():
            return b"\x08", 8
        case Long():
            return b"\x05", 8
        case _:
            return (b"\x04", 4) if -(2**31) <= value < 2**31 else (b"\x05", 8)


def _with_length(raw: bytes, width: int) -> bytes:
    return len(raw).to_bytes(width, "big") + raw
