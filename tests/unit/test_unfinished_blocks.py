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
    Block,
    BlockComplete,
    BlockStart,
    CancelledError,
    Citation,
    Event,
    Message,
    MessageComplete,
    MessageStart,
    NetworkError,
    ParseError,
    Request,
    Response,
    ServerError,
    StopReason,
    TextBlock,
    TextDelta,
    ToolDefinition,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    decode_stream,
    dialect,
    fold,
    unfold,
)
from interlingua.dialects import DIALECTS
from shared_data import corpus, needs_shared, stream_bytes

RESPONSES, GEMINI, OLLAMA = "openai-responses", "gemini", "ollama"
ALL = (RESPONSES, GEMINI, OLLAMA)
WHOLE_CALLS = (GEMINI, OLLAMA)
Json = Any
CUT = NetworkError("the stream was cut")


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


def text_events(index: int, *pieces: str) -> list[Event]:
    return [BlockStart(index, TextBlock("")), *(TextDelta(index, piece) for piece in pieces)]


def call_events(index: int, text: str, kind: Any = "json", id: str = "") -> list[Event]:
    block = ToolUseBlock(id or f"call_{index}", "f", kind, input_text="" if kind == "text" else None)
    return [ToolUseStart(index, block.id, "f", block), ToolUseInputDelta(index, text)]


def end_call(index: int, input: Json, id: str = "") -> Event:
    return ToolUseEnd(index, input, ToolUseBlock(id or f"call_{index}", "f", input=input))


def broken_off(stop: str, *blocks: Block, error: AdapterError | None = None) -> list[Event]:
    """The end of an answer that broke off; the last of its blocks was open."""
    last = len(blocks) - 1
    block = blocks[last]
    closer = ToolUseEnd(last, block.input, block) if isinstance(block, ToolUseBlock) else BlockComplete(last, block)
    return [closer, MessageComplete(Response(blocks, StopReason(stop), error=error, id="r", model="m"), error)]


BEGIN = MessageStart("r", "m")
HALF = '{"cmd":"rm -r'
HALF_CALL = ToolUseBlock("call_0", "f", input_text=HALF, incomplete=True)
OPEN: dict[str, tuple[list[Event], Block]] = {
    "a call": (call_events(0, HALF), HALF_CALL),
    "a call that parses": (call_events(0, '{"a":1}'), ToolUseBlock("call_0", "f", input={"a": 1}, incomplete=True)),
    "a call without arguments": (call_events(0, "")[:1], ToolUseBlock("call_0", "f", incomplete=True)),
    "a script": (
        call_events(0, "rm -r /tmp\n", "text"),
        ToolUseBlock("call_0", "f", "text", input_text="rm -r /tmp\n", incomplete=True),
    ),
    "a text": (text_events(0, "so ", "far"), TextBlock("so far", incomplete=True)),
}


# ------------------------------------------------------------------------------------------- writing after a failure


@pytest.mark.parametrize("way", ["fail", "message.complete", "cancelled"])
@pytest.mark.parametrize("what", OPEN)
@pytest.mark.parametrize("name", ALL)
def test_nothing_is_finished_after_a_failure(name: str, what: str, way: str) -> None:  # S1
    """Neither an event that ends the block, nor an item or a call that looks whole, nor a last word but the error."""
    opened, block = OPEN[what]
    if way == "fail":
        frames, _ = write(name, [BEGIN, *opened], CUT)
    elif way == "cancelled":
        error = CancelledError("the call was cancelled")
        frames, _ = write(name, [BEGIN, *opened, *broken_off("cancelled", block, error=error)])
    else:
        frames, _ = write(name, [BEGIN, *opened, *broken_off("error", block, error=CUT)])
    said = json.dumps(frames)
    assert ".done" not in said
    assert '"completed"' not in said
    assert "functionCall" not in said
    assert '"tool_calls"' not in said
    assert "finishReason" not in said
    assert '"done": true' not in said
    if name == RESPONSES:
        assert frames[-1]["type"] in ("response.failed", "response.incomplete")
        assert frames[-1]["response"]["output"] == []
        assert frames[-1]["response"]["status"] in ("failed", "cancelled")
    else:
        assert "error" in frames[-1]
    if what == "a text":
        assert all(word in said for word in ("so ", "far"))


@pytest.mark.parametrize("name", ALL)
def test_what_was_finished_before_a_failure_stays(name: str) -> None:  # S1
    """A finished call is written, also one that a dialect holds back because it has no id, and so is a text."""
    opened = [*text_events(0, "hm"), BlockComplete(0, TextBlock("hm")), *call_events(1, '{"a":1}')]
    nameless = ToolUseBlock("call_1", "f", input={"a": 1}, forms={GEMINI: {"id": "absent"}})
    events = [BEGIN, *opened, ToolUseEnd(1, {"a": 1}, nameless), *call_events(2, HALF)]
    frames, _ = write(name, events, CUT)
    said = json.dumps(frames)
    assert "rm -r" not in said if name != RESPONSES else '"arguments": "{\\"cmd' not in said
    assert ("functionCall" in said, '"tool_calls"' in said) == (name == GEMINI, name == OLLAMA)
    if name == RESPONSES:
        output = frames[-1]["response"]["output"]
        assert [(item["type"], item["status"]) for item in output] == [
            ("message", "completed"),
            ("function_call", "completed"),
        ]
        assert output == [frame["item"] for frame in frames if frame["type"] == "response.output_item.done"]


