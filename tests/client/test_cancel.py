"""Cancelling, as the server sees it: its socket closes at once, nothing hangs, and nothing is left open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from client.support import DIALECTS, PROVIDERS, ask, config, run
from interlingua import CancelledError, ErrorClass, Event, StopReason, StreamGrammar, ToolDefinition
from interlingua.client import calls
from interlingua.client.bus import Bus, CallFailed
from interlingua.client.connect import AsyncClient, Client
from interlingua.client.embedded import LoopbackServer, Script, Step
from interlingua.types import MessageComplete, TextDelta

GUARD = 20  # seconds after which a hanging test is a failed one
BEFORE = Step(act="echo", fault="stall_first")
MIDDLE = Step(act="echo", fault="stall", after=5)
TOOL = ToolDefinition(name="add", input_schema={"type": "object", "properties": {}})

Scene = Callable[[LoopbackServer, AsyncClient], Coroutine[Any, Any, None]]


def at(server: LoopbackServer) -> Any:
    return config(base_url=server.url)


def on_stage(dialect: str, step: Step, scene: Scene) -> None:
    """Run a scene against a server that stalls. After it the server must have seen the client leave."""

    async def play() -> None:
        async with LoopbackServer(Script(step)) as server:
            async with AsyncClient(PROVIDERS[dialect], config(base_url=server.url)) as client:
                await scene(server, client)
                await server.gone.wait()
                assert len(client._open_calls) == 0
            assert server.left == 1

    run(asyncio.wait_for(play(), GUARD))


def check_cancelled(events: list[Event]) -> MessageComplete:
    grammar = StreamGrammar()
    for event in events:
        grammar.check(event)
    last = events[-1]
    assert isinstance(last, MessageComplete)
    assert last.response.stop_reason is StopReason.cancelled
    assert isinstance(last.error, CancelledError)
    assert last.response.request_id == "r1"
    return last


@pytest.mark.parametrize("dialect", DIALECTS)
def test_cancel_before_the_first_byte_yields_start_and_complete(dialect: str) -> None:
    async def scene(server: LoopbackServer, client: AsyncClient) -> None:
        async def read() -> list[Event]:
            return [event async for event in client.stream(ask(request_id="r1"))]

        task = asyncio.create_task(read())
        await server.asked.wait()
        assert await client.cancel("r1")
        events = await task
        assert [event.type for event in events] == ["message.start", "message.complete"]
        check_cancelled(events)

    on_stage(dialect, BEFORE, scene)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_cancel_in_the_middle_keeps_the_partial_answer(dialect: str) -> None:
    async def scene(server: LoopbackServer, client: AsyncClient) -> None:
        events: list[Event] = []
        seen = asyncio.Event()

        async def read() -> None:
            async for event in client.stream(ask(request_id="r1")):
                events.append(event)
                if isinstance(event, TextDelta):
                    seen.set()

        task = asyncio.create_task(read())
        await seen.wait()
        assert await client.cancel("r1")
        assert await client.cancel("r1") in (True, False)
        await task
        assert check_cancelled(events).response.text.startswith("You said:"[:3])

    on_stage(dialect, MIDDLE, scene)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_cancel_while_events_are_taken_as_they_come(dialect: str) -> None:
    async def scene(server: LoopbackServer, client: AsyncClient) -> None:
        taken: list[Event] = []
        seen = asyncio.Event()

        def take(events: Sequence[Event]) -> None:
            taken.extend(events)
            if any(isinstance(event, TextDelta) for event in events):
                seen.set()

        async def read() -> None:
            stream = client.stream(ask(request_id="r1"))
            while events := await stream.next_events(take):
                taken.extend(events)

        task = asyncio.create_task(read())
        await seen.wait()
        assert await client.cancel("r1")
        await task
        check_cancelled(taken)

    on_stage(dialect, MIDDLE, scene)


def test_an_error_of_the_event_consumer_is_raised() -> None:
    async def scene(server: LoopbackServer, client: AsyncClient) -> None:
        def take(events: Sequence[Event]) -> None:
            raise LookupError("no room")

        with pytest.raises(LookupError, match="no room"):
            await client.stream(ask()).next_events(take)

    on_stage("openai-chat", MIDDLE, scene)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_cancel_from_inside_the_loop(dialect: str) -> None:
    async def scene(server: LoopbackServer, client: AsyncClient) -> None:
        events: list[Event] = []
        async for event in client.stream(ask(request_id="r1")):
            events.append(event)
            if isinstance(event, TextDelta):
                await client.cancel("r1")
        check_cancelled(events)

    on_stage(dialect, MIDDLE, scene)


@pytest.mark.parametrize("step", [BEFORE, MIDDLE], ids=["before", "middle"])
@pytest.mark.parametrize("whole", [True, False])
def test_cancelling_the_task_raises_asyncios_own_error(step: Step, whole: bool) -> None:
    heard: list[Any] = []

    async def scene(server: LoopbackServer, client: AsyncClient) -> None:
        client.bus = Bus()
        client.bus.subscribe(heard.append)

        async def read() -> None:
            async for _ in client.stream(ask()):
                pass

        task = asyncio.create_task(client.complete(ask()) if whole else read())  # type: ignore[arg-type]
        await server.asked.wait()
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    on_stage("anthropic-messages", BEFORE if whole else step, scene)
    assert [event.type for event in heard] == ["llm.call_started", "llm.call_failed"]
    assert isinstance(heard[1], CallFailed)
    assert heard[1].error_class is ErrorClass.cancelled


def test_leaving_the_context_closes_the_socket() -> None:
    async def scene(server: LoopbackServer, client: AsyncClient) -> None:
        async with client.stream(ask()) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    break
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    on_stage("openai-chat", MIDDLE, scene)


def test_the_socket_is_closed_before_the_answer_that_was_left_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """To estimate the tokens of a long answer takes long."""
    closed: list[bool] = []

    async def scene(server: LoopbackServer, client: AsyncClient) -> None:
        stream = client.stream(ask())

        def estimated(*_: object) -> int:
            closed.append(stream._call.reply is None)
            return 1

        begun = asyncio.Event()

        async def read() -> None:
            async for event in stream:
                if isinstance(event, TextDelta):
                    begun.set()

        monkeypatch.setattr(calls, "estimate_output", estimated)
        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    on_stage("openai-chat", MIDDLE, scene)
    assert closed == [True]


def test_a_timeout_of_the_callers_own_is_not_mistaken_for_ours() -> None:
    async def scene(server: LoopbackServer, client: AsyncClient) -> None:
        async def over(limit: asyncio.Timeout) -> None:
            await server.asked.wait()
            limit.reschedule(asyncio.get_running_loop().time())

        async def limited() -> None:
            async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as group:
                group.create_task(over(limit))
                await client.complete(ask(request_id="r1"))

        with pytest.raises(TimeoutError):
            await limited()

    on_stage("openai-responses", BEFORE, scene)


def test_closing_the_client_ends_its_calls() -> None:
    async def scene(server: LoopbackServer, client: AsyncClient) -> None:
        task = asyncio.create_task(client.complete(ask()))
        await server.asked.wait()
        await client.close()
        with pytest.raises(CancelledError):
            await task

    on_stage("gemini", BEFORE, scene)


@pytest.mark.parametrize("after", range(1, 4))
@pytest.mark.parametrize("dialect", ["anthropic-messages", "openai-chat", "openai-responses", "bedrock-converse"])
def test_open_calls_are_closed(dialect: str, after: int) -> None:
    async def play() -> None:
        script = Script(Step(act="call", fault="stall", after=after))
        async with LoopbackServer(script) as server, AsyncClient(PROVIDERS[dialect], at(server)) as client:
            task = asyncio.create_task(read(client))
            await server.asked.wait()
            await asyncio.sleep(0.02)
            await client.cancel("r1")
            events = await task
            check_cancelled(events)
            starts = sum(event.type == "tool.use_start" for event in events)
            assert starts == sum(event.type == "tool.use_end" for event in events)

    async def read(client: AsyncClient) -> list[Event]:
        return [event async for event in client.stream(ask(request_id="r1", tools=(TOOL,)))]

    run(asyncio.wait_for(play(), GUARD))


def test_cancel_while_waiting_for_the_next_attempt() -> None:
    async def play() -> None:
        asleep = asyncio.Event()

        async def sleep(_: float) -> None:
            asleep.set()
            await asyncio.get_running_loop().create_future()

        script = Script(Step(act="fail", error=ErrorClass.rate_limit))
        async with LoopbackServer(script) as server, AsyncClient("openai", at(server), sleep=sleep) as client:
            task = asyncio.create_task(client.complete(ask(request_id="r1")))
            await asleep.wait()
            assert await client.cancel("r1")
            with pytest.raises(CancelledError) as caught:
                await task
            assert caught.value.attempts == 1

    run(asyncio.wait_for(play(), GUARD))


def test_an_unknown_id() -> None:
    async def play() -> None:
        async with AsyncClient("openai", config()) as client:
            assert await client.cancel("nobody") is False

    run(play())
    with Client("openai", config()) as blocking:
        assert blocking.cancel("nobody") is False


# ------------------------------------------------------------------------------------------------ the blocking twin


@pytest.mark.parametrize("step", [BEFORE, MIDDLE], ids=["before", "middle"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_another_thread_cancels_a_blocking_call(dialect: str, step: Step) -> None:
    async def play() -> None:
        async with LoopbackServer(Script(step)) as server:
            client = Client(PROVIDERS[dialect], config(base_url=server.url))
            reading = asyncio.create_task(asyncio.to_thread(lambda: list(client.stream(ask(request_id="r1")))))
            await server.asked.wait()
            assert client.cancel("r1")
            check_cancelled(await reading)
            await server.gone.wait()
            assert len(client._open_calls) == 0
            client.close()

    run(asyncio.wait_for(play(), GUARD))


def test_leaving_a_blocking_loop_closes_the_socket() -> None:
    async def play() -> None:
        async with LoopbackServer(Script(MIDDLE)) as server:
            client = Client("openai-chat", config(base_url=server.url))

            def read() -> None:
                for event in client.stream(ask()):
                    if isinstance(event, TextDelta):
                        break

            await asyncio.to_thread(read)
            await server.gone.wait()
            client.close()

    run(asyncio.wait_for(play(), GUARD))
