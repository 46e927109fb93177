"""The events of a stream, named by their tags. Which sequences are legal is in ``interlingua.codec.grammar``.

Positional and without form marks of their own, since thousands are made per answer.
"""

from __future__ import annotations

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

    @property
    def type(self) -> str:
        """The event's tag, e.g. ``"text.delta"``."""
        return str(self.__struct_config__.tag)


class MessageStart(EventBase, frozen=True, tag="message.start"):
    """Always first."""

    message_id: str | None = None
    model: str | None = None
    origin: Origin | None = None
    extras: dict[str, Json] = {}


class BlockStart(EventBase, frozen=True, tag="block.start"):
    """Opens every block but a tool call: the empty block with all that is known at its start."""

    index: int
    block: Block
    extras: dict[str, Json] = {}


class TextDelta(EventBase, frozen=True, tag="text.delta"):
    """More text, of a text block or a refusal."""

    index: int
    text: str
    extras: dict[str, Json] = {}


class ThinkingDelta(EventBase, frozen=True, tag="thinking.delta"):
    """More reasoning."""

    index: int
    text: str
    extras: dict[str, Json] = {}


class CitationDelta(EventBase, frozen=True, tag="citation.delta"):
    """One more source of a text block."""

    index: int
    citation: Citation
    extras: dict[str, Json] = {}


class ToolUseStart(EventBase, frozen=True, tag="tool.use_start"):
    """Opens a tool call."""

    index: int
    id: str
    name: str
    block: ToolUseBlock
    extras: dict[str, Json] = {}


class ToolUseInputDelta(EventBase, frozen=True, tag="tool.use_input_delta"):
    """The literal fragment received; it parses only when the call has ended."""

    index: int
    partial_json: str
    extras: dict[str, Json] = {}


class ToolUseEnd(EventBase, frozen=True, tag="tool.use_end"):
    """Closes a tool call."""

    index: int
    final_input: dict[str, Json]
    block: ToolUseBlock
    extras: dict[str, Json] = {}


class BlockComplete(EventBase, frozen=True, tag="block.complete"):
    """Closes every block but a tool call: the finished block, signature and residue included."""

    index: int
    block: Block
    extras: dict[str, Json] = {}


class UsageUpdate(EventBase, frozen=True, tag="usage.update"):
    """Cumulative usage: it replaces what came before."""

    usage: TokenUsage
    extras: dict[str, Json] = {}


class Unknown(EventBase, frozen=True, tag="unknown"):
    """Something only ``dialect`` understands: progress, partial images, events newer than this library."""

    dialect: str
    raw: Json
    extras: dict[str, Json] = {}


class MessageComplete(EventBase, frozen=True, tag="message.complete"):
    """Always last. ``error`` is the ``AdapterError`` of a stream that failed; ``response`` is then partial."""

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
