"""Tables: one place on the wire and its rows. ``row`` says what a row means.

Reading picks a row by its tag, writing by the type of the value. Both use compiled code in the usual case
(``compiler``), and else interpret the rows (``interpret_read``, ``interpret_write``), which defines what a table means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from importlib import import_module
from typing import Any, cast

from msgspec.structs import force_setattr, replace

from ...types.base import Json
from ...types.blocks import BlockBase, OpaqueBlock
from ...types.tools import ServerTool
from ..json import Wire, is_object
from ..ledger import Ledger
from ..marks import extras_and_forms
from ..paths import merge
from .fields import NO_MARKS
from .key_spelling import KeySpelling
from .kinds import REFUSED
from .row import Row, Rule, Spec

__all__ = ["Frame", "Table", "compiler"]

Taken = tuple[dict[str, Any], Wire, Wire]


def compiler() -> Any:
    """The compiler, loaded on first use: a table is often imported and not used."""
    return import_module(".compiler", __package__)


class ByKey(dict[Any, Callable[[Any], Any]]):
    """Compiled functions by tag or by type. One that is missing is made on first use."""

    def __init__(self, make: Callable[[Any], Callable[[Any], Any]]) -> None:
        self._make = make

    def __missing__(self, key: Any) -> Callable[[Any], Any]:
        return self._make(key)


class Table:
    """One place on the wire and its rows. Reading picks a row by its tag, writing by the type of the value.

    ``tag`` is the key that names the row (``"type"``); None for a table of one row; ``Table.KEY`` where the key of the
    content is the tag itself, as in ``{"text": …}``; a function that returns the tag where one key is not enough. What
    no row reads is carried whole in a value of the type ``carrier``, which only this dialect writes back; ``unknown``
    reads it if it is given; with neither, reading returns ``REFUSED``. ``keys`` is a second spelling of keys. Other
    keyword arguments are fields that every row has, if its type has them.
    """

    KEY = "*"

    def __init__(
        self,
        dialect: str,
        tag: str | Callable[[Wire], str | None] | None,
        *rows: Row,
        carrier: type[OpaqueBlock | ServerTool] | None = None,
        unknown: Callable[[Json], Any] | None = None,
        keys: KeySpelling | None = None,
        **common: Spec,
    ) -> None:
        self.dialect, self.rows, self.carrier, self.keys = dialect, rows, carrier, keys
        self.tag = Table.KEY if callable(tag) else tag
        self.tagger = tag if callable(tag) else None
        self.common: dict[str, Any] = common
        carried: Callable[[Json], Any] | None = None if carrier is None else partial(carrier, dialect)
        self.unknown = unknown if unknown is not None else carried
        self.history = True
        self.by_tag: dict[Json, Row] = {}
        self.by_type: dict[type, list[Row]] = {}
        for row in rows:
            row.make_fields(common)
            if row.tag is not None or tag is None:
                self.by_tag.setdefault(row.tag, row)
            self.by_type.setdefault(row.type, []).append(row)
        self.readers = ByKey(self._reader)
        self.writers = ByKey(self._writer)
        self._read_once: set[Json] = set()  # the tags of rows that are compiled when they are read again
        self.read = self._make_read()
        """Return the canonical value of a wire object, by compiled code in the usual case."""

    def for_answers(self) -> Table:
        """The same rows, without the rules that hold for a history only."""
        tag = self.tagger or self.tag
        known: dict[str, Any] = {"carrier": self.carrier, "unknown": self.unknown, "keys": self.keys}
        table = type(self)(self.dialect, tag, **known, **self.common)
        table.rows, table.by_tag, table.by_type, table.history = self.rows, self.by_tag, self.by_type, False
        return table

    def only(self, *types: type, **common: Spec) -> Table:
        """The same rows, for writing values of some types only. ``common`` fields replace those of this table."""
        rows = [copy(row) for row in self.rows if row.type in types]
        specs: dict[str, Any] = {**self.common, **common}
        return Table(self.dialect, self.tagger or self.tag, *rows, keys=self.keys, **specs)

    def rules(self, row: Row) -> list[Rule]:
        """The rules of a row that hold in this table: for answers, those for histories do not."""
        return [rule for rule in row.rules if self.history or not rule.history]

    def row_for(self, value: Any) -> Row | None:
        """The row that writes a value: the one that it was read by, else the first that suits it."""
        rows = self.by_type.get(value.__class__, [])
        if len(rows) == 1:
            return rows[0]
        tag = self.marks(value).get("tag")
        fitting = [row for row in rows if row.suits(value)]
        if tag is not None:
            fitting = [row for row in fitting if row.tag == tag] or fitting
        return fitting[0] if fitting else None

    @property
    def reads_all(self) -> bool:
        """Whether every wire value can be read, because what no row reads is carried whole."""
        return self.carrier is not None

    # ------------------------------------------------------------------------------------------------- the usual case

    def _make_read(self) -> Callable[[Json], Any]:
        readers, tag, tag_of, tagger = self.readers, self.tag, self.tag_of, self.tagger

        def read(wire: Json) -> Any:
            try:
                reader = readers[wire[tag]]
            except (KeyError, TypeError, IndexError):
                reader = readers[None]
            return reader(wire)

        def read_untagged(wire: Json) -> Any:
            return readers[tag_of(wire)](wire)

        def read_by_function(wire: Json) -> Any:
            assert tagger is not None
            return readers[tagger(cast("Wire", wire)) if wire.__class__ is dict else None](wire)

        def read_single(wire: Json) -> Any:
            return readers[None](wire)

        if tagger is not None:
            return read_by_function
        if tag is None:
            return read_single
        return read_untagged if tag == Table.KEY else read

    def write(self, value: Any, ledger: Ledger) -> Any:
        """The wire object of a canonical value; None after a declared loss."""
        wire = self.writers[type(value)](value)
        return self.interpret_write(value, ledger) if wire is None else wire

    def write_usual(self, value: Any) -> Any:
        """The wire object of a canonical value, by compiled code; None where something is unusual."""
        return self.writers[type(value)](value)

    def write_each_usual(self, values: Iterable[Any]) -> list[Any] | None:
        """The wire objects of some values, by compiled code; None where something is unusual in one of them."""
        writers = self.writers
        written: list[Any] = []
        for value in values:  # a comprehension costs more for the few blocks of a turn
            wire = writers[type(value)](value)
            if wire is None:
                return None
            written.append(wire)
        return written

    def write_each(self, values: Sequence[Any], ledger: Ledger, *place: str) -> list[Any]:
        """The wire objects of the values that can be written. ``place`` is their path, for losses."""
        usual = self.write_each_usual(values)
        if usual is not None:
            return usual
        where, written = ledger.where, list[Any]()
        for index, value in enumerate(values):
            ledger.where = (*where, *place, index)
            wire = self.write(value, ledger)
            if wire is not None or self.is_null(value):
                written.append(wire)
        ledger.where = where
        return written

    def tag_of(self, wire: Json) -> Json:
        """The tag of a wire value; None if it has none."""
        if not is_object(wire) or self.tag is None:
            return None
        if self.tagger is not None:
            return self.tagger(wire)
        if self.tag == Table.KEY:
            return next((key for key in wire if key in self.by_tag), None)
        return wire.get(self.tag)

    def _reader(self, tag: Json) -> Callable[[Wire], Any]:
        row = self.by_tag.get(tag) if tag is None or type(tag) is str else None
        if row is None:
            return self.read_otherwise
        if tag not in self._read_once:
            self._read_once.add(tag)
            return self.interpret_read
        rows = self.by_type[row.type]
        first = next(other for other in rows if other is row or _may_write(other, row))
        # A value that another row would write must remember its tag, which compiled code does not do.
        reader = compiler().compile_reader(self, row) if first is row else self.interpret_read
        self.readers[tag] = reader
        return reader

    def _writer(self, type: type) -> Callable[[Any], Wire | None]:
        rows = self.by_type.get(type, [])
        writer: Callable[[Any], Wire | None] = compiler().compile_writer(self, rows) if rows else _give_up
        self.writers[type] = writer
        return writer

    def read_otherwise(self, wire: Json) -> Any:
        """Read what compiled code gave up on: by compiled code with its keys spelled as usual, else field by field."""
        usual, marks = self._spelled_usually(wire)
        value = self.read(usual) if marks else None
        if value is None or value is REFUSED or type(value) is self.carrier:
            return self.interpret_read(wire)
        force_setattr(value, "forms", {self.dialect: {**marks, **self.marks(value)}})
        return value

    @cached_property
    def _key_tree(self) -> Wire:
        """The keys that the rows know, in their own nesting."""
        tree: Wire = {}
        for field in [field for row in self.rows for field in row.fields if field.key]:
            for path in field.paths or (".".join(field.key),):
                *inner, last = path.split(".")
                node = tree
                for step in inner:
                    node = node.setdefault(step, {})
                node.setdefault(last, {})
        return tree

    def _spelled_usually(self, wire: Json) -> tuple[Json, Wire]:
        """The wire object with its keys in the usual spelling, and the mark of those that were spelled otherwise."""
        if self.keys is None or not is_object(wire):
            return wire, {}
        usual, places = self.keys.usual_within(wire, self._key_tree)
        return usual, {"keys": places} if places else {}

    # ---------------------------------------------------------------------------------------------------- the meaning

    def interpret_read(self, wire: Json) -> Any:
        """The canonical value of a wire object, field by field."""
        usual, marks = self._spelled_usually(wire)
        tag = self.tag_of(usual)
        row = self.by_tag.get(tag) if is_object(usual) and (tag is None or type(tag) is str) else None
        value = REFUSED if row is None else self._read_row(row, usual, marks)
        return value if value is not REFUSED or self.unknown is None else self.unknown(wire)

    def _read_row(self, row: Row, wire: Wire, marks: Wire) -> Any:
        rest, fields = dict(wire), dict(row.gives)
        if self.tag is not None and self.tag != Table.KEY:
            del rest[self.tag]
        if not row.take(rest, fields, marks):
            return REFUSED
        value = row.type(**fields)
        if len(self.by_type[row.type]) > 1 and self.row_for(value) is not row:
            marks["tag"] = row.tag
        value = replace(value, **extras_and_forms(self.dialect, rest, marks)) if rest or marks else value
        broken = [rule.field for rule in self.rules(row) if not rule.holds(value)]
        return (
            replace(value, **extras_and_forms(self.dialect, rest, {**marks, "verbatim": broken})) if broken else value
        )

    def marks(self, value: Any) -> Mapping[str, Json]:
        """What this dialect remembers about the shape and spelling of a value."""
        found: Mapping[str, Json] = value.forms.get(self.dialect, NO_MARKS) if value.forms else NO_MARKS
        return found

    def is_null(self, value: Any) -> bool:
        """Whether this dialect read a value from null: then its wire value is None, and nothing is lost."""
        return type(value) is self.carrier and value.raw is None and value.dialect == self.dialect

    def interpret_write(self, value: Any, ledger: Ledger) -> Any:
        """The wire object of a canonical value, field by field; None after a declared loss."""
        if type(value) is self.carrier or type(value) is OpaqueBlock:
            return self._write_carried(value, ledger)
        row = self.row_for(value)
        if row is None:
            ledger.lose("dropped", f"{self.dialect} has no {_noun(value)}")
            return None
        losses = len(ledger.losses)
        fitted = self.fit(row, value, ledger)
        if type(fitted) is not row.type or not row.suits(fitted):
            wire = None if fitted is None else self.interpret_write(fitted, ledger)
        else:
            wire = self._write_row(row, fitted, ledger)
        if wire is None:
            ledger.drop_parts(losses)
        return wire

    def fit(self, row: Row, value: Any, ledger: Ledger) -> Any:
        """The value as the rules allow it; None if it is dropped."""
        verbatim = self.marks(value).get("verbatim", ())
        if verbatim is True:  # saved by an earlier release, which did not name the fields
            return value
        for rule in self.rules(row):
            if rule.field not in verbatim and not rule.holds(value):
                value = rule.fit(value, ledger)
                if type(value) is not row.type:
                    return value
        return value

    def _write_row(self, row: Row, value: Any, ledger: Ledger) -> Wire | None:
        wire: Wire = {}
        marks = self.marks(value)
        if self.tag is not None and self.tag != Table.KEY and row.tag is not None:
            wire[self.tag] = row.tag
        residue: Wire = value.extras.get(self.dialect, {}) if value.extras else {}
        row.put_constants(wire, marks, residue)
        if not row.put(value, wire, ledger, marks):
            return None
        merge(wire, residue)
        if value.extras:
            ledger.lose_foreign_extras(value, self.dialect)
        return wire if self.keys is None or "keys" not in marks else self.keys.restore(wire, marks["keys"])

    def _write_carried(self, value: OpaqueBlock | ServerTool, ledger: Ledger) -> Any:
        if type(value) is not self.carrier or value.dialect != self.dialect:
            ledger.untranslated(value, self.dialect)
            return None
        if type(value) is OpaqueBlock:
            for name in ("signature", "cache"):
                if getattr(value, name) is not None:
                    ledger.lose("dropped", "a block that is carried whole takes no signature or cache mark", name)
        raw: Json = value.raw
        return dict(raw) if is_object(raw) else raw


class Frame:
    """One row for an object that functions of the dialect read and write in part: a request, an answer.

    ``take`` returns the fields that the row knows, the rest of the object, and marks; ``put`` writes the fields.
    """

    take: Callable[[Wire], Taken]
    """The fields of a wire object, what is left of it, and marks."""

    def __init__(self, dialect: str, row: Row, **common: Spec) -> None:
        specs: dict[str, Any] = common
        self.table, self.row = Table(dialect, None, row, **specs), row
        self.take = self._first_take

    def _first_take(self, wire: Wire) -> Taken:
        self.take = self._second_take
        return self.interpret_take(wire)

    def _second_take(self, wire: Wire) -> Taken:
        self.take = compiler().compile_taker(self.table, self.row)
        return self.take(wire)

    def interpret_take(self, wire: Wire) -> Taken:
        """Do what ``take`` does, field by field and without compiled code."""
        return self.row.take_apart(wire)

    @cached_property
    def _put_usual(self) -> Callable[[Any], Wire | None]:
        putter: Callable[[Any], Wire | None] = compiler().compile_putter(self.table, self.row)
        return putter

    def put(self, value: Any, ledger: Ledger) -> Wire:
        """The wire object of the fields. What breaks a rule is fitted."""
        usual = self._put_usual(value)
        wire: Wire = {} if usual is None else usual
        if usual is None:
            self.row.put(self.table.fit(self.row, value, ledger), wire, ledger, self.table.marks(value))
        return wire

    @cached_property
    def put_constants(self) -> Callable[[Wire, Mapping[str, Json]], None]:
        """Write the constant keys that the object does not have yet, except those that marks list as missing."""
        writer: Callable[[Wire, Mapping[str, Json]], None] = compiler().compile_constants(self.table, self.row)
        return writer


def _may_write(other: Row, row: Row) -> bool:
    """Whether one row would write what another one reads. Different conditions of rows exclude each other."""
    same = other.when is None or row.when is None or other.when is row.when
    return same and row.fixed.items() >= other.fixed.items()


def _give_up(value: Any) -> None:
    """Return None for any value, because no row has its type."""


def _noun(value: Any) -> str:
    kind = cast("Any", type(value))
    tag = kind.__struct_config__.tag
    return f"{tag} blocks" if isinstance(value, BlockBase) else f"{tag or kind.__name__}"
