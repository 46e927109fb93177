"""The official ``google-genai`` client reads what we write as a server, and we read what it sends.

The client speaks HTTP to loopback. What it should see is written here by hand from the protocol sheet, as the fields of
its own models; a stream is joined as its users join one: parts append.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

from interlingua import (
    Base64Source,
    BlockComplete,
    BlockStart,
    Citation,
    Event,
    ImageBlock,
    JsonBlock,
    Message,
    MessageComplete,
    MessageStart,
    Request,
    Response,
    ServerTool,
    ServerToolResultBlock,
    ServerToolUseBlock,
    TextBlock,
    TextDelta,
    Thinking,
    ThinkingBlock,
    TokenUsage,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseStart,
    dialect,
    unfold,
)
from oracles.sdks import JSON, Loopback, gemini as connect, said, want

genai = want("google.genai")
types = genai.types

NAME = "gemini"
GEMINI = dialect(NAME)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(9)
SIGNATURE = base64.b64encode(b"a proof of thought").decode()


def answering(body: Any) -> Loopback:
    return Loopback(connect, (200, JSON, json.dumps(body).encode()))


def streaming(body: bytes) -> Loopback:
    return Loopback(connect, (200, {"content-type": "text/event-stream"}, body))


def ask(client: Any) -> Any:
    return client.models.generate_content(model="gemini-3-pro", contents="?")


def ask_streamed(client: Any) -> list[Any]:
    return list(client.models.generate_content_stream(model="gemini-3-pro", contents="?"))


def parts_of(answers: Iterable[Any]) -> list[dict[str, Any]]:
    """What a user of the client makes of one answer, or of the answers of a stream."""
    parts: list[dict[str, Any]] = []
    for answer in answers:
        for part in (answer.candidates[0].content.parts if answer.candidates else None) or ():
            seen = part.model_dump(mode="json", exclude_none=True, by_alias=True)
            if parts and {*seen, *parts[-1]} <= {"text", "thought"} and seen.keys() == parts[-1].keys():
                parts[-1]["text"] += seen["text"]
            else:
                parts.append(seen)
    return parts


ANSWER = Response(
    content=(
        ThinkingBlock(text="Let me see."),
        TextBlock("Calling."),
        ToolUseBlock(id="c1", name="add", input={"a": 1, "b": [2]}, signature=SIGNATURE),
        ToolUseBlock(id="c2", name="now"),
    ),
    stop_reason="tool_use",
    id="resp_1",
    model="gemini-3-pro",
    usage=TokenUsage(input_tokens=11, cached_input_tokens=5, output_tokens=7, reasoning_tokens=3),
)
PARTS = [
    {"text": "Let me see.", "thought": True},
    {"text": "Calling."},
    {"functionCall": {"id": "c1", "name": "add", "args": {"a": 1, "b": [2]}}, "thoughtSignature": SIGNATURE},
    {"functionCall": {"id": "c2", "name": "now", "args": {}}},
]


def check_end(answer: Any) -> None:
    assert answer.candidates[0].finish_reason == types.FinishReason.STOP
    assert (answer.response_id, answer.model_version) == ("resp_1", "gemini-3-pro")
    usage = answer.usage_metadata
    assert (usage.prompt_token_count, usage.cached_content_token_count) == (16, 5)
    assert (usage.candidates_token_count, usage.thoughts_token_count, usage.total_token_count) == (4, 3, 23)


def test_client_reads_a_whole_answer() -> None:
    with answering(GEMINI.encode_response(ANSWER).body) as client:
        answer = ask(client)
    assert parts_of([answer]) == PARTS
    assert [(call.id, call.name, call.args) for call in answer.function_calls] == [
        ("c1", "add", {"a": 1, "b": [2]}),
        ("c2", "now", {}),
    ]
    check_end(answer)


def test_client_reads_a_stream() -> None:
    with streaming(said(NAME, unfold(ANSWER))) as client:
        answers = ask_streamed(client)
    assert parts_of(answers) == PARTS
    assert "".join(answer.text or "" for answer in answers[:2]) == "Calling."
    check_end(answers[-1])


def test_client_reads_an_answer_whose_signatures_are_not_base64() -> None:
    """It refuses the whole answer for one of them."""
    thought = ThinkingBlock(text="hm", signature="sig-first")
    response = Response(content=(thought, ToolUseBlock(id="c1", name="add", signature="é")), stop_reason="tool_use")
    expected = [{"text": "hm", "thought": True}, {"functionCall": {"id": "c1", "args": {}, "name": "add"}}]
    with answering(GEMINI.encode_response(response).body) as client:
        assert parts_of([ask(client)]) == expected
    with streaming(said(NAME, unfold(response))) as client:
        assert parts_of(ask_streamed(client)) == expected


def test_client_reads_a_stream_of_blocks_that_are_open_together() -> None:
    call = ToolUseBlock(id="c1", name="add", input={"a": 1})
    whole = Response(content=(TextBlock("One. Two."), call), stop_reason="tool_use")
    events: list[Event] = [
        MessageStart("resp_1", "m"),
        BlockStart(0, TextBlock("")),
        TextDelta(0, "One."),
        ToolUseStart(1, "c1", "add", ToolUseBlock(id="c1", name="add")),
        TextDelta(0, " Two."),
        ToolUseEnd(1, {"a": 1}, call),
        BlockComplete(0, TextBlock("One. Two.")),
        MessageComplete(whole),
    ]
    encoder = GEMINI.stream_encoder()
    body = b"".join(map(encoder.feed, events))
    with streaming(body) as client:
        answers = ask_streamed(client)
    assert parts_of(answers) == [
        {"text": "One."},
        {"functionCall": {"id": "c1", "name": "add", "args": {"a": 1}}},
        {"text": " Two."},
    ]
    assert [(loss.kind, loss.path) for loss in encoder.losses] == [("moved", "content/0")]


def test_client_reads_media_code_and_sources() -> None:
    text = "Naïve: it is 338."
    cited = Citation("url", url="https://example.org/338", title="Numbers", start=7, end=17)
    response = Response(
        content=(
            ImageBlock(Base64Source("image/png", base64.b64encode(PNG).decode()), signature=SIGNATURE),
            ServerToolUseBlock("e1", "code_execution", {"code": "print(169 * 2)", "language": "PYTHON"}, "gemini"),
            ServerToolResultBlock("e1", "code_execution", {"outcome": "OUTCOME_OK", "output": "338\n"}, "gemini"),
            TextBlock(text, citations=(cited,)),
        ),
    )
    encoded = GEMINI.encode_response(response)
    assert encoded.losses == ()
    with answering(encoded.body) as client:
        answer = ask(client)
    image, code, result, said_text = answer.candidates[0].content.parts
    assert (image.inline_data.mime_type, image.inline_data.data) == ("image/png", PNG)
    assert image.thought_signature == b"a proof of thought"
    assert (code.executable_code.code, code.executable_code.language) == ("print(169 * 2)", types.Language.PYTHON)
    assert (result.code_execution_result.outcome, result.code_execution_result.output) == ("OUTCOME_OK", "338\n")
    grounding = answer.candidates[0].grounding_metadata
    segment = grounding.grounding_supports[0].segment
    assert said_text.text.encode()[segment.start_index : segment.end_index].decode() == segment.text == "it is 338."
    assert grounding.grounding_chunks[grounding.grounding_supports[0].grounding_chunk_indices[0]].web.title == "Numbers"
    assert GEMINI.decode_response(encoded.body).content == response.content


def asked(**options: Any) -> tuple[str, Request]:
    """What the client sends, and what we read in it."""
    server = answering(GEMINI.encode_response(Response(content=(TextBlock("ok"),))).body)
    with server as client:
        client.models.generate_content(model="gemini-3-pro", **options)
    path, body = server.asked[-1]
    return path, GEMINI.decode_request(body, model="gemini-3-pro", stream=False)


def test_we_read_a_plain_question() -> None:
    path, request = asked(contents="Hello?")
    assert path.endswith("/models/gemini-3-pro:generateContent")
    assert request.messages == (Message("user", "Hello?"),)
    assert (request.model, request.stream) == ("gemini-3-pro", False)


def test_we_read_what_the_client_can_ask() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    weather = types.FunctionDeclaration(name="weather", description="How it is", parameters_json_schema=schema)
    config = types.GenerateContentConfig(
        system_instruction="Be brief.",
        temperature=0.5,
        top_p=0.9,
        top_k=40,
        seed=7,
        max_output_tokens=100,
        stop_sequences=["END"],
        service_tier="flex",
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_level="LOW"),
        tools=[types.Tool(function_declarations=[weather]), types.Tool(google_search=types.GoogleSearch())],
        tool_config=types.ToolConfig(
            function_calling_config=types.FunctionCallingConfig(mode="ANY", allowed_function_names=["weather"])
        ),
    )
    _, request = asked(contents=types.Part.from_bytes(data=PNG, mime_type="image/png"), config=config)
    assert request.system == (TextBlock("Be brief."),)
    assert (request.temperature, request.top_p, request.top_k, request.seed) == (0.5, 0.9, 40, 7)
    assert (request.max_output_tokens, request.stop_sequences, request.service_tier) == (100, ("END",), "flex")
    assert request.thinking is not None
    assert (request.thinking.effort, request.thinking.display) == ("low", "summarized")
    search, declared = request.tools  # the client puts its functions last
    assert isinstance(declared, ToolDefinition)
    assert (declared.name, declared.description, declared.input_schema) == ("weather", "How it is", schema)
    assert isinstance(search, ServerTool)
    assert request.tool_choice is not None
    assert (request.tool_choice.mode, request.tool_choice.name) == ("specific", "weather")
    image = request.messages[0].content[0]
    assert isinstance(image, ImageBlock)
    assert isinstance(image.source, Base64Source)
    assert (image.source.media_type, base64.b64decode(image.source.data)) == ("image/png", PNG)


def test_we_read_a_history_with_calls() -> None:
    call = types.Part(
        function_call=types.FunctionCall(id="c1", name="add", args={"a": 1}), thought_signature=b"a proof of thought"
    )
    failed = types.Part.from_function_response(name="now", response={"error": "no clock"})
    history = [
        types.UserContent("Add."),
        types.ModelContent([call, types.Part.from_function_call(name="now", args={})]),
        types.UserContent([types.Part.from_function_response(name="add", response={"output": "2"}), failed]),
    ]
    _, request = asked(contents=history)
    user, assistant, tool = request.messages
    first, second = assistant.content
    assert isinstance(first, ToolUseBlock)
    assert isinstance(second, ToolUseBlock)
    assert (first.id, first.name, first.input, first.signature) == ("c1", "add", {"a": 1}, SIGNATURE)
    assert (second.id, second.name, second.signature) == ("call_1_1", "now", None)
    results = [block for block in tool.content if isinstance(block, ToolResultBlock)]
    assert [(result.tool_use_id, result.is_error) for result in results] == [("c1", None), ("call_1_1", True)]
    assert [result.content for result in results] == [(TextBlock("2"),), (TextBlock("no clock"),)]
    assert user.text == "Add."


def test_client_takes_a_structured_result_and_asks_for_structure() -> None:
    part = types.Part.from_function_response(name="add", response={"sum": 2, "carry": False})
    config = types.GenerateContentConfig(
        response_mime_type="application/json",
        response_schema={"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}},
    )
    _, request = asked(contents=[types.UserContent([part])], config=config)
    result = request.messages[0].content[0]
    assert isinstance(result, ToolResultBlock)
    assert result.content == (JsonBlock(value={"sum": 2, "carry": False}),)
    assert request.output_schema == {"type": "object", "properties": {"n": {"type": "integer"}}}


def test_the_clients_own_types_take_what_we_write() -> None:
    for response in (
        ANSWER,
        Response(stop_reason="refusal"),
        Response(content=(TextBlock("", signature=SIGNATURE),), stop_reason="max_tokens"),
    ):
        body = GEMINI.encode_response(response).body
        read = types.GenerateContentResponse.model_validate(body)
        again = GEMINI.decode_response(read.model_dump(mode="json", by_alias=True, exclude_none=True))
        assert (again.content, again.stop_reason, again.usage) == (
            response.content,
            response.stop_reason,
            response.usage,
        )
        assert (again.id, again.model, again.extras, again.forms) == (response.id, response.model, {}, {})


def test_requests_that_we_write_validate_and_come_back_from_the_client() -> None:
    request = Request(
        (Message("user", "Add."), Message("assistant", (ToolUseBlock("c1", "add", input={"a": 1}),))),
        thinking=Thinking(effort="high"),
        tool_choice=ToolChoice.auto(),
        tools=(ToolDefinition("add", "Adds", {"type": "object", "properties": {"a": {"type": "integer"}}}),),
    )
    body = GEMINI.encode_request(request).body
    contents = [types.Content.model_validate(content) for content in body["contents"]]
    assert [content.model_dump(mode="json", by_alias=True, exclude_none=True) for content in contents] == body[
        "contents"
    ]
    types.Tool.model_validate(body["tools"][0])
    types.ToolConfig.model_validate(body["toolConfig"])
    types.ThinkingConfig.model_validate(body["generationConfig"]["thinkingConfig"])
