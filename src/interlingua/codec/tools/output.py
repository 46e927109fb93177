"""Structured output for a model that has none: a forced tool whose call is turned back into text.

It works on canonical values, so dialects need not know of it. A call of ``OUTPUT_TOOL`` is an answer if the request
wanted structured output and offered no tool of that name itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ...types.blocks import Block, TextBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.events import (
    BlockComplete,
    BlockStart,
    Event,
    MessageComplete,
    TextDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)
from ...types.loss import Encoded, LossWeight
from ...types.request import Request
from ...types.response import Response
from ...types.tools import ToolChoice, ToolDefinition
from ...types.words import StopReason
from ..base import StreamDecoder
from ..json import Wire
from ..ledger import Ledger
from ..streams.converted import ConvertedEvents
from .arguments import write_arguments

__all__ = [
    "OUTPUT_TOOL",
    "SCHEMA_NAME",
    "OutputAsText",
    "forced_output",
    "encode_with_output",
    "read_name",
    "write_schema_name",
    "output_decoder",
    "output_as_text",
    "wants_json",
    "answers_by_call",
]

OUTPUT_TOOL = "structured_output"
SCHEMA_NAME = "output"
"""What a schema without a name is called where the protocol requires one."""
_NAMES = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ABOUT = "Give the final answer by calling this tool with it."


def forced_output(request: Request, target: Target | None, ledger: Ledger) -> Request:
    """The request with its output schema as a forced tool; the request itself if the model has structured output."""
    has_output = target is None or target.capabilities is None or target.capabilities.structured_output
    if request.output_schema is None or has_output:
        return request
    ledger.lose("approximated", "the model has no structured output; sent as a forced tool", "output_schema")
    tool = ToolDefinition(OUTPUT_TOOL, _ABOUT, request.output_schema)
    choice = ToolChoice.any() if request.tools else ToolChoice.specific(OUTPUT_TOOL)
    if request.output_name is not None:
        ledger.lose_form("dropped", f"the schema is sent as the tool {OUTPUT_TOOL}", "output_name")
    forced = replace(request, output_schema=None, output_name=None, tools=(*request.tools, tool), tool_choice=choice)
    if request.output_description is None:
        return forced
    ledger.lose_form("moved", f"the schema is sent as the tool {OUTPUT_TOOL}, which has it", "output_description")
    tool = replace(tool, description=f"{_ABOUT}\n\n{request.output_description}")
    return replace(forced, output_description=None, tools=(*request.tools, tool))


def described_schema(request: Request, ledger: Ledger) -> Request:
    """The request for a protocol that takes a schema alone: its name and its description are moved into the schema."""
    schema = request.output_schema
    if schema is None or (request.output_name is None and request.output_description is None):
        return request
    for field, key, weight in _IN_SCHEMA:
        text = getattr(request, field)
        if text is None:
            continue
        if key not in schema:
            ledger.lose_form("moved", f"sent as the `{key}` of the schema", field)
            schema = {**schema, key: text}
        elif schema[key] == text:
            ledger.lose_form("dropped", f"the `{key}` of the schema says the same", field)
        else:
            ledger.lose("dropped", f"the schema has another `{key}` already", field, weight=weight)
    return replace(request, output_schema=schema, output_name=None, output_description=None)


_IN_SCHEMA: tuple[tuple[str, str, LossWeight], ...] = (
    ("output_name", "title", "form"),
    ("output_description", "description", "content"),
)


def wants_json(request: Request, ledger: Ledger) -> bool:
    """Whether to ask for JSON of any shape. A schema asks for JSON already, and False asks for nothing."""
    if request.json_output is None or (request.json_output and request.output_schema is None):
        return bool(request.json_output)
    why = "the schema asks for JSON already" if request.json_output else "false means the same as leaving it out"
    ledger.lose_form("dropped", why, "json_output")
    return False


def read_name(inner: Wire, fields: dict[str, Any]) -> None:
    """Pop the name and the description of the schema; a name that other protocols would not take stays residue."""
    if type(inner.get("description")) is str and inner["description"]:
        fields["output_description"] = inner.pop("description")
    name = inner.get("name")
    if type(name) is str and name != SCHEMA_NAME and _NAMES.fullmatch(name):
        fields["output_name"] = inner.pop("name")


def write_schema_name(request: Request, ledger: Ledger) -> Wire:
    """The keys for the schema's name, if it has one that can be sent, and for its description."""
    name, about, wire = request.output_name, request.output_description, Wire()
    if name is not None:
        if request.output_schema is not None and _NAMES.fullmatch(name):
            wire["name"] = name
        else:
            why = "a schema's name is up to 64 letters, digits, _ and -, and needs a schema"
            ledger.lose_form("dropped", why, "output_name")
    if about is not None:
        if request.output_schema is not None:
            wire["description"] = about
        else:
            ledger.lose("dropped", "there is no schema that it could describe", "output_description")
    return wire


