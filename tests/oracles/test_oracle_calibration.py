"""The oracles against recorded traffic: what a provider accepted is accepted, or each exception has a reason.

A request that its own provider answered with 200 must pass, except where the SDK's types ask for more than the server
does, or where the sender added keys that the server ignores. Those are listed: a line that no row explains fails, and
so does a row that explains nothing. And what a provider refused for its form is refused here.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from lab.oracles import DIALECTS, WARNING, check_order, problems, validate_request
from lab.oracles.order import rules_of
from shared_data import corpus, needs_shared

Body = dict[str, Any]
Record = dict[str, Any]

# dialect: files, the providers that own the protocol, how the path of a call ends (not that of a token count)
OWN: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "anthropic-messages": (("anthropic-messages",), ("anthropic",), r"/messages$"),
    "openai-chat": (("openai-chat",), ("openai",), r"/chat/completions$"),
    "openai-responses": (("openai-responses",), ("openai",), r"/responses$"),
    "gemini": (("gemini",), ("google", "vertex"), r":(generateContent|streamGenerateContent)$"),
    "ollama": (("ollama",), ("ollama",), r"/api/chat$"),
    "bedrock-converse": (
        ("bedrock-converse", "bedrock-converse-stream"),
        ("bedrock",),
        r"/(converse|converse-stream)$",
    ),
}

# Lines of `validate_request` on accepted requests, and why they are there.
EXPLAINED: dict[str, dict[str, str]] = {
    "anthropic-messages": {
        r"output_format: unknown key": "the beta's old name of output_config.format, gone from SDK 2.x",
        r"\.abort_reason: unknown key of (Beta)?CodeExecutionResultBlockParam": "a result sent back as it came",
    },
    "openai-chat": {
        r"\.annotations: unknown key of ChatCompletionAssistantMessageParam": "answer sent back whole; ignored",
        r"\.(parsed|parsed_arguments): unknown key": "litellm sends back what its parse() helper added; ignored",
        r"\.tool_calls\[\d+\]\.index: unknown key": "a stream delta sent back as a call; ignored",
        r"\.name: unknown key of ChatCompletionToolMessageParam": "an old field of tool messages; ignored",
        r"\.(requires_confirmation|external_execution): unknown key of FunctionDefinition": "agno's own flags; ignored",
        r"tools\[\d+\]\.name: unknown key": "litellm repeats the name beside the function; ignored",
        r"^(response_format|tool_choice|tools): None is not": "null means absent to the server, not to the types",
        r"\.image_url: 'https://.* is not object": "a bare URL, as early vision models took it",
    },
    "openai-responses": {
        r"tools\[\d+\]\.strict: missing": "required by the types, optional to the server",
        r"\.detail: missing, ResponseInputImageParam": "required by the types, optional to the server",
        r"\.type: 'output_text', expected one of 'input_text'": "assistant history without an id: the server takes it",
        r"\.(id|status): missing, ResponseOutputMessageParam": "required by the types, optional to the server",
        r"\.annotations: missing, ResponseOutputTextParam": "required by the types, optional to the server",
        r"\.(result|status): missing, ImageGenerationCall": "an image referred to by its id alone",
        r"\.outputs: missing, ResponseCodeInterpreterToolCallParam": "outputs were not included in the answer",
        r"\.status: unknown key of ResponseCustomToolCallParam": "answer sent back whole; ignored",
        r"\.(sources|status): None is (not|none of)": "null means absent to the server, not to the types",
        r"^tool_choice: None is not": "null means absent to the server, not to the types",
    },
    "gemini": {
        r"^model: unknown key": "Google's older clients repeat the URL's model in the body",
        r"^safetySettings\[\d+\]\.(category|threshold): \d+ is not": "protobuf enums by number",
        r"^(systemInstruction\.parts|tools): \{.* is not array": "one object where protobuf JSON also takes a list",
    },
    "ollama": {
        r"\.tool_calls\[\d+\]\.type: unknown key": "rig sends OpenAI's tag; ignored",
        r"^options\.think: unknown key": "langchaingo put it in the wrong place; warned about and ignored",
    },
    "bedrock-converse": {
        r"\.video\.format: 'video/mp4' is none of": "a media type where a format belongs; the service took it",
    },
}  # fmt: skip

# Accepted, but against many others that show the rule at work.
ODD_RECORDS = {
    "dd-trace-py/contrib/anthropic/anthropic_completion_tools_call_with_tool_result_stream_helper#0":
        "from 2024: the result's id is not the call's",
}  # fmt: skip


@cache
def records(dialect: str) -> tuple[Record, ...]:
    """What was sent to the providers that own the protocol, with a body and an answer."""
    files, providers, path = OWN[dialect]
    return tuple(
        record
        for file in files
        for record in corpus(file)
        if record["request"] is not None and record["provider"] in providers and re.search(path, record["url_path"])
    )


def accepted(dialect: str) -> list[Record]:
    return [record for record in records(dialect) if record["status"] == 200 and record["id"] not in ODD_RECORDS]


@needs_shared
@pytest.mark.parametrize("dialect", DIALECTS)
def test_accepted_requests_fit_the_types(dialect: str) -> None:
    patterns = {pattern: re.compile(pattern) for pattern in EXPLAINED[dialect]}
    unexplained: list[tuple[str, str]] = []
    used: set[str] = set()
    for record in accepted(dialect):
        for line in validate_request(record["request"], dialect):
            reasons = {pattern for pattern, compiled in patterns.items() if compiled.search(line)}
            used |= reasons
            if not reasons:
                unexplained.append((record["id"], line))
    assert unexplained == []
    assert used == set(patterns)


@needs_shared
@pytest.mark.parametrize("dialect", DIALECTS)
def test_accepted_requests_keep_the_order(dialect: str) -> None:
    found = [(record["id"], line) for record in accepted(dialect) for line in check_order(record["request"], dialect)]
    assert [pair for pair in found if not pair[1].startswith(WARNING)] == []


@needs_shared
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_rule_is_disputed_only_if_traffic_contradicts_it(dialect: str) -> None:
    lines = [line for record in accepted(dialect) for line in check_order(record["request"], dialect)]
    contradicted = {line.rpartition(" [")[2].rstrip("]") for line in lines}
    assert contradicted == {rule.name for rule in rules_of(dialect) if rule.disputed}


@needs_shared
@pytest.mark.parametrize("dialect", DIALECTS)
def test_most_accepted_requests_pass_whole(dialect: str) -> None:
    """So that the two tests above do not pass because everything is explained away, or because nothing was read."""
    passed = [not problems(record["request"], dialect) for record in accepted(dialect)]
    assert len(passed) > 40
    assert sum(passed) > 0.75 * len(passed)


# What a provider refused for its form: the recording, and the part of our line that gives the same reason.
REFUSED = {
    "anthropic-messages": [
        (r"handles-empty-string-content", "[content-present]"),
        (r"rig/anthropic/error_identity_edge/validation_error", "[ranges]"),
        (r"strict_schema_matrix/(cyclic|dangling|scalar|top_level)", "[object-schemas]"),
    ],
    "openai-chat": [
        (r"chat-no-messages", "[some-message]"),
        (r"chat_completions_validation_error_carries_identity", "[ranges]"),
    ],
    "openai-responses": [(r"test_openai_responses_model_http_error", "[ranges]")],
    "gemini": [
        (r"test_generate_content_invalid_role", "[known-roles]"),
        (r"test_generate_content_invalid_temperature", "[limits]"),
    ],
}


@needs_shared
@pytest.mark.parametrize(("dialect", "name", "said"), [(name, *row) for name, rows in REFUSED.items() for row in rows])
def test_what_was_refused_is_refused(dialect: str, name: str, said: str) -> None:
    refused = [record for record in records(dialect) if record["status"] == 400 and re.search(name, record["id"])]
    assert refused
    for record in refused:
        assert any(said in line for line in problems(record["request"], dialect)), record["id"]


# Real conversations, broken: without results a call must be found unanswered, without calls a result orphaned.


def without(body: Body, key: str, cut: Callable[[Body], bool], inner: str | None = None) -> Body:
    """The body without the turns (or, inside turns, the blocks) that ``cut`` points at; turns left empty go too."""
    body = copy.deepcopy(body)
    if inner is None:
        body[key] = [turn for turn in body[key] if not cut(turn)]
        return body
    for turn in body[key]:
        if isinstance(turn.get(inner), list):
            turn[inner] = [block for block in turn[inner] if not cut(block)]
    body[key] = [turn for turn in body[key] if turn.get(inner)]
    return body


def strip_calls(body: Body) -> Body:
    """Chat and Ollama: the calls are a field of the assistant's message."""
    body = copy.deepcopy(body)
    for message in body["messages"]:
        if message.pop("tool_calls", None) and not message.get("content"):
            message["content"] = "so"
    return body


