"""What is taken back: rewind, pop, edit, retry, and questions of turns that failed. Nothing stored is rewritten."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from interlingua import (
    AdapterError,
    CancelledError,
    ErrorClass,
    InvalidRequestError,
    Message,
    SqliteStore,
    TextBlock,
    ToolResultBlock,
    ToolStateError,
    ToolUseBlock,
    validate_tool_results,
)
from interlingua.agent.session import Session, SyncSession
from interlingua.agent.session.saved import Saved
from interlingua.client.embedded import Script, Step, call
from session.scenes import scripted

ECHO = Step(act="echo")
FAILS = Step(act="fail", error=ErrorClass.invalid_request)


def said(session: Any) -> list[str]:
    return [message.text for message in session.messages]


def waited(found: Any) -> Any:
    return asyncio.run(found) if asyncio.iscoroutine(found) else found


class Log:
    """A store that keeps every write."""

    def __init__(self) -> None:
        self.writes: list[Saved] = []

    def save(self, saved: Saved, since: int = 0) -> None:
        self.writes.append(saved)

    def load(self, id: str | None = None) -> Saved:
        return self.writes[-1]


@pytest.fixture(params=[Session, SyncSession])
def talk(request: pytest.FixtureRequest) -> Any:
    session: Any = request.param("anthropic:m", manager=scripted(Script(*[ECHO] * 9)))
    for text in ("one", "two", "three"):
        waited(session.send(text))
    return session


def test_pop_takes_the_last_question_back(talk: Any) -> None:
    gone = talk.pop()
    assert [message.text for message in gone] == ["three", "You said: three"] == [m.text for m in talk.undone]
    assert said(talk) == ["one", "You said: one", "two", "You said: two"]
    waited(talk.send("four"))
    assert said(talk)[4:] == ["four", "You said: four"]


def test_rewind_to_a_message_or_its_id(talk: Any) -> None:
    cost, tokens = talk.cost_usd, talk.usage.total_tokens
    talk.rewind(talk.messages[1])
    assert said(talk) == ["one", "You said: one"]
    talk.rewind(talk.messages[0].id)
    assert waited(talk.send()).text == "You said: one"
    assert [len(talk.rewind(None)), talk.messages] == [2, ()]
    assert talk.cost_usd == pytest.approx(cost + cost / 3, abs=1e-6) if cost else cost == talk.cost_usd
    assert talk.usage.total_tokens > tokens, "what was spent stays spent"


def test_edit_replaces_a_message_and_what_follows(talk: Any) -> None:
    old = talk.messages[2]
    new = talk.edit(old, "zwei")
    assert (said(talk), new.id != old.id) == (["one", "You said: one", "zwei"], True)
    assert waited(talk.run()).text == "You said: zwei"
    talk.edit(talk.messages[1], "Uno", TextBlock("!"))
    assert [(str(m.role), m.text) for m in talk.messages] == [("user", "one"), ("assistant", "Uno!")]
    assert len(talk.messages[1].content) == 2


def test_retry_asks_again(talk: Any) -> None:
    before = talk.messages
    assert waited(talk.retry(temperature=0.0)).text == "You said: three"
    assert said(talk) == [message.text for message in before]
    assert talk.messages[:5] == before[:5]
    assert talk.messages[5].id != before[5].id
    assert talk.undone == before[5:]


def test_a_retry_that_fails_changes_nothing() -> None:
    session = SyncSession("anthropic:m", manager=scripted(Script(ECHO, FAILS, ECHO)))
    session.send("one")
    before = session.messages
    with pytest.raises(AdapterError):
        session.retry()
    assert (session.messages, session.undone) == (before, ())
    with pytest.raises(TypeError):
        session.retry(temprature=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert (session.messages, session.undone) == (before, ())
    assert session.retry().text == "You said: one"


@pytest.mark.parametrize("kind", [Session, SyncSession])
@pytest.mark.parametrize("stored", [True, False])
def test_a_failed_question_is_taken_back_and_can_be_asked_again(kind: Any, stored: bool) -> None:
    store = Log() if stored else None
    session = kind("anthropic:m", manager=scripted(Script(ECHO, FAILS, FAILS, ECHO)), store=store)
    waited(session.send("one"))
    for again in (lambda: session.send("two"), session.retry):
        with pytest.raises(AdapterError):
            waited(again())
        assert said(session) == ["one", "You said: one"]
        assert store is None or [m.text for m in store.writes[-1].messages] == said(session)
    assert waited(session.retry()).text == "You said: two"
    assert said(session)[2:] == ["two", "You said: two"]


def test_what_came_of_a_failed_run_stays() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    session = SyncSession("anthropic:m", [add], manager=scripted(Script(call("add", a=1, b=2), FAILS, "three")))
    with pytest.raises(AdapterError):
        session.run("1 + 2?")
    assert [str(message.role) for message in session.messages] == ["user", "assistant", "tool"]
    assert session.run().text == "three"


def test_a_question_that_is_refused_changes_nothing() -> None:
    call_ = Message("assistant", [ToolUseBlock("c", "f")])
    session = SyncSession("anthropic:m", manager=scripted(), messages=[call_], repair="refuse")
    before = session.messages
    with pytest.raises(ToolStateError):
        session.send("hello")
    with pytest.raises(InvalidRequestError):
        session.send("")
    assert session.messages == before
    assert [call.id for call in session.history.open_calls] == ["c"]


async def test_a_cancelled_question_stays_and_a_timed_out_one_does_not() -> None:
    script = Script(*[Step(fault="stall_first")] * 2, ECHO)
    session = Session("anthropic:m", manager=scripted(script))
    asking = asyncio.create_task(session.send("cancelled"))
    await asyncio.sleep(0.01)
    await session.cancel()
    with pytest.raises(CancelledError):
        await asking
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await session.send("too slow")
    assert said(session) == ["cancelled"]
    assert (await session.retry()).text == "You said: too slow"


# ------------------------------------------------------------------------------------------------------------- tools


def agent() -> tuple[SyncSession, list[int]]:
    ran: list[int] = []

    def pay(amount: int) -> str:
        ran.append(amount)
        return f"paid {amount}"

    script = Script(call("pay", amount=5), "done", *[ECHO] * 5)
    session = SyncSession("anthropic:m", [pay], manager=scripted(script))
    session.run("pay five")
    return session, ran


def test_results_stay_with_the_answer_that_called_for_them() -> None:
    session, ran = agent()
    session.rewind(session.messages[1])
    assert [str(message.role) for message in session.messages] == ["user", "assistant", "tool"]
    session.run()
    assert ran == [5], "nothing runs twice"
    assert validate_tool_results(session.messages, dialect="anthropic-messages") == []
    with pytest.raises(InvalidRequestError, match="say what happened"):
        session.edit(session.messages[2], "paid 500")


def test_calls_that_wait_are_open_again_after_a_rewind() -> None:
    told = [Message("assistant", [ToolUseBlock("c", "f")]), Message("user", [ToolResultBlock("c", "42")])]
    session = SyncSession("anthropic:m", manager=scripted(), messages=[Message("user", "hi"), *told])
    session.rewind(session.messages[1])
    assert [call.id for call in session.history.open_calls] == ["c"]
    session.rewind(session.messages[0])
    assert session.history.open_calls == ()


def test_what_was_popped_can_be_added_again() -> None:
    session, _ = agent()
    before = said(session)
    session.add(*session.pop())
    assert said(session) == before
    assert len({message.id for message in session.history.messages}) == 2 * len(before)


def test_what_does_not_exist_is_refused(talk: Any) -> None:
    before = talk.messages
    for wrong in ("msg_nowhere", Message("user", "without an id")):
        with pytest.raises(InvalidRequestError, match="has no message"):
            talk.rewind(wrong)
    for wrong in (0, {"role": "user"}):
        with pytest.raises(TypeError, match="a message of the conversation or its id"):
            talk.rewind(wrong)
    talk.rewind(None)
    with pytest.raises(InvalidRequestError, match="no question"):
        talk.pop()
    assert talk.undone == before


def test_not_while_a_turn_runs() -> None:
    session = SyncSession("anthropic:m", manager=scripted(Script(ECHO, ECHO)))
    session.send("one")
    with session.stream("two") as events:
        next(iter(events))
        for change in (session.pop, session.retry, lambda: session.rewind(None)):
            with pytest.raises(InvalidRequestError, match="still running"):
                change()


# ------------------------------------------------------------------------------------------------------------- stored


@pytest.mark.parametrize("name", ["talk.json", "talk.db"])
@pytest.mark.parametrize("kind", [Session, SyncSession])
def test_what_is_taken_back_stays_stored(kind: Any, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    session = kind("anthropic:m", manager=scripted(Script(*[ECHO] * 9)), store=path)
    for text in ("one", "two"):
        waited(session.send(text))
    session.pop()
    session.edit(session.messages[0], "ONE")
    waited(session.run())
    waited(session.close())
    again = SyncSession.load(path, manager=scripted(Script(*[ECHO] * 9)))
    assert (again.messages, again.undone) == (session.messages, session.undone)
    assert (said(again), len(again.undone)) == (["ONE", "You said: ONE"], 4)
    assert again.usage.total_tokens == session.usage.total_tokens
    branch = again.fork()
    branch.pop()
    assert (len(branch.undone), len(again.undone)) == (6, 4)


def test_a_rewind_rewrites_no_stored_message(tmp_path: Path) -> None:
    """A reader that knows nothing of it does not send what was taken back; a crash leaves the old head or the new."""
    store = SqliteStore(tmp_path / "talk.db")
    session = SyncSession("anthropic:m", manager=scripted(Script(*[ECHO] * 9)), store=store)
    for text in ("one", "two"):
        session.send(text)
    before = store.load()
    session.pop()
    after = store.load()
    assert after.messages == before.messages
    assert set(after.head.undone) == set(after.head.omitted) == {message.id for message in before.messages[2:]}
    session.send("three")
    assert store.load().messages[:4] == before.messages
