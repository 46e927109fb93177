"""A translated conversation is a prefix of the one translated a turn later, so that provider caches are hit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from interlingua import (
    DIALECTS,
    Message,
    Request,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    dialect,
    translate_request,
)
from interlingua.types.blocks import Block

TOOL = ToolDefinition("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
CALLS: tuple[Block, ...] = (
    TextBlock("Let me"),
    TextBlock(" see."),
    *(ToolUseBlock(f"call_{number}", "add", input={"a": number}) for number in range(2)),
)
RESULTS = tuple(ToolResultBlock(f"call_{number}", str(number), "add") for number in range(2))
TURNS = (
    Message("user", "one"),
    Message("assistant", CALLS),
    Message("tool", RESULTS),
    Message("assistant", "So it is."),
    Message("user", "two"),
    Message("system", "Be careful now."),
    Message("assistant", "Yes."),
    Message("user", "three"),
)
ENDS = (1, 3, 5, 6, 8)
"""Where a request ends."""
NO_PLACE = ("gemini",)
"""Dialects that have no system text within a conversation: it is moved to the system prompt, and declared."""


def bodies(source: str, target: str, *, system: bool) -> list[dict[str, Any]]:
    """The requests of a conversation as it grows, translated."""
    found: list[dict[str, Any]] = []
    for end in ENDS:
        turns = [turn for turn in TURNS[:end] if system or turn.role != "system"]
        request = Request(turns, "m", system="You are terse.", tools=(TOOL,), max_output_tokens=99)
        body = dialect(source).encode_request(request).body
        found.append(translate_request(body, source=source, target=target, model="m").body)
    return found


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("source", DIALECTS)
def test_a_request_begins_as_the_one_before(source: str, target: str) -> None:
    key = dialect(target).history_key
    asked = bodies(source, target, system=source not in NO_PLACE and target not in NO_PLACE)
    for before, after in pairwise(asked):
        history, longer = before.pop(key), list(after[key])
        assert longer[: len(history)] == history
        assert before == {name: value for name, value in after.items() if name != key}


@pytest.mark.parametrize("source", [name for name in DIALECTS if name not in NO_PLACE])
def test_where_system_text_has_no_place_its_move_is_declared(source: str) -> None:
    request = Request(TURNS, "m", system="You are terse.", tools=(TOOL,), max_output_tokens=99)
    body = dialect(source).encode_request(request).body
    losses = translate_request(body, source=source, target="gemini", model="m").losses
    assert any(loss.kind == "moved" and "system prompt" in loss.reason for loss in losses)