BREAKS: dict[str, tuple[str, Callable[[Body], Body], Callable[[Body], Body]]] = {
    # dialect: words that betray a result, the body without its results, the body without its calls
    "anthropic-messages": (
        "tool_use_id",
        lambda body: without(body, "messages", lambda block: block.get("type") == "tool_result", "content"),
        lambda body: without(body, "messages", lambda block: block.get("type") == "tool_use", "content"),
    ),
    "openai-chat": ("tool_call_id", lambda body: without(body, "messages", lambda m: m["role"] == "tool"), strip_calls),
    "openai-responses": (
        "function_call_output",
        lambda body: without(body, "input", lambda item: item.get("type") == "function_call_output"),
        lambda body: without(body, "input", lambda item: item.get("type") == "function_call"),
    ),
    "gemini": (
        "functionResponse",
        lambda body: without(body, "contents", lambda part: "functionResponse" in part, "parts"),
        lambda body: without(body, "contents", lambda part: "functionCall" in part, "parts"),
    ),
    "ollama": ("'role': 'tool'", lambda body: without(body, "messages", lambda m: m["role"] == "tool"), strip_calls),
    "bedrock-converse": (
        "toolResult",
        lambda body: without(body, "messages", lambda block: "toolResult" in block, "content"),
        lambda body: without(body, "messages", lambda block: "toolUse" in block, "content"),
    ),
}
SERVER_STATE = ("previous_response_id", "conversation", "item_reference", "server_tool_use", "mcp_tool_use")


@needs_shared
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_broken_pair_is_found(dialect: str) -> None:
    word, no_results, no_calls = BREAKS[dialect]
    broken = 0
    for record in accepted(dialect):
        text = str(record["request"])
        if word in text and not any(state in text for state in SERVER_STATE):
            broken += 1
            for cut in (no_results, no_calls):
                lines = check_order(cut(record["request"]), dialect)
                assert any(not line.startswith(WARNING) for line in lines), record["id"]
    assert broken >= 10
