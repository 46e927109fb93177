"""A conversation's own ids: what a provider issued goes back to it exactly, and nobody else is told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from interlingua import Message, Request, ToolResultBlock, ToolUseBlock, dialect, from_json, to_json
from session.scenes import DIALECTS

OURS = "tu_01K0000000000000000000000C"


def talk(**native: str) -> Request:
    call = ToolUseBlock(
        OURS, "add", input={"a": 1}, native_ids={name.replace("_", "-"): id for name, id in native.items()}
    )
    return Request(
        [Message("user", "go"), Message("assistant", [call]), Message("tool", [ToolResultBlock(OURS, "1", "add")])],
        model="m",
        max_output_tokens=9,
    )


@pytest.mark.parametrize("name", DIALECTS)
def test_the_issuer_gets_its_own_id_back(name: str) -> None:
    issued = "toolu_01ABC"
    request = talk(**{name.replace("-", "_"): issued})
    body = msgspec.json.encode(dialect(name).encode_request(request).body)
    again = msgspec.json.encode(dialect(name).encode_request(from_json(to_json(request), Request)).body)
    assert body == again
    assert OURS.encode() not in body
    assert body.count(issued.encode()) == 2


@pytest.mark.parametrize("name", DIALECTS)
def test_others_are_told_the_conversations_own(name: str) -> None:
    other = next(known for known in DIALECTS if known != name)
    body = msgspec.json.encode(dialect(name).encode_request(talk(**{other.replace("-", "_"): "toolu_01ABC"})).body)
    assert b"toolu_01ABC" not in body
    assert body.count(OURS.encode()) == 2


def test_nine_characters_are_derived_and_stable() -> None:
    mistral: Any = dialect("openai-chat", "mistral")
    first = mistral.encode_request(talk()).body["messages"]
    id = first[1]["tool_calls"][0]["id"]
    assert len(id) == 9
    assert first[2]["tool_call_id"] == id
    assert mistral.encode_request(talk()).body["messages"] == first
