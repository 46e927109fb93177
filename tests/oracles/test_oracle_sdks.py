"""Each SDK oracle on small bodies: accepted as they are, accused with one key more at any depth."""

from __future__ import annotations

import ast
import copy
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from lab import oracles
from lab.oracles import DIALECTS, MissingSdkError, problems, validate_request

Body = dict[str, Any]

SCHEMA: Body = {"type": "object", "properties": {"x": {"type": "string", "x-new": 1}}, "$defs": {}, "x-any": True}
PNG = "iVBORw0KGgo="

GOOD: dict[str, Body] = {
    "anthropic-messages": {
        "model": "m", "max_tokens": 1, "metadata": {"user_id": "u"}, "thinking": {"type": "adaptive"},
        "messages": [
            {"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                {"type": "text", "text": "?", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"free": [{}]}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [
                {"type": "text", "text": "!"}]}]}],
        "tools": [{"name": "f", "input_schema": SCHEMA}], "tool_choice": {"type": "auto"},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
    },
    "openai-chat": {
        "model": "m", "metadata": {"any": "key"}, "stream": True, "stream_options": {"include_usage": True},
        "messages": [
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "t", "content": [{"type": "text", "text": "!"}]}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA, "strict": False}}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
    },
    "openai-responses": {
        "model": "m", "metadata": {"any": "key"}, "reasoning": {"effort": "low"},
        "input": [
            {"role": "user", "content": [{"type": "input_image", "image_url": "https://a/b.png", "detail": "auto"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "s"}]},
            {"type": "function_call", "call_id": "t", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "t", "output": [{"type": "input_text", "text": "!"}]}],
        "tools": [{"type": "function", "name": "f", "parameters": SCHEMA, "strict": None}],
        "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
    },
    "gemini": {
        "contents": [
            {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}]},
            {"role": "model", "parts": [
                {"functionCall": {"name": "f", "args": {"free": [{}]}},
                 "thoughtSignature": "skip_thought_signature_validator"}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"free": [{}]}}}]}],
        "systemInstruction": {"parts": [{"text": "s"}]}, "labels": {"any": "key"},
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": SCHEMA, "responseJsonSchema": SCHEMA}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {"responseSchema": SCHEMA, "thinkingConfig": {"thinkingLevel": "LOW"}, "topK": 3},
    },
    "ollama": {
        "model": "m", "stream": False, "format": SCHEMA, "options": {"num_predict": 3, "stop": ["x"]}, "think": True,
        "messages": [
            {"role": "user", "content": "?", "images": [PNG]},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "t", "function": {"name": "f", "arguments": {"free": [{}]}}}]},
            {"role": "tool", "content": "!", "tool_name": "f", "tool_call_id": "t"}],
        "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}],
    },
    "bedrock-converse": {
        "messages": [
            {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": PNG}}}, {"text": "?"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "f", "input": {"free": [{}]}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"json": {"free": [{}]}}]}}]}],
        "system": [{"text": "s"}], "inferenceConfig": {"maxTokens": 3, "temperature": 1},
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": SCHEMA}}}], "toolChoice": {"auto": {}}},
        "additionalModelRequestFields": {"free": [{}]}, "requestMetadata": {"any": "key"},
    },
}  # fmt: skip

FREE_KEYS = {
    "input", "input_schema", "schema", "parameters", "metadata", "labels", "args", "response", "responseJsonSchema",
    "responseSchema", "format", "arguments", "json", "additionalModelRequestFields", "requestMetadata",
}  # fmt: skip
"""Below these keys of the bodies above anything goes (`format` only in Ollama's)."""


def objects(value: Any, dialect: str, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all objects that are not free-form."""
    found = [path] if isinstance(value, dict) else []
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in steps:
        free = key in FREE_KEYS and not (key == "format" and dialect != "ollama") and not isinstance(inner, list)
        if not free:
            found += objects(inner, dialect, (*path, key))
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_good_body_passes(dialect: str) -> None:
    assert problems(GOOD[dialect], dialect) == []


CLOSED = [(dialect, path) for dialect in DIALECTS for path in objects(GOOD[dialect], dialect)]


@pytest.mark.parametrize(("dialect", "path"), CLOSED)
def test_an_unknown_key_is_found_at_every_depth(dialect: str, path: tuple[Any, ...]) -> None:
    found = validate_request(with_value(GOOD[dialect], (*path, "key_of_tomorrow"), 1), dialect)
    assert any("key_of_tomorrow" in line for line in found), found


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("junk", [None, 1, "x", [], [None], [[]]])
def test_a_wrong_type_is_found_and_nothing_falls_over_it(dialect: str, junk: Any) -> None:
    assert validate_request(junk, dialect)
    for path in objects(GOOD[dialect], dialect)[1:]:
        assert junk is None or validate_request(with_value(GOOD[dialect], path, junk), dialect), path


def with_value(body: Body, path: tuple[Any, ...], value: Any) -> Body:
    body = copy.deepcopy(body)
    place: Any = body
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return body


def user(*content: Body) -> Body:
    return {"role": "user", "content": list(content)}


WRONG: list[tuple[str, Body, str]] = [
    ("anthropic-messages", {"max_tokens": None}, "max_tokens: None is not integer"),
    ("anthropic-messages", {"temperature": "hot"}, "temperature: 'hot' is not"),
    ("anthropic-messages", {"betas": ["x"]}, "betas: unknown key"),
    ("anthropic-messages", {"output_format": {}}, "output_format: unknown key"),
    ("anthropic-messages", {"fallbacks": [{"model": "m", "system": "x"}]}, "fallbacks[0].system: unknown key"),
    ("openai-chat", {"messages": [{"role": "assistant", "reasoning_content": "x"}]},
     "messages[0].reasoning_content: unknown"),
    ("openai-chat", {"messages": [{"role": "tool", "tool_call_id": "t", "content": [{"type": "image_url"}]}]},
     "messages[0].content[0]"),
    ("openai-chat", {"reasoning_effort": "huge"}, "reasoning_effort: 'huge' is none of"),
    ("openai-responses", {"tools": [{"type": "function", "name": "f", "parameters": {}}]}, "tools[0].strict: missing"),
    ("openai-responses", {"stop": ["x"]}, "stop: unknown key"),
    ("openai-responses", {"input": [{"type": "function_call_output", "call_id": "t", "output": {}}]},
     "input[0].output: {} is not"),
    ("gemini", {"generationConfig": {"tools": []}}, "generationConfig.tools: unknown key"),
    ("gemini", {"generationConfig": {"httpOptions": {}}}, "generationConfig.httpOptions: unknown key"),
    ("gemini", {"temperature": 1}, "temperature: unknown key"),
    ("gemini", {"generationConfig": {"model_selection_config": {}}}, "model_selection_config: unknown key"),
    ("gemini", {"generationConfig": {"imageConfig": {"outputMimeType": "image/png"}}}, "outputMimeType: unknown key"),
    ("gemini", {"contents": [{"parts": [{"inlineData": {"data": "data:x"}}]}]},
     "contents[0].parts[0].inlineData.data: 'data:x' is not base64"),
    ("gemini", {"contents": [{"parts": [{"functionCall": {"name": "f", "thoughtSignature": "AA=="}}]}]},
     "thoughtSignature: unknown"),
    ("ollama", {"messages": [{"role": "user", "content": []}]}, "messages[0].content: [] is not"),
    ("ollama", {"messages": [{"role": "user", "images": ["data:image/png;base64,AA=="]}]}, "messages[0].images[0]"),
    ("ollama", {"temperature": 1}, "temperature: unknown key"),
    ("ollama", {"tool_choice": "auto"}, "tool_choice: unknown key"),
    ("bedrock-converse", {"modelId": "m"}, "modelId: belongs to the path"),
    ("bedrock-converse", {"inferenceConfig": {"topK": 1}}, 'Unknown parameter in inferenceConfig: "topK"'),
    ("bedrock-converse", {"inferenceConfig": {"temperature": 1.5}}, "inferenceConfig.temperature: 1.5 is more than 1"),
    ("bedrock-converse", {"messages": [{"role": "tool", "content": []}]}, "messages[0].role: 'tool' is none of"),
    ("bedrock-converse", {"messages": [user({"toolResult": {"toolUseId": "a|b", "content": []}})]},
     "toolUseId: 'a|b' does not match"),
    ("bedrock-converse", {"messages": [user({"image": {"format": "png", "source": {"bytes": "data:"}}})]},
     "bytes: 'data:' is not base64"),
    ("bedrock-converse", {"messages": [user({"text": "x", "cachePoint": {"type": "default"}})]},
     "Can only set one of the following keys"),
    ("bedrock-converse", {"requestMetadata": {"k": "v" * 257}}, "requestMetadata.k: 257 is more than 256"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "changes", "said"), WRONG)
def test_wrong(dialect: str, changes: Body, said: str) -> None:
    found = validate_request({**GOOD[dialect], **changes}, dialect)
    assert any(said in line for line in found), found


RIGHT: list[tuple[str, Body]] = [
    ("anthropic-messages", {"temperature": 0.5, "top_p": 1, "top_k": 3}),
    ("anthropic-messages", {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}),  # in beta
    ("anthropic-messages", {"mcp_servers": [{"type": "url", "name": "n", "url": "https://a"}]}),
    ("anthropic-messages", {"messages": [{"role": "system", "content": "mid", "clear_at": "never"}]}),
    ("openai-chat", {"functions": [{"name": "f"}], "function_call": "auto"}),
    ("openai-chat", {"stream": None, "stream_options": None}),
    ("gemini", {"system_instruction": None, "generation_config": {"max_output_tokens": 3, "stop_sequences": ["x"]}}),
    ("gemini", {"tools": [{"google_search": {}}, {"codeExecution": {}}]}),
    ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "any"}}}),
    ("gemini", {"outputConfig": None, "generationConfig": {"imageConfig": {"imageOutputOptions": {"mimeType": "x"}}}}),
    ("ollama", {"keep_alive": "5m", "think": "low", "format": "json", "truncate": False, "options": None}),
    ("bedrock-converse", {"guardrailConfig": {"guardrailIdentifier": "g", "streamProcessingMode": "sync"}}),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "changes"), RIGHT)
def test_right(dialect: str, changes: Body) -> None:
    assert validate_request({**GOOD[dialect], **changes}, dialect) == []


def test_an_unknown_dialect_is_named() -> None:
    with pytest.raises(ValueError, match="known are anthropic-messages"):
        validate_request({}, "smoke-signals")


def test_a_missing_sdk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(oracles.SDKS, "ollama", ("sdk_of_nobody", "validate", "ollama>=0.6.3"))
    oracles.validator.cache_clear()
    try:
        with pytest.raises(MissingSdkError, match=r"pip install 'ollama>=0.6.3' \(or 'interlingua\[dev\]'\)"):
            validate_request({}, "ollama")
    finally:
        oracles.validator.cache_clear()


def test_no_sdk_is_loaded_before_it_is_asked_for() -> None:
    code = (
        "import sys; from lab.oracles import check_order, validate_request\n"
        "check_order({}, 'gemini')\n"
        "sdks = {'openai', 'anthropic', 'google.genai', 'ollama', 'botocore', 'pydantic'}\n"
        "assert not sdks & set(sys.modules), sdks & set(sys.modules)\n"
        "validate_request({}, 'bedrock-converse')\n"
        "assert sdks & set(sys.modules) == {'botocore'}, sdks & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


# Facts about the SDKs on which the oracles' own tables rest.


def moves(converter: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """What google-genai's converters move: (type, field, object that receives it, keys on the wire), nested too."""
    from google.genai import models

    tree = ast.parse(inspect.getsource(getattr(models, converter)))
    owner, _, surface = converter.removeprefix("_").partition("_to_")
    for node in ast.walk(tree):
        match node:
            case ast.If(
                test=ast.Compare(left=ast.Call(args=[_, field])), body=[ast.Expr(ast.Call(args=[place, keys, _]))]
            ):
                yield owner, ast.literal_eval(field)[0], ast.unparse(place), ast.literal_eval(keys)
            case ast.Call(func=ast.Name(name)) if name.endswith(f"_to_{surface}"):
                yield from moves(name)


def converted() -> set[tuple[str, str, str, tuple[str, ...]]]:
    roots = [
        f"_{name}_to_{surface}" for name in ("GenerateContentConfig", "Content") for surface in ("mldev", "vertex")
    ]
    return {(owner, field, place, tuple(keys)) for root in roots for owner, field, place, keys in moves(root)}


def test_the_layout_is_that_of_the_converters() -> None:
    from google.genai import types

    from lab.oracles import sdk_google

    config = {(field, place) for owner, field, place, _ in converted() if owner == "GenerateContentConfig"}
    assert {field for field, place in config if place == "parent_object"} == set(sdk_google.TOP)
    assert {field for field, _ in config} == set(types.GenerateContentConfig.model_fields) - set(
        sdk_google.IN_PYTHON_ONLY
    )


def test_the_names_are_those_of_the_converters() -> None:
    from google.genai import types

    from lab.oracles import sdk_google

    other = {
        (owner, field, keys)
        for owner, field, _, keys in converted()
        if keys != (getattr(types, owner).model_fields[field].alias,)
    }
    renamed = {("GenerateContentConfig", field, (key,)) for field, key in sdk_google.RENAMED.items()}
    nested = {("ImageConfig", field, ("imageOutputOptions", key)) for field, key in sdk_google.IMAGE_OUTPUT.items()}
    assert other == renamed | nested


def test_header_parameters_are_not_in_anthropics_bodies() -> None:
    import anthropic
    import httpx2

    from lab.oracles import sdk_anthropic

    sent: list[Body] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        return httpx2.Response(
            200, json={"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
        )

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as http:
        client = anthropic.Anthropic(api_key="none", http_client=http)
        client.beta.messages.create(
            model="m", max_tokens=1, messages=[{"role": "user", "content": "?"}],
            betas=["x"], workspace_id="w", user_profile_id="u",
        )  # fmt: skip
    assert sent
    assert not set(sdk_anthropic.HEADERS) & set(sent[0])
    assert validate_request(sent[0], "anthropic-messages") == []


def test_sampling_is_gone_from_anthropics_types() -> None:
    from anthropic.types.message_create_params import MessageCreateParamsBase

    from lab.oracles import sdk_anthropic

    assert not set(sdk_anthropic.SAMPLING) & set(MessageCreateParamsBase.__annotations__)


def test_ollamas_sdk_still_lacks_what_the_server_reads() -> None:
    """When it no longer does, the row in SERVER can go."""
    from lab.oracles import sdk_ollama

    for model, extra in sdk_ollama.SERVER.items():
        assert not set(extra) & set(model.model_fields), model
