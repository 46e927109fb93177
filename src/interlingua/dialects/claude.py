"""What the two protocols of Claude, Anthropic Messages and Bedrock Converse, have in common."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace

from ..codec.json import Wire
from ..codec.ledger import Ledger
from ..codec.rows.table import Table
from ..codec.schema.subsets import DATES, SHAPE, Subset, formats, is_primitive, words
from ..codec.streams.serial import Delta, SerialEncoder
from ..codec.tools.arguments import parse_object
from ..types.blocks import Block, Citation, RedactedThinkingBlock, ThinkingBlock, ToolUseBlock
from ..types.capabilities import Target
from ..types.events import CitationDelta, TextDelta, ThinkingDelta, ToolUseInputDelta
from ..types.messages import Message
from ..types.words import StopReason

ELSEWHERE = {"anthropic-messages": "bedrock-converse", "bedrock-converse": "anthropic-messages"}
BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")

STOP = {
    "end_turn": StopReason.end_turn,
    "max_tokens": StopReason.max_tokens,
    "stop_sequence": StopReason.stop_sequence,
    "tool_use": StopReason.tool_use,
    "model_context_window_exceeded": StopReason.context_overflow,
}

# https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
# The vendor counts 24 and 16 over all strict schemas of a request; 16 unions in one schema were refused as too complex.
SCHEMA = Subset(
    keywords=SHAPE | words("$schema $ref $defs definitions const additionalProperties default format minItems"),
    accepts={
        "enum": is_primitive,
        "const": lambda value, node: not isinstance(value, dict | list),
        "format": formats({"string": DATES | {"uri"}}),
        "minItems": lambda value, node: value in (0, 1),
    },
    typed=True,
    strict=True,
    recursive=False,
    limits={"optional properties": 24, "properties with a union type": 15},
)


def kindred(
    messages: Sequence[Message], dialect: str, target: Target | None, model: str | None = None
) -> Sequence[Message]:
    """The history, Claude's signed turns of the other protocol as if they were written in this one.

    ``model`` is the request's: of turns that do not name theirs, and of a target that does not.
    """
    elsewhere = ELSEWHERE[dialect]
    if not [True for turn in messages if turn.origin is not None and turn.origin.dialect == elsewhere]:
        return messages
    reader = target.model if target is not None and target.model is not None else model
    if reader is None or not _is_claude(reader):
        return messages
    known = target is not None and target.provider is not None
    return [replace(turn, origin=None) if _is_kin(turn, elsewhere, model, known=known) else turn for turn in messages]


def _is_kin(turn: Message, elsewhere: str, model: str | None, *, known: bool) -> bool:
    """``known``: the target's provider is; where the turn's is too, ``same_issuer`` decides."""
    origin = turn.origin
    if origin is None or origin.dialect != elsewhere or (known and origin.provider is not None):
        return False
    return all(map(_is_proved, turn.content)) and _is_claude(origin.model or model or "")


def _is_proved(block: Block) -> bool:
    """Whether Claude would know its own reasoning again; what is hidden must be base64 in one of its protocols."""
    if type(block) is RedactedThinkingBlock:
        return len(block.data) % 4 == 0 and BASE64.fullmatch(block.data) is not None
    return type(block) is not ThinkingBlock or block.signature is not None


def _is_claude(model: str) -> bool:
    return "claude" in model.lower()


class BlockEncoder(SerialEncoder):
    """The blocks of a stream. ``spelled`` says how a delta is spelled; ``piece`` makes an event of it."""

    blocks: ClassVar[Table]
    citations: ClassVar[Table]
    spelled: ClassVar[Mapping[type[Delta], Callable[[str], Wire]]]

    def __init__(self) -> None:
        super().__init__()
        self.written: int = -1  # the index of the block being written, as the wire counts
        self.can_write = False
        self.silent = True  # nothing of the block was written
        self.cited = 0

    @abstractmethod
    def piece(self, delta: Wire) -> bytes:
        """More of the block being written."""

    def write_delta(self, event: Delta) -> bytes:
        match event:
            case TextDelta() | ThinkingDelta():
                return self.piece(self.spelled[type(event)](event.text))
            case ToolUseInputDelta() if isinstance(self.block, ToolUseBlock) and self.block.kind == "json":
                return self.piece(self.spelled[ToolUseInputDelta](event.partial_json))
            case CitationDelta():
                self.cited += 1
                return self.cite(event.citation)
            case _:
                return b""

    def cite(self, citation: Citation) -> bytes:
        wire = self.citations.write(citation, Ledger())  # what it cannot say is declared with its block
        return b"" if wire is None else self.piece(self.spelled_citation(wire))

    @abstractmethod
    def spelled_citation(self, wire: Wire) -> Wire:
        """A citation as a delta."""

    def write_whole(self, block: Block) -> tuple[Wire, str | None]:
        """The finished block as a whole answer has it, and the text of its arguments if that is malformed."""
        text = block.input_text if isinstance(block, ToolUseBlock) and block.kind == "json" else None
        malformed = text if text and parse_object(text) is None else None
        if malformed is not None:
            block = replace(block, input_text=None)  # deltas carry the text, malformed as it is
        return self.blocks.write(block, self.ledger) or {}, malformed
