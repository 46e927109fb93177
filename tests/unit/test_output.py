"""Structured output for a model that has none: a forced tool, and its call as the text it stands for."""

from __future__ import annotations

import json

import msgspec
import pytest

from interlingua import (
    DIALECTS,
    AdapterCapabilities,
    Message,
    Request,
    Response,
    StreamGrammar,
    Target,
    TextBlock,
    TokenUsage,
    ToolUseBlock,
    dialect,
    fold,
    unfold,
)

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
REQUEST = Request((Message("user", "hi"),), model="m", output_schema=SCHEMA, max_output_tokens=9)
UNABLE = Target(model="m", capabilities=AdapterCapabilities(structured_output=False))
ABLE = Target(model="m", capabilities=AdapterCapabilities(structured_output=True))
ANSWER = Response(
    (ToolUseBlock("call_1", "structured_output", input={"a": 1}),),
    "tool_use",
    id="x",
    model="m",
    usage=TokenUsage(3, 4),
)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_tool_is_forced_and_declared(name):
    encoded = dialect(name).encode_request(REQUEST, UNABLE)
    assert "structured_output" in json.dumps(encoded.body)
    assert ("approximated", "output_schema") in [(loss.kind, loss.path) for loss in encoded.losses]


@pytest.mark.parametrize("name", DIALECTS)
def test_an_able_model_is_asked_natively(name):
    assert "structured_output" not in json.dumps(dialect(name).encode_request(REQUEST, ABLE).body)


@pytest.mark.parametrize("name", DIALECTS)
def test_the_call_is_the_text(name):
    wire = dialect(name).encode_response(ANSWER, REQUEST).body
    response = dialect(name).decode_response(wire, request=REQUEST)
    assert response.content == (TextBlock('{"a":1}'),)
    assert response.stop_reason == "end_turn"


@pytest.mark.parametrize("name", DIALECTS)
def test_the_call_is_the_text_of_a_stream_too(name):
    encoder, decoder, grammar = (
        dialect(name).stream_encoder(REQUEST),
        dialect(name).stream_decoder(REQUEST),
        StreamGrammar(),
    )
    events = decoder.feed(b"".join(map(encoder.feed, unfold(ANSWER))) + encoder.close()) + decoder.close()
    for event in events:
        grammar.check(event)
    response = fold(events)
    assert response.content == (TextBlock('{"a":1}'),)
    assert response.stop_reason == "end_turn"


@pytest.mark.parametrize("name", DIALECTS)
def test_a_tool_of_that_name_stays_a_tool(name):
    wire = dialect(name).encode_response(ANSWER).body
    assert dialect(name).decode_response(wire).tool_uses[0].input == {"a": 1}


NAMED = {
    "openai-chat": {"response_format": {"type": "json_schema", "json_schema": {
        "name": "weather_report", "strict": True, "schema": SCHEMA}}},
    "openai-responses": {"text": {"format": {
        "type": "json_schema", "name": "weather_report", "strict": True, "schema": SCHEMA}}},
    "bedrock-converse": {"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {
        "schema": msgspec.json.encode(SCHEMA).decode(), "name": "weather_report"}}}}},
}  # fmt: skip


@pytest.mark.parametrize("target", NAMED)
@pytest.mark.parametrize("source", NAMED)
def test_the_name_of_a_schema_survives_where_the_target_has_one(source: str, target: str) -> None:
    # L5
    request = dialect(source).decode_request(NAMED[source])
    assert request.output_name == "weather_report"
    encoded = dialect(target).encode_request(request)
    (key,) = NAMED[target]
    assert encoded.body[key] == NAMED[target][key]
    assert [loss for loss in encoded.losses if "output" in loss.path] == []


NAMING = ("output_name", "output_description")
IN_SCHEMA = [("output_name", "moved", "form"), ("output_description", "moved", "form")]
SAID = [("output_name", "dropped", "form"), ("output_description", "dropped", "form")]
OTHER = [("output_name", "dropped", "form"), ("output_description", "dropped", "content")]


@pytest.mark.parametrize("target", ["anthropic-messages", "gemini", "ollama"])
@pytest.mark.parametrize(
    ("own", "told", "losses"),
    [
        ({}, {"title": "weather", "description": "In Celsius."}, IN_SCHEMA),
        ({"title": "weather", "description": "In Celsius."}, {"title": "weather", "description": "In Celsius."}, SAID),
        ({"title": "Report", "description": "Kelvin."}, {"title": "Report", "description": "Kelvin."}, OTHER),
    ],
)
def test_elsewhere_the_schema_says_its_name_and_what_it_is_for(
    target: str, own: dict[str, str], told: dict[str, str], losses: list[tuple[str, str, str]]
) -> None:
    # L6
    asked = Request((), output_schema={**SCHEMA, **own}, output_name="weather", output_description="In Celsius.")
    encoded = dialect(target).encode_request(asked)
    schema = dialect(target).decode_request(encoded.body).output_schema
    assert schema == {**SCHEMA, **told}
    assert [(loss.path, loss.kind, loss.weight) for loss in encoded.losses if loss.path in NAMING] == losses


def test_a_forced_tool_says_what_the_schema_is_for() -> None:
    asked = Request("hi", output_schema=SCHEMA, output_description="In Celsius.")
    unable = Target("x", "m", capabilities=AdapterCapabilities(structured_output=False))
    encoded = dialect("openai-chat").encode_request(asked, unable)
    assert encoded.body["tools"][0]["function"]["description"].endswith("\n\nIn Celsius.")
    assert ("output_description", "moved") in [(loss.path, loss.kind) for loss in encoded.losses]


@pytest.mark.parametrize("target", DIALECTS)
def test_what_a_schema_is_for_needs_a_schema(target: str) -> None:
    losses = dialect(target).encode_request(Request("hi", output_description="In Celsius.")).losses
    assert [loss.weight for loss in losses if loss.path == "output_description"] == ["content"]


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("request_", [Request((), output_name="x"), Request((), output_schema=SCHEMA, output_name="é")])
def test_a_name_that_cannot_be_sent_is_declared(name: str, request_: Request) -> None:
    # L5
    assert [loss.path for loss in dialect(name).encode_request(request_).losses].count("output_name") == 1
