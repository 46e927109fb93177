"""Newline-delimited JSON."""

from __future__ import annotations

from contextlib import suppress

import pytest

from interlingua.codec.framing import NdjsonDecoder, encode_ndjson
from interlingua.errors import ParseError
from shared_data import corpus, needs_shared

# fmt: off
TABLE = [
    # stream                    lines                 on close
    (b'{"a":1}\n{"b":2}\n',     [b'{"a":1}', b'{"b":2}'], []),
    (b'{"a":1}\r\n{"b":2}\r\n', [b'{"a":1}', b'{"b":2}'], []),
    (b'\n\r\n  \n{}\n\n',       [b"{}"],              []),
    (b' {} \n',                 [b"{}"],              []),
    (b'{}\n{"a":"}"}',          [b"{}"],              [b'{"a":"}"}']),
    (b'{}\n{"a":"}" \r',        [b"{}"],              []),
    (b'{}\r',                   [],                   [b"{}"]),
    (b'Not Found',              [],                   [b"Not Found"]),
    (b'{}\n  ',                 [b"{}"],              []),
    (b'',                       [],                   []),
]
# fmt: on


@pytest.mark.parametrize(("stream", "lines", "last"), TABLE)
def test_lines(stream: bytes, lines: list[bytes], last: list[bytes]) -> None:
    for chunks in ([stream], [bytes([byte]) for byte in stream]):
        decoder = NdjsonDecoder()
        assert [line for chunk in chunks for line in decoder.feed(chunk)] == lines
        assert decoder.close() == last


@pytest.mark.parametrize("size", [1, 3, 10, 100])
def test_the_limit_is_on_one_line(size: int) -> None:
    stream = b"123456789\r\n" * 3 + b"1234567890x"
    decoder = NdjsonDecoder(limit=10)
    lines: list[bytes] = []
    with suppress(ParseError):
        for start in range(0, len(stream), size):
            lines += decoder.feed(stream[start : start + size])
    with pytest.raises(ParseError, match="an NDJSON line is longer than the limit of 10 bytes"):
        decoder.close()
    assert lines == [b"123456789"] * 3


def test_encode() -> None:
    assert encode_ndjson(b'{"a":1}') == b'{"a":1}\n'
    with pytest.raises(ValueError, match="line feed"):
        encode_ndjson(b"{\n}")


@needs_shared
def test_recorded_streams_are_one_line_per_value() -> None:
    texts = [record["response_text"] for record in corpus("ollama") if record.get("response_text", "").startswith("{")]
    assert texts
    for text in texts:
        decoder = NdjsonDecoder()
        assert decoder.feed(text.encode()) + decoder.close() == [line.encode() for line in text.splitlines() if line]
