"""Rows: a dialect's phrases as data, and what they mean.

A ``Table`` is one place on the wire, such as "a content block". It has a ``Row`` for each thing that can stand there:
our type, their tag, and our fields with their keys. A key may be a path (``"usage.input_tokens"``); what is left of an
object on the way stays residue in its own nesting. A canonical field that a row does not name is an error at import,
so nothing is forgotten: ``unsaid`` says that the protocol has no word for it, and then using it is a loss.

This module is the meaning of rows: it reads and writes by looking at them. ``compiler`` makes straight-line code from
the same rows for the usual case; whatever that code does not expect comes back here.

Reading. A copy of the wire object is made, and every field takes what it knows; the rest is residue (``extras``). A
required field that is missing or of the wrong type makes the value unreadable: the table's ``unknown`` decides (most
tables carry it whole). An optional one of the wrong type stays residue.

Spelling. Each kind of field has one usual spelling on the wire. Where the wire had another one (null where we write
nothing, a synonym), it is kept beside the field: ``forms[dialect]["spelling"][field]`` is ``[wire value]``, or ``[]``
if the key was absent. It is written back only while reading it still gives the value of the field: an edited field
wins.

Rules say what a protocol refuses in a history: a rule drops the value, leaves out one field or fits it, each with a
loss. A value that was read from this dialect although it breaks a rule is written back as it came; the rule's field
is then listed in ``forms[dialect]["verbatim"]``. Answers are not held to rules: ``Table.unchecked``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields as struct_fields, replace

from ..types.base import Json
from ..types.blocks import BlockBase, OpaqueBlock
from ..types.loss import LossWeight
from ..types.tools import ServerTool
from .kinds import ANY, BOOL, INT, NUMBER, OBJECT, OMIT, REFUSED, STRINGS, TEXT, Kind
from .ledger import Ledger
from .paths import ABSENT, find, merge, put, remove

__all__ = ["Field", "Frame", "Row", "Rule", "Table", "elsewhere", "fill", "instead", "may", "must", "null", "unsaid"]

Wire = dict[str, Json]
OFF_WIRE = frozenset({"extras", "forms", "incomplete", "native_ids", "annotations"})
"""Fields that no row has: the engine's own, and those that are on no wire."""
NO_MARKS: Mapping[str, Json] = {}
USUAL_KINDS: dict[Any, Kind] = {
    str: TEXT,
    int: INT,
    float: NUMBER,
    bool: BOOL,
    "dict[str, Json]": OBJECT,
    "tuple[str, ...]": STRINGS,
    "Json": ANY,
}


class Field(NamedTuple):
    """One field of a row. ``key`` is a path of keys; empty if the protocol has no word for it (``reason``)."""

    name: str
    key: tuple[str, ...]
    kind: Kind
    required: bool = False
    default: Any = None
    reason: str = ""
    weight: LossWeight = "content"
    filler: Json = OMIT
    """What is written for the default; usually nothing."""
    constant: bool = False
    """Whether ``default`` is a wire value that is always written, and no field of ours."""
    accepted: bool = False
    """Whether this is a key that may be left out and says nothing, and no field of ours."""


class Spec(NamedTuple):
    """A field of a row before the row knows its canonical type."""

    key: str | None
    kind: Kind | None = None
    required: bool | None = None
    reason: str = ""
    weight: LossWeight = "content"
    filler: Json = OMIT


def must(key: str, kind: Kind | None = None) -> Spec:
    """A required key. Without it, or with another type, the wire object is not of this row."""
    return Spec(key, kind, True)


def may(key: str, kind: Kind | None = None) -> Spec:
    """An optional key: written if the field has another value than its default."""
    return Spec(key, kind, False)


def null(key: str, kind: Kind | None = None) -> Spec:
    """A key that is always written: null where the field has its default."""
    return Spec(key, kind, False, filler=None)


def fill(key: str, filler: Json, kind: Kind | None = None) -> Spec:
    """A key that is always written: ``filler`` where the field has its default."""
    return Spec(key, kind, False, filler=filler)


