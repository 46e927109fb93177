"""A choice for which a protocol has no word narrows the list of tools instead."""

from __future__ import annotations

import pytest

from interlingua import ToolChoice, ToolDefinition

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
TOOLS = tuple(ToolDefinition(name, name, SCHEMA) for name in ("one", "two", "three"))


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
