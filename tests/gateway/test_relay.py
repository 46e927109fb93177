"""``relay``: a request of any dialect, answered in that dialect by any provider. The official SDKs read the answers."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.asking import BEDROCK, CALLS, CHAT, CLAUDE, GEMINI, OLLAMA, RESPONSES, TEXT, body_of, judge
from interlingua import (
    DIALECTS,
    InvalidRequestError,
    NetworkError,
    Origin,
    OverloadedError,
    Price,
    Pricing,
    Router,
    connect,
    dialect,
    relay,
    relay_stream,
    relay_stream_sync,
    relay_sync,
)
from interlingua.client.embedded import Script, Step, handler
from interlingua.client.transport.memory import AsyncMemoryTransport
from interlingua.types.words import ErrorClass

sdks = pytest.importorskip(
    "lab.cuts.sdks", reason="the judges are the official clients: pip install 'interlingua[dev]'"
)

QUICK: Any = {"retry": {"base": 0.0}}
IN_URL = {GEMINI: "asked", BEDROCK: "asked"}
AFTER = {CLAUDE: 10, CHAT: 6, RESPONSES: 12, GEMINI: 4, OLLAMA: 4, BEDROCK: 8}
"""Chunks until somewhere within or behind the first call, and before the last word."""
every_client = pytest.mark.parametrize("client", DIALECTS)
every_upstream = pytest.mark.parametrize("upstream", DIALECTS)


@pytest.fixture(scope="module")
def readers() -> Iterator[Any]:
    with sdks.sdk_readers() as found:
        yield found


def ask(client: str) -> Any:
    body = body_of(client)
    return body if client in IN_URL else {**body, "model": "asked"}


@every_client
@every_upstream
def test_the_sdks_read_whole_answers(client: str, upstream: str) -> None:
    answer = relay_sync(
        ask(client), dialect=client, model=IN_URL.get(client), to=f"embedded:{upstream}", script=[CALLS]
    )
    text, calls = judge(client, answer.body)
    assert text == TEXT
    assert [(name, json.loads(given) if isinstance(given, str) else given) for name, given in calls] == [
        ("add", {"a": 1, "b": 2})
    ]
    assert answer.response.attempts == 1
    assert answer.response.usage is not None
    assert answer.cost.cost_usd == 0.0


@every_client
@every_upstream
def test_the_sdks_read_streams(client: str, upstream: str, readers: Any) -> None:
    with relay_stream_sync(ask(client), dialect=client, to=f"embedded:{upstream}", script=[CALLS]) as stream:
        output = b"".join(stream)
    assert readers.read(client, output) == Counter(['{"a":1,"b":2}'])
    assert stream.response is not None
    assert stream.response.text == TEXT
    assert stream.usage == stream.response.usage
    assert stream.cost is not None
    assert stream.cost.cost_usd == 0.0


@every_client
@every_upstream
def test_an_answer_that_breaks_off_never_looks_finished(client: str, upstream: str, readers: Any) -> None:
    step = Step(content=(*CALLS, CALLS[1]), fault="cut", after=AFTER[upstream])
    output: list[bytes] = []
    stream = relay_stream_sync(ask(client), dialect=client, to=f"embedded:{upstream}", script=step, config=QUICK)
    with pytest.raises(NetworkError) as caught:
        output.extend(stream)
    assert output
    assert stream.response is not None
    assert caught.value.response is stream.response
    whole = [json.dumps(call.input, separators=(",", ":")) for call in stream.response.tool_uses if not call.incomplete]
    assert readers.read(client, b"".join(output)) <= Counter(whole)


def test_async_and_a_client_of_ones_own() -> None:
    async def run() -> tuple[Any, bytes, Any]:
        script = Script(*[CALLS] * 3)
        async with connect("embedded:gemini", transport=AsyncMemoryTransport(handler(script))) as client:
            answer = await relay(ask(CLAUDE), dialect=CLAUDE, to=client)
            async with relay_stream(ask(CHAT), dialect=CHAT, to=client) as stream:
                output = b"".join([chunk async for chunk in stream])
            again = await relay(ask(CHAT), dialect=CHAT, to=client)
        return answer, output, again

    answer, output, again = asyncio.run(run())
    assert judge(CLAUDE, answer.body)[0] == judge(CHAT, again.body)[0] == TEXT
    assert output.endswith(b"data: [DONE]\n\n")
    assert answer.body["model"] == "asked"
    assert answer.response.model == "gemini"


def test_a_router_answers_like_a_model() -> None:
    router = Router(["embedded:openai-chat"])
    assert judge(CLAUDE, relay_sync(ask(CLAUDE), dialect=CLAUDE, to=router).body)[0]
    assert b"message_stop" in b"".join(relay_stream_sync(ask(CLAUDE), dialect=CLAUDE, to=router))


def test_failures_before_the_first_content_raise_and_are_repeated() -> None:
    script = [Step(act="fail", error=ErrorClass.server_error), CALLS]
    answer = relay_sync(ask(CHAT), dialect=CHAT, to="embedded:anthropic-messages", script=script, config=QUICK)
    assert answer.response.attempts == 2
    busy = Step(act="fail", status=529, message="Overloaded")
    with pytest.raises(OverloadedError) as caught:
        relay_sync(ask(RESPONSES), dialect=RESPONSES, to="embedded:anthropic-messages", script=busy, config=QUICK)
    assert dialect(RESPONSES).encode_error(caught.value).status == 503
    with pytest.raises(OverloadedError):
        next(
            iter(
                relay_stream_sync(ask(CHAT), dialect=CHAT, to="embedded:anthropic-messages", script=busy, config=QUICK)
            )
        )


def test_losses_of_both_ways_are_told() -> None:
    body = {**ask(CLAUDE), "top_k": 5}
    answer = relay_sync(body, dialect=CLAUDE, to="embedded:openai-chat", script=[CALLS], on_loss="allow")
    assert any(loss.path == "top_k" for loss in answer.losses)
    with pytest.raises(InvalidRequestError, match="top_k"):
        relay_sync(body, dialect=CLAUDE, to="embedded:openai-chat", on_loss="raise")


def test_a_price_list_of_ones_own() -> None:
    pricing = Pricing({"embedded:scripted": Price(input=1.0, output=1.0)})
    answer = relay_sync(ask(CHAT), dialect=CHAT, to="embedded:", script=["hi"], pricing=pricing)
    assert answer.cost.source == "own"


def test_what_the_vendor_would_refuse_is_refused_in_its_words() -> None:
    with pytest.raises(InvalidRequestError, match="messages"):
        relay_sync({"model": "m", "messages": "hi"}, dialect=CHAT, to="embedded:")
    with pytest.raises(InvalidRequestError, match="no threads"):
        relay_sync({**ask(CLAUDE), "thread": {"id": "t"}}, dialect=CLAUDE, to="embedded:openai-chat")


def test_the_usage_chunk_comes_only_if_it_was_asked_for() -> None:
    asked = {**ask(CHAT), "stream_options": {"include_usage": True}}
    without = {key: value for key, value in ask(CHAT).items() if key != "stream_options"}
    assert b'"usage"' in b"".join(relay_stream_sync(asked, dialect=CHAT, to="embedded:", script=["hi"]))
    assert b'"usage"' not in b"".join(relay_stream_sync(without, dialect=CHAT, to="embedded:", script=["hi"]))


def test_returned_reasoning_goes_home_to_the_issuer_that_the_caller_knows() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"}
    turns = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "x"}]},
    ]
    body = {**ask(CLAUDE), "messages": [*turns, {"role": "user", "content": "and?"}]}
    for issuer, expected in ((None, 0), (Origin("embedded", "openai-responses", "openai-responses"), 1)):
        script = Script("hi")
        relay_sync(body, dialect=CLAUDE, to="embedded:openai-responses", issuer=issuer, script=script)
        blocks = [block for message in script.seen[0].messages for block in message.content]
        assert sum(block.signature == "c2lnbmVk" for block in blocks) == expected
