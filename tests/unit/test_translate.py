"""The whole-path helpers of design §4, and how strict schemas, usage and malformed arguments travel through them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from interlingua import (
    Base64Source,
    Event,
    ImageBlock,
    Loss,
    MessageComplete,
    NetworkError,
    ParseError,
    RateLimitError,
    Response,
    StopReason,
    TextBlock,
    ThinkingBlock,
    TokenUsage,
    ToolOutput,
    ToolUseBlock,
    build_tool_results,
    decode_stream,
    detect_dialect,
    fold,
    translate_request,
    translate_stream,
    unfold,
    validate_tool_results,
)
from lab.oracles import check_order, problems
from shared_data import corpus, needs_shared

Json = Any
CHAT, CLAUDE = "openai-chat", "anthropic-messages"
PNG = "iVBORw0KGgo="
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


def paths(losses: tuple[Loss, ...]) -> set[tuple[str, str]]:
    return {(loss.path, loss.kind) for loss in losses}


# ------------------------------------------------------------------------------------------------- whole requests

CHAT_REQUEST: Json = {
    "model": "gpt", "max_completion_tokens": 9, "temperature": 0.5, "stop": "END", "seed": 3, "stream": True,
    "messages": [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}},
            {"id": "b", "type": "function", "function": {"name": "f", "arguments": '{"x":2}'}}]},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": "two"},
        {"role": "user", "content": "and?"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}],
    "tool_choice": "required", "parallel_tool_calls": False,
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": {
        **SCHEMA, "additionalProperties": False}}},
}  # fmt: skip
CLAUDE_REQUEST: Json = {
    "model": "claude", "max_tokens": 9, "temperature": 0.5, "stop_sequences": ["END"], "top_k": 4, "stream": True,
    "system": [{"type": "text", "text": "be kind", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": [
            {"type": "text", "text": "look"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "both"},
            {"type": "tool_use", "id": "toolu_a", "name": "f", "input": {"x": 1}},
            {"type": "tool_use", "id": "toolu_b", "name": "f", "input": {"x": 2}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_b", "content": [
                {"type": "text", "text": "two"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}]},
            {"type": "tool_result", "tool_use_id": "toolu_a", "content": "one", "is_error": True},
            {"type": "text", "text": "and?"}]},
    ],
    "tools": [{"name": "f", "description": "d", "input_schema": SCHEMA}],
    "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
}  # fmt: skip


def test_what_the_url_and_the_headers_say() -> None:
    """Clouds have the model and the stream in the URL, Anthropic its betas in a header."""
    body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 5, "messages": [{"role": "user", "content": "?"}]}
    chat = translate_request(body, source=CLAUDE, target=CHAT, model="claude", stream=True).body
    assert (chat["model"], chat["stream"]) == ("claude", True)
    home = translate_request(
        body, source=CLAUDE, target=CLAUDE, model="claude", stream=True, headers={"Anthropic-Beta": "a-1, b-2"}
    )
    assert home.body == body
    assert home.headers["anthropic-beta"] == "a-1,b-2"


# -------------------------------------------------------------------------------------------------------- streams


def sse(*rows: Json) -> list[bytes]:
    return [b"data: " + json.dumps(row).encode() + b"\n\n" for row in rows]


def delta(finish: str | None = None, **fields: Json) -> Json:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def test_a_stream_is_translated_as_it_comes() -> None:
    pulled: list[int] = []

    def slowly() -> Iterator[bytes]:
        for number, row in enumerate(
            [*sse(delta(content="Hel"), delta(content="lo"), delta("stop")), b"data: [DONE]\n\n"]
        ):
            pulled.append(number)
            yield row

    said = translate_stream(slowly(), source=CHAT, target=CLAUDE)
    assert pulled == []
    first = next(said)
    assert b"Hel" in first
    assert pulled == [0]
    rest = b"".join(said)
    assert fold(decode_stream([first, rest], dialect=CLAUDE)).text == "Hello"


def test_losses_of_a_stream_are_told() -> None:
    losses: list[Loss] = []
    body = [*sse(delta(content="x", refusal=None), {**delta("stop"), "system_fingerprint": "fp"}), b"data: [DONE]\n\n"]
    list(translate_stream(body, source=CHAT, target=CLAUDE, on_loss=losses.append))
    assert ("extras/openai-chat/system_fingerprint", "dropped") in paths(tuple(losses))


def test_a_stream_that_failed_raises_after_its_last_event() -> None:
    body = sse(delta(content="par"), {"error": {"code": 429, "message": "slow down"}})
    events: list[Event] = []
    stream = decode_stream(body, dialect=CHAT)
    with pytest.raises(RateLimitError, match="slow down") as caught:
        events.extend(stream)  # what came before the error stays
    last = events[-1]
    assert isinstance(last, MessageComplete)
    assert last.response.text == "par"
    assert last.response.stop_reason is StopReason.error
    assert caught.value.response == last.response


def test_an_empty_stream_is_a_cut_one() -> None:
    for name in (CHAT, CLAUDE):
        with pytest.raises(NetworkError):
            list(decode_stream([], dialect=name))


ANSWER = Response(
    (
        ThinkingBlock("hm", signature="sig"),
        TextBlock("so"),
        ToolUseBlock("a", "f", input={"x": 1}),
        ToolUseBlock("b", "p", "text", input_text="free"),
    ),
    StopReason.tool_use, "tool_use", "id", "m", TokenUsage(1, 2, 3, 4, 5),
)  # fmt: skip


def test_fold_undoes_unfold() -> None:
    for response in (ANSWER, Response(), Response("x"), Response((TextBlock(""), ThinkingBlock()))):  # type: ignore[arg-type]
        assert fold(unfold(response)) == response


# --------------------------------------------------------------------------------------------------- detect_dialect


@needs_shared
@pytest.mark.parametrize("name", [CHAT, CLAUDE])
def test_recorded_bodies_are_told_apart(name: str) -> None:
    """Bodies that are legal in both protocols remain; they are few."""
    right = wrong = 0
    for record in corpus(name):
        for body in (record["request"], record.get("response") if record["status"] == 200 else None):
            if body:
                try:
                    found = detect_dialect(body)
                except ParseError:
                    continue
                right, wrong = right + (found == name), wrong + (found != name)
    assert right > 2_000
    assert wrong / right < 0.005


# ------------------------------------------------------------------------------------------------- parse_tool_calls


def claude_answer(*blocks: Json, stop: str = "tool_use") -> Json:
    return {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": list(blocks),
            "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip


CALL_A = {"type": "tool_use", "id": "toolu_a", "name": "f", "input": {"x": 1}}
CALL_B = {"type": "tool_use", "id": "toolu_b", "name": "g", "input": {}}


# ------------------------------------------------------------------------------- build_ and validate_tool_results

ASKED: dict[str, Json] = {
    CHAT: {"model": "m", "messages": [{"role": "user", "content": "?"}], "tools": CHAT_REQUEST["tools"]},
    CLAUDE: {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "?"}],
        "tools": CLAUDE_REQUEST["tools"],
    },
}


def appended(name: str, more: list[Json]) -> Json:
    body = {**ASKED[name], "messages": [*ASKED[name]["messages"], *more]}
    assert check_order(body, name) == []
    assert validate_tool_results(body["messages"], dialect=name) == []
    return body


def test_results_for_anthropic() -> None:
    thought = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    redacted = {"type": "redacted_thinking", "data": "ZA=="}
    answer = claude_answer(thought, redacted, {"type": "text", "text": "so"}, CALL_A, CALL_B)
    image = ImageBlock(Base64Source("image/png", PNG))
    more = build_tool_results(
        answer, [ToolOutput("toolu_a", [TextBlock("one"), image]), ToolOutput("toolu_b", "no", True)], dialect=CLAUDE
    )
    assert more[0] == {"role": "assistant", "content": answer["content"]}
    [results] = more[1:]
    assert results["role"] == "user"
    first, second = results["content"]
    assert (first["tool_use_id"], [part["type"] for part in first["content"]]) == ("toolu_a", ["text", "image"])
    assert "is_error" not in first
    assert (second["tool_use_id"], second["is_error"]) == ("toolu_b", True)
    assert problems(appended(CLAUDE, more), CLAUDE) == []
