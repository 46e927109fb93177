"""The official ``anthropic`` client reads what we write as a server, and we read what it sends.

The client speaks to an in-memory transport. What it should see is written here by hand from the protocol sheet, as
the wire objects that its own models dump; bodies are also held against those models with validation on, since the
client itself constructs them unchecked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from interlingua import (
    Base64Source,
    BlockComplete,
    BlockStart,
    CacheMark,
    Citation,
    DocumentBlock,
    Event,
    FileSource,
    ImageBlock,
    Message,
    MessageComplete,
    MessageStart,
    OpaqueBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Request,
    Response,
    ServerTool,
    ServerToolResultBlock,
    ServerToolUseBlock,
    StopReason,
    TextBlock,
    TextDelta,
    TextSource,
    Thinking,
    ThinkingBlock,
    ThinkingDelta,
    TokenUsage,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    dialect,
    translate_stream,
    unfold,
)
from oracles.sdks import JSON, InMemory, interleaved, recorded, said, want
from shared_data import needs_shared

anthropic = want("anthropic")
pydantic = pytest.importorskip("pydantic")

NAME = "anthropic-messages"
Json = Any
ASK: dict[str, Any] = {"model": "claude", "max_tokens": 100, "messages": [{"role": "user", "content": "?"}]}
MESSAGE = pydantic.TypeAdapter(anthropic.types.Message)
BETA_MESSAGE = pydantic.TypeAdapter(anthropic.types.beta.BetaMessage)


def answering(body: Json) -> InMemory:
    return InMemory(anthropic.Anthropic, 200, JSON, json.dumps(body).encode())


def streaming(body: bytes) -> InMemory:
    return InMemory(anthropic.Anthropic, 200, {"content-type": "text/event-stream", "request-id": "req_s"}, body)


def streamed(body: bytes, *, beta: bool = False) -> Any:
    """What the client's own accumulator makes of a stream."""
    client = streaming(body).client
    with (client.beta.messages if beta else client.messages).stream(**ASK) as stream:
        return stream.get_final_message()


def wire_of(message: Any) -> list[Json]:
    """The content as the client holds it, in the wire's words."""
    return [block.model_dump(mode="json", exclude_none=True, exclude={"parsed_output"}) for block in message.content]


# ------------------------------------------------------------------------------------------------ what we answer

USAGE = TokenUsage(10, 200, 30, 40, 5)  # fresh, read, written, output, of which reasoning
CITED = [
    {"type": "char_location", "cited_text": "sky", "document_index": 0, "document_title": "Sky", "start_char_index": 0,
     "end_char_index": 3},
    {"type": "page_location", "cited_text": "p", "document_index": 1, "start_page_number": 1, "end_page_number": 2},
    {"type": "web_search_result_location", "cited_text": "w", "url": "https://a.test", "title": "A",
     "encrypted_index": "Eo8B"},
]  # fmt: skip
CITATIONS = (
    Citation(kind="char", text="sky", index=0, title="Sky", start=0, end=3),
    Citation(kind="page", text="p", index=1, start=1, end=2),
    Citation(kind="url", text="w", url="https://a.test", title="A", extras={NAME: {"encrypted_index": "Eo8B"}}),
)
FOUND = [{"type": "web_search_result", "url": "https://a.test", "title": "A", "encrypted_content": "enc"}]

