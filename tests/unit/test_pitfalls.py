"""What users of other libraries suffer from (shared/pitfalls.md), by the number of the report: here it does not happen.

Reports on transports, retries, prices, budgets and memory (29, 30, 35–39, 41) belong to layers above this one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from interlingua import (
    Message,
    Origin,
    RateLimitError,
    RedactedThinkingBlock,
    Request,
    TextBlock,
    ThinkingBlock,
    TokenUsage,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    decode_stream,
    dialect,
    fold,
    translate_request,
    translate_stream,
    validate_tool_results,
)

Json = Any
CHAT, CLAUDE, GEMINI, RESPONSES, BEDROCK = (
    "openai-chat",
    "anthropic-messages",
    "gemini",
    "openai-responses",
    "bedrock-converse",
)
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
TOOLS = (ToolDefinition("f", "d", SCHEMA),)


def thoughtful(origin: Origin | None, signature: str | None = "c2ln") -> Request:
    """A conversation in which a model thought, called and was answered."""
    blocks = (
        ThinkingBlock("secret plan", signature=signature),
        RedactedThinkingBlock("ZGF0YQ=="),
        ToolUseBlock("toolu_1", "f", input={"x": 1}),
    )
    history = (
        Message("user", "?"),
        Message("assistant", blocks if signature else (blocks[0], blocks[2]), origin=origin),
        Message("tool", (ToolResultBlock("toolu_1", "1"),)),
    )
    return Request(history, "claude", tools=TOOLS, max_output_tokens=9)


# ------------------------------------------------------------------------------------ thinking, signatures, swap


def test_09_a_thought_signature_survives_streaming() -> None:
    part = {"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": "c2ln"}
    chunk = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}]}
    response = fold(decode_stream([b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n"], dialect=GEMINI))
    assert response.content[0].signature == "c2ln"


def claude_code() -> Json:
    return {
        "model": "claude", "max_tokens": 9,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "Bash", "input_schema": SCHEMA}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "ls"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"x": 1}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a\nb"},
                {"type": "text", "text": "<system-reminder>x</system-reminder>"}]},
        ],
    }  # fmt: skip


@pytest.mark.parametrize("name", [GEMINI, CHAT, RESPONSES, BEDROCK])
def test_13_tool_history_stays_structured(name: str) -> None:
    """Flattened into prose, it is echoed as prose."""
    body = translate_request(claude_code(), source=CLAUDE, target=name).body
    request = dialect(name).decode_request(body)
    blocks = [block for message in request.messages for block in message.content]
    assert [(b.name, b.input) for b in blocks if isinstance(b, ToolUseBlock)] == [("Bash", {"x": 1})]
    [result] = [block for block in blocks if isinstance(block, ToolResultBlock)]
    assert len([block for block in blocks if isinstance(block, TextBlock) and "a\nb" in block.text]) == 0
    assert result.tool_use_id == next(b.id for b in blocks if isinstance(b, ToolUseBlock))


def test_14_an_orphan_call_is_named_before_anyone_refuses_it() -> None:
    history = thoughtful(None).messages[:2]
    for name in (CHAT, CLAUDE):
        assert validate_tool_results(history, dialect=name) == ["toolu_1"]


# --------------------------------------------------------------------------------------- Responses reasoning items


# ------------------------------------------------------------------------------------------ tools, schemas, ids


def test_22_a_strict_tool_sees_what_its_author_declared() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    request = Request((Message("user", "?"),), "m", tools=(ToolDefinition("t", None, schema, strict=True),))
    call = {"id": "c", "type": "function", "function": {"name": "t", "arguments": '{"a": "x", "b": null}'}}
    answer = {
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}]
    }
    assert dialect(CHAT).decode_response(answer, request=request).tool_uses[0].input == {"a": "x"}


def test_24_results_are_known_in_every_shape() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    turns = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "1"}]},
    ]
    assert validate_tool_results(turns, dialect=CLAUDE) == []
    body = {"model": "m", "max_tokens": 9, "messages": turns}
    assert translate_request(body, source=CLAUDE, target=CLAUDE).body == body
    chat = translate_request(body, source=CLAUDE, target=CHAT).body
    assert [turn["role"] for turn in chat["messages"]] == ["user", "assistant", "tool"]


# ---------------------------------------------------------------------------------------------------- streaming


def sse(*rows: Json) -> bytes:
    return b"".join(b"data: " + json.dumps(row).encode() + b"\n\n" for row in rows) + b"data: [DONE]\n\n"


def delta(finish: str | None = None, **fields: Json) -> Json:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def entry(index: int, arguments: str, **fields: Json) -> Json:
    name = fields.pop("name", None)
    return {"index": index, **fields, "function": {"arguments": arguments, **({"name": name} if name else {})}}


PARALLEL = sse(
    delta(role="assistant", reasoning_content="hm"),
    delta(content="both"),
    delta(tool_calls=[entry(0, "", id="a", name="f"), entry(1, "", id="b", name="g")]),
    delta(tool_calls=[entry(1, '{"y":'), entry(0, '{"x":')]),
    delta(tool_calls=[entry(0, "1}"), entry(1, "2}")]),
    delta("tool_calls"),
)


def anthropic_events(body: bytes) -> list[Json]:
    return [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: ")]


def test_25_parallel_streamed_calls_do_not_cross_wires() -> None:
    calls = fold(decode_stream([PARALLEL], dialect=CHAT)).tool_uses
    assert [(call.id, call.name, call.input) for call in calls] == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]


def test_26_parallel_anthropic_calls_have_an_index_each() -> None:
    claude = b"".join(translate_stream([PARALLEL], source=CHAT, target=CLAUDE))
    chat = b"".join(translate_stream([claude], source=CLAUDE, target=CHAT))
    chunks = [json.loads(line[6:]) for line in chat.split(b"\n") if line.startswith(b"data: {")]
    entries = [e for c in chunks for choice in c["choices"] for e in choice["delta"].get("tool_calls", ())]
    assert {e["index"]: e["id"] for e in entries if "id" in e} == {0: "a", 1: "b"}
    said: Counter[int] = Counter()
    texts = {0: "", 1: ""}
    for e in entries:
        said[e["index"]] += 1
        texts[e["index"]] += e["function"]["arguments"]
    assert {index: json.loads(text) for index, text in texts.items()} == {0: {"x": 1}, 1: {"y": 2}}


def test_27_one_start_and_every_delta_in_a_block_of_its_kind() -> None:
    events = anthropic_events(b"".join(translate_stream([PARALLEL], source=CHAT, target=CLAUDE)))
    assert [e["type"] for e in events].count("message_start") == 1
    assert events[0]["type"] == "message_start"
    assert [e["type"] for e in events[-2:]] == ["message_delta", "message_stop"]
    kinds = {
        "thinking_delta": "thinking",
        "text_delta": "text",
        "input_json_delta": "tool_use",
        "signature_delta": "thinking",
    }
    still_open: int | None = None
    types: dict[int, str] = {}
    for event in events:
        if event["type"] == "content_block_start":
            assert still_open is None  # one at a time, in increasing order
            assert event["index"] == len(types)
            still_open, types[event["index"]] = event["index"], event["content_block"]["type"]
        elif event["type"] == "content_block_delta":
            assert event["index"] == still_open
            assert kinds[event["delta"]["type"]] == types[event["index"]]
        elif event["type"] == "content_block_stop":
            assert event["index"] == still_open
            still_open = None
    assert list(types.values()) == ["thinking", "text", "tool_use", "tool_use"]


def test_28_tool_input_is_not_dropped_on_the_way_to_anthropic() -> None:
    events = anthropic_events(b"".join(translate_stream([PARALLEL], source=CHAT, target=CLAUDE)))
    inputs: dict[int, str] = {}
    for event in events:
        if event.get("delta", {}).get("type") == "input_json_delta":
            inputs[event["index"]] = inputs.get(event["index"], "") + event["delta"]["partial_json"]
    assert [json.loads(text) for text in inputs.values()] == [{"x": 1}, {"y": 2}]


def test_31_errors_are_said_in_the_callers_protocol() -> None:
    for name in (CLAUDE, CHAT, GEMINI, RESPONSES):
        wire = dialect(name).encode_error(RateLimitError("slow down", retry_after=3))
        assert wire.status == 429
        again = dialect(name).decode_error(wire.status, wire.headers, wire.body)
        assert isinstance(again, RateLimitError)
        assert (again.message, again.retry_after) == ("slow down", 3)


# -------------------------------------------------------------------------------------------------------- usage


def test_33_cached_tokens_are_counted_once() -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010,
             "prompt_tokens_details": {"cached_tokens": 900}}  # fmt: skip
    body = {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x"}}],
        "usage": usage,
    }
    ours = dialect(CHAT).decode_response(body).usage
    assert ours == TokenUsage(100, 900, 0, 10)
    claude = dialect(CLAUDE).encode_response(dialect(CHAT).decode_response(body)).body["usage"]
    assert (claude["input_tokens"], claude["cache_read_input_tokens"]) == (100, 900)
    assert dialect(CLAUDE).decode_response({"type": "message", "content": [], "usage": claude}).usage == ours


def test_34_cumulative_usage_is_not_summed() -> None:
    counts = {"input_tokens": 10, "cache_read_input_tokens": 500, "cache_creation_input_tokens": 7, "output_tokens": 1}
    events = (
        {"type": "message_start", "message": {"id": "m", "model": "c", "content": [], "usage": counts}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {**counts, "output_tokens": 30}},
        {"type": "message_stop"},
    )
    body = b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)
    assert fold(decode_stream([body], dialect=CLAUDE)).usage == TokenUsage(10, 500, 7, 30)


# ------------------------------------------------------------------------------------------------ weight, security


def test_40_importing_is_light_and_silent() -> None:
    code = (
        "import sys, interlingua; "
        "heavy = {'asyncio', 'socket', 'ssl', 'http.client', 'urllib.request', 'aiohttp', 'httpx', 'yaml'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_42_no_key_in_a_url() -> None:
    """A dialect knows no key, and no provider's key travels in the URL."""
    from interlingua.models.providers import PROVIDERS

    rows = PROVIDERS.values() if isinstance(PROVIDERS, dict) else PROVIDERS
    for row in rows:
        assert "key" not in row.base_url
        assert row.auth.kind in ("bearer", "header", "sigv4", "google", "none")
    for name in (CLAUDE, CHAT, GEMINI, RESPONSES):
        path = dialect(name).encode_request(Request((Message("user", "?"),), "m", stream=True)).path
        assert path is not None
        assert "key=" not in path
