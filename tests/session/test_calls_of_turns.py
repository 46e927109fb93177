"""Which calls a turn may run, how results are given, and what the history says of calls afterwards."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from interlingua import (
    AdapterError,
    Behaviour,
    CancelledError,
    Limits,
    Message,
    Preset,
    Pricing,
    Request,
    StopReason,
    TextBlock,
    TokenUsage,
    ToolChoice,
    ToolDefinition,
    ToolOutput,
    ToolResultBlock,
    ToolStateError,
    ToolUseBlock,
    validate_tool_results,
)
from interlingua.agent.session import Session, SyncSession
from interlingua.client.embedded import Script, Step
from session.scenes import DIALECTS, PROVIDERS, scripted


def say(text: str) -> Step:
    return Step(content=(TextBlock(text),))


def calls(*names: str) -> Step:
    return Step(content=tuple(ToolUseBlock(f"c{n}", name) for n, name in enumerate(names)))


def results(session: Session | SyncSession) -> list[str]:
    return [
        block.content[0].text  # type: ignore[union-attr]
        for message in session.messages
        for block in message.content
        if type(block) is ToolResultBlock
    ]


def states(session: Session | SyncSession) -> list[Any]:
    return [
        message.metadata.get("calls", {}).get(block.id, {}).get("state")
        for message in session.messages
        for block in message.content
        if type(block) is ToolUseBlock
    ]


class Tools:
    """Three tools, and which of them ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def one(self) -> str:
        self.ran.append("one")
        return "1"

    def two(self) -> str:
        self.ran.append("two")
        return "2"

    def three(self) -> str:
        self.ran.append("three")
        return "3"

    @property
    def all(self) -> list[Any]:
        return [self.one, self.two, self.three]


# ------------------------------------------------------------------------------------ only what was offered


