"""Messages of a turn in the form of the conventions for generative AI, so that tracing pages show a conversation.

https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-input-messages.json, and gen-ai-output-messages.json
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["input_messages", "output_messages"]

JsonObject = dict[str, Any]
"""A message or a block in our own JSON, as in the events of the bus."""

FINISH_REASONS = {"done": "stop", "limit": "length", "handed_over": "tool_call"}
"""By the reason why a turn ended; any other is an error."""

SOURCES = {
    "base64": ("blob", "content", "data"),
    "url": ("uri", "uri", "url"),
    "file": ("file", "file_id", "file_id"),
}
"""For each type of source: the type of the part, its key for the data, and our field."""


def input_messages(message: JsonObject) -> str:
    """The message that began a turn, as JSON text."""
    return json.dumps([{"role": message["role"], "parts": _parts(message.get("content", ()))}])


def output_messages(content: list[JsonObject], stopped: str) -> str:
    """The content that a turn ended with, as JSON text."""
    reason = FINISH_REASONS.get(stopped, "error")
    return json.dumps([{"role": "assistant", "parts": _parts(content), "finish_reason": reason}])


def _parts(blocks: list[JsonObject]) -> list[JsonObject]:
    return [_part(block) for block in blocks]


def _part(block: JsonObject) -> JsonObject:
    kind = block["type"]
    if kind in ("text", "refusal"):
        return {"type": "text", "content": block["text"]}
    if kind == "thinking":
        return {"type": "reasoning", "content": block.get("text", "")}
    if kind == "tool_use":
        arguments = block.get("input_text") if block.get("kind") == "text" else block.get("input", {})
        return {"type": "tool_call", "id": block["id"], "name": block["name"], "arguments": arguments}
    if kind == "tool_result":
        return {"type": "tool_call_response", "id": block["tool_use_id"], "response": _parts(block.get("content", []))}
    return _medium(kind, block["source"]) if "source" in block else block


def _medium(modality: str, source: JsonObject) -> JsonObject:
    if source["type"] == "text":
        return {"type": "text", "content": source["text"]}
    kind, name, field = SOURCES[source["type"]]
    return {"type": kind, "modality": modality, "mime_type": source.get("media_type"), name: source[field]}
