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
    Thinking,
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


# --------------------------------------------------------------------------------------------------------- parameters


def test_parameters() -> None:
    request = read(
        generationConfig={
            "temperature": 0.5, "topP": 0.9, "topK": 40, "maxOutputTokens": 9, "stopSequences": ["a"], "seed": 7,
            "candidateCount": 2,
        },
        serviceTier="standard",
        labels={"team": "a"},
        safetySettings=[],
    )  # fmt: skip
    assert (request.temperature, request.top_p, request.top_k, request.seed) == (0.5, 0.9, 40, 7)
    assert (request.max_output_tokens, request.stop_sequences) == (9, ("a",))
    assert (request.service_tier, request.metadata) == ("default", {"team": "a"})
    assert request.extras["gemini"]["generationConfig"] == {"candidateCount": 2}


@pytest.mark.parametrize(
    "body",
    [
        {"generationConfig": {}},
        {"generationConfig": None, "safetySettings": None, "toolConfig": None, "systemInstruction": None},
        {"generationConfig": {"stopSequences": [], "temperature": None}},
        {"generationConfig": {"topK": 40.0}},
        {"generation_config": {"max_output_tokens": 5, "thinking_config": {"thinking_budget": 10}}},
        {"generationConfig": {"stopSequences": list("abcdefg")}},
        {"generationConfig": {"responseMimeType": "application/json"}},
        {"generationConfig": {"responseMimeType": "text/x.enum", "responseSchema": {"type": "STRING", "enum": ["a"]}}},
        {"labels": {"Team": "A B"}},
        {"labels": {}},
        {"serviceTier": "SOMETHING"},
        {"cachedContent": "cachedContents/1", "modelArmorConfig": {"prompt_template_name": "x"}},
        {"system_instruction": {"parts": [{"text": "s"}]}},
        {"systemInstruction": {"role": "user", "parts": {"text": "s"}}},
        {"systemInstruction": {"role": "system", "parts": [{"text": ""}, {"inlineData": {}}]}},
        {"systemInstruction": {"parts": []}},
        {"toolConfig": {}},
        {"toolConfig": {"retrievalConfig": {"languageCode": "de"}}},
        {"tools": []},
        {"contents": []},
        {"contents": {"role": "user", "parts": [{"text": "x"}]}},
        {"contents": "x"},
    ],
    ids=str,
)
def test_an_odd_body_is_written_as_it_was_read(body: Wire) -> None:
    read(**body)


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


# ----------------------------------------------------------------------------------------------------------- thinking

THINKING: list[tuple[Thinking, Wire, list[tuple[str, str]]]] = [
    (Thinking(effort="high"), {"thinkingLevel": "HIGH"}, []),
    (Thinking(mode="enabled", budget=100), {"thinkingBudget": 100}, []),
    (Thinking(mode="disabled"), {"thinkingBudget": 0}, []),
    (Thinking(mode="adaptive"), {"thinkingBudget": -1}, []),
    (Thinking(display="summarized"), {"includeThoughts": True}, []),
    (Thinking(effort="low", display="omitted"), {"includeThoughts": False, "thinkingLevel": "LOW"}, []),
    (Thinking(budget=100), {"thinkingBudget": 100}, [("added", "mode")]),
    (Thinking(effort="max"), {"thinkingLevel": "HIGH"}, [("approximated", "effort")]),
    (Thinking(effort="none"), {"thinkingBudget": 0}, [("added", "mode"), ("approximated", "effort")]),
    (Thinking(mode="adaptive", effort="low"), {"thinkingLevel": "LOW"}, [("dropped", "mode")]),
    (Thinking(mode="enabled", budget=9, effort="low"), {"thinkingBudget": 9}, [("dropped", "effort")]),
    (Thinking(mode="between_tools"), {"thinkingBudget": -1}, [("approximated", "mode")]),
    (Thinking(display="detailed"), {"includeThoughts": True}, [("approximated", "display")]),
]


@pytest.mark.parametrize(("thinking", "wire", "losses"), THINKING, ids=lambda value: str(value)[:60])
def test_thinking(thinking: Thinking, wire: Wire, losses: list[tuple[str, str]]) -> None:
    body, told = write(thinking=thinking)
    assert body == {"generationConfig": {"thinkingConfig": wire}}
    assert told == [(kind, f"thinking/{path}") for kind, path in losses]
    if not losses:
        assert read(generationConfig={"thinkingConfig": wire}).thinking == thinking


@pytest.mark.parametrize(
    "wire",
    [
        {"thinkingLevel": "low"},
        {"thinking_level": "High", "include_thoughts": True},
        {"thinkingBudget": 5, "thinkingLevel": "LOW"},
        {"thinkingBudget": None, "includeThoughts": True},
        {"thinkingLevel": "THINKING_LEVEL_UNSPECIFIED"},
        {"thinkingBudget": -7},
    ],
)
def test_odd_thinking_is_written_as_it_was_read(wire: Wire) -> None:
    read(generationConfig={"thinkingConfig": wire})


# -------------------------------------------------------------------------------------------------------------- tools


def test_declarations_share_an_object_and_built_in_tools_have_their_own() -> None:
    search = ServerTool("gemini", {"googleSearch": {}})
    g = ToolDefinition("g", "G", SCHEMA)
    body, losses = write(tools=(F, search, g))
    both = [DECLARED, {"name": "g", "description": "G", "parametersJsonSchema": SCHEMA}]
    assert body["tools"] == [{"functionDeclarations": both}, {"googleSearch": {}}]
    assert losses == [("moved", "tools/2")]
    assert read(tools=body["tools"]).tools == (F, g, search)


