"""What the two protocols of Claude, Anthropic Messages and Bedrock Converse, have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from ..codec.schema.subsets import DATES, SHAPE, Subset, formats, is_primitive, words
from ..types.blocks import Block, RedactedThinkingBlock, ThinkingBlock
from ..types.capabilities import Target
from ..types.messages import Message

ELSEWHERE = {"anthropic-messages": "bedrock-converse", "bedrock-converse": "anthropic-messages"}
BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")

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