def unsaid(reason: str, weight: LossWeight = "content") -> Spec:
    """No word for the field: using it is a loss with this reason."""
    return Spec(None, reason=reason, weight=weight)


def elsewhere() -> Spec:
    """The field is written and read by a function of the dialect (its shape differs), not by this row."""
    return Spec("")


class Rule(NamedTuple):
    """What the protocol refuses. ``holds`` says that a value is accepted; ``source`` is the same as an expression.

    ``fit`` gives what is written instead, after declaring its losses; None drops the value. Some rules hold for the
    history of a request only, not for answers (``history``).
    """

    field: str
    holds: Callable[[Any], bool]
    fit: Callable[[Any, Ledger], Any]
    source: str = ""
    history: bool = False


class Row:
    """One phrase: a canonical type, its tag on the wire, rules, and its fields.

    ``constants`` are keys that always say the same, ``accepts`` keys that may be left out and say the same otherwise.
    ``fixed`` are values of canonical fields that belong to this row alone, and choose it among the rows of one type;
    ``gives`` are values of canonical fields that reading sets.
    """

    def __init__(
        self,
        type: type[Struct],
        tag: str | None,
        *rules: Rule,
        constants: Mapping[str, Json] = NO_MARKS,
        accepts: Mapping[str, Json] = NO_MARKS,
        fixed: Mapping[str, Any] = NO_MARKS,
        gives: Mapping[str, Any] = NO_MARKS,
        **specs: str | Spec,
    ) -> None:
        self.type, self.tag, self.rules, self.specs = type, tag, rules, specs
        self.constants, self.accepts, self.fixed = constants, accepts, dict(fixed)
        self.gives = {**fixed, **gives}
        self.fields: tuple[Field, ...] = ()
        self.constant_fields: list[Field] = []

    def settle(self, common: Mapping[str, Spec]) -> None:
        """Make the fields, given what the table says of every row. Every canonical field must be spoken for."""
        info = {field.name: field for field in struct_fields(self.type)}
        specs = {name: spec for name, spec in common.items() if name in info} | self.specs
        missing = info.keys() - specs.keys() - self.gives.keys() - OFF_WIRE
        if missing or specs.keys() - info.keys():
            odd = sorted(missing or specs.keys() - info.keys())
            raise TypeError(f"the row of {self.type.__name__} {self.tag!r}: {', '.join(odd)} missing or unknown")
        made = [_field(info[name], spec) for name, spec in specs.items()]
        constant = [
            Field(f"={key}", tuple(key.split(".")), ANY, default=value, constant=True)
            for key, value in self.constants.items()
        ]
        accepted = [
            Field(f"?{key}", (key,), Accepted(value), default=None, accepted=True)
            for key, value in self.accepts.items()
        ]
        self.fields = tuple([field for field in made if field is not None] + constant + accepted)
        self.constant_fields = constant

    def suits(self, value: Any) -> bool:
        """Whether a value of this row's type is one of this row."""
        return all(getattr(value, name) == fixed for name, fixed in self.fixed.items())

    # ------------------------------------------------------------------------------------------------------- reading

    def take(self, rest: Wire, into: dict[str, Any], marks: Wire) -> bool:
        """Move what the fields know from ``rest`` to ``into``; False if a required field is missing or wrong."""
        for field in self.fields:
            if not field.key:
                continue
            if field.constant:
                _take_constant(field, rest, marks)
            elif field.accepted:
                if field.key[0] in rest and field.kind.read(rest[field.key[0]], marks) is REFUSED:
                    return False
                if field.key[0] in rest:
                    _spell(marks, field.name, [rest.pop(field.key[0])])
            elif not _take(field, rest, into, marks):
                return False
        return True

    def take_apart(self, wire: Wire) -> tuple[dict[str, Any], Wire, Wire]:
        """The fields of a wire object, what is left of it, and marks."""
        fields, rest, marks = dict[str, Any](), dict(wire), Wire()
        self.take(rest, fields, marks)
        return fields, rest, marks

    # ------------------------------------------------------------------------------------------------------- writing

    def put(self, value: Any, wire: Wire, ledger: Ledger, marks: Mapping[str, Json]) -> bool:
        """Write every field of a value; False if one that is required cannot be written."""
        spelling: Mapping[str, list[Json]] = marks.get("spelling", NO_MARKS)
        for field in self.fields:
            if field.constant:
                continue
            if field.accepted:
                if field.name in spelling:
                    wire[field.key[0]] = spelling[field.name][0]
                continue
            held = getattr(value, field.name)
            if not field.key:
                if held != field.default and field.reason:
                    ledger.lose("dropped", field.reason, field.name, weight=field.weight)
            elif not _put(field, held, wire, ledger, marks, spelling.get(field.name)):
                return False
        return True

    def put_constants(self, wire: Wire, marks: Mapping[str, Json]) -> None:
        """Write what always says the same, unless residue says otherwise or the wire lacked it."""
        spelling = marks.get("spelling", NO_MARKS)
        for field in self.constant_fields:
            if field.name not in spelling and find(wire, field.key) is ABSENT:
                put(wire, field.key, field.default)


