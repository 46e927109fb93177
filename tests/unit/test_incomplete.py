"""Calls that were cut off: never sent back as finished, never run, and without a result."""

from __future__ import annotations

import pytest

from conformance.matrix import SPOKEN
from interlingua import (
    CancelledError,
    Response,
    ServerError,
    TextBlock,
    ToolUseBlock,
    dialect,
    unfold,
)

DONE = ToolUseBlock("call_done", "read_file", input={"path": "/etc"})


# -------------------------------------------------------------------------------------------------------- streams


@pytest.mark.parametrize("name", SPOKEN)
def test_nothing_is_written_after_a_failure(name: str) -> None:
    encoder = dialect(name).stream_encoder()
    answer = Response((TextBlock("so"), DONE), "tool_use", id="r", model="m")
    events = list(unfold(answer))
    for event in events[:6]:
        encoder.feed(event)
    assert encoder.fail(ServerError("down"))
    assert [encoder.feed(event) for event in events[6:]] == [b""] * len(events[6:])
    assert encoder.fail(CancelledError("enough")) == b""
    assert encoder.close() == b""
