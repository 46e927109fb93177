"""Arguments that arrive piece by piece: ``partialArgs``, each with a path and a value; strings append."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from ...types.base import Json
from .spelling import Wire, is_array, is_object

# One step of a path: .name, ["name"], ['name'] or [3].
STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[\"((?:[^\"\\]|\\.)*)\"\]|\['((?:[^'\\]|\\.)*)'\]")
VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
LONGEST_LIST = 100_000


def steps_of(path: str) -> list[str | int] | None:
    """The steps of a JSON path; None where it is none that we know."""
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    place = 1
    while place < len(path):
        found = STEP.match(path, place)
        if found is None:
            return None
        name, index, double, single = found.groups()
        quoted = double if double is not None else single
        if quoted is not None:
            name = re.sub(r"\\(.)", r"\1", quoted)
        steps.append(name if index is None else int(index))
        place = found.end()
    return steps


def add_piece(args: Wire, piece: Wire) -> None:
    """Write one piece into the arguments so far. A piece that says nothing, or fits nowhere, is passed by."""
    steps = steps_of(str(piece.get("jsonPath", "")))
    key = next((key for key in VALUES if key in piece), None)
    if not steps or key is None:
        return
    home = _home(args, steps)
    if home is None:
        return
    value = None if key == "nullValue" else _number(piece[key]) if key == "numberValue" else piece[key]
    before = _at(home, steps[-1])
    home[steps[-1]] = before + value if isinstance(before, str) and isinstance(value, str) else value


def _number(value: Json) -> Json:
    """JSON has one kind of number, and this protocol sends all of them as doubles."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _home(args: Wire, steps: list[str | int]) -> Any:
    """The object or list that the last step of a path leads into; it is made where it is not there yet."""
    here: Any = args
    for step, following in pairwise(steps):
        if not _fits(here, step):
            return None
        if _at(here, step) is None:
            here[step] = [] if isinstance(following, int) else {}
        here = here[step]
    return here if _fits(here, steps[-1]) else None


def _fits(here: Any, step: str | int) -> bool:
    """Whether a step leads into this: a name into an object, a number into a list."""
    return is_object(here) if isinstance(step, str) else is_array(here) and step <= LONGEST_LIST


def _at(here: Any, step: str | int) -> Any:
    """What stands at a step; a list grows to it."""
    if isinstance(step, int):
        here.extend([None] * (step + 1 - len(here)))
        return here[step]
    return here.get(step)
