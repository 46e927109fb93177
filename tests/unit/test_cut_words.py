"""The judge of cut streams: what it takes for finished, from streams written by hand. No dialect is asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlingua.codec.framing import encode_frame
from lab.cuts.check import Recorded, cut_stream, target_faults
from lab.cuts.frames import read_frames
from lab.cuts.told import Told
from lab.cuts.words import read_told

Json = Any
ARGUMENTS = '{"a":1}'


def sse(*values: Json) -> bytes:
    return b"".join(b"data: " + (v if isinstance(v, bytes) else json.dumps(v).encode()) + b"\n\n" for v in values)


def lines(*values: Json) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def binary(*values: Json) -> bytes:
    return b"".join(
        encode_frame({":message-type": "event", ":event-type": name}, json.dumps(value).encode())
        for wire in values
        for name, value in wire.items()
    )


def chat(delta: Json, finish: str | None = None) -> Json:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def chat_call(index: int, arguments: str) -> Json:
    return chat({"tool_calls": [{"index": index, "id": f"c{index}", "function": {"arguments": arguments}}]})


def gemini(*parts: Json, **more: Json) -> Json:
    return {"candidates": [{"content": {"parts": list(parts)}, **more}]}


CALL = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
ITEM = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "", "status": "in_progress"}
MESSAGES = (
    {"type": "content_block_start", "index": 0, "content_block": CALL},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ARGUMENTS}},
)
MESSAGES_STOP = {"type": "content_block_stop", "index": 0}
MESSAGES_NEXT = {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}
RESPONSES = (
    {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
    {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": ARGUMENTS},
)
DONE = {**ITEM, "arguments": ARGUMENTS, "status": "completed"}
RESPONSES_DONE = {"type": "response.output_item.done", "output_index": 0, "item": DONE}
RESPONSES_NEXT = {"type": "response.output_item.added", "output_index": 1, "item": {**ITEM, "id": "fc2"}}
CONVERSE = (
    {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "c", "name": "f"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": ARGUMENTS}}}},
)
CONVERSE_STOP = {"contentBlockStop": {"contentBlockIndex": 0}}


def stopped(word: str) -> Json:
    return {"type": "message_delta", "delta": {"stop_reason": word}}


def incomplete(reason: str) -> Json:
    return {"type": "response.incomplete", "response": {"incomplete_details": {"reason": reason}}}


# dialect, bytes, whether the call is surely finished, whether a reader would take it for finished
STREAMS: dict[str, tuple[str, bytes, bool, bool]] = {
    "messages, open": ("anthropic-messages", sse(*MESSAGES), False, False),
    "messages, closed, more may come": ("anthropic-messages", sse(*MESSAGES, MESSAGES_STOP), False, True),
    "messages, next": ("anthropic-messages", sse(*MESSAGES, MESSAGES_STOP, MESSAGES_NEXT), True, True),
    "messages, stopped": ("anthropic-messages", sse(*MESSAGES, MESSAGES_STOP, stopped("tool_use")), True, True),
    "messages, limit": ("anthropic-messages", sse(*MESSAGES, MESSAGES_STOP, stopped("max_tokens")), False, False),
    "messages, CRLF": (
        "anthropic-messages", sse(*MESSAGES, MESSAGES_STOP, stopped("x")).replace(b"\n", b"\r\n"), True, True,
    ),
    "chat, open": ("openai-chat", sse(chat_call(0, ARGUMENTS)), False, False),
    "chat, next": ("openai-chat", sse(chat_call(0, ARGUMENTS), chat_call(1, "")), True, False),
    "chat, goes on": ("openai-chat", sse(chat_call(0, "{"), chat_call(1, ""), chat_call(0, '"a":1}')), False, False),
    "chat, stopped": ("openai-chat", sse(chat_call(0, ARGUMENTS), chat({}, "tool_calls")), True, True),
    "chat, limit": ("openai-chat", sse(chat_call(0, ARGUMENTS), chat({}, "length")), False, False),
    "chat, only [DONE]": ("openai-chat", sse(chat_call(0, ARGUMENTS), b"[DONE]"), True, True),
    "responses, open": ("openai-responses", sse(*RESPONSES), False, False),
    "responses, closed, more may come": ("openai-responses", sse(*RESPONSES, RESPONSES_DONE), False, True),
    "responses, arguments closed": (
        "openai-responses",
        sse(*RESPONSES, {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": ARGUMENTS}),
        False, True,
    ),
    "responses, next": ("openai-responses", sse(*RESPONSES, RESPONSES_DONE, RESPONSES_NEXT), True, True),
    "responses, stopped": (
        "openai-responses", sse(*RESPONSES, {"type": "response.completed", "response": {"output": [DONE]}}), True, True,
    ),
    "responses, limit": (
        "openai-responses", sse(*RESPONSES, RESPONSES_DONE, incomplete("max_output_tokens")), False, False,
    ),
    "responses, failed with a finished item": (
        "openai-responses", sse(*RESPONSES, {"type": "response.failed", "response": {"output": [DONE]}}), False, True,
    ),
    "gemini, whole": ("gemini", sse(gemini({"functionCall": {"args": {"a": 1}}})), True, True),
    "gemini, array": ("gemini", json.dumps([gemini({"functionCall": {"args": {"a": 1}}})]).encode()[:-1], True, True),
    "gemini, open": ("gemini", sse(gemini({"functionCall": {"args": {"a": 1}, "willContinue": True}})), False, False),
    "gemini, in pieces": (
        "gemini",
        sse(
            gemini({"functionCall": {"name": "f", "willContinue": True}}),
            gemini({"functionCall": {"partialArgs": [{"jsonPath": "$.a", "numberValue": 1}], "willContinue": True}}),
            gemini({"functionCall": {}}),
        ),
        True, True,
    ),
    "ollama": ("ollama", lines({"message": {"tool_calls": [{"function": {"arguments": {"a": 1}}}]}}), True, True),
    "converse, open": ("bedrock-converse", binary(*CONVERSE), False, False),
    "converse, closed, more may come": ("bedrock-converse", binary(*CONVERSE, CONVERSE_STOP), False, True),
    "converse, stopped": (
        "bedrock-converse", binary(*CONVERSE, CONVERSE_STOP, {"messageStop": {"stopReason": "tool_use"}}), True, True,
    ),
    "converse, limit": (
        "bedrock-converse", binary(*CONVERSE, CONVERSE_STOP, {"messageStop": {"stopReason": "max_tokens"}}),
        False, False,
    ),
}  # fmt: skip


def told(dialect: str, data: bytes) -> Told:
    return read_told(dialect, read_frames(dialect, data))


@pytest.mark.parametrize("name", STREAMS)
def test_when_a_call_is_finished(name: str) -> None:
    dialect, data, surely, seemingly = STREAMS[name]
    found = told(dialect, data)
    assert found.finished_calls(surely=True)[ARGUMENTS] == surely
    assert found.finished_calls(surely=False)[ARGUMENTS] == seemingly


# dialect, bytes that end the answer, bytes that fail it
ENDS: dict[str, tuple[bytes, bytes]] = {
    "anthropic-messages": (sse({"type": "message_stop"}), sse({"type": "error", "error": {}})),
    "openai-chat": (sse(chat({}, "stop")), sse({"error": {"message": "x"}})),
    "openai-responses": (sse({"type": "response.completed", "response": {}}), sse({"type": "error"})),
    "gemini": (sse(gemini(finishReason="STOP")), sse({"error": {"code": 500}})),
    "ollama": (lines({"message": {"content": ""}, "done": True}), lines({"error": "x"})),
    "bedrock-converse": (
        binary({"messageStop": {"stopReason": "end_turn"}}),
        encode_frame({":message-type": "exception", ":exception-type": "internalServerException"}, b"{}"),
    ),
}


@pytest.mark.parametrize("dialect", ENDS)
def test_the_last_word_and_the_error(dialect: str) -> None:
    end, failure = ENDS[dialect]
    assert told(dialect, end).is_finished
    assert told(dialect, failure).failed
    assert not told(dialect, b"").is_finished
    assert not told(dialect, end[:-8]).is_finished


def test_what_comes_after_an_end_of_gemini_takes_it_back() -> None:
    first = gemini({"text": "a"}, finishReason="STOP")
    assert told("gemini", sse(first)).is_finished
    assert told("gemini", sse(first, gemini({"text": ""}))).is_finished
    assert not told("gemini", sse(first, gemini({"text": "b"}))).is_finished
    assert told("gemini", sse(first, gemini({"text": "b"}), gemini(finishReason="STOP"))).is_finished


OPEN: dict[str, bytes] = {
    "anthropic-messages": sse(*MESSAGES),
    "openai-chat": sse(chat_call(0, ARGUMENTS)),
    "openai-responses": sse(*RESPONSES),
    "bedrock-converse": binary(*CONVERSE),
}
GUILTY: dict[str, tuple[str, bytes, str]] = {
    "a closed call": ("anthropic-messages", sse(*MESSAGES, MESSAGES_STOP, {"type": "error"}), "an unfinished call"),
    "a done item": ("openai-responses", sse(*RESPONSES, RESPONSES_DONE, {"type": "error"}), "an unfinished call"),
    "an invented call": ("gemini", sse(gemini({"functionCall": {"name": "f"}}), {"error": {}}), "an unfinished call"),
    "a call of Ollama": (
        "ollama", lines({"message": {"tool_calls": [{"function": {}}]}}, {"error": "x"}), "an unfinished call",
    ),
    "a stopped block": ("bedrock-converse", binary(*CONVERSE, CONVERSE_STOP), "an unfinished call"),
    "a finish reason": ("openai-chat", sse(chat_call(0, ARGUMENTS), chat({}, "tool_calls")), "an unfinished call"),
    "[DONE] behind an error": ("openai-chat", sse({"error": {"message": "x"}}, b"[DONE]"), "with a last word"),
    "a last word": ("anthropic-messages", sse({"type": "message_stop"}), "with a last word"),
    "no error": ("ollama", b"", "without an error"),
}  # fmt: skip


@pytest.mark.parametrize("name", GUILTY)
def test_guilty_bytes_are_found(name: str) -> None:
    target, written, fault = GUILTY[name]
    for dialect, data in OPEN.items():
        faults = list(target_faults(told(dialect, data), target, written, failed=True))
        assert any(fault in said for said in faults), (dialect, faults)


def test_a_text_that_was_open_is_no_finished_item() -> None:
    text = {"type": "output_text", "text": "Hel"}
    source = told("openai-chat", sse(chat({"content": "Hel"})))
    done = {"type": "response.output_item.done", "output_index": 0, "item": {"type": "message", "content": [text]}}
    faults = list(target_faults(source, "openai-responses", sse(done, {"type": "error"}), failed=True))
    assert faults == ["an unfinished text is finished: Hel"]


MESSAGES_BEGIN = {"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 1}}}
MESSAGES_TEXT = (
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
)
MESSAGES_LAST = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}
MESSAGES_OVER = {"type": "message_stop"}


def test_a_call_that_was_open_when_the_answer_began_anew_is_never_finished() -> None:
    spliced = (MESSAGES_BEGIN, *MESSAGES, MESSAGES_BEGIN, *MESSAGES_TEXT, MESSAGES_STOP, MESSAGES_LAST)
    for frames, finished in ((spliced[:-1], False), (spliced, True), ((*spliced, MESSAGES_OVER), True)):
        told = read_told("anthropic-messages", read_frames("anthropic-messages", sse(*frames)))
        assert told.is_finished is finished
        assert not told.finished_calls(surely=True)
        assert not told.finished_calls(surely=False)


def test_a_message_that_is_only_begun_twice_goes_on() -> None:
    frames = (MESSAGES_BEGIN, *MESSAGES, MESSAGES_BEGIN, MESSAGES_STOP, MESSAGES_NEXT)
    told = read_told("anthropic-messages", read_frames("anthropic-messages", sse(*frames)))
    assert told.finished_calls(surely=True) == {ARGUMENTS: 1}


def test_an_answer_that_begins_anew_is_cut_at_every_byte() -> None:
    frames = (MESSAGES_BEGIN, *MESSAGES, MESSAGES_BEGIN, *MESSAGES_TEXT, MESSAGES_STOP, MESSAGES_LAST, MESSAGES_OVER)
    data = sse(*frames)
    judged = [*cut_stream(Recorded("anthropic-messages", data), range(len(data) + 1))]
    assert len(judged) > len(frames)
    assert [fault for one in judged for fault in one.faults] == []
