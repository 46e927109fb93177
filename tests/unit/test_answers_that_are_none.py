"""A body that is no answer of its protocol raises in spite of its good status, and ill-typed ones raise our errors."""

from __future__ import annotations

import contextlib
import copy
import json
import random
from typing import Any

import pytest

from conformance.matrix import SPOKEN
from interlingua import AdapterError, ParseError, Response, StopReason, dialect
from pairs.frames import response_frame

NOTHING: tuple[Any, ...] = ({}, {"detail": "Not Found"}, {"id": "x", "model": "m"}, [], ["x"], None, "hello", 3, True)


@pytest.mark.parametrize("name", SPOKEN)
@pytest.mark.parametrize("body", NOTHING, ids=json.dumps)
def test_a_body_that_is_no_answer_raises_and_is_quoted(name: str, body: Any) -> None:
    with pytest.raises(ParseError) as caught:
        dialect(name).decode_response(body)
    assert json.dumps(body, separators=(",", ":")) in str(caught.value)


def test_only_the_head_of_a_body_is_quoted() -> None:
    with pytest.raises(ParseError) as caught:
        dialect("openai-chat").decode_response({"detail": "x" * 100_000})
    assert len(str(caught.value)) < 500


# fmt: off
MARKS = (
    ("anthropic-messages", ("content", "stop_reason")),
    ("openai-chat",        ("choices",)),
    ("openai-responses",   ("output", "status")),
    ("gemini",             ("candidates", "promptFeedback", "usageMetadata")),
    ("ollama",             ("message", "response", "done")),
    ("bedrock-converse",   ("output", "stopReason")),
)
GOOD: dict[str, Any] = {
    "content": [], "stop_reason": "end_turn", "choices": [], "output": [], "status": "completed", "candidates": [],
    "promptFeedback": {}, "usageMetadata": {}, "message": {"role": "assistant", "content": ""}, "response": "",
    "done": True, "stopReason": "end_turn",
}
# fmt: on


@pytest.mark.parametrize(("name", "mark"), [(name, mark) for name, marks in MARKS for mark in marks])
def test_one_mark_is_enough_if_it_says_something(name: str, mark: str) -> None:
    good = {"message": {"content": []}} if (name, mark) == ("bedrock-converse", "output") else GOOD[mark]
    assert isinstance(dialect(name).decode_response({mark: good}), Response)
    with pytest.raises(ParseError):
        dialect(name).decode_response({mark: None})


# fmt: off
ERRORS = (
    ("anthropic-messages", {"type": "error", "error": {"type": "api_error", "message": "no"}}),
    ("openai-chat",        {"error": {"message": "no"}}),
    ("openai-chat",        {"error": {"message": "no"}, "choices": None}),
    ("openai-responses",   {"error": {"message": "no"}}),
    ("gemini",             {"error": {"message": "no"}}),
    ("gemini",             [{"error": {"message": "no"}}]),
    ("ollama",             {"error": "no"}),
    ("bedrock-converse",   {"message": "no"}),
)
# fmt: on


@pytest.mark.parametrize(("name", "body"), ERRORS)
def test_an_error_inside_a_200_is_told_and_not_raised(name: str, body: Any) -> None:
    response = dialect(name).decode_response(body)
    assert response.stop_reason is StopReason.error
    assert isinstance(response.error, AdapterError)
    assert response.error.message == "no"


ODD: tuple[Any, ...] = (None, True, 0, -1, 1e300, "", "x", [], {}, [None], [[]], {"a": None}, ["x"])


def spoiled(wire: Any, chance: random.Random) -> Any:
    """The same answer with something odd in one place or several."""
    if chance.random() < 0.1:
        return copy.deepcopy(chance.choice(ODD))
    if isinstance(wire, dict):
        return {key: spoiled(value, chance) for key, value in wire.items()}
    return [spoiled(item, chance) for item in wire] if isinstance(wire, list) else wire


@pytest.mark.parametrize("name", SPOKEN)
def test_ill_typed_answers_give_our_errors(name: str) -> None:
    chance = random.Random(name)
    for _ in range(1500):
        body = spoiled(response_frame(name), chance)
        with contextlib.suppress(AdapterError):
            assert isinstance(dialect(name).decode_response(body), Response)