# name: our blocks, their blocks
ANSWERS: dict[str, tuple[tuple[Any, ...], list[Json]]] = {
    "text": ((TextBlock('Hé\n"llo" 🌍'),), [{"type": "text", "text": 'Hé\n"llo" 🌍'}]),
    "two texts": ((TextBlock("a"), TextBlock("b")), [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
    "no content": ((), []),
    "citations": ((TextBlock("cited", CITATIONS),), [{"type": "text", "text": "cited", "citations": CITED}]),
    "thinking": (
        (ThinkingBlock("hm", signature="c2ln"), TextBlock("x")),
        [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "x"}],
    ),
    "thinking withheld": (
        (ThinkingBlock("", signature="c2ln"),),
        [{"type": "thinking", "thinking": "", "signature": "c2ln"}],
    ),
    "thinking unsigned": ((ThinkingBlock("hm"),), [{"type": "thinking", "thinking": "hm", "signature": ""}]),
    "redacted": ((RedactedThinkingBlock("ZGF0YQ=="),), [{"type": "redacted_thinking", "data": "ZGF0YQ=="}]),
    "parallel calls": (
        (ToolUseBlock("toolu_1", "f", input={"a": [1, {"b": None}], "é": "\u2028"}), ToolUseBlock("toolu_2", "g")),
        [
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": [1, {"b": None}], "é": "\u2028"}},
            {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}},
        ],
    ),
    "text between calls": (
        (ToolUseBlock("toolu_1", "f", input={"a": 1}), TextBlock("and"), ToolUseBlock("toolu_2", "f", input={"a": 2})),
        [
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
            {"type": "text", "text": "and"},
            {"type": "tool_use", "id": "toolu_2", "name": "f", "input": {"a": 2}},
        ],
    ),
    "free-text call": (
        (ToolUseBlock("toolu_1", "patch", "text", input_text='*** "x"\n'),),
        [{"type": "tool_use", "id": "toolu_1", "name": "patch", "input": {"input": '*** "x"\n'}}],
    ),
    "server tools": (
        (
            ServerToolUseBlock("srvtoolu_1", "web_search", {"query": "q"}, NAME),
            ServerToolResultBlock("srvtoolu_1", "web_search", FOUND, NAME),
            TextBlock("found"),
        ),
        [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": FOUND},
            {"type": "text", "text": "found"},
        ],
    ),
    "server tool error": (
        (
            ServerToolResultBlock(
                "srvtoolu_1", "web_search", {"type": "web_search_tool_result_error", "error_code": "unavailable"}, NAME
            ),
        ),
        [
            {
                "type": "web_search_tool_result",
                "tool_use_id": "srvtoolu_1",
                "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
            }
        ],
    ),
    "an unknown block of its own": (
        (OpaqueBlock(NAME, {"type": "container_upload", "file_id": "file_1"}),),
        [{"type": "container_upload", "file_id": "file_1"}],
    ),
    "refusal in words": ((RefusalBlock("I cannot."),), [{"type": "text", "text": "I cannot."}]),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_whole_answer(name: str) -> None:
    blocks, expected = ANSWERS[name]
    body = dialect(NAME).encode_response(Response(blocks, id="msg_1", model="claude", usage=USAGE)).body
    MESSAGE.validate_python(body)
    message = answering(body).client.messages.create(**ASK)
    assert (message.id, message.model, message.role, message.type) == ("msg_1", "claude", "assistant", "message")
    assert wire_of(message) == expected
    assert usage_of(message) == (10, 200, 30, 40, 5)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_streamed_answer(name: str) -> None:
    blocks, expected = ANSWERS[name]
    message = streamed(said(NAME, unfold(Response(blocks, id="msg_1", model="claude", usage=USAGE))))
    assert (message.id, message.model, message.role, message.type) == ("msg_1", "claude", "assistant", "message")
    assert wire_of(message) == expected
    assert usage_of(message) == (10, 200, 30, 40, 5)


def usage_of(message: Any) -> tuple[int, ...]:
    u = message.usage
    details = u.output_tokens_details
    cached = (u.cache_read_input_tokens or 0, u.cache_creation_input_tokens or 0)
    return (u.input_tokens, *cached, u.output_tokens, details.thinking_tokens if details else 0)


MCP = [
    {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "add", "server_name": "s", "input": {"a": 1}},
    {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False,
     "content": [{"type": "text", "text": "2"}]},
    {"type": "compaction", "content": "summary", "encrypted_content": "enc"},
]  # fmt: skip


def test_beta_blocks_whole_and_streamed() -> None:
    body = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": MCP,
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 2},
    }  # fmt: skip
    BETA_MESSAGE.validate_python(body)
    response = dialect(NAME).decode_response(body)
    assert dialect(NAME).encode_response(response).body == body
    assert wire_of(answering(body).client.beta.messages.create(**ASK)) == MCP
    assert wire_of(streamed(said(NAME, unfold(response)), beta=True)) == MCP


STOPS = {
    StopReason.end_turn: "end_turn",
    StopReason.max_tokens: "max_tokens",
    StopReason.stop_sequence: "stop_sequence",
    StopReason.tool_use: "tool_use",
    StopReason.pause_turn: "pause_turn",
    StopReason.refusal: "refusal",
    StopReason.context_overflow: "model_context_window_exceeded",
}


