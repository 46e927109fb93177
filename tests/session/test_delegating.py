"""Sessions as tools of other sessions: their own model and limits, their cost in the caller's report, their events."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from interlingua import Price, Pricing, ProviderManager, Request, ToolResultBlock, validate_tool_results
from interlingua.agent.session import Session, SyncSession
from interlingua.client.embedded import Script, Step, call, handler
from interlingua.client.transport.memory import MemoryTransport
from session.scenes import check_grammar, scripted
from session.test_cut_turns import Stepping

PRICES = Pricing({"anthropic:m": Price(input=1.0, output=1.0), "openai:small": Price(input=2.0, output=2.0)}, tables=())
ASKS = Step(content=(call("expert", task="colour of the sky?"), call("expert", task="colour of grass?")))


async def search(words: str) -> str:
    """Search."""
    return f"{words} is blue or green"


def colours(request: Request) -> Step:
    """Searches first; what two conversations are told does not depend on their order."""
    if request.messages[-1].role != "tool":
        return Step(content=(call("search", words="it"),))
    return Step(text="blue" if "sky" in request.messages[0].text else "green")


def waited(found: Any) -> Any:
    return asyncio.run(found) if asyncio.iscoroutine(found) else found


def pair(kind: Any, child: Any, *script: Any, answers: Any = (), **settings: Any) -> tuple[Any, Any]:
    """A session, and the expert that is its tool."""
    expert = child("openai:small", [search], "You know colours.", manager=scripted(Script(*answers)), pricing=PRICES)
    parent = kind(
        "anthropic:m",
        [expert.as_tool("expert", "Knows colours.", **settings)],
        manager=scripted(Script(*script)),
        pricing=PRICES,
    )
    return parent, expert


def results(session: Any) -> list[ToolResultBlock]:
    return [block for message in session.messages for block in message.content if isinstance(block, ToolResultBlock)]


KINDS = [(Session, Session), (Session, SyncSession), (SyncSession, SyncSession), (SyncSession, Session)]


@pytest.mark.parametrize(("kind", "child"), KINDS)
def test_a_session_answers_as_a_tool(kind: Any, child: Any) -> None:
    parent, expert = pair(kind, child, ASKS, "done", answers=[colours])
    assert waited(parent.run("colours?")).text == "done"
    told = {block.content[0].text for block in results(parent)}  # type: ignore[union-attr]
    assert told == {"blue", "green"}
    assert expert.messages == (), "each call is a conversation of its own"
    (definition,) = parent.definitions
    assert (definition.description, list(definition.input_schema["properties"])) == ("Knows colours.", ["task"])
    first, second = parent.report.delegated
    assert {first.session_id, second.session_id}.isdisjoint({parent.id, expert.id})
    assert [(one.tool, one.steps, one.stopped) for one in (first, second)] == [("expert", 2, "done")] * 2
    own = [m.metadata["cost_usd"] for m in parent.messages if "cost_usd" in m.metadata]
    theirs = [first.cost_usd, second.cost_usd]
    assert parent.report.cost_usd == pytest.approx(sum(own) + sum(theirs))
    assert parent.cost_usd == pytest.approx(parent.report.cost_usd)
    assert parent.usage.total_tokens == parent.report.usage.total_tokens > first.usage.total_tokens


@pytest.mark.parametrize(("kind", "child"), KINDS)
def test_its_events_are_told_inside(kind: Any, child: Any) -> None:
    parent, _ = pair(kind, child, call("expert", task="sky?"), "done", answers=[call("search", words="sky"), "blue"])

    async def read() -> list[Any]:
        return [event async for event in parent.run_stream("go")]

    events = asyncio.run(read()) if kind is Session else list(parent.run_stream("go"))
    check_grammar(events)
    inner = [event for event in events if event.type == "tool.event"]
    check_grammar([event.event for event in inner])
    types = [event.event.type for event in inner]
    assert (types[0], types[-1], "tool.result" in types) == ("step.start", "step.end", True)
    assert {event.session_id for event in inner} == {parent.report.delegated[0].session_id}
    outer = [event.type for event in events]
    assert outer.index("tool.start") < outer.index("tool.event") < outer.index("tool.result")
    assert "tool.event" not in outer[outer.index("tool.result") :]


@pytest.mark.parametrize(("kind", "child"), KINDS)
def test_its_limits_are_its_own(kind: Any, child: Any) -> None:
    endless = [call("search", words="it")] * 9
    parent, _ = pair(kind, child, call("expert", task="sky?"), "done", answers=endless, steps=2)
    assert waited(parent.run("go")).text == "done"
    (result,) = results(parent)
    assert result.is_error
    assert result.content[0].text == "It was stopped: the limit of 2 steps for this turn is reached."  # type: ignore[union-attr]
    assert [(one.steps, one.stopped) for one in parent.report.delegated] == [(2, "limit")]


def test_what_it_spends_counts_in_the_limits_of_the_caller() -> None:
    parent, _ = pair(SyncSession, SyncSession, *[call("expert", task="sky?")] * 3, answers=["blue " * 400] * 3)
    response = parent.run("go", tokens=400)
    assert (response.stopped, parent.report.steps) == ("limit", 2)


@pytest.mark.parametrize(("kind", "child"), KINDS)
def test_one_that_fails_is_an_error_result(kind: Any, child: Any) -> None:
    parent, _ = pair(kind, child, call("expert", task="sky?"), "done", answers=[Step(act="fail")])
    assert waited(parent.run("go")).text == "done"
    (result,) = results(parent)
    assert result.is_error
    assert [one.stopped for one in parent.report.delegated] == ["failed"]


@pytest.mark.parametrize("child", [Session, SyncSession])
async def test_the_caller_s_time_ends_it_too(child: Any) -> None:
    parent, _ = pair(Session, child, call("expert", task="sky?"), "fine", answers=[Step(fault="stall_first")])

    response = await parent.run("go", seconds=0.3)
    assert response.stopped == "limit"
    (result,) = results(parent)
    assert "its outcome is unknown: the limit of 0.3 seconds" in result.content[0].text  # type: ignore[union-attr]
    assert (await parent.run("go on")).text == "fine"


def test_cut_anywhere_it_leaves_both_legal() -> None:
    """The task of the caller is cancelled at every fourth step of the loop."""
    for at in range(1, 1500, 4):
        sky = call("expert", task="sky?")
        parent, expert = pair(Session, Session, sky, "done", "fine", answers=[call("search", words="it"), "blue"])
        forks: list[Session] = []
        fork = expert.fork

        def forked(fork: Any = fork, forks: Any = forks) -> Any:
            forks.append(fork())
            return forks[-1]

        expert.fork = forked
        cut = cut_after(parent, at)
        for session in (parent, *forks):
            assert validate_tool_results(session.messages, dialect="anthropic-messages") == []
        if not cut:
            break
    else:
        raise AssertionError("the turn never ended")


def cut_after(parent: Session, at: int) -> bool:
    async def scene() -> bool:
        task = asyncio.create_task(parent.run("go"))
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Stepping)
        loop.left, loop.act = at, task.cancel
        await asyncio.wait([task])
        loop.act = None
        cut = task.cancelled()
        if cut:
            await parent.run("go on")
        return cut

    with asyncio.Runner(loop_factory=lambda: Stepping(0)) as runner:
        return runner.run(scene())


def test_a_model_that_may_not_delegate_is_not_offered_it(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(
        "adapters:\n  anthropic:\n    type: anthropic\n    api_key_env: KEY\n"
        "models:\n  small:\n    adapter: anthropic\n    can_delegate: false\n  large:\n    adapter: anthropic\n"
    )
    expert = SyncSession("embedded:")
    script = Script(*["hello"] * 2)
    for model, offered in (("small", ["search"]), ("large", ["expert", "search"])):
        manager = ProviderManager(
            path, environment={"KEY": "sk-of-nobody"}, sync_transport=MemoryTransport(handler(script))
        )
        with SyncSession(model, [expert.as_tool("expert"), search], manager=manager) as session:
            session.run("go")
            assert [tool.name for tool in script.seen[-1].tools] == offered  # type: ignore[union-attr]
            assert session.report.left_out == (() if model == "large" else ("expert",))
