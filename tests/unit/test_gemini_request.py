"""Parameters, tools, choice, thinking and schemas of Gemini, as tables."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import (
    CacheMark,
    Message,
    ParseError,
    Request,
    ServerTool,
    TextBlock,
    ToolAnnotations,
    ToolChoice,
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
DECLARED = {"name": "f", "description": "F", "parametersJsonSchema": SCHEMA}


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


@pytest.mark.parametrize(
    ("model", "stream", "path"),
    [
        ("gemini-3-pro", None, "/v1beta/models/gemini-3-pro:generateContent"),
        ("gemini-3-pro", True, "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"),
        ("models/x", False, "/v1beta/models/x:generateContent"),
        ("tunedModels/x", False, "/v1beta/tunedModels/x:generateContent"),
        ("vendor/x", False, "/v1beta/models/vendor%2Fx:generateContent"),
        (None, True, None),
    ],
)
def test_the_model_and_streaming_are_in_the_path(model: str | None, stream: bool | None, path: str | None) -> None:
    assert GEMINI.encode_request(Request(HELLO, model=model, stream=stream)).path == path


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


def test_what_has_no_word_is_told() -> None:
    body, losses = write(
        betas=("x",), service_tier="scale", metadata={"user_id": "u-1", "Name": "A B"}, stop_sequences=tuple("abcdef")
    )
    assert body == {"labels": {"user_id": "u-1"}, "generationConfig": {"stopSequences": list("abcde")}}
    assert sorted(losses) == [
        ("dropped", "betas"),
        ("dropped", "metadata/Name"),
        ("dropped", "service_tier"),
        ("dropped", "stop_sequences/5"),
    ]


# -------------------------------------------------------------------------------------------------------------- tools


def test_declarations_share_an_object_and_built_in_tools_have_their_own() -> None:
    search = ServerTool("gemini", {"googleSearch": {}})
    g = ToolDefinition("g", "G", SCHEMA)
    body, losses = write(tools=(F, search, g))
    both = [DECLARED, {"name": "g", "description": "G", "parametersJsonSchema": SCHEMA}]
    assert body["tools"] == [{"functionDeclarations": both}, {"googleSearch": {}}]
    assert losses == [("moved", "tools/2")]
    assert read(tools=body["tools"]).tools == (F, g, search)


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


def test_schemas_are_projected_unless_they_were_read_so() -> None:
    schema = {"type": "object", "properties": {"n": {"const": 1}}}
    body, losses = write(tools=(ToolDefinition("g", None, schema),), output_schema=schema)
    assert body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"] != schema
    assert body["generationConfig"]["responseMimeType"] == "application/json"
    assert sorted(losses) == [("approximated", "output_schema"), ("approximated", "tools/0/input_schema")]
    read(tools=[{"functionDeclarations": [{"name": "g", "parametersJsonSchema": schema}]}])
    read(generationConfig={"responseJsonSchema": schema, "responseMimeType": "application/json"})


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


def test_what_a_tool_has_no_word_for() -> None:
    annotations = ToolAnnotations(read_only=True)
    tools = (
        replace(F, strict=True, annotations=annotations, cache=CacheMark()),
        ToolDefinition("free", kind="text"),
        ServerTool("openai-responses", {"type": "computer"}),
    )
    body, losses = write(tools=tools)
    assert [tool["name"] for tool in body["tools"][0]["functionDeclarations"]] == ["f", "free"]
    assert losses == [
        ("dropped", "tools/0/strict"),
        ("dropped", "tools/0/cache"),
        ("approximated", "tools/1/kind"),
        ("added", "tools/1/input_schema"),
        ("dropped", "tools/2"),
    ]


# ------------------------------------------------------------------------------------------------------------- choice


def test_a_choice_of_a_tool_that_only_another_provider_has() -> None:
    memory = ServerTool("anthropic-messages", {"type": "memory_20250818", "name": "memory"})
    body, losses = write(tools=(F, memory), tool_choice=ToolChoice.specific("memory"))
    assert "toolConfig" not in body
    assert losses[1:] == [("dropped", "tool_choice/name"), ("dropped", "tool_choice")]


def test_a_choice_needs_tools() -> None:
    assert write(tool_choice=ToolChoice.any()) == ({}, [("dropped", "tool_choice")])


def test_the_parts_of_a_request_alone() -> None:
    assert GEMINI.encode_system((TextBlock("s"),)).body == {"parts": [{"text": "s"}]}
    assert GEMINI.encode_tools((F,)).body == [{"functionDeclarations": [DECLARED]}]
    assert GEMINI.encode_tool_choice(ToolChoice.any()).body == {"functionCallingConfig": {"mode": "ANY"}}
    assert GEMINI.encode_tool_choice(ToolChoice(parallel=True)).body is None
    assert GEMINI.encode_messages(HELLO).body == CONTENTS
