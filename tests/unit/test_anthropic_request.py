"""Requests of Anthropic Messages that its own rules would refuse."""

from __future__ import annotations

import pytest

from interlingua import Message, Request, Thinking, ToolChoice, ToolDefinition, dialect
from lab.oracles import problems

NAME = "anthropic-messages"
CLAUDE = dialect(NAME)
ADD = ToolDefinition("add", "Adds.", {"type": "object"})


def asked(choice: ToolChoice, thinking: Thinking | None) -> Request:
    said = (Message("user", "?"),)
    return Request(said, model="m", tools=(ADD,), tool_choice=choice, max_output_tokens=5000, thinking=thinking)


@pytest.mark.parametrize(
    ("choice", "said", "lost"),
    [
        (ToolChoice.any(), {"type": "auto"}, {("tool_choice/mode", "approximated")}),
        (
            ToolChoice.any(parallel=False),
            {"type": "auto", "disable_parallel_tool_use": True},
            {("tool_choice/mode", "approximated")},
        ),
        (
            ToolChoice.specific("add"),
            {"type": "auto"},
            {("tool_choice/mode", "approximated"), ("tool_choice/name", "dropped")},
        ),
        (ToolChoice.auto(), {"type": "auto"}, set()),
        (ToolChoice.none(), {"type": "none"}, set()),
    ],
)
def test_no_call_is_forced_while_thinking_is_enabled(
    choice: ToolChoice, said: dict[str, object], lost: set[tuple[str, str]]
) -> None:
    encoded = CLAUDE.encode_request(asked(choice, Thinking(mode="enabled", budget=1024)))
    assert encoded.body["tool_choice"] == said
    assert encoded.body["thinking"]["type"] == "enabled"
    assert {(loss.path, loss.kind) for loss in encoded.losses} == lost
    assert problems(encoded.body, NAME) == []


@pytest.mark.parametrize("thinking", [None, Thinking(mode="adaptive"), Thinking(mode="disabled")])
def test_a_call_is_forced_otherwise(thinking: Thinking | None) -> None:
    encoded = CLAUDE.encode_request(asked(ToolChoice.specific("add"), thinking))
    assert encoded.body["tool_choice"] == {"type": "tool", "name": "add"}
    assert encoded.losses == ()


def test_a_request_that_has_both_is_written_as_it_was_read() -> None:
    encoded = CLAUDE.encode_request(asked(ToolChoice.any(), None))
    body = {**encoded.body, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    again = CLAUDE.encode_request(CLAUDE.decode_request(body))
    assert again.body == body
    assert again.losses == ()


@pytest.mark.parametrize(
    ("mode", "added"), [(None, {("thinking/mode", "added")}), ("disabled", set[tuple[str, str]]())]
)
def test_effort_none_is_thinking_disabled(mode: str | None, added: set[tuple[str, str]]) -> None:
    encoded = CLAUDE.encode_request(asked(ToolChoice.auto(), Thinking(mode=mode, effort="none")))  # type: ignore[arg-type]
    assert encoded.body["thinking"] == {"type": "disabled"}
    assert "output_config" not in encoded.body
    assert {(loss.path, loss.kind) for loss in encoded.losses} == {("thinking/effort", "approximated"), *added}
