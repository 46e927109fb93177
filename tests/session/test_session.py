"""Sessions: the loop, the history that is always legal, cancelling, saving, moving."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from interlingua import (
    AdapterError,
    Base64Source,
    CancelledError,
    ContextOverflowError,
    ErrorClass,
    ImageBlock,
    Message,
    NotConfigured,
    ParseError,
    ProviderManager,
    Request,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolOutput,
    ToolResultBlock,
    ToolStateError,
    ToolUseBlock,
    ToolUseStart,
    UrlSource,
    validate_tool_results,
)
from interlingua.agent.session import Session, SqliteStore, SyncSession
from interlingua.agent.session.connection import ConnectionArguments
from interlingua.agent.session.options import TURN_OPTIONS, Settings, SettingsArguments
from interlingua.client.embedded import LoopbackServer, Script, Step
from interlingua.client.transport.fetching import Fetched
from session.scenes import DIALECTS, PROVIDERS, check_grammar, scripted

HERE = Path(__file__).parent


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def call(name: str = "add", id: str = "c1", **arguments: Any) -> Step:
    return Step(content=(ToolUseBlock(id, name, input=arguments),))


def say(text: str) -> Step:
    return Step(content=(TextBlock(text),))


def legal(session: Session | SyncSession) -> None:
    """Every call of the history is answered."""
    assert validate_tool_results(session.messages, dialect="anthropic-messages") == []


# ------------------------------------------------------------------------------------------------------- one turn


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_run_answers_calls_until_the_model_is_done(dialect: str) -> None:
    script = Script(call(a=1, b=2), say("three"))
    session = Session(f"{PROVIDERS[dialect]}:m", [add], "be brief", manager=scripted(script))
    response = await session.run("what is 1 + 2?")
    assert response.text == "three"
    assert [str(m.role) for m in session.messages] == ["user", "assistant", "tool", "assistant"]
    (asked,) = session.messages[1].content
    (result,) = session.messages[2].content
    assert isinstance(asked, ToolUseBlock)
    assert isinstance(result, ToolResultBlock)
    assert asked.id.startswith("tu_")
    assert result.tool_use_id == asked.id
    assert result.content == (TextBlock("3"),)
    assert session.report.steps == 2
    assert session.messages[3].origin is not None
    assert session.messages[3].origin.dialect == dialect
    told = session.messages[3].metadata
    assert told["stop_reason"] == "end_turn"
    assert told["routing"] == [{"model": f"{PROVIDERS[dialect]}:m", "outcome": "answered", "attempts": 1}]
    assert {"usage", "cost_usd", "pricing_version", "latency_ms"} <= set(told)
    seen = script.seen[1].messages
    assert isinstance(seen[-1].content[0], ToolResultBlock)
    await session.close()


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_stream_tells_the_same(dialect: str) -> None:
    session = Session(f"{PROVIDERS[dialect]}:m", [add], manager=scripted(Script(call(a=1, b=2), say("three"))))
    events = [event async for event in session.run_stream("what is 1 + 2?")]
    check_grammar(events)
    starts = [e.id for e in events if isinstance(e, ToolUseStart)]
    assert starts == [block.id for block in session.messages[1].content if isinstance(block, ToolUseBlock)]
    assert session.messages[-1].text == "three"
    await session.close()


def test_a_session_that_blocks() -> None:
    manager = scripted(Script(call(a=1, b=2), say("three"), call(a=2, b=2), say("four")))
    with SyncSession("openai:m", [add], manager=manager) as session:
        assert session.run("1 + 2?").text == "three"
        with session.run_stream("2 + 2?") as stream:
            events = list(stream)
        check_grammar(events)
        assert stream.response is not None
        assert stream.response.text == "four"
        assert len(session.messages) == 8
    legal(session)


async def test_send_leaves_calls_to_the_caller() -> None:
    script = Script(call(a=1, b=2), say("ok"), call(a=1, b=2), say("so what"))
    tool = ToolDefinition("add", "Add", {"type": "object"})
    session = Session("anthropic:m", [tool], manager=scripted(script))
    response = await session.run("go")
    assert session.report.stopped == "handed_over"
    session.answer([ToolOutput(response.tool_uses[0].id, {"sum": 3})])
    assert (await session.send()).text == "ok"
    with pytest.raises(ToolStateError, match="waits for an answer"):
        session.answer([ToolOutput("nobody", "3")])
    await session.send("again")
    await session.send("forget it")  # the call is answered with an error first
    legal(session)
    result = session.messages[-3].content[0]
    assert isinstance(result, ToolResultBlock)
    assert result.is_error
    await session.close()


async def test_run_goes_on_with_what_was_called() -> None:
    session = Session("anthropic:m", [add], manager=scripted(Script(call(a=1, b=2), say("three"))))
    response = await session.send("1 + 2?")
    assert response.tool_uses
    assert (await session.run()).text == "three"
    result = session.messages[2].content[0]
    assert isinstance(result, ToolResultBlock)
    assert result.content == (TextBlock("3"),)
    await session.close()


async def test_one_turn_at_a_time() -> None:
    session = Session("anthropic:m", manager=scripted(Script(Step(fault="stall_first"), say("fine"))))
    task = asyncio.create_task(session.send("one"))
    await asyncio.sleep(0.01)
    with pytest.raises(AdapterError, match="still running"):
        await session.send("two")
    await session.cancel()
    with pytest.raises(CancelledError):
        await task
    assert (await session.send("three")).text == "fine"
    await session.close()


async def test_open_calls_can_be_refused_instead() -> None:
    session = Session("anthropic:m", manager=scripted(Script(call(a=1, b=2))), repair="refuse")
    await session.send("go")
    with pytest.raises(ToolStateError, match="never answered: tu_"):
        await session.send("forget it")
    await session.close()


async def test_the_step_limit_leaves_a_legal_history() -> None:
    session = Session("anthropic:m", [add], manager=scripted(Script(call(a=1, b=2))), max_steps=3)
    await session.run("go")
    assert (session.report.stopped, session.report.steps) == ("limit", 3)
    assert session.report.warnings == ("the limit of 3 steps for this turn is reached",)
    legal(session)
    await session.close()


async def test_malformed_arguments_are_never_run_and_the_model_is_told() -> None:
    ran: list[int] = []

    def note(n: int) -> str:
        ran.append(n)
        return "noted"

    bad = ToolUseBlock("c1", "note", input_text='{"n": 1')
    script = Script(Step(content=(bad,)), call("note", n=2), say("done"))
    session = Session("openai-chat:m", [note], manager=scripted(script))
    await session.run("go")
    assert ran == [2]
    result = session.messages[2].content[0]
    assert isinstance(result, ToolResultBlock)
    assert result.is_error
    assert "JSON" in result.content[0].text  # type: ignore[union-attr]
    await session.close()


def test_an_empty_conversation_says_so() -> None:
    session = SyncSession("anthropic:m", manager=scripted())
    with pytest.raises(AdapterError, match="say something first"):
        session.send()


def test_a_typo_in_a_wish_names_the_known_ones() -> None:
    with pytest.raises(TypeError, match=r"no temprature.*temperature"):
        SyncSession("anthropic:m", manager=scripted(), temprature=1)  # pyright: ignore[reportCallIssue]
    session = SyncSession("anthropic:m", manager=scripted())
    with pytest.raises(TypeError, match=r"no max_tokens.*max_output_tokens"):
        session.send("hi", max_tokens=9)  # type: ignore[call-arg]
    assert session.messages == ()


def test_every_setting_is_an_argument_for_type_checkers() -> None:
    arguments = set(SettingsArguments.__annotations__) - set(TURN_OPTIONS) - set(ConnectionArguments.__annotations__)
    assert arguments == {field.name for field in dataclasses.fields(Settings)}


def test_options_of_the_turn_win() -> None:
    script = Script(Step(act="echo"))
    session = SyncSession("openai-chat:m", manager=scripted(script), temperature=0.5, seed=1)
    session.send("hi", temperature=0.25)
    assert (script.seen[0].temperature, script.seen[0].seed) == (0.25, 1)


# ------------------------------------------------------------------------------------------------------- cut short


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_cancelling_a_stream_keeps_what_there_is(dialect: str) -> None:
    slow = Step(act="echo", fault="stall", after=6)
    session = Session(f"{PROVIDERS[dialect]}:m", manager=scripted(Script(slow, say("fine"))))
    events = []
    async for event in session.stream("one two three four five"):
        events.append(event)
        if event.type == "text.delta":
            await session.cancel()
    check_grammar(events)
    assert session.report.stopped == "cancelled"
    assert session.messages[-1].text.startswith("You")
    assert session.messages[-1].metadata["stop_reason"] == "cancelled"
    assert (await session.send("go on")).text == "fine"
    legal(session)
    assert await session.cancel() is False
    await session.close()


async def test_leaving_the_loop_keeps_what_there_is() -> None:
    slow = Step(act="echo", fault="stall", after=6)
    session = Session("anthropic:m", manager=scripted(Script(slow, say("fine"))))
    async with session.stream("one two three four five") as stream:
        async for event in stream:
            if event.type == "text.delta":
                break
    assert session.messages[-1].text.startswith("You")
    assert (await session.send("go on")).text == "fine"
    await session.close()


async def test_cancelling_the_task_keeps_what_there_is() -> None:
    slow = Step(act="echo", fault="stall", after=6)
    session = Session("anthropic:m", manager=scripted(Script(slow, say("fine"))))
    seen = asyncio.Event()

    async def read() -> None:
        async for event in session.stream("one two three four five"):
            if event.type == "text.delta":
                seen.set()

    task = asyncio.create_task(read())
    await seen.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert session.messages[-1].text.startswith("You")
    assert session.report.stopped == "cancelled"
    await session.close()


async def test_cancelling_a_whole_answer_raises_our_error_and_keeps_the_question() -> None:
    session = Session("anthropic:m", manager=scripted(Script(Step(fault="stall_first"), say("fine"))))
    task = asyncio.create_task(session.send("hello"))
    await asyncio.sleep(0.01)
    assert await session.cancel()
    with pytest.raises(CancelledError):
        await task
    assert [m.text for m in session.messages] == ["hello"]
    assert (await session.send()).text == "fine"
    await session.close()


async def test_cancelling_while_tools_run_keeps_their_finished_results() -> None:
    entered = asyncio.Event()

    async def quick() -> str:
        return "done"

    async def slow() -> str:
        entered.set()
        await asyncio.sleep(60)
        return "never"

    both = Step(content=(ToolUseBlock("c1", "quick"), ToolUseBlock("c2", "slow")))
    session = Session("anthropic:m", [quick, slow], manager=scripted(Script(both, say("fine"))))
    task = asyncio.create_task(session.run("go"))
    await entered.wait()
    await asyncio.sleep(0)
    assert await session.cancel()
    await task
    assert session.report.stopped == "cancelled"
    one, two = session.messages[-1].content
    assert isinstance(one, ToolResultBlock)
    assert isinstance(two, ToolResultBlock)
    assert (one.is_error, two.is_error) == (None, True)
    assert (await session.run("go on")).text == "fine"
    await session.close()


def test_another_thread_ends_a_turn_that_blocks() -> None:
    session = SyncSession("anthropic:m", manager=scripted(Script(Step(fault="stall_first"), say("fine"))))
    timer = threading.Timer(0.05, session.cancel)
    timer.start()
    with pytest.raises(CancelledError):
        session.send("hello")
    timer.join()
    assert session.send().text == "fine"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_broken_stream_keeps_what_there_is_and_raises(dialect: str) -> None:
    broken = Step(act="echo", fault="cut", after=6)
    session = Session(f"{PROVIDERS[dialect]}:m", manager=scripted(Script(broken, say("fine"))))
    with pytest.raises(AdapterError) as caught:
        async for _ in session.stream("one two three four five"):
            pass
    assert caught.value.error_class is ErrorClass.network
    assert session.messages[-1].metadata["stop_reason"] == "error"
    assert session.report.stopped == "failed"
    assert (await session.send("go on")).text == "fine"
    await session.close()


def test_a_thought_that_breaks_off_is_not_kept() -> None:
    session = SyncSession("anthropic:m", manager=scripted())
    session.history.add_partial(Message("assistant", [TextBlock("so"), ThinkingBlock("hm")]))
    assert session.messages[-1].content == (TextBlock("so"),)
    assert session.history.add_partial(Message("assistant", [ThinkingBlock("hm")])) is None


# ------------------------------------------------------------------------------------------------------- too long


def long_session(overflow: Any = "truncate") -> tuple[Session, Script]:
    script = Script(Step(act="overflow"), say("fine"), say("fine still"))
    session = Session("anthropic:m", [add], "be brief", manager=scripted(script), overflow=overflow)
    for turn in range(6):
        session.add(
            Message("user", f"question {turn} " + "word " * 400),
            Message("assistant", [ToolUseBlock(f"t{turn}", "add", input={"a": 1, "b": 2})]),
            Message("tool", [ToolResultBlock(f"t{turn}", "3")]),
            Message("assistant", f"answer {turn} " + "word " * 400),
        )
    return session, script


async def test_overflow_drops_the_oldest_turns_and_asks_once_more() -> None:
    session, script = long_session()
    response = await session.send("the last question")
    assert response.text == "fine"
    sent = script.seen[1]
    assert sent.messages[0].text.startswith("question ")
    assert sent.messages[-1].text == "the last question"
    assert sent.system == (TextBlock("be brief"),)
    assert len(sent.messages) < len(script.seen[0].messages)
    assert validate_tool_results(sent.messages, dialect="anthropic-messages") == []
    assert session.report.shortened == len(script.seen[0].messages) - len(sent.messages)
    assert "too long" in session.report.warnings[0]
    assert len(session.messages) == 26, "the history itself is whole"
    await session.send("and now?")
    assert len(script.seen[2].messages) == len(sent.messages) + 2, "what was left out stays out"
    await session.close()


async def test_overflow_twice_is_raised() -> None:
    session, _ = long_session()
    session.manager = scripted(Script(Step(act="overflow")))
    session.model = "anthropic:m"
    with pytest.raises(ContextOverflowError):
        await session.send("the last question")
    await session.close()


async def test_a_long_loop_loses_its_oldest_rounds_and_keeps_the_question() -> None:
    script = Script(Step(act="overflow"), say("fine"))
    session = Session("anthropic:m", [add], manager=scripted(script))
    session.add(Message("user", "do it"))
    for turn in range(8):
        session.add(
            Message("assistant", [ToolUseBlock(f"t{turn}", "add", input={"a": 1, "b": 2})]),
            Message("tool", [ToolResultBlock(f"t{turn}", "word " * 300)]),
        )
    await session.send()
    sent = script.seen[1].messages
    assert sent[0].text == "do it"
    assert len(sent) < 17
    assert validate_tool_results(sent, dialect="anthropic-messages") == []
    assert sent[len(sent) - 1].content == script.seen[0].messages[-1].content
    await session.close()


async def test_a_strategy_of_the_callers_own() -> None:
    async def summarise(messages: tuple[Message, ...], window: int | None) -> list[Message]:
        await asyncio.sleep(0)
        return [Message("user", f"(summary of {len(messages) - 1} messages)"), messages[-1]]

    session, script = long_session(summarise)
    await session.send("the last question")
    assert [m.text for m in script.seen[1].messages][:1] != []
    assert "summary of 24 messages" in script.seen[1].messages[0].text
    assert any("summary" in m.text for m in session.messages)
    await session.send("more")
    assert "summary of 24 messages" in script.seen[2].messages[0].text
    await session.close()


async def test_overflow_can_be_left_to_the_caller() -> None:
    session, _ = long_session("raise")
    with pytest.raises(ContextOverflowError):
        await session.send("the last question")
    await session.close()


# ------------------------------------------------------------------------------------------------------- the model


async def test_the_model_may_change_between_any_two_turns() -> None:
    script = Script(Step(act="echo"))
    session = Session("anthropic:m", manager=scripted(script))
    for name in PROVIDERS.values():
        session.model = f"{name}:m"
        response = await session.send(f"hello {name}")
        assert response.origin is not None
        assert response.origin.provider == name
    assert len(script.seen[-1].messages) == 11
    with pytest.raises(NotConfigured, match=r"nobody.*anthropic"):
        session.model = "nobody:m"
    assert session.model == "bedrock:m"
    plan = session.plan_swap("openai:gpt-5")
    assert plan.legal
    assert plan.input_tokens > 0
    await session.close()


async def test_several_models_stand_in_for_each_other() -> None:
    def fails_there(request: Request) -> Step:
        bad = request.model == "bad"
        return Step(act="fail", error=ErrorClass.server_error) if bad else say("fine")

    session = Session(["anthropic:bad", "openai:good"], manager=scripted(Script(fails_there)))
    await session.send("hi")
    told = session.messages[-1].metadata["routing"]
    assert [(c["model"], c["outcome"]) for c in told] == [("anthropic:bad", "failed"), ("openai:good", "answered")]
    assert told[0]["reason"].startswith("server_error: ")
    await session.close()


# ------------------------------------------------------------------------------------------------------- saving


@pytest.mark.parametrize("name", ["talk.json", "talk.db"])
def test_saved_loaded_and_continued(name: str, tmp_path: Path) -> None:
    manager = scripted(Script(call(a=1, b=2), say("three"), say("again")))
    session = SyncSession("anthropic:m", [add], "be brief", manager=manager, temperature=0.5, metadata={"who": "me"})
    session.run("1 + 2?")
    session.save(tmp_path / name)
    loaded = SyncSession.load(tmp_path / name, tools=[add], manager=manager)
    assert loaded.messages == session.messages
    assert [m.origin for m in loaded.messages] == [m.origin for m in session.messages]
    assert (loaded.id, loaded.model, loaded.system) == (session.id, session.model, session.system)
    assert (loaded.options, loaded.metadata) == ({"temperature": 0.5}, {"who": "me"})
    assert loaded.usage == session.usage
    assert loaded.send("and?").text == "again"
    assert len(loaded.messages) == len(session.messages) + 2


@pytest.mark.parametrize("name", ["talk.json", "talk.db"])
def test_a_store_has_all_that_was_complete(name: str, tmp_path: Path) -> None:
    """The process dies in the second turn; the first, and what was asked in the second, are there."""
    script = Script(say("one"), call(a=1, b=2), Step(act="fail", error=ErrorClass.server_error))
    session = SyncSession("anthropic:m", [add], manager=scripted(script), store=tmp_path / name)
    session.send("first")
    with pytest.raises(AdapterError):
        session.run("second")
    found = SyncSession.load(tmp_path / name, session.id, manager=scripted())
    assert found.messages == session.messages
    assert [str(m.role) for m in found.messages] == ["user", "assistant", "user", "assistant", "tool"]


def test_a_fork_goes_its_own_way(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "all.db")
    session = SyncSession("anthropic:m", manager=scripted(), store=store)
    session.send("one")
    fork = session.fork()
    assert fork.forked_from == session.id
    fork.send("two")
    session.send("three")
    assert [m.text for m in fork.messages][-2] == "two"
    assert [m.text for m in session.messages][-2] == "three"
    assert set(store.ids()) == {session.id, fork.id}
    assert SyncSession.load(store, fork.id, manager=scripted()).messages == fork.messages
    store.close()


def test_files_of_the_first_version_load() -> None:
    session = SyncSession.load(HERE / "saved-v1.json", tools=[add], manager=scripted(Script(say("fine"))))
    assert session.id == "ses_01K0000000000000000000000A"
    assert [str(m.role) for m in session.messages] == ["user", "assistant", "tool", "assistant"]
    asked = session.messages[1].content[1]
    assert isinstance(asked, ToolUseBlock)
    assert asked.native_ids == {"anthropic-messages": "toolu_01"}
    assert session.messages[1].content[0].signature == "c2lnbmVk"
    assert session.cost_usd == pytest.approx(0.0042)
    assert session.send("go on").text == "fine"


# fmt: off
BROKEN = {
    "nothing.json":  ("",                                                            "is not JSON"),
    "other.json":    ("{}",                                                          "is no saved session"),
    "newer.json":    ('{"format": "interlingua.session", "version": 99}',            "a newer release"),
    "broken.json":   ('{"format": "interlingua.session", "version": 1, "id": 7}',    "does not hold a session"),
}
# fmt: on


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_session_says_so(name: str, tmp_path: Path) -> None:
    text, why = BROKEN[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(ParseError, match=why):
        SyncSession.load(tmp_path / name, manager=scripted())


# ------------------------------------------------------------------------------------------------------- media by URL

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 16
PICTURE = ImageBlock(UrlSource("https://pictures.example/cat.png"))


def test_media_are_fetched_only_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fetch(url: str, allowance: Any) -> Fetched:
        asked.append(url)
        return Fetched(PNG, "image/png")

    monkeypatch.setattr("interlingua.client.transport.fetching.fetch_blocking", fetch)
    script = Script(Step(act="echo"))
    left = SyncSession("ollama:llava", manager=scripted(script))
    left.send([TextBlock("what is this?"), PICTURE])
    assert asked == []
    assert any(loss.path == "messages/0/content/1" for loss in left.report.losses)
    fetched = SyncSession("ollama:llava", manager=scripted(script), fetch_media=True)
    fetched.send([TextBlock("what is this?"), PICTURE])
    assert asked == ["https://pictures.example/cat.png"]
    (picture,) = [b for b in script.seen[1].messages[0].content if isinstance(b, ImageBlock)]
    assert isinstance(picture.source, Base64Source)
    assert fetched.messages[0].content[1] == PICTURE, "what is kept is what was said"
    assert not any("content/1" in loss.path for loss in fetched.report.losses)


def test_a_private_address_is_never_fetched() -> None:
    session = SyncSession("ollama:llava", manager=scripted(), fetch_media=True)
    session.send([TextBlock("what is this?"), ImageBlock(UrlSource("http://127.0.0.1:9/cat.png"))])
    assert any("127.0.0.1" in loss.reason or "private" in loss.reason for loss in session.report.losses)


def test_a_file_is_closed_with_its_session_and_opens_again(tmp_path: Path) -> None:
    def is_open() -> bool:
        return (tmp_path / "talk.db-wal").exists()  # SQLite removes it with the last connection

    with SyncSession("anthropic:m", manager=scripted(), store=tmp_path / "talk.db") as session:
        session.send("one")
        assert is_open()
    assert not is_open()
    session.send("two")
    session.close()
    session.save(tmp_path / "copy.db")
    found = SyncSession.load(tmp_path / "talk.db", manager=scripted())
    assert found.messages == session.messages
    assert not is_open()
    assert not (tmp_path / "copy.db-wal").exists()


@pytest.mark.parametrize("fault", ["stall_first", "stall"])
@pytest.mark.parametrize("how", ["run", "run_stream"])
def test_a_loops_deadline_holds_for_its_first_answer(how: str, fault: Any) -> None:
    """Not only between steps: a server that falls silent would hold it for ten minutes."""
    with LoopbackServer.in_thread(Script(Step(fault=fault))) as server:
        manager = ProviderManager(environment={})
        manager.register("anthropic", config={"api_key": "sk-of-nobody", "base_url": server.url})
        began = time.monotonic()
        with SyncSession("anthropic:m", manager=manager) as session:
            found = getattr(session, how)("hello there", seconds=0.3)
            response = found if how == "run" else (list(found), found.response)[1]
            assert (response.stopped, session.report.stopped) == ("limit", "limit")
            assert response.stopped_reason == "the limit of 0.3 seconds for this turn is reached"
            assert [message.text for message in session.messages][:1] == ["hello there"]
        manager.close_sync()
    assert time.monotonic() - began < 60


def test_a_deadline_that_is_over_asks_nobody() -> None:
    script = Script()
    session = SyncSession("anthropic:m", manager=scripted(script))
    assert session.run("hello", seconds=-1).stopped == "limit"
    assert script.seen == []
