"""One event of a stream is not JSON: damaged in transit, in every dialect, at every place, in several ways.

The result is compared with that of a stream cut at the same place: the partial answer must be the same. The standard
library's parser, not ours, decides that the event is not JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from interlingua import (
    DIALECTS,
    AdapterError,
    ErrorClass,
    Event,
    MessageComplete,
    NetworkError,
    ParseError,
    Response,
    StopReason,
    StreamGrammar,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    TokenUsage,
    ToolUseBlock,
    Unknown,
    dialect,
    fold,
    unfold,
)
from interlingua.codec.framing import EventStreamDecoder, encode_array_element, encode_frame

GARBLED: dict[str, Callable[[bytes], bytes]] = {
    "without its last brace": lambda data: data.strip()[:-1],
    "half of it": lambda data: data[: len(data) // 2],
    "a brace": lambda data: b"{",
    "a byte too many": lambda data: data.replace(b":", b":#", 1),
    "no UTF-8": lambda data: data.replace(b'":', b'\xc3":', 1),
    "a line end inside a string": lambda data: data.replace(b'"', b'"\x00', 1),
    "twice": lambda data: data + data,
    "half of it, and the next one": lambda data: data[: len(data) // 2] + data,
    "blanks before it": lambda data: b"  " + data[:-1],
}
CALL = ToolUseBlock("call_1", "add", input={"a": 1})
WHOLE = Response(
    (ThinkingBlock("Hm."), TextBlock("Hello, world"), CALL),
    "tool_use",
    id="m",
    model="some-model",
    usage=TokenUsage(9, output_tokens=5),
)
TEXT = "Hello, world"
ENVELOPE = ("created", "in_progress", "completed")


# ------------------------------------------------------------------------------------------------------------ streams


def events() -> Iterator[Event]:
    for event in unfold(WHOLE):
        if isinstance(event, TextDelta):
            yield from (TextDelta(event.index, piece) for piece in ("Hel", "lo, ", "world"))
        else:
            yield event


def stream(name: str) -> list[bytes]:
    """The wire, an event in each item."""
    encoder = dialect(name).stream_encoder()
    wire = b"".join([*map(encoder.feed, events()), encoder.close()])
    if name == "bedrock-converse":
        return [encode_frame(frame.headers, frame.payload) for frame in EventStreamDecoder().feed(wire)]
    end = b"\n" if name == "ollama" else b"\n\n"
    return [piece + end for piece in wire.split(end) if piece]


def payload(name: str, event: bytes) -> bytes:
    if name == "bedrock-converse":
        return EventStreamDecoder().feed(event)[0].payload
    return event.strip() if name == "ollama" else event.partition(b"data: ")[2].removesuffix(b"\n\n")


def spoiled(name: str, event: bytes, garble: Callable[[bytes], bytes]) -> bytes:
    """The event with another payload in a whole frame; unchanged if its payload is not an object."""
    data = payload(name, event)
    if not data.startswith(b"{"):
        return event
    garbled = garble(data)
    with pytest.raises(ValueError, match=r"."):
        json.loads(garbled)
    if name == "bedrock-converse":
        return encode_frame(EventStreamDecoder().feed(event)[0].headers, garbled)
    return event.replace(data, garbled)


def decode(name: str, chunks: list[bytes]) -> tuple[list[Event], AdapterError | None]:
    decoder, grammar = dialect(name).stream_decoder(), StreamGrammar()
    found = [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()
    for event in found:
        grammar.check(event)
    assert grammar.state == "done"
    return found, decoder.error


def of_envelope(event: bytes) -> bool:
    """Of Responses alone, which says it again with its last word: see below."""
    return event.startswith(tuple(f"event: response.{word}\n".encode() for word in ENVELOPE))


def known(found: list[Event]) -> list[Event]:
    return [event for event in found if not isinstance(event, Unknown)]


# ------------------------------------------------------------------------------------------------- what comes of it


@pytest.mark.parametrize("way", GARBLED)
@pytest.mark.parametrize("name", DIALECTS)
def test_a_garbled_event_is_the_end_wherever_it_stands(name: str, way: str) -> None:
    wire, ended = stream(name), 0
    for place, event in enumerate(wire):
        broken = spoiled(name, event, GARBLED[way])
        cut, cut_error = decode(name, wire[:place])
        found, error = decode(name, [*wire[:place], broken, *wire[place + 1 :]])
        if broken == event or of_envelope(event):
            continue
        if cut_error is None:  # the terminal event was read: nothing can be missing
            assert error is None
            assert fold(found).text == TEXT
            continue
        ended += 1
        assert isinstance(error, ParseError)
        assert (error.error_class, error.retryable) == (ErrorClass.invalid_request, False)
        last, cut_last = found[-1], cut[-1]
        assert isinstance(last, MessageComplete)
        assert isinstance(cut_last, MessageComplete)
        assert last.error is error
        assert error.response == last.response == fold(found)
        assert last.response.stop_reason is StopReason.error
        assert last.response.content == cut_last.response.content
        assert last.response.usage == cut_last.response.usage
        assert found[:-1] == cut[:-1]
    assert ended >= 4


@pytest.mark.parametrize("way", GARBLED)
@pytest.mark.parametrize("name", DIALECTS)
def test_how_the_bytes_are_split_and_what_follows_do_not_matter(name: str, way: str) -> None:
    wire = stream(name)
    place = next(place for place, event in enumerate(wire) if b"lo, " in event)
    wire[place] = spoiled(name, wire[place], GARBLED[way])
    found, error = decode(name, [b"".join(wire)])
    assert isinstance(error, ParseError)
    assert fold(found).text == "Hel"
    body = b"".join(wire)
    assert decode(name, [body[start : start + 1] for start in range(len(body))]) == (found, error)
    assert decode(name, wire) == (found, error)
    assert decode(name, wire[: place + 1]) == (found, error)
    assert decode(name, [*wire[: place + 1], *stream(name)]) == (found, error)


@pytest.mark.parametrize("way", ["without its last brace", "half of it", "no UTF-8"])
def test_the_envelope_of_responses_is_said_again_or_missed(way: str) -> None:
    """As in a recorded stream that lacks a brace in its first and its last event, and that other clients read too."""
    name, wire = "openai-responses", stream("openai-responses")
    envelope = [place for place, event in enumerate(wire) if of_envelope(event)]
    assert len(envelope) == 3
    for place in envelope:
        broken = spoiled(name, wire[place], GARBLED[way])
        found, error = decode(name, [*wire[:place], broken, *wire[place + 1 :]])
        if way == "no UTF-8":  # it stands in the very word that tells
            assert isinstance(error, ParseError)
        elif place == envelope[-1]:
            assert isinstance(error, NetworkError)
            assert fold(found).text == TEXT
        else:
            assert error is None
            assert fold(found) == fold(decode(name, wire)[0])


# ------------------------------------------------------------------------------------------------- what stays as it was

NO_OBJECTS = ("ping", "OK", "[DONE] now", "[", "}", "<html>{", "null", "3", '"[DONE]"', '["a"]', "event {")


@pytest.mark.parametrize("said", NO_OBJECTS)
@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "bedrock-converse"])
def test_data_that_begins_otherwise_is_passed_by(name: str, said: str) -> None:
    wire = stream(name)
    line = f"{said}\n" if name == "ollama" else f"data: {said}\n\n"
    place = next(place for place, event in enumerate(wire) if b"lo, " in event)
    found, error = decode(name, [*wire[:place], line.encode(), *wire[place:]])
    assert error is None
    assert known(found) == decode(name, wire)[0]


@pytest.mark.parametrize("said", ["", "ping", "<html>", "null"])
def test_a_payload_of_bedrock_that_begins_otherwise_is_passed_by(said: str) -> None:
    wire = stream("bedrock-converse")
    place = next(place for place, event in enumerate(wire) if b"lo, " in event)
    odd = encode_frame(EventStreamDecoder().feed(wire[place])[0].headers, said.encode())
    found, error = decode("bedrock-converse", [*wire[:place], odd, *wire[place:]])
    assert error is None
    assert known(found) == decode("bedrock-converse", wire)[0]


def test_an_event_of_bedrock_that_nobody_knows_may_say_anything() -> None:
    wire = stream("bedrock-converse")
    odd = encode_frame({":event-type": "somethingNewer", ":message-type": "event"}, b'{"half')
    found, error = decode("bedrock-converse", [*wire[:2], odd, *wire[2:]])
    assert error is None
    assert Unknown("bedrock-converse", {"somethingNewer": '{"half'}) in found


SHAPES = ({}, {"type": None}, {"choices": 3}, {"candidates": "x"}, {"message": []}, {"new": {"a": [1]}})


@pytest.mark.parametrize("shape", SHAPES, ids=json.dumps)
@pytest.mark.parametrize("name", DIALECTS)
def test_json_of_an_unexpected_shape_does_not_end_a_stream(name: str, shape: dict[str, object]) -> None:
    wire = stream(name)
    place = next(place for place, event in enumerate(wire) if b"lo, " in event)
    data = payload(name, wire[place])
    if name == "bedrock-converse":
        odd = encode_frame(EventStreamDecoder().feed(wire[place])[0].headers, json.dumps(shape).encode())
    else:
        odd = wire[place].replace(data, json.dumps(shape).encode())
    found, error = decode(name, [*wire[:place], odd, *wire[place:]])
    assert error is None
    assert fold(found).text == TEXT


@pytest.mark.parametrize("last", [b'{"a" 1}', b'{"a": [1}', b'{"type": "x", }'])
@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "bedrock-converse"])
def test_the_last_event_of_a_cut_stream_is_part_of_the_cut(name: str, last: bytes) -> None:
    """Its brackets close, but its line is not ended, so it is not known whether more would have followed."""
    wire = stream(name)
    place = next(place for place, event in enumerate(wire) if b"lo, " in event)
    start = b"" if name == "ollama" else b"data: "
    found, error = decode(name, [*wire[:place], start + last])
    assert isinstance(error, NetworkError)
    assert fold(found).text == "Hel"


# ----------------------------------------------------------------------------------------------------- other spellings


@pytest.mark.parametrize("way", ["a byte too many", "no UTF-8", "a line end inside a string", "without its last brace"])
def test_an_element_of_a_json_array(way: str) -> None:
    """As Gemini writes it without ``alt=sse``: the frames are the brackets themselves."""
    elements = [payload("gemini", event) for event in stream("gemini")]
    place = next(place for place, data in enumerate(elements) if b"lo, " in data)

    def body(*elements: bytes) -> bytes:
        said = [encode_array_element(data, first=not index) for index, data in enumerate(elements)]
        return b"".join([b"[", *said, b"]"])

    assert decode("gemini", [body(*elements)])[1] is None
    found, error = decode("gemini", [body(*elements[:place], GARBLED[way](elements[place]), *elements[place + 1 :])])
    assert isinstance(error, ParseError)
    assert fold(found).text == "Hel"


@pytest.mark.parametrize("name", DIALECTS)
def test_what_is_nested_too_deeply_is_not_raised(name: str) -> None:
    wire = stream(name)
    place = next(place for place, event in enumerate(wire) if b"lo, " in event)
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    data = payload(name, wire[place])
    if name == "bedrock-converse":
        wire[place] = encode_frame(EventStreamDecoder().feed(wire[place])[0].headers, deep)
    else:
        wire[place] = wire[place].replace(data, deep)
    found, error = decode(name, wire)
    assert isinstance(error, ParseError)
    assert "recursion" in error.message or "Stack overflow" in error.message  # Python 3.14 measures the stack
    assert len(error.message) < 300
    assert fold(found).text == "Hel"


# ---------------------------------------------------------------------------------------------------------- the message

MESSAGES = {
    b'{"type": "content_block_delta", "index": 0, "delta": {"type"': (
        "the event 'content_block_delta' of the stream is not JSON: Input data was truncated at byte 60, near "
        '\'{"type": "content_block_delta", "index": 0, "delta": {"type"\''
    ),
    b'{"type": "x", "a": #}': (
        "the event 'content_block_delta' of the stream is not JSON: JSON is malformed: invalid character at byte 19, "
        'near \'{"type": "x", "a": #}\''
    ),
    b'{"type": "x", "a": "\xff"}': (
        "the event 'content_block_delta' of the stream is not JSON: it is not UTF-8 at byte 20, near "
        '\'{"type": "x", "a": "\ufffd"}\''
    ),
}


@pytest.mark.parametrize("data", MESSAGES, ids=range(len(MESSAGES)))
def test_the_message_says_which_event_and_where(data: bytes) -> None:
    _, error = decode("anthropic-messages", [b"event: content_block_delta\ndata: " + data + b"\n\n"])
    assert str(error) == MESSAGES[data]


@pytest.mark.parametrize("place", [0, 60, 5_000, 9_990])
def test_the_message_quotes_a_little_around_the_fault(place: int) -> None:
    text = "".join(f"{number:05}" for number in range(2_000))
    data = '{"a": "' + text[:place] + "\x01" + text[place:] + '"}'
    _, error = decode("openai-chat", [b"event: " + b"x" * 1_000 + b"\ndata: " + data.encode() + b"\n\n"])
    assert isinstance(error, ParseError)
    assert f"at byte {place + 7}, near " in error.message
    assert len(error.message) < 300
    assert data[max(0, place - 20) : place + 7][-20:] in error.message
