"""The events of a stream, named by their tags. Which sequences are legal is in ``interlingua.codec.streams.grammar``.

Positional and without form marks of their own, since thousands are made per answer. ``type`` is the tag, as a literal:
``if event.type == "text.delta":`` narrows the union for type checkers.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import Struct

from .base import Json
from .blocks import Block, Citation, ToolUseBlock
from .messages import Origin
from .response import Response
from .usage import TokenUsage

__all__ = [
    "BlockComplete",
    "BlockStart",
    "CitationDelta",
    "Event",
    "EventBase",
    "MessageComplete",
    "MessageStart",
    "TextDelta",
    "ThinkingDelta",
    "ToolUseEnd",
    "ToolUseInputDelta",
    "ToolUseStart",
    "Unknown",
    "UsageUpdate",
]


class EventBase(Struct, frozen=True, omit_defaults=True, repr_omit_defaults=True, gc=False, tag_field="type"):
    """The root of all events."""

    type: ClassVar[str]


class MessageStart(EventBase, frozen=True, tag="message.start"):
    """Always first."""

    type: ClassVar[Literal["message.start"]] = "message.start"
    message_id: str | None = None
    model: str | None = None
    origin: Origin | None = None
    extras: dict[str, Json] = {}


class BlockStart(EventBase, frozen=True, tag="block.start"):
    """Opens every block but a tool call: the empty block with all that is known at its start."""

    type: ClassVar[Literal["block.start"]] = "block.start"
    index: int
    block: Block
    extras: dict[str, Json] = {}


class TextDelta(EventBase, frozen=True, tag="text.delta"):
    """More text, of a text block or a refusal."""

    type: ClassVar[Literal["text.delta"]] = "text.delta"
    index: int
    text: str
    extras: dict[str, Json] = {}


class ThinkingDelta(EventBase, frozen=True, tag="thinking.delta"):
    """More reasoning."""

    type: ClassVar[Literal["thinking.delta"]] = "thinking.delta"
    index: int
    text: str
    extras: dict[str, Json] = {}


class CitationDelta(EventBase, frozen=True, tag="citation.delta"):
    """One more source of a text block."""

    type: ClassVar[Literal["citation.delta"]] = "citation.delta"
    index: int
    citation: Citation
    extras: dict[str, Json] = {}


class ToolUseStart(EventBase, frozen=True, tag="tool.use_start"):
    """Opens a tool call."""

    type: ClassVar[Literal["tool.use_start"]] = "tool.use_start"
    index: int
    id: str
    name: str
    block: ToolUseBlock
    extras: dict[str, Json] = {}


class ToolUseInputDelta(EventBase, frozen=True, tag="tool.use_input_delta"):
    """The literal fragment received; it parses only when the call has ended."""

    type: ClassVar[Literal["tool.use_input_delta"]] = "tool.use_input_delta"
    index: int
    partial_json: str
    extras: dict[str, Json] = {}
    id: str | None = None
    """The id of the call, in the events of a session. A provider's own stream names it at the start only."""


class ToolUseEnd(EventBase, frozen=True, tag="tool.use_end"):
    """Closes a tool call."""

    type: ClassVar[Literal["tool.use_end"]] = "tool.use_end"
    index: int
    final_input: dict[str, Json]
    block: ToolUseBlock
    extras: dict[str, Json] = {}


class BlockComplete(EventBase, frozen=True, tag="block.complete"):
    """Closes every block but a tool call: the finished block, signature and residue included."""

    type: ClassVar[Literal["block.complete"]] = "block.complete"
    index: int
    block: Block
    extras: dict[str, Json] = {}


class UsageUpdate(EventBase, frozen=True, tag="usage.update"):
    """Cumulative usage: it replaces what came before."""

    type: ClassVar[Literal["usage.update"]] = "usage.update"
    usage: TokenUsage
    extras: dict[str, Json] = {}


class Unknown(EventBase, frozen=True, tag="unknown"):
    """Something only ``dialect`` understands: progress, partial images, events newer than this library."""

    type: ClassVar[Literal["unknown"]] = "unknown"
    dialect: str
    raw: Json
    extras: dict[str, Json] = {}


class MessageComplete(EventBase, frozen=True, tag="message.complete"):
    """Always last. ``error`` is the ``AdapterError`` of a stream that failed; ``response`` is then partial."""

    type: ClassVar[Literal["message.complete"]] = "message.complete"
    response: Response
    error: Json = None
    extras: dict[str, Json] = {}


Event = (
    MessageStart
    | BlockStart
    | TextDelta
    | ThinkingDelta
    | CitationDelta
    | ToolUseStart
    | ToolUseInputDelta
    | ToolUseEnd
    | BlockComplete
    | UsageUpdate
    | Unknown
    | MessageComplete
)
"""What a stream is made of."""
