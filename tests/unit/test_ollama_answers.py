"""Answers, streams and errors of Ollama, as tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlingua import (
    Event,
    ImageBlock,
    NetworkError,
    OpaqueBlock,
    Request,
    Response,
    ServerError,
    StopReason,
    TextBlock,
    ThinkingBlock,
    TokenUsage,
    ToolDefinition,
    ToolUseBlock,
    ToolUseInputDelta,
    Unknown,
    UsageUpdate,
    decode_stream,
    dialect,
    fold,
    unfold,
)

OLLAMA = dialect("ollama")
Wire = dict[str, Any]
ENDS: Wire = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "done": True, "done_reason": "stop"}


def answer(message: Wire, **fields: Any) -> Wire:
    return {**ENDS, "message": {"role": "assistant", "content": "", **message}, **fields}


def line(message: Wire, **fields: Any) -> Wire:
    start = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "done": False}
    return {**start, "message": {"role": "assistant", "content": "", **message}, **fields}


def call(name: str, id: str | None = None, **function: Any) -> Wire:
    wire: Wire = {"function": {"name": name, "arguments": {}, **function}}
    return wire if id is None else {"id": id, **wire}


def read(*lines: Any) -> tuple[list[Event], Any]:
    decoder = OLLAMA.stream_decoder()
    raw = b"".join(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in lines)
    events = [event for start in range(len(raw)) for event in decoder.feed(raw[start : start + 1])]
    events += decoder.close()
    whole = OLLAMA.stream_decoder()
    assert whole.feed(raw) + whole.close() == events
    return events, decoder.error


# ------------------------------------------------------------------------------------------------------------- answers


def test_an_answer_of_ours_is_complete() -> None:
    body = OLLAMA.encode_response(Response(content=(TextBlock("x"),), model="m")).body
    assert body == {
        "model": "m",
        "created_at": "1970-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": "x"},
        "done": True,
        "done_reason": "stop",
    }


def test_nulls_that_a_strict_schema_forced_are_taken_back() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    request = Request(tools=(ToolDefinition(name="f", input_schema=schema, strict=True),))
    calls = {"tool_calls": [call("f", "c", index=0, arguments={"a": "x", "b": None})]}
    whole = OLLAMA.decode_response(answer(calls), request=request)
    assert whole.tool_uses[0].input == {"a": "x"}
    decoder = OLLAMA.stream_decoder(request)
    events = decoder.feed(json.dumps(answer(calls)).encode()) + decoder.close()
    assert fold(events).content == whole.content
    (fragment,) = [event.partial_json for event in events if isinstance(event, ToolUseInputDelta)]
    assert json.loads(fragment) == {"a": "x", "b": None}


# ------------------------------------------------------------------------------------------------------------- streams


def test_a_stream_is_its_whole_however_it_comes() -> None:
    """Kinds may come mixed; the whole has one text, one thought, and the calls behind them."""
    events, error = read(
        line({"tool_calls": [call("f", "c1", index=0)]}),
        line({"thinking": "Hm"}),
        line({"content": "a"}),
        line({"content": "b", "thinking": "!"}),
        line({"tool_calls": [call("g", "c2", index=1), call("h", "c3", index=2)]}),
        line({"content": "c"}),
        answer({"content": "d"}, eval_count=3, total_duration=5),
    )
    calls = [call(name, id, index=index) for index, (name, id) in enumerate([("f", "c1"), ("g", "c2"), ("h", "c3")])]
    whole = answer({"content": "abcd", "thinking": "Hm!", "tool_calls": calls}, eval_count=3, total_duration=5)
    assert error is None
    assert fold(events) == OLLAMA.decode_response(whole)
    assert [event.usage for event in events if isinstance(event, UsageUpdate)] == [TokenUsage(output_tokens=3)]


def test_calls_without_ids_are_named_by_their_place_in_the_whole() -> None:
    events, _ = read(line({"tool_calls": [call("f")]}), line({"content": "late"}), answer({"tool_calls": [call("g")]}))
    whole = OLLAMA.decode_response(answer({"content": "late", "tool_calls": [call("f"), call("g")]}))
    assert fold(events).content == whole.content
    assert [block.id for block in whole.tool_uses] == ["call_1", "call_2"]


def test_lists_go_on_from_line_to_line() -> None:
    events, _ = read(
        line({"content": "a"}, logprobs=[1], remote_model="r"),
        line({"content": "b"}, logprobs=[2]),
        answer({"images": ["x"]}),
    )
    response = fold(events)
    assert response.extras["ollama"] == {"created_at": ENDS["created_at"], "logprobs": [1, 2], "remote_model": "r"}
    assert [type(block) for block in response.content] == [TextBlock, ImageBlock]


def test_calls_stand_behind_pictures_that_come_later() -> None:
    said = {"content": "a", "images": ["iVBORw0KGgo"], "tool_calls": [call("f")]}
    events, _ = read(line({"content": "a"}), line({"tool_calls": [call("f")]}), answer({"images": ["iVBORw0KGgo"]}))
    assert fold(events).content == OLLAMA.decode_response(answer(said)).content


def test_the_other_endpoint_streams_too() -> None:
    lines = [{**line({}), "response": text} for text in "ab"]
    for one in lines:
        del one["message"]
    events, error = read(*lines, {**ENDS, "response": "", "context": [1]})
    assert error is None
    assert fold(events) == OLLAMA.decode_response({**ENDS, "response": "ab", "context": [1]})
    assert fold(events).content == (TextBlock("ab"), OpaqueBlock(dialect="ollama", raw={"context": [1]}))


def test_what_is_no_line_is_carried() -> None:
    """Lengths of HTTP chunks, as a recording has them between its lines."""
    events, error = read(b"6509\n", b"19b2\n", line({"content": "a"}), {"status": "x"}, b"b48 {\n", answer({}), b"0\n")
    assert error is None
    assert [event.raw for event in events if isinstance(event, Unknown)] == [6509, "19b2", {"status": "x"}, "b48 {"]
    assert fold(events).text == "a"


@pytest.mark.parametrize("lines", [[], [line({"content": "a"})], [line({"tool_calls": [call("f")]})]])
def test_a_cut_stream_never_looks_finished(lines: list[Wire]) -> None:
    events, error = read(*lines)
    assert isinstance(error, NetworkError)
    response = fold(events)
    assert (response.stop_reason, response.error) == (StopReason.error, error)
    assert [block.type for block in response.content] == [
        ["text", "tool_use"]["tool_calls" in one["message"]] for one in lines
    ]


def test_an_error_inside_a_stream() -> None:
    events, error = read(line({"thinking": "Hm"}), {"error": "the model crashed"}, answer({}))
    assert isinstance(error, ServerError)
    assert (error.message, error.provider_status) == ("the model crashed", None)
    assert fold(events).content == (ThinkingBlock(text="Hm", incomplete=True),)


def test_the_error_is_raised_after_the_partial_answer() -> None:
    chunks = [json.dumps(line({"content": "par"})).encode() + b"\n", b'{"error":"boom"}\n']
    events: list[Event] = []
    with pytest.raises(ServerError) as caught:
        events.extend(decode_stream(chunks, dialect="ollama"))
    assert caught.value.response is not None
    assert caught.value.response.text == "par"


def test_what_we_stream_is_what_we_answer() -> None:
    content = (TextBlock("a"), ToolUseBlock(id="c", name="f", input={"x": 1}), ThinkingBlock(text="t"), TextBlock("b"))
    response = Response(content=content, stop_reason="tool_use", model="m", usage=TokenUsage(1, output_tokens=2))
    encoder = OLLAMA.stream_encoder()
    body = b"".join(map(encoder.feed, unfold(response))) + encoder.close()
    decoder = OLLAMA.stream_decoder()
    encoded = OLLAMA.encode_response(response)
    assert fold(decoder.feed(body) + decoder.close()) == OLLAMA.decode_response(encoded.body)
    assert tuple(encoder.losses) == encoded.losses
    assert [json.loads(one)["done"] for one in body.splitlines()] == [False] * 4 + [True]


def test_an_error_in_a_whole_answer() -> None:
    response = OLLAMA.decode_response({"error": "boom"})
    assert (response.stop_reason, type(response.error)) == (StopReason.error, ServerError)