@pytest.mark.parametrize("reason", STOPS)
def test_stop_reasons(reason: StopReason) -> None:
    response = Response((TextBlock("x"),), reason, usage=TokenUsage(1, output_tokens=1))
    body = dialect(NAME).encode_response(response).body
    MESSAGE.validate_python(body)
    assert answering(body).client.messages.create(**ASK).stop_reason == STOPS[reason]
    assert streamed(said(NAME, unfold(response))).stop_reason == STOPS[reason]


def test_stop_sequence_and_details_are_the_issuers_own() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "no"}
    residue = {"stop_sequence": "END", "stop_details": details, "container": {"id": "c", "expires_at": "2026-01-01"}}
    response = Response((TextBlock("x"),), StopReason.refusal, usage=USAGE, extras={NAME: residue})
    body = dialect(NAME).encode_response(response).body
    for message in (answering(body).client.messages.create(**ASK), streamed(said(NAME, unfold(response)))):
        assert message.stop_sequence == "END"
        assert message.stop_details.category == "cyber"
        assert message.container.id == "c"


def test_usage_residue_reaches_the_accumulator() -> None:
    residue = {"usage": {"server_tool_use": {"web_search_requests": 3, "web_fetch_requests": 0}}}
    response = Response((TextBlock("x"),), usage=USAGE, extras={NAME: residue})
    assert streamed(said(NAME, unfold(response))).usage.server_tool_use.web_search_requests == 3


# ------------------------------------------------------------------------------------------------ streams, interleaved


def chat(*chunks: Json) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def delta(finish: str | None = None, **fields: Json) -> Json:
    return {"id": "c1", "model": "gpt", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(index: int, arguments: str, id: str | None = None, name: str | None = None) -> Json:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {"index": index, "function": function} | ({"id": id, "type": "function"} if id else {})


def test_chat_calls_whose_fragments_alternate() -> None:
    body = chat(
        delta(role="assistant", reasoning_content="let me "),
        delta(reasoning_content="see"),
        delta(content="Both "),
        delta(tool_calls=[call(0, "", "a", "f"), call(1, "", "b", "g")]),
        delta(tool_calls=[call(1, '{"y"'), call(0, '{"x"')]),
        delta(tool_calls=[call(0, ":1}")]),
        delta(tool_calls=[call(1, ":2}")]),
        delta("tool_calls"),
        {"id": "c1", "choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 9, "total_tokens": 59,
                                              "prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 10},
                                              "completion_tokens_details": {"reasoning_tokens": 4}}},
    )  # fmt: skip
    message = streamed(b"".join(translate_stream([body], source="openai-chat", target=NAME)))
    assert (message.id, message.model, message.stop_reason) == ("c1", "gpt", "tool_use")
    assert wire_of(message) == [
        {"type": "thinking", "thinking": "let me see", "signature": ""},
        {"type": "text", "text": "Both "},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
        {"type": "tool_use", "id": "b", "name": "g", "input": {"y": 2}},
    ]
    assert usage_of(message) == (20, 20, 10, 9, 4)


def test_text_that_goes_on_after_a_call_is_not_lost() -> None:
    losses: list[Any] = []
    body = chat(
        delta(content="before "),
        delta(tool_calls=[call(0, "{}", "a", "f")]),
        delta(content="after"),
        delta("tool_calls"),
    )
    message = streamed(b"".join(translate_stream([body], source="openai-chat", target=NAME, on_loss=losses.append)))
    assert "".join(b.text for b in message.content if b.type == "text") == "before after"
    assert [b.name for b in message.content if b.type == "tool_use"] == ["f"]
    assert any(loss.kind == "moved" for loss in losses)


@given(st.data())
def test_any_interleaving_of_open_blocks(data: st.DataObject) -> None:
    """Whatever is open together, the accumulator ends up with every text and every call, calls and kinds in order."""
    lives, events = interleaved(
        data,
        ["text", "thinking", "call"],
        lambda blocks: Response(blocks, id="msg_1", model="m", usage=TokenUsage()),
    )
    message = streamed(said(NAME, events))
    texts = [block.text for block in lives if isinstance(block, TextBlock)]
    assert sorted("".join(b.text for b in message.content if b.type == "text")) == sorted("".join(texts))
    thoughts = [block.text for block in lives if isinstance(block, ThinkingBlock)]
    assert sorted("".join(b.thinking for b in message.content if b.type == "thinking")) == sorted("".join(thoughts))
    calls = [(block.id, block.name, block.input) for block in lives if isinstance(block, ToolUseBlock)]
    assert [(b.id, b.name, b.input) for b in message.content if b.type == "tool_use"] == calls


