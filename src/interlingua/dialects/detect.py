"""Finds the dialect of a body by the keys and values that only one protocol has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..codec.json import is_dict, is_list
from ..errors import ParseError
from ..types.base import Json

__all__ = ["detect_dialect"]

_ANTHROPIC_EVENTS = (
    "message", "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop", "ping",
)  # fmt: skip
_ANTHROPIC_BLOCKS = ("tool_use", "tool_result", "image", "document", "thinking", "redacted_thinking")
_CHAT_ONLY = {
    "max_completion_tokens", "response_format", "stream_options", "n", "logprobs", "frequency_penalty", "functions",
    "presence_penalty", "parallel_tool_calls", "stop", "seed", "reasoning_effort", "logit_bias",
}  # fmt: skip
_CHAT_PARTS = ("image_url", "input_audio", "file")

# What only one protocol has in a request, an answer or a stream event. Tested in this order: the first match decides.
_TELLTALES: tuple[tuple[str, Callable[[Json], bool]], ...] = (
    ("gemini", lambda b: bool(b.keys() & {"contents", "candidates", "generationConfig", "promptFeedback"})),
    ("bedrock-converse", lambda b: bool(b.keys() & {"inferenceConfig", "toolConfig", "additionalModelRequestFields"})),
    ("bedrock-converse", lambda b: "output" in b and "stopReason" in b),
    ("bedrock-converse", lambda b: bool(b.keys() & {"contentBlockDelta", "messageStart", "contentBlockStop"})),
    ("openai-responses", lambda b: b.get("object") == "response" or str(b.get("type", "")).startswith("response.")),
    ("openai-responses", lambda b: "input" in b and "messages" not in b),
    ("openai-responses", lambda b: is_dict(b.get("prompt")) and "messages" not in b),
    ("openai-chat", lambda b: str(b.get("object", "")).startswith("chat.completion")),
    ("openai-chat", lambda b: "choices" in b),
    ("ollama", lambda b: "done" in b and ("message" in b or "response" in b)),
    ("ollama", lambda b: bool(b.keys() & {"options", "keep_alive", "think"}) and ("messages" in b or "prompt" in b)),
    ("anthropic-messages", lambda b: b.get("type") in _ANTHROPIC_EVENTS),
    ("anthropic-messages", lambda b: b.get("type") == "error" and isinstance(b.get("error"), dict)),
    ("bedrock-converse", lambda b: any(map(_is_keyed_part, _parts(b)))),
    ("anthropic-messages", lambda b: bool(b.keys() & {"system", "anthropic_version", "stop_sequences"})),
    ("openai-chat", lambda b: bool(b.keys() & _CHAT_ONLY)),
    ("anthropic-messages", lambda b: any(map(_is_anthropic_tool, _list(b, "tools")))),
    ("openai-chat", lambda b: any(is_dict(t) and "function" in t for t in _list(b, "tools"))),
    ("openai-chat", lambda b: any(m.get("role") in ("tool", "developer") or "tool_calls" in m for m in _turns(b))),
    ("anthropic-messages", lambda b: any(p.get("type") in _ANTHROPIC_BLOCKS for p in _parts(b) if is_dict(p))),
    ("openai-chat", lambda b: any(p.get("type") in _CHAT_PARTS for p in _parts(b) if is_dict(p))),
    ("openai-chat", lambda b: any(m.get("role") == "system" for m in _turns(b))),
    ("anthropic-messages", lambda b: "messages" in b and str(b.get("model", "")).startswith("claude")),
    ("openai-chat", lambda b: "messages" in b and ("model" in b or is_list(b.get("models")))),
)


def _list(body: Json, key: str) -> list[Any]:
    value = body.get(key)
    return value if is_list(value) else []


def _turns(body: Json) -> list[Any]:
    return [turn for turn in _list(body, "messages") if is_dict(turn)]


def _parts(body: Json) -> list[Any]:
    return [part for turn in _turns(body) for part in _list(turn, "content")]


def _is_anthropic_tool(tool: Json) -> bool:
    return is_dict(tool) and ("input_schema" in tool or str(tool.get("type", ""))[-8:].isdigit())


def _is_keyed_part(part: Json) -> bool:
    return is_dict(part) and "type" not in part and bool(part.keys() & {"text", "toolUse", "toolResult"})


def detect_dialect(body: Json) -> str:
    """The dialect of a request, an answer or a stream event. Raises ``ParseError`` if the body does not show it."""
    if is_dict(body):
        for name, tells in _TELLTALES:
            if tells(body):
                return name
    raise ParseError("no dialect can be told from this body: name it yourself")
