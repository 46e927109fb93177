"""The usual path has no opinion of its own: switched off, everything recorded reads and writes the same."""

from __future__ import annotations

from importlib import import_module

import pytest

from interlingua import DIALECTS, dialect
from shared_data import corpus, needs_shared

# dialect, its corpus files, the functions of its usual path where they are looked up
USUAL = [
    ("anthropic-messages", ["anthropic-messages"], {"messages": ("read_usual", "say_usual")}),
    (
        "openai-chat",
        ["openai-chat", "mistral"],
        {"usual": ("read_message", "read_result", "say_message", "say_results", "say_history")},
    ),
    (
        "ollama",
        ["ollama"],
        {"usual": ("read_turn", "read_result", "read_tool", "say_history", "say_message", "say_tools")},
    ),
    (
        "bedrock-converse",
        ["bedrock-converse", "bedrock-converse-stream"],
        {"messages": ("read_usual", "say_usual", "say_history"), "tools": ("say_usual",)},
    ),
    (
        "openai-responses",
        ["openai-responses"],
        {"history": ("USUAL",), "writer": ("USUAL",), "tools": ("usual_tool", "say_usual")},
    ),
]


def bodies(name):
    files = next(files for known, files, _ in USUAL if known == name)
    return [r["request"] for file in files for r in corpus(file) if isinstance(r.get("request"), dict)]


def off(usual):
    """A function that says that nothing is its own, or a table of such."""
    return dict.fromkeys(usual, off(None)) if isinstance(usual, dict) else lambda *_: None


@needs_shared
@pytest.mark.parametrize(("name", "places"), [(row[0], row[2]) for row in USUAL], ids=[row[0] for row in USUAL])
def test_the_tables_say_the_same(name, places, monkeypatch):
    speaker = dialect(name)
    requests = [dialect(row[0]).decode_request(body) for row in USUAL for body in bodies(row[0])]
    fast = [speaker.decode_request(body) for body in bodies(name)]
    said = [speaker.encode_request(request) for request in requests]
    package = DIALECTS[name].partition(":")[0]
    for module, functions in places.items():
        for function in functions:
            target = import_module(f"interlingua.dialects.{package}.{module}")
            monkeypatch.setattr(target, function, off(getattr(target, function)))
    assert [speaker.decode_request(body) for body in bodies(name)] == fast
    assert [speaker.encode_request(request) for request in requests] == said
