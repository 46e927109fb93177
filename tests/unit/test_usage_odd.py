"""Counts that are none: below zero, broken, of another type, or more than the whole that they are part of.

In every dialect, whole and streamed: our buckets stay counts, and the wire is written back as it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import DIALECTS, TokenUsage, UsageUpdate, dialect, fold
from interlingua.codec.framing import encode_frame, encode_ndjson, encode_sse

Wire = dict[str, Any]
ODD: tuple[Any, ...] = (-1, -(10**20), 1.5, -0.5, True, "12", [3], {})

USAGE: dict[str, Wire] = {
    "anthropic-messages": {
        "input_tokens": 10,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 3,
        "output_tokens": 7,
        "output_tokens_details": {"thinking_tokens": 4},
    },
    "openai-chat": {
        "prompt_tokens": 10,
        "completion_tokens": 7,
        "total_tokens": 17,
        "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 4},
    },
    "openai-responses": {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 3},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 17,
    },
    "gemini": {
        "promptTokenCount": 10,
        "cachedContentTokenCount": 3,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 4,
        "totalTokenCount": 17,
    },
    "ollama": {"prompt_eval_count": 10, "eval_count": 7},
    "bedrock-converse": {
        "inputTokens": 10,
        "outputTokens": 7,
        "totalTokens": 22,
        "cacheReadInputTokens": 3,
        "cacheReadInputTokenCount": 3,
        "cacheWriteInputTokens": 2,
    },
}
MESSAGE = {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]}
HEADERS = {":message-type": "event", ":content-type": "application/json"}


# ------------------------------------------------------------------------------------------------------ whole answers


def claude(usage: Wire) -> Wire:
    head = {"id": "m", "type": "message", "model": "x", "stop_reason": "end_turn", "stop_sequence": None}
    return {**head, **MESSAGE, "usage": usage}


def chat(usage: Wire) -> Wire:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
    return {"id": "m", "object": "chat.completion", "created": 1, "model": "x", "choices": [choice], "usage": usage}


def responses(usage: Wire) -> Wire:
    part = {"type": "output_text", "text": "Hello", "annotations": []}
    item = {"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [part]}
    head = {"id": "m", "object": "response", "created_at": 1, "status": "completed", "model": "x"}
    return {**head, "output": [item], "usage": usage}


def gemini(usage: Wire) -> Wire:
    content = {"role": "model", "parts": [{"text": "Hello"}]}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "x", "responseId": "m"}


def ollama(usage: Wire) -> Wire:
    head = {"model": "x", "created_at": "2026-01-01T00:00:00Z", "done": True, "done_reason": "stop"}
    return {**head, "message": {"role": "assistant", "content": "Hello"}, **usage}


def bedrock(usage: Wire) -> Wire:
    message = {"role": "assistant", "content": [{"text": "Hello"}]}
    return {"output": {"message": message}, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}


# ------------------------------------------------------------------------------------------------------------- streams


def claude_stream(usage: Wire) -> Iterator[bytes]:
    start = {**claude({"input_tokens": 1, "output_tokens": 1}), "content": [], "stop_reason": None}
    for event in (
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ):
        yield encode_sse(json.dumps(event).encode())


def chat_stream(usage: Wire) -> Iterator[bytes]:
    head = {"id": "m", "object": "chat.completion.chunk", "created": 1, "model": "x"}
    choice = {"index": 0, "delta": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
    yield encode_sse(json.dumps({**head, "choices": [choice]}).encode())
    yield encode_sse(json.dumps({**head, "choices": [], "usage": usage}).encode())
    yield encode_sse(b"[DONE]")


def responses_stream(usage: Wire) -> Iterator[bytes]:
    yield encode_sse(json.dumps({"type": "response.completed", "response": responses(usage)}).encode())


def bedrock_stream(usage: Wire) -> Iterator[bytes]:
    delta = {"contentBlockIndex": 0, "delta": {"text": "Hello"}}
    for name, event in (
        ("messageStart", {"role": "assistant"}),
        ("contentBlockDelta", delta),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("messageStop", {"stopReason": "end_turn"}),
        ("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}),
    ):
        yield encode_frame({":event-type": name, **HEADERS}, json.dumps(event).encode())


WHOLE = dict(zip(DIALECTS, (claude, chat, responses, gemini, ollama, bedrock), strict=True))
STREAM = {
    "anthropic-messages": claude_stream,
    "openai-chat": chat_stream,
    "openai-responses": responses_stream,
    "gemini": lambda usage: [encode_sse(json.dumps(gemini(usage)).encode())],
    "ollama": lambda usage: [encode_ndjson(json.dumps(ollama(usage)).encode())],
    "bedrock-converse": bedrock_stream,
}


def spoiled(usage: Wire, value: Any) -> Iterator[Wire]:
    """Each count in turn, and all of them together."""
    for key, count in usage.items():
        if isinstance(count, dict):
            yield from ({**usage, key: inner} for inner in spoiled(count, value))
        else:
            yield {**usage, key: value}
    yield {key: dict.fromkeys(count, value) if isinstance(count, dict) else value for key, count in usage.items()}


def check(usage: TokenUsage | None) -> None:
    if usage is not None:
        counts = (usage.input_tokens, usage.cached_input_tokens, usage.cache_creation_input_tokens)
        counts = (*counts, usage.output_tokens, usage.reasoning_tokens)
        assert all(type(count) is int and count >= 0 for count in counts), usage
        assert usage.reasoning_tokens <= usage.output_tokens, usage


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("name", DIALECTS)
def test_a_count_that_is_none_is_not_counted(name: str, odd: Any) -> None:
    for usage in spoiled(USAGE[name], odd):
        body = WHOLE[name](usage)
        response = dialect(name).decode_response(body)
        check(response.usage)
        encoded = dialect(name).encode_response(response)
        assert encoded.body == body
        assert encoded.losses == ()


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("name", DIALECTS)
def test_nor_is_it_in_a_stream(name: str, odd: Any) -> None:
    for usage in spoiled(USAGE[name], odd):
        decoder = dialect(name).stream_decoder()
        events = [event for chunk in STREAM[name](usage) for event in decoder.feed(chunk)] + decoder.close()
        told = [event.usage for event in events if isinstance(event, UsageUpdate)]
        for one in told:
            check(one)
        response = fold(events)
        assert response.usage == dialect(name).decode_response(WHOLE[name](usage)).usage
        assert (told[-1] if told else None) == response.usage
        assert response.text == "Hello"


@pytest.mark.parametrize("name", DIALECTS)
def test_the_other_counts_still_count(name: str) -> None:
    prompt = next(spoiled(USAGE[name], -1))
    found = dialect(name).decode_response(WHOLE[name](prompt)).usage
    whole = dialect(name).decode_response(WHOLE[name](USAGE[name])).usage
    assert found is not None
    assert whole is not None
    assert found.input_tokens < whole.input_tokens
    assert (found.output_tokens, found.reasoning_tokens) == (whole.output_tokens, whole.reasoning_tokens)
    assert whole.output_tokens == 7


@pytest.mark.parametrize("name", DIALECTS)
def test_a_count_set_by_hand_takes_the_place_of_what_was_none(name: str) -> None:
    everything_bad = list(spoiled(USAGE[name], -1))[-1]
    response = dialect(name).decode_response(WHOLE[name](everything_bad))
    response = replace(response, usage=TokenUsage(20, output_tokens=8))
    found = dialect(name).decode_response(dialect(name).encode_response(response).body).usage
    assert found == TokenUsage(20, output_tokens=8)


@pytest.mark.parametrize("output", [5, 0])
def test_thinking_is_part_of_the_output(output: int) -> None:
    usage = {**USAGE["anthropic-messages"], "output_tokens": output, "output_tokens_details": {"thinking_tokens": 9}}
    claude_ = dialect("anthropic-messages")
    response = claude_.decode_response(claude(usage))
    assert response.usage == TokenUsage(10, 3, 2, output, output)
    assert claude_.encode_response(response).body == claude(usage)
    edited = replace(response, usage=TokenUsage(10, 3, 2, 20, 6))
    assert claude_.encode_response(edited).body["usage"]["output_tokens_details"] == {"thinking_tokens": 6}
    decoder = claude_.stream_decoder()
    events = [event for chunk in claude_stream(usage) for event in decoder.feed(chunk)]
    assert fold(events).usage == [event.usage for event in events if isinstance(event, UsageUpdate)][-1]
    assert fold(events).usage == response.usage
