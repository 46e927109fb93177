"""The official ``openai`` client reads what we write as a Responses server, and we read what it sends.

The client speaks to an in-memory transport. What it should see is written here by hand from the protocol sheet; bodies
and events are also held against the client's own models with validation on, since the client constructs them unchecked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from interlingua import (
    Base64Source,
    BlockComplete,
    BlockStart,
    CacheMark,
    Citation,
    DocumentBlock,
    Event,
    ImageBlock,
    Message,
    MessageComplete,
    MessageStart,
    NetworkError,
    RateLimitError,
    RedactedThinkingBlock,
    RefusalBlock,
    Request,
    Response,
    ServerError,
    ServerTool,
    TextBlock,
    TextDelta,
    Thinking,
    ThinkingBlock,
    ThinkingDelta,
    TokenUsage,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UrlSource,
    dialect,
    fold,
    unfold,
)
from interlingua.testing.differences import plain
from oracles import sdks
from oracles.sdks import JSON, InMemory, want
from shared_data import corpus, needs_shared, stream_bytes

openai = want("openai")
pydantic = pytest.importorskip("pydantic")
responses = pytest.importorskip("openai.types.responses")

NAME = "openai-responses"
Json = Any
ASK: dict[str, Any] = {"model": "gpt", "input": "?"}
RESPONSE = pydantic.TypeAdapter(responses.Response)
EVENT = pydantic.TypeAdapter(responses.ResponseStreamEvent)
USAGE = TokenUsage(10, 200, 30, 40, 5)  # fresh, read, written, output, of which reasoning


def answering(body: Json) -> InMemory:
    return InMemory(openai.OpenAI, 200, JSON, json.dumps(body).encode())


def streaming(body: bytes) -> InMemory:
    return InMemory(openai.OpenAI, 200, {"content-type": "text/event-stream"}, body)


def streamed(body: bytes) -> tuple[list[Any], Any]:
    """The events of the client's own stream helper, and the response that it accumulates if the answer is complete."""
    with streaming(body).client.responses.stream(**ASK) as stream:
        events = list(stream)
        return events, stream.get_final_response() if events[-1].type == "response.completed" else None


