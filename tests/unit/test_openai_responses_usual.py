"""The usual path of OpenAI Responses has no opinion of its own: switched off, everything reads and writes the same."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua import (
    Message,
    Request,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    dialect,
)
from interlingua.dialects.openai_responses import history, tools, writer
from shared_data import corpus, needs_shared

NAME = "openai-responses"
speaker = dialect(NAME)
SCHEMA = {"type": "object", "properties": {}}


@pytest.fixture
def unusual(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Switch the usual path off."""

    def switch() -> None:
        monkeypatch.setattr(history, "USUAL", {})
        monkeypatch.setattr(tools, "usual_tool", lambda *_: None)
        monkeypatch.setattr(tools, "say_usual", lambda *_: None)
        monkeypatch.setattr(writer, "USUAL", dict.fromkeys(writer.USUAL, lambda *_: None))

    return switch


def both_ways(bodies: list[Any], requests: list[Request], switch: Any) -> None:
    read = [speaker.decode_request(body) for body in bodies]
    said = [speaker.encode_request(request) for request in [*read, *requests]]
    switch()
    assert [speaker.decode_request(body) for body in bodies] == read
    assert [speaker.encode_request(request) for request in [*read, *requests]] == said


CALL, RESULT = ToolUseBlock("c", "f"), ToolResultBlock("c", "x")
REQUESTS = [
    Request((Message("user", "?"), Message("assistant", (TextBlock("a"), CALL)), Message("tool", (RESULT,)))),
    Request((Message("assistant", "a"), Message("assistant", "b"), Message("user", ()))),
    Request((Message("assistant", (CALL,)), Message("tool", (RESULT,))) * 2),
    Request((Message("assistant", (CALL, CALL)), Message("tool", (RESULT, RESULT)))),
    Request((Message("tool", (RESULT,)), Message("assistant", (ThinkingBlock("h"), TextBlock("a"))))),
    Request((Message("assistant", (ToolUseBlock("c", "p", "text", input_text="x"),)), Message("tool", (RESULT,)))),
    Request(tools=(ToolDefinition("f", "f", SCHEMA, strict=False), ToolDefinition("a.b", "f", SCHEMA, strict=False))),
    Request((Message("user", (TextBlock(""), TextBlock("x"))),)),
]  # fmt: skip
BODIES: list[Any] = [
    {"input": [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]},
    {"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
               {"role": "assistant", "content": "b"}]},
    {"input": [{"type": "compaction_trigger"}, {"role": "user", "content": [{"type": "input_text", "text": "x"}]}]},
    {"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]},
    {"input": [{"type": [], "role": {}}]},
]  # fmt: skip


def test_by_hand(unusual: Any) -> None:
    both_ways(BODIES, REQUESTS, unusual)


@needs_shared
def test_recorded(unusual: Any) -> None:
    bodies = [record["request"] for record in corpus(NAME) if isinstance(record.get("request"), dict)]
    foreign = [r["request"] for r in list(corpus("anthropic-messages"))[::5] if isinstance(r.get("request"), dict)]
    both_ways(bodies, [dialect("anthropic-messages").decode_request(body) for body in foreign], unusual)
