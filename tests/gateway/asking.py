"""The same question in every dialect, and what the official SDKs make of the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interlingua import Message, Request, TextBlock, ToolDefinition, dialect
from interlingua.client.embedded import call

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


def _chat(body: Any) -> tuple[str, Any]:
    types = pytest.importorskip("openai.types.chat")
    message = types.ChatCompletion.model_validate(body).choices[0].message
    return message.content or "", [(each.function.name, each.function.arguments) for each in message.tool_calls or ()]


def _responses(body: Any) -> tuple[str, Any]:
    types = pytest.importorskip("openai.types.responses")
    read = types.Response.model_validate(body)
    return read.output_text, [(item.name, item.arguments) for item in read.output if item.type == "function_call"]


def _claude(body: Any) -> tuple[str, Any]:
    types = pytest.importorskip("anthropic.types")
    blocks = types.Message.model_validate(body).content
    text = "".join(block.text for block in blocks if block.type == "text")
    return text, [(block.name, block.input) for block in blocks if block.type == "tool_use"]


def _gemini(body: Any) -> tuple[str, Any]:
    types = pytest.importorskip("google.genai.types")
    read = types.GenerateContentResponse.model_validate(body)
    parts = read.candidates[0].content.parts
    text = "".join(part.text for part in parts if part.text and not part.thought)
    return text, [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]


def _ollama(body: Any) -> tuple[str, Any]:
    message = pytest.importorskip("ollama").ChatResponse.model_validate(body).message
    return message.content or "", [(c.function.name, dict(c.function.arguments)) for c in message.tool_calls or ()]


def _bedrock(body: Any) -> tuple[str, Any]:
    blocks = body["output"]["message"]["content"]
    text = "".join(block["text"] for block in blocks if "text" in block)
    return text, [(block["toolUse"]["name"], block["toolUse"]["input"]) for block in blocks if "toolUse" in block]


JUDGES: dict[str, Callable[[Any], tuple[str, Any]]] = {
    CHAT: _chat,
    RESPONSES: _responses,
    CLAUDE: _claude,
    GEMINI: _gemini,
    OLLAMA: _ollama,
    BEDROCK: _bedrock,
}
"""Text and calls of a whole answer, as the vendor's own types read it."""
