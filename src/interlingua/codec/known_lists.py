"""Lists that come again with every request of a conversation, such as its tools: they are parsed and read once.

The code that keeps such a list (``gateway.peek``) promises that nothing changes the list or its items.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..types.base import Json

__all__ = ["KnownList", "read_each"]


class KnownList(list[Json]):
    """A list that never changes. ``made`` keeps what was computed from it, by reader or validator."""

    __slots__ = ("made",)

    def __init__(self, items: list[Json]) -> None:
        super().__init__(items)
        self.made: dict[object, Any] = {}


def read_each(read: Callable[[Json], Any], wire: list[Json]) -> tuple[Any, ...]:
    """Read each item. Each reader reads a ``KnownList`` only once."""
    if type(wire) is not KnownList:
        return tuple(map(read, wire))
    found: tuple[Any, ...] | None = wire.made.get(read)
    if found is None:
        found = wire.made[read] = tuple(map(read, wire))
    return found
