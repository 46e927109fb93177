"""A real server: llama.cpp, with a model of a few kilobytes, in the three protocols that it speaks.

It is not careful with two of them: the Responses stream has no ``output_index``, ``content_index`` or model at its
start, a Messages stream begins tool calls without ``input``, and errors have OpenAI's shape everywhere.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.request import urlopen

import pytest
from msgspec.structs import replace

from client.support import WAYS, Outcome, run
from interlingua import (
    AdapterError,
    CancelledError,
    ContextOverflowError,
    ErrorClass,
    InvalidRequestError,
    Limiter,
    MapReport,
    MapResult,
    Message,
    Request,
    Session,
    StopReason,
    SyncSession,
    TextBlock,
    TextDelta,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseInputDelta,
    Unknown,
    map_requests,
    map_requests_sync,
)
from interlingua.client.config import AdapterConfig
from interlingua.client.connect import AsyncClient, Client
from interlingua.models.providers import provider
from live.llama import NotImportable, running
from live.tiny_model import ANSWER, TICKS

SENTENCE = "".join(ANSWER)
ENDLESS = 60_000
"""Tokens: more than the server can say while a test lasts."""

ROWS = {
    "openai-chat": provider("llamacpp"),
    "openai-responses": replace(provider("llamacpp"), name="llamacpp-responses", dialect="openai-responses"),
    "anthropic-messages": replace(provider("llamacpp"), name="llamacpp-messages", dialect="anthropic-messages"),
}
ADD = ToolDefinition(
    "add",
    "Add two numbers.",
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where llama.cpp listens; one for each process that runs these tests."""
    if find_spec("xllamacpp") is None:
        pytest.skip("no xllamacpp here: llama.cpp was not asked")
    try:
        with running(tmp_path_factory.mktemp("llama")) as url:
            yield url
    except NotImportable as error:
        pytest.skip(f"xllamacpp cannot be imported here: {error}")


def settings(url: str, **more: Any) -> AdapterConfig:
    return AdapterConfig(base_url=url, max_retries=0, timeout_seconds=60, **more)


def call(way: str, dialect: str, url: str, request: Request, **more: Any) -> Outcome:
    """Make one call in one of the four ways, over a real socket."""
    outcome = Outcome()

    async def asynchronous() -> None:
        async with AsyncClient(ROWS[dialect], settings(url, **more)) as client:
            await WAYS[way](client, request, outcome)

    try:
        if way.startswith("async"):
            run(asynchronous())
        else:
            with Client(ROWS[dialect], settings(url, **more)) as client:
                WAYS[way](client, request, outcome)
    except AdapterError as error:
        outcome.error = error
    outcome.check_grammar()
    return outcome


def ask(text: str, **fields: Any) -> Request:
    return Request([Message("user", text)], **{"model": "recites", "max_output_tokens": 40, **fields})


every_way = pytest.mark.parametrize("way", WAYS)
every_dialect = pytest.mark.parametrize("dialect", ROWS)


@every_way
@every_dialect
def test_an_answer(server: str, dialect: str, way: str) -> None:
    outcome = call(way, dialect, server, ask("Who speaks?"))
    response = outcome.response
    assert response is not None, outcome.error
    assert [block.text for block in response.content if isinstance(block, TextBlock)] == [SENTENCE]
    assert response.stop_reason == StopReason.end_turn
    assert response.usage is not None
    assert not response.usage.estimated
    assert response.usage.output_tokens == len(ANSWER) + 1
    assert response.usage.total_input_tokens > len("Who speaks?")
    assert response.losses == ()


@pytest.mark.parametrize("way", ["async-stream", "stream"])
@every_dialect
def test_words_come_one_by_one(server: str, dialect: str, way: str) -> None:
    """Also where the server does not say to which item they belong."""
    events = call(way, dialect, server, ask("Who speaks?")).events
    assert [event.text for event in events if isinstance(event, TextDelta)] == list(ANSWER)
    assert not [event for event in events if isinstance(event, Unknown)]


