"""Law 7 for OpenAI Responses, Gemini and Ollama: what was open when an answer broke off never looks finished."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from interlingua import (
    AdapterError,
    BlockComplete,
    BlockStart,
    Citation,
    Event,
    Message,
    MessageComplete,
    MessageStart,
    NetworkError,
    ParseError,
    Request,
    Response,
    StopReason,
    TextBlock,
    ToolDefinition,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    dialect,
    fold,
)
from shared_data import corpus, needs_shared, stream_bytes

RESPONSES, GEMINI, OLLAMA = "openai-responses", "gemini", "ollama"
ALL = (RESPONSES, GEMINI, OLLAMA)
Json = Any


def frames_of(wire: bytes) -> list[Json]:
    """The JSON of a written stream: events, or lines."""
    lines = [line.removeprefix(b"data: ") for line in wire.splitlines() if line.startswith((b"data: ", b"{"))]
    return [json.loads(line) for line in lines]


def sse(*frames: Json) -> bytes:
    return b"".join(b"data: " + json.dumps(frame).encode() + b"\n\n" for frame in frames)


def write(name: str, events: Sequence[Event], error: AdapterError | None = None, request: Request | None = None) -> Any:
    """The frames of a stream that is written event by event and fails where there is an ``error``; its losses."""
    encoder = dialect(name).stream_encoder(request)
    said = b"".join(map(encoder.feed, events))
    if error is not None:
        said += encoder.fail(error)
    return frames_of(said + encoder.close()), encoder.losses


def read(name: str, wire: bytes, *, clean: bool = False) -> tuple[Response, AdapterError | None]:
    decoder = dialect(name).stream_decoder()
    response = fold([*decoder.feed(wire), *decoder.close(clean)])
    return response, decoder.error


def call_events(index: int, text: str, kind: Any = "json", id: str = "") -> list[Event]:
    block = ToolUseBlock(id or f"call_{index}", "f", kind, input_text="" if kind == "text" else None)
    return [ToolUseStart(index, block.id, "f", block), ToolUseInputDelta(index, text)]


def end_call(index: int, input: Json, id: str = "") -> Event:
    return ToolUseEnd(index, input, ToolUseBlock(id or f"call_{index}", "f", input=input))


BEGIN = MessageStart("r", "m")


# -------------------------------------------------------------------------------------------------- the output limit


CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": '{"a":1}'}


@pytest.mark.parametrize(
    ("name", "stop"), [("anthropic-messages", b"content_block_stop"), ("bedrock-converse", b"contentBlockStop")]
)
def test_a_text_that_broke_off_is_not_ended_by_the_block_behind_it(name: str, stop: bytes) -> None:
    """Ollama's images come after the text, even if the text broke off."""
    said = [
        b'{"model":"m","message":{"role":"assistant","content":"so"},"done":false}\n',
        b'{"model":"m","message":{"role":"assistant","content":"","images":["AAAA"]},"done":false}\n',
    ]
    encoder, decoder = dialect(name).stream_encoder(), dialect("ollama").stream_decoder()
    events = [*decoder.feed(b"".join(said)), *decoder.close()]
    assert [type(event) for event in events[-3:]] == [BlockStart, BlockComplete, MessageComplete]
    written = b"".join(map(encoder.feed, events)) + encoder.close()
    assert b"so" in written
    assert stop not in written


def test_the_end_of_the_last_call_of_responses_waits_for_the_answers() -> None:
    """It must not be run before it is known whether the limit cut it off."""
    decoder = dialect(RESPONSES).stream_decoder()
    item = {**CALL, "status": "completed"}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    assert not [event for event in decoder.feed(sse(done)) if isinstance(event, ToolUseEnd)]
    other = {"type": "response.output_item.added", "output_index": 1, "item": {**item, "call_id": "call_2"}}
    (end,) = [event for event in decoder.feed(sse(other)) if isinstance(event, ToolUseEnd)]
    assert not end.block.incomplete
    assert [block.incomplete for block in fold_tail(decoder).tool_uses] == [False, True]


def fold_tail(decoder: Any) -> Response:
    last = decoder.close()[-1]
    assert isinstance(last, MessageComplete)
    assert last.response.stop_reason is StopReason.error
    return last.response


# ------------------------------------------------------------------------------------------------------------- Gemini


def chunk(*parts: Json, **candidate: Json) -> Json:
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, **candidate}]}


def call_part(**call: Json) -> Json:
    return {"functionCall": call}


@needs_shared
def test_recorded_gemini_streams_with_two_finish_reasons_cut_between_them() -> None:
    found = 0
    for record in corpus(GEMINI):
        wire = stream_bytes(record) or b""
        if wire.startswith(b"data:") and wire.count(b'"finishReason"') == 2:
            events = wire.replace(b"\r\n", b"\n").split(b"\n\n")
            ends = [place for place, event in enumerate(events) if b'"finishReason"' in event]
            for place in range(ends[0] + 2, ends[1] + 1):
                assert isinstance(read(GEMINI, b"\n\n".join(events[:place]) + b"\n\n")[1], NetworkError)
                found += 1
    assert found


# ------------------------------------------------------------------------------------------------------ partial pieces


