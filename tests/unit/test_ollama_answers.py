"""Answers, streams and errors of Ollama, as tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlingua import (
    Event,
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
