"""Calls that were cut off: never sent back as finished ones, never run, never owed a result. (S1)"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from conformance.matrix import SPOKEN
from interlingua import (
    CancelledError,
    Message,
    ParseError,
    Request,
    Response,
    ServerError,
    StopReason,
    TextBlock,
    ThinkingBlock,
    TokenUsage,
    ToolDefinition,
    ToolOutput,
    ToolResultBlock,
    ToolUseBlock,
    build_tool_results,
    dialect,
    fold,
    parse_tool_calls,
    repair_tool_results,
    unfold,
    validate_tool_results,
)
from interlingua.testing.stream_laws import decode_bytes, encode_events

Json = Any
CUT = ToolUseBlock("call_cut", "write_file", input_text='{"path": "/tm', incomplete=True)
DONE = ToolUseBlock("call_done", "read_file", input={"path": "/etc"})
ADD = ToolDefinition("add", "Adds.", {"type": "object", "properties": {}, "additionalProperties": False})
IN_PIECES = ("anthropic-messages", "openai-chat", "openai-responses", "bedrock-converse")


def result(call: ToolUseBlock, text: str = "ok") -> ToolResultBlock:
    return ToolResultBlock(call.id, text, call.name)


def written(body: Json) -> str:
    return msgspec.json.encode(body).decode()


# ------------------------------------------------------------------------------------------------------ histories

HISTORY = (
    Message("user", "go"),
    Message("assistant", (TextBlock("first"), DONE, CUT, TextBlock("las", incomplete=True))),
    Message("tool", (result(CUT, "secret of the cut call"), result(DONE))),
    Message("assistant", (CUT,)),
    Message("tool", (result(CUT, "secret of the cut call"),)),
    Message("user", "and now?"),
)


@pytest.mark.parametrize("name", SPOKEN)
def test_a_history_leaves_out_a_cut_call_and_its_result(name: str) -> None:
    request = Request(HISTORY, model="m", max_output_tokens=9, tools=(ADD,))
    encoded = dialect(name).encode_request(request)
    wire = written(encoded.body)
    assert "write_file" not in wire
    assert "secret" not in wire
    assert "read_file" in wire
    assert "las" in wire
    assert dialect(name).encode_messages(HISTORY).body == encoded.body[dialect(name).history_key]
    assert validate_tool_results(encoded.body[dialect(name).history_key], dialect=name) == []


@pytest.mark.parametrize("name", SPOKEN)
def test_losses_of_a_cut_history_name_the_callers_places(name: str) -> None:
    late = Message("user", (TextBlock("see", extras={"elsewhere": {"x": 1}}),))
    losses = dialect(name).encode_request(Request((*HISTORY, late), model="m", max_output_tokens=9)).losses
    dropped = {loss.path: loss for loss in losses if "cut off" in loss.reason and loss.weight == "content"}
    assert set(dropped) == {"messages/1/content/2", "messages/2/content/0", "messages/3/content/0", "messages/4"}
    assert {loss.kind for loss in dropped.values()} == {"dropped"}
    assert dropped["messages/1/content/2"].reason == "the call was cut off before it was finished, so it was left out"
    assert "messages/6/content/0/extras/elsewhere/x" in {loss.path for loss in losses}


@pytest.mark.parametrize("name", SPOKEN)
def test_a_turn_that_was_nothing_but_a_cut_call_stays_a_turn(name: str) -> None:
    history = (Message("user", "go"), Message("assistant", (CUT,)), Message("user", "well?"))
    read = dialect(name).decode_request({dialect(name).history_key: dialect(name).encode_messages(history).body})
    assert [message.role for message in read.messages] == ["user", "assistant", "user"]
    assert read.messages[1].content or name == "ollama"  # which accepts a turn without text


def test_only_the_result_of_the_cut_call_goes_where_ids_repeat() -> None:
    again = replace(CUT, incomplete=False, input={}, input_text=None)
    history = (*HISTORY[3:5], Message("assistant", (again,)), Message("tool", (result(again, "kept"),)))
    wire = written(dialect("anthropic-messages").encode_messages((Message("user", "go"), *history)).body)
    assert "secret" not in wire
    assert "kept" in wire


@pytest.mark.parametrize("name", SPOKEN)
def test_a_result_in_a_user_message_goes_with_its_cut_call(name: str) -> None:
    joined = Message("user", (result(CUT, "secret"), TextBlock("go on")))
    history = (Message("user", "go"), Message("assistant", (CUT,)), joined)
    wire = written(dialect(name).encode_messages(history).body)
    assert "secret" not in wire
    assert "go on" in wire


@pytest.mark.parametrize("name", SPOKEN)
def test_a_cut_thought_is_sent_without_its_signature(name: str) -> None:
    """The proof of half a thought would be refused, and the session with it."""
    thought = ThinkingBlock("hm", signature="aGFsZiBhIHByb29m", incomplete=True)
    history = (Message("user", "go"), Message("assistant", (thought, TextBlock("so"))), Message("user", "well?"))
    assert "aGFsZiBhIHByb29m" not in written(dialect(name).encode_messages(history).body)


# -------------------------------------------------------------------------------------------------- whole answers

CALLS = (CUT, replace(CUT, input={"path": "/tmp"}, input_text=None))


@pytest.mark.parametrize("name", SPOKEN)
@pytest.mark.parametrize("stop", [StopReason.cancelled, StopReason.error])
def test_a_broken_answer_is_written_without_its_cut_call(name: str, stop: StopReason) -> None:
    encoded = dialect(name).encode_response(Response((TextBlock("so"), CUT), stop, id="r", model="m"))
    assert "write_file" not in written(encoded.body)
    assert [loss.weight for loss in encoded.losses if loss.path == "content/1"] == ["content"]


@pytest.mark.parametrize("name", IN_PIECES)
@pytest.mark.parametrize("call", CALLS, ids=["half", "it parses"])
def test_the_last_call_of_an_answer_that_reached_its_limit_is_read_as_cut_off(name: str, call: ToolUseBlock) -> None:
    answer = Response((TextBlock("so"), DONE, call), "max_tokens", id="r", model="m", usage=TokenUsage(1, 0, 0, 2))
    whole = dialect(name).decode_response(dialect(name).encode_response(answer).body)
    streamed = fold(decode_bytes(name, [encode_events(name, unfold(answer))[0]])[0])
    for read in (whole, streamed):
        assert read.stop_reason == "max_tokens"
        assert [(use.name, use.incomplete) for use in read.tool_uses] == [("read_file", False), ("write_file", True)]


@pytest.mark.parametrize("name", IN_PIECES)
def test_a_finished_call_that_will_be_read_as_cut_off_is_a_loss(name: str) -> None:
    """A whole call of Gemini's before its limit: protocols that write in pieces cannot say that it is whole."""
    answer = Response((TextBlock("so"), DONE), "max_tokens", id="r", model="m", usage=TokenUsage(1, 0, 0, 2))
    assert "content/1/incomplete" in {loss.path for loss in dialect(name).encode_response(answer).losses}
    assert "content/1/incomplete" in {loss.path for loss in encode_events(name, unfold(answer))[1]}


