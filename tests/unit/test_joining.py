"""Neighbouring texts of a turn that another protocol wrote: joined where readers show only the last one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from interlingua import (
    Citation,
    Loss,
    Message,
    Origin,
    Request,
    Response,
    TextBlock,
    ToolUseBlock,
    decode_stream,
    dialect,
    fold,
    translate_response,
    translate_stream,
    unfold,
)
from interlingua.types.blocks import Block

CLAUDE, CHAT, RESPONSES = "anthropic-messages", "openai-chat", "openai-responses"
GEMINI, OLLAMA, BEDROCK = "gemini", "ollama", "bedrock-converse"

CALL = ToolUseBlock("c1", "f", input={})
PIECES: tuple[Block, ...] = (TextBlock('{"a":'), TextBlock("1}"), CALL, TextBlock("All done"), TextBlock("."))


def joins(losses: Iterable[Loss]) -> list[str]:
    """The places of the texts that were joined."""
    return sorted({loss.path for loss in losses if (loss.kind, loss.weight) == ("moved", "form")})


def spoken(name: str, body: Any) -> list[Any]:
    """What the assistant says in the history of a request, or in an answer."""
    if name == CLAUDE:
        return [block["text"] for block in body["content"] if "text" in block]
    if name == RESPONSES:
        return [
            [part["text"] for part in item["content"]] if isinstance(item["content"], list) else [item["content"]]
            for item in body
            if item.get("role") == "assistant"
        ]
    return [body["content"]]


def history(name: str, origin: Origin | None) -> tuple[list[Any], tuple[Loss, ...]]:
    """The texts of an assistant's turn, as a request says them."""
    turn = Message("assistant", (TextBlock('{"a":'), TextBlock("1}"), TextBlock("x")), origin=origin)
    encoded = dialect(name).encode_request(Request((Message("user", "hi"), turn, Message("user", "?")), model="m"))
    turns = encoded.body[dialect(name).history_key]
    return spoken(name, turns if name == RESPONSES else turns[1]), encoded.losses


# ------------------------------------------------------------------------------------------------------------- answers

ANSWER = Response(PIECES, "tool_use", id="r", model="m")
ANSWERS = (
    # target, its texts
    (CLAUDE, ['{"a":1}', "All done."], ["content/0", "content/1", "content/3", "content/4"]),
    (RESPONSES, [['{"a":', "1}"], ["All done", "."]], []),
)


@pytest.mark.parametrize(("name", "said", "places"), ANSWERS)
def test_whole_answers_are_joined(name: str, said: list[Any], places: list[str]) -> None:
    wire = dialect(BEDROCK).encode_response(ANSWER).body
    encoded = translate_response(wire, source=BEDROCK, target=name)
    assert spoken(name, encoded.body["output"] if name == RESPONSES else encoded.body) == said
    assert joins(encoded.losses) == places


@pytest.mark.parametrize(("name", "said", "places"), ANSWERS)
@pytest.mark.parametrize("step", [1, 7, 10_000])
@pytest.mark.parametrize("source", [BEDROCK, GEMINI])
def test_streams_are_joined_as_whole_answers_are(
    name: str, said: list[Any], places: list[str], step: int, source: str
) -> None:
    encoder = dialect(source).stream_encoder()
    wire = b"".join(map(encoder.feed, unfold(ANSWER))) + encoder.close()
    chunks = [wire[at : at + step] for at in range(0, len(wire), step)]
    losses: list[Loss] = []
    stream = b"".join(translate_stream(chunks, source=source, target=name, on_loss=losses.append))
    read = fold(decode_stream([stream], dialect=name))
    texts = [block.text for block in read.content if isinstance(block, TextBlock)]
    assert texts == [text for item in said for text in (item if isinstance(item, list) else [item])]
    assert [call.id for call in read.tool_uses] == ["c1"]
    assert joins(losses) == places
    whole = dialect(name).encode_response(read).body
    assert spoken(name, whole["output"] if name == RESPONSES else whole) == said


def test_a_stream_of_the_same_dialect_keeps_its_texts_apart() -> None:
    encoder = dialect(CLAUDE).stream_encoder()
    wire = b"".join(map(encoder.feed, unfold(ANSWER))) + encoder.close()
    read = fold(decode_stream([b"".join(translate_stream([wire], source=CLAUDE, target=CLAUDE))], dialect=CLAUDE))
    assert [type(block) for block in read.content] == [type(block) for block in PIECES]


@pytest.mark.parametrize("name", [CHAT, OLLAMA])
def test_protocols_of_one_text_put_nothing_between(name: str) -> None:
    answer = Response((TextBlock('{"a":'), TextBlock("1}")), "end_turn", model="m")
    encoder = dialect(name).stream_encoder()
    stream = b"".join(map(encoder.feed, unfold(answer))) + encoder.close()
    assert fold(decode_stream([stream], dialect=name)).text == '{"a":1}'
    whole = dialect(name).encode_response(answer)
    assert dialect(name).decode_response(whole.body).text == '{"a":1}'
    for losses in (whole.losses, encoder.losses):
        assert joins(losses) == ["content/0", "content/1"]


def test_a_citation_that_comes_after_a_join_is_kept_and_declared() -> None:
    cited = TextBlock("b", citations=(Citation(kind="url", url="https://example.org", title="t"),))
    answer = Response((TextBlock("a"), cited), "end_turn", model="m", id="r")
    encoder = dialect(RESPONSES).stream_encoder()
    wire = b"".join(map(encoder.feed, unfold(answer))) + encoder.close()
    losses: list[Loss] = []
    stream = b"".join(translate_stream([wire], source=RESPONSES, target=CLAUDE, on_loss=losses.append))
    read = fold(decode_stream([stream], dialect=CLAUDE))
    assert read.text == "ab"
    assert "content/1/citations" in joins(losses)
