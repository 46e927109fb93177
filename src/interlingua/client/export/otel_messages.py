"""What was said in a turn, as the conventions for generative AI write it, so that tracing pages show a conversation.

https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-input-messages.json, and gen-ai-output-messages.json
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["input_messages", "output_messages"]

Said = dict[str, Any]
"""A message or a block, as the bus tells it: our own JSON."""

FINISH_REASONS = {"done": "stop", "limit": "length", "handed_over": "tool_call"}
"""By the reason why a turn ended; any other is an error."""

SOURCES = {
    "base64": ("blob", "content", "data"),
    "url": ("uri", "uri", "url"),
    "file": ("file", "file_id", "file_id"),
}
"""The type of a part by where its bytes are, its word for them, and ours."""


def input_messages(message: Said) -> str:
    """What began a turn."""
    return json.dumps([{"role": message["role"], "parts": _parts(message.get("content", ()))}])


def output_messages(content: list[Said], stopped: str) -> str:
    """What a turn ended with."""
    reason = FINISH_REASONS.get(stopped, "error")
    return json.dumps([{"role": "assistant", "parts": _parts(content), "finish_reason": reason}])


def _parts(blocks: list[Said]) -> list[Said]:
    return [_part(block) for block in blocks]


def _part(block: Said) -> Said:
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


def _medium(modality: str, source: Said) -> Said:
    if source["type"] == "text":
        return {"type": "text", "content": source["text"]}
    kind, name, field = SOURCES[source["type"]]
    return {"type": kind, "modality": modality, "mime_type": source.get("media_type"), name: source[field]}
