"""What stands around the thing that a row is about: a small request and a small answer in every dialect, by hand.

Taken from the protocols' pages, never from our encoders.
"""

from __future__ import annotations

from collections.abc import Collection
from copy import deepcopy
from typing import Any

from interlingua import (
    Message,
    Request,
    Response,
    Role,
    TextBlock,
    TokenUsage,
    ToolDefinition,
    ToolUseBlock,
)

Wire = Any

HI = Message(Role.user, (TextBlock("hi"),))
ASKED = Request(model="m", max_output_tokens=64, stream=False, messages=(HI,))

REQUESTS: dict[str, Wire] = {
    "anthropic-messages": {
        "model": "m",
        "max_tokens": 64,
        "stream": False,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    },
    "openai-chat": {
        "model": "m",
        "max_completion_tokens": 64,
        "stream": False,
        "messages": [{"role": "user", "content": "hi"}],
    },
    "openai-responses": {
        "model": "m",
        "max_output_tokens": 64,
        "stream": False,
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
    },
    # The model and whether to stream are in the URL.
    "gemini": {"generationConfig": {"maxOutputTokens": 64}, "contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    "ollama": {
        "model": "m",
        "options": {"num_predict": 64},
        "stream": False,
        "messages": [{"role": "user", "content": "hi"}],
    },
    # The model and whether to stream are in the URL.
    "bedrock-converse": {
        "inferenceConfig": {"maxTokens": 64},
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
    },
}

HISTORY = {"openai-responses": "input", "gemini": "contents"}  # elsewhere: messages

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
ADD = ToolDefinition("add", "Adds.", SCHEMA)
TOOLS: dict[str, Wire] = {
    "anthropic-messages": {"tools": [{"name": "add", "description": "Adds.", "input_schema": SCHEMA}]},
    "openai-chat": {
        "tools": [{"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": SCHEMA}}]
    },
    # Left out, `strict` would be tried by the server; what was meant is not strict.
    "openai-responses": {
        "tools": [{"type": "function", "name": "add", "description": "Adds.", "parameters": SCHEMA, "strict": False}]
    },
    "gemini": {
        "tools": [{"functionDeclarations": [{"name": "add", "description": "Adds.", "parametersJsonSchema": SCHEMA}]}]
    },
    "ollama": {
        "tools": [{"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": SCHEMA}}]
    },
    "bedrock-converse": {
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "add", "description": "Adds.", "inputSchema": {"json": SCHEMA}}}]
        }
    },
}
TOOL_LOSSES = {"openai-responses": {"tools/0/strict added"}}


def called(*ids: str) -> Message:
    """A turn that calls ``add``, once for each id."""
    return Message(Role.assistant, tuple(ToolUseBlock(id, "add", input={"a": 1}) for id in ids))


def calls(dialect: str, ids: tuple[str, ...]) -> list[Wire]:
    """The same turn on the wire."""
    text = '{"a":1}'
    function = {"name": "add", "arguments": text}
    match dialect:
        case "anthropic-messages":
            blocks = [{"type": "tool_use", "id": id, "name": "add", "input": {"a": 1}} for id in ids]
            return [{"role": "assistant", "content": blocks}]
        case "openai-chat":
            entries = [{"id": id, "type": "function", "function": function} for id in ids]
            return [{"role": "assistant", "content": None, "tool_calls": entries}]
        case "openai-responses":
            return [{"type": "function_call", "call_id": id, "name": "add", "arguments": text} for id in ids]
        case "gemini":
            parts = [{"functionCall": {"id": id, "name": "add", "args": {"a": 1}}} for id in ids]
            return [{"role": "model", "parts": parts}]
        case "ollama":
            entries = [{"id": id, "function": {"name": "add", "arguments": {"a": 1}}} for id in ids]
            return [{"role": "assistant", "content": "", "tool_calls": entries}]
        case _:
            blocks = [{"toolUse": {"toolUseId": id, "name": "add", "input": {"a": 1}}} for id in ids]
            return [{"role": "assistant", "content": blocks}]


ANSWERED = Response(content=(TextBlock("hello"),), usage=TokenUsage(input_tokens=3, output_tokens=2))

# Without an id and a model, which not every protocol has in its answers.
RESPONSES: dict[str, Wire] = {
    "anthropic-messages": {
        "id": "",
        "type": "message",
        "role": "assistant",
        "model": "",
        "content": [{"type": "text", "text": "hello"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 3,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 2,
        },
    },
    "openai-chat": {
        "id": "",
        "object": "chat.completion",
        "created": 0,
        "model": "",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    },
    # A client's types demand the whole envelope, which echoes the request; items need an id of some kind.
    "openai-responses": {
        "id": "",
        "object": "response",
        "created_at": 0,
        "model": "",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "output": [
            {
                "type": "message",
                "id": "msg_0",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "hello", "annotations": [], "logprobs": []}],
            }
        ],
        "usage": {
            "input_tokens": 3,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 5,
        },
        "background": False,
        "instructions": None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "prompt_cache_key": None,
        "reasoning": {"effort": None, "summary": None},
        "safety_identifier": None,
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "user": None,
    },
    "gemini": {
        "candidates": [
            {"index": 0, "content": {"role": "model", "parts": [{"text": "hello"}]}, "finishReason": "STOP"},
        ],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5},
    },
    "ollama": {
        "model": "",
        "created_at": "1970-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": "hello"},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 3,
        "eval_count": 2,
    },
    "bedrock-converse": {
        "output": {"message": {"role": "assistant", "content": [{"text": "hello"}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5},
        "metrics": {"latencyMs": 0},
    },
}

# Where the blocks of an answer stand: the keys to the list, or to the object, that holds them.
CONTENT: dict[str, tuple[str | int, ...]] = {
    "anthropic-messages": ("content",),
    "openai-chat": ("choices", 0, "message"),
    "openai-responses": ("output",),
    "gemini": ("candidates", 0, "content", "parts"),
    "ollama": ("message",),
    "bedrock-converse": ("output", "message", "content"),
}


def request_frame(dialect: str) -> Wire:
    return deepcopy(REQUESTS[dialect])


def response_frame(dialect: str) -> Wire:
    return deepcopy(RESPONSES[dialect])


def laid_over(frame: Wire, cell: Wire, without: Collection[str] = ()) -> Wire:
    """A cell on its frame, and not the keys that it is without: objects are merged, anything else is replaced."""
    if not isinstance(frame, dict) or not isinstance(cell, dict):
        return cell
    keys = [key for key in {**frame, **cell} if key not in without]
    return {key: laid_over(frame.get(key), cell[key]) if key in cell else frame[key] for key in keys}