def test_signed_thoughts_are_never_cut_apart() -> None:
    """A signature proves a whole thought: half of one under its signature would be refused when it is sent back."""
    signed = ThinkingBlock("one two", signature="sig")
    events: list[Event] = [
        MessageStart("msg_1", "claude"),
        BlockStart(0, ThinkingBlock()),
        ThinkingDelta(0, "one "),
        BlockStart(1, TextBlock("")),
        TextDelta(1, "hi"),
        ThinkingDelta(0, "two"),
        BlockComplete(0, signed),
        BlockComplete(1, TextBlock("hi")),
        MessageComplete(Response((signed, TextBlock("hi")), id="msg_1", model="claude", usage=TokenUsage())),
    ]
    message = streamed(said(NAME, events))
    signatures = {b.signature: b.thinking for b in message.content if b.type == "thinking" and b.signature}
    assert signatures in ({}, {"sig": "one two"})


# ------------------------------------------------------------------------------------------------------------- errors


def raised(wire: Any) -> Any:
    with pytest.raises(anthropic.APIError) as caught:
        InMemory(anthropic.Anthropic, wire.status, wire.headers, wire.body).client.messages.create(**ASK)
    return caught.value


def test_their_own_error_comes_back_as_it_was() -> None:
    details = {"error_code": "enforced_spend_limit_reached", "limit": 5}
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "spent", "details": details},
            "request_id": "req_1"}  # fmt: skip
    ours = dialect(NAME).decode_error(429, {"request-id": "req_1"}, json.dumps(body).encode())
    wire = dialect(NAME).encode_error(ours)
    error = raised(wire)
    assert type(error).__name__ == "EnforcedSpendLimitReachedError"
    assert error.body == body


def test_an_error_of_another_dialect_speaks_anthropic_here() -> None:
    body = {"error": {"message": "Slow down", "type": "requests", "param": None, "code": "rate_limit_exceeded"}}
    ours = dialect("openai-chat").decode_error(
        429, {"x-request-id": "r1", "retry-after": "3"}, json.dumps(body).encode()
    )
    wire = dialect(NAME).encode_error(ours)
    error = raised(wire)
    assert isinstance(error, anthropic.RateLimitError)
    assert (error.type, error.api_message, error.request_id) == ("rate_limit_error", "Slow down", "r1")
    assert error.response.headers["retry-after"] == "3"


def test_a_stream_cut_upstream_never_looks_finished() -> None:
    upstream = b'data: {"id":"c1","choices":[{"index":0,"delta":{"content":"par"}}]}\n\n'
    body = b"".join(translate_stream([upstream], source="openai-chat", target=NAME))
    with pytest.raises(anthropic.APIStatusError, match="cut"):
        streamed(body)


# -------------------------------------------------------------------------------------------- what the client sends


class Weather(pydantic.BaseModel):
    city: str
    unit: str | None = None


PNG = "iVBORw0KGgo="
TOOLS: list[Json] = [
    {
        "name": "f",
        "description": "d",
        "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        "cache_control": {"type": "ephemeral", "ttl": "1h"},
    },
    {
        "name": "g",
        "strict": True,
        "input_schema": {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "required": ["a"],
            "additionalProperties": False,
        },
    },
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
]
HISTORY: list[Json] = [
    {
        "role": "user",
        "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            {"type": "image", "source": {"type": "url", "url": "https://a.test/b.png"}},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "t"}, "title": "T",
             "context": "C", "citations": {"enabled": True}},
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
            {"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "ZGF0YQ=="},
            {"type": "text", "text": "calling"},
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
            {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "plain"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": True, "content": [
                {"type": "text", "text": "t"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}]},
            {"type": "text", "text": "and now?"},
        ],
    },
]  # fmt: skip

OK = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_sequence": None,
    "content": [{"type": "text", "text": '{"city":"Bern","unit":null}'}], "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 2},
}  # fmt: skip


