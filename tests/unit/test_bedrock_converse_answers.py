"""Answers, streams and errors of Bedrock Converse, as tables."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import (
    AdapterError,
    BlockComplete,
    BlockStart,
    CacheMark,
    DocumentBlock,
    ErrorClass,
    Event,
    JsonBlock,
    Message,
    MessageComplete,
    MessageStart,
    NetworkError,
    OpaqueBlock,
    ParseError,
    RateLimitError,
    RedactedThinkingBlock,
    RefusalBlock,
    Request,
    Response,
    ServerToolUseBlock,
    StopReason,
    TextBlock,
    TextSource,
    ThinkingBlock,
    ThinkingDelta,
    TokenUsage,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseEnd,
    UsageUpdate,
    dialect,
    error_type,
    fold,
    unfold,
)
from interlingua.codec.framing import EventStreamDecoder, encode_frame
from shared_data import corpus, needs_shared, stream_bytes

NAME = "bedrock-converse"
BEDROCK = dialect(NAME)
Wire = dict[str, Any]
USAGE: Wire = {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}
METRICS: Wire = {"latencyMs": 7}


def answer(*content: Wire, **fields: Any) -> Wire:
    message = {"role": "assistant", "content": list(content)}
    return {"output": {"message": message}, "stopReason": "end_turn", "usage": USAGE, "metrics": METRICS, **fields}


def frame(name: str, payload: Any, **headers: str) -> bytes:
    told = {":event-type": name, ":content-type": "application/json", ":message-type": "event", **headers}
    return encode_frame(told, payload if isinstance(payload, bytes) else json.dumps(payload).encode())


def delta(at: int, /, **delta: Any) -> bytes:
    return frame("contentBlockDelta", {"contentBlockIndex": at, "delta": delta, "p": "abc"})


def start(at: int, **start: Any) -> bytes:
    return frame("contentBlockStart", {"contentBlockIndex": at, "start": start, "p": "abcd"})


def stop(at: int) -> bytes:
    return frame("contentBlockStop", {"contentBlockIndex": at, "p": "a"})


BEGIN = frame("messageStart", {"role": "assistant", "p": "abcdefg"})
END = frame("messageStop", {"stopReason": "end_turn", "p": "ab"})
META = frame("metadata", {"usage": USAGE, "metrics": METRICS, "p": "abc"})


def read(*frames: bytes, request: Request | None = None) -> tuple[list[Event], AdapterError | None]:
    """The events of a stream, the same for every way of cutting its bytes."""
    wire, found = b"".join(frames), list[tuple[list[Event], AdapterError | None]]()
    for size in (1, 50, len(wire) or 1):
        decoder = BEDROCK.stream_decoder(request)
        events = [event for at in range(0, len(wire), size) for event in decoder.feed(wire[at : at + size])]
        found.append((events + decoder.close(), decoder.error))
    by_frame = BEDROCK.stream_decoder(request)
    events = [event for chunk in frames for event in by_frame.feed(chunk)] + by_frame.close()
    assert [repr(each) for each, _ in found] == [repr(events)] * 3
    return events, by_frame.error


def whole(*frames: bytes, request: Request | None = None) -> Response:
    events, error = read(*frames, request=request)
    assert error is None
    return fold(events)


def said(events: list[Event]) -> tuple[list[tuple[str, Wire]], list[tuple[str, str]]]:
    """The frames that say a stream, and what they could not say."""
    encoder = BEDROCK.stream_encoder()
    wire = b"".join(map(encoder.feed, events)) + encoder.close()
    frames = EventStreamDecoder().feed(wire)
    told = [(str(f.headers[":event-type"]), json.loads(f.payload)) for f in frames]
    return told, [(loss.kind, loss.path) for loss in encoder.losses]


# ------------------------------------------------------------------------------------------------- whole answers


def test_an_edited_count_shows_wherever_it_is_said() -> None:
    older = {"cacheReadInputTokenCount": 10, "cacheWriteInputTokenCount": 0, "serverToolUsage": {}}
    usage = {**USAGE, "totalTokens": 15, "cacheReadInputTokens": 10, "cacheWriteInputTokens": 0, **older}
    response = BEDROCK.decode_response(answer(usage=usage))
    edited = replace(response, usage=TokenUsage(3, 11, 4, 2))
    assert BEDROCK.encode_response(edited).body["usage"] == {
        "inputTokens": 3, "outputTokens": 2, "totalTokens": 20, "serverToolUsage": {},
        "cacheReadInputTokens": 11, "cacheReadInputTokenCount": 11,
        "cacheWriteInputTokens": 4, "cacheWriteInputTokenCount": 4,
    }  # fmt: skip


def test_an_answer_by_hand_is_whole() -> None:
    encoded = BEDROCK.encode_response(Response((TextBlock("a"),)))
    counts = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
    assert encoded.body == answer({"text": "a"}, usage=counts, metrics={"latencyMs": 0})
    assert [(loss.kind, loss.path) for loss in encoded.losses] == [("added", "usage")]


def test_an_error_in_a_200() -> None:
    response = BEDROCK.decode_response({"message": "Too many requests"}, {"x-amzn-errortype": "ThrottlingException"})
    assert response.stop_reason is StopReason.error
    assert response.error.error_class is ErrorClass.rate_limit
    assert BEDROCK.encode_response(response).body == {"message": "Too many requests"}
    with pytest.raises(ParseError):
        BEDROCK.decode_response([])


def test_optionals_come_back_absent() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    request = Request((Message("user", "?"),), tools=(ToolDefinition("f", "d", schema, strict=True),))
    call = {"toolUseId": "t", "name": "f"}
    body = answer({"toolUse": {**call, "input": {"a": "x", "b": None}}})
    frames = [BEGIN, start(0, toolUse=call), delta(0, toolUse={"input": '{"a":"x","b":null}'}), stop(0), END, META]
    for response in (BEDROCK.decode_response(body, request=request), whole(*frames, request=request)):
        assert response.tool_uses[0].input == {"a": "x"}


# ------------------------------------------------------------------------------------------------------- streams


def test_usage_is_told_once_it_is_known() -> None:
    events, _ = read(BEGIN, delta(0, text="a"), stop(0), END, META)
    assert [event.type for event in events] == [
        "message.start", "block.start", "text.delta", "block.complete", "usage.update", "message.complete",
    ]  # fmt: skip
    assert events[4] == UsageUpdate(TokenUsage(3, output_tokens=2))


ERROR_FRAME = {":message-type": "error", ":error-code": "AccessDeniedException", ":error-message": "No."}
CHECKSUM = "the checksum of an event-stream frame does not match"


@pytest.mark.parametrize(
    ("wire", "error_class", "code", "message"),
    [
        (encode_frame(ERROR_FRAME, b""), ErrorClass.auth, "AccessDeniedException", "No."),
        (END[:-1] + bytes([END[-1] ^ 1]), ErrorClass.invalid_request, None, CHECKSUM),
    ],
    ids=["an error frame", "a wrong checksum"],
)
def test_faults_in_a_stream(wire: bytes, error_class: ErrorClass, code: str | None, message: str) -> None:
    events, error = read(BEGIN, delta(0, text="a"), wire, END, META)
    assert error is not None
    assert (error.error_class, error.provider_code, error.message) == (error_class, code, message)
    assert fold(events).text == "a"


def test_a_frame_that_is_cut_is_no_last_word() -> None:
    _, error = read(BEGIN, delta(0, text="a"), stop(0), END[:-1])
    assert isinstance(error, NetworkError)


@needs_shared
def test_recorded_streams_written_again_have_the_same_frames() -> None:
    """Padding and what a stream of a test double lacks aside, we write what the service wrote."""
    seen = 0
    for record in corpus("bedrock-converse-stream"):
        wire = stream_bytes(record)
        if wire is None:
            continue
        events, error = read(wire)
        assert error is None
        told = [(frame["headers"][":event-type"], frame["payload"]) for frame in record["response_events"]]
        assert said(events)[0] == [(name, {k: v for k, v in wire.items() if k != "p"}) for name, wire in told]
        seen += 1
    assert seen > 40


UNSAID: dict[str, tuple[Response, list[tuple[str, str]]]] = {
    "a document": (Response((DocumentBlock(TextSource("t"), "n"),)), [("dropped", "content/0")]),
    "a result with a picture": (
        Response((ToolResultBlock("t", (TextBlock("a"), DocumentBlock(TextSource("t"), "n"))),)),
        [("dropped", "content/0/content")]),
    "another's block": (Response((OpaqueBlock(dialect="gemini", raw={}),)), [("dropped", "content/0")]),
    "a refusal": (Response((RefusalBlock("no"),)), [("approximated", "content/0")]),
    "JSON": (Response((JsonBlock({"a": 1}),)), [("approximated", "content/0")]),
    "a cache point": (Response((TextBlock("a", cache=CacheMark()),)), [("dropped", "content/0/cache")]),
    "residue of a text": (
        Response((TextBlock("a", extras={NAME: {"new": 1}}),)), [("dropped", f"content/0/extras/{NAME}/new")]),
    "residue of the message": (
        Response((TextBlock("a"),), extras={NAME: {"output": {"new": 1}}}), [("dropped", f"extras/{NAME}/output")]),
    "free text": (
        Response((ToolUseBlock(id="t", name="f", kind="text", input_text="ls"),)),
        [("approximated", "content/0/input_text"), ("approximated", "content/0/kind"), ("added", "content/0/input")]),
}  # fmt: skip


@pytest.mark.parametrize(("response", "declared"), UNSAID.values(), ids=UNSAID)
def test_what_a_stream_cannot_say(response: Response, declared: list[tuple[str, str]]) -> None:
    frames, losses = said(list(unfold(replace(response, usage=TokenUsage()))))
    assert losses == declared
    assert [name for name, _ in frames[-2:]] == ["messageStop", "metadata"]


def test_a_block_that_says_nothing_is_still_there() -> None:
    blocks = (
        TextBlock(""),
        ThinkingBlock(""),
        RedactedThinkingBlock(data="AA=="),
        ServerToolUseBlock(id="t", name="f"),
    )
    frames, losses = said(list(unfold(Response(blocks, usage=TokenUsage()))))
    assert losses == []
    assert sum(name == "contentBlockStop" for name, _ in frames) == 4
    assert ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": ""}}) in frames


def test_a_thought_ended_before_its_signature_is_declared() -> None:
    thought = ThinkingBlock("ab", signature="s")
    events: list[Event] = [
        MessageStart(), BlockStart(0, ThinkingBlock("")), ThinkingDelta(0, "a"), BlockStart(1, TextBlock("")),
        ThinkingDelta(0, "b"), BlockComplete(0, thought), BlockComplete(1, TextBlock("")),
        MessageComplete(Response((thought, TextBlock("")), usage=TokenUsage())),
    ]  # fmt: skip
    frames, losses = said(events)
    assert losses == [("dropped", "content/0/signature"), ("moved", "content/0")]
    assert [wire["delta"] for name, wire in frames if name == "contentBlockDelta"] == [
        {"reasoningContent": {"text": "a"}}, {"text": ""}, {"reasoningContent": {"text": "b"}},
    ]  # fmt: skip


def test_illegal_events_are_the_callers_mistake() -> None:
    encoder = BEDROCK.stream_encoder()
    with pytest.raises(ParseError):
        encoder.feed(ToolUseEnd(0, {}, ToolUseBlock(id="t", name="f")))


def test_nothing_is_written_behind_an_error() -> None:
    encoder = BEDROCK.stream_encoder()
    encoder.feed(MessageStart())
    assert encoder.fail(RateLimitError("slow"))
    assert encoder.fail(RateLimitError("slow")) == b""
    assert encoder.close() == b""


# -------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("error_class", [
    ErrorClass.rate_limit, ErrorClass.auth, ErrorClass.server_error, ErrorClass.timeout, ErrorClass.context_overflow,
    ErrorClass.invalid_request, ErrorClass.tool_error,
])  # fmt: skip
@pytest.mark.parametrize("retryable", [True, False])
def test_a_class_survives_the_wire(error_class: ErrorClass, retryable: bool) -> None:
    error = error_type(error_class)("m", retryable=retryable, request_id="r")
    wire = BEDROCK.encode_error(error)
    read_again = BEDROCK.decode_error(wire.status, wire.headers, wire.body)
    assert read_again.error_class is error_class
    assert read_again.request_id == "r"
    if error_class is ErrorClass.rate_limit:
        assert read_again.retryable is retryable