def frames_of(body: bytes) -> list[Json]:
    return [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: ")]


def said(events: Iterable[Event], request: Request | None = None) -> bytes:
    body = sdks.said(NAME, events, request)
    frames = frames_of(body)
    for frame in frames:
        EVENT.validate_python(frame)
    assert [frame["sequence_number"] for frame in frames] == list(range(len(frames)))
    return body


# ------------------------------------------------------------------------------------------------ what we answer


def message(place: int, *parts: Json) -> Json:
    content = [{"annotations": [], "logprobs": [], **part} if part["type"] == "output_text" else part for part in parts]
    return {"id": f"msg_{place}", "type": "message", "role": "assistant", "status": "completed", "content": content}


def text(words: str, **more: Json) -> Json:
    return {"type": "output_text", "text": words, **more}


def thought(place: int, words: str, **more: Json) -> Json:
    return {"id": f"rs_{place}", "type": "reasoning", "summary": [{"type": "summary_text", "text": words}], **more}


def call(place: int, id: str, name: str, arguments: str) -> Json:
    wire = {"id": f"fc_{place}", "type": "function_call", "status": "completed", "call_id": id, "name": name}
    return {**wire, "arguments": arguments}


CITED = {"type": "url_citation", "url": "https://a.test", "title": "A", "start_index": 1, "end_index": 3}

# name: our blocks, their output
ANSWERS: dict[str, tuple[tuple[Any, ...], list[Json]]] = {
    "text": ((TextBlock("Hé\n\"llo\" 🌍"),), [message(0, text('Hé\n"llo" 🌍'))]),
    "no content": ((), []),
    "two texts": ((TextBlock("a "), TextBlock("b")), [message(0, text("a ")), message(1, text("b"))]),
    "refusal": ((RefusalBlock("I cannot."),), [message(0, {"type": "refusal", "refusal": "I cannot."})]),
    "reasoning": (
        (ThinkingBlock("hm", signature="gAAA"), TextBlock("x")),
        [thought(0, "hm", encrypted_content="gAAA"), message(1, text("x"))],
    ),
    "encrypted reasoning": (
        (RedactedThinkingBlock("gAAA"), TextBlock("x")),
        [{"id": "rs_0", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}, message(1, text("x"))],
    ),
    "parallel calls": (
        (ToolUseBlock("call_1", "f", input={"a": [1, None], "é": "\u2028"}), ToolUseBlock("call_2", "g")),
        [call(0, "call_1", "f", '{"a":[1,null],"é":"\u2028"}'), call(1, "call_2", "g", "{}")],
    ),
    "text and call": (
        (TextBlock("so"), ToolUseBlock("call_1", "f", input={"a": 1})),
        [message(0, text("so")), call(1, "call_1", "f", '{"a":1}')],
    ),
    "the model's own spelling": (
        (ToolUseBlock("call_1", "f", input={"a": 1}, input_text='{ "a": 1.0e0 }'),),
        [call(0, "call_1", "f", '{ "a": 1.0e0 }')],
    ),
    "malformed arguments": (
        (ToolUseBlock("call_1", "f", input_text='{"a": '),),
        [call(0, "call_1", "f", '{"a": ')],
    ),
    "custom call": (
        (ToolUseBlock("call_1", "patch", "text", input_text='*** "x"\n'),),
        [{"id": "ctc_0", "type": "custom_tool_call", "status": "completed", "call_id": "call_1", "name": "patch",
          "input": '*** "x"\n'}],
    ),
    "citation": (
        (TextBlock("cited", (Citation(kind="url", url="https://a.test", title="A", start=1, end=3),)),),
        [message(0, text("cited", annotations=[CITED]))],
    ),
    "picture": (
        (ImageBlock(Base64Source("image/webp", "AAAA")),),
        [{"id": "ig_0", "type": "image_generation_call", "status": "completed", "result": "AAAA",
          "output_format": "webp"}],
    ),
}  # fmt: skip


def answered(blocks: tuple[Any, ...], reason: Any = None) -> Response:
    calls = any(isinstance(block, ToolUseBlock) for block in blocks)
    refused = any(isinstance(block, RefusalBlock) for block in blocks)
    natural = "tool_use" if calls else "refusal" if refused else "end_turn"
    return Response(blocks, reason or natural, id="resp_1", model="gpt", usage=USAGE)


def output_of(response: Any) -> list[Json]:
    """What the client holds of the output, in the wire's words, without what is null or was parsed for convenience."""
    items = [item.model_dump(mode="json", exclude_none=True) for item in response.output]
    for item in items:
        item.pop("parsed_arguments", None)
        for part in item.get("content") or []:
            part.pop("parsed", None)
    return items


def usage_of(response: Any) -> tuple[int, ...]:
    usage = response.usage
    given = usage.input_tokens_details
    counts = (usage.input_tokens, given.cached_tokens, given.cache_write_tokens, usage.output_tokens)
    return (*counts, usage.output_tokens_details.reasoning_tokens, usage.total_tokens)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_whole_answer(name: str) -> None:
    blocks, expected = ANSWERS[name]
    body = dialect(NAME).encode_response(answered(blocks)).body
    RESPONSE.validate_python(body)
    response = answering(body).client.responses.create(**ASK)
    assert (response.id, response.model, response.object, response.status) == ("resp_1", "gpt", "response", "completed")
    assert output_of(response) == expected
    assert response.output_text == answered(blocks).text
    assert usage_of(response) == (240, 200, 30, 40, 5, 280)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_streamed_answer(name: str) -> None:
    blocks, expected = ANSWERS[name]
    events, response = streamed(said(unfold(answered(blocks))))
    assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
    assert output_of(response) == expected
    assert usage_of(response) == (240, 200, 30, 40, 5, 280)


ENDS = [
    # our reason         their status, details        their last event
    ("end_turn", "completed", None, "response.completed"),
    ("max_tokens", "incomplete", "max_output_tokens", "response.incomplete"),
    ("refusal", "incomplete", "content_filter", "response.incomplete"),
    ("cancelled", "cancelled", None, "response.incomplete"),
]


@pytest.mark.parametrize(("reason", "status", "details", "last"), ENDS)
def test_how_an_answer_ends(reason: str, status: str, details: str | None, last: str) -> None:
    ended = answered((TextBlock("x"),), reason)
    whole = answering(dialect(NAME).encode_response(ended).body).client.responses.create(**ASK)
    events, _ = streamed(said(unfold(ended)))
    for response in (whole, events[-1].response):
        assert response.status == status
        assert (response.incomplete_details.reason if response.incomplete_details else None) == details
    assert events[-1].type == last


def test_the_complete_set_of_events() -> None:
    blocks = (ThinkingBlock("hm"), TextBlock("so"), ToolUseBlock("call_1", "f", input={"a": 1}))
    assert [frame["type"].removeprefix("response.") for frame in frames_of(said(unfold(answered(blocks))))] == [
        "created", "in_progress",
        "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta",
        "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
        "output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done",
        "output_item.done",
        "output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done",
        "completed",
    ]  # fmt: skip


def test_blocks_that_are_open_together() -> None:
    first, second = ToolUseBlock("call_1", "f", input={"a": 1}), ToolUseBlock("call_2", "g", input={"b": 2})
    whole = answered((ThinkingBlock("hm"), TextBlock("so"), first, second))
    events: list[Event] = [
        MessageStart("resp_1", "gpt"),
        BlockStart(0, ThinkingBlock()),
        BlockStart(1, TextBlock("")),
        ThinkingDelta(0, "h"),
        TextDelta(1, "s"),
        ToolUseStart(2, "call_1", "f", ToolUseBlock("call_1", "f")),
        ToolUseStart(3, "call_2", "g", ToolUseBlock("call_2", "g")),
        ToolUseInputDelta(3, '{"b":'),
        ToolUseInputDelta(2, '{"a":1}'),
        ToolUseInputDelta(3, "2}"),
        ThinkingDelta(0, "m"),
        TextDelta(1, "o"),
        ToolUseEnd(3, second.input, second),
        BlockComplete(1, TextBlock("so")),
        ToolUseEnd(2, first.input, first),
        BlockComplete(0, ThinkingBlock("hm")),
        MessageComplete(whole),
    ]
    _, response = streamed(said(events))
    expected = [thought(0, "hm"), message(1, text("so")), call(2, "call_1", "f", '{"a":1}')]
    assert output_of(response) == [*expected, call(3, "call_2", "g", '{"b":2}')]


def test_what_was_asked_is_repeated() -> None:
    request = Request(
        (Message("user", "?"),), model="gpt", system="Be brief.", temperature=0.5, max_output_tokens=7,
        tools=(ToolDefinition("f", "about f", {"type": "object", "properties": {}}, strict=False),),
        tool_choice=ToolChoice.any(parallel=False), thinking=Thinking(effort="low"), metadata={"k": "v"},
    )  # fmt: skip
    body = dialect(NAME).encode_response(answered((TextBlock("x"),)), request).body
    RESPONSE.validate_python(body)
    response = answering(body).client.responses.create(**ASK)
    assert (response.instructions, response.temperature, response.max_output_tokens) == ("Be brief.", 0.5, 7)
    assert (response.tool_choice, response.parallel_tool_calls, response.metadata) == ("required", False, {"k": "v"})
    assert (response.tools[0].name, response.reasoning.effort) == ("f", "low")
    default = RESPONSE.validate_python(dialect(NAME).encode_response(answered((TextBlock("x"),))).body)
    assert (default.tools, default.tool_choice, default.parallel_tool_calls) == ([], "auto", True)
    assert (default.temperature, default.top_p, default.truncation) == (1.0, 1.0, "disabled")


# -------------------------------------------------------------------------------------------------------- errors


def test_a_stream_that_fails() -> None:
    encoder = dialect(NAME).stream_encoder()
    body = b"".join(map(encoder.feed, [MessageStart("resp_1", "gpt"), BlockStart(0, TextBlock("")), TextDelta(0, "a")]))
    events, _ = streamed(body + encoder.fail(ServerError("oops")))
    last = events[-1]
    assert (last.type, last.response.status) == ("response.failed", "failed")
    assert (last.response.error.code, last.response.error.message) == ("server_error", "oops")
    assert last.response.output == []  # the text was not finished
    assert [event.delta for event in events if event.type == "response.output_text.delta"] == ["a"]
    assert encoder.fail(ServerError("again")) == b""


@pytest.mark.parametrize("request_", [None, Request((Message("user", "?"),), model="gpt")])
def test_a_stream_that_never_began(request_: Request | None) -> None:
    """The client's stream helper raises a RuntimeError where the first event is not ``response.created``."""
    body = dialect(NAME).stream_encoder(request_).fail(RateLimitError("slow down"))
    for frame in frames_of(body):
        EVENT.validate_python(frame)
    plain = list(streaming(body).client.responses.create(**ASK, stream=True))
    for events in (plain, streamed(body)[0]):
        created, failed = events
        assert (created.type, created.response.status) == ("response.created", "in_progress")
        assert (failed.type, failed.response.status) == ("response.failed", "failed")
        error = failed.response.error
        assert (error.code, error.message) == ("rate_limit_exceeded", "slow down")
        assert (failed.response.id, failed.response.output) == (created.response.id, [])
        assert {event.response.model for event in events} == {"gpt" if request_ is not None else ""}
    decoder = dialect(NAME).stream_decoder()
    decoder.feed(body)
    assert isinstance(decoder.error, RateLimitError)


# ------------------------------------------------------------------------------------------- what the client sends

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
PNG = "data:image/png;base64,AAAA"

SENT: dict[str, tuple[dict[str, Any], Request]] = {
    "a string": (ASK, Request((Message("user", "?"),), model="gpt")),
    "instructions": ({**ASK, "instructions": "Be brief."}, Request((Message("user", "?"),), "gpt", "Be brief.")),
    "developer message": (
        {"model": "gpt", "input": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "?"}]},
        Request((Message("user", "?"),), "gpt", "Be brief."),
    ),
    "parameters": (
        {**ASK, "temperature": 0.5, "top_p": 0.9, "max_output_tokens": 9, "service_tier": "flex",
         "metadata": {"k": "v"}, "safety_identifier": "u", "reasoning": {"effort": "high", "summary": "auto"}},
        Request((Message("user", "?"),), "gpt", temperature=0.5, top_p=0.9, max_output_tokens=9, service_tier="flex",
                metadata={"k": "v", "user_id": "u"}, thinking=Thinking(effort="high", display="summarized")),
    ),
    "no reasoning": (
        {**ASK, "reasoning": {"effort": "none"}},
        Request((Message("user", "?"),), "gpt", thinking=Thinking(mode="disabled")),
    ),
    "tools": (
        {**ASK, "parallel_tool_calls": False, "tool_choice": {"type": "custom", "name": "patch"},
         "tools": [{"type": "function", "name": "f", "parameters": SCHEMA, "strict": True, "description": "about f"},
                   {"type": "custom", "name": "patch"}, {"type": "web_search"}]},
        Request((Message("user", "?"),), "gpt",
                tools=(ToolDefinition("f", "about f", SCHEMA, strict=True), ToolDefinition("patch", kind="text"),
                       ServerTool(NAME, {"type": "web_search"})),
                tool_choice=ToolChoice.specific("patch", parallel=False)),
    ),
    "structured output": (
        {**ASK, "text": {"format": {"type": "json_schema", "name": "output", "schema": SCHEMA, "strict": True}}},
        Request((Message("user", "?"),), "gpt", output_schema=SCHEMA),
    ),
    "media": (
        {"model": "gpt", "input": [{"role": "user", "content": [
            {"type": "input_text", "text": "see", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}},
            {"type": "input_image", "image_url": PNG, "detail": "low"},
            {"type": "input_file", "file_url": "https://a.test/b.pdf"}]}]},
        Request((Message("user", (
            TextBlock("see", cache=CacheMark(ttl="30m")), ImageBlock(Base64Source("image/png", "AAAA"), detail="low"),
            DocumentBlock(UrlSource("https://a.test/b.pdf")))),), "gpt"),
    ),
    "a history": (
        {"model": "gpt", "input": [
            {"role": "user", "content": "weather?"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "12C"}]},
        Request((
            Message("user", "weather?"),
            Message("assistant", (ThinkingBlock("", signature="gAAA", extras={NAME: {"item": {"id": "rs_1"}}}),
                                  ToolUseBlock("call_1", "f", extras={NAME: {"id": "fc_1"}}))),
            Message("tool", (ToolResultBlock("call_1", "12C"),))), "gpt"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SENT)
def test_what_the_client_sends(name: str) -> None:
    arguments, meant = SENT[name]
    server = answering(dialect(NAME).encode_response(answered((TextBlock("x"),))).body)
    server.client.responses.create(**arguments)
    assert server.asked[-1].url.path == dialect(NAME).encode_request(meant).path
    read = dialect(NAME).decode_request(server.body, dict(server.asked[-1].headers))
    assert plain(read) == plain(meant)
    assert dialect(NAME).encode_request(read).body == server.body


def test_the_client_parses_structured_output() -> None:
    class Answer(pydantic.BaseModel):
        a: str

    server = answering(dialect(NAME).encode_response(answered((TextBlock('{"a":"x"}'),))).body)
    parsed = server.client.responses.parse(**ASK, text_format=Answer)
    assert parsed.output_parsed == Answer(a="x")
    schema = dialect(NAME).decode_request(server.body).output_schema
    assert schema is not None
    assert schema["required"] == ["a"]


# ------------------------------------------------------------------------------------------------ recorded streams


@needs_shared
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # a web source that the client's models do not know
@pytest.mark.parametrize("source", [NAME, "anthropic-messages", "openai-chat"])
def test_recorded_streams(source: str) -> None:
    """What any provider streamed, said in this protocol, is read by the client to the same text and calls."""
    read = 0
    for record in list(corpus(source))[::4]:
        wire = stream_bytes(record)
        if wire is None or record.get("status") != 200:
            continue
        decoder = dialect(source).stream_decoder()
        events = decoder.feed(wire) + decoder.close()
        if decoder.error is not None:
            continue
        encoder = dialect(NAME).stream_encoder()
        body = b"".join(map(encoder.feed, events))
        _, response = streamed(body)
        whole = fold(events)
        if response is not None:
            read += 1
            calls = [i for i in response.output if i.type in ("function_call", "custom_tool_call")]
            assert response.output_text == whole.text, record["id"]
            assert [(c.call_id, c.name) for c in calls] == [(c.id, c.name) for c in whole.tool_uses], record["id"]
    assert read > 50


def test_a_cut_stream_is_no_answer() -> None:
    body = said(unfold(answered((TextBlock("Hello"),))))
    for cut in range(0, len(body) - 2, 97):
        decoder = dialect(NAME).stream_decoder()
        partial = fold(decoder.feed(body[:cut]) + decoder.close())
        assert partial.stop_reason == "error"
        assert isinstance(decoder.error, NetworkError)
        assert "Hello".startswith(partial.text)
