"""Which opaque state may be sent to whom: only its issuer accepts a signature or encrypted reasoning.

It is sent to the same issuer, and between providers known to share state, such as one vendor's models on two clouds,
for the same model. If the issuer is not known, it is sent within one dialect, or between the two protocols of one
family of models (``dialects/claude.py``). Otherwise it is not sent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from ...types.capabilities import Target
from ...types.messages import Message, Origin

__all__ = ["issued_by", "issuer_name", "same_issuer"]

_CLOUD = re.compile(r"^(?:[a-z]+\.)*anthropic\.|^.*/")
_RELEASE = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest|\d{3}|v\d+(?::\d+)?)$")


def same_issuer(origin: Origin | None, dialect: str, target: Target | None) -> bool:
    """Whether state that this origin signed may be sent in ``dialect`` to ``target``."""
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


def issuer_name(origin: Origin | None) -> str:
    """The name of an origin in messages: ``anthropic:claude-sonnet-5``."""
    if origin is None:
        return "somebody else"
    parts = [part for part in (origin.provider or origin.dialect, origin.model) if part]
    return ":".join(parts) or "somebody else"


def _same_model(origin: Origin, target: Target | None) -> bool:
    """Whether both name one model: its alias, its dated name and a cloud's name are equal. Unknown names pass."""
    if origin.model is None or target is None or target.model is None:
        return True
    return _family(origin.model) == _family(target.model)


def _family(model: str) -> str:
    name = _CLOUD.sub("", model)
    while (shorter := _RELEASE.sub("", name)) != name:
        name = shorter
    return name
