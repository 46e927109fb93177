"""Server-sent events: the standard's rules, our two departures from it, and the recorded streams."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from interlingua.codec.framing import SseDecoder, SseEvent, encode_sse
from shared_data import corpus, needs_shared

WHOLE = b'{"a":{"b":"}"}}'

# fmt: off
LAST_EVENTS = [
    # the end of a stream, without its blank line      events on close
    (b"data: " + WHOLE + b"\n",                        [("", WHOLE)]),
    (b"data: " + WHOLE,                                [("", WHOLE)]),
    (b"event: e\r\ndata: " + WHOLE + b" \r\n",         [("e", WHOLE + b" ")]),
    (b"data: [DONE]",                                  [("", b"[DONE]")]),
    (b"data: [DONE]\n",                                [("", b"[DONE]")]),
    (b"data: [DON",                                    []),
    (b"data: " + WHOLE[:-1],                           []),
    (b"data: " + WHOLE[:-1] + b"\n",                   []),
    (b"data: {\ndata: }",                              [("", b"{\n}")]),
    (b"data: word\n",                                  [("", b"word")]),
    (b"data: word",                                    []),
    (b"event: e\n",                                    []),
    (b": comment",                                     []),
    (b"\xef\xbb",                                      []),
]
# fmt: on


def decode(*chunks: bytes, limit: int = 1000) -> list[SseEvent]:
    decoder = SseDecoder(limit)
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()


def by_the_standard(text: bytes) -> list[SseEvent]:
    """The WHATWG algorithm, line by line, except for events with empty data."""
    events: list[SseEvent] = []
    name, data = b"", b""
    for line in re.split(rb"\r\n|\r|\n", text.removeprefix(b"\xef\xbb\xbf"))[:-1]:
        field, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if field == b"data":
            data += value + b"\n"
        elif field == b"event":
            name = value
        elif not line:
            if data not in (b"", b"\n"):
                events.append((name.decode("utf-8", "replace"), data[:-1]))
            name, data = b"", b""
    return events


@pytest.mark.parametrize(("end", "events"), LAST_EVENTS)
def test_close_delivers_a_last_event_whose_data_is_whole(end: bytes, events: list[SseEvent]) -> None:
    for before, expected in ((b"", []), (b"data: before\n\n", [("", b"before")])):
        decoder = SseDecoder()
        assert decoder.feed(before + end) == expected
        assert decoder.close() == events


PIECES = [b"data", b"event", b"id", b":", b": ", b" ", b"x", b"\n", b"\r", b"\r\n", b"\n\n", b"\xef\xbb\xbf"]


@given(st.lists(st.sampled_from(PIECES)))
def test_the_standard_is_followed(pieces: list[bytes]) -> None:
    stream = b"".join(pieces) + b"\n\n"
    assert SseDecoder().feed(stream) == by_the_standard(stream)


@pytest.mark.parametrize("blank", [b"\n", b"\r", b"\r\n"])
def test_blank_lines_before_an_event_do_not_count(blank: bytes) -> None:
    event = b"data: x" + blank * 2
    for before in (b"", event):
        assert decode(before, blank, b"data:", b" x", blank * 2, limit=7)[-1:] == [("", b"x")]
        assert decode(before + blank + event, limit=7)[-1:] == [("", b"x")]


# fmt: off
ENCODED = [
    # data          event   wire
    (b"{}",         None,   b"data: {}\n\n"),
    (b"{}",         "",     b"data: {}\n\n"),
    (b"{}",         "ping", b"event: ping\ndata: {}\n\n"),
    (b"a\nb\r\nc",  None,   b"data: a\ndata: b\ndata: c\n\n"),
    (b"a\rb",       "e",    b"event: e\ndata: a\ndata: b\n\n"),
]
# fmt: on


@pytest.mark.parametrize(("data", "event", "wire"), ENCODED)
def test_encode(data: bytes, event: str | None, wire: bytes) -> None:
    assert encode_sse(data, event) == wire
    assert decode(wire) == [(event or "", data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))]


@pytest.mark.parametrize("name", ["a\nb", "a\rdata: forged"])
def test_an_event_name_cannot_smuggle_a_line(name: str) -> None:
    with pytest.raises(ValueError, match="one line"):
        encode_sse(b"{}", name)


@given(st.lists(st.tuples(st.text("ab é:"), st.binary(min_size=1).filter(lambda data: b"\r" not in data)), max_size=5))
def test_what_is_encoded_is_decoded(events: list[SseEvent]) -> None:
    assert decode(*[encode_sse(data, name) for name, data in events]) == events


def recorded_sse(dialect: str) -> Iterator[dict[str, Any]]:
    for record in corpus(dialect):
        text = record.get("response_text", "").lstrip()
        if text.startswith(("data:", "event:", ":")) and "framing" not in record:
            yield record


RECORDED = """
    anthropic-messages cohere gemini gemini-interactions mistral openai-chat openai-completions openai-responses writer
""".split()


@needs_shared
@pytest.mark.parametrize("dialect", RECORDED)
def test_recorded_streams_read_the_same_however_cut(dialect: str) -> None:
    chance = Random(dialect)
    for record in islice(recorded_sse(dialect), 60):
        stream = record["response_text"].encode()
        events = decode(stream, limit=len(stream))
        assert events == by_the_standard(stream + b"\n\n"), record["id"]
        cuts = sorted(chance.choices(range(len(stream) + 1), k=chance.randint(1, 200)))
        pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        assert decode(*pieces, limit=len(stream)) == events, record["id"]
        if len(stream) < 5_000:
            assert decode(*[bytes([byte]) for byte in stream], limit=len(stream)) == events, record["id"]
