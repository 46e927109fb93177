"""Whose opaque state may be said to whom: signatures and encrypted reasoning mean something to their issuer only.

Same issuer: yes. Providers known to share state, such as one vendor's models on two clouds: yes, for the same model.
Issuer not told: within one dialect, or between the two protocols that Claude speaks if both models are Claude.
Otherwise no.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from ..types.blocks import Block, RedactedThinkingBlock, ThinkingBlock
from ..types.capabilities import Target
from ..types.messages import Message, Origin

__all__ = ["issued_by", "issuer_name", "kindred", "same_issuer"]

_CLAUDE_ELSEWHERE = {"anthropic-messages": "bedrock-converse", "bedrock-converse": "anthropic-messages"}
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_CLOUD = re.compile(r"^(?:[a-z]+\.)*anthropic\.|^.*/")
_RELEASE = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest|\d{3}|v\d+(?::\d+)?)$")


def same_issuer(origin: Origin | None, dialect: str, target: Target | None) -> bool:
    """Whether what this origin signed may be said in ``dialect`` to ``target``."""
    if origin is None:
        return True
    if target is None or target.provider is None or origin.provider is None:
        return origin.dialect in (None, dialect) and _same_model(origin, target)
    if origin.provider == target.provider:
        return origin.dialect in (None, dialect) and _same_model(origin, target)
    return origin.provider in target.shares and _same_model(origin, target)


def issued_by(messages: Sequence[Message], issuer: Origin) -> tuple[Message, ...]:
    """The history, with ``issuer`` as the origin of every turn that a model wrote."""
    return tuple(replace(turn, origin=issuer) if turn.origin is not None else turn for turn in messages)


def kindred(
    messages: Sequence[Message], dialect: str, target: Target | None, model: str | None = None
) -> Sequence[Message]:
    """The history, Claude's signed turns of the other protocol as if they were written in this one.

    ``model`` is the request's: of turns that do not name theirs, and of a target that does not.
    """
    elsewhere = _CLAUDE_ELSEWHERE[dialect]
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
        return len(block.data) % 4 == 0 and _BASE64.fullmatch(block.data) is not None
    return type(block) is not ThinkingBlock or block.signature is not None


def _is_claude(model: str) -> bool:
    return "claude" in model.lower()


def issuer_name(origin: Origin | None) -> str:
    """Who wrote something, as a sentence names them: ``anthropic:claude-sonnet-5``."""
    if origin is None:
        return "somebody else"
    said = [part for part in (origin.provider or origin.dialect, origin.model) if part]
    return ":".join(said) or "somebody else"


def _same_model(origin: Origin, target: Target | None) -> bool:
    """A model under its alias, its dated name and a cloud's name is one model; not told is trusted."""
    if origin.model is None or target is None or target.model is None:
        return True
    return _family(origin.model) == _family(target.model)


def _family(model: str) -> str:
    name = _CLOUD.sub("", model)
    while (shorter := _RELEASE.sub("", name)) != name:
        name = shorter
    return name
