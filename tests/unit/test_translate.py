"""The functions of ``codec.translate``, and how they treat strict schemas, usage and malformed arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from interlingua import (
    Base64Source,
    Event,
    ImageBlock,
    Loss,
    MessageComplete,
    NetworkError,
    ParseError,
    RateLimitError,
    StopReason,
    TextBlock,
    ToolOutput,
    build_tool_results,
    decode_stream,
    detect_dialect,
    fold,
    translate_request,
    translate_stream,
)
from lab.oracles import problems
from shared_data import corpus, needs_shared

Json = Any
CHAT, CLAUDE = "openai-chat", "anthropic-messages"
PNG = "iVBORw0KGgo="


def paths(losses: tuple[Loss, ...]) -> set[tuple[str, str]]:
    return {(loss.path, loss.kind) for loss in losses}


# ------------------------------------------------------------------------------------------------- whole requests


def test_what_the_url_and_the_headers_say() -> None:
    """Cloud providers have the model and the stream flag in the URL, Anthropic its betas in a header."""
    body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 5, "messages": [{"role": "user", "content": "?"}]}
    chat = translate_request(body, source=CLAUDE, target=CHAT, model="claude", stream=True).body
    assert (chat["model"], chat["stream"]) == ("claude", True)
    home = translate_request(
        body, source=CLAUDE, target=CLAUDE, model="claude", stream=True, headers={"Anthropic-Beta": "a-1, b-2"}
    )
    assert home.body == body
    assert home.headers["anthropic-beta"] == "a-1,b-2"


# -------------------------------------------------------------------------------------------------------- streams


def sse(*rows: Json) -> list[bytes]:
    return [b"data: " + json.dumps(row).encode() + b"\n\n" for row in rows]


def delta(finish: str | None = None, **fields: Json) -> Json:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def test_a_stream_is_translated_as_it_comes() -> None:
    pulled: list[int] = []

    def slowly() -> Iterator[bytes]:
        for number, row in enumerate(
            [*sse(delta(content="Hel"), delta(content="lo"), delta("stop")), b"data: [DONE]\n\n"]
        ):
            pulled.append(number)
            yield row

    said = translate_stream(slowly(), source=CHAT, target=CLAUDE)
    assert pulled == []
    first = next(said)
    assert b"Hel" in first
    assert pulled == [0]
    rest = b"".join(said)
    assert fold(decode_stream([first, rest], dialect=CLAUDE)).text == "Hello"


def test_losses_of_a_stream_are_told() -> None:
    losses: list[Loss] = []
    body = [*sse(delta(content="x", refusal=None), {**delta("stop"), "system_fingerprint": "fp"}), b"data: [DONE]\n\n"]
    list(translate_stream(body, source=CHAT, target=CLAUDE, on_loss=losses.append))
    assert ("extras/openai-chat/system_fingerprint", "dropped") in paths(tuple(losses))


def test_a_stream_that_failed_raises_after_its_last_event() -> None:
    body = sse(delta(content="par"), {"error": {"code": 429, "message": "slow down"}})
    events: list[Event] = []
    stream = decode_stream(body, dialect=CHAT)
    with pytest.raises(RateLimitError, match="slow down") as caught:
        events.extend(stream)  # what came before the error stays
    last = events[-1]
    assert isinstance(last, MessageComplete)
    assert last.response.text == "par"
    assert last.response.stop_reason is StopReason.error
    assert caught.value.response == last.response


def test_an_empty_stream_is_a_cut_one() -> None:
    for name in (CHAT, CLAUDE):
        with pytest.raises(NetworkError):
            list(decode_stream([], dialect=name))


# --------------------------------------------------------------------------------------------------- detect_dialect


@needs_shared
@pytest.mark.parametrize("name", [CHAT, CLAUDE])
def test_recorded_bodies_are_told_apart(name: str) -> None:
    """Bodies that are legal in both protocols remain; they are few."""
    right = wrong = 0
    for record in corpus(name):
        for body in (record["request"], record.get("response") if record["status"] == 200 else None):
            if body:
                try:
                    found = detect_dialect(body)
                except ParseError:
                    continue
                right, wrong = right + (found == name), wrong + (found != name)
    assert right > 2_000
    assert wrong / right < 0.005


# ------------------------------------------------------------------------------------------------- parse_tool_calls


def claude_answer(*blocks: Json, stop: str = "tool_use") -> Json:
    return {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": list(blocks),
            "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip


CALL_A = {"type": "tool_use", "id": "toolu_a", "name": "f", "input": {"x": 1}}
CALL_B = {"type": "tool_use", "id": "toolu_b", "name": "g", "input": {}}


# ------------------------------------------------------------------------------- build_ and validate_tool_results


def test_results_for_anthropic() -> None:
    thought = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    redacted = {"type": "redacted_thinking", "data": "ZA=="}
    answer = claude_answer(thought, redacted, {"type": "text", "text": "so"}, CALL_A, CALL_B)
    image = ImageBlock(Base64Source("image/png", PNG))
    more = build_tool_results(
        answer, [ToolOutput("toolu_a", [TextBlock("one"), image]), ToolOutput("toolu_b", "no", True)], dialect=CLAUDE
    )
    assert more[0] == {"role": "assistant", "content": answer["content"]}
    [results] = more[1:]
    assert results["role"] == "user"
    first, second = results["content"]
    assert (first["tool_use_id"], [part["type"] for part in first["content"]]) == ("toolu_a", ["text", "image"])
    assert "is_error" not in first
    assert (second["tool_use_id"], second["is_error"]) == ("toolu_b", True)
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "?"}, *more],
        "tools": [{"name": name, "input_schema": {"type": "object"}} for name in "fg"],
    }
    assert problems(body, CLAUDE) == []
