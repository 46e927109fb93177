"""Whether nothing is wrong with a body, in one pass over it.

The rows of ``validate`` are put together to a tree of functions, each of which looks at a value and what is in it once.
They only say yes or no: where the answer is no, ``validate`` looks again, row by row, and finds what to complain of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...types.base import Json
from ..json import is_dict, is_list

__all__ = ["MISSING", "Fits", "found_in", "fits_all", "is_paired"]

MISSING = object()
NOTHING = type(None)
TYPES: Mapping[str, tuple[type, ...]] = {
    "a string": (str,),
    "an integer": (int,),
    "a number": (int, float),
    "a boolean": (bool,),
    "an object": (dict,),
    "an array": (list,),
    "an array of objects": (list,),
    "null": (NOTHING,),
}
"""What surely is of a kind. What is too in rare cases (a number without fraction) is looked at row by row."""

_type: Callable[[Any], object] = type
Fits = Callable[[Any], bool]
Find = Callable[[Json], Iterable[Json]]


class Place:
    """What the rows say of one place: of the value itself, of its fields, and of its items."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.fields: dict[str, Place] = {}
        self.items: dict[str, Place] = {}

    def below(self, step: str) -> Place:
        """The place one step further."""
        below = self.items if step.startswith("*") else self.fields
        return below.setdefault(step, Place())

    def fits(self) -> Fits:
        """The function that looks at a value here."""
        own = [_row_fits(row) for row in self.rows]
        fields = [(name, place.fits()) for name, place in self.fields.items()]
        items_fit = self._items()

        def fits(value: Any) -> bool:
            for row_fits in own:
                if not row_fits(value):
                    return False
            kind = _type(value)
            if kind is dict and fields:
                get = value.get
                for name, field_fits in fields:
                    if not field_fits(get(name, MISSING)):
                        return False
            elif kind is list and items_fit is not None:
                return all(map(items_fit, value))
            return True

        return own[0] if len(own) == 1 and not (fields or items_fit) else fits

    def _items(self) -> Fits | None:
        """The function that looks at an item: as at all, and as at those that have a certain word in a field."""
        every: Fits | None = None
        some: dict[str, dict[str, Fits]] = {}
        for step, place in self.items.items():
            key, word = _condition(step)
            if key:
                some.setdefault(key, {})[word] = place.fits()
            else:
                every = place.fits()
        if not some:
            return every
        by_word = list(some.items())

        def fits(item: Any) -> bool:
            if every is not None and not every(item):
                return False
            kind = _type(item)
            if kind is dict:
                for key, of_word in by_word:
                    word: Any = item.get(key)
                    kind = _type(word)
                    if kind is str and word in of_word and not of_word[word](item):
                        return False
            return True

        return fits


def fits_all(checks: Iterable[tuple[Any, list[str]]]) -> Fits:
    """The function that looks at a whole body: rows, each with the steps of its path."""
    root = Place()
    for check, steps in checks:
        place = root
        for step in steps:
            place = place.below(step)
        place.rows.append(check)
    return root.fits()


def _row_fits(check: Any) -> Fits:
    allowed = frozenset(kind for name in check.kinds for kind in TYPES[name])
    words, needed, filled = frozenset(check.words), check.needed, check.filled

    def fits(value: Any) -> bool:
        if type(value) not in allowed:
            return not needed and (value is MISSING or value is None)
        return True

    def fits_closely(value: Any) -> bool:
        if type(value) not in allowed:
            return not needed and (value is MISSING or value is None)
        if words and type(value) is str and value not in words:
            return False
        return not filled or value != []

    return fits_closely if words or filled else fits


def _condition(step: str) -> tuple[str, str]:
    """Of which items a step speaks: those whose field is this word; of all, if there is no field."""
    key, _, word = step[1:].partition("=")
    return key, word


# -------------------------------------------------------------------------------------------------- calls and results


def found_in(steps: list[str]) -> Find:
    """The function that finds what stands at a path."""
    if not steps:
        return lambda value: (value,)
    step, rest = steps[0], found_in(steps[1:])
    if not step.startswith("*"):
        return lambda value: rest(value[step]) if is_dict(value) and step in value else ()
    key, word = _condition(step)

    def found(value: Json) -> Iterator[Json]:
        if not is_list(value):
            return
        for item in value:
            if not key or (is_dict(item) and item.get(key) == word):
                yield from rest(item)

    return found


def ids_in(paths: Iterable[str], hosted: str) -> Callable[[Json], list[str]]:
    """The function that finds the ids of one turn, at paths that begin with the turn. A call with the key ``hosted`` is
    the server's own."""
    finders: list[tuple[Find, str]] = []
    for path in paths:
        *steps, key = path.split(".")
        finders.append((found_in(steps), key))

    def ids(turn: Json) -> list[str]:
        alone = [turn]
        return [
            id
            for find, key in finders
            for parent in find(alone)
            if is_dict(parent) and (id := parent.get(key)) and not (hosted and parent.get(hosted) is not None)
        ]

    return ids


def is_paired(history: str, calls: Iterable[str], results: Iterable[str], hosted: str) -> Fits:
    """The function that sees whether every result has a call before it, and every call but the last ones a result."""
    calls_in, results_in = ids_in(calls, hosted), ids_in(results, hosted)

    def paired(body: Any) -> bool:
        turns: Json = body.get(history)
        if not is_list(turns):
            return True
        asked: set[str] = set()
        last: set[str] = set()
        answered: set[str] = set()
        for turn in turns:
            called, answers = calls_in(turn), results_in(turn)
            asked.update(called)
            if called:
                last.update(called)
            else:
                last.clear()
            answered.update(answers)
            if not asked.issuperset(answers):
                return False
        return asked <= (answered | last)

    return paired
