"""Arguments of a call that come in pieces, each with a JSON path and a value; strings append.

A path can name more than it brings: a list's millionth place, a thousand levels. What is built is bounded by what was
received. A piece that cannot be placed leaves the arguments ``broken``.
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
"""Up to here a double holds every whole number."""


def steps_of(path: str) -> list[str | int] | None:
    """The steps of a JSON path; None where it is none that we know, or too deep."""
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
    """The arguments of one call while pieces of them come."""

    __slots__ = ("args", "broken", "gaps", "left", "received", "texts")

    def __init__(self, args: Wire) -> None:
        self.args = args
        self.broken = False
        self.received = self.gaps = 0
        self.left = LONGEST
        self.texts: dict[tuple[int, str | int], tuple[Any, list[str]]] = {}  # strings, by their home and their key

    def add(self, piece: Json) -> None:
        """Place one piece. One without a value says nothing."""
        if not is_object(piece):
            self.broken = True
            return
        key = next((key for key in VALUES if key in piece), None)
        if key is not None and not self.place(piece.get("jsonPath"), key, piece[key]):
            self.broken = True

    def place(self, path: Json, kind: str, value: Json) -> bool:
        """Write a value at its path; says whether it could be."""
        self.received += 1
        steps = steps_of(path) if isinstance(path, str) else None
        home = self.home(steps) if steps else None
        if not steps or home is None:
            return False
        self.left -= len(value) if isinstance(value, str) else 1
        if self.left < 0 or not self.reach(home, steps[-1]):
            return False
        self.write(home, steps[-1], None if kind == "nullValue" else _number(value) if kind == "numberValue" else value)
        return True

    def write(self, home: Any, step: str | int, value: Json) -> None:
        known = self.texts.get((id(home), step))
        if isinstance(value, str) and known is not None:
            known[1].append(value)
        elif isinstance(value, str):
            self.texts[id(home), step] = home, [value]
            home[step] = value
        else:
            self.texts.pop((id(home), step), None)
            home[step] = value

    def home(self, steps: list[str | int]) -> Any:
        """The object or list that the last step of a path leads into; it is made where it is not there yet."""
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
        """Whether a step leads into this: a name into an object, a number into a list, which grows to it.

        A list may have gaps, as empty objects leave them, but no more than there were pieces.
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
        """Put the strings together."""
        for (_, step), (home, pieces) in self.texts.items():
            home[step] = "".join(pieces)
        self.texts.clear()


def _number(value: Json) -> Json:
    """JSON has one kind of number, and this protocol sends all of them as doubles."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < EXACT
    return int(value) if whole else value
