"""What a request body must look like, checked row by row; each dialect says the complaint as its vendor would.

A row is a path, the JSON types that may stand there, and whether something must. ``*`` in a path is every item of a
list; ``*role=tool`` only items that say so. Nothing is said of keys that no row names. A row that would refuse what a
provider accepts is worse than one that is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ..errors import InvalidRequestError
from ..types.base import Json
from .json import Wire, is_dict, is_list

__all__ = ["Calls", "Complaint", "Field", "brackets", "dots", "first_complaint", "refused", "unpaired"]

Path = tuple[str | int, ...]
MISSING = object()
KINDS: dict[str, Callable[[Json], bool]] = {
    "a string": lambda value: isinstance(value, str),
    "an integer": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1,
    "a number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "a boolean": lambda value: isinstance(value, bool),
    "an object": is_dict,
    "an array": is_list,
    "an array of objects": is_list,  # the items have a row of their own
    "null": lambda value: value is None,
}
TEXT, INTEGER, NUMBER, BOOLEAN, OBJECT, ARRAY, OBJECTS, NULL = KINDS


class Field(NamedTuple):
    """A row. ``words``: the only strings that may stand there. ``filled``: a list may not be empty."""

    path: str
    kinds: tuple[str, ...]
    needed: bool = False
    words: tuple[str, ...] = ()
    filled: bool = False


class Complaint(NamedTuple):
    """The first thing that is wrong: where, what kind of fault, and a plain sentence about the place."""

    path: Path
    fault: str
    """``missing``, ``type``, ``value``, ``empty`` or ``order``."""
    expected: str = ""
    got: str = ""


def first_complaint(
    body: Json, fields: Iterable[Field], order: Callable[[Wire], Iterator[Complaint]]
) -> Complaint | None:
    """What a vendor would complain of, or None. Turns are looked at only if every field is what it should be."""
    if not is_dict(body):
        return Complaint((), "type", OBJECT, kind_of(body))
    wrong = next((found for field in fields for found in _check(field, body)), None)
    return wrong or next(order(body), None)


def kind_of(value: Json) -> str:
    """The JSON type of a value, with its article."""
    return next(name for name in (NULL, BOOLEAN, TEXT, INTEGER, NUMBER, OBJECT, ARRAY) if KINDS[name](value))


def _check(field: Field, body: Wire) -> Iterator[Complaint]:
    *steps, last = field.path.split(".")
    for path, parent in _walk(body, steps, ()):
        for place, value in _found(parent, last):
            wrong = _wrong(field, value)
            if wrong is not None:
                yield wrong._replace(path=(*path, place))


def _walk(value: Json, steps: list[str], path: Path) -> Iterator[tuple[Path, Json]]:
    if not steps:
        yield path, value
        return
    for place, inner in _found(value, steps[0]):
        if inner is not MISSING:
            yield from _walk(inner, steps[1:], (*path, place))


def _found(parent: Json, step: str) -> Iterator[tuple[str | int, Json]]:
    if not step.startswith("*"):
        if is_dict(parent):
            yield step, parent.get(step, MISSING)
        return
    key, _, word = step[1:].partition("=")
    for index, item in enumerate(parent if is_list(parent) else ()):
        if not key or (is_dict(item) and item.get(key) == word):
            yield index, item


def _wrong(field: Field, value: Json) -> Complaint | None:
    if value is MISSING or (value is None and NULL not in field.kinds):
        return Complaint((), "missing", _either(field.kinds)) if field.needed else None
    if not any(KINDS[kind](value) for kind in field.kinds):
        return Complaint((), "type", _either(field.kinds), kind_of(value))
    if field.words and isinstance(value, str) and value not in field.words:
        return Complaint((), "value", ", ".join(map(repr, field.words)), repr(value[:80]))
    if field.filled and value == []:
        return Complaint((), "empty", "an array with at least one item", "an empty array")
    return None


def _either(kinds: tuple[str, ...]) -> str:
    return " or ".join(kind for kind in kinds if kind != NULL)


# -------------------------------------------------------------------------------------------------- calls and results


class Calls(NamedTuple):
    """One turn: the ids that it calls and those that it answers, each with its place."""

    calls: dict[str, Path]
    results: dict[str, Path]


def unpaired(turns: Iterable[Calls]) -> Iterator[Complaint]:
    """Results that no call asked for before them, and calls that never get a result although turns follow them."""
    asked: dict[str, Path] = {}
    last: dict[str, Path] = {}
    answered: set[str] = set()
    for turn in turns:
        asked |= turn.calls
        last = {**last, **turn.calls} if turn.calls else {}
        answered |= turn.results.keys()
        for id, path in turn.results.items():
            if id not in asked:
                yield Complaint(path, "order", "no tool call found", id)
    for id, path in asked.items():
        if id not in answered and id not in last:
            yield Complaint(path, "order", "no tool result found", id)


# ------------------------------------------------------------------------------------------------------------- saying


def dots(path: Path) -> str:
    """``messages.0.content``"""
    return ".".join(map(str, path))


def brackets(path: Path) -> str:
    """``messages[0].content``"""
    said = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return said.removeprefix(".")


def refused(dialect: str, message: str, body: Wire, code: str | None = None) -> InvalidRequestError:
    """The error that this dialect says with exactly this body, and every other with its sentence."""
    return InvalidRequestError(
        message, provider_status=400, provider_code=code, provider_message=message, extras={dialect: body}
    )
