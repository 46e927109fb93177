"""Arguments of a call that arrive in pieces, each with a JSON path and a value; strings are appended.

A short path can name a huge place: the millionth item of a list, a thousand levels. So the size of what is built is
limited by what was received. A piece that cannot be placed leaves the arguments ``broken``.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, cast

from ...types.base import Json
from ..json import Wire, is_array, is_object
from ..limits import Limits

__all__ = ["Pieces", "steps_of"]

# One step of a path: .name, ["name"], ['name'] or [3].
STEP = re.compile(r"\.([^.\[\]]+)|\[(\d{1,18})\]|\[\"((?:[^\"\\]|\\.)*)\"\]|\['((?:[^'\\]|\\.)*)'\]")
ESCAPED = re.compile(r"\\(.)")
VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
DEEPEST = Limits().depth or 128
LONGEST = Limits().arguments or 2**23
EXACT = 2**53
"""A double holds every whole number below this."""


def steps_of(path: str) -> list[str | int] | None:
    """The steps of a JSON path; None if its syntax is unknown or it is too deep."""
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    place = 1
    while place < len(path):
        found = STEP.match(path, place)
        if found is None or len(steps) == DEEPEST:
            return None
        name, index, double, single = found.groups()
        quoted = double if double is not None else single
        if quoted is not None:
            name = ESCAPED.sub(r"\1", quoted)
        steps.append(name if index is None else int(index))
        place = found.end()
    return steps


class Pieces:
    """The arguments of one call while their pieces arrive."""

    __slots__ = ("args", "broken", "gaps", "received", "remaining", "texts")

    def __init__(self, args: Wire) -> None:
        self.args = args
        self.broken = False
        self.received = self.gaps = 0
        self.remaining = LONGEST
        # the pieces of each string with the object or list that holds it, by the id of that and the key
        self.texts: dict[tuple[int, str | int], tuple[Any, list[str]]] = {}

    def add(self, piece: Json) -> None:
        """Place one piece. A piece without a value is ignored."""
        if not is_object(piece):
            self.broken = True
            return
        key = next((key for key in VALUES if key in piece), None)
        if key is not None and not self.place(piece.get("jsonPath"), key, piece[key]):
            self.broken = True

    def place(self, path: Json, kind: str, value: Json) -> bool:
        """Write a value at its path, and return whether that was possible."""
        self.received += 1
        steps = steps_of(path) if isinstance(path, str) else None
        parent = self.parent(steps) if steps else None
        if not steps or parent is None:
            return False
        self.remaining -= len(value) if isinstance(value, str) else 1
        if self.remaining < 0 or not self.reach(parent, steps[-1]):
            return False
        self.write(
            parent, steps[-1], None if kind == "nullValue" else _number(value) if kind == "numberValue" else value
        )
        return True

    def write(self, parent: Any, step: str | int, value: Json) -> None:
        known = self.texts.get((id(parent), step))
        if isinstance(value, str) and known is not None:
            known[1].append(value)
        elif isinstance(value, str):
            self.texts[id(parent), step] = parent, [value]
            parent[step] = value
        else:
            self.texts.pop((id(parent), step), None)
            parent[step] = value

    def parent(self, steps: list[str | int]) -> Any:
        """The object or list that the last step of a path leads into, created if it is missing."""
        here: Any = self.args
        for step, following in pairwise(steps):
            if not self.reach(here, step):
                return None
            inner: Any = here[step] if isinstance(step, int) else here.get(step)
            if inner is None:
                inner = here[step] = cast("Any", [] if isinstance(following, int) else {})
            here = inner
        return here

    def reach(self, here: Any, step: str | int) -> bool:
        """Whether a step leads into this: a name into an object, a number into a list, which is extended to it.

        A list may have gaps, because empty objects send no piece, but no more gaps than pieces received.
        """
        if isinstance(step, str):
            return is_object(here)
        if not is_array(here):
            return False
        missing = step + 1 - len(here)
        if missing > 0:
            self.gaps += missing - 1
            if self.gaps > self.received:
                return False
            here.extend([None] * missing)
        return True

    def finish(self) -> None:
        """Join the pieces of each string."""
        for (_, step), (parent, pieces) in self.texts.items():
            parent[step] = "".join(pieces)
        self.texts.clear()


def _number(value: Json) -> Json:
    """The number as an ``int`` where it is whole: this protocol sends every number as a double."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < EXACT
    return int(value) if whole else value
