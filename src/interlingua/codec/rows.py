"""Rows: a dialect's phrases as data, and what they mean.

A ``Table`` is one place on the wire, such as "a content block". It has a ``Row`` for each thing that can stand there:
our type, their tag, and our fields with their keys. A key may be a path (``"usage.input_tokens"``); what is left of an
object on the way stays residue in its own nesting. A canonical field that a row does not name is an error at import,
so nothing is forgotten: ``lost`` says that the protocol has no key for it: using it is a loss.

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

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from msgspec import NODEFAULT, Struct

from ..types.base import Json
from ..types.loss import LossKind, LossWeight
from .field_kinds import Accepted, Declared, declared, usual_kind
from .json import Wire
from .kinds import ANY, OMIT, REFUSED, Kind
from .ledger import Ledger, weigh
from .other_keys import put_keys, take_keys
from .paths import ABSENT, find, fresh, put, remove
from .together import Together, put_together, take_together

__all__ = ["Field", "Row", "Rule", "Spec", "fill", "instead", "lost", "may", "must", "null"]

OFF_WIRE = frozenset({*"extras forms incomplete native_ids annotations output stopped stopped_reason".split()})
"""Fields that no row has: the engine's own, and those that are on no wire."""
NO_MARKS: Mapping[str, Json] = {}


class Field(NamedTuple):
    """One field of a row. ``key`` is a path of keys; empty if the protocol has no word for it (``reason``)."""

    name: str
    key: tuple[str, ...]
    kind: Kind
    required: bool = False
    default: Any = None
    reason: str = ""
    weight: LossWeight = "content"
    loss: LossKind = "dropped"
    filler: Json = OMIT
    """What is written for the default; usually nothing."""
    constant: bool = False
    """Whether ``default`` is a wire value that is always written, and no field of ours."""
    accepted: bool = False
    """Whether this is a key that may be left out and says nothing, and no field of ours."""
    names: tuple[str, ...] = ()
    """The fields of a group (see ``together``), and ``paths``, its keys; ``kind`` is a ``Group``."""
    paths: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """Other keys of an object that say the same (see ``other_keys``)."""

    def is_blank(self, wire: Json) -> bool:
        """Whether a value says nothing: null, or what is empty for its kind. A required field has none."""
        if self.required:
            return False
        return wire is None or (wire == self.kind.blank and type(wire) is type(self.kind.blank))

    @property
    def has_blank_filler(self) -> bool:
        """Whether the filler says nothing, so that it is read as the default without asking the kind."""
        return self.is_blank(self.filler)


class Spec(NamedTuple):
    """A field of a row before the row knows its canonical type."""

    key: str | None
    kind: Kind | None = None
    required: bool | None = None
    reason: str = ""
    weight: LossWeight = "content"
    loss: LossKind = "dropped"
    filler: Json = OMIT
    default: Any = NODEFAULT
    """What a missing key means, where the canonical field has no default."""
    other: str = ""


def must(key: str, kind: Kind | None = None) -> Spec:
    """A required key. Without it, or with another type, the wire object is not of this row."""
    return Spec(key, kind, True)


def may(key: str, kind: Kind | None = None, *, default: Any = NODEFAULT, other: str = "") -> Spec:
    """An optional key: written if the field has another value than its default. ``other`` keys say the same."""
    return Spec(key, kind, False, default=default, other=other)


def null(key: str, kind: Kind | None = None) -> Spec:
    """A key that is always written: null where the field has its default."""
    return Spec(key, kind, False, filler=None)


def fill(key: str, filler: Json, kind: Kind | None = None, *, default: Any = NODEFAULT) -> Spec:
    """A key that is always written: ``filler`` where the field has its default.

    A field without a default has the one that is given here, else the filler itself.
    """
    return Spec(key, kind, False, filler=filler, default=filler if default is NODEFAULT else default)


def lost(reason: str, weight: LossWeight = "content", loss: LossKind = "dropped") -> Spec:
    """The protocol has no key for the field: using it is a loss with this reason."""
    return Spec(None, reason=reason, weight=weight, loss=loss)


ELSEWHERE = Spec("")


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
    names: Mapping[str, Any] = NO_MARKS
    """The objects that ``source`` names."""


