"""Marks of values that were saved before dialects were rows, converted to the marks of today.

In old files each odd spelling had a mark with a name of its own, and blank values were kept in the wire's own nesting.
Most old marks follow from the rows: they have the name of our field or of its key. For the others each dialect has a
table from the mark to its meaning (``names``). Marks of today are left as they are, so a value may be converted twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec.structs import force_setattr, replace

from ..types.base import Json, Value
from ..types.events import EventBase
from .json import Wire, is_array, is_object
from .paths import merge
from .registry import DIALECTS, dialect
from .rows.row import Row
from .rows.table import Table

__all__ = ["Means", "OldMarks", "blanks", "broken", "missing", "upgraded", "tagged"]

SHAPE_ERRORS = (AttributeError, KeyError, TypeError, ValueError, IndexError, AssertionError)
Means = Callable[[Any, Json], Wire]
"""Gives the marks of today for an old mark, from the marked value and the mark's content."""


class OldMarks:
    """The old marks of a dialect. ``tables`` have the rows of its values, ``names`` the marks that rows do not explain.

    ``row_of`` gives the row of a value that is written by a row of another type.
    """

    def __init__(
        self, tables: Sequence[Table], names: Mapping[str, Means], row_of: Callable[[Any], Row | None] = lambda _: None
    ) -> None:
        self.tables, self.names, self.row_of = tables, names, row_of

    def renew(self, value: Any, marks: Wire) -> Wire:
        """The marks of a value, converted to marks of today."""
        new: Wire = {}
        row = self.row(value)
        for mark, held in marks.items():
            for name, means in self._read(value, row, mark, held).items():
                if name == "verbatim":
                    new[name] = [*dict.fromkeys([*new.get(name, ()), *means])]
                else:
                    new[name] = merge(dict(means), new.get(name, {})) if is_object(means) else means
        if row is not None and (marks.get("verbatim") is True or marks.get("schema") == "verbatim"):
            spelled = _with_forms(value, {self.tables[0].dialect: new})
            new["verbatim"] = [*dict.fromkeys([*new.get("verbatim", ()), *broken(row, spelled)])]
        return {name: held for name, held in new.items() if held != [] or name != "verbatim"}

    def row(self, value: Any) -> Row | None:
        """The row that writes a value."""
        rows = [self.row_of(value), *[table.row_for(value) for table in self.tables]]
        return next((row for row in rows if row is not None), None)

    def _read(self, value: Any, row: Row | None, mark: str, held: Json) -> Wire:
        if mark in self.names:
            return self.names[mark](value, held)
        if row is None or mark in ("spelling", "tag"):
            return {mark: held}
        if mark == "verbatim" or (mark == "schema" and held == "verbatim"):
            return {"verbatim": held} if is_array(held) else {}
        if mark == "blank" and is_object(held):
            return blanks(row, held)
        if mark == "absent" and is_array(held):
            return missing(row, *map(str, held))
        if held == "absent":
            return missing(row, mark)
        if any(field.accepted and field.key[-1] == mark for field in row.fields):
            return _marked(_spelling(row, mark, [held]))
        return {mark: held}


def blanks(row: Row, wire: Wire) -> Wire:
    """The marks of keys that were present with a blank value; ``wire`` holds them in the wire's nesting."""
    spelled: Wire = {}
    for path, blank in _leaves(wire):
        spelled |= _spelling(row, path, [blank])
    return _marked(spelled)


def missing(row: Row, *keys: str) -> Wire:
    """The marks of keys that were absent, although we would write them."""
    spelled: Wire = {}
    for key in keys:
        spelled |= _spelling(row, key, [])
    return _marked(spelled)


def _marked(spelled: Wire) -> Wire:
    return {"spelling": spelled} if spelled else {}


def broken(row: Row, value: Any) -> list[str]:
    """The fields whose rules a value breaks: it was read that way, so it is written that way."""
    return [rule.field for rule in row.rules if type(value) is row.type and not rule.holds(value)]


def tagged(tag: str) -> Means:
    """A ``Means`` for old marks that told which row of a type had been read."""
    return lambda value, held: {"tag": tag}


def _spelling(row: Row, key: str, spelled: list[Json]) -> Wire:
    """The spelling of a field, found by its name or by its key on the wire."""
    for field in row.fields:
        if key in field.others or (field.others and key == ".".join(field.key)):
            return {field.name: {key: spelled}} if spelled else {}
        if spelled and field.constant:
            continue  # a constant with another value is residue
        if field.key and not field.names and key in (field.name, ".".join(field.key), field.key[-1]):
            return {field.name: spelled}
    return {}


def _leaves(wire: Wire, path: str = "") -> Iterator[tuple[str, Json]]:
    """The blank values in an object, with their paths."""
    for key, value in wire.items():
        if is_object(value) and value:
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def upgraded(value: Any) -> Any:
    """A value and everything in it, with marks of today."""
    if type(value) is tuple:
        return tuple([upgraded(item) for item in cast("Sequence[Any]", value)])
    if not isinstance(value, Value | EventBase):
        return value
    inner: dict[str, Any] = {}
    for name in value.__struct_fields__:
        held = getattr(value, name)
        if type(held) is tuple or isinstance(held, Value):
            converted = upgraded(held)
            if converted is not held and converted != held:
                inner[name] = converted
    forms: dict[str, Wire] = getattr(value, "forms", {})
    cache = getattr(value, "cache", None)
    names = dict.fromkeys([*forms, *(cache.forms if cache is not None else ())])
    marks = {name: _renewed_marks(name, value, forms.get(name, {})) for name in names}
    if inner:
        value = replace(value, **inner)
    kept = {name: held for name, held in marks.items() if held or name in forms}
    return _with_forms(value, kept) if kept != forms else value


def _renewed_marks(name: str, value: Any, marks: Wire) -> Wire:
    """The marks of one dialect, renewed; unchanged if they have a shape that no release wrote."""
    try:
        return dialect(name).renew_marks(value, marks) if name in DIALECTS else marks
    except SHAPE_ERRORS:
        return marks


def _with_forms(value: Any, forms: dict[str, Wire]) -> Any:
    copied = replace(value)
    force_setattr(copied, "forms", {name: marks for name, marks in forms.items() if marks})
    return copied
