"""What the scripted model decides: a request in, a response or an error out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

from msgspec import Struct

from ..errors import AdapterError, ContextOverflowError, error_type
from ..tokens import rough_tokens
from ..types.base import Json
from ..types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ..types.messages import Message
from ..types.request import Request
from ..types.response import Response
from ..types.tools import ToolDefinition
from ..types.usage import TokenUsage
from ..types.words import ErrorClass, Role, StopReason

__all__ = ["Fault", "Script", "Step", "decide"]

Act = Literal["auto", "echo", "call", "think", "refuse", "overflow", "fail"]
Fault = Literal[
    "none",  # all is well
    "no_answer",  # the connection is closed before the headers
    "stall_first",  # nothing comes, not even headers
    "stall",  # nothing comes after ``after`` chunks
    "cut",  # the connection is closed after ``after`` chunks
    "half",  # the same, in the middle of an event
    "malformed",  # a body that is not JSON
    "html",  # a proxy's own page
    "error_in_200",  # the provider's error body under a good status
    "last_twice",  # the end marker comes twice
]


class Step(Struct, frozen=True, kw_only=True):
    """One answer. ``auto`` calls the offered tools when a user speaks, and echoes otherwise."""

    act: Act = "auto"
    text: str | None = None
    """What to say instead of an echo."""
    error: ErrorClass = ErrorClass.server_error
    """The kind of failure of ``fail`` and of ``error_in_200``."""
    status: int | None = None
    """The status of ``fail``, where the dialect's own for this kind of failure is not wanted."""
    retryable: bool | None = None
    retry_after: float | None = None
    fault: Fault = "none"
    after: int = 2
    delay: float = 0.0
    """Seconds before the first byte; a loopback server's only."""


class Script:
    """Steps, one per request; the last one goes on for ever. ``seen`` are the requests, decoded."""

    def __init__(self, *steps: Step) -> None:
        self.steps = steps or (Step(),)
        self.seen: list[Request] = []

    def next(self, request: Request) -> Step:
        """The step for this request."""
        self.seen.append(request)
        return self.steps[min(len(self.seen), len(self.steps)) - 1]


def decide(step: Step, request: Request) -> Response | AdapterError:
    """What the model answers."""
    if step.act == "fail":
        return failure(step)
    if step.act == "overflow":
        return ContextOverflowError("prompt is too long: it exceeds the context window of this model")
    content = ACTS[step.act](step, request)
    stop = StopReason.refusal if step.act == "refuse" else StopReason.end_turn
    if any(isinstance(block, ToolUseBlock) for block in content):
        stop = StopReason.tool_use
    usage = TokenUsage(input_tokens=10 + rough_tokens(last_words(request)), output_tokens=1 + len(content))
    return Response(content, stop, id="msg_embedded", model=request.model or "scripted", usage=usage)


def failure(step: Step) -> AdapterError:
    """The error of a step."""
    kind = error_type(step.error)
    return kind("scripted failure", error_class=step.error, retryable=step.retryable, retry_after=step.retry_after)


def last_words(request: Request) -> str:
    """The text of the last turn, tool results included."""
    said: list[str] = []
    for block in request.messages[-1].content if request.messages else ():
        inner = block.content if isinstance(block, ToolResultBlock) else (block,)
        said += [part.text for part in inner if isinstance(part, TextBlock)]
    return " ".join(said)


def _echo(step: Step, request: Request) -> tuple[Block, ...]:
    return (TextBlock(step.text if step.text is not None else f"You said: {last_words(request)}"),)


def _call(step: Step, request: Request) -> tuple[Block, ...]:
    offered = [tool for tool in request.tools if isinstance(tool, ToolDefinition)]
    calls = tuple(
        ToolUseBlock(id=f"call_{index}_embedded", name=tool.name, input=example(tool.input_schema) or {})
        for index, tool in enumerate(offered)
    )
    return calls or _echo(step, request)


def _think(step: Step, request: Request) -> tuple[Block, ...]:
    return (ThinkingBlock("Let me think.", signature="c2lnbmVk"), *_echo(step, request))


def _refuse(step: Step, request: Request) -> tuple[Block, ...]:
    return (RefusalBlock(step.text or "I would rather not."),)


def _auto(step: Step, request: Request) -> tuple[Block, ...]:
    last: Message | None = request.messages[-1] if request.messages else None
    asked = last is not None and last.role == Role.user
    return _call(step, request) if asked and request.tools else _echo(step, request)


ACTS: dict[str, Callable[[Step, Request], tuple[Block, ...]]] = {
    "auto": _auto,
    "echo": _echo,
    "call": _call,
    "think": _think,
    "refuse": _refuse,
}

EXAMPLES: dict[str, Json] = {
    "string": "example",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "null": None,
}


def example(schema: Json) -> Json:
    """A value that a plain JSON Schema accepts: its required properties, each the simplest of its type."""
    if not isinstance(schema, dict):
        return None
    known = cast("dict[str, Json]", schema)
    if known.get("enum"):
        return known["enum"][0]
    kind = known.get("type")
    if kind == "object" or "properties" in known:
        wanted = known.get("required", ())
        return {name: example(inner) for name, inner in known.get("properties", {}).items() if name in wanted}
    return EXAMPLES.get(cast("list[str]", kind)[0] if isinstance(kind, list) else str(kind), "example")
