"""The whole-path helpers of design §4, and how strict schemas, usage and malformed arguments travel through them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from msgspec.structs import replace

from interlingua import (
    Base64Source,
    Encoded,
    Event,
    ImageBlock,
    JsonBlock,
    Loss,
    Message,
    MessageComplete,
    NetworkError,
    ParseError,
    RateLimitError,
    Request,
    Response,
    StopReason,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    TokenUsage,
    ToolChoice,
    ToolDefinition,
    ToolOutput,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseInputDelta,
    build_tool_results,
    decode_stream,
    detect_dialect,
    dialect,
    fold,
    parse_tool_calls,
    translate_request,
    translate_response,
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


def test_home_again_with_signatures() -> None:
    """A conversation begun on Anthropic and continued on chat sends Anthropic its own signed blocks back."""
    begun = dialect(CLAUDE).decode_request(CLAUDE_REQUEST)
    answer = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "done"}}]}
    turn = Message("assistant", dialect(CHAT).decode_response(answer).content)
    longer = replace(begun, messages=(*begun.messages, turn, Message("user", "thanks")))
    dialect(CHAT).encode_request(longer)
    home = dialect(CLAUDE).encode_request(longer)
    assert home.body["messages"][: len(CLAUDE_REQUEST["messages"])] == CLAUDE_REQUEST["messages"]
    assert home.losses == ()


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


# ----------------------------------------------------------------------------------------------- whole responses


def test_a_response_each_way() -> None:
    chat = {
        "id": "c", "object": "chat.completion", "created": 5, "model": "m", "system_fingerprint": "fp",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "logprobs": None, "message": {
            "role": "assistant", "content": "so", "refusal": None, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}]}}],
        "usage": {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35,
                  "prompt_tokens_details": {"cached_tokens": 20}},
    }  # fmt: skip
    claude = translate_response(chat, source=CHAT, target=CLAUDE)
    assert claude.body == {
        "id": "c", "type": "message", "role": "assistant", "model": "m",
        "stop_reason": "tool_use", "stop_sequence": None,
        "content": [{"type": "text", "text": "so"}, {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}],
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 0,
                  "output_tokens": 5},
    }  # fmt: skip
    assert all("extras" in loss.path for loss in claude.losses)
    back = translate_response(claude.body, source=CLAUDE, target=CHAT).body
    assert back["choices"][0]["message"]["tool_calls"] == chat["choices"][0]["message"]["tool_calls"]  # type: ignore[index]
    assert (back["choices"][0]["finish_reason"], back["usage"]) == ("tool_calls", chat["usage"])


def test_an_error_in_a_200_is_an_error_and_does_not_raise() -> None:
    body = {"error": {"message": "filtered", "type": None, "param": "prompt", "code": "content_filter", "status": 400}}
    response = dialect(CHAT).decode_response(body)
    assert response.stop_reason is StopReason.error
    assert response.error.message == "filtered"
    claude = translate_response(body, source=CHAT, target=CLAUDE).body
    assert (claude["type"], claude["error"]["message"]) == ("error", "filtered")


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


def test_a_cut_stream_raises_too() -> None:
    with pytest.raises(NetworkError) as caught:
        list(decode_stream(sse(delta(content="par")), dialect=CHAT))
    assert caught.value.response is not None
    assert caught.value.response.text == "par"


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


@pytest.mark.parametrize("name", [CHAT, CLAUDE])
def test_a_stream_says_what_the_whole_says(name: str) -> None:
    """The same answer, whole and streamed, decodes to the same content, stop reason, usage, id and model."""
    encoder = dialect(name).stream_encoder()
    body = b"".join(map(encoder.feed, unfold(ANSWER))) + encoder.close()
    streamed = fold(decode_stream([body], dialect=name))
    encoded = dialect(name).encode_response(ANSWER)
    whole = dialect(name).decode_response(encoded.body)
    assert streamed.content == whole.content
    assert (streamed.stop_reason, streamed.usage) == (whole.stop_reason, whole.usage)
    assert (streamed.id, streamed.model) == (whole.id, whole.model)
    assert paths(tuple(encoder.losses)) == paths(encoded.losses)


def test_an_event_out_of_order_is_the_callers_mistake() -> None:
    for name in (CHAT, CLAUDE):
        with pytest.raises(ParseError):
            dialect(name).stream_encoder().feed(TextDelta(0, "x"))


# --------------------------------------------------------------------------------------------------- detect_dialect

USER = [{"role": "user", "content": "?"}]
TOLD: tuple[tuple[str, Json], ...] = (
    # requests
    (CLAUDE, CLAUDE_REQUEST),
    (CLAUDE, {"model": "x", "max_tokens": 1, "messages": USER, "system": "s"}),
    (CLAUDE, {"model": "x", "max_tokens": 1, "messages": USER, "stop_sequences": ["x"]}),
    (CLAUDE, {"model": "x", "max_tokens": 1, "messages": USER, "tools": [{"name": "f", "input_schema": {}}]}),
    (CLAUDE, {"model": "x", "max_tokens": 1, "messages": USER, "tools": [{"type": "bash_20250124", "name": "bash"}]}),
    (CLAUDE, {"model": "claude-sonnet-5", "max_tokens": 1, "messages": USER}),
    (CLAUDE, {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}]}),
    (CHAT, CHAT_REQUEST),
    (CHAT, {"model": "x", "messages": USER, "max_completion_tokens": 1}),
    (CHAT, {"model": "x", "messages": USER, "stream_options": {"include_usage": True}}),
    (CHAT, {"model": "x", "messages": [{"role": "system", "content": "s"}, *USER]}),
    (CHAT, {"model": "x", "messages": USER, "tools": [{"type": "function", "function": {"name": "f"}}]}),
    (
        CHAT,
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.test"}}]}]},
    ),
    ("bedrock-converse", {"system": [{"text": "s"}], "messages": [{"role": "user", "content": [{"text": "?"}]}]}),
    ("gemini", {"contents": [{"parts": [{"text": "?"}]}]}),
    ("openai-responses", {"model": "x", "input": "?"}),
    # answers
    (CLAUDE, {"id": "m", "type": "message", "role": "assistant", "content": []}),
    (CHAT, {"id": "c", "object": "chat.completion", "choices": []}),
    (CHAT, {"id": "c", "choices": [{"message": {}}]}),
    # events of a stream
    (CLAUDE, {"type": "message_start", "message": {}}),
    (CLAUDE, {"type": "content_block_delta", "index": 0, "delta": {}}),
    (CLAUDE, {"type": "ping"}),
    (CLAUDE, {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}),
    (CHAT, {"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": {}}),
    ("openai-responses", {"type": "response.output_text.delta", "delta": "x"}),
)


@pytest.mark.parametrize(("name", "body"), TOLD)
def test_the_dialect_of_a_body(name: str, body: Json) -> None:
    assert detect_dialect(body) == name


@pytest.mark.parametrize("body", [{}, [], "x", None, 3, {"a": 1}, {"messages": USER}, {"error": {"message": "x"}}])
def test_a_body_that_tells_nothing(body: Json) -> None:
    with pytest.raises(ParseError, match="dialect"):
        detect_dialect(body)


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


def chat_answer(*calls: tuple[str, str, str], finish: str = "tool_calls", **message: Json) -> Json:
    entries = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    message = {"role": "assistant", "content": None, **message, **({"tool_calls": entries} if entries else {})}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "m",
            "choices": [{"index": 0, "finish_reason": finish, "message": message}]}  # fmt: skip


def claude_answer(*blocks: Json, stop: str = "tool_use") -> Json:
    return {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": list(blocks),
            "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip


CALL_A = {"type": "tool_use", "id": "toolu_a", "name": "f", "input": {"x": 1}}
CALL_B = {"type": "tool_use", "id": "toolu_b", "name": "g", "input": {}}


@pytest.mark.parametrize("strict", [False, True])
def test_the_calls_of_an_answer(strict: bool) -> None:
    chat = parse_tool_calls(chat_answer(("a", "f", '{"x": 1}'), ("b", "g", "{}")), dialect=CHAT, strict=strict)
    assert [(c.id, c.name, c.input) for c in chat] == [("a", "f", {"x": 1}), ("b", "g", {})]
    claude = parse_tool_calls(
        claude_answer({"type": "text", "text": "t"}, CALL_A, CALL_B), dialect=CLAUDE, strict=strict
    )
    assert [(c.id, c.name, c.input) for c in claude] == [("toolu_a", "f", {"x": 1}), ("toolu_b", "g", {})]
    assert parse_tool_calls(chat_answer(finish="stop", content="x"), dialect=CHAT, strict=strict) == []
    assert parse_tool_calls(claude_answer(stop="end_turn"), dialect=CLAUDE, strict=strict) == []


def test_calls_beside_finish_reason_stop_are_calls() -> None:
    """A forced function historically ends with ``stop``: presence decides."""
    body = chat_answer(("a", "f", "{}"), finish="stop")
    assert [call.id for call in parse_tool_calls(body, dialect=CHAT, strict=True)] == ["a"]


MALFORMED = ('{"x": ', '{"x" 1}', "nonsense", "[1]", "null", '{"x":1} trailing')


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_arguments_lenient_and_strict(text: str) -> None:
    body = chat_answer(("a", "f", "{}"), ("b", "g", text))
    _, call = parse_tool_calls(body, dialect=CHAT)
    assert (call.input, call.input_text) == ({}, text)
    with pytest.raises(ParseError) as caught:
        parse_tool_calls(body, dialect=CHAT, strict=True)
    assert "call b of g" in str(caught.value)
    if text not in ("[1]", "null"):
        assert "byte" in str(caught.value)  # where the text goes wrong


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (chat_answer(("a", "f", "{}"), finish="length"), CHAT),
        (chat_answer(("a", "f", "{}"), finish="content_filter"), CHAT),
        (claude_answer(CALL_A, stop="max_tokens"), CLAUDE),
        (claude_answer(CALL_A, stop="refusal"), CLAUDE),
    ],
)
def test_strict_refuses_calls_of_a_turn_that_ended_otherwise(body: Json, name: str) -> None:
    assert len(parse_tool_calls(body, dialect=name)) == 1
    with pytest.raises(ParseError):
        parse_tool_calls(body, dialect=name, strict=True)


def test_a_custom_call_is_never_malformed() -> None:
    body = chat_answer()
    body["choices"][0]["message"]["tool_calls"] = [
        {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "{not json"}}
    ]
    [call] = parse_tool_calls(body, dialect=CHAT, strict=True)
    assert (call.kind, call.input_text) == ("text", "{not json")


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


def test_results_for_chat() -> None:
    answer = chat_answer(("a", "f", '{ "x": 1 }'), ("b", "g", "{}"), content="so")
    more = build_tool_results(
        answer, [ToolOutput("a", "one"), ToolOutput("b", {"k": [1, None]}, is_error=True)], dialect=CHAT
    )
    assert more[0] == answer["choices"][0]["message"]
    assert more[1] == {"role": "tool", "tool_call_id": "a", "content": "one"}
    assert more[2] == {"role": "tool", "tool_call_id": "b", "content": 'Error: {"k":[1,null]}'}
    assert problems(appended(CHAT, more), CHAT) == []


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


def test_results_in_another_order_than_the_calls_are_legal_still() -> None:
    chat = build_tool_results(
        chat_answer(("a", "f", "{}"), ("b", "g", "{}")), [ToolOutput("b", "2"), ToolOutput("a", "1")], dialect=CHAT
    )
    assert {turn["tool_call_id"]: turn["content"] for turn in chat[1:]} == {"a": "1", "b": "2"}
    appended(CHAT, chat)
    claude = build_tool_results(
        claude_answer(CALL_A, CALL_B), [ToolOutput("toolu_b", "2"), ToolOutput("toolu_a", "1")], dialect=CLAUDE
    )
    appended(CLAUDE, claude)


ECHOED: tuple[Json, ...] = (
    {"reasoning_content": "hm"},
    {"reasoning": "hm"},
    {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.encrypted", "data": "ZW5j", "index": 0}]},
    {"content": ""},
    {"content": "so", "reasoning_content": ""},
)


@pytest.mark.parametrize("fields", ECHOED, ids=json.dumps)
def test_the_answer_goes_back_as_it_came(fields: Json) -> None:
    """Some servers refuse a turn with calls whose reasoning is missing; prompt caches want the very same turn."""
    answer = chat_answer(("a", "f", '{"x": 1}'), **fields)
    turn, _ = build_tool_results(answer, [ToolOutput("a", "1")], dialect=CHAT)
    assert turn == answer["choices"][0]["message"]


def test_an_output_for_no_call_is_refused() -> None:
    with pytest.raises(ParseError, match="zzz"):
        build_tool_results(chat_answer(("a", "f", "{}")), [ToolOutput("zzz", "1")], dialect=CHAT)


CONTENTS: tuple[tuple[Json, str], ...] = (
    ("text", "text"),
    ({"a": 1}, '{"a":1}'),
    ([1, 2], "[1,2]"),
    (None, "null"),
    (3, "3"),
    (True, "true"),
    (TextBlock("block"), "block"),
    (JsonBlock({"a": 1}), '{"a":1}'),
)


@pytest.mark.parametrize(("content", "said"), CONTENTS)
def test_what_is_neither_text_nor_blocks_goes_as_compact_json(content: Json, said: str) -> None:
    _, chat = build_tool_results(chat_answer(("a", "f", "{}")), [ToolOutput("a", content)], dialect=CHAT)
    texts = chat["content"] if isinstance(chat["content"], str) else "".join(part["text"] for part in chat["content"])
    assert texts == said
    _, claude = build_tool_results(claude_answer(CALL_A), [ToolOutput("toolu_a", content)], dialect=CLAUDE)
    assert "".join(part["text"] for part in claude["content"][0]["content"]) == said


def test_missing_results_are_named() -> None:
    calls = chat_answer(("a", "f", "{}"), ("b", "g", "{}"))["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": "a", "content": "1"}
    assert validate_tool_results([*USER, calls, result], dialect=CHAT) == ["b"]
    assert validate_tool_results([*USER, calls], dialect=CHAT) == ["a", "b"]
    turn = {"role": "assistant", "content": [CALL_A, CALL_B]}
    results = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_b"}]}
    assert validate_tool_results([*USER, turn, results], dialect=CLAUDE) == ["toolu_a"]
    assert validate_tool_results([*USER, turn], dialect=CLAUDE) == ["toolu_a", "toolu_b"]


def test_canonical_messages_are_validated_too() -> None:
    messages = (
        Message("user", "?"),
        Message("assistant", (ToolUseBlock("a", "f"), ToolUseBlock("b", "g"))),
        Message("tool", (ToolResultBlock("a", "1"),)),
    )
    for name in (CHAT, CLAUDE):
        assert validate_tool_results(messages, dialect=name) == ["b"]
    assert validate_tool_results((), dialect=CHAT) == []


# --------------------------------------------------------------------------------------------- parts usable alone

MESSAGES = (
    Message("user", "hi"),
    Message("assistant", (ToolUseBlock("a", "f", input={"x": 1}),)),
    Message("tool", (ToolResultBlock("a", "1"),)),
)
TOOLS = (ToolDefinition("f", "d", SCHEMA),)


@pytest.mark.parametrize("name", [CHAT, CLAUDE])
def test_the_parts_are_what_the_whole_is_made_of(name: str) -> None:
    speaker = dialect(name)
    request = Request(MESSAGES, "m", "be kind", TOOLS, ToolChoice.specific("f"), 9)  # type: ignore[arg-type]
    whole = speaker.encode_request(request).body
    messages, system = speaker.encode_messages(MESSAGES), speaker.encode_system(request.system)
    tools, choice = speaker.encode_tools(TOOLS), speaker.encode_tool_choice(ToolChoice.specific("f"))
    assert all(isinstance(part, Encoded) for part in (messages, system, tools, choice))
    assert whole["tools"] == tools.body
    assert whole["tool_choice"] == choice.body
    if name == CHAT:
        assert whole["messages"] == system.body + messages.body
    else:
        assert (whole["messages"], whole["system"]) == (messages.body, system.body)


# --------------------------------------------------------------------------------------------------- strict schemas

OPTIONAL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "unit": {"type": "string", "enum": ["c", "f"]},
        "days": {"type": ["integer", "null"]},
        "where": {
            "type": "object",
            "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
            "required": ["lat"],
        },
    },
    "required": ["city"],
}
STRICT = Request((Message("user", "?"),), "m", tools=(ToolDefinition("w", None, OPTIONAL, strict=True),))
WRITTEN = '{"city": "Bern", "unit": null, "days": null, "where": {"lat": 1, "lon": null}}'
MEANT = {"city": "Bern", "days": None, "where": {"lat": 1}}


def test_a_strict_tool_is_sent_in_strict_form() -> None:
    encoded = dialect(CHAT).encode_request(STRICT)
    function = encoded.body["tools"][0]["function"]
    assert function["strict"] is True
    schema = function["parameters"]
    assert schema["additionalProperties"] is False
    assert sorted(schema["required"]) == ["city", "days", "unit", "where"]
    jsonschema.validate(json.loads(WRITTEN), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**json.loads(WRITTEN), "city": None}, schema)
    assert ("tools/0/input_schema", "approximated") in paths(encoded.losses)
    assert problems(encoded.body, CHAT) == []


def test_our_nulls_come_back_absent_from_a_whole_answer() -> None:
    body = chat_answer(("a", "w", WRITTEN))
    call = dialect(CHAT).decode_response(body, request=STRICT).tool_uses[0]
    assert call.input == MEANT
    assert dialect(CHAT).decode_response(body).tool_uses[0].input == json.loads(WRITTEN)


def test_our_nulls_come_back_absent_from_a_stream() -> None:
    pieces = [WRITTEN[:20], WRITTEN[20:41], WRITTEN[41:]]
    head = {"index": 0, "id": "a", "type": "function", "function": {"name": "w", "arguments": ""}}
    rows = [delta(tool_calls=[head])]
    rows += [delta(tool_calls=[{"index": 0, "function": {"arguments": piece}}]) for piece in pieces]
    decoder = dialect(CHAT).stream_decoder(STRICT)
    events = [event for row in sse(*rows, delta("tool_calls")) for event in decoder.feed(row)] + decoder.close()
    said = [event.partial_json for event in events if isinstance(event, ToolUseInputDelta)]
    assert said == pieces  # literal
    [end] = [event for event in events if isinstance(event, ToolUseEnd)]
    assert end.final_input == end.block.input == MEANT
    assert fold(events).tool_uses[0].input == MEANT


def test_the_same_dialect_replays_the_models_own_text() -> None:
    response = dialect(CHAT).decode_response(chat_answer(("a", "w", WRITTEN)), request=STRICT)
    turn = dialect(CHAT).encode_messages((response.message,)).body[0]
    assert turn["tool_calls"][0]["function"]["arguments"] == WRITTEN
    loaded = Message("assistant", response.content)
    assert dialect(CHAT).encode_messages((loaded,)).body[0]["tool_calls"] == turn["tool_calls"]


def test_an_edited_input_wins_over_the_models_text() -> None:
    call = dialect(CHAT).decode_response(chat_answer(("a", "w", WRITTEN)), request=STRICT).tool_uses[0]
    edited = Message("assistant", (replace(call, input={"city": "Genf"}),))
    [turn] = dialect(CHAT).encode_messages((edited,)).body
    assert json.loads(turn["tool_calls"][0]["function"]["arguments"]) == {"city": "Genf"}


def test_the_other_dialect_gets_what_was_meant() -> None:
    response = dialect(CHAT).decode_response(chat_answer(("a", "w", WRITTEN)), request=STRICT)
    assert dialect(CLAUDE).encode_response(response).body["content"][0]["input"] == MEANT


def test_a_strict_tool_of_anthropic_keeps_its_optionals() -> None:
    tool = dialect(CLAUDE).encode_request(STRICT).body["tools"][0]
    assert tool["strict"] is True
    assert tool["input_schema"]["additionalProperties"] is False
    answer = claude_answer({"type": "tool_use", "id": "toolu_a", "name": "w", "input": {"city": "Bern", "days": None}})
    call = dialect(CLAUDE).decode_response(answer, request=STRICT).tool_uses[0]
    assert call.input == {"city": "Bern", "days": None}


def test_a_tool_that_is_not_strict_is_left_alone() -> None:
    loose = replace(STRICT, tools=(ToolDefinition("w", None, OPTIONAL),))
    assert dialect(CHAT).encode_request(loose).body["tools"][0]["function"] == {"name": "w", "parameters": OPTIONAL}
    call = dialect(CHAT).decode_response(chat_answer(("a", "w", WRITTEN)), request=loose).tool_uses[0]
    assert call.input == json.loads(WRITTEN)


# ------------------------------------------------------------------------------------------------------------ usage

USAGES: tuple[tuple[TokenUsage, Json, Json], ...] = (
    # ours (disjoint), Anthropic's (disjoint), OpenAI's (the prompt includes what was cached)
    (
        TokenUsage(10, 200, 30, 40, 5),
        {"input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30, "output_tokens": 40,
         "output_tokens_details": {"thinking_tokens": 5}},
        {"prompt_tokens": 240, "completion_tokens": 40, "total_tokens": 280,
         "prompt_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 30},
         "completion_tokens_details": {"reasoning_tokens": 5}},
    ),
    (
        TokenUsage(10, 0, 0, 4),
        {"input_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 4},
        {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14},
    ),
    (
        TokenUsage(0, 50, 0, 4),
        {"input_tokens": 0, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 0, "output_tokens": 4},
        {"prompt_tokens": 50, "completion_tokens": 4, "total_tokens": 54,
         "prompt_tokens_details": {"cached_tokens": 50}},
    ),
    (
        TokenUsage(),
        {"input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 0},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    ),
)  # fmt: skip


@pytest.mark.parametrize(("ours", "claude", "chat"), USAGES)
def test_usage_in_both_directions(ours: TokenUsage, claude: Json, chat: Json) -> None:
    for name, wire in ((CLAUDE, claude), (CHAT, chat)):
        body = dialect(name).encode_response(Response((), usage=ours)).body
        assert body["usage"] == wire
        assert dialect(name).decode_response(body).usage == ours
    assert ours.total_input_tokens == chat["prompt_tokens"]
    assert ours.total_tokens == chat["total_tokens"]


READ_ONLY: tuple[tuple[str, Json, TokenUsage], ...] = (
    ("cached under the prompt's details", {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35,
                                           "prompt_tokens_details": {"cached_tokens": 20}}, TokenUsage(10, 20, 0, 5)),
    ("hits and misses", {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35, "prompt_cache_hit_tokens": 20,
                         "prompt_cache_miss_tokens": 10}, TokenUsage(10, 20, 0, 5)),
    ("reasoning inside", {"prompt_tokens": 3, "completion_tokens": 50, "total_tokens": 53,
                          "completion_tokens_details": {"reasoning_tokens": 40}}, TokenUsage(3, 0, 0, 50, 40)),
    ("reasoning outside", {"prompt_tokens": 3, "completion_tokens": 10, "total_tokens": 53,
                           "completion_tokens_details": {"reasoning_tokens": 40}}, TokenUsage(3, 0, 0, 50, 40)),
    ("more cached than there was", {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4,
                                    "prompt_tokens_details": {"cached_tokens": 20}}, TokenUsage(0, 3, 0, 1)),
    ("a total that is off", {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 99}, TokenUsage(3, 0, 0, 1)),
    ("no total", {"prompt_tokens": 3, "completion_tokens": 1}, TokenUsage(3, 0, 0, 1)),
    ("nulls", {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": None, "prompt_tokens_details": None,
               "completion_tokens_details": {"reasoning_tokens": None}}, TokenUsage(3, 0, 0, 1)),
    ("vLLM's word for written", {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10,
                                 "prompt_tokens_details": {"created_cache_tokens": 4}}, TokenUsage(5, 0, 4, 1)),
)  # fmt: skip


@pytest.mark.parametrize(("wire", "ours"), [row[1:] for row in READ_ONLY], ids=[row[0] for row in READ_ONLY])
def test_usage_as_compatible_servers_count(wire: Json, ours: TokenUsage) -> None:
    body = {**chat_answer(finish="stop", content="x"), "usage": wire}
    response = dialect(CHAT).decode_response(body)
    assert response.usage == ours
    assert dialect(CHAT).encode_response(response).body == body


# ---------------------------------------------------------------------------------------------- malformed arguments


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_arguments_survive_at_home_and_are_a_loss_abroad(text: str) -> None:
    body = chat_answer(("a", "f", text))
    response = dialect(CHAT).decode_response(body)
    assert dialect(CHAT).encode_response(response).body == body
    assert dialect(CHAT).encode_messages((response.message,)).body[0]["tool_calls"][0]["function"]["arguments"] == text
    for abroad in (
        dialect(CLAUDE).encode_response(response),
        dialect(CLAUDE).encode_messages((Message("user", "?"), response.message)),
    ):
        assert any(loss.path.endswith("input_text") and loss.kind == "dropped" for loss in abroad.losses)
    assert dialect(CLAUDE).encode_response(response).body["content"][0]["input"] == {}


def test_malformed_arguments_of_an_anthropic_stream_survive_at_home() -> None:
    call = ToolUseBlock("toolu_a", "f", input_text='{"x": ', incomplete=True)
    encoder = dialect(CLAUDE).stream_encoder()
    response = Response((call,), StopReason.max_tokens, usage=TokenUsage())
    body = b"".join(map(encoder.feed, unfold(response))) + encoder.close()
    assert fold(decode_stream([body], dialect=CLAUDE)).content == (call,)
