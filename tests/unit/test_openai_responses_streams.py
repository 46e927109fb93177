"""The streams of OpenAI Responses: what they do in the wild, and what we write where other protocols differ."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlingua import (
    AdapterError,
    Event,
    Message,
    MessageComplete,
    MessageStart,
    Request,
    Response,
    ServerToolUseBlock,
    StreamGrammar,
    TextBlock,
    ToolDefinition,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    Unknown,
    dialect,
    fold,
    unfold,
)
from interlingua.testing.differences import plain

NAME = "openai-responses"
Json = Any
speaker = dialect(NAME)


def sse(*frames: Json) -> bytes:
    return b"".join(
        b"data: " + (f.encode() if isinstance(f, str) else json.dumps(f).encode()) + b"\n\n" for f in frames
    )


def events_of(wire: bytes, request: Request | None = None) -> tuple[list[Event], AdapterError | None]:
    decoder = speaker.stream_decoder(request)
    events = decoder.feed(wire) + decoder.close()
    grammar = StreamGrammar()
    for event in events:
        grammar.check(event)
    again = speaker.stream_decoder(request)
    pieces = [event for at in range(0, len(wire), 11) for event in again.feed(wire[at : at + 11])]
    assert pieces + again.close() == events
    return events, decoder.error


def e(kind: str, **fields: Json) -> Json:
    return {"type": f"response.{kind}", **fields}


CREATED = e("created", response={"id": "resp_1", "model": "m", "status": "in_progress", "output": []})


def completed(*output: Json, **more: Json) -> Json:
    return e(
        "completed", response={"id": "resp_1", "model": "m", "status": "completed", "output": list(output), **more}
    )


def message(text: str, id: str = "msg_a") -> Json:
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    return {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content}


def added(index: int, item: Json) -> Json:
    return e("output_item.added", output_index=index, item=item)


def done(index: int, item: Json) -> Json:
    return e("output_item.done", output_index=index, item=item)


def delta(index: int, text: str, part: int = 0) -> Json:
    return e("output_text.delta", output_index=index, content_index=part, delta=text)


CALL = {
    "type": "function_call",
    "id": "fc_a",
    "call_id": "call_1",
    "name": "f",
    "arguments": "",
    "status": "in_progress",
}
CALLED = {**CALL, "arguments": '{"a": 1}', "status": "completed"}
SEARCH = {"type": "web_search_call", "id": "ws_a", "status": "in_progress", "action": {"type": "search", "query": "q"}}


def test_progress_is_unknown_and_goes_on() -> None:
    frames = [CREATED, added(0, SEARCH), e("web_search_call.searching", output_index=0, item_id="ws_a"),
              {"type": "keepalive", "sequence_number": 3}, done(0, {**SEARCH, "status": "completed"}),
              e("something.newer", x=1), "not JSON", completed()]  # fmt: skip
    events, _ = events_of(sse(*frames))
    unknown = [event.raw for event in events if isinstance(event, Unknown)]
    assert unknown == [frames[2], frames[5], "not JSON"]
    encoder = speaker.stream_encoder()
    said = b"".join(map(encoder.feed, events))
    assert b'"type":"response.web_search_call.searching"' in said
    assert b'"type":"response.something.newer"' in said


def test_optionals_and_names_come_back_in_a_stream_too() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    request = Request((Message("user", "?"),), tools=(ToolDefinition("f.g", input_schema=schema, strict=True),))
    call = {**CALLED, "name": "f_g", "arguments": '{"a":null}'}
    events, _ = events_of(sse(CREATED, added(0, {**CALL, "name": "f_g"}), done(0, call), completed()), request)
    [end] = [event for event in events if isinstance(event, ToolUseEnd)]
    assert (end.block.name, end.final_input) == ("f.g", {})


# -------------------------------------------------------------------------------------------------------- writing


def frames_of(wire: bytes) -> list[Json]:
    return [json.loads(line[6:]) for line in wire.split(b"\n") if line.startswith(b"data: ")]


def test_the_spelling_of_arguments_is_the_models() -> None:
    """Another protocol keeps no text: what the deltas said is what the finished item repeats."""
    call = ToolUseBlock("call_1", "f", input={"a": 1})
    events: list[Event] = [
        MessageStart("resp_1", "m"),
        ToolUseStart(0, "call_1", "f", ToolUseBlock("call_1", "f")),
        ToolUseInputDelta(0, '{ "a"'),
        ToolUseInputDelta(0, ": 1 }"),
        ToolUseEnd(0, call.input, call),
        MessageComplete(Response((call,), id="resp_1", model="m", stop_reason="tool_use")),
    ]
    encoder = speaker.stream_encoder()
    frames = frames_of(b"".join(map(encoder.feed, events)))
    assert [f["item"]["arguments"] for f in frames if f["type"] == "response.output_item.done"] == ['{ "a": 1 }']
    assert [f["arguments"] for f in frames if f["type"].endswith("arguments.done")] == ['{ "a": 1 }']


def test_free_text_that_came_inside_json() -> None:
    """A protocol without free-text tools streams an object; the client offered such a tool and gets its text."""
    request = Request((Message("user", "?"),), tools=(ToolDefinition("patch", kind="text"),))
    call = ToolUseBlock("call_1", "patch", "text", input_text="*** x")
    events: list[Event] = [
        MessageStart("resp_1", "m"),
        ToolUseStart(0, "call_1", "patch", ToolUseBlock("call_1", "patch")),
        ToolUseInputDelta(0, '{"input":"*** x"}'),
        ToolUseEnd(0, {}, call),
        MessageComplete(Response((call,), id="resp_1", model="m", stop_reason="tool_use")),
    ]
    encoder = speaker.stream_encoder(request)
    frames = frames_of(b"".join(map(encoder.feed, events)))
    assert [frame["type"] for frame in frames[2:]] == [
        "response.output_item.added",
        "response.custom_tool_call_input.delta",
        "response.custom_tool_call_input.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert (frames[3]["delta"], frames[5]["item"]["input"]) == ("*** x", "*** x")


CUT_CALL = ToolUseBlock("call_1", "f", input_text='{"a":', incomplete=True)


@pytest.mark.parametrize("block", [TextBlock("so f"), CUT_CALL])
def test_the_item_that_was_cut_says_so(block: TextBlock | ToolUseBlock) -> None:
    """In the stream as in the whole, and only the last."""
    meant = Response((TextBlock("hm"), block), id="r", model="m", stop_reason="max_tokens")
    encoder = speaker.stream_encoder()
    wire = b"".join(map(encoder.feed, unfold(meant)))
    frames = frames_of(wire)
    done = [frame["item"] for frame in frames if frame["type"] == "response.output_item.done"]
    assert [item["status"] for item in done] == ["completed", "incomplete"]
    assert frames[-1]["type"] == "response.incomplete"
    assert frames[-1]["response"]["output"] == done == speaker.encode_response(meant).body["output"]
    read = fold(events_of(wire)[0])
    assert plain(read) == plain(meant)
    assert speaker.encode_response(read).body["output"] == done


def test_what_cannot_be_said_is_told() -> None:
    foreign = ServerToolUseBlock("srv_1", "web_search", {"query": "q"}, "anthropic-messages")
    encoder = speaker.stream_encoder()
    frames = frames_of(b"".join(map(encoder.feed, unfold(Response((foreign, TextBlock("x")), id="r", model="m")))))
    assert [loss.path for loss in encoder.losses] == ["content/0"]
    assert [item["type"] for item in frames[-1]["response"]["output"]] == ["message"]
    assert frames[-1]["response"]["output"][0]["id"] == "msg_0"
