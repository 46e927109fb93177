"""Marks of values that were saved before dialects were rows, in the words of today.

Then each odd spelling had a mark with a name of its own, and blank values were kept in the wire's own nesting. Most of
these marks follow from the rows: a mark is called after our field or after its key. What a dialect had named otherwise
is a table of its own, from the mark to what it means (``names``). Marks of today are left as they are, so that a value
may be read again and again.
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
from .rows.fields import Field
from .rows.row import Row
from .rows.table import Table

__all__ = ["Means", "OldMarks", "blanks", "broken", "missing", "renewed", "tagged"]

ODD = (AttributeError, KeyError, TypeError, ValueError, IndexError, AssertionError)
Means = Callable[[Any, Json], Wire]
"""What an old mark of a value means, given what it held: marks of today."""


class OldMarks:
    """The old marks of a dialect. ``tables`` have the rows of its values, ``names`` what the rows cannot tell.

    ``row_of`` gives the row of a value that is written by a row of another type.
    """

    def __init__(
        self, tables: Sequence[Table], names: Mapping[str, Means], row_of: Callable[[Any], Row | None] = lambda _: None
    ) -> None:
        self.tables, self.names, self.row_of = tables, names, row_of

    def renew(self, value: Any, marks: Wire) -> Wire:
        """The marks of a value in the words of today."""
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
    """The keys of these paths were there and said nothing."""
    spelled: Wire = {}
    for path, blank in _leaves(wire):
        spelled |= _spelling(row, path, [blank])
    return _marked(spelled)


def missing(row: Row, *keys: str) -> Wire:
    """These keys were not there, which we would write."""
    spelled: Wire = {}
    for key in keys:
        spelled |= _spelling(row, key, [])
    return _marked(spelled)


def _marked(spelled: Wire) -> Wire:
    return {"spelling": spelled} if spelled else {}


def broken(row: Row, value: Any) -> list[str]:
    """The rules that a value breaks: it was read so, and is written so."""
    return [rule.field for rule in row.rules if type(value) is row.type and not rule.holds(value)]


def tagged(tag: str) -> Means:
    """The mark says which row of a type it was."""
    return lambda value, held: {"tag": tag}


def _spelling(row: Row, key: str, spelled: list[Json]) -> Wire:
    """The spelling of a field, found by its own name, or by its key on the wire."""
    for field in row.fields:
        if key in field.others or (field.others and key == ".".join(field.key)):
            return {field.name: {key: spelled}} if spelled else {}
        if spelled and field.constant:
            continue  # a constant that says something else is residue
        if field.key and not field.names and (key in (field.name, ".".join(field.key)) or _is_last(field, key)):
            return {field.name: spelled}
    return {}


def _is_last(field: Field, key: str) -> bool:
    return field.key[-1] == key


def _leaves(wire: Wire, path: str = "") -> Iterator[tuple[str, Json]]:
    """The blank values in an object, with their paths."""
    for key, value in wire.items():
        if is_object(value) and value:
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def renewed(value: Any) -> Any:
    """A value, and everything in it, with marks of today."""
    if type(value) is tuple:
        return tuple([renewed(item) for item in cast("Sequence[Any]", value)])
    if not isinstance(value, Value | EventBase):
        return value
    inner: dict[str, Any] = {}
    for name in value.__struct_fields__:
        held = getattr(value, name)
        if type(held) is tuple or isinstance(held, Value):
            again = renewed(held)
            if again is not held and again != held:
                inner[name] = again
    forms: dict[str, Wire] = getattr(value, "forms", {})
    cache = getattr(value, "cache", None)
    names = dict.fromkeys([*forms, *(cache.forms if cache is not None else ())])
    marks = {name: _renewed_marks(name, value, forms.get(name, {})) for name in names}
    if inner:
        value = replace(value, **inner)
    kept = {name: held for name, held in marks.items() if held or name in forms}
    return _with_forms(value, kept) if kept != forms else value


def _renewed_marks(name: str, value: Any, marks: Wire) -> Wire:
    """Marks of shapes that no release wrote are left as they are."""
    try:
        return dialect(name).renew_marks(value, marks) if name in DIALECTS else marks
    except ODD:
        return marks


def _with_forms(value: Any, forms: dict[str, Wire]) -> Any:
    copied = replace(value)
    force_setattr(copied, "forms", {name: marks for name, marks in forms.items() if marks})
    return copied