def size(value: Json) -> int:
    """The number of values in a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(size, inner))


def pieced(*pieces: Json) -> tuple[Response, AdapterError | None]:
    start = call_part(name="f", willContinue=True)
    more = [chunk(call_part(partialArgs=[piece], willContinue=True)) for piece in pieces]
    return read(GEMINI, sse(chunk(start), *more, chunk(call_part()), chunk(finishReason="STOP")))


@pytest.mark.parametrize(
    "paths",
    [
        [f"$.a{number}[99999]" for number in range(400)],
        [f"$.a[{number * 90000}]" for number in range(1, 400)],
        ["$" + "[90000]" * 20],
        ["$.a" + "[0]" * 5000],
        ["$" + ".a" * 200_000],
        [f"$.a[{10**30}]"],
    ],
    ids=["many lists", "one list", "nested lists", "deep lists", "deep objects", "no number"],
)
def test_paths_that_name_more_than_they_bring_are_refused(paths: list[str]) -> None:
    """The size of what is built is limited by what was received, and the call is incomplete."""
    response, error = pieced(*({"jsonPath": path, "numberValue": 1} for path in paths))
    (call,) = response.tool_uses
    assert error is None
    assert call.incomplete
    assert size(call.input) <= 4 * len(paths) + 4


# -------------------------------------------------------------------------------------------------------- linear time


def calls_of(work: Callable[[], object]) -> int:
    """How many functions were called, our own and those of C."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def grounded(number: int) -> Json:
    texts = [{"text": f"text {place}."} for place in range(number)]
    chunks = [{"web": {"uri": f"https://x/{place}", "title": "t"}} for place in range(number)]
    supports = [
        {"segment": {"partIndex": place, "startIndex": 1, "endIndex": 4}, "groundingChunkIndices": [place]}
        for place in range(number)
    ]
    metadata = {"groundingChunks": chunks, "groundingSupports": supports}
    content = {"parts": texts, "role": "model"}
    return {"candidates": [{"content": content, "finishReason": "STOP", "groundingMetadata": metadata}]}


def cited(number: int) -> Response:
    citations = [Citation("url", url=f"https://x/{place}", start=place, end=place + 1) for place in range(number)]
    return Response((TextBlock("é" * (number + 1), citations=tuple(citations)),), StopReason.end_turn)


def repeated(number: int, kind: Any = "json") -> Request:
    """Calls that share an id, as in protocols that number them anew in each turn, and results without a call."""
    calls = [ToolUseBlock("call_0", "f", kind, input_text="x" if kind == "text" else None) for _ in range(number)]
    return Request(tuple(Message("assistant", (call,)) for call in calls))


def alike(number: int) -> Request:
    return Request((Message("user", "?"),), tools=tuple(ToolDefinition("ä" * (1 + place)) for place in range(number)))


def interleaved(number: int) -> Iterator[Event]:
    """Calls that are all open together."""
    yield BEGIN
    for index in range(number):
        yield from call_events(index, "{}")
    yield from (end_call(index, {}) for index in range(number))
    content = tuple(ToolUseBlock(f"call_{index}", "f") for index in range(number))
    yield MessageComplete(Response(content, StopReason.tool_use))


def write_interleaved(name: str, number: int) -> object:
    return write(name, list(interleaved(number)))


WORK: dict[str, Callable[[int], object]] = {
    "reading citations": lambda number: dialect(GEMINI).decode_response(grounded(number)),
    "writing citations": lambda number: dialect(GEMINI).encode_response(cited(number)),
    "one id for all calls": lambda number: dialect(RESPONSES).encode_request(repeated(number)),
    "names alike": lambda number: dialect(RESPONSES).encode_request(alike(number)),
    **{f"calls open together, {name}": partial(write_interleaved, name) for name in ALL},
}


@pytest.mark.parametrize("what", WORK)
def test_twice_as_much_is_twice_the_work(what: str) -> None:
    work = WORK[what]
    work(10)  # what is loaded and remembered once
    few, many = calls_of(lambda: work(150)), calls_of(lambda: work(300))
    assert many < 2.5 * few


def test_blanks_before_a_gemini_stream_are_not_kept() -> None:
    decoder: Any = dialect(GEMINI).stream_decoder()
    for _ in range(100):
        assert decoder.feed(b" \r\n" * 100) == []
        assert len(decoder.source.head) <= 3
    events = [*decoder.feed(sse(chunk({"text": "a"}, finishReason="STOP"))), *decoder.close()]
    assert fold(events).text == "a"


# -------------------------------------------------------------------------------------------------------------- depth


def deep(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


FRAMES = {
    RESPONSES: 'data: {"type":"response.output_item.added","output_index":0,"item":{"type":"x","x":%s}}\n\n',
    GEMINI: 'data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"x_y":%s}]}\n\n',
    OLLAMA: '{"model":"m","message":{"role":"assistant","content":"a","x":%s},"done":false}\n',
}


@pytest.mark.parametrize("levels", [100, 127, 400, 600, 990, 5000])
@pytest.mark.parametrize("name", ALL)
def test_json_that_is_nested_too_deeply_ends_a_stream(name: str, levels: int) -> None:
    """In an ``AdapterError``, and never in a RecursionError."""
    decoder = dialect(name).stream_decoder()
    events = [*decoder.feed((FRAMES[name] % deep(levels)).encode()), *decoder.close()]
    assert isinstance(decoder.error, ParseError if levels > 128 - 2 else NetworkError)
    fold(events)
    for target in ALL:
        write(target, events)


@pytest.mark.parametrize("levels", [600, 5000])
def test_arguments_that_are_nested_too_deeply_are_malformed(levels: int) -> None:
    done = {"type": "response.output_item.done", "output_index": 0, "item": {**CALL, "arguments": deep(levels)}}
    last = {"type": "response.completed", "response": {"id": "r", "model": "m", "status": "completed", "output": []}}
    response, error = read(RESPONSES, sse(done, last))
    (call,) = response.tool_uses
    assert error is None
    assert (call.input, call.input_text) == ({}, deep(levels))