def sent(speak: Callable[[Any], object]) -> tuple[Request, InMemory]:
    """What the client sends, decoded; and the server that heard it, after our own body was found to be the same."""
    server = answering(OK)
    speak(server.client)
    headers = dict(server.asked[-1].headers)
    request = dialect(NAME).decode_request(server.body, headers)
    again = dialect(NAME).encode_request(request)
    assert again.body == server.body
    assert again.losses == ()
    assert again.path == server.asked[-1].url.path
    assert again.headers.get("anthropic-beta") == headers.get("anthropic-beta")
    return request, server


def test_a_whole_conversation_as_the_client_sends_it() -> None:
    request, _ = sent(
        lambda client: client.messages.create(
            model="claude", max_tokens=2000, messages=HISTORY, tools=TOOLS, stop_sequences=["END"],
            system=[{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
            tool_choice={"type": "any", "disable_parallel_tool_use": True}, metadata={"user_id": "u"},
            thinking={"type": "enabled", "budget_tokens": 1024}, service_tier="standard_only",
        )
    )  # fmt: skip
    assert (request.model, request.max_output_tokens, request.stop_sequences) == ("claude", 2000, ("END",))
    assert request.system == (TextBlock("s", cache=CacheMark()),)
    assert request.tool_choice == ToolChoice.any(parallel=False)
    assert request.metadata == {"user_id": "u"}
    assert request.thinking == Thinking(mode="enabled", budget=1024)
    assert request.service_tier == "default"

    plain, strict, server = request.tools
    assert isinstance(plain, ToolDefinition)
    assert isinstance(strict, ToolDefinition)
    assert (plain.name, plain.description, plain.strict, plain.cache) == ("f", "d", None, CacheMark(ttl="1h"))
    assert (strict.name, strict.strict) == ("g", True)
    assert server == ServerTool(NAME, TOOLS[2])

    user, assistant, results, more = request.messages
    assert [message.role for message in request.messages] == ["user", "assistant", "tool", "user"]
    assert user.content[0] == ImageBlock(Base64Source("image/png", PNG))
    assert user.content[1] == ImageBlock(UrlSource("https://a.test/b.png"))
    paper = user.content[2]
    assert isinstance(paper, DocumentBlock)
    assert (paper.source, paper.title, paper.context) == (TextSource("t"), "T", "C")
    assert user.content[3] == DocumentBlock(FileSource("file_1"))
    assert user.content[4] == TextBlock("look", cache=CacheMark())
    assert assistant.content == (
        ThinkingBlock("", signature="c2ln"),
        RedactedThinkingBlock("ZGF0YQ=="),
        TextBlock("calling"),
        ToolUseBlock("toolu_1", "f", input={"a": 1}),
        ToolUseBlock("toolu_2", "g"),
    )
    first, second = results.content
    assert isinstance(first, ToolResultBlock)
    assert isinstance(second, ToolResultBlock)
    assert (first.tool_use_id, first.content, first.is_error) == ("toolu_1", (TextBlock("plain"),), None)
    assert second.is_error is True
    assert second.content == (TextBlock("t"), ImageBlock(Base64Source("image/png", PNG)))
    assert more.text == "and now?"


def test_structured_output_by_a_pydantic_model() -> None:
    request, server = sent(lambda client: client.messages.parse(**ASK, output_format=Weather))
    assert request.output_schema == server.body["output_config"]["format"]["schema"]
    assert request.output_schema is not None
    assert request.output_schema["required"] == ["city"]


def test_the_client_parses_our_structured_answer() -> None:
    text = TextBlock('{"city":"Bern","unit":null}')
    body = dialect(NAME).encode_response(Response((text,), usage=TokenUsage())).body
    assert answering(body).client.messages.parse(**ASK, output_format=Weather).parsed_output == Weather(city="Bern")


def test_betas_are_a_header() -> None:
    request, server = sent(lambda client: client.beta.messages.create(**ASK, betas=["files-api-2025-04-14", "x-2026"]))
    assert request.betas == ("files-api-2025-04-14", "x-2026")
    assert "betas" not in server.body


def test_beta_only_fields_survive() -> None:
    servers = [{"type": "url", "name": "s", "url": "https://mcp.test", "authorization_token": "t"}]
    edits = {"edits": [{"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 3}}]}
    request, _ = sent(
        lambda client: client.beta.messages.create(
            **ASK, betas=["mcp-client-2025-11-20"], mcp_servers=servers, context_management=edits
        )
    )
    assert request.extras[NAME]["mcp_servers"] == servers


def test_effort_adaptive_thinking_and_mid_conversation_system() -> None:
    ask = {**ASK, "messages": [*ASK["messages"], {"role": "system", "content": "be brief"}]}
    request, _ = sent(
        lambda client: client.messages.create(
            **ask, thinking={"type": "adaptive", "display": "omitted"}, output_config={"effort": "xhigh"}
        )
    )
    assert request.thinking == Thinking(mode="adaptive", effort="xhigh", display="omitted")
    assert request.messages[1].role == "system"
    assert request.messages[1].text == "be brief"


def test_a_streaming_request_says_so() -> None:
    server = streaming(said(NAME, unfold(Response((TextBlock("x"),), usage=TokenUsage()))))
    with server.client.messages.stream(**ASK) as stream:
        stream.until_done()
    request = dialect(NAME).decode_request(server.body)
    assert request.stream is True
    assert dialect(NAME).encode_request(request).body == server.body


def test_what_the_client_got_goes_back_unchanged() -> None:
    """An answer of ours, appended to the history by the client's own objects, decodes to the blocks it was made of."""
    blocks = (
        ThinkingBlock("hm", signature="c2ln"),
        RedactedThinkingBlock("ZGF0YQ=="),
        TextBlock("x"),
        ToolUseBlock("toolu_1", "f", input={"a": 1}),
    )
    answer = answering(dialect(NAME).encode_response(Response(blocks, usage=TokenUsage())).body).client.messages.create(
        **ASK
    )
    history = [
        *ASK["messages"],
        {"role": "assistant", "content": answer.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "1"}]},
    ]
    request, _ = sent(lambda client: client.messages.create(**{**ASK, "messages": history}, tools=TOOLS[:1]))
    assert request.messages[1].content == blocks


def test_our_request_is_one_the_client_could_have_sent() -> None:
    """Canonical, encoded, and given to the client as keywords: it sends the same body."""
    request = Request(
        (
            Message("user", "hi"),
            Message("assistant", (ToolUseBlock("toolu_1", "f", input={"a": 1}),)),
            Message("tool", (ToolResultBlock("toolu_1", "done", is_error=False),)),
        ),
        "claude", "be kind", (ToolDefinition("f", "d", {"type": "object"}),), ToolChoice.auto(), 100,
    )  # fmt: skip
    body = dialect(NAME).encode_request(request).body
    server = answering(OK)
    server.client.messages.create(**body)
    assert server.body == body


# --------------------------------------------------------------------------------------------------- recorded streams


def calls_of(response: Response) -> list[tuple[str, Json]]:
    return [(b.name, {"input": b.input_text} if b.kind == "text" else b.input) for b in response.tool_uses]


def is_malformed(response: Response) -> bool:
    """The text of some call is no JSON object, so that no client can make one of it."""
    return any(b.kind == "json" and b.input == {} and b.input_text not in (None, "") for b in response.tool_uses)


@needs_shared
@pytest.mark.parametrize(("file", "source"), [("openai-chat",) * 2, ("mistral", "openai-chat"), (NAME, NAME)])
def test_recorded_streams_reach_the_clients_accumulator(file: str, source: str) -> None:
    compared = 0
    for id, body, folded in recorded(file, source):
        if is_malformed(folded):
            continue
        message = streamed(b"".join(translate_stream([body], source=source, target=NAME)), beta=True)
        text = "".join(b.text for b in folded.content if isinstance(b, TextBlock | RefusalBlock))
        assert "".join(b.text for b in message.content if b.type == "text") == text, id
        thought = "".join(b.text for b in folded.content if isinstance(b, ThinkingBlock))
        assert "".join(b.thinking for b in message.content if b.type == "thinking") == thought, id
        assert [(b.name, b.input) for b in message.content if b.type == "tool_use"] == calls_of(folded), id
        assert [b.id for b in message.content if b.type == "tool_use"] == [b.id for b in folded.tool_uses], id
        assert message.stop_reason == (STOPS.get(StopReason(folded.stop_reason)) or "end_turn"), id
        u = folded.usage or TokenUsage()
        counts = (u.input_tokens, u.cached_input_tokens, u.cache_creation_input_tokens, u.output_tokens)
        assert usage_of(message)[:4] == counts, id
        compared += 1
    assert compared >= 80
