"""Every ordering rule is shown something guilty, and an innocent conversation that none of them may accuse."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from lab.oracles import DIALECTS, WARNING, check_order
from lab.oracles.order import rules_of

Body = dict[str, Any]

SCHEMA = {"type": "object", "properties": {}}

# One conversation: a question, a call with its result, an answer, another question.
GOOD: dict[str, Body] = {
    "anthropic-messages": {
        "model": "m",
        "max_tokens": 4096,
        "system": [{"type": "text", "text": "be brief"}],
        "messages": [
            {"role": "user", "content": "weather?"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "12C"}]},
            {"role": "assistant", "content": "cold"},
            {"role": "user", "content": [{"type": "text", "text": "thanks"}]},
        ],
        "tools": [{"name": "f", "input_schema": SCHEMA}],
    },
    "openai-chat": {
        "model": "m",
        "messages": [
            {"role": "user", "content": "weather?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "t1", "content": "12C"},
            {"role": "assistant", "content": "cold"},
            {"role": "user", "content": [{"type": "text", "text": "thanks"}]},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
    },
    "openai-responses": {
        "model": "m",
        "input": [
            {"role": "user", "content": "weather?"},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "function_call", "id": "fc_1", "call_id": "t1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "t1", "output": "12C"},
            {"role": "assistant", "content": "cold"},
            {"role": "user", "content": [{"type": "input_text", "text": "thanks"}]},
        ],
        "tools": [{"type": "function", "name": "f", "parameters": SCHEMA, "strict": False}],
    },
    "gemini": {
        "contents": [
            {"role": "user", "parts": [{"text": "weather?"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "t1", "name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "t1", "name": "f", "response": {"output": 12}}}]},
            {"role": "model", "parts": [{"text": "cold"}]},
            {"role": "user", "parts": [{"text": "thanks"}]},
        ],
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]}],
    },
    "ollama": {
        "model": "m",
        "messages": [
            {"role": "user", "content": "weather?"},
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
            {"role": "tool", "tool_name": "f", "content": "12C"},
            {"role": "assistant", "content": "cold"},
            {"role": "user", "content": "thanks"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
    },
    "bedrock-converse": {
        "messages": [
            {"role": "user", "content": [{"text": "weather?"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "12C"}]}}]},
            {"role": "assistant", "content": [{"text": "cold"}]},
            {"role": "user", "content": [{"text": "thanks"}]},
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": SCHEMA}}}]},
    },
}

Edit = tuple[str, Any]
"""A dotted path (numbers index arrays) and the value to put there; DROP removes what is there, ADD + x appends x."""

DROP = object()
BIG_ID = "x" * 41


class Add:
    def __init__(self, value: Any) -> None:
        self.value = value


def edited(body: Body, *edits: Edit) -> Body:
    result = copy.deepcopy(body)
    for path, value in edits:
        *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
        place: Any = result
        for step in steps:
            place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
        if value is DROP:
            del place[last]
        elif isinstance(value, Add):
            place[last].append(value.value)
        else:
            place[last] = value
    return result


CALL = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": ""}
OUTPUT = {"type": "function_call_output", "call_id": "t1", "output": ""}
CHAT_CALL = {"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CHAT_TOOL = {"type": "function", "function": {"name": "f"}}
CHAT_IMAGE = {"type": "image_url", "image_url": {"url": "iVBORw0KGgo="}}
SHELL = {"type": "shell_call", "call_id": "s1", "action": {"commands": ["ls"]}}
TRIGGER = {"type": "compaction_trigger"}
APPROVAL = {"type": "mcp_approval_response", "approval_request_id": "a1", "approve": True}
GEMINI_CALL = {"functionCall": {"name": "f"}}
USE = {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}
PNG = {"image": {"format": "png", "source": {"bytes": "AA=="}}}
PDF = {"document": {"name": "a b", "source": {"bytes": "AA=="}}}
MARK = {"type": "ephemeral"}
MARKED = [{"type": "text", "text": "x", "cache_control": MARK}] * 5
THINK = {"type": "enabled", "budget_tokens": 2048}

BAD: list[tuple[str, str, list[Edit]]] = [
    ("anthropic-messages", "some-message", [("messages", [])]),
    ("anthropic-messages", "user-first", [("messages.0.role", "assistant"), ("messages.1.role", "user")]),
    ("anthropic-messages", "calls-answered", [("messages.2.content.0.tool_use_id", "t2")]),
    ("anthropic-messages", "calls-answered", [("messages.4", {"role": "assistant", "content": [CALL]})]),
    ("anthropic-messages", "results-called", [("messages.1.content", "no call")]),
    ("anthropic-messages", "results-called", [("messages.2.content", [RESULT, RESULT])]),
    ("anthropic-messages", "results-first", [
        ("messages.2.content", [{"type": "text", "text": "so"}, RESULT])]),
    ("anthropic-messages", "unique-ids", [("messages.1.content", [CALL, CALL])]),
    ("anthropic-messages", "id-alphabet", [
        ("messages.1.content.0.id", "functions.f:0"), ("messages.2.content.0.tool_use_id", "functions.f:0")]),
    ("anthropic-messages", "content-present", [("messages.3.content", [])]),
    ("anthropic-messages", "content-present", [("messages.0.content", "")]),
    ("anthropic-messages", "text-present", [("messages.4.content.0.text", "")]),
    ("anthropic-messages", "text-present", [("system.0.text", "")]),
    ("anthropic-messages", "text-present", [("messages.2.content.0.content", [{"type": "text", "text": ""}])]),
    ("anthropic-messages", "block-roles", [("messages.0.content", [{**THOUGHT, "signature": "s"}])]),
    ("anthropic-messages", "block-roles", [("messages.3.content", [{"type": "image", "source": {}}])]),
    ("anthropic-messages", "signed", [("messages.3.content", [THOUGHT])]),
    ("anthropic-messages", "prefill-trimmed", [("messages", Add({"role": "assistant", "content": "Well, "}))]),
    ("anthropic-messages", "prefill-trimmed", [
        ("messages", Add({"role": "assistant", "content": [{"type": "text", "text": "so\n"}]}))]),
    ("anthropic-messages", "names-fit", [("tools.0.name", "a.b")]),
    ("anthropic-messages", "names-fit", [("messages.1.content.0.name", "a.b")]),
    ("anthropic-messages", "unique-tools", [("tools", Add({"name": "f", "input_schema": SCHEMA}))]),
    ("anthropic-messages", "object-schemas", [("tools.0.input_schema", {"anyOf": []})]),
    ("anthropic-messages", "choice-needs-tools", [("tool_choice", {"type": "auto"}), ("tools", [])]),
    ("anthropic-messages", "choice-offered", [("tool_choice", {"type": "tool", "name": "g"})]),
    ("anthropic-messages", "tools-defined", [("tools", DROP)]),
    ("anthropic-messages", "budget", [("thinking", {"type": "enabled", "budget_tokens": 4096})]),
    ("anthropic-messages", "budget", [("thinking", {"type": "enabled", "budget_tokens": 1023})]),
    ("anthropic-messages", "forced-while-thinking", [("thinking", THINK), ("tool_choice", {"type": "any"})]),
    ("anthropic-messages", "few-breakpoints", [("messages.4.content", MARKED)]),
    ("anthropic-messages", "one-domain-list", [
        ("tools", Add({"name": "web_search", "allowed_domains": ["a"], "blocked_domains": ["b"]}))]),
    ("anthropic-messages", "limit-given", [("max_tokens", DROP)]),
    ("anthropic-messages", "ranges", [("temperature", 1.5)]),
    ("anthropic-messages", "exclusive", [
        ("compaction", {"type": "summarize"}), ("context_management", {"edits": [1]})]),
    ("openai-chat", "some-message", [("messages", [])]),
    ("openai-chat", "calls-answered", [("messages.2", {"role": "user", "content": "never mind"})]),
    ("openai-chat", "calls-answered", [("messages", Add({"role": "assistant", "tool_calls": [CHAT_CALL]}))]),
    ("openai-chat", "results-called", [("messages.2.tool_call_id", "t2")]),
    ("openai-chat", "results-called", [("messages.4", {"role": "tool", "tool_call_id": "t1", "content": "late"})]),
    ("openai-chat", "function-called", [("messages.4", {"role": "function", "name": "f", "content": "12C"})]),
    ("openai-chat", "content-present", [("messages.3.content", None)]),
    ("openai-chat", "content-present", [("messages.3.tool_calls", [])]),
    ("openai-chat", "parts-present", [("messages.4.content", [])]),
    ("openai-chat", "short-ids", [("messages.1.tool_calls.0.id", BIG_ID), ("messages.2.tool_call_id", BIG_ID)]),
    ("openai-chat", "unique-ids", [("messages.1.tool_calls", [CHAT_CALL, CHAT_CALL])]),
    ("openai-chat", "names-fit", [("tools.0.function.name", "a.b")]),
    ("openai-chat", "names-fit", [("messages.1.tool_calls.0.function.name", "a b")]),
    ("openai-chat", "names-fit", [("response_format", {"type": "json_schema", "json_schema": {"name": "a b"}})]),
    ("openai-chat", "unique-tools", [("tools", [CHAT_TOOL, CHAT_TOOL])]),
    ("openai-chat", "tools-present", [("tools", [])]),
    ("openai-chat", "choice-needs-tools", [("tools", DROP), ("tool_choice", "auto")]),
    ("openai-chat", "choice-needs-tools", [("tools", DROP), ("parallel_tool_calls", False)]),
    ("openai-chat", "choice-offered", [("tool_choice", {"type": "function", "function": {"name": "g"}})]),
    ("openai-chat", "streams", [("stream_options", {"include_usage": True})]),
    ("openai-chat", "few-stops", [("stop", ["a", "b", "c", "d", "e"])]),
    ("openai-chat", "media", [("messages.4.content", [CHAT_IMAGE])]),
    ("openai-chat", "media", [("messages.4.content", [{"type": "file", "file": {"file_data": "data:x;base64,AA=="}}])]),
    ("openai-chat", "metadata-limits", [("metadata", {str(key): "" for key in range(17)})]),
    ("openai-chat", "metadata-limits", [("metadata", {"key": "v" * 513})]),
    ("openai-chat", "one-limit", [("max_tokens", 1), ("max_completion_tokens", 1)]),
    ("openai-chat", "ranges", [("temperature", 2.1)]),
    ("openai-chat", "logprobs-asked", [("top_logprobs", 3)]),
    ("openai-responses", "something-said", [("input", [])]),
    ("openai-responses", "calls-answered", [("input.3", DROP)]),
    ("openai-responses", "calls-answered", [("input", Add(SHELL))]),
    ("openai-responses", "results-called", [("input.3.call_id", "fc_1")]),
    ("openai-responses", "results-called", [("input", [
        OUTPUT,
        {"type": "function_call", "call_id": "t1", "name": "f", "arguments": "{}"}])]),
    ("openai-responses", "unique-ids", [("input", Add(OUTPUT))]),
    ("openai-responses", "reasoning-followed", [("input.2", {"role": "user", "content": "so?"})]),
    ("openai-responses", "reasoning-followed", [("input", Add({"type": "reasoning", "id": "rs_2", "summary": []}))]),
    ("openai-responses", "trigger-last", [("input.0", TRIGGER)]),
    ("openai-responses", "parts-of-role", [("input.4.content", [{"type": "input_text", "text": "cold"}])]),
    ("openai-responses", "parts-of-role", [("input.5.content", [{"type": "output_text", "text": "thanks"}])]),
    ("openai-responses", "id-prefixes", [("input.2.id", "t1")]),
    ("openai-responses", "approvals-asked", [("input", Add(APPROVAL))]),
    ("openai-responses", "names-fit", [("tools.0.name", "a.b")]),
    ("openai-responses", "names-fit", [("input.2.name", "a.b")]),
    ("openai-responses", "choice-offered", [("tool_choice", {"type": "function", "name": "g"})]),
    ("openai-responses", "choice-needs-tools", [("tools", DROP), ("tool_choice", "required")]),
    ("openai-responses", "unique-tools", [("tools", [{"type": "function", "name": "f"}] * 2)]),
    ("openai-responses", "streams", [("stream_options", {"include_obfuscation": False})]),
    ("openai-responses", "media", [("input.5.content", [{"type": "input_image", "image_url": "iVBORw0KGgo="}])]),
    ("openai-responses", "media", [("input.5.content", [{"type": "input_image", "detail": "auto"}])]),
    ("openai-responses", "media", [("input.3.output", [{"type": "input_file", "filename": "a.pdf"}])]),
    ("openai-responses", "metadata-limits", [("metadata", {"k" * 65: ""})]),
    ("openai-responses", "exclusive", [("previous_response_id", "resp_1"), ("conversation", "conv_1")]),
    ("openai-responses", "ranges", [("top_p", -1)]),
    ("gemini", "some-content", [("contents", [])]),
    ("gemini", "known-roles", [("contents.3.role", "assistant")]),
    ("gemini", "user-first", [("contents.0.role", "model")]),
    ("gemini", "alternating", [("contents.3.role", "user")]),
    ("gemini", "parts-present", [("contents.3.parts", [])]),
    ("gemini", "text-present", [("contents.3.parts.0.text", "")]),
    ("gemini", "one-datum", [("contents.0.parts.0.inlineData", {"mimeType": "image/png", "data": "AA=="})]),
    ("gemini", "one-datum", [("contents.0.parts", [{}])]),
    ("gemini", "calls-answered", [("contents.1.parts", [GEMINI_CALL, GEMINI_CALL])]),
    ("gemini", "calls-answered", [("contents.4", {"role": "model", "parts": [GEMINI_CALL]})]),
    ("gemini", "responses-called", [("contents.2.parts.0.functionResponse.id", "t2")]),
    ("gemini", "responses-called", [("contents.1.parts", [{"text": "no call"}])]),
    ("gemini", "names-echoed", [("contents.2.parts.0.functionResponse.name", "g")]),
    ("gemini", "names-echoed", [("contents.2.parts.0.functionResponse.name", DROP)]),
    ("gemini", "ids-echoed", [("contents.2.parts.0.functionResponse.id", DROP)]),
    ("gemini", "part-roles", [("contents.4.parts", [GEMINI_CALL])]),
    ("gemini", "system-text", [("systemInstruction.parts", [{"fileData": {"fileUri": "gs://a/b"}}])]),
    ("gemini", "names-fit", [("tools.0.functionDeclarations.0.name", "a b")]),
    ("gemini", "unique-tools", [("tools", Add({"function_declarations": [{"name": "f"}]}))]),
    ("gemini", "one-schema", [("tools.0.functionDeclarations.0.parameters", {"type": "OBJECT"})]),
    ("gemini", "one-schema", [("generationConfig", {"responseSchema": {}, "response_json_schema": {}})]),
    ("gemini", "one-schema", [("generationConfig", {"thinkingConfig": {"thinkingBudget": 0, "thinkingLevel": "LOW"}})]),
    ("gemini", "allowed-names", [("toolConfig.functionCallingConfig", {"mode": "ANY", "allowedFunctionNames": ["g"]})]),
    ("gemini", "allowed-names", [("toolConfig.functionCallingConfig", {"allowedFunctionNames": ["f"]})]),
    ("gemini", "cached-alone", [("cachedContent", "cachedContents/1")]),
    ("gemini", "limits", [("generationConfig", {"temperature": 3})]),
    ("gemini", "limits", [("generationConfig", {"stopSequences": list("abcdef")})]),
    ("ollama", "known-roles", [("messages.0.role", "developer")]),
    ("ollama", "levels", [("think", "xhigh")]),
    ("ollama", "attributable", [("messages.2.tool_name", DROP)]),
    ("ollama", "results-called", [("messages.2.tool_name", "g")]),
    ("ollama", "results-called", [("messages.1.tool_calls", [])]),
    ("ollama", "calls-answered", [("messages.2", {"role": "user", "content": "never mind"})]),
    ("ollama", "of-assistant", [("messages.0.thinking", "hm")]),
    ("ollama", "ranges", [("logprobs", True), ("top_logprobs", 21)]),
    ("ollama", "logprobs-asked", [("top_logprobs", 2)]),
    ("bedrock-converse", "some-message", [("messages", [])]),
    ("bedrock-converse", "user-first", [("messages.0.role", "assistant"), ("messages.1.content", [{"text": "so"}])]),
    ("bedrock-converse", "alternating", [("messages.3.role", "user")]),
    ("bedrock-converse", "calls-answered", [("messages.2.content.0.toolResult.toolUseId", "t2")]),
    ("bedrock-converse", "results-called", [("messages.1.content", [{"text": "no call"}])]),
    ("bedrock-converse", "results-first", [("messages.2.content", [
        {"text": "so"}, {"toolResult": {"toolUseId": "t1", "content": []}}])]),
    ("bedrock-converse", "unique-ids", [("messages.1.content", [USE, USE])]),
    ("bedrock-converse", "tools-defined", [("toolConfig", DROP)]),
    ("bedrock-converse", "text-present", [("messages.0.content.0.text", "")]),
    ("bedrock-converse", "text-present", [("system", [{"text": ""}])]),
    ("bedrock-converse", "content-present", [("messages.3.content", [])]),
    ("bedrock-converse", "block-roles", [("messages.3.content", [PNG])]),
    ("bedrock-converse", "block-roles", [("messages.4.content", [USE])]),
    ("bedrock-converse", "text-beside-documents", [("messages.0.content", [PDF])]),
    ("bedrock-converse", "document-names", [
        ("messages.0.content", Add({"document": {**PDF["document"], "name": "a.pdf"}}))]),
    ("bedrock-converse", "document-names", [
        ("messages.0.content", Add({"document": {**PDF["document"], "name": "a  b"}}))]),
    ("bedrock-converse", "few-media", [("messages.0.content", [PNG] * 21)]),
    ("bedrock-converse", "cache-after-content", [
        ("messages.4.content", [{"cachePoint": {"type": "default"}}, {"text": "so"}])]),
    ("bedrock-converse", "unique-tools", [("toolConfig.tools", [{"toolSpec": {"name": "f"}}] * 2)]),
    ("bedrock-converse", "choice-offered", [("toolConfig.toolChoice", {"tool": {"name": "g"}})]),
    ("bedrock-converse", "inputs-are-objects", [("messages.1.content.0.toolUse.input", "{}")]),
    ("bedrock-converse", "schema-is-text", [("outputConfig.textFormat.structure.jsonSchema.schema", "{")]),
    ("bedrock-converse", "schema-is-text", [("outputConfig.textFormat.structure.jsonSchema.schema", "[]")]),
    ("bedrock-converse", "prompt-alone", [("promptVariables", {"a": {"text": "b"}})]),
]  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_rule_accuses_the_innocent(dialect: str) -> None:
    assert check_order(GOOD[dialect], dialect) == []


@pytest.mark.parametrize(("dialect", "rule", "edits"), BAD)
def test_the_rule_accuses_the_guilty(dialect: str, rule: str, edits: list[Edit]) -> None:
    found = check_order(edited(GOOD[dialect], *edits), dialect)
    assert any(problem.endswith(f" [{rule}]") for problem in found), found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_rule_was_shown_something_guilty(dialect: str) -> None:
    assert {rule.name for rule in rules_of(dialect)} == {rule for name, rule, _ in BAD if name == dialect}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_disputed_rule_only_warns(dialect: str) -> None:
    disputed = {rule.name: rule.disputed for rule in rules_of(dialect)}
    for name, rule, edits in BAD:
        if name == dialect:
            found = [
                each for each in check_order(edited(GOOD[dialect], *edits), dialect) if each.endswith(f" [{rule}]")
            ]
            assert {each.startswith(WARNING) for each in found} == {disputed[rule]}


# What the rules must not forbid, each seen in accepted traffic or named by a sheet.
ALLOWED: list[tuple[str, list[Edit]]] = [
    ("anthropic-messages", [("max_tokens", 0)]),
    ("anthropic-messages", [("messages", Add({"role": "assistant", "content": ""}))]),
    ("anthropic-messages", [("messages.3.content", [{"type": "thinking", "thinking": "", "signature": "s"}])]),
    ("anthropic-messages", [("thread", {"type": "continue"}), ("messages.0", DROP), ("messages.0", DROP)]),
    ("anthropic-messages", [("messages", Add({"role": "system", "content": "new rule"}))]),
    ("openai-chat", [("messages.3", {"role": "assistant", "content": None, "refusal": "no"})]),
    ("openai-chat", [("messages.0", {"role": "developer", "content": "be brief"})]),
    ("openai-responses", [("previous_response_id", "resp_1"), ("input.1", DROP), ("input.1", DROP)]),
    ("openai-responses", [("input", "hello")]),
    ("openai-responses", [("tools", DROP), ("input.0", {"type": "additional_tools", "role": "developer", "tools": []}),
                          ("tool_choice", "auto")]),
    ("gemini", [("contents.1.parts.0.functionCall.id", DROP), ("contents.2.parts.0.functionResponse.id", DROP)]),
    ("gemini", [("contents.3.parts", Add({"thoughtSignature": "QUJD"}))]),
    ("gemini", [("contents.2.role", "function")]),
    ("ollama", [("messages.2.tool_call_id", "t1"), ("messages.1.tool_calls.0.id", "t1")]),
    ("bedrock-converse", [("messages.0.content", [PDF, {"text": "read"}])]),
    ("bedrock-converse", [("messages.3.content", Add({"toolUse": {**USE["toolUse"], "type": "server_tool_use"}}))]),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "edits"), ALLOWED)
def test_what_the_rules_allow(dialect: str, edits: list[Edit]) -> None:
    assert check_order(edited(GOOD[dialect], *edits), dialect) == []


def test_an_unknown_dialect_is_named() -> None:
    with pytest.raises(ValueError, match="known are anthropic-messages"):
        check_order({}, "smoke-signals")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("junk", [None, 1, "x", [], {}, [None], [[]], {"a": []}])
def test_rules_pass_by_what_has_the_wrong_type(dialect: str, junk: Any) -> None:
    """Any value at any place: the type check speaks about it, the rules must not fall over it."""
    assert isinstance(check_order(junk, dialect), list)
    for path in places(GOOD[dialect]):
        check_order(edited(GOOD[dialect], (path, junk)), dialect)


def places(value: Any, path: str = "") -> list[str]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    here = [(f"{path}.{step}".lstrip("."), inner) for step, inner in steps]
    return [place for step, inner in here for place in (step, *places(inner, step))]
