"""Requests of OpenAI Responses where a line of ``tests/cases/openai-responses.jsonl`` does not suffice: tools."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from interlingua import (
    Message,
    ParseError,
    Request,
    Response,
    Thinking,
    ToolDefinition,
    ToolUseBlock,
    dialect,
)

NAME = "openai-responses"
Json = Any
speaker = dialect(NAME)
USER = {"role": "user", "content": [{"type": "input_text", "text": "?"}]}
ASKED = (Message("user", "?"),)
SCHEMA: dict[str, Json] = {"type": "object", "properties": {"a": {"type": "string"}}}


def test_an_item_that_is_no_object() -> None:
    with pytest.raises(ParseError, match=r"input\[1\]"):
        speaker.decode_request({"input": [USER, "x"]})


def function(name: str, **more: Json) -> Json:
    return {"type": "function", "name": name, "description": name, "parameters": SCHEMA, "strict": False, **more}


NAMESPACE = {
    "type": "namespace",
    "name": "agents",
    "description": "others",
    "tools": [function("spawn"), function("wait")],
}
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "start: /x/"}
CUSTOM = {"type": "custom", "name": "patch", "description": "edit", "format": GRAMMAR}


def test_the_three_kinds_of_tools_that_codex_has() -> None:
    added = {"type": "additional_tools", "role": "developer", "tools": [function("late"), CUSTOM]}
    body = {"input": [USER, {"role": "assistant", "content": "a"}, added, USER], "tools": [function("f"), NAMESPACE]}
    request = speaker.decode_request(body)
    tools = [tool for tool in request.tools if isinstance(tool, ToolDefinition)]
    assert [(tool.name, tool.kind) for tool in tools] == [
        ("f", "json"), ("spawn", "json"), ("wait", "json"), ("late", "json"), ("patch", "text")
    ]  # fmt: skip
    assert tools[4].extras == {NAME: {"format": GRAMMAR}}
    claude = dialect("anthropic-messages").encode_request(request)
    assert [tool["name"] for tool in claude.body["tools"]] == ["f", "spawn", "wait", "late", "patch"]
    assert any(loss.path.endswith("extras/openai-responses/namespace") for loss in claude.losses)


def test_an_added_tool_without_its_item_is_offered_with_the_others() -> None:
    added = {"type": "additional_tools", "role": "developer", "tools": [function("late")]}
    request = speaker.decode_request({"input": [USER, added], "tools": [function("f")]})
    body = speaker.encode_request(Request(ASKED, tools=request.tools)).body
    assert [tool["name"] for tool in body["tools"]] == ["f", "late"]


def test_a_call_of_a_tool_in_a_namespace_names_it() -> None:
    request = speaker.decode_request({"input": [USER], "tools": [function("f"), NAMESPACE]})
    blocks = (ToolUseBlock("call_1", "spawn"), ToolUseBlock("call_2", "f"))
    output = speaker.encode_response(Response(blocks, "tool_use"), request).body["output"]
    assert [item.get("namespace") for item in output] == ["agents", None]


def test_derived_names_come_back_as_the_callers_own() -> None:
    request = Request(ASKED, tools=(ToolDefinition("a.b", input_schema=SCHEMA), ToolDefinition("a_b")))
    names = [tool["name"] for tool in speaker.encode_request(request).body["tools"]]
    assert names == ["a_b_2", "a_b"]
    wire = {"type": "function_call", "call_id": "call_1", "name": "a_b_2", "arguments": "{}"}
    response = speaker.decode_response({"status": "completed", "output": [wire]}, request=request)
    assert response.tool_uses[0].name == "a.b"


def test_optionals_that_strictness_forced_on_the_model_come_back_absent() -> None:
    request = Request(ASKED, tools=(ToolDefinition("f", input_schema=SCHEMA, strict=True),))
    wire = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": '{"a":null}'}
    call = speaker.decode_response({"status": "completed", "output": [wire]}, request=request).tool_uses[0]
    assert (call.input, call.input_text) == ({}, '{"a":null}')


def test_every_effort_of_the_official_client_is_said() -> None:
    shared = pytest.importorskip("openai.types.shared", reason="the official client is not here")
    words, _ = get_args(shared.ReasoningEffort)
    for effort in get_args(words):
        encoded = speaker.encode_request(Request(ASKED, thinking=Thinking(effort=effort)))
        assert encoded.body["reasoning"] == {"effort": effort}