class Accepted(Kind):
    """A key that may be left out; if it is there it has one value."""

    def __init__(self, value: Json) -> None:
        self.value = value

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return wire if wire == self.value else REFUSED


def instead(type: type[Struct], fit: Callable[[Any, Ledger], Any]) -> Row:
    """A row for writing only: the protocol has no such thing, and ``fit`` gives what is written in its place."""
    row = Row(type, None, Rule("", _never, fit, "False"))
    row.specs = {field.name: elsewhere() for field in struct_fields(type) if field.name not in OFF_WIRE}
    return row


class Frame:
    """One row whose object also holds what functions of the dialect read and write: a request, an answer.

    ``take`` gives the fields that the row knows, the rest of the object, and marks; ``put`` writes the fields.
    """

    def __init__(self, dialect: str, row: Row) -> None:
        self.table, self.row = Table(dialect, None, row), row

    @cached_property
    def take(self) -> Callable[[Wire], tuple[dict[str, Any], Wire, Wire]]:
        """The fields of a wire object, what is left of it, and marks."""
        from .compiler import compile_taker

        return compile_taker(self.table, self.row)

    @cached_property
    def _put_usual(self) -> Callable[[Any], Wire | None]:
        from .compiler import compile_putter

        return compile_putter(self.table, self.row)

    def put(self, value: Any, ledger: Ledger) -> Wire:
        """The wire object of the fields. What breaks a rule is fitted."""
        wire = self._put_usual(value)
        if wire is None:
            wire = {}
            self.row.put(self.table.fit(self.row, value, ledger), wire, ledger, self.table.marks(value))
        return wire

    def kept(self, rest: Wire, marks: Wire) -> dict[str, Any]:
        """The ``extras`` and ``forms`` of a value: only what there is to keep."""
        return self.table.kept(rest, marks)


