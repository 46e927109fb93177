"""The whole-path helpers: a few lines each over the dialects. No pair of dialects is known here or anywhere.

What was read in one dialect is stamped with it (``Origin.dialect``), so that the other end knows whose signatures
it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .arguments import parse_error
from .dialects import dialect as find
from .dialects._stream import dump
from .errors import ParseError
from .types.base import Json
from .types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from .types.capabilities import Target
from .types.events import Event, MessageComplete
from .types.loss import Encoded, Loss
from .types.messages import Message, Origin
from .types.request import Request
from .types.response import Response
from .types.tools import ToolOutput
from .types.words import Role, StopReason

__all__ = [
    "build_tool_results",
    "decode_stream",
    "detect_dialect",
    "parse_tool_calls",
    "translate_request",
    "translate_response",
    "translate_stream",
    "validate_tool_results",
]


def translate_request(
    body: Json,
    *,
    source: str,
    target: str,
    to: Target | None = None,
    model: str | None = None,
    stream: bool | None = None,
    headers: Mapping[str, str] | None = None,
) -> Encoded:
    """A request body of one dialect in another, with what was lost. ``model`` and ``stream``: where the URL has them."""
    request = find(source).decode_request(body, headers, model, stream)
    return find(target).encode_request(request, to)


def translate_response(
    body: Json,
    *,
    source: str,
    target: str,
    request: Request | None = None,
    headers: Mapping[str, str] | None = None,
) -> Encoded:
    """An answer of one dialect in another, with what was lost."""
    response = find(source).decode_response(body, headers, request)
    return find(target).encode_response(response, request)


def translate_stream(
    chunks: Iterable[bytes],
    *,
    source: str,
    target: str,
    request: Request | None = None,
    on_loss: Callable[[Loss], object] | None = None,
) -> Iterator[bytes]:
    """A stream of one dialect in another, as it comes. ``on_loss`` is called for each loss when it is known."""
    decoder, encoder = find(source).stream_decoder(request), find(target).stream_encoder(request)
    told = 0
    for events in _fed(decoder, chunks):
        said = b"".join(map(encoder.feed, events))
        if said:
            yield said
        for loss in encoder.losses[told:]:
            told += 1
            if on_loss is not None:
                on_loss(loss)
    last = encoder.close()
    if last:
        yield last


def _fed(decoder: Any, chunks: Iterable[bytes]) -> Iterator[list[Event]]:
    for chunk in chunks:
        yield decoder.feed(chunk)
    yield decoder.close()


def decode_stream(chunks: Iterable[bytes], *, dialect: str, request: Request | None = None) -> Iterator[Event]:
    """The events of a stream. One that failed raises its error after ``message.complete``; the error has the partial."""
    decoder = find(dialect).stream_decoder(request)
    for events in _fed(decoder, chunks):
        yield from events
    if decoder.error is not None:
        raise decoder.error


# What only one protocol says, at the top of a request, an answer or a stream event. Read from the top; first hit wins.
_TELLTALES: tuple[tuple[str, Callable[[Json], bool]], ...] = (
    ("gemini", lambda b: bool(b.keys() & {"contents", "candidates", "generationConfig", "promptFeedback"})),
    ("bedrock-converse", lambda b: bool(b.keys() & {"inferenceConfig", "toolConfig", "additionalModelRequestFields"})),
    ("bedrock-converse", lambda b: "output" in b and "stopReason" in b),
    ("bedrock-converse", lambda b: bool(b.keys() & {"contentBlockDelta", "messageStart", "contentBlockStop"})),
    ("openai-responses", lambda b: b.get("object") == "response" or str(b.get("type", "")).startswith("response.")),
    ("openai-responses", lambda b: "input" in b and "messages" not in b),
    ("openai-chat", lambda b: str(b.get("object", "")).startswith("chat.completion")),
    ("openai-chat", lambda b: "choices" in b),
    ("ollama", lambda b: "done" in b and ("message" in b or "response" in b)),
    ("ollama", lambda b: bool(b.keys() & {"options", "keep_alive", "think"}) and "messages" in b),
    ("anthropic-messages", lambda b: b.get("type") in _ANTHROPIC_EVENTS),
    ("anthropic-messages", lambda b: bool(b.keys() & {"system", "anthropic_version", "stop_sequences"})),
    ("openai-chat", lambda b: bool(b.keys() & _CHAT_ONLY)),
    ("anthropic-messages", lambda b: any(map(_anthropic_tool, _list(b, "tools")))),
    ("openai-chat", lambda b: any(isinstance(t, dict) and "function" in t for t in _list(b, "tools"))),
    ("bedrock-converse", lambda b: any(map(_keyed_part, _parts(b)))),
    ("openai-chat", lambda b: any(m.get("role") in ("tool", "developer") or "tool_calls" in m for m in _turns(b))),
    ("anthropic-messages", lambda b: any(p.get("type") in _ANTHROPIC_BLOCKS for p in _parts(b) if isinstance(p, dict))),
    ("openai-chat", lambda b: any(p.get("type") in _CHAT_PARTS for p in _parts(b) if isinstance(p, dict))),
    ("openai-chat", lambda b: any(m.get("role") == "system" for m in _turns(b))),
    ("anthropic-messages", lambda b: "messages" in b and str(b.get("model", "")).startswith("claude")),
    ("openai-chat", lambda b: "messages" in b and "model" in b),
)
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


def _list(body: Json, key: str) -> list[Any]:
    value = body.get(key)
    return value if isinstance(value, list) else []


def _turns(body: Json) -> list[Any]:
    return [turn for turn in _list(body, "messages") if isinstance(turn, dict)]


def _parts(body: Json) -> list[Any]:
    return [part for turn in _turns(body) for part in _list(turn, "content")]


def _anthropic_tool(tool: Json) -> bool:
    return isinstance(tool, dict) and ("input_schema" in tool or str(tool.get("type", ""))[-8:].isdigit())


def _keyed_part(part: Json) -> bool:
    return isinstance(part, dict) and "type" not in part and bool(part.keys() & {"text", "toolUse", "toolResult"})


def detect_dialect(body: Json) -> str:
    """The dialect of a request, an answer or a stream event, or a ParseError that says it cannot be told."""
    if isinstance(body, dict):
        for name, tells in _TELLTALES:
            if tells(body):
                return name
    raise ParseError("no dialect can be told from this body: name it yourself")


def parse_tool_calls(body: Json, *, dialect: str, strict: bool = False) -> list[ToolUseBlock]:
    """The calls in an answer. ``strict`` refuses malformed arguments and turns that did not end in their calls."""
    response = find(dialect).decode_response(body)
    calls = list(response.tool_uses)
    if strict:
        if calls and response.stop_reason is not StopReason.tool_use:
            raise ParseError(f"the answer holds calls but stopped for {response.stop_reason}: they may be cut short")
        for call in calls:
            _refuse_malformed(call)
    return calls


def _refuse_malformed(call: ToolUseBlock) -> None:
    if call.kind == "json" and call.input_text is not None:
        why = parse_error(call.input_text)
        if why is not None:
            raise ParseError(f"call {call.id} of {call.name} has malformed arguments: {why}")


def build_tool_results(body: Json, outputs: Sequence[ToolOutput], *, dialect: str) -> list[Json]:
    """What to append to the next request after the model's answer ``body``: the answer itself, then the results."""
    response = find(dialect).decode_response(body)
    known = {call.id: call.name for call in response.tool_uses}
    for output in outputs:
        if output.id not in known:
            raise ParseError(f"no call of the answer has the id {output.id}; it has {', '.join(known) or 'none'}")
    answer = Message(Role.assistant, response.content, origin=Origin(dialect=dialect), extras=_turn_extras(response))
    results = Message(Role.tool, tuple(_result(output) for output in outputs))
    said: list[Json] = find(dialect).encode_messages((answer, results)).body
    return said


