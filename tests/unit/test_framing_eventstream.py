"""AWS event stream: against botocore's reader, the published vectors' shapes and the recorded bytes."""

from __future__ import annotations

import json
from base64 import b64decode
from functools import partial
from struct import pack
from typing import Any
from uuid import UUID
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given, strategies as st

from interlingua.codec.framing import Byte, EventStreamDecoder, Frame, HeaderValue, Long, Short, Timestamp, encode_frame
from interlingua.errors import ParseError
from shared_data import corpus, needs_shared


def signed(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


NAMES = st.text(min_size=1, max_size=12).filter(lambda name: len(name.encode()) < 256)
VALUES: st.SearchStrategy[HeaderValue] = st.one_of(
    st.booleans(),
    signed(8).map(Byte),
    signed(16).map(Short),
    signed(32),
    signed(64).map(Long),
    signed(64).map(Timestamp),
    st.binary(max_size=20),
    st.text(max_size=20),
    st.uuids(),
)
HEADERS = st.dictionaries(NAMES, VALUES, max_size=4)

# fmt: off
ENCODED_VALUES = [
    # value                 type byte and value
    (True,                  "00"),
    (False,                 "01"),
    (Byte(-1),              "02ff"),
    (Short(-2),             "03fffe"),
    (40972,                 "040000a00c"),
    (2**31,                 "050000000080000000"),
    (Long(1),               "050000000000000001"),
    (b"\x00\x01",           "0600020001"),
    ("\u00e9",              "070002c3a9"),
    (Timestamp(8675309),    "080000000000845fed"),
    (UUID(int=1),           "0900000000000000000000000000000001"),
]
# fmt: on


def frame_of(block: bytes, payload: bytes = b"") -> bytes:
    """A frame with correct checksums around any header block."""
    lengths = pack(">II", 16 + len(block) + len(payload), len(block))
    body = lengths + pack(">I", crc32(lengths)) + block + payload
    return body + pack(">I", crc32(body))


def decode(stream: bytes) -> list[Frame]:
    return EventStreamDecoder().feed(stream)


def as_botocore_says(value: HeaderValue) -> Any:
    return value.bytes if isinstance(value, UUID) else value


def test_the_shortest_frame() -> None:
    assert encode_frame({}, b"").hex() == "000000100000000005c248eb7d98c8ff"
    assert decode(encode_frame({}, b"")) == [Frame({}, b"")]


@pytest.mark.parametrize(("value", "wire"), ENCODED_VALUES)
def test_header_values(value: HeaderValue, wire: str) -> None:
    stream = encode_frame({"n": value}, b"{}")
    assert stream == frame_of(b"\x01n" + bytes.fromhex(wire), b"{}")
    [frame] = decode(stream)
    assert frame == Frame({"n": value}, b"{}")
    assert type(frame.headers["n"]) is type(value) or value == 2**31
    assert encode_frame(frame.headers, frame.payload) == stream


@given(st.lists(st.tuples(HEADERS, st.binary(max_size=30)), max_size=4))
def test_botocore_reads_what_we_write(messages: list[tuple[dict[str, HeaderValue], bytes]]) -> None:
    stream = b"".join(encode_frame(headers, payload) for headers, payload in messages)
    theirs: Any = EventStreamBuffer()
    theirs.add_data(stream)
    read = [(message.headers, message.payload) for message in theirs]
    assert read == [({n: as_botocore_says(v) for n, v in headers.items()}, payload) for headers, payload in messages]
    assert [(frame.headers, frame.payload) for frame in decode(stream)] == messages


GOOD = encode_frame({":event-type": "x"}, b"{}")


def flipped(stream: bytes, index: int) -> bytes:
    return stream[:index] + bytes([stream[index] ^ 1]) + stream[index + 1 :]


@pytest.mark.parametrize("index", range(len(GOOD)))
def test_a_flipped_bit_anywhere_is_a_fault(index: int) -> None:
    with pytest.raises(ParseError, match=r"checksum of an event-stream (prelude|frame) does not match"):
        decode(flipped(GOOD, index))


# fmt: off
FAULTS = [
    # stream                                       message
    (frame_of(b"\x01n\x0a"),                       "header 'n' has the unknown type 10"),
    (frame_of(b"\x01n\x00\x01n\x00"),              "header 'n' appears twice"),
    (frame_of(b"\x01n\x04\x00"),                   "header is cut short"),
    (frame_of(b"\x01n\x07\x00\x05ab"),             "header is cut short"),
    (frame_of(b"\x01n"),                           "header is cut short"),
    (frame_of(b"\x01n\x07\x00\x01\xff"),           "header is not UTF-8"),
    (pack(">III", 15, 0, crc32(pack(">II", 15, 0))), "frame of 15 bytes cannot hold 0 bytes of headers"),
    (pack(">III", 20, 9, crc32(pack(">II", 20, 9))), "frame of 20 bytes cannot hold 9 bytes of headers"),
]
# fmt: on


@pytest.mark.parametrize(("stream", "message"), FAULTS)
def test_faults_behind_a_good_frame(stream: bytes, message: str) -> None:
    decoder = EventStreamDecoder()
    assert decoder.feed(GOOD + stream) == [Frame({":event-type": "x"}, b"{}")]
    for late in (decoder.close, partial(decoder.feed, GOOD)):
        with pytest.raises(ParseError, match=message):
            late()


def test_the_limit_is_known_from_the_prelude() -> None:
    assert EventStreamDecoder(limit=len(GOOD)).feed(GOOD) == decode(GOOD)
    decoder = EventStreamDecoder(limit=len(GOOD) - 1)
    assert decoder.feed(GOOD[:11]) == []
    message = f"an event-stream frame of {len(GOOD)} bytes is longer than the limit of {len(GOOD) - 1} bytes"
    with pytest.raises(ParseError, match=message):
        decoder.feed(GOOD[11:12])


VALUES_TOO_LARGE: list[HeaderValue] = ["x" * 65_536, b"x" * 65_536, Byte(128), Short(2**15), 2**63]
TOO_LARGE = [("n" * 256, True), *(("n", value) for value in VALUES_TOO_LARGE)]


@pytest.mark.parametrize(("name", "value"), TOO_LARGE)
def test_a_header_too_large_for_the_wire_is_refused(name: str, value: HeaderValue) -> None:
    with pytest.raises(ValueError, match="too large for the wire"):
        encode_frame({name: value}, b"")


@needs_shared
def test_recorded_streams() -> None:
    streams = 0
    for record in corpus("bedrock-converse-stream"):
        if (blob := record.get("response_b64")) is None:
            continue
        stream = b64decode(blob)
        theirs: Any = EventStreamBuffer()
        theirs.add_data(stream)
        for size in (len(stream), 1, 100):
            decoder = EventStreamDecoder()
            frames = [f for start in range(0, len(stream), size) for f in decoder.feed(stream[start : start + size])]
            assert decoder.close() == []
            assert frames == decode(stream)
            assert b"".join(encode_frame(f.headers, f.payload) for f in frames) == stream, record["id"]
        assert [(f.headers, f.payload) for f in decode(stream)] == [(m.headers, m.payload) for m in theirs]
        for frame, event in zip(decode(stream), record["response_events"], strict=True):
            assert (frame.headers, json.loads(frame.payload)) == (event["headers"], event["payload"]), record["id"]
        streams += 1
    assert streams
