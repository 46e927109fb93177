"""Arguments that arrive piece by piece: ``partialArgs``, each with a path and a value; strings append."""

from __future__ import annotations

import re
from typing import Any

from ...types.base import Json
from .spelling import Wire

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
        steps.append(int(index) if index is not None else re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else name)
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
    last = steps[-1]
    if isinstance(home, list):
        _fill(home, int(last))
        before = home[int(last)]
    else:
        before = home.get(last)
    home[last] = before + value if isinstance(before, str) and isinstance(value, str) else value


def _number(value: Json) -> Json:
    """JSON has one kind of number, and this protocol sends all of them as doubles."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _home(args: Wire, steps: list[str | int]) -> Any:
    """The object or list that the last step of a path leads into; it is made where it is not there yet."""
    here: Any = args
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(step, int) is not isinstance(here, list) or (isinstance(step, int) and step > LONGEST_LIST):
            return None
        if following is None:
            return here
        fresh: Any = [] if isinstance(following, int) else {}
        if isinstance(here, list):
            _fill(here, int(step))
            if here[int(step)] is None:
                here[int(step)] = fresh
            here = here[int(step)]
        else:
            here = here.setdefault(step, fresh)
        if not isinstance(here, dict | list):
            return None
    return here


def _fill(items: list[Json], index: int) -> None:
    items.extend([None] * (index + 1 - len(items)))