def answers_by_call(request: Request | None) -> bool:
    """Whether a call of the output tool is an answer to this request."""
    if request is None or request.output_schema is None:
        return False
    return all(not isinstance(tool, ToolDefinition) or tool.name != OUTPUT_TOOL for tool in request.tools)


def output_as_text(response: Response, request: Request | None) -> Response:
    """The answer with calls of the output tool replaced by text blocks."""
    if not answers_by_call(request) or not any(map(_is_output, response.content)):
        return response
    content = tuple(_as_text(block) if isinstance(block, ToolUseBlock) and _is_output(block) else block
                    for block in response.content)  # fmt: skip
    calls = any(isinstance(block, ToolUseBlock) for block in content)
    ended = response.stop_reason is StopReason.tool_use and not calls
    return replace(response, content=content, stop_reason=StopReason.end_turn if ended else response.stop_reason)


def _is_output(block: Block) -> bool:
    return isinstance(block, ToolUseBlock) and block.name == OUTPUT_TOOL


def _as_text(block: ToolUseBlock) -> TextBlock:
    return TextBlock(write_arguments(block.input, block.input_text), incomplete=block.incomplete)


def encode_with_output(
    encode: Callable[[Request], Encoded], request: Request, target: Target | None, *, names_schemas: bool
) -> Encoded:
    """Encode a request with its output schema in a form that the target takes; the losses of that come first."""
    ledger = Ledger()
    changed = forced_output(request, target, ledger)
    if not names_schemas:
        changed = described_schema(changed, ledger)
    encoded = encode(changed)
    return encoded if changed is request else replace(encoded, losses=(*ledger.losses, *encoded.losses))


def output_decoder(decoder: StreamDecoder, request: Request | None) -> StreamDecoder:
    """The decoder; if the request wants structured output, calls of the output tool become text in it."""
    return OutputAsText(decoder, request) if answers_by_call(request) else decoder


class OutputAsText(ConvertedEvents):
    """A stream in which the events of a call of the output tool become those of a text block."""

    def __init__(self, decoder: StreamDecoder, request: Request | None) -> None:
        super().__init__(decoder)
        self.request = request
        self.texts: dict[int, list[str]] = {}

    def convert(self, event: Event) -> Event:
        match event:
            case ToolUseStart(index=index, name=name) if name == OUTPUT_TOOL:
                self.texts[index] = []
                return BlockStart(index, TextBlock(""))
            case ToolUseInputDelta(index=index, partial_json=text) if index in self.texts:
                self.texts[index].append(text)
                return TextDelta(index, text)
            case ToolUseEnd(index=index, block=block) if index in self.texts:
                return BlockComplete(index, TextBlock("".join(self.texts[index]), incomplete=block.incomplete))
            case MessageComplete():
                return self.complete(event)
            case _:
                return event

    def complete(self, event: MessageComplete) -> MessageComplete:
        """The last event, with exactly the texts that the deltas had."""
        texts = iter(["".join(parts) for parts in self.texts.values()])
        content = list(output_as_text(event.response, self.request).content)
        for place, block in enumerate(event.response.content):
            if _is_output(block):
                content[place] = TextBlock(next(texts, ""), incomplete=block.incomplete)
        whole = replace(output_as_text(event.response, self.request), content=tuple(content))
        return MessageComplete(whole, event.error)
