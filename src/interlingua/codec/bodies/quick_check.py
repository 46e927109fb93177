"""Whether nothing is wrong with the fields of a body, in one pass: straight code made of the tree of ``validate``.

It only says yes or no, and each value is looked at once. A number without a fraction, which may stand where an integer
is wanted, is a no: the tree itself decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..known_lists import KnownList
from ..rows.source import Source

__all__ = ["TYPES", "Fits", "compile_check", "condition"]

Fits = Callable[[Any], bool]
TYPES: Mapping[str, tuple[type, ...]] = {
    "a string": (str,),
    "an integer": (int,),
    "a number": (int, float),
    "a boolean": (bool,),
    "an object": (dict,),
    "an array": (list, KnownList),
    "an array of objects": (list, KnownList),  # the items have a row of their own
    "null": (type(None),),
}


class Row(Protocol):
    """What may stand at a place, as ``validate.Check`` says it."""

    @property
    def kinds(self) -> tuple[str, ...]: ...
    @property
    def needed(self) -> bool: ...
    @property
    def words(self) -> tuple[str, ...]: ...
    @property
    def filled(self) -> bool: ...


class Tree(Protocol):
    """A place: its rows, and the places of its fields and of its items."""

    @property
    def rows(self) -> Sequence[tuple[int, Row]]: ...
    @property
    def fields(self) -> Mapping[str, Tree]: ...
    @property
    def items(self) -> Mapping[str, Tree]: ...


def compile_check(tree: Tree) -> Fits:
    """The function that looks at a whole body."""
    source = Source("return False")
    _write(source, tree, "body")
    source.line("return True")
    return source.compile("fits", "body")


def condition(step: str) -> tuple[str, str]:
    """Of which items a step speaks: those whose field is this word; of all, if there is no field."""
    key, _, word = step[1:].partition("=")
    return key, word


def _write(source: Source, place: Tree, value: str) -> None:
    """The code that looks at the value which a variable holds."""
    for _, row in place.rows:
        _write_row(source, row, value)
    if place.fields:
        source.line(f"if type({value}) is dict:")
        _write_fields(source, place, value)
    if place.items:
        _write_items(source, place, value)


def _write_row(source: Source, row: Row, value: str) -> None:
    allowed = {kind for name in row.kinds for kind in TYPES[name]}
    known = source.bind(frozenset(allowed))
    if row.needed:
        source.fail_if(f"type({value}) not in {known}")
    else:
        source.fail_if(f"{value} is not MISSING and {value} is not None and type({value}) not in {known}")
    if row.words:
        source.fail_if(f"type({value}) is str and {value} not in {source.bind(frozenset(row.words))}")
    if row.filled:
        source.fail_if(f"{value} == []")


def _write_fields(source: Source, place: Tree, value: str) -> None:
    source.depth += 1
    inner, get = f"v{source.depth}", f"get{source.depth}"
    source.line(f"{get} = {value}.get")
    for name, field in place.fields.items():
        source.line(f"{inner} = {get}({name!r}, MISSING)")
        _write(source, field, inner)
    source.depth -= 1


def _write_items(source: Source, place: Tree, value: str) -> None:
    """All items, and those that have a certain word in a field. Those of a list that is known are looked at once."""
    known, here = source.bind(KnownList), source.bind(place)
    source.line(f"if type({value}) is list or (type({value}) is {known} and {here} not in {value}.made):")
    source.depth += 1
    item = f"v{source.depth}"
    source.line(f"for {item} in {value}:")
    source.depth += 1
    for step, items in place.items.items():
        depth = source.depth
        key, word = condition(step)
        if key:
            source.line(f"if type({item}) is dict and {item}.get({key!r}) == {word!r}:")
            source.depth += 1
        _write(source, items, item)
        source.depth = depth
    source.depth -= 1
    source.line(f"if type({value}) is {known}: {value}.made[{here}] = True")
    source.depth -= 1
