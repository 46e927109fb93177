"""A choice for which a protocol has no word narrows the list of tools instead.  # T3"""

from __future__ import annotations

from typing import Any

import pytest

from interlingua import Message, Request, ToolChoice, ToolDefinition, dialect
from interlingua.types import ServerTool

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
TOOLS = tuple(ToolDefinition(name, name, SCHEMA) for name in ("one", "two", "three"))


def offered(name: str, choice: ToolChoice, tools: Any = TOOLS) -> tuple[list[str], list[str]]:
    """The tools that a reader finds, and the paths of the losses."""
    request = Request([Message("user", "go")], tools=tools, tool_choice=choice, model="m", max_output_tokens=9)
    encoded = dialect(name).encode_request(request)
    read = dialect(name).decode_request(encoded.body, model="m")
    names = [tool.name for tool in read.tools if isinstance(tool, ToolDefinition)]
    return names, sorted(loss.path for loss in encoded.losses if loss.path.startswith("tool"))


@pytest.mark.parametrize("name", ["ollama", "bedrock-converse"])
def test_none_sends_no_tools(name: str) -> None:
    assert offered(name, ToolChoice.none()) == ([], ["tool_choice", "tools/0", "tools/1", "tools/2"])


@pytest.mark.parametrize("name", ["ollama", "bedrock-converse", "anthropic-messages"])
def test_only_allowed_tools_are_sent(name: str) -> None:
    names, losses = offered(name, ToolChoice(mode="auto", allowed=("three", "one")))
    assert names == ["one", "three"]
    assert "tools/1" in losses
    assert any(path.startswith("tool_choice") for path in losses)


def test_ollama_sends_only_the_tool_that_must_be_called() -> None:
    names, losses = offered("ollama", ToolChoice.specific("two"))
    assert names == ["two"]
    assert losses == ["tool_choice", "tools/0", "tools/2"]


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses", "gemini"])
@pytest.mark.parametrize("choice", [ToolChoice.none(), ToolChoice(mode="auto", allowed=("one",))])
def test_where_there_is_a_word_all_tools_are_sent(name: str, choice: ToolChoice) -> None:
    names, _ = offered(name, choice)
    assert names == ["one", "two", "three"]


def test_losses_of_the_tools_that_are_left_name_the_callers_places() -> None:
    tools = (TOOLS[0], ToolDefinition("two", kind="text"))
    _, losses = offered("anthropic-messages", ToolChoice(mode="auto", allowed=("two",)), tools)
    assert "tools/1/kind" in losses


def test_a_tool_of_the_providers_own_is_left_out_by_none_alone() -> None:
    search = ServerTool("anthropic-messages", {"type": "web_search_20250305", "name": "web_search"})
    request = Request(
        [Message("user", "go")], tools=(search, *TOOLS), tool_choice=ToolChoice(allowed=("one",)), model="m"
    )
    body = dialect("anthropic-messages").encode_request(request).body
    assert [tool["name"] for tool in body["tools"]] == ["web_search", "one"]


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (ToolChoice(), ["one", "two", "three"]),
        (ToolChoice.auto(), ["one", "two", "three"]),
        (ToolChoice.any(), ["one", "two", "three"]),
        (ToolChoice.none(), []),
        (ToolChoice.specific("two"), ["two"]),
        (ToolChoice(allowed=("two", "three")), ["two", "three"]),
        (ToolChoice(mode="none", allowed=("two",)), []),
    ],
)
def test_what_a_choice_allows(choice: ToolChoice, names: list[str]) -> None:
    assert [tool.name for tool in TOOLS if choice.allows(tool.name)] == names
