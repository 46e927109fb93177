"""Blocks that are open together, in protocols that write one block at a time: what is written, moved and lost."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua import (
    DIALECTS,
    Citation,
    CitationDelta,
    Response,
    StopReason,
    TextBlock,
    ToolUseBlock,
    ToolUseInputDelta,
    unfold,
)
from interlingua.testing.conformance import check_events

PLACE = Citation("char", title="t", text="b", index=0, start=1, end=2)
WEB = Citation("url", url="https://example.com", title="t", start=0, end=1)


CALL = ToolUseBlock("call_0", "add", input={"a": 1})


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    "block",
    [CALL, ToolUseBlock("call_0", "add", input_text='{"a": '), ToolUseBlock("call_0", "add"),
     ToolUseBlock("call_0", "add", "text", input_text="hi"), TextBlock("abc", (PLACE,)), TextBlock("abc", (WEB,))],
)  # fmt: skip
def test_what_comes_with_the_end_of_a_block_alone(name: str, block: Any) -> None:
    """Arguments and citations need no deltas."""
    reason = StopReason.tool_use if isinstance(block, ToolUseBlock) else StopReason.end_turn
    events = unfold(Response((block,), reason, model="m"))
    check_events(name, [event for event in events if not isinstance(event, CitationDelta | ToolUseInputDelta)])
