"""Forced tool calls, made with a JSON Schema. llama.cpp promises a call only somewhere in the answer, and only for
models whose template has tools; a JSON Schema binds the answer from its beginning. So the model is asked for an object
with the tool's name and arguments instead, and the caller gets a tool call in its own protocol.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from ...codec.json import is_object
from ...codec.streams.fold import unfold
from ...dialects import Dialect, dialect
from ...types.base import Json
from ...types.blocks import Block, TextBlock, ToolUseBlock
from ...types.request import Request
from ...types.response import Response
from ...types.tools import ToolDefinition
from ...types.words import StopReason
from ..http import HttpRequest

__all__ = ["ForcedCall", "forced_call"]

PATHS = {"/chat/completions": "openai-chat", "/responses": "openai-responses", "/messages": "anthropic-messages"}
CHAT_PATH = "/chat/completions"
INSTRUCTION = "Answer with a call of one of these functions, as a JSON object with its name and its arguments:"


class ForcedCall:
    """A request that forces a call: what to send in its place (``http``), and how to convert the answer."""

    def __init__(self, http: HttpRequest, path: str, codec: Dialect, request: Request) -> None:
        self.codec, self.request = codec, request
        body = dialect("openai-chat", "local").encode_request(_as_schema_request(request)).body
        self.http = replace(http, url=http.url.replace(path, CHAT_PATH), body=msgspec.json.encode(body))

    def answer(self, data: bytes) -> list[bytes]:
        """The answer in the caller's protocol, whole or as a stream."""
        response = dialect("openai-chat", "local").decode_response(msgspec.json.decode(data))
        made = _as_call(response, len(self.request.messages))
        if not self.request.stream:
            return [msgspec.json.encode(self.codec.encode_response(made, self.request).body)]
        encoder = self.codec.stream_encoder(self.request)
        return [chunk for chunk in (*map(encoder.feed, unfold(made)), encoder.close()) if chunk]


def forced_call(http: HttpRequest) -> ForcedCall | None:
    """The replacement for a request that forces a call; None for any other request."""
    path = next((path for path in PATHS if http.url.endswith(path)), None)
    if path is None or b'"tool_choice"' not in http.body:
        return None
    codec = dialect(PATHS[path], "local")
    request = codec.decode_request(msgspec.json.decode(http.body))
    choice = request.tool_choice
    if choice is None or choice.mode not in ("any", "specific") or not _allowed(request):
        return None
    return ForcedCall(http, path, codec, request)


def _allowed(request: Request) -> list[ToolDefinition]:
    choice = request.tool_choice
    tools = [tool for tool in request.tools if isinstance(tool, ToolDefinition) and tool.kind == "json"]
    return [tool for tool in tools if choice is None or choice.allows(tool.name)]


def _as_schema_request(request: Request) -> Request:
    tools = _allowed(request)
    lines = [INSTRUCTION, *(msgspec.json.encode(_described(tool)).decode() for tool in tools)]
    schemas = [_schema(tool) for tool in tools]
    return replace(
        request,
        system=(*request.system, TextBlock("\n".join(lines))),
        tools=(),
        tool_choice=None,
        stream=False,
        output_schema=schemas[0] if len(schemas) == 1 else {"anyOf": schemas},
        extras={},
    )


def _described(tool: ToolDefinition) -> dict[str, Json]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}


def _schema(tool: ToolDefinition) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": tool.input_schema},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _as_call(response: Response, turn: int) -> Response:
    """The answer with its object as a tool call. A cut-off answer gets no call, since no unfinished call may be run."""
    made = _parsed(response.text)
    content: tuple[Block, ...] = ()
    if is_object(made) and isinstance(made.get("name"), str) and is_object(made.get("arguments")):
        arguments: dict[str, Any] = made["arguments"]
        content = (ToolUseBlock(f"call_{turn}", made["name"], input=arguments),)
    stop = StopReason.tool_use if content else response.stop_reason
    return Response(content, stop, id=response.id, model=response.model, usage=response.usage)


def _parsed(text: str) -> Json:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
