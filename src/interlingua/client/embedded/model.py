"""The scripted model: a request in, a response or an error out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, cast, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...codec.json import is_list
from ...errors import AdapterError, ContextOverflowError, error_type
from ...types.base import Json
from ...types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ...types.messages import Message
from ...types.request import Request
from ...types.response import Response
from ...types.tools import ToolChoice, ToolDefinition
from ...types.usage import TokenUsage
from ...types.words import ErrorClass, Role, StopReason
from .tokens import rough_tokens

__all__ = ["Fault", "Line", "Script", "Step", "StoredFile", "call", "decide", "failure"]

Act = Literal["auto", "echo", "call", "think", "refuse", "overflow", "fail"]
Fault = Literal[
    "none",  # a good answer
    "no_answer",  # the connection is closed before the headers
    "reset_first",  # it is reset before the headers
    "garbage",  # the answer is not HTTP
    "stall_first",  # nothing comes, not even headers
    "stall",  # nothing comes after ``after`` chunks
    "cut",  # the connection is closed after ``after`` chunks
    "half",  # the same, in the middle of an event
    "reset",  # the connection is reset after ``after`` chunks
    "unended",  # the whole answer, then the connection is closed without the end of the body
    "malformed",  # a body that is not JSON
    "malformed_event",  # one event in the middle of a stream is not JSON
    "empty",  # a good status without a body
    "html",  # an HTML page, as of a proxy
    "error_in_200",  # the provider's error body under a good status
    "last_twice",  # the end marker comes twice
    "streamed",  # a stream, even if none was requested
    "whole",  # a whole answer, even if a stream was requested
]
"""How an answer goes wrong on the way; the comments in the source explain each word."""
KNOWN_ACTS, KNOWN_FAULTS = get_args(Act), get_args(Fault)


class Step(Struct, frozen=True, kw_only=True):
    """One answer. For tests of tool loops, ``call`` calls the offered tools with example arguments, and ``auto`` does
    so after a user message. Both happen only if a script says so."""

    act: Act = "echo"
    text: str | None = None
    """The text, instead of an echo."""
    content: tuple[Block, ...] | None = None
    """The content of the answer. Then ``act`` is used only if it is a failure."""
    stop: StopReason | None = None
    """The stop reason; None is the usual one for the content."""
    usage: TokenUsage | None = None
    calls: int | None = None
    """How many calls in one answer; None is one call of every offered tool."""
    error: ErrorClass | None = None
    """The kind of failure of ``fail`` and of ``error_in_200``; with neither this nor a status, ``server_error``."""
    status: int | None = None
    """The status of ``fail``. Without ``error``, the body is what the provider sends with that status."""
    message: str = "scripted failure"
    """The message of a failure."""
    retryable: bool | None = None
    retry_after: float | None = None
    """A hint, sent in the form of the dialect."""
    headers: dict[str, str] = {}
    """Replace headers of the answer: another content type, another hint."""
    fault: Fault = "none"
    after: int = 2
    delay: float = 0.0
    """Seconds before the first byte."""

    def __post_init__(self) -> None:
        for name, word, known in (("act", self.act, KNOWN_ACTS), ("fault", self.fault, KNOWN_FAULTS)):
            if word not in known:
                raise ValueError(f"Step.{name} {word!r} is unknown; known: {', '.join(known)}")


Answerable: TypeAlias = Step | AdapterError | str | Block | Sequence[str | Block]
Choice: TypeAlias = Step | Callable[[Request], Answerable]
Line: TypeAlias = Choice | Answerable
"""One line of a script: text, a call, or several blocks; an error; a step; or a function of the request that gives one
of these."""


def call(name: str, /, **arguments: Json) -> ToolUseBlock:
    """A call for a script: ``script=[call("weather", city="Oslo"), "It rains."]``."""
    return ToolUseBlock("", name, input=arguments)


def as_step(line: Line) -> Choice:
    """One line of a script as a step."""
    if isinstance(line, Step) or callable(line):
        return line
    if isinstance(line, AdapterError):
        hint = line.retry_after
        return Step(act="fail", error=line.error_class, message=line.message, retry_after=hint)
    return Step(content=Message(Role.assistant, line).content)


class StoredFile(Struct, frozen=True):
    """What was uploaded: its content, and the other fields of the form."""

    name: str
    media_type: str
    data: bytes
    fields: dict[str, str]


class Script:
    """What the model answers, one line per request; the last line is repeated.

    ``seen`` are the decoded requests: the last ``keep``, or all of them. ``files`` are what was uploaded, by id.
    """

    def __init__(self, *lines: Line, keep: int | None = None) -> None:
        self.steps: tuple[Choice, ...] = tuple(map(as_step, lines)) or (Step(),)
        self.seen: list[Request] = []
        self.files: dict[str, StoredFile] = {}
        self.asked = 0
        self._keep = keep

    def next(self, request: Request) -> Step:
        """The step for this request."""
        self.asked += 1
        self.seen.append(request)
        if self._keep is not None:
            del self.seen[: len(self.seen) - self._keep]
        choice = self.steps[min(self.asked, len(self.steps)) - 1]
        while not isinstance(choice, Step):
            choice = as_step(choice(request))
        return choice


def decide(step: Step, request: Request) -> Response | AdapterError:
    """The model's answer to a request."""
    if step.act == "fail":
        return failure(step)
    if step.act == "overflow":
        return ContextOverflowError("prompt is too long: it exceeds the context window of this model")
    content = _with_ids(step.content, request) if step.content is not None else ACTS[step.act](step, request)
    usage = step.usage or TokenUsage(input_tokens=10 + rough_tokens(last_text(request)), output_tokens=1 + len(content))
    stop = step.stop or stop_of(content)
    return Response(content, stop, id="msg_embedded", model=request.model or "scripted", usage=usage)


