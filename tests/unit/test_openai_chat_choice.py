"""Which kind of tool a choice of Chat names: its definition tells, unless the wire said otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua import Message, Request, ToolChoice, ToolDefinition, dialect
from interlingua.testing.conformance import check_request

CHAT = dialect("openai-chat")
FREE = ToolDefinition("patch", kind="text")
ADD = ToolDefinition("add", "Adds.", {"type": "object"})


@pytest.mark.parametrize(("tool", "kind"), [(FREE, "custom"), (ADD, "function")])
def test_a_choice_is_of_the_kind_of_its_tool(tool: ToolDefinition, kind: str) -> None:
    request = Request((Message("user", "?"),), tools=(tool,), tool_choice=ToolChoice.specific(tool.name))
    encoded = check_request(CHAT, request)  # and no form mark tells of it
    assert encoded.body["tool_choice"] == {"type": kind, kind: {"name": tool.name}}


@pytest.mark.parametrize("name", ["add", "patch", "unknown"])
@pytest.mark.parametrize("kind", ["function", "custom"])
def test_a_choice_is_written_as_it_was_read(kind: str, name: str) -> None:
    tools = CHAT.encode_request(Request((Message("user", "?"),), tools=(FREE, ADD))).body["tools"]
    choice: dict[str, Any] = {"type": kind, kind: {"name": name}}
    body = {"messages": [{"role": "user", "content": "?"}], "tools": tools, "tool_choice": choice}
    assert CHAT.encode_request(CHAT.decode_request(body)).body == body