class Table:
    """One place on the wire and its rows. Reading picks a row by its tag, writing by the type of the value.

    ``tag`` is the key that names the row (``"type"``); None for a table of one row; ``Table.KEY`` where the key of the
    content is the tag itself, as in ``{"text": …}``. What no row reads is carried whole in a value of the type
    ``carrier``, which only this dialect writes back; or ``unknown`` reads it; with neither, the reader gives
    ``REFUSED``. Keyword arguments are fields that every row has, if its type has them.
    """

    KEY = "*"

    def __init__(
        self,
        dialect: str,
        tag: str | None,
        *rows: Row,
        carrier: type[OpaqueBlock | ServerTool] | None = None,
        unknown: Callable[[Json], Any] | None = None,
        **common: Spec,
    ) -> None:
        self.dialect, self.tag, self.rows, self.carrier, self.common = dialect, tag, rows, carrier, common
        self.unknown = unknown if carrier is None else (lambda wire: carrier(dialect, wire))
        self.history = True
        self.by_tag: dict[Json, Row] = {}
        self.by_type: dict[type, list[Row]] = {}
        for row in rows:
            row.settle(common)
            if row.tag is not None or tag is None:
                self.by_tag.setdefault(row.tag, row)
            self.by_type.setdefault(row.type, []).append(row)
        self._readers: dict[Json, Callable[[Wire], Any]] = {}
        self._writers: dict[type, Callable[[Any], Wire | None]] = {}
        self.read = self._make_read()
        """The canonical value of a wire object, by compiled code where it is as usual."""

    def for_answers(self) -> Table:
        """The same rows, without the rules that hold for a history only."""
        table = Table(self.dialect, self.tag, carrier=self.carrier, unknown=self.unknown, **self.common)
        table.rows, table.by_tag, table.by_type, table.history = self.rows, self.by_tag, self.by_type, False
        return table

    def only(self, *types: type) -> Table:
        """The same rows, for writing values of some types only."""
        rows = [row for row in self.rows if row.type in types]
        return Table(self.dialect, self.tag, *rows, **self.common)

    def rules(self, row: Row) -> list[Rule]:
        """The rules that hold here."""
        return [rule for rule in row.rules if self.history or not rule.history]

    def row_for(self, value: Any) -> Row | None:
        """The row that writes a value: the one that it was read by, else the first that suits it."""
        rows = self.by_type.get(type(value), [])
        if len(rows) == 1:
            return rows[0]
        tag = self.marks(value).get("tag")
        fitting = [row for row in rows if row.suits(value)]
        if tag is not None:
            fitting = [row for row in fitting if row.tag == tag] or fitting
        return fitting[0] if fitting else None

    @property
    def reads_all(self) -> bool:
        """Whether every wire value is read as something."""
        return self.unknown is not None

    # ------------------------------------------------------------------------------------------------- the usual case

    def _make_read(self) -> Callable[[Json], Any]:
        readers, find, tag, tag_of = self._readers, self._reader, self.tag, self.tag_of

        def read(wire: Json) -> Any:
            try:
                reader = readers[wire[tag]]
            except (KeyError, TypeError, IndexError):
                reader = find(tag_of(wire))
            return reader(wire)

        def read_untagged(wire: Json) -> Any:
            tag = tag_of(wire)
            return (readers.get(tag) or find(tag))(wire)

        return read_untagged if tag is None or tag == Table.KEY else read

    def write(self, value: Any, ledger: Ledger) -> Any:
        """The wire object of a canonical value; None after a declared loss."""
        wire = self.write_usual(value)
        return self.interpret_write(value, ledger) if wire is None else wire

    def write_usual(self, value: Any) -> Any:
        """The wire object, by compiled code; None where something is unusual."""
        try:
            writer = self._writers[type(value)]
        except KeyError:
            writer = self._writer(type(value))
        return writer(value)

    def tag_of(self, wire: Json) -> Json:
        """The tag of a wire value; None for what has none."""
        if type(wire) is not dict or self.tag is None:
            return None
        if self.tag == Table.KEY:
            return next((key for key in wire if key in self.by_tag), None)
        return wire.get(self.tag)

    def _reader(self, tag: Json) -> Callable[[Wire], Any]:
        from .compiler import compile_reader  # the compiler is loaded on first use

        row = self.by_tag.get(tag) if tag is None or type(tag) is str else None
        if row is None:
            return self.interpret_read
        rows = self.by_type[row.type]
        first = next(other for other in rows if other is row or row.fixed.items() >= other.fixed.items())
        reader = compile_reader(self, row) if first is row else self.interpret_read  # else it must remember its tag
        self._readers[tag] = reader
        return reader

    def _writer(self, type: type) -> Callable[[Any], Wire | None]:
        from .compiler import compile_writer

        rows = self.by_type.get(type, [])
        writers = {id(row): compile_writer(self, row) for row in rows}

        def write_one_of(value: Any) -> Wire | None:
            row = None if value.forms else self.row_for(value)
            return None if row is None else writers[id(row)](value)

        writer = write_one_of if len(rows) != 1 else writers[id(rows[0])]
        self._writers[type] = writer
        return writer

    # ---------------------------------------------------------------------------------------------------- the meaning

    def interpret_read(self, wire: Json) -> Any:
        """The canonical value of a wire object, field by field."""
        tag = self.tag_of(wire)
        row = self.by_tag.get(tag) if type(wire) is dict and (tag is None or type(tag) is str) else None
        value = REFUSED if row is None else self._read_row(row, wire)
        return value if value is not REFUSED or self.unknown is None else self.unknown(wire)

    def _read_row(self, row: Row, wire: Wire) -> Any:
        rest, fields, marks = dict(wire), dict(row.gives), Wire()
        if self.tag is not None and self.tag != Table.KEY:
            del rest[self.tag]
        if not row.take(rest, fields, marks):
            return REFUSED
        value = row.type(**fields)
        if len(self.by_type[row.type]) > 1 and self.row_for(value) is not row:
            marks["tag"] = row.tag
        value = replace(value, **self.kept(rest, marks)) if rest or marks else value
        broken = [rule.field for rule in self.rules(row) if not rule.holds(value)]
        return replace(value, **self.kept(rest, {**marks, "verbatim": broken})) if broken else value

    def kept(self, rest: Wire, marks: Wire) -> dict[str, Any]:
        """The ``extras`` and ``forms`` of a value: only what there is to keep."""
        found: dict[str, Any] = {}
        if rest:
            found["extras"] = {self.dialect: rest}
        if marks:
            found["forms"] = {self.dialect: marks}
        return found

    def marks(self, value: Any) -> Mapping[str, Json]:
        """What this dialect remembers about the shape and spelling of a value."""
        found: Mapping[str, Json] = value.forms.get(self.dialect, NO_MARKS) if value.forms else NO_MARKS
        return found

    def interpret_write(self, value: Any, ledger: Ledger) -> Any:
        """The wire object of a canonical value, field by field; None after a declared loss."""
        if type(value) is self.carrier or type(value) is OpaqueBlock:
            return self._write_carried(value, ledger)
        row = self.row_for(value)
        if row is None:
            ledger.lose("dropped", f"{self.dialect} has no {_noun(value)} here")
            return None
        fitted = self.fit(row, value, ledger)
        if type(fitted) is not row.type:
            return None if fitted is None else self.interpret_write(fitted, ledger)
        return self._write_row(row, fitted, ledger)

    def fit(self, row: Row, value: Any, ledger: Ledger) -> Any:
        """The value as the rules allow it; None if it is dropped."""
        verbatim = self.marks(value).get("verbatim", ())
        for rule in self.rules(row):
            if rule.field not in verbatim and not rule.holds(value):
                value = rule.fit(value, ledger)
                if type(value) is not row.type:
                    return value
        return value

    def _write_row(self, row: Row, value: Any, ledger: Ledger) -> Wire | None:
        marks, wire = self.marks(value), Wire()
        if self.tag is not None and self.tag != Table.KEY and row.tag is not None:
            wire[self.tag] = row.tag
        if not row.put(value, wire, ledger, marks):
            return None
        if value.extras:
            if self.dialect in value.extras:
                merge(wire, value.extras[self.dialect])
            ledger.foreign(value, self.dialect)
        row.put_constants(wire, marks)
        return wire

    def _write_carried(self, value: OpaqueBlock | ServerTool, ledger: Ledger) -> Any:
        if type(value) is not self.carrier or value.dialect != self.dialect:
            ledger.untranslated(value, self.dialect)
            return None
        if type(value) is OpaqueBlock:
            for name in ("signature", "cache"):
                if getattr(value, name) is not None:
                    ledger.lose("dropped", "a block that is sent as it was read takes no marks", name)
        return dict(value.raw) if type(value.raw) is dict else value.raw


