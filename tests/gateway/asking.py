"""The same question in every dialect, and what the official SDKs make of the answer."""

from __future__ import annotations

from typing import Any

from interlingua import Message, Request, TextBlock, ToolDefinition, dialect
from interlingua.client.embedded import call
from oracles.clients import CLIENTS

CHAT, CLAUDE, RESPONSES, GEMINI = "openai-chat", "anthropic-messages", "openai-responses", "gemini"
OLLAMA, BEDROCK = "ollama", "bedrock-converse"

ADD = ToolDefinition(
    "add", "Adds two numbers.", {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
)
QUESTION = Request((Message("user", "What is 1 + 2?"),), tools=(ADD,), max_output_tokens=200, system="You are terse.")
TEXT = "Let me see."
CALLS = (TextBlock(TEXT), call("add", a=1, b=2))
"""A line of a script."""


def body_of(name: str, request: Request = QUESTION) -> Any:
    """The question as a client of this dialect sends it."""
    return dialect(name).encode_request(request).body


def judge(name: str, body: Any) -> tuple[str, Any]:
    """Read a whole answer with the vendor's own client and check its text and calls."""
    client = CLIENTS[name]
    view = client.view(client.reads(body))
    return view.text, [call[1:] for call in view.calls]