def _turn_extras(response: Response) -> dict[str, Any]:
    """Residue that stood on the turn itself and goes back with it."""
    residue = response.extras.get("openai-chat", {})
    choices = residue.get("choices") if isinstance(residue, dict) else None
    message = choices[0].get("message") if choices else None
    return {"openai-chat": message} if message else {}


def _result(output: ToolOutput) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=output.id, content=as_blocks(output.content), is_error=output.is_error)


def as_blocks(content: Json) -> tuple[Block, ...]:
    """Text, blocks, or any JSON value as compact text."""
    if isinstance(content, str):
        return (TextBlock(content),)
    if isinstance(content, Block):
        return (content,)
    if isinstance(content, list | tuple) and content and all(isinstance(item, Block) for item in content):
        return tuple(content)
    return (TextBlock(dump(content).decode()),)


def validate_tool_results(messages: Sequence[Json] | Sequence[Message], *, dialect: str) -> list[str]:
    """The ids of calls that no result answers, in order. ``messages`` are the dialect's own, or canonical."""
    turns = messages if all(isinstance(m, Message) for m in messages) else _read_turns(messages, dialect)
    missing: dict[str, None] = {}
    for message in turns:
        assert isinstance(message, Message)
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                missing[block.id] = None
            elif isinstance(block, ToolResultBlock):
                missing.pop(block.tool_use_id, None)
    return list(missing)


_HISTORY_KEYS = {"gemini": "contents", "openai-responses": "input"}


def _read_turns(messages: Sequence[Any], dialect: str) -> Sequence[Message]:
    return find(dialect).decode_request({_HISTORY_KEYS.get(dialect, "messages"): list(messages)}).messages
