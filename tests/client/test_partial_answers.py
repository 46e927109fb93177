"""Answers that end early: usage that was never sent, events after ``cancel``, events held back before the content."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from client.support import PROVIDERS, ask, call, config
from interlingua import (
    AdapterConfig,
    AsyncClient,
    Client,
    Event,
    Limits,
    MessageComplete,
    NetworkError,
    Response,
    StopReason,
    TextBlock,
    TextDelta,
    ToolUseBlock,
    Unknown,
    dialect,
    fold,
    unfold,
)
from interlingua.client.transport.memory import Answer, AsyncMemoryTransport, MemoryTransport
from interlingua.models.estimate import estimate_output
from interlingua.types.usage import TokenUsage

PROSE = "The quick brown fox jumps over the lazy dog. " * 130  # some 6,000 characters
SSE = {"content-type": "text/event-stream"}


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def begun(output_tokens: int) -> bytes:
    usage = {"input_tokens": 20, "output_tokens": output_tokens}
    return event("message_start", message={"id": "1", "model": "m", "role": "assistant", "content": [], "usage": usage})


BLOCK = event("content_block_start", index=0, content_block={"type": "text", "text": ""})


def words(text: str) -> bytes:
    return event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


# ---------------------------------------------------------------------------------------------------------- usage


def test_the_usage_of_a_cut_answer_is_topped_up_and_marked() -> None:
    """Anthropic says ``output_tokens: 1`` at the start and the true count at the end, which never came."""
    answer = Answer(200, SSE, [begun(1), BLOCK, words(PROSE)])
    error = call("stream", "anthropic", lambda request: answer, ask(), config(max_retries=0)).error
    assert isinstance(error, NetworkError)
    assert error.response is not None
    usage = error.response.usage
    assert usage is not None
    assert usage.estimated
    assert usage.output_tokens == estimate_output((TextBlock(PROSE),), "anthropic", "m")
    assert usage.output_tokens > 1000
    assert usage.input_tokens == 20  # that was told


def test_a_complete_count_is_kept() -> None:
    told = event("message_delta", delta={}, usage={"output_tokens": 1500})
    answer = Answer(200, SSE, [begun(1), BLOCK, words(PROSE), told])
    error = call("stream", "anthropic", lambda request: answer, ask(), config(max_retries=0)).error
    assert error is not None
    assert error.response is not None
    assert error.response.usage == TokenUsage(20, output_tokens=1500)


def test_an_answer_without_content_keeps_the_reported_count() -> None:
    answer = Answer(200, SSE, [begun(1)])
    error = call("stream", "anthropic", lambda request: answer, ask(), config(max_retries=0)).error
    assert error is not None
    assert error.response is not None
    assert error.response.usage == TokenUsage(20, output_tokens=1)


# ---------------------------------------------------------------------------------------------------------- cancel

WHOLE = Response(
    (TextBlock("one two three"), ToolUseBlock("c1", "add", input={"a": 1}), ToolUseBlock("c2", "sub", input={"b": 2})),
    StopReason.tool_use,
    id="1",
    model="m",
)


def streamed(name: str) -> list[bytes]:
    """Everything but the last word, in one chunk: all of it is in the client's buffer at once."""
    encoder = dialect(name).stream_encoder()
    said = [encoder.feed(each) for each in unfold(WHOLE)]
    return [b"".join(said[:-1])]


def seen_until_cancel(name: str, after: int) -> tuple[list[Event], list[Event]]:
    """The events before and after a cancel that found the call running."""

    async def scene() -> tuple[list[Event], list[Event]]:
        answer = Answer(200, SSE, [*streamed(name), b": still going\n\n"])
        client = AsyncClient(PROVIDERS[name], config(), transport=AsyncMemoryTransport(lambda request: answer))
        before, later = list[Event](), list[Event]()
        async with client.stream(ask()) as stream:
            async for each in stream:
                before.append(each)
                if len(before) == after:
                    break
            assert await client.cancel(stream.request_id)
            later.extend([each async for each in stream])
        return before, later

    return asyncio.run(scene())


@pytest.mark.parametrize("after", range(1, 8))
@pytest.mark.parametrize("name", ["anthropic-messages", "openai-chat", "openai-responses"])
def test_after_cancel_the_partial_answer_is_what_was_read(name: str, after: int) -> None:
    before, later = seen_until_cancel(name, after)
    assert not [each for each in later if each.type.endswith("_delta") or each.type.endswith(".delta")]
    assert not [each for each in later if each.type.endswith("start") and each.type != "message.start"]
    last = later[-1]
    assert isinstance(last, MessageComplete)
    assert last.response.stop_reason is StopReason.cancelled
    partial = fold([*before, *later])  # the grammar holds, and the deltas add up
    said = "".join(each.text for each in before if isinstance(each, TextDelta))
    assert partial.text == said
    ended = {each.block.id for each in before if each.type == "tool.use_end"}  # type: ignore[union-attr]
    assert {use.id for use in partial.tool_uses if not use.incomplete} <= ended


def test_the_blocking_client_stops_there_too() -> None:
    answer = Answer(200, SSE, [*streamed("anthropic-messages"), b": still going\n\n"])
    client = Client("anthropic", config(), transport=MemoryTransport(lambda request: answer))
    with client.stream(ask()) as stream:
        before = [next(stream) for _ in range(3)]
        assert client.cancel(stream.request_id)
        later = list(stream)
    assert [each.type for each in later] == ["block.complete", "message.complete"]
    assert fold([*before, *later]).text == "".join(each.text for each in before if isinstance(each, TextDelta))


def test_an_answer_that_was_read_to_its_end_cannot_be_cancelled() -> None:
    encoder = dialect("anthropic-messages").stream_encoder()
    answer = Answer(200, SSE, [b"".join(map(encoder.feed, unfold(WHOLE)))])
    client = Client("anthropic", config(), transport=MemoryTransport(lambda request: answer))
    with client.stream(ask()) as stream:
        first = next(stream)
        assert not client.cancel(stream.request_id)
        assert fold([first, *stream]).text == "one two three"


# ----------------------------------------------------------------------------------------------- events held back


@pytest.mark.parametrize(("more", "handed_out"), [(-1, False), (0, False), (1, True)])
def test_events_before_the_first_content_are_held_up_to_a_limit(more: int, handed_out: bool) -> None:
    limits = Limits(held_events=50)
    unknown = [event("surprise", number=number) for number in range(limits.held_events or 0)]
    answer = Answer(200, SSE, [begun(1), *unknown[: 48 + more]])  # message.start and usage.update count too
    outcome = call("stream", "anthropic", lambda request: answer, ask(), settings(limits))
    assert sum(isinstance(each, Unknown) for each in outcome.events) == 48 + more  # at the latest with the error
    assert outcome.error is not None
    assert outcome.error.attempts == (1 if handed_out else 2)  # what was handed out cannot be said again


@pytest.mark.parametrize(("limit", "attempts"), [(1000, 1), (1_000_000, 2), (None, 2)])
def test_their_bytes_are_limited_too(limit: int | None, attempts: int) -> None:
    answer = Answer(200, SSE, [begun(1), event("surprise", padding="x" * 2000)])
    outcome = call("stream", "anthropic", lambda request: answer, ask(), settings(Limits(held_bytes=limit)))
    assert outcome.error is not None
    assert outcome.error.attempts == attempts


def settings(limits: Limits) -> AdapterConfig:
    return config(max_retries=1, limits=limits)