class Row:
    """One phrase: a canonical type, its tag on the wire, rules, and its fields.

    ``constants`` are keys that always say the same, ``accepts`` keys that may be left out and say the same otherwise,
    ``ignores`` keys that say nothing with this value, or with any value of a kind, and are residue with another one.
    ``fixed`` are values of canonical fields that belong to this row alone, and choose it among the rows of one type;
    so does ``when``, a condition on the value. ``gives`` are values of canonical fields that reading sets.
    ``elsewhere`` names the fields whose shape differs, so that functions of the dialect read and write them.
    """

    def __init__(
        self,
        type: type[Struct],
        tag: str | None,
        *rules: Rule | Together,
        constants: Mapping[str, Json] = NO_MARKS,
        accepts: Mapping[str, Json] = NO_MARKS,
        ignores: Mapping[str, Json] = NO_MARKS,
        fixed: Mapping[str, Any] = NO_MARKS,
        gives: Mapping[str, Any] = NO_MARKS,
        when: Callable[[Any], bool] | None = None,
        elsewhere: str = "",
        **specs: str | Spec,
    ) -> None:
        self.type, self.tag, self.when = type, tag, when
        self.rules = [rule for rule in rules if isinstance(rule, Rule)]
        self.together = [group for group in rules if isinstance(group, Together)]
        self.specs: dict[str, str | Spec] = {**dict.fromkeys(elsewhere.split(), ELSEWHERE), **specs}
        self.constants, self.accepts, self.ignores, self.fixed = constants, accepts, ignores, dict(fixed)
        self.gives = {**fixed, **gives}
        self.fields: tuple[Field, ...] = ()
        self.constant_fields: list[Field] = []

    def settle(self, common: Mapping[str, Spec]) -> None:
        """Make the fields, given what the table says of every row. Every canonical field must be spoken for."""
        info = declared(self.type)
        specs = self.specs | {name: spec for name, spec in common.items() if name in info and name not in self.specs}
        grouped = {name for group in self.together for name in group.fields.split()}
        missing = info.keys() - specs.keys() - self.gives.keys() - grouped - OFF_WIRE
        if missing or specs.keys() - info.keys():
            odd = sorted(missing or specs.keys() - info.keys())
            raise TypeError(f"the row of {self.type.__name__} {self.tag!r}: {', '.join(odd)} missing or unknown")
        made = [_field(info[name], spec) for name, spec in specs.items() if name not in grouped]
        made += [_group(group, info) for group in self.together]
        constant = [
            Field(f"={key}", tuple(key.split(".")), ANY, default=value, constant=True)
            for key, value in self.constants.items()
        ]
        accepted = [
            Field(f"?{key}", tuple(key.split(".")), Accepted(value), key in self.accepts, value, accepted=True)
            for key, value in (*self.accepts.items(), *self.ignores.items())
        ]
        self.fields = tuple([field for field in made if field is not None] + constant + accepted)
        self.constant_fields = constant
        for field in self.fields:
            if field.name in info and not field.required and info[field.name].default is NODEFAULT:
                self.gives.setdefault(field.name, field.default)

    def suits(self, value: Any) -> bool:
        """Whether a value of this row's type is one of this row."""
        fixed = all(getattr(value, name) == fixed for name, fixed in self.fixed.items())
        return fixed and (self.when is None or self.when(value))

    # ------------------------------------------------------------------------------------------------------- reading

    def take(self, rest: Wire, into: dict[str, Any], marks: Wire) -> bool:
        """Move what the fields know from ``rest`` to ``into``; False if a required field is missing or wrong."""
        for field in self.fields:
            if not field.key:
                continue
            if field.constant:
                _take_constant(field, rest, marks)
            elif field.accepted:
                if not _take_accepted(field, rest, marks):
                    return False
            elif field.names:
                if not take_together(field, rest, into, marks):
                    return False
            elif field.others:
                take_keys(field, rest, into, marks)
            elif not _take(field, rest, into, marks):
                return False
        return True

    def take_apart(self, wire: Wire) -> tuple[dict[str, Any], Wire, Wire]:
        """The fields of a wire object, what is left of it, and marks."""
        fields = {field.name: field.default for field in self.fields if field.key and not _is_ours(field)}
        for field in self.fields:
            fields |= dict(zip(field.names, field.default, strict=True)) if field.names else {}
        marks: Wire = {}
        self.take(rest := dict(wire), fields, marks)
        return fields, rest, marks

    # ------------------------------------------------------------------------------------------------------- writing

    def put(self, value: Any, wire: Wire, ledger: Ledger, marks: Mapping[str, Json]) -> bool:
        """Write every field of a value; False if one that is required cannot be written."""
        spelling: Mapping[str, Json] = marks.get("spelling", NO_MARKS)
        for field in self.fields:
            if field.constant:
                continue
            if field.accepted:
                if field.name in spelling:
                    put(wire, field.key, spelling[field.name][0])
                continue
            if field.names:
                if not put_together(field, value, wire, ledger, marks):
                    return False
                continue
            held = getattr(value, field.name)
            if field.others and field.name in spelling:
                put_keys(field, held, wire, spelling[field.name], partial(_written, field, held, ledger, marks))
            elif not field.key:
                if held != field.default and field.reason:
                    ledger.lose(field.loss, field.reason, field.name, weight=weigh(field.name, held, field.weight))
            elif not _put(field, held, wire, ledger, marks, spelling.get(field.name)):
                return False
        return True

    def put_constants(self, wire: Wire, marks: Mapping[str, Json], residue: Wire | None = None) -> None:
        """Write what always says the same, unless residue says otherwise or the wire lacked it."""
        spelling = marks.get("spelling", NO_MARKS)
        for field in self.constant_fields:
            if field.name not in spelling and find(wire, field.key) is find(residue, field.key) is ABSENT:
                put(wire, field.key, fresh(field.default))