@pytest.mark.parametrize("way", ["fail", "message.complete"])
@pytest.mark.parametrize("name", WHOLE_CALLS)
def test_a_finished_call_behind_an_open_one_is_written(name: str, way: str) -> None:  # S1
    """The open one is declared as lost."""
    opened = [BEGIN, *call_events(0, HALF), *call_events(1, '{"a":1}'), end_call(1, {"a": 1})]
    ends: list[Event] = [ToolUseEnd(0, {}, HALF_CALL)]
    content = (HALF_CALL, ToolUseBlock("call_1", "f", input={"a": 1}))
    ends.append(MessageComplete(Response(content, StopReason.error, error=CUT), CUT))
    frames, losses = write(name, opened, CUT) if way == "fail" else write(name, [*opened, *ends])
    said = json.dumps(frames)
    assert said.count('"name": "f"') == 1
    assert '{"a": 1}' in said
    assert [(loss.path, loss.kind, loss.weight) for loss in losses] == [("content/0", "dropped", "content")]


@pytest.mark.parametrize("way", ["text", "call"])
@pytest.mark.parametrize("name", DIALECTS)
def test_an_answer_that_goes_on_behind_a_cut_call_fails_there(name: str, way: str) -> None:
    """Whoever reads the stream cannot know that the call is not finished: it ran with what had come of it."""
    cut = ToolUseBlock("call_0", "f", input_text='{"x":1', incomplete=True)
    more = text_events(1, "Hello") if way == "text" else call_events(1, '{"x":2}')
    end = BlockComplete(1, TextBlock("Hello")) if way == "text" else end_call(1, {"x": 2})
    encoder = dialect(name).stream_encoder()
    said = b"".join(map(encoder.feed, [MessageStart("m", "x"), *call_events(0, '{"x":1'), ToolUseEnd(0, {}, cut)]))
    said += encoder.feed(more[0])
    whole = Response((cut, TextBlock("Hello")), StopReason.tool_use if way == "call" else StopReason.end_turn)
    for event in (*more[1:], end, MessageComplete(whole)):
        assert encoder.feed(event) == b""
    response, error = read(name, said + encoder.close())
    assert isinstance(error, ServerError)
    assert "broke off within a tool call" in str(error)
    assert all(call.incomplete for call in response.tool_uses)


def test_a_failed_answer_of_responses_says_so() -> None:  # S1
    """Also where the stream that broke off had said that it is in progress."""
    created = {"type": "response.created", "response": {"id": "r", "model": "m", "status": "in_progress", "output": []}}
    decoder = dialect(RESPONSES).stream_decoder()
    frames, _ = write(RESPONSES, [*decoder.feed(sse(created)), *decoder.close()])
    assert (frames[-1]["type"], frames[-1]["response"]["status"]) == ("response.failed", "failed")
    assert decoder.error is not None
    assert decoder.error.response.raw_stop_reason is None  # type: ignore[union-attr]


# -------------------------------------------------------------------------------------------------- the output limit


def limited(*blocks: Block) -> Response:
    return Response(blocks, StopReason.max_tokens, id="r", model="m")


HALF_JSON = ToolUseBlock("call_1", "f", input_text=HALF)
MALFORMED = Response((HALF_JSON,), StopReason.tool_use)
LIMITED = limited(TextBlock("hm"), ToolUseBlock("call_1", "f", input_text=HALF, incomplete=True))


@pytest.mark.parametrize("name", WHOLE_CALLS)
def test_a_call_that_the_limit_cut_off_is_left_out_where_calls_are_whole(name: str) -> None:  # S1
    frames, losses = write(name, list(unfold(LIMITED)))
    encoded = dialect(name).encode_response(LIMITED)
    for wire, told in ((frames, losses), (encoded.body, encoded.losses)):
        assert '"f"' not in json.dumps(wire)
        assert ("content/1", "dropped", "content") in [(loss.path, loss.kind, loss.weight) for loss in told]
    assert fold(decode_stream([b"".join(map(dialect(name).stream_encoder().feed, unfold(LIMITED)))], dialect=name)).text


