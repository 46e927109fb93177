"""Lists of a body that come again with every request of a conversation, as its tools do: parsed and read once.

Whoever keeps such a list (``gateway.peek``) promises that nobody changes it, nor anything in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..types.base import Json

__all__ = ["KnownList", "read_each"]


class KnownList(list[Json]):
    """A list that nobody changes. What was ``made`` of it is kept with it: whether it is right, and what it says."""

    __slots__ = ("made",)

    def __init__(self, items: list[Json]) -> None:
        super().__init__(items)
        self.made: dict[object, Any] = {}


def read_each(read: Callable[[Json], Any], wire: list[Json]) -> tuple[Any, ...]:
    """What each item is read as. A list that is known is read by each reader once."""
    if type(wire) is not KnownList:
        return tuple(map(read, wire))
    found: tuple[Any, ...] | None = wire.made.get(read)
    if found is None:
        found = wire.made[read] = tuple(map(read, wire))
    return found