def _noun(value: Any) -> str:
    tag = type(value).__struct_config__.tag
    return f"{tag} blocks" if isinstance(value, BlockBase) else f"{tag or type(value).__name__}"


# ----------------------------------------------------------------------------------------------------------- fields


def _field(info: Any, spec: str | Spec) -> Field | None:
    if isinstance(spec, str):
        spec = Spec(spec)
    if spec.key == "":
        return None
    default = info.default if info.default is not NODEFAULT else _made(info.default_factory)
    required = default is NODEFAULT if spec.required is None else spec.required
    default = None if default is NODEFAULT else default
    if spec.key is None:
        return Field(info.name, (), ANY, default=default, reason=spec.reason, weight=spec.weight)
    kind = spec.kind if spec.kind is not None else _usual_kind(info.type)
    return Field(info.name, tuple(spec.key.split(".")), kind, required, default, filler=spec.filler)


def _made(factory: Any) -> Any:
    return NODEFAULT if factory is NODEFAULT else factory()


def _usual_kind(hint: Any) -> Kind:
    """The kind of a canonical field by its annotation."""
    name = str(hint).removeprefix("<class '").removesuffix("'>").replace("typing.Any", "Json")
    name = name.replace(" | None", "").replace("Optional[", "").rstrip("]") if "tuple" not in name else name
    by_name = {getattr(key, "__name__", key): kind for key, kind in USUAL_KINDS.items()}
    if name not in by_name:
        name = "dict[str, Json]" if name.startswith("dict") else name
    return by_name.get(name, ANY)


