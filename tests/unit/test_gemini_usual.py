"""The usual path of Gemini has no opinion of its own: switched off, everything recorded reads and writes the same."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua import dialect
from interlingua.codec.schema import project_schema, to_gemini_schema
from interlingua.dialects.gemini import contents, parts, schemas, tools, turns
from shared_data import corpus, needs_shared

GEMINI = dialect("gemini")


def bodies(name: str) -> list[Any]:
    return [record["request"] for record in corpus(name) if isinstance(record.get("request"), dict)]


@needs_shared
def test_the_tables_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    own, foreign = bodies("gemini"), bodies("anthropic-messages")[::4]
    requests = [dialect("anthropic-messages").decode_request(body) for body in foreign]
    fast = [GEMINI.decode_request(body) for body in own]
    said = [GEMINI.encode_request(request) for request in [*fast, *requests] if answerable(request)]
    for module in (contents, parts, tools):
        monkeypatch.setattr(module, "read_usual", lambda *_: None)
    for module in (turns, tools):
        monkeypatch.setattr(module, "say_usual", lambda *_: None)
    assert [GEMINI.decode_request(body) for body in own] == fast
    assert [GEMINI.encode_request(request) for request in [*fast, *requests] if answerable(request)] == said


def answerable(request: Any) -> bool:
    """Whether every result names its call, or a call in the history has its id."""
    ids = {block.id for message in request.messages for block in message.content if block.type == "tool_use"}
    results = [block for message in request.messages for block in message.content if block.type == "tool_result"]
    return all(block.name is not None or block.tool_use_id in ids or block.forms for block in results)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "y"]}}},
        {"type": "object", "properties": {"a": {"const": 1}}},
        {"type": ["object", "null"], "additionalProperties": False},
    ],
)
def test_a_remembered_projection_is_the_projection(schema: dict[str, Any]) -> None:
    for older, expected in ((False, project_schema(schema, "gemini")), (True, to_gemini_schema(schema))):
        assert schemas.project(schema, older=older) == schemas.project(schema, older=older) == expected
