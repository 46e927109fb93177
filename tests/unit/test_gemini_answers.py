"""Answers, streams and errors of Gemini, as tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlingua import (
    AdapterError,
    BlockComplete,
    BlockStart,
    Citation,
    Event,
    MessageComplete,
    MessageStart,
    NetworkError,
    OverloadedError,
    ParseError,
    RateLimitError,
    Request,
    Response,
    ServerError,
    StopReason,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    TokenUsage,
    ToolDefinition,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    decode_stream,
    dialect,
    fold,
)

GEMINI = dialect("gemini")
Wire = dict[str, Any]


def body(*parts: Any, finish: Any = "STOP", **candidate: Any) -> Wire:
    content = {"parts": list(parts), "role": "model"}
    return {"candidates": [{"content": content, "finishReason": finish, "index": 0, **candidate}]}


def chunk(*parts: Any, **candidate: Any) -> Wire:
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, "index": 0, **candidate}]}


def call(name: str | None = None, **fields: Any) -> Wire:
    return {"functionCall": {**({} if name is None else {"name": name}), **fields}}


def whole(wire: Wire) -> Response:
    """What an answer says; it is written again just as it was."""
    response = GEMINI.decode_response(wire)
    encoded = GEMINI.encode_response(response)
    assert encoded.body == wire
    assert encoded.losses == ()
    return response


def sse(*chunks: Any, end: str = "\r\n\r\n") -> bytes:
    return "".join(f"data: {json.dumps(wire)}{end}" for wire in chunks).encode()


def events_of(raw: bytes, request: Request | None = None) -> tuple[list[Event], AdapterError | None]:
    """The events of a stream, the same however it is split."""
    decoder = GEMINI.stream_decoder(request)
    events = decoder.feed(raw) + decoder.close()
    for size in (1, 7):
        split = GEMINI.stream_decoder(request)
        assert [e for i in range(0, len(raw), size) for e in split.feed(raw[i : i + size])] + split.close() == events
    return events, decoder.error


def said(events: Any) -> tuple[bytes, list[tuple[str, str]]]:
    encoder = GEMINI.stream_encoder()
    written = b"".join(map(encoder.feed, events)) + encoder.close()
    return written, [(loss.kind, loss.path) for loss in encoder.losses]


# ------------------------------------------------------------------------------------------------------ whole answers


def test_usage_that_has_no_count_here() -> None:
    response = Response(content=(TextBlock("x"),), usage=TokenUsage(3, cache_creation_input_tokens=2, output_tokens=1))
    encoded = GEMINI.encode_response(response)
    assert encoded.body["usageMetadata"]["promptTokenCount"] == 5
    assert [(loss.kind, loss.path) for loss in encoded.losses] == [("approximated", "usage")]


# ---------------------------------------------------------------------------------------------------------- citations


def test_citations_of_our_own_making() -> None:
    one, two = (
        Citation("url", url="u", title="U", start=0, end=2),
        Citation("url", url="u", title="U", start=3, end=5),
    )
    loose, page = Citation("url", url="v"), Citation("page", index=1, start=2)
    response = Response(content=(TextBlock("ab cd", citations=(one, two, loose)),))
    assert GEMINI.decode_response(GEMINI.encode_response(response).body).content == response.content
    encoded = GEMINI.encode_response(Response(content=(TextBlock("ab", citations=(page,)),)))
    assert [(loss.kind, loss.path) for loss in encoded.losses] == [("dropped", "content/0/citations/0")]


# ------------------------------------------------------------------------------------------------------------ streams


def test_one_answer_is_a_stream_and_so_is_an_array_of_pieces() -> None:
    array = (
        b"\r\n[" + b"\n,\r\n".join(json.dumps(w).encode() for w in (chunk({"text": "a"}), body({"text": "b"}))) + b"]"
    )
    for raw in (array, b"\n" + json.dumps(body({"text": "ab"})).encode()):
        events, error = events_of(raw)
        assert error is None
        assert fold(events).content == (TextBlock("ab"),)


def test_arguments_that_a_strict_schema_made_null_come_back_absent() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    request = Request(tools=(ToolDefinition("f", input_schema=schema, strict=True), ToolDefinition("t", kind="text")))
    wire = body(call("f", id="1", args={"a": "x", "b": None}), call("t", id="2", args={"input": "words"}))
    response = GEMINI.decode_response(wire, request=request)
    assert [block.input for block in response.tool_uses] == [{"a": "x"}, {}]
    assert (response.tool_uses[1].kind, response.tool_uses[1].input_text) == ("text", "words")
    events, _ = events_of(sse(wire), request)
    assert fold(events).content == response.content
    texts = [event.partial_json for event in events if isinstance(event, ToolUseInputDelta)]
    assert texts == ['{"a":"x","b":null}', "words"]


# ---------------------------------------------------------------------------------------------------- ends and errors


@pytest.mark.parametrize("raw", [b"", b"data: ", b"[{"])
def test_a_cut_stream_never_looks_finished(raw: bytes) -> None:
    events, error = events_of(raw)
    assert isinstance(error, NetworkError)
    last = events[-1]
    assert isinstance(last, MessageComplete)
    assert last.response.stop_reason is StopReason.error
    with pytest.raises(NetworkError):
        list(decode_stream([raw], dialect="gemini"))


def test_an_error_inside_an_array() -> None:
    failure = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    events, error = events_of(
        b"[" + json.dumps(chunk({"text": "a"})).encode() + b"," + json.dumps(failure).encode() + b"]"
    )
    assert isinstance(error, OverloadedError)
    assert (error.provider_status, error.provider_code) == (503, "UNAVAILABLE")
    assert fold(events).text == "a"


def test_an_array_that_is_none() -> None:
    _, error = events_of(b"[1]")
    assert isinstance(error, ParseError)


def test_how_long_to_wait_is_told_in_the_details() -> None:
    wire = GEMINI.encode_error(RateLimitError("slow", retry_after=12.5))
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12.5s"}
    assert json.loads(wire.body)["error"]["details"] == [retry]
    error = GEMINI.decode_error(wire.status, {}, wire.body)
    assert error.retry_after == 12.5
    error.retry_after = 3.0
    assert json.loads(GEMINI.encode_error(error).body)["error"]["details"] == [{**retry, "retryDelay": "3s"}]


# ------------------------------------------------------------------------------------------------------------ writing


def test_a_signature_that_comes_late_has_a_part_of_its_own() -> None:
    thought = ThinkingBlock(text="hm", signature="c2ln")
    events = [
        MessageStart("r", "m"),
        BlockStart(0, ThinkingBlock()),
        ThinkingDelta(0, "hm"),
        BlockComplete(0, thought),
        MessageComplete(Response(content=(thought,), id="r", model="m")),
    ]
    written, losses = said(events)
    assert fold(events_of(written)[0]).content == (ThinkingBlock(text="hm"), ThinkingBlock(signature="c2ln"))
    assert losses == [("moved", "content/0/signature")]


@pytest.mark.parametrize("late", [True, False])
def test_a_signature_that_is_not_base64_is_left_out(late: bool) -> None:
    """The official client raises at the whole answer, or at the chunk that has it."""
    thought = ThinkingBlock(text="hm", signature="sig-first")
    response = Response(content=(thought,), id="r", model="m")
    lost = [("dropped", "content/0/signature")]
    encoded = GEMINI.encode_response(response)
    assert encoded.body["candidates"][0]["content"]["parts"] == [{"text": "hm", "thought": True}]
    assert [(loss.kind, loss.path) for loss in encoded.losses] == lost
    begun = ThinkingBlock() if late else ThinkingBlock(signature="sig-first")
    events = [MessageStart("r", "m"), BlockStart(0, begun), ThinkingDelta(0, "hm"), BlockComplete(0, thought)]
    written, losses = said([*events, MessageComplete(response)])
    assert b"ignature" not in written
    assert fold(events_of(written)[0]).content == (ThinkingBlock(text="hm"),)
    assert losses == lost


def test_blocks_that_are_open_together() -> None:
    first, second = ToolUseBlock("1", "f", input={"a": 1}), TextBlock("after", signature="c2ln")
    events = [
        MessageStart(),
        ToolUseStart(0, "1", "f", ToolUseBlock("1", "f")),
        BlockStart(1, TextBlock("", signature="c2ln")),
        TextDelta(1, "after"),
        ToolUseInputDelta(0, '{"a":1}'),
        BlockComplete(1, second),
        ToolUseEnd(0, {"a": 1}, first),
        MessageComplete(Response(content=(first, second), stop_reason="tool_use")),
    ]
    written, losses = said(events)
    assert fold(events_of(written)[0]).content == (first, second)
    assert losses == []


def test_a_stream_that_fails() -> None:
    encoder = GEMINI.stream_encoder()
    encoder.feed(MessageStart())
    written = encoder.fail(ServerError("broken"))
    assert json.loads(written.removeprefix(b"data: ")) == {
        "error": {"code": 500, "message": "broken", "status": "INTERNAL"}
    }
    assert encoder.fail(ServerError("again")) == b""
    assert encoder.close() == b""