@pytest.mark.parametrize("name", ["gemini", "ollama"])
def test_protocols_of_whole_calls_leave_a_cut_call_out(name: str) -> None:
    encoded = dialect(name).encode_response(Response((TextBlock("so"), CUT), "max_tokens", id="r", model="m"))
    assert "write_file" not in written(encoded.body)
    assert "content/1" in {loss.path for loss in encoded.losses}


# -------------------------------------------------------------------------------------------------------- streams


@pytest.mark.parametrize("name", SPOKEN)
def test_a_cancelled_answer_never_looks_finished_in_a_stream(name: str) -> None:
    """Even one that was saved and has lost its error."""
    said, _ = encode_events(name, unfold(Response((TextBlock("so"), CUT), "cancelled", id="r", model="m")))
    events, error = decode_bytes(name, [said])
    assert error is not None or fold(events).stop_reason == "cancelled"  # Responses has a word for it
    assert all(use.incomplete for use in fold(events).tool_uses)


@pytest.mark.parametrize("name", SPOKEN)
def test_nothing_is_written_after_a_failure(name: str) -> None:
    encoder = dialect(name).stream_encoder()
    answer = Response((TextBlock("so"), DONE), "tool_use", id="r", model="m")
    events = list(unfold(answer))
    for event in events[:6]:
        encoder.feed(event)
    assert encoder.fail(ServerError("down"))
    assert [encoder.feed(event) for event in events[6:]] == [b""] * len(events[6:])
    assert encoder.fail(CancelledError("enough")) == b""
    assert encoder.close() == b""


