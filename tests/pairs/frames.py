"""The surroundings of the value of a row: a small request and a small answer in every dialect, written by hand.

Taken from the protocols' pages, never from our encoders.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from copy import deepcopy
from pathlib import Path
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

FRAMES = [
    json.loads(line) for line in Path(__file__).with_name("frames.jsonl").read_text(encoding="utf-8").splitlines()
]
"""What a request and an answer are in each dialect. Gemini and Bedrock have the model and the stream in the URL; an
answer is without an id and a model, which not every protocol has; clients of Responses demand the whole envelope."""
REQUESTS: dict[str, Wire] = {frame["dialect"]: frame["request"] for frame in FRAMES}
RESPONSES: dict[str, Wire] = {frame["dialect"]: frame["response"] for frame in FRAMES}
TOOLS: dict[str, Wire] = {frame["dialect"]: frame["tools"] for frame in FRAMES}
CONTENT: dict[str, tuple[str | int, ...]] = {frame["dialect"]: tuple(frame["content"]) for frame in FRAMES}
"""Where the blocks of an answer stand: the keys to the list, or to the object, that holds them."""

HISTORY = {"openai-responses": "input", "gemini": "contents"}  # elsewhere: messages

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
ADD = ToolDefinition("add", "Adds.", SCHEMA)
TOOL_LOSSES = {"openai-responses": {"tools/0/strict added"}}


def called(*ids: str) -> Message:
    """A turn that calls ``add`` once per id."""
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


def request_frame(dialect: str) -> Wire:
    return deepcopy(REQUESTS[dialect])


def response_frame(dialect: str) -> Wire:
    return deepcopy(RESPONSES[dialect])


def laid_over(frame: Wire, cell: Wire, without: Collection[str] = ()) -> Wire:
    """A cell merged into its frame, without the keys in ``without``: objects are merged, other values replaced."""
    if not isinstance(frame, dict) or not isinstance(cell, dict):
        return cell
    keys = [key for key in {**frame, **cell} if key not in without]
    return {key: laid_over(frame.get(key), cell[key]) if key in cell else frame[key] for key in keys}