@every_way
@every_dialect
def test_a_tool_round(server: str, dialect: str, way: str) -> None:
    question = ask("What is 2 + 3?", tools=[ADD])
    first = call(way, dialect, server, question)
    assert first.response is not None, first.error
    assert first.response.stop_reason == StopReason.tool_use
    (made,) = first.response.content
    assert isinstance(made, ToolUseBlock)
    assert (made.name, made.input) == ("add", {"a": 2, "b": 3})
    if first.events:
        pieces = [event.partial_json for event in first.events if isinstance(event, ToolUseInputDelta)]
        assert len(pieces) > 1
        assert json.loads("".join(pieces)) == made.input
    assert not [event for event in first.events if isinstance(event, Unknown)]
    second = call(way, dialect, server, answered(question, first))
    assert second.response is not None, second.error
    assert [block.text for block in second.response.content if isinstance(block, TextBlock)] == [SENTENCE]


def answered(question: Request, first: Outcome) -> Request:
    """The next request: what was asked, the call, and its result."""
    assert first.response is not None
    made = first.response.content[0]
    assert isinstance(made, ToolUseBlock)
    said = Message("assistant", first.response.content, origin=first.response.origin)
    result = Message("tool", [ToolResultBlock(made.id, "5")])
    return Request([*question.messages, said, result], model="recites", tools=[ADD], max_output_tokens=40)


@pytest.mark.parametrize("other", ROWS)
@every_dialect
def test_a_conversation_moves(server: str, dialect: str, other: str) -> None:
    """A call made in one protocol is answered in another."""
    question = ask("What is 2 + 3?", tools=[ADD])
    first = call("complete", dialect, server, question)
    second = call("stream", other, server, answered(question, first))
    assert second.response is not None, second.error
    assert [block.text for block in second.response.content if isinstance(block, TextBlock)] == [SENTENCE]


LIMITED = {
    # what each protocol says of an answer that was stopped; llama.cpp's Responses say that all is well
    "openai-chat": StopReason.max_tokens,
    "openai-responses": StopReason.end_turn,
    "anthropic-messages": StopReason.max_tokens,
}


@every_way
@every_dialect
def test_a_limit(server: str, dialect: str, way: str) -> None:
    response = call(way, dialect, server, ask("Talk for ever.", max_output_tokens=4)).response
    assert response is not None
    assert [block.text for block in response.content if isinstance(block, TextBlock)] == ["".join(TICKS * 2)]
    assert response.stop_reason == LIMITED[dialect]


@every_way
@every_dialect
def test_too_long(server: str, dialect: str, way: str) -> None:
    outcome = call(way, dialect, server, ask("a" * 70_000))
    assert isinstance(outcome.error, ContextOverflowError)
    assert (outcome.error.provider_status, outcome.error.attempts) == (400, 1)
    assert "context" in str(outcome.error)


@every_way
@every_dialect
def test_a_bad_request(server: str, dialect: str, way: str) -> None:
    """Its error has OpenAI's shape, in Anthropic's protocol too."""
    outcome = call(way, dialect, server, ask("Hello"), options={"body": {"temperature": "hot"}})
    assert isinstance(outcome.error, InvalidRequestError)
    assert (outcome.error.provider_status, outcome.error.attempts) == (400, 1)
    assert "temperature" in str(outcome.error)


@every_way
@every_dialect
def test_a_wrong_address(server: str, dialect: str, way: str) -> None:
    outcome = call(way, dialect, f"{server}/nowhere", ask("Hello"))
    assert outcome.error is not None
    assert (outcome.error.error_class, outcome.error.provider_status) == (ErrorClass.invalid_request, 404)


