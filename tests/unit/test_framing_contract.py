"""What all four decoders promise: any split gives the same frames and the same fault, at a cost that is linear."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from types import ModuleType
from typing import Any, SupportsIndex

import pytest
from hypothesis import given, strategies as st

import interlingua.codec.framing as framing
from interlingua.codec.framing import (
    DEFAULT_LIMIT,
    ArrayDecoder,
    EventStreamDecoder,
    FrameDecoder,
    NdjsonDecoder,
    SseDecoder,
    array,
    brackets,
    encode_frame,
    eventstream,
    ndjson,
    sse,
)
from interlingua.errors import ParseError

DECODERS: list[type[FrameDecoder[Any]]] = [ArrayDecoder, EventStreamDecoder, NdjsonDecoder, SseDecoder]


def joined(*pieces: bytes) -> st.SearchStrategy[bytes]:
    return st.lists(st.sampled_from(pieces), max_size=40).map(b"".join)


# Alphabets, not grammars: most of the streams are nearly right, and these find most mistakes of decoders.
FRAME = encode_frame({":event-type": "delta", "n": 1}, b"{}")
STREAMS = {
    SseDecoder: joined(
        *(b"data: ", b"data:", b"data", b"event: ", b"event:", b":", b"id: 1", b"x", b"{", b"}", b'"', b"[DONE]"),
        *(b"\n", b"\n", b"\r", b"\r\n", b"\n\n", b"\r\n\r\n", b"data: {}\n\n", b"\xef", b"\xbb", b"\xef\xbb\xbf"),
    ),
    NdjsonDecoder: joined(b"{", b"}", b'{"a":1}', b"x", b" ", b"\n", b"\r\n", b"\r", b'"'),
    ArrayDecoder: joined(b"[", b"]", b"{", b"}", b'"', b"\\", b",", b" ", b"\n", b"x", b"{}").map(b"[".__add__),
    EventStreamDecoder: joined(FRAME, FRAME, encode_frame({}, b"payload"), FRAME[:20], FRAME[:-1] + b"?"),
}
LIMITS = st.integers(1, 60) | st.just(DEFAULT_LIMIT)
CUTS = st.lists(st.integers(0, 400), max_size=8)


def read(decoder: FrameDecoder[Any], chunks: Iterable[bytes]) -> tuple[list[Any], str | None]:
    frames: list[Any] = []
    try:
        for chunk in chunks:
            frames += decoder.feed(chunk)
        frames += decoder.close()
    except ParseError as fault:
        return frames, str(fault)
    return frames, None


def cut(stream: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(stream), *(position % (len(stream) + 1) for position in cuts)})
    return [stream[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("decoder", DECODERS)
def test_any_split_gives_the_same_frames_and_the_same_fault(decoder: type[FrameDecoder[Any]]) -> None:
    @given(STREAMS[decoder], LIMITS, CUTS)
    def any_split(stream: bytes, limit: int, cuts: list[int]) -> None:
        whole = read(decoder(limit), [stream])
        assert read(decoder(limit), [stream[index : index + 1] for index in range(len(stream))]) == whole
        assert read(decoder(limit), cut(stream, cuts)) == whole
        assert read(decoder(limit), [b"", *(piece for part in cut(stream, cuts) for piece in (part, b""))]) == whole

    any_split()


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_limit_below_one_byte_is_refused(decoder: type[FrameDecoder[Any]]) -> None:
    with pytest.raises(ValueError, match="at least 1 byte, not 0"):
        decoder(0)


@pytest.mark.parametrize("decoder", DECODERS)
def test_nothing_in_gives_nothing_out(decoder: type[FrameDecoder[Any]]) -> None:
    assert read(decoder(), []) == ([], None)
    assert read(decoder(), [b"", b""]) == ([], None)


# fmt: off
LIMITED = [
    # decoder, limit       whole frames, then one that is a byte too long            frames  what is said
    (SseDecoder, 20,         (b"data: " + b"x" * 14 + b"\n\n") * 3 + b"data: " + b"x" * 15 + b"\n\n", 3, "SSE event"),
    (SseDecoder, 20,         (b"data: " + b"x" * 14 + b"\r\r") * 3 + b"data: " + b"x" * 15 + b"\r\r", 3, "SSE event"),
    (SseDecoder, 20,         b"x" * 21,                                               0, "SSE event"),
    (NdjsonDecoder, 10,      b"123456789\r\n" * 3 + b"1234567890x",                   3, "NDJSON line"),
    (ArrayDecoder, 10,       b'[{"a":"xx"},{"a":"yy"},   ,{"a":"xxx"}]',              2, "element of the JSON array"),
    (EventStreamDecoder, len(FRAME), FRAME * 2 + encode_frame({":event-type": "delta", "n": 1}, b"{ }"), 2, "frame"),
]
# fmt: on


@pytest.mark.parametrize(("decoder", "limit", "stream", "count", "what"), LIMITED)
@pytest.mark.parametrize("size", [1, 3, 7, 20, 1000])
def test_the_limit_is_on_one_frame(
    decoder: type[FrameDecoder[Any]], limit: int, stream: bytes, count: int, what: str, size: int
) -> None:
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    frames, fault = read(decoder(limit), chunks)
    assert len(frames) == count
    assert fault is not None
    assert what in fault
    assert f"longer than the limit of {limit} bytes" in fault


def test_a_fault_repeats_on_every_later_call() -> None:
    decoder = NdjsonDecoder(limit=3)
    assert decoder.feed(b"{}\n{...") == [b"{}"]
    for late in (partial(decoder.feed, b"{}\n"), partial(decoder.feed, b""), decoder.close):
        with pytest.raises(ParseError, match="limit of 3 bytes"):
            late()


class Work:
    """Counts the bytes that buffers copy and search, and that patterns match."""

    def __init__(self) -> None:
        self.bytes = 0

    def buffer(self) -> type[bytearray]:
        work = self

        class CountedBuffer(bytearray):
            def __iadd__(self, other: Any) -> CountedBuffer:  # type: ignore[misc]
                work.bytes += len(other)
                return super().__iadd__(other)

            def __bytes__(self) -> bytes:
                work.bytes += len(self)
                return bytes(memoryview(self))

            def __getitem__(self, key: SupportsIndex | slice) -> Any:
                found = super().__getitem__(key)
                work.bytes += len(found) if isinstance(found, bytearray) else 1
                return found

            def find(self, sub: Any, start: Any = 0, end: Any = None) -> int:
                work.bytes += len(self) - start
                return super().find(sub, start)

        return CountedBuffer

    def pattern(self, pattern: re.Pattern[bytes]) -> Any:
        work = self

        class CountedPattern:
            def match(self, text: bytes, pos: int = 0) -> re.Match[bytes] | None:
                found = pattern.match(text, pos)
                work.bytes += (found.end() if found else len(text)) - pos
                return found

        return CountedPattern()


LONG = 30_000


# fmt: off
LONG_FRAMES = [
    # the buffer is in, decoder           stream
    (sse,         SseDecoder,         b"data: " + b"x" * LONG + b"\n\n"),
    (sse,         SseDecoder,         b"data: x\n" * (LONG // 8) + b"\n"),
    (sse,         SseDecoder,         b"data: x\r" * (LONG // 8) + b"\r"),
    (ndjson,      NdjsonDecoder,      b"x" * LONG + b"\n"),
    (array,       ArrayDecoder,       b'[{"a":"' + b"\\\\" * (LONG // 2) + b'"}]'),
    (array,       ArrayDecoder,       b'[{"a":' + b"[" * (LONG // 2) + b"]" * (LONG // 2) + b"}]"),
    (array,       ArrayDecoder,       b"[{" + b'"a":"b",' * (LONG // 8) + b"}]"),
    (eventstream, EventStreamDecoder, encode_frame({}, b"x" * LONG)),
]
# fmt: on


@pytest.mark.parametrize(("module", "make", "stream"), LONG_FRAMES)
@pytest.mark.parametrize("size", [1, 7, 1000, 10**6])
def test_a_long_frame_in_small_chunks_costs_its_length(
    module: ModuleType, make: Callable[[], FrameDecoder[Any]], stream: bytes, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work()
    whole = brackets._whole_value()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(module, "bytearray", work.buffer(), raising=False)
    monkeypatch.setattr(brackets, "_whole_value", lambda: work.pattern(whole))
    for name in ("_STRING_END", "_BRACKET_OR_OPEN_STRING"):
        monkeypatch.setattr(brackets, name, work.pattern(getattr(brackets, name)))
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    frames, fault = read(make(), chunks)
    assert (len(frames), fault) == (1, None)
    assert work.bytes <= 6 * len(stream)


def test_the_public_names_are_sorted_and_there() -> None:
    assert framing.__all__ == sorted(framing.__all__)
    assert all(hasattr(framing, name) for name in framing.__all__)
