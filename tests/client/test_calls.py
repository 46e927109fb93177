"""The same call in every dialect, whole and streamed, asynchronous and synchronous, in memory and over real sockets."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from client.support import CANARY, DIALECTS, PROVIDERS, WAYS, ask, call, config, run
from interlingua import Message, Origin, Request, StopReason, TextBlock, ToolDefinition, ToolUseBlock, fold
from interlingua.client.connect import AsyncClient, Client
from interlingua.client.embedded import LoopbackServer, Script, Step
from interlingua.client.transport.aio import AioTransport

ADD = ToolDefinition(
    name="add", input_schema={"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
)
SUB = ToolDefinition(name="sub", input_schema={"type": "object", "properties": {}, "required": []})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_in_memory(dialect: str, way: str) -> None:
    outcome = call(way, PROVIDERS[dialect], Script(), ask(request_id="r1"))
    response = outcome.response
    assert outcome.error is None
    assert response is not None
    assert response.content == (TextBlock("You said: one two three four"),)
    assert response.stop_reason is StopReason.end_turn
    assert (response.request_id, response.attempts) == ("r1", 1)
    assert response.origin == Origin(PROVIDERS[dialect], dialect, response.model)
    assert response.usage is not None
    assert response.usage.estimated is False
    assert (response.raw is None) is way.endswith("stream")
    if way.endswith("stream"):
        outcome.check_grammar()
        assert fold(outcome.events) == response
        assert outcome.events[0].origin == response.origin  # type: ignore[union-attr]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_tools_are_called_in_parallel(dialect: str, way: str) -> None:
    outcome = call(way, PROVIDERS[dialect], Script(Step(act="auto")), ask(tools=(ADD, SUB)))
    response = outcome.response
    assert response is not None
    assert response.stop_reason is StopReason.tool_use
    assert [(c.name, c.input) for c in response.tool_uses] == [("add", {"a": 1}), ("sub", {})]
    outcome.check_grammar()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_over_real_sockets_and_connections_are_kept(dialect: str) -> None:
    async def scene() -> None:
        async with LoopbackServer() as server:
            settings = config(base_url=server.url)
            async with AsyncClient(PROVIDERS[dialect], settings) as client:
                whole = await client.complete(ask())
                events = [event async for event in client.stream(ask())]
                again = await client.complete(ask())
            assert (
                whole.content == fold(events).content == again.content == (TextBlock("You said: one two three four"),)
            )
            assert server.connections == 1
            await asyncio.to_thread(blocking, settings)
            assert server.connections == 2

    def blocking(settings: Any) -> None:
        with Client(PROVIDERS[dialect], settings) as client:
            whole = client.complete(ask())
            folded = fold(client.stream(ask()))
            again = client.complete(ask())
        assert whole.content == folded.content == again.content

    run(scene())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_conversation_goes_on_with_what_the_client_gave(dialect: str) -> None:
    script = Script(Step(act="think"), Step(act="call"), Step(act="echo"))
    asked = Message("user", "hello")

    async def scene() -> None:
        from interlingua.client.embedded import handler
        from interlingua.client.transport.memory import AsyncMemoryTransport

        transport = AsyncMemoryTransport(handler(script))
        client = AsyncClient(PROVIDERS[dialect], config(), model="m", transport=transport, on_loss="allow")
        first = await client.complete(Request([asked], tools=(ADD,), max_output_tokens=9))
        second = await client.complete(Request([asked, first.message, asked], tools=(ADD,), max_output_tokens=9))
        assert isinstance(second.content[0], ToolUseBlock)

    run(scene())
    assert len(script.seen) == 2


@pytest.mark.parametrize("way", WAYS)
def test_a_request_without_an_id_gets_a_ulid(way: str) -> None:
    response = call(way, "openai", Script(), ask()).response
    assert response is not None
    assert response.request_id is not None
    assert len(response.request_id) == 26
    assert set(response.request_id) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")


def test_streams_ask_for_usage() -> None:
    script = Script()
    outcome = call("stream", "openai-chat", script, ask())
    assert b'"include_usage":true' in outcome.transport.requests[0].body
    assert outcome.transport.requests[0].headers["authorization"] == f"Bearer {CANARY}"


def test_usage_that_was_not_sent_is_estimated(caplog: pytest.LogCaptureFixture) -> None:
    from interlingua.client.transport.memory import Answer

    body = b'{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop",'
    body += b'"message":{"role":"assistant","content":"a rather long answer"}}]}'
    outcome = call("complete", "vllm", lambda _: Answer(200, {"content-type": "application/json"}, [body]), ask())
    assert outcome.response is not None
    assert outcome.response.usage is not None
    assert outcome.response.usage.estimated
    assert outcome.response.usage.input_tokens > 0
    assert "estimated" in caplog.text


def test_clients_satisfy_the_adapter_protocol() -> None:
    from interlingua.client.connect import ProviderAdapter

    adapter: ProviderAdapter = AsyncClient("anthropic", config(), model="m")
    assert adapter.name == "anthropic"
    assert adapter.capabilities.images
    assert adapter.capabilities_for("other").thinking
    few, many = (adapter.estimate_input_tokens([Message("user", "word " * n)], (ADD,), "be brief") for n in (10, 1000))
    assert 0 < few < many


def test_a_client_outlives_an_event_loop() -> None:
    transport = AioTransport()

    async def scene(last: bool) -> str:
        async with LoopbackServer() as server:
            other = AsyncClient("openai-chat", config(base_url=server.url), transport=transport)
            try:
                return (await other.complete(ask())).text
            finally:
                if last:
                    await other.close()

    assert {asyncio.run(scene(last)) for last in (False, True)} == {"You said: one two three four"}


def test_many_streams_left_at_many_points_leave_nothing() -> None:
    async def scene() -> None:
        script = Script(Step(act="echo", fault="stall", after=6))
        async with LoopbackServer(script) as server, AsyncClient("anthropic", config(base_url=server.url)) as client:
            await asyncio.gather(*(leave(client, number) for number in range(120)))
            assert len(client._open_calls) == 0
            while server.open:  # noqa: ASYNC110 - the server sees every reader go; else the test hangs
                await asyncio.sleep(0.01)

    async def leave(client: AsyncClient, number: int) -> None:
        name = f"r{number}"
        stream = client.stream(ask(request_id=name))
        if number % 5 == 0:
            await client.cancel(name)
        seen = 0
        async for _ in stream:
            seen += 1
            if seen == 1 + number % 6:
                if number % 2:
                    await client.cancel(name)
                else:
                    break
        await stream.aclose()

    run(asyncio.wait_for(scene(), 60))


@pytest.mark.parametrize("way", WAYS)
def test_a_failed_call_is_forgotten(way: str) -> None:
    from interlingua.errors import NetworkError

    def failures() -> int:
        gc.collect()
        return sum(type(thing) is NetworkError for thing in gc.get_objects())

    before = failures()
    call(way, "openai", Script(Step(fault="no_answer")), ask())
    assert failures() == before