@pytest.mark.parametrize(
    "tools",
    [
        {"functionDeclarations": [DECLARED]},
        [{"function_declarations": [DECLARED], "google_search": {}}],
        [{"functionDeclarations": [DECLARED], "codeExecution": None}],
        [{"functionDeclarations": [DECLARED], "codeExecution": {}, "googleSearch": {}}, {"urlContext": {}}],
        [{"functionDeclarations": [DECLARED]}, {"functionDeclarations": [{"name": "g"}]}],
        [{"functionDeclarations": [{"name": "g", "description": None, "parameters": None}]}],
        [{"functionDeclarations": [{"name": "g", "parameters_json_schema": SCHEMA, "response_json_schema": {}}]}],
        [{"functionDeclarations": [{"name": "g", "behavior": "BLOCKING"}]}],
        [{"functionDeclarations": []}, {}, {"googleSearch": None}],
        [{"functionDeclarations": [{"description": "no name"}, DECLARED]}],
        [7],
    ],
    ids=str,
)
def test_tools_are_written_as_they_were_read(tools: Any) -> None:
    read(tools=tools)


LOWER = {"type": "object", "properties": {"n": {"type": "integer"}}}
OLDER: list[tuple[Wire, Wire]] = [
    ({"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}}, LOWER),
    (LOWER, LOWER),
    ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
    ({"type": 6, "property_ordering": ["n"]}, {"type": "object", "propertyOrdering": ["n"]}),
    ({"type": "ARRAY", "min_items": "1"}, {"type": "array", "minItems": 1}),
]


@pytest.mark.parametrize(("older", "schema"), OLDER, ids=lambda value: str(value)[:50])
def test_the_older_schema_is_raised_and_lowered(older: Wire, schema: Wire) -> None:
    tool = read(tools=[{"functionDeclarations": [{"name": "g", "parameters": older}]}]).tools[0]
    assert isinstance(tool, ToolDefinition)
    assert tool.input_schema == schema
    config = {"responseMimeType": "application/json", "responseSchema": older}
    assert read(generationConfig=config).output_schema == schema


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
        ServerTool("openai-responses", {"type": "web_search"}),
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

CHOICES: list[tuple[ToolChoice, Wire | None, list[tuple[str, str]]]] = [
    (ToolChoice.auto(), {"mode": "AUTO"}, []),
    (ToolChoice.any(), {"mode": "ANY"}, []),
    (ToolChoice.none(), {"mode": "NONE"}, []),
    (ToolChoice.specific("f"), {"mode": "ANY", "allowedFunctionNames": ["f"]}, []),
    (ToolChoice(mode="auto", allowed=("f",)), {"mode": "VALIDATED", "allowedFunctionNames": ["f"]}, []),
    (ToolChoice(mode="any", allowed=("f", "g")), {"mode": "ANY", "allowedFunctionNames": ["f", "g"]}, []),
    (ToolChoice(mode="any", allowed=("f",)), {"mode": "ANY", "allowedFunctionNames": ["f"]}, [("approximated", "")]),
    (ToolChoice(allowed=("f",)), {"mode": "VALIDATED", "allowedFunctionNames": ["f"]}, [("added", "/mode")]),
    (ToolChoice(mode="none", allowed=("f",)), {"mode": "NONE"}, [("dropped", "/allowed")]),
    (ToolChoice.auto(parallel=False), {"mode": "AUTO"}, [("dropped", "/parallel")]),
    (ToolChoice(parallel=True), None, [("dropped", "/parallel")]),
    (ToolChoice.specific("web_search"), None, [("dropped", "/name"), ("dropped", "")]),
]


@pytest.mark.parametrize(("choice", "wire", "losses"), CHOICES, ids=lambda value: str(value)[:50])
def test_choices(choice: ToolChoice, wire: Wire | None, losses: list[tuple[str, str]]) -> None:
    search = ServerTool("anthropic-messages", {"type": "web_search_20250305", "name": "web_search"})
    body, told = write(tools=(F, replace(F, name="g"), search), tool_choice=choice)
    assert body.get("toolConfig") == (None if wire is None else {"functionCallingConfig": wire})
    assert told[1:] == [(kind, f"tool_choice{path}") for kind, path in losses]
    if wire is not None and not losses:
        two = [DECLARED, {**DECLARED, "name": "g"}]
        request = read(tools=[{"functionDeclarations": two}], toolConfig={"functionCallingConfig": wire})
        assert request.tool_choice == choice


@pytest.mark.parametrize(
    "wire",
    [
        {"mode": "none"},
        {"mode": "VALIDATED"},
        {"mode": "MODE_UNSPECIFIED"},
        {"mode": "any", "allowed_function_names": ["f"]},
        {"mode": "ANY", "allowedFunctionNames": []},
        {"mode": "AUTO", "streamFunctionCallArguments": True},
        {"allowedFunctionNames": ["f"]},
    ],
)
def test_an_odd_choice_is_written_as_it_was_read(wire: Wire) -> None:
    config = {"functionCallingConfig": wire, "includeServerSideToolInvocations": True}
    read(tools=[{"functionDeclarations": [DECLARED]}], toolConfig=config)
    read(toolConfig=config)


def test_a_choice_needs_tools() -> None:
    assert write(tool_choice=ToolChoice.any()) == ({}, [("dropped", "tool_choice")])


def test_the_parts_of_a_request_alone() -> None:
    assert GEMINI.encode_system((TextBlock("s"),)).body == {"parts": [{"text": "s"}]}
    assert GEMINI.encode_tools((F,)).body == [{"functionDeclarations": [DECLARED]}]
    assert GEMINI.encode_tool_choice(ToolChoice.any()).body == {"functionCallingConfig": {"mode": "ANY"}}
    assert GEMINI.encode_tool_choice(ToolChoice(parallel=True)).body is None
    assert GEMINI.encode_messages(HELLO).body == CONTENTS
