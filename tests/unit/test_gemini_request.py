"""Parameters, tools, choice, thinking and schemas of Gemini, as tables."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import (
    Message,
    ParseError,
    Request,
    ToolDefinition,
    dialect,
)
from interlingua.codec.schema import project_schema, to_gemini_schema

GEMINI = dialect("gemini")
Wire = dict[str, Any]
HELLO = (Message("user", "hello"),)
CONTENTS = [{"role": "user", "parts": [{"text": "hello"}]}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
F = ToolDefinition("f", "F", SCHEMA)


def read(**body: Any) -> Request:
    """What a body says; it is written again just as it was."""
    body = {"contents": CONTENTS, **body}
    request = GEMINI.decode_request(body, model="m", stream=False)
    encoded = GEMINI.encode_request(request)
    assert encoded.body == body
    assert encoded.losses == ()
    return request


def write(**fields: Any) -> tuple[Wire, list[tuple[str, str]]]:
    encoded = GEMINI.encode_request(Request(HELLO, model="m", **fields))
    said = {key: value for key, value in encoded.body.items() if key != "contents"}
    return said, [(loss.kind, loss.path) for loss in encoded.losses]


def test_a_model_in_the_body() -> None:
    body = {"model": "models/gemini-pro", "contents": CONTENTS}
    request = GEMINI.decode_request(body)
    assert request.model == "gemini-pro"
    assert GEMINI.encode_request(request).body == body
    assert GEMINI.encode_request(replace(request, model="other")).body["model"] == "models/other"


def test_a_body_is_an_object() -> None:
    with pytest.raises(ParseError):
        GEMINI.decode_request([])
    with pytest.raises(ParseError):
        GEMINI.decode_request({"contents": ["hello"]})


# -------------------------------------------------------------------------------------------------------------- tools


def test_an_edited_word_shows_in_the_older_schema_and_nothing_else() -> None:
    older = {"type": "object", "properties": {"n": {"type": "INTEGER", "title": "N"}}, "property_ordering": ["n"]}
    request = read(generationConfig={"responseMimeType": "application/json", "responseSchema": older})
    edited = {"type": "object", "properties": {"n": {"type": "integer", "title": "M"}}, "propertyOrdering": ["n"]}
    said = GEMINI.encode_request(replace(request, output_schema=edited)).body["generationConfig"]["responseSchema"]
    assert said == {
        "type": "object",
        "properties": {"n": {"type": "INTEGER", "title": "M"}},
        "property_ordering": ["n"],
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "y"]}}},
        {"type": "object", "properties": {"a": {"const": 1}}},
        {"type": ["object", "null"], "additionalProperties": False},
    ],
)
def test_a_remembered_schema_is_written_as_a_new_one(schema: Wire) -> None:
    tools = (ToolDefinition("g", "G", schema),)
    written = [write(tools=tools)[0]["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"] for _ in range(2)]
    assert written == [project_schema(schema, "gemini").schema] * 2
    older = [{"functionDeclarations": [{"name": "g", "parameters": to_gemini_schema(schema).schema}]}]
    assert read(tools=older).tools == read(tools=older).tools


# ------------------------------------------------------------------------------------------------------------- choice
