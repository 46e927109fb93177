"""A session as it is stored. The format has a version; every release reads all older ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from ..errors import ParseError
from ..types.base import Json
from ..types.blocks import Block
from ..types.messages import Message

__all__ = ["FORMAT", "VERSION", "Head", "Saved", "read_head", "read_saved"]

T = TypeVar("T")
FORMAT = "interlingua.session"
VERSION = 1

# How a file of an older version becomes one of the next: version -> what to do with its JSON object.
UPGRADES: dict[int, Callable[[dict[str, Json]], dict[str, Json]]] = {}


class Head(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All of a session but its messages. ``omitted`` are ids of messages that are not sent any more."""

    format: str
    version: int
    id: str
    model: str | tuple[str, ...] | dict[str, float] | None = None
    system: tuple[Block, ...] = ()
    wishes: dict[str, Json] = {}
    omitted: tuple[str, ...] = ()
    metadata: dict[str, Json] = {}
    forked_from: str | None = None


class Saved(Struct, frozen=True):
    """A whole session."""

    head: Head
    messages: tuple[Message, ...] = ()


def read_saved(data: bytes | str, source: str) -> Saved:
    """A session from JSON, of this version or an older one."""
    told = _upgraded(data, source)
    messages = told.pop("messages", [])
    return _converted({"head": told, "messages": messages}, Saved, source)


def read_head(data: bytes | str, source: str) -> Head:
    """The head alone."""
    return _converted(_upgraded(data, source), Head, source)


def _upgraded(data: bytes | str, source: str) -> dict[str, Json]:
    try:
        told = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise ParseError(f"{source} is not JSON: {error}") from None
    if not isinstance(told, dict) or cast("dict[str, Any]", told).get("format") != FORMAT:
        raise ParseError(f"{source} is no saved session: it does not say {FORMAT!r}")
    found = cast("dict[str, Json]", told)
    while found.get("version") != VERSION:
        upgrade = UPGRADES.get(found.get("version", 0))
        if upgrade is None:
            raise ParseError(
                f"{source} is of version {found.get('version')!r}, and this release reads up to {VERSION};"
                " a newer release of interlingua wrote it"
            )
        found = upgrade(found)
    return found


def _converted(told: Any, kind: type[T], source: str) -> T:
    try:
        return msgspec.convert(told, kind)
    except msgspec.ValidationError as error:
        raise ParseError(f"{source} does not hold a session: {error}") from None