@pytest.mark.parametrize(
    ("choice", "ran", "offered"),
    [
        (ToolChoice.none(), [], "none"),
        (ToolChoice(allowed=("one",)), ["one"], "one"),
        (ToolChoice(mode="any", allowed=("one", "two")), ["one", "two"], "one, two"),
        (ToolChoice.specific("two"), ["two"], "two"),
        (ToolChoice.auto(), ["one", "two", "three"], ""),
    ],
)
@pytest.mark.parametrize("kind", ["run", "run_stream", "send and run"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_only_what_the_request_allowed_runs(
    dialect: str, kind: str, choice: ToolChoice, ran: Any, offered: str
) -> None:
    tools = Tools()
    script = Script(calls("one", "two", "three"), say("done"))
    session = SyncSession(f"{PROVIDERS[dialect]}:m", tools.all, manager=scripted(script))
    if kind == "run":
        session.run("go", tool_choice=choice)
    elif kind == "run_stream":
        list(session.run_stream("go", tool_choice=choice))
    else:
        session.send("go", tool_choice=choice)
        session.run()
    assert sorted(tools.ran) == sorted(ran)
    for name, text in zip(("one", "two", "three"), results(session), strict=True):
        if name not in ran:
            assert text == f"`{name}` was not offered in this request, so it was not run. Offered: {offered}."


def test_what_a_behaviour_left_out_does_not_run() -> None:
    tools = Tools()
    preset = Preset("few", default=Behaviour(max_tools=1))
    script = Script(calls("one", "two", "three"), say("done"))
    session = SyncSession("anthropic:m", tools.all, manager=scripted(script), behaviour=preset)
    session.run("use one, please")
    (offered,) = [tool.name for tool in script.seen[0].tools if isinstance(tool, ToolDefinition)]
    assert tools.ran == [offered]
    assert sum(f"Offered: {offered}." in text for text in results(session)) == 2


def test_a_tool_without_handler_that_was_not_offered_is_not_handed_over() -> None:
    bare = ToolDefinition("bare", input_schema={"type": "object"})
    session = SyncSession("anthropic:m", [bare], manager=scripted(Script(calls("bare"), say("done"))))
    session.run("go", tool_choice=ToolChoice.none())
    assert session.report.stopped == "done"
    assert results(session) == ["`bare` was not offered in this request, so it was not run. Offered: none."]


def test_a_refusal_survives_saving(tmp_path: Path) -> None:
    tools = Tools()
    manager = scripted(Script(calls("one"), say("done")))
    session = SyncSession("anthropic:m", tools.all, manager=manager, store=tmp_path / "talk.json")
    session.send("go", tool_choice=ToolChoice.none())
    again = SyncSession.load(tmp_path / "talk.json", tools=tools.all, manager=manager)
    again.run()
    assert tools.ran == []
    assert "not offered" in results(again)[0]


# ----------------------------------------------------------------------------------------------------- broken-off calls


@pytest.mark.parametrize("how", ["run", "run_stream"])
@pytest.mark.parametrize("dialect", ["anthropic-messages", "openai-chat", "openai-responses", "bedrock-converse"])
def test_a_call_at_the_output_limit_is_not_run_and_needs_no_answer(dialect: str, how: str) -> None:
    tools = Tools()
    cut = Step(content=(ToolUseBlock("c0", "one"), ToolUseBlock("c1", "two")), stop=StopReason.max_tokens)
    script = Script(cut, say("done"))
    session = SyncSession(f"{PROVIDERS[dialect]}:m", tools.all, manager=scripted(script))
    turn = getattr(session, how)("go")
    if how == "run_stream":
        list(turn)
    assert tools.ran == ["one"], "the call before it is complete"
    assert results(session) == ["1"]
    assert session.messages[-1].text == "done"
    assert "the answer was cut in the middle of a tool call, which was not run" in session.report.warnings
    asked = [b.name for m in script.seen[1].messages for b in m.content if isinstance(b, ToolUseBlock)]
    assert asked == ["one"]


# ------------------------------------------------------------------------------------ results in user turns


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("how", ["message", "block", "add"])
def test_a_result_in_a_users_message_is_a_result(how: str, dialect: str) -> None:
    bare = [ToolDefinition(name, input_schema={"type": "object"}) for name in ("one", "two")]
    script = Script(calls("one"), say("done"))
    session = SyncSession(f"{PROVIDERS[dialect]}:m", bare, manager=scripted(script))
    (call,) = session.send("go").tool_uses
    result = ToolResultBlock(call.id, "mine", call.name)
    if how == "add":
        session.add(Message("user", [result]))
        session.send()
    else:
        session.send(Message("user", [result]) if how == "message" else result)
    assert results(session) == ["mine"]
    assert validate_tool_results(session.messages, dialect=dialect) == []


def test_results_that_a_users_message_leaves_out_are_put_before_them() -> None:
    bare = [ToolDefinition(name, input_schema={"type": "object"}) for name in ("one", "two")]
    script = Script(calls("one", "two"), say("done"))
    session = SyncSession("anthropic:m", bare, manager=scripted(script))
    _, second = session.send("go").tool_uses
    session.send(Message("user", [ToolResultBlock(second.id, "mine"), TextBlock("and so?")]))
    assert results(session) == ["No result was given for this call.", "mine"]
    assert validate_tool_results(session.messages, dialect="anthropic-messages") == []


def test_repair_refuse_holds_for_results_in_user_messages_too() -> None:
    script = Script(calls("one", "two"), say("done"))
    session = SyncSession("anthropic:m", manager=scripted(script), repair="refuse")
    first, second = session.send("go").tool_uses
    with pytest.raises(ToolStateError, match=second.id):
        session.send(ToolResultBlock(first.id, "mine"))


# ---------------------------------------------------------------------------------------------------- states and stores


def test_the_states_of_calls_are_in_the_answer_that_made_them() -> None:
    def broken() -> None:
        raise ValueError("no")

    tools = Tools()
    session = SyncSession(
        "anthropic:m", [*tools.all, broken], manager=scripted(Script(calls("one", "broken"), say("ok")))
    )
    session.run("go")
    assert states(session) == ["finished", "failed"]
    assert session.messages[1].metadata["calls"] == {
        block.id: {"state": state}
        for block, state in zip(session.messages[1].content, ("finished", "failed"), strict=True)
        if isinstance(block, ToolUseBlock)
    }


def test_calls_left_to_the_caller_are_never_called_not_run() -> None:
    """Only the caller knows."""
    session = SyncSession("anthropic:m", Tools().all, manager=scripted(Script(calls("one"), say("ok"))))
    session.send("go")
    assert states(session) == [None]
    session.send("never mind")
    assert results(session) == ["No result was given for this call."]


def test_the_limit_of_steps_says_that_calls_were_not_run() -> None:
    tools = Tools()
    session = SyncSession(
        "anthropic:m", tools.all, manager=scripted(Script(calls("one"))), max_steps=1, repair="refuse"
    )
    session.run("go")
    assert results(session) == ["Not run: the limit of 1 steps for this turn is reached."]
    assert (tools.ran, states(session)) == ([], ["offered"])


class Watched:
    """A store that says who writes, and whether it fails."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.threads: list[threading.Thread] = []
        self.fail_at = fail_at

    def save(self, saved: Any, since: int = 0) -> None:
        self.threads.append(threading.current_thread())
        if len(self.threads) == self.fail_at:
            raise OSError("disk full")

    def load(self, id: str | None = None) -> Any:
        raise NotImplementedError


async def test_storing_a_start_does_not_block_the_loop() -> None:
    store = Watched()
    session = Session("anthropic:m", Tools().all, manager=scripted(Script(calls("one"), say("ok"))), store=store)
    await session.run("go")
    assert len(store.threads) == 5  # the question, the answer, the start, the result, the last answer
    assert threading.main_thread() not in store.threads
    await session.close()


@pytest.mark.parametrize("kind", [Session, SyncSession])
def test_what_could_not_be_stored_as_started_is_not_run(kind: Any) -> None:
    tools = Tools()
    manager = scripted(Script(calls("one"), say("ok")))
    session = kind("anthropic:m", tools.all, manager=manager, store=Watched(fail_at=3))
    with pytest.raises(AdapterError, match="disk full"):
        asyncio.run(session.run("go")) if kind is Session else session.run("go")
    assert (tools.ran, states(session)) == ([], ["offered"])
    assert results(session) == ["Not run: the session could not be stored."]


@pytest.mark.parametrize("state", ["started", "finished", "failed", "interrupted"])
def test_a_loaded_call_that_was_started_is_never_run_again(state: str) -> None:
    tools = Tools()
    asked = Message("assistant", [ToolUseBlock("c1", "one")], metadata={"calls": {"c1": {"state": state}}})
    history = [Message("user", "go"), asked]
    for words in (None, "go on"):
        session = SyncSession("anthropic:m", tools.all, manager=scripted(Script(say("ok"))), messages=history)
        session.run(words)
        assert tools.ran == []
        told = "The call was started; its outcome is unknown: the program ended before the call did."
        assert results(session) == [told]


@pytest.mark.parametrize("state", ["offered", "asked", "approved"])
def test_a_loaded_call_that_was_not_started_can_still_run(state: str) -> None:
    asked = Message("assistant", [ToolUseBlock("c1", "one")], metadata={"calls": {"c1": {"state": state}}})
    for words, told in ((None, "1"), ("go on", "Not run: the conversation went on before.")):
        tools = Tools()
        history = [Message("user", "go"), asked]
        session = SyncSession("anthropic:m", tools.all, manager=scripted(Script(say("ok"))), messages=history)
        session.run(words)
        assert results(session) == [told]


@pytest.mark.parametrize("odd", [None, [], {"c1": None}, {"c1": {"state": "flying"}}, {"c1": {"state": ["started"]}}])
def test_odd_entries_of_calls_are_no_entries(odd: Any) -> None:
    asked = Message("assistant", [ToolUseBlock("c1", "one")], metadata={"calls": odd})
    session = SyncSession(
        "anthropic:m", Tools().all, manager=scripted(Script(say("ok"))), messages=[Message("user", "go"), asked]
    )
    session.run()
    assert (results(session), states(session)) == (["1"], ["finished"])


def test_limits_of_a_session_reach_its_tools() -> None:
    inside, most = 0, 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        with lock:
            inside -= 1

    manager = scripted(Script(calls(*["work"] * 50), say("ok")))
    session = SyncSession("anthropic:m", [work], manager=manager, limits=Limits(parallel_tools=1))
    session.run("go")
    assert most == 1
    assert len(results(session)) == 50


def test_cancelling_a_session_that_blocks_starts_no_more_tools() -> None:
    ran: list[int] = []

    def work() -> None:
        ran.append(len(ran))
        if len(ran) == 3:
            assert session.cancel()

    manager = scripted(Script(calls(*["work"] * 9), say("ok")))
    session = SyncSession("anthropic:m", [work], manager=manager, limits=Limits(parallel_tools=1))
    session.run("go")
    assert len(ran) == 3
    assert results(session)[3:] == ["Not run: the turn was cancelled by the caller."] * 6
    assert session.report.stopped == "cancelled"


# --------------------------------------------------------------------------------------------------- prices


def test_an_answer_whose_numbers_contradict_each_other_is_kept_without_a_price() -> None:
    class Picky:
        version = "picky/1"

        def cost(self, provider: str, model: str, billed: Any) -> Any:
            raise ValueError("cached tokens exceed input tokens")

    session = SyncSession("anthropic:m", manager=scripted(Script(say("paid for"))), pricing=Pricing(tables=[Picky()]))
    assert session.send("hello").text == "paid for"
    assert session.messages[-1].text == "paid for"
    assert session.messages[-1].metadata["cost_usd"] is None
    assert session.cost_usd is None


def test_the_price_library_refuses_contradictory_numbers_and_the_price_is_unknown() -> None:
    pytest.importorskip("genai_prices")
    usage = TokenUsage(input_tokens=5, output_tokens=3, raw={"prompt_tokens_details": {"audio_tokens": 99}})
    assert Pricing().cost(usage, "google", "gemini-2.5-flash").cost_usd is None


# ----------------------------------------------------------------------------------------------- cancelling


@pytest.mark.parametrize("order", ["session first", "task first"])
@pytest.mark.parametrize("where", ["model", "tool"])
@pytest.mark.parametrize("how", ["run", "run_stream"])
async def test_a_cancelled_task_gets_asyncios_own_error(how: str, where: str, order: str) -> None:
    reached = asyncio.Event()

    async def wait() -> None:
        reached.set()
        await asyncio.sleep(60)

    def model(request: Request) -> Step:
        if where == "tool":
            return calls("wait")
        asyncio.get_running_loop().call_soon(reached.set)
        return Step(act="echo", fault="stall", after=4)

    session = Session("anthropic:m", [wait], manager=scripted(Script(model)))

    async def turn() -> None:
        if how == "run":
            await session.run("go")
        else:
            async for _ in session.run_stream("go"):
                pass

    task = asyncio.create_task(turn())
    await reached.wait()
    await asyncio.sleep(0)
    if order == "task first":
        task.cancel()
    await session.cancel()
    if order == "session first":
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert validate_tool_results(session.messages, dialect="anthropic-messages") == []
    await session.close()


async def test_a_session_that_was_cancelled_alone_raises_our_error() -> None:
    session = Session("anthropic:m", manager=scripted(Script(Step(fault="stall_first"))))
    task = asyncio.create_task(session.send("hello"))
    await asyncio.sleep(0.01)
    await session.cancel()
    with pytest.raises(CancelledError):
        await task
    assert task.cancelling() == 0
    await session.close()


def test_cleaning_up_after_a_cancellation_may_use_a_session() -> None:
    async def scene() -> str:
        session = Session("anthropic:m", manager=scripted(Script(say("bye"))))

        async def main() -> str:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                return (await session.send("goodbye")).text
            return ""

        task = asyncio.create_task(main())
        await asyncio.sleep(0)
        task.cancel()
        return await task

    assert asyncio.run(scene()) == "bye"


@pytest.mark.parametrize("how", ["stream", "run_stream"])
async def test_a_stream_that_was_left_and_dropped_is_over(how: str) -> None:
    slow = Step(act="echo", fault="stall", after=6)
    session = Session("anthropic:m", manager=scripted(Script(slow, say("fine"))))
    async for event in getattr(session, how)("one two three four"):
        if event.type == "text.delta":
            break
    gc.collect()
    assert (await session.send("go on")).text == "fine"
    assert [str(message.role) for message in session.messages] == ["user", "assistant", "user", "assistant"]
    assert session.messages[1].metadata["stop_reason"] == "cancelled"
    await session.close()


async def test_a_stream_that_is_still_held_says_how_to_leave_it() -> None:
    session = Session("anthropic:m", manager=scripted(Script(Step(act="echo", fault="stall", after=6), say("fine"))))
    stream = session.stream("one two three four")
    async for event in stream:
        if event.type == "text.delta":
            break
    with pytest.raises(AdapterError, match=r"still running.*`async with session.stream\(\.\.\.\) as events`"):
        await session.send("go on")
    await stream.aclose()
    assert (await session.send("go on")).text == "fine"
    await session.close()


def test_a_stream_that_nobody_read_is_over_when_it_is_dropped(tmp_path: Path) -> None:
    session = SyncSession("anthropic:m", manager=scripted(Script(say("fine"))), store=tmp_path / "talk.json")
    session.stream("hello")
    gc.collect()
    assert session.send("go on").text == "fine"


# ----------------------------------------------------------------------------------------------- surrogates


def test_lone_surrogates_are_replaced_and_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "interlingua")
    script = Script(calls("one"), say("ok"))
    bare = ToolDefinition("one", input_schema={"type": "object"})
    session = SyncSession("anthropic:m", [bare], "caf\udce9", manager=scripted(script), store=tmp_path / "talk.json")
    (call,) = session.send("caf\udce9").tool_uses
    assert any("surrogate" in warning for warning in session.report.warnings)
    session.answer([ToolOutput(call.id, "caf\udce9")])
    session.add(Message("user", [TextBlock("caf\udce9")]))
    session.send("caf\udce9")
    assert session.report.warnings == ()
    assert sum("surrogate" in record.getMessage() for record in caplog.records) == 1
    texts = [message.text for message in session.messages if str(message.role) == "user"]
    assert texts == ["caf\ufffd"] * 3
    assert results(session) == ["caf\ufffd"]
    assert SyncSession.load(tmp_path / "talk.json", manager=scripted()).messages == session.messages


def test_a_tools_odd_file_name_does_not_end_a_session(tmp_path: Path) -> None:
    def listing() -> list[str]:
        return ["a.txt", "caf\udce9"]

    def reading() -> None:
        raise FileNotFoundError("caf\udce9")

    manager = scripted(Script(calls("listing", "reading"), say("ok"), say("fine")))
    session = SyncSession("anthropic:m", [listing, reading], manager=manager, store=tmp_path / "talk.db")
    session.run("go")
    assert results(session) == ['["a.txt","caf\ufffd"]', "FileNotFoundError: caf\ufffd"]
    assert session.send("and?").text == "fine"