def _take(field: Field, rest: Wire, into: dict[str, Any], marks: Wire) -> bool:
    wire = find(rest, field.key)
    value = field.default if wire is ABSENT or _is_blank(field, wire) else field.kind.read(wire, marks)
    if wire is ABSENT or value is REFUSED:  # what is refused stays residue, and nothing may be written over it
        if field.filler is not OMIT:
            _spell(marks, field.name, [])
        return not field.required
    remove(rest, field.key)
    into[field.name] = value
    if field.required or value != field.default:
        usual = field.kind.is_usual(value, wire)
    else:
        usual = field.filler is not OMIT and wire == field.filler and type(wire) is type(field.filler)
    if not usual:
        _spell(marks, field.name, [wire])
    return True


def _is_blank(field: Field, wire: Json) -> bool:
    """Whether a value says nothing: null, or what is empty for its kind. A required field has none."""
    if field.required:
        return False
    return wire is None or (wire == field.kind.blank and type(wire) is type(field.kind.blank))


def _take_constant(field: Field, rest: Wire, marks: Wire) -> None:
    wire = find(rest, field.key)
    if wire is ABSENT:
        _spell(marks, field.name, [])
    elif wire == field.default and type(wire) is type(field.default):
        remove(rest, field.key)


def _spell(marks: Wire, name: str, wire: list[Json]) -> None:
    marks.setdefault("spelling", {})[name] = wire


def _put(
    field: Field,
    held: Any,
    wire: Wire,
    ledger: Ledger,
    marks: Mapping[str, Json],
    spelled: list[Json] | None,
) -> bool:
    if spelled is not None and _reads_as(field, spelled) == held:
        if spelled:
            put(wire, field.key, spelled[0])
        return True
    if held == field.default and not field.required:
        if field.filler is not OMIT:
            put(wire, field.key, field.filler)
        return True
    where, losses = ledger.where, len(ledger.losses)
    ledger.where = (*where, field.name)
    written = field.kind.write(held, ledger, marks)
    ledger.where = where
    if written is OMIT:
        if field.required:
            ledger.lift(losses)
        return not field.required
    put(wire, field.key, written)
    return True


def _reads_as(field: Field, spelled: list[Json]) -> Any:
    """The canonical value of a spelling that was kept."""
    return field.default if not spelled or _is_blank(field, spelled[0]) else field.kind.read(spelled[0], {})


def _never(value: Any) -> bool:
    return False


def _nothing(value: Any) -> None:
    """Written by the interpreter only."""


def field_lines(table: Table) -> Iterator[tuple[str, str, str, str]]:
    """``(our type, our field, their path, what kind)`` of every field of a table, for documentation."""
    for row in table.rows:
        for field in row.fields:
            if not field.constant:
                yield row.type.__name__, field.name, ".".join(field.key), field.kind.name if field.key else field.reason