@every_way
@every_dialect
def test_an_unknown_model(server: str, dialect: str, way: str) -> None:
    """This server has one model and answers with it whatever is asked for; the response says who spoke."""
    response = call(way, dialect, server, ask("Who speaks?", model="no-such-model")).response
    assert response is not None
    assert response.model == "recites"
    assert response.origin is not None
    assert response.origin.model == "recites"


# ------------------------------------------------------------------------------------------------------ cancellation


def slots(url: str) -> list[dict[str, Any]]:
    with urlopen(f"{url}/slots", timeout=30) as reply:
        return json.load(reply)


def busy(url: str) -> bool:
    return any(slot["is_processing"] for slot in slots(url))


PATIENCE = 30.0
"""Seconds, and not a measurement: a server that never gets there fails the test."""


def wait_until(true: Callable[[], bool], pause: float = 0.05) -> None:
    for _ in range(int(PATIENCE / pause)):
        if true():
            return
        time.sleep(pause)
    pytest.fail("the server still works, or never began")


def check_released(url: str, pause: float = 0.05) -> None:
    """The server has stopped, and long before it was through."""
    wait_until(lambda: not busy(url), pause)
    assert max(slot.get("n_prompt_tokens", 0) for slot in slots(url)) < ENDLESS


ENDLESSLY = ask("Talk for ever.", max_output_tokens=ENDLESS, request_id="r1")


async def by_cancel(client: AsyncClient, outcome: Outcome) -> None:
    async for event in client.stream(ENDLESSLY):
        outcome.events.append(event)
        if isinstance(event, TextDelta):
            await client.cancel("r1")


async def by_leaving(client: AsyncClient, outcome: Outcome) -> None:
    async with client.stream(ENDLESSLY) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break


async def by_ending_the_task(client: AsyncClient, outcome: Outcome) -> None:
    begun = asyncio.get_running_loop().create_future()

    async def read() -> None:
        async for event in client.stream(ENDLESSLY):
            if isinstance(event, TextDelta) and not begun.done():
                begun.set_result(None)

    task = asyncio.create_task(read())
    await asyncio.wait([task, begun], return_when=asyncio.FIRST_COMPLETED)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("end", [by_cancel, by_leaving, by_ending_the_task])
@every_dialect
def test_the_slot_is_free_again(server: str, dialect: str, end: Any) -> None:
    outcome = Outcome()

    async def scene() -> None:
        async with AsyncClient(ROWS[dialect], settings(server)) as client:
            await end(client, outcome)
            await asyncio.to_thread(check_released, server)  # before the client closes

    run(scene())
    outcome.check_grammar()
    if end is by_cancel:
        assert outcome.events[-1].type == "message.complete"
        assert outcome.events[-1].response.stop_reason == StopReason.cancelled  # type: ignore[union-attr]
        assert outcome.events[-1].response.content  # type: ignore[union-attr]


@every_dialect
def test_the_slot_is_free_again_for_blocked_callers(server: str, dialect: str) -> None:
    with Client(ROWS[dialect], settings(server)) as client:
        for event in client.stream(ENDLESSLY):
            if isinstance(event, TextDelta):
                client.cancel("r1")
        check_released(server)


UNASKED = 1.2
"""Seconds. While it works on a whole answer the server looks at the socket when it was not asked anything for one."""


def cancel_when_busy(client: Client, url: str) -> None:
    wait_until(lambda: busy(url))
    client.cancel("r1")


async def cancel_a_whole_answer(url: str) -> None:
    async with AsyncClient("llamacpp", settings(url)) as client:
        waiting = asyncio.create_task(client.complete(ENDLESSLY))
        await asyncio.to_thread(wait_until, lambda: busy(url))
        await client.cancel("r1")
        with pytest.raises(CancelledError):
            await waiting
        await asyncio.sleep(UNASKED)
        await asyncio.to_thread(check_released, url, UNASKED)


