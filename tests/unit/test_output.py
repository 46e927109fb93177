"""Structured output for a model that has none: a forced tool, and its call as the text it stands for."""

from __future__ import annotations

import json

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
