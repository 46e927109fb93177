"""A session tells each loss once, over all its turns; its report is complete."""

from __future__ import annotations

import pytest

from interlingua import ToolUseBlock
from interlingua.agent.session import Session, SyncSession
from interlingua.client.embedded import Script, Step
from session.scenes import scripted

CALL = Step(content=(ToolUseBlock("c1", "add", input={"a": 1}),))
ECHO = Step(act="echo")


def add(a: int) -> int:
    """Add one."""
    return a + 1


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """Session and path of every loss that was logged."""
    lines = [line for record in caplog.records if (line := getattr(record, "interlingua", None)) is not None]
    return [(line["session_id"], loss["path"]) for line in lines for loss in line["losses"]]


async def test_a_conversation_tells_a_loss_once(caplog: pytest.LogCaptureFixture) -> None:
    # over the steps of a turn, over turns, over ways of asking
    script = Script(CALL, ECHO, ECHO, ECHO)
    session = Session("anthropic:m", [add], manager=scripted(script), seed=3, max_output_tokens=9)
    await session.run("one")
    assert [loss.path for loss in session.report.losses].count("seed") == 2, "the report is complete"
    await session.send("two")
    assert [event async for event in session.stream("three")]
    assert told(caplog) == [(session.id, "seed")]
    session.model = "bedrock:m"
    await session.send("four")
    assert told(caplog)[1:] == [(session.id, "seed")], "another target is another reason"
    await session.close()


def test_another_conversation_tells_it_again(caplog: pytest.LogCaptureFixture) -> None:
    manager = scripted()
    for id in ("ses_1", "ses_2"):
        session = SyncSession("anthropic:m", manager=manager, seed=3, max_output_tokens=9, id=id)
        session.send("one")
        session.send("two")
    assert told(caplog) == [("ses_1", "seed"), ("ses_2", "seed")]