@pytest.mark.parametrize("name", WHOLE_CALLS)
def test_a_call_whose_arguments_are_no_json_is_left_out_where_calls_are_whole(name: str) -> None:  # S1
    """With invented ones somebody would run it. Recorded: a server that says ``tool_calls`` where the limit cut one."""
    whole = ToolUseBlock("call_0", "g")
    for content, stop in (((HALF_JSON,), StopReason.tool_use), ((whole, HALF_JSON), StopReason.tool_use)):
        response = Response(content, stop, id="r", model="m")
        frames, losses = write(name, list(unfold(response)))
        encoded = dialect(name).encode_response(response)
        place = f"content/{len(content) - 1}"
        for wire, told in ((frames, losses), (encoded.body, encoded.losses)):
            assert '"f"' not in json.dumps(wire)
            assert ('"g"' in json.dumps(wire)) is (whole in content)
            assert (place, "dropped", "content") in [(loss.path, loss.kind, loss.weight) for loss in told]
            assert ("stop_reason" in [loss.path for loss in told]) is (whole not in content)
    assert name == OLLAMA or "MALFORMED_FUNCTION_CALL" in json.dumps(write(name, list(unfold(MALFORMED)))[0])


def test_responses_writes_such_a_call_as_the_provider_does() -> None:  # S1
    """Recorded: its arguments are ended, its item and the answer are incomplete."""
    frames, _ = write(RESPONSES, list(unfold(LIMITED)))
    assert [frame["type"] for frame in frames[-3:]] == [
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.incomplete",
    ]
    assert [item["status"] for item in frames[-1]["response"]["output"]] == ["completed", "incomplete"]
    assert frames[-2]["item"] == frames[-1]["response"]["output"][1]


CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": '{"a":1}'}


def test_the_end_of_the_last_call_of_responses_waits_for_the_answers() -> None:  # S1
    """Nobody may run it before it is known whether the limit cut it off."""
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
def test_recorded_gemini_streams_with_two_finish_reasons_cut_between_them() -> None:  # S4
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


PLAIN = chunk({"text": "a"})


@pytest.mark.parametrize(
    ("wire", "finished"),
    [
        (sse(PLAIN), True),
        (b"[" + json.dumps(PLAIN).encode() + b"]", True),
        (json.dumps(PLAIN).encode(), True),
        (b"[" + json.dumps(PLAIN).encode() + b",", False),
        (sse(PLAIN) + b'data: {"candidates": [{"con', False),
        (sse({"usageMetadata": {"promptTokenCount": 1}}), False),
        (b"", False),
    ],
    ids=["events", "array", "one answer", "an open array", "half an event", "nothing said", "nothing"],
)
def test_a_gemini_stream_without_a_finish_reason(wire: bytes, finished: bool) -> None:  # S5
    """It is finished only if the transport saw the end of the HTTP body, and nothing in it is cut."""
    assert isinstance(read(GEMINI, wire)[1], NetworkError)
    response, error = read(GEMINI, wire, clean=True)
    assert (error is None) is finished
    if finished:
        assert (response.text, response.stop_reason) == ("a", StopReason.end_turn)


@pytest.mark.parametrize("name", [RESPONSES, OLLAMA])
def test_no_other_protocol_trusts_the_end_of_the_body(name: str) -> None:  # S5
    wires = {
        RESPONSES: sse({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "a"}),
        OLLAMA: b'{"model":"m","created_at":"","message":{"role":"assistant","content":"a"},"done":false}\n',
    }
    response, error = read(name, wires[name], clean=True)
    assert isinstance(error, NetworkError)
    assert [block.incomplete for block in response.content] == [True]


# ------------------------------------------------------------------------------------------------------ partial pieces


def size(value: Json) -> int:
    """How many values there are."""
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
def test_paths_that_name_more_than_they_bring_are_refused(paths: list[str]) -> None:  # R3
    """What is built is bounded by what was received, and the call is not complete."""
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
    """Calls of one id, as protocols have that number them anew in each turn, and results of nobody's."""
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
def test_twice_as_much_is_twice_the_work(what: str) -> None:  # R4
    work = WORK[what]
    work(10)  # what is loaded and remembered once
    few, many = calls_of(lambda: work(150)), calls_of(lambda: work(300))
    assert many < 2.5 * few


def test_blanks_before_a_gemini_stream_are_not_kept() -> None:  # R4
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
def test_json_that_is_nested_too_deeply_ends_a_stream(name: str, levels: int) -> None:  # R3
    """In an error of ours, and never in a RecursionError, whoever writes it."""
    decoder = dialect(name).stream_decoder()
    events = [*decoder.feed((FRAMES[name] % deep(levels)).encode()), *decoder.close()]
    assert isinstance(decoder.error, ParseError if levels > 128 - 2 else NetworkError)
    fold(events)
    for target in ALL:
        write(target, events)


@pytest.mark.parametrize("levels", [600, 5000])
def test_arguments_that_are_nested_too_deeply_are_malformed(levels: int) -> None:  # R3
    done = {"type": "response.output_item.done", "output_index": 0, "item": {**CALL, "arguments": deep(levels)}}
    last = {"type": "response.completed", "response": {"id": "r", "model": "m", "status": "completed", "output": []}}
    response, error = read(RESPONSES, sse(done, last))
    (call,) = response.tool_uses
    assert error is None
    assert (call.input, call.input_text) == ({}, deep(levels))
