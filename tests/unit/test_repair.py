"""Interrupted calls are answered, right behind the turn that made them, in every dialect's own words."""

from __future__ import annotations

import pytest

from interlingua import (
    DIALECTS,
    Message,
    Request,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    dialect,
    repair_tool_results,
    validate_tool_results,
)
from lab.oracles import check_order

CALLS = (ToolUseBlock("call_a", "add", input={"a": 1}), ToolUseBlock("call_b", "add", input={"a": 2}))
HISTORY = (
    Message("user", "add"),
    Message("assistant", CALLS),
    Message("tool", (ToolResultBlock("call_a", "1"),)),
    Message("user", "go on"),
    Message("assistant", (ToolUseBlock("call_c", "add"),)),
)
ADD = ToolDefinition("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})


def test_canonical_messages_are_repaired():
    repaired = repair_tool_results(HISTORY, dialect="openai-chat")
    assert validate_tool_results(repaired, dialect="openai-chat") == []
    assert [message.role for message in repaired] == ["user", "assistant", "tool", "user", "assistant", "tool"]
    assert [(block.tool_use_id, block.is_error) for block in repaired[2].content] == [
        ("call_a", None),
        ("call_b", True),
    ]
    said = [
        inner.text for message in (repaired[2], repaired[5]) for block in message.content for inner in block.content
    ]
    assert "No result was recorded for this call." in said, "whether it was run is not known"
    assert not any("interrupted" in text or "not run" in text for text in said)


def test_a_whole_history_stays_as_it_is():
    assert repair_tool_results(HISTORY[:1], dialect="gemini") == list(HISTORY[:1])


@pytest.mark.parametrize("name", DIALECTS)
def test_the_dialects_own_messages_are_repaired(name):
    speaker = dialect(name)
    body = speaker.encode_request(Request(HISTORY, model="m", tools=(ADD,), max_output_tokens=9)).body
    broken = body[speaker.history_key]
    assert validate_tool_results(broken, dialect=name)
    repaired = repair_tool_results(broken, dialect=name)
    assert validate_tool_results(repaired, dialect=name) == []
    assert check_order({**body, speaker.history_key: repaired}, name) == []
