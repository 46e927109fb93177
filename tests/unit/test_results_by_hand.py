"""A user message built by hand that holds tool results is read as a tool message and a user message joined to it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from interlingua import (
    DIALECTS,
    Message,
    Request,
    Target,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    dialect,
    plan_swap,
    repair_tool_results,
    validate_tool_results,
)
from interlingua.testing.differences import plain

ASK = Message("user", "1 + 1, and 2 + 2?")
CALLS = Message("assistant", (ToolUseBlock("call_a", "add", input={"a": 1}), ToolUseBlock("call_b", "add")))
TWO, FOUR = ToolResultBlock("call_a", "two", "add", is_error=False), ToolResultBlock("call_b", "four", "add")
THANKS, MORE = TextBlock("thanks"), TextBlock("and 3 + 3?")
TOOLS = (ToolDefinition("add", "Adds.", {"type": "object", "properties": {}}),)
PROVIDERS = ("anthropic", "openai-chat", "openai", "google", "ollama", "bedrock")

# a message built by hand, and the messages that it is read as
READ: dict[str, tuple[tuple[Any, ...], list[Message]]] = {
    "results alone": ((TWO, FOUR), [Message("tool", (TWO, FOUR))]),
    "results and text": ((TWO, FOUR, THANKS, MORE), [Message("tool", (TWO, FOUR)), Message("user", (THANKS, MORE))]),
    "text before results": ((THANKS, TWO, FOUR), [Message("tool", (TWO, FOUR)), Message("user", (THANKS,))]),
    "text between results": ((TWO, THANKS, FOUR), [Message("tool", (TWO, FOUR)), Message("user", (THANKS,))]),
}


def asked(*turns: Message) -> Request:
    return Request([ASK, CALLS, *turns], "m", tools=TOOLS, max_output_tokens=9, stream=False)


@pytest.mark.parametrize(("content", "read"), READ.values(), ids=READ)
@pytest.mark.parametrize("name", DIALECTS)
def test_a_result_in_a_user_message_is_a_result(name: str, content: tuple[Any, ...], read: list[Message]) -> None:
    # nothing is dropped, nothing is sent twice; law 1 holds of what it is read as
    speaker = dialect(name)
    body = speaker.encode_request(asked(Message("user", content))).body
    expected = speaker.decode_request(speaker.encode_request(asked(*read)).body).messages
    assert plain(speaker.decode_request(body).messages) == plain(expected)
    text = msgspec.json.encode(body).decode()
    assert [text.count(word) for word in ("two", "four")] == [1, 1]
    assert text.count("thanks") == (THANKS in content)


def known(path: str) -> str:
    """A path in the messages that a message built by hand is read as, changed to the path in that message."""
    for read, hand in (("2/content/1", "2/content/2"), ("2/content/0", "2/content/1"), ("3/content/0", "2/content/0")):
        if path.startswith(f"messages/{read}"):
            return path.replace(read, hand)
    return path


@pytest.mark.parametrize("name", DIALECTS)
def test_losses_name_the_places_that_the_caller_knows(name: str) -> None:
    hand = dialect(name).encode_request(asked(Message("user", (THANKS, TWO, FOUR)))).losses
    read = dialect(name).encode_request(asked(*READ["text before results"][1])).losses
    assert [loss.path for loss in hand] == [known(loss.path) for loss in read]


@pytest.mark.parametrize("name", DIALECTS)
def test_the_history_alone_is_read_so_too(name: str) -> None:
    speaker = dialect(name)
    for content, read in READ.values():
        told = speaker.encode_messages([ASK, CALLS, Message("user", content)]).body
        wanted = speaker.encode_messages([ASK, CALLS, *read]).body
        if name == "anthropic-messages" and len(read) > 1:  # one turn there
            wanted[-2:] = [{"role": "user", "content": wanted[-2]["content"] + wanted[-1]["content"]}]
        assert told == wanted


@pytest.mark.parametrize("name", DIALECTS)
def test_such_results_answer_their_calls(name: str) -> None:
    turns = [ASK, CALLS, Message("user", (TWO, FOUR, THANKS))]
    assert validate_tool_results(turns, dialect=name) == []
    assert repair_tool_results(turns, dialect=name) == turns
    partly = [ASK, CALLS, Message("user", (FOUR, THANKS))]
    assert validate_tool_results(partly, dialect=name) == ["call_a"]
    repaired = repair_tool_results(partly, dialect=name)
    assert [str(turn.role) for turn in repaired] == ["user", "assistant", "user"]
    assert validate_tool_results(repaired, dialect=name) == []


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_conversation_with_such_results_can_move(provider: str) -> None:
    plan = plan_swap([ASK, CALLS, Message("user", (TWO, FOUR, THANKS))], TOOLS, to=Target(provider, "m"))
    assert plan.legal
    assert [loss for loss in plan.losses if loss.weight != "form" and loss.kind != "added"] == []


@pytest.mark.parametrize("name", DIALECTS)
def test_results_in_an_answer_are_no_reason_to_begin_again(name: str) -> None:
    """Recorded requests with a changed role have such turns."""
    turns = (ASK, CALLS, Message("assistant", (TWO, FOUR)), Message("user", "go on"))
    assert dialect(name).encode_request(Request(turns)).body