def instead(type: type[Struct], fit: Callable[[Any, Ledger], Any]) -> Row:
    """A row for writing only: the protocol has no such thing, and ``fit`` gives what is written in its place."""
    row = Row(type, None, Rule("", _never, fit, "False"))
    row.specs = {name: ELSEWHERE for name in type.__struct_fields__ if name not in OFF_WIRE}
    return row


# ----------------------------------------------------------------------------------------------------------- fields


def _field(info: Declared, spec: str | Spec) -> Field | None:
    if isinstance(spec, str):
        spec = Spec(spec)
    if spec.key == "":
        return None
    default = info.default
    required = default is NODEFAULT if spec.required is None else spec.required
    if default is NODEFAULT:
        default = None if spec.default is NODEFAULT else spec.default
    if spec.key is None:
        return Field(info.name, (), ANY, False, default, spec.reason, spec.weight, spec.loss)
    kind = spec.kind if spec.kind is not None else usual_kind(info.hint)
    others = tuple(spec.other.split())
    return Field(info.name, tuple(spec.key.split(".")), kind, required, default, filler=spec.filler, others=others)


def _group(group: Together, info: Mapping[str, Declared]) -> Field:
    names, paths = tuple(group.fields.split()), tuple(group.keys.split())
    default = tuple([info[name].default for name in names])
    kind: Any = group.kind
    filler = default if group.always else OMIT
    return Field(group.fields, (paths[0],), kind, group.required, default, filler=filler, names=names, paths=paths)


def _is_ours(field: Field) -> bool:
    """Whether the engine made this field: it is no single canonical one."""
    return field.constant or field.accepted or bool(field.names)


def _take(field: Field, rest: Wire, into: dict[str, Any], marks: Wire) -> bool:
    wire = find(rest, field.key)
    value = field.default if wire is ABSENT or field.is_blank(wire) else field.kind.read(wire, marks)
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


def _take_accepted(field: Field, rest: Wire, marks: Wire) -> bool:
    wire = find(rest, field.key)
    if wire is not ABSENT:
        if field.kind.read(wire, marks) is REFUSED:
            return not field.required
        _spell(marks, field.name, [wire])
        remove(rest, field.key)
    return True


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
            put(wire, field.key, fresh(field.filler))
        return True
    losses = len(ledger.losses)
    written = _written(field, held, ledger, marks)
    if written is OMIT:
        if field.required:
            ledger.lift(losses)
        return not field.required
    put(wire, field.key, written)
    return True


def _written(field: Field, held: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
    where = ledger.where
    ledger.where = (*where, field.name)
    written = field.kind.write(held, ledger, marks)
    ledger.where = where
    return written


def _reads_as(field: Field, spelled: list[Json]) -> Any:
    """The canonical value of a spelling that was kept."""
    return field.default if not spelled or field.is_blank(spelled[0]) else field.kind.read(spelled[0], {})


def _never(value: Any) -> bool:
    return False
