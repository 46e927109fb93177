"""A role that a protocol does not have is kept for its own dialect, and declared to every other."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua import DIALECTS, Message, Role, dialect

NAMES = tuple(DIALECTS)
TEXTS: dict[str, Any] = {
    "anthropic-messages": {"messages": [{"role": "wizard", "content": "hi"}]},
    "openai-chat": {"messages": [{"role": "wizard", "content": "hi"}]},
    "openai-responses": {"input": [{"role": "wizard", "content": "hi"}]},
    "gemini": {"contents": [{"role": "wizard", "parts": [{"text": "hi"}]}]},
    "ollama": {"messages": [{"role": "wizard", "content": "hi"}]},
    "bedrock-converse": {"messages": [{"role": "wizard", "content": [{"text": "hi"}]}]},
}


@pytest.mark.parametrize("word", ["wizard", 7, ["user"]])
@pytest.mark.parametrize("source", NAMES)
def test_an_unknown_role_is_kept_at_home_and_declared_elsewhere(source: str, word: Any) -> None:
    body = {key: [{**turn, "role": word} for turn in turns] for key, turns in TEXTS[source].items()}
    request = dialect(source).decode_request(body)
    (key,) = body
    assert dialect(source).encode_request(request).body[key] == body[key]
    for target in NAMES:
        if target != source:
            losses = dialect(target).encode_request(request).losses
            about = [loss for loss in losses if loss.path.startswith("messages/0") and loss.kind == "dropped"]
            assert any(source in loss.reason and loss.weight == "content" for loss in about), target


@pytest.mark.parametrize("source", NAMES)
def test_a_missing_role_is_nothing_to_declare(source: str) -> None:
    (key,) = TEXTS[source]
    turns = [{name: value for name, value in turn.items() if name != "role"} for turn in TEXTS[source][key]]
    if source == "openai-responses":
        return  # an item without a role is no message
    request = dialect(source).decode_request({key: turns})
    assert dialect(source).encode_request(request).body[key] == turns
    for target in NAMES:
        losses = dialect(target).encode_request(request).losses
        assert [loss for loss in losses if loss.path.endswith("/role")] == []


def test_roles_by_hand_are_closed() -> None:
    word: Any = "wizard"
    with pytest.raises((TypeError, ValueError), match="wizard"):
        Message(word, "hi")
    assert {str(role) for role in Role} == {"system", "user", "assistant", "tool"}
