"""Ollama requests where a line of ``tests/cases/ollama.jsonl`` does not suffice: edits, issuers, made-up ids."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import (
    Message,
    OpaqueBlock,
    ParseError,
    Request,
    Target,
    TextBlock,
    ToolResultBlock,
    dialect,
)

OLLAMA = dialect("ollama")
Turn = dict[str, Any]
HI: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def losses(encoded: Any) -> list[tuple[str, str]]:
    return [(loss.kind, loss.path) for loss in encoded.losses]


def calls(*names: str) -> Turn:
    wire = [{"function": {"name": name, "arguments": {}}} for name in names]
    return {"role": "assistant", "content": "", "tool_calls": wire}


def test_an_edited_stream_wins_over_its_mark() -> None:
    request = replace(OLLAMA.decode_request(HI), stream=False)
    assert OLLAMA.encode_request(request).body == {**HI, "stream": False}


def test_a_model_from_elsewhere() -> None:
    body = {"messages": [], "stream": False}
    request = OLLAMA.decode_request(body, model="m")
    assert request.model == "m"
    assert OLLAMA.encode_request(request).body == body
    assert OLLAMA.encode_request(Request(stream=False), Target(model="t")).body == {**body, "model": "t"}


def test_a_prompt_that_became_a_conversation_goes_to_chat() -> None:
    prompt = {"model": "m", "prompt": "Why?", "stream": False, "template": "t", "raw": False, "context": [1]}
    request = OLLAMA.decode_request({**prompt, "system": "s"})
    assert request.messages[0].content == (OpaqueBlock(dialect="ollama", raw={"context": [1]}),)
    assert OLLAMA.encode_request(request).path == "/api/generate"
    longer = (*request.messages, Message("assistant", "Because."), Message("user", "And?"))
    encoded = OLLAMA.encode_request(replace(request, messages=longer))
    assert encoded.path == "/api/chat"
    assert encoded.body.keys() == {"model", "messages", "stream"}
    assert [turn["role"] for turn in encoded.body["messages"]] == ["system", "assistant", "user", "assistant", "user"]
    assert losses(encoded) == [
        ("dropped", "messages/0/content/0"),
        ("dropped", "extras/ollama/template"),
        ("dropped", "extras/ollama/raw"),
    ]


def test_a_turn_is_an_object() -> None:
    with pytest.raises(ParseError, match=r"messages\[1\]"):
        OLLAMA.decode_request({"messages": [{"role": "user", "content": "u"}, "no"]})


def test_a_made_up_id_is_never_sent_back() -> None:
    """Results for calls that had no id go by name, in the order of the calls."""
    wire = calls("f", "g")
    (answer,) = OLLAMA.decode_request({**HI, "messages": [wire]}).messages
    results = tuple(ToolResultBlock(tool_use_id=id, content=(TextBlock(id),)) for id in ("call_1", "call_0"))
    encoded = OLLAMA.encode_messages([answer, Message("tool", results)])
    assert encoded.body == [
        wire,
        {"role": "tool", "content": "call_0", "tool_name": "f"},
        {"role": "tool", "content": "call_1", "tool_name": "g"},
    ]
    assert losses(encoded) == [
        ("moved", "messages/1/content/0"),
        ("moved", "messages/1/content/1"),
        ("added", "messages/1/content/1/name"),
        ("added", "messages/1/content/0/name"),
    ]


def test_an_id_that_was_given_since_is_sent() -> None:
    (answer,) = OLLAMA.decode_request({**HI, "messages": [calls("f")]}).messages
    named = replace(answer, content=(replace(answer.content[0], id="tu_1"),))
    (call,) = calls("f")["tool_calls"]
    assert OLLAMA.encode_messages([named]).body[0]["tool_calls"] == [{"id": "tu_1", **call}]