def _with_ids(content: tuple[Block, ...], request: Request) -> tuple[Block, ...]:
    """Give calls without an id one that no earlier answer of the conversation has."""
    turn = len(request.messages)
    return tuple(
        replace(block, id=f"call_{turn}_{place}") if isinstance(block, ToolUseBlock) and not block.id else block
        for place, block in enumerate(content)
    )


def stop_of(content: tuple[Block, ...]) -> StopReason:
    """The stop reason for this content."""
    if any(isinstance(block, ToolUseBlock) for block in content):
        return StopReason.tool_use
    return StopReason.refusal if any(isinstance(block, RefusalBlock) for block in content) else StopReason.end_turn


def failure(step: Step) -> AdapterError:
    """The error of a step."""
    error_class = step.error or ErrorClass.server_error
    return error_type(error_class)(
        step.message, error_class=error_class, retryable=step.retryable, retry_after=step.retry_after
    )


def last_text(request: Request) -> str:
    """The text of the last message, tool results included."""
    texts: list[str] = []
    for block in request.messages[-1].content if request.messages else ():
        inner = block.content if isinstance(block, ToolResultBlock) else (block,)
        texts += [part.text for part in inner if isinstance(part, TextBlock)]
    return " ".join(texts)


# ------------------------------------------------------------------------------------------------------------ the acts


def _echo(step: Step, request: Request) -> tuple[Block, ...]:
    if step.text is None and request.output_schema is not None:
        return (TextBlock(msgspec.json.encode(example(request.output_schema)).decode()),)
    return (TextBlock(step.text if step.text is not None else f"You said: {last_text(request)}"),)


def _call(step: Step, request: Request) -> tuple[Block, ...]:
    tools = offered(request)
    count = step.calls if step.calls is not None else 1 if _one_at_a_time(request) else len(tools)
    calls = tuple(_use(tools[index % len(tools)], index) for index in range(count if tools else 0))
    return calls or _echo(step, request)


def _use(tool: ToolDefinition, index: int) -> ToolUseBlock:
    id = f"call_{index}_embedded"
    if tool.kind == "text":
        return ToolUseBlock(id=id, name=tool.name, kind="text", input_text="example")
    return ToolUseBlock(id=id, name=tool.name, input=example(tool.input_schema) or {})


def offered(request: Request) -> list[ToolDefinition]:
    """The tools that the model may call by the request's tool choice."""
    tools = [tool for tool in request.tools if isinstance(tool, ToolDefinition)]
    choice = request.tool_choice or ToolChoice()
    return [tool for tool in tools if choice.allows(tool.name)]


def _one_at_a_time(request: Request) -> bool:
    return request.tool_choice is not None and request.tool_choice.parallel is False


def _think(step: Step, request: Request) -> tuple[Block, ...]:
    return (ThinkingBlock("Let me think.", signature="c2lnbmVk"), *_echo(step, request))


def _refuse(step: Step, request: Request) -> tuple[Block, ...]:
    return (RefusalBlock(step.text or "I would rather not."),)


def _auto(step: Step, request: Request) -> tuple[Block, ...]:
    last: Message | None = request.messages[-1] if request.messages else None
    is_user = last is not None and last.role == Role.user
    return _call(step, request) if is_user and request.tools else _echo(step, request)


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
    """A value that a simple JSON Schema accepts: its required properties, with a simple value of their type."""
    if not isinstance(schema, dict):
        return None
    fields = cast("dict[str, Json]", schema)
    given = fields["const"] if "const" in fields else next(iter(_items(fields.get("enum"))), None)
    either = _items(fields.get("anyOf")) or _items(fields.get("oneOf"))
    if given is not None or either:
        return given if given is not None else example(either[0])
    kind = fields.get("type")
    kind = str(_items(kind)[0] if _items(kind) else kind).lower()
    if kind == "object" or "properties" in fields:
        wanted, properties = _items(fields.get("required")), fields.get("properties")
        named = cast("dict[str, Json]", properties) if isinstance(properties, dict) else {}
        return {name: example(inner) for name, inner in named.items() if name in wanted}
    return EXAMPLES.get(kind, "example")


def _items(value: Json) -> list[Json]:
    """A list in a schema; an empty one if the value is something else."""
    return value if is_list(value) else []