@pytest.mark.parametrize("name", ["anthropic-messages", "bedrock-converse"])
def test_finished_blocks_that_waited_when_the_stream_failed_are_a_loss(name: str) -> None:
    """One block at a time: the second call waits for the end of the first, which never comes."""
    encoder = dialect(name).stream_encoder()
    first, second = unfold(Response((CUT,), "tool_use")), unfold(Response((DONE,), "tool_use"))
    start, *call, _ = first
    other = [replace(event, index=1) for event in list(second)[1:-1]]
    for event in (start, call[0], call[1], *other):
        encoder.feed(event)
    said = encoder.fail(ServerError("down"))
    assert b"read_file" not in said
    assert [(loss.path, loss.kind) for loss in encoder.losses if loss.path.startswith("content")] == [
        ("content/1", "dropped")
    ]


# ------------------------------------------------------------------------------------------------------- helpers

BODY: Json = {
    "id": "m", "type": "message", "role": "assistant", "model": "c", "stop_sequence": None, "stop_reason": "max_tokens",
    "usage": {"input_tokens": 1, "output_tokens": 2},
    "content": [
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"x": 1}},
        {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}},
    ],
}  # fmt: skip


def test_parsed_calls_say_that_they_are_cut_off_and_strict_refuses_them() -> None:
    calls = parse_tool_calls(BODY, dialect="anthropic-messages")
    assert [(call.id, call.incomplete) for call in calls] == [("toolu_1", False), ("toolu_2", True)]
    with pytest.raises(ParseError):
        parse_tool_calls(BODY, dialect="anthropic-messages", strict=True)


def test_a_cut_call_needs_no_result() -> None:
    said = build_tool_results(BODY, [ToolOutput("toolu_1", "1")], dialect="anthropic-messages")
    assert [block["type"] for turn in said for block in turn["content"]] == ["tool_use", "tool_result"]
    with pytest.raises(ParseError, match="cut off"):
        build_tool_results(BODY, [ToolOutput("toolu_2", "2")], dialect="anthropic-messages")


def test_a_history_with_a_cut_call_is_whole() -> None:
    history = [Message("user", "go"), Message("assistant", (CUT,)), Message("user", "well?")]
    assert validate_tool_results(history, dialect="openai-chat") == []
    assert repair_tool_results(history, dialect="openai-chat") == history


@pytest.mark.parametrize("word", ["error", "insufficient_system_resource"])
def test_the_last_call_before_a_word_for_an_error_is_cut_off(word: str) -> None:
    """A server that was interrupted ends the stream as it ends any: by a finish reason."""
    function = {"name": "f", "arguments": '{"x":1}'}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": function}],
    }
    choice: Json = {"index": 0, "message": message, "finish_reason": word}
    body: Json = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    response = dialect("openai-chat").decode_response(body)
    assert (response.stop_reason, response.tool_uses[0].incomplete) == ("error", True)
    said, _ = encode_events("anthropic-messages", unfold(response))
    assert b"content_block_stop" not in said
    assert decode_bytes("anthropic-messages", [said])[1] is not None


def test_everything_in_a_whole_answer_that_brings_an_error_is_cut_off() -> None:
    message = {"role": "assistant", "content": "so", "tool_calls": None}
    body = {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": None}], "error": {"message": "no"}}
    assert [block.incomplete for block in dialect("openai-chat").decode_response(body).content] == [True]


@pytest.mark.parametrize("name", ["anthropic-messages", "bedrock-converse"])
def test_nothing_is_written_behind_the_call_that_a_limit_cut_off(name: str) -> None:
    """Readers know such a call by its place: behind it, the rest of an earlier text would make it a finished one."""
    encoder = dialect(name).stream_encoder()
    answer = Response((TextBlock("so it is"), CUT), "max_tokens")
    start, text, delta, end, call, arguments, cut, stop = unfold(answer)
    late = (start, text, replace(delta, text="so "), call, replace(delta, text="it is"), end, arguments, cut, stop)  # type: ignore[type-var]
    said = b"".join(encoder.feed(event) for event in late)
    (read,) = fold(decode_bytes(name, [said])[0]).tool_uses
    assert read.incomplete
    assert ("content/0", "dropped") in {(loss.path, loss.kind) for loss in encoder.losses}