def test_a_whole_answer_is_given_up(server: str) -> None:
    """The socket is closed before the server has said anything."""
    run(cancel_a_whole_answer(server))
    with Client("llamacpp", settings(server)) as client:
        thread = threading.Thread(target=cancel_when_busy, args=(client, server))
        thread.start()
        with pytest.raises(CancelledError):
            client.complete(ENDLESSLY)
        thread.join()
        time.sleep(UNASKED)
        check_released(server, UNASKED)


# -------------------------------------------------------------------------------------------------- many at once


@pytest.mark.parametrize("kind", ["async", "blocking"])
def test_many_at_once(server: str, kind: str, tmp_path: Path) -> None:
    """In one line each: a map within a limit, started again from its journal; real tokens are counted."""
    limiter, prompts = Limiter(tokens_per_minute=100_000, concurrency=2), [f"Say it, {number}." for number in range(6)]
    options: Any = {"concurrency": 4, "limiter": limiter, "journal": tmp_path / "run.jsonl"}

    def mapped(count: int) -> tuple[list[MapResult], MapReport]:
        if kind == "blocking":
            results = map_requests_sync(prompts[:count], "llamacpp:tiny", base_url=server, **options)
            return list(results), results.report

        async def scene() -> tuple[list[MapResult], MapReport]:
            results = map_requests(prompts[:count], "llamacpp:tiny", base_url=server, **options)
            return await results, results.report

        return run(scene())

    first, _ = mapped(4)
    found, report = mapped(6)
    assert [result.text for result in found] == [SENTENCE] * 6
    assert [result.response for result in found[:4]] == [result.response for result in first]
    assert (report.done, report.resumed, report.failed) == (6, 4, 0)
    assert report.usage.output_tokens >= 6
    assert not report.usage.estimated
    assert report.cost_usd == 0  # a server of one's own
    assert limiter._tokens > 0
    assert limiter._running == 0


# ------------------------------------------------------------------------------------------------- what sessions add


@dataclass
class Verdict:
    good: bool
    grade: Literal["low", "high"]


@pytest.mark.parametrize("kind", [Session, SyncSession])
def test_typed_answers(server: str, kind: Any) -> None:
    """The grammar is made of the type: a model that only recites gives a value, whole and as it comes."""

    async def scene() -> None:
        async with Session("llamacpp:tiny", base_url=server) as session:
            check((await session.run("Well?", output=Verdict)).output)
            async with session.run_stream("And now?", output=Verdict) as stream:
                shown = [stream.partial_output async for _ in stream]
            assert stream.response is not None
            check(stream.response.output)
            assert shown[-1] == asdict(stream.response.output)

    def check(output: Verdict) -> None:
        assert type(output.good) is bool
        assert output.grade in ("low", "high")

    if kind is Session:
        run(scene())
        return
    with SyncSession("llamacpp:tiny", base_url=server) as session:
        check(session.run("Well?", output=Verdict).output)


def test_tools_are_seen_and_limits_hold(server: str) -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    with SyncSession("llamacpp:tiny", [add], base_url=server) as session:
        with session.run_stream("What is 2 + 3?") as stream:
            told = [event.type for event in stream]
        assert stream.response is not None
        assert (stream.response.text, session.report.steps) == (SENTENCE, 2)
        seen = [type for type in told if type in ("step.start", "tool.start", "tool.result", "step.end")]
        assert seen == ["step.start", "tool.start", "tool.result", "step.end", "step.start", "step.end"]
        for limit, reason in (
            ({"steps": 1}, "1 steps"),
            ({"tokens": 1}, "1 tokens"),
            ({"calls": {"add": 0}}, "0 calls"),
        ):
            session.rewind(None)
            response = session.run("What is 2 + 3?", **limit)  # type: ignore[arg-type]
            assert response.stopped == "limit"
            assert str(response.stopped_reason).startswith(f"the limit of {reason}")
            (result,) = session.messages[-1].content
            assert isinstance(result, ToolResultBlock)
            assert result.content == (TextBlock(f"Not run: {response.stopped_reason}."),)
