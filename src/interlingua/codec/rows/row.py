"""Rows: a dialect's phrases as data, and what they mean.

A ``Table`` is one place on the wire, such as "a content block". It has a ``Row`` for each thing that can stand there:
our type, their tag, and our fields with their keys. A key may be a path (``"usage.input_tokens"``); what is left of an
object on the way stays residue in its own nesting. A canonical field that a row does not name is an error at import,
so nothing is forgotten. A field that the protocol has no key for is named with ``lost``: using it is a loss.

This module and ``fields`` define what rows mean: they read and write by interpreting them. ``compiler`` makes
straight-line code from the same rows for the usual case; what that code cannot handle is interpreted here.

Reading. A copy of the wire object is made, and every field takes what it knows; the rest is residue (``extras``). A
required field that is missing or of the wrong type makes the value unreadable: the table's ``unknown`` decides (most
tables carry it whole). An optional one of the wrong type stays residue.

Spelling. Each kind of field has one usual spelling on the wire. Where the wire had another one (null where we write
nothing, a synonym), it is kept beside the field: ``forms[dialect]["spelling"][field]`` is ``[wire value]``, or ``[]``
if the key was absent. It is written back only while reading it still gives the value of the field: an edited field
wins.

Rules say what a protocol refuses in a history: a rule drops the value, leaves out one field or fits it, each with a
loss. A value that was read from this dialect although it breaks a rule is written back as it came; the rule's field
is then listed in ``forms[dialect]["verbatim"]``. Rules for a history do not hold for answers: ``Table.for_answers``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from msgspec import NODEFAULT, Struct

from ...types.base import Json
from ...types.loss import LossKind, LossWeight
from ..json import Wire
from ..ledger import Ledger
from ..paths import ABSENT, copied, find, put
from .field_kinds import Accepted, Declared, declared, usual_kind
from .fields import NO_MARKS, AcceptedKey, Constant, Field, OtherKeys, Unsaid
from .kinds import ANY, OMIT, Kind
from .together import Grouped, Together

__all__ = ["Row", "Rule", "Spec", "fill", "write_only", "lost", "may", "must", "null"]

OFF_WIRE = frozenset({*"extras forms incomplete native_ids annotations output stopped stopped_reason".split()})
"""Fields that no row names: the engine sets some of them, the others are on no wire."""


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
    """A required key. If it is missing or of another type, this row does not read the wire object."""
    return Spec(key, kind, True)


def may(key: str, kind: Kind | None = None, *, default: Any = NODEFAULT, other: str = "") -> Spec:
    """An optional key: written if the field has another value than its default. ``other`` keys mean the same."""
    return Spec(key, kind, False, default=default, other=other)


def null(key: str, kind: Kind | None = None) -> Spec:
    """A key that is always written: null where the field has its default."""
    return Spec(key, kind, False, filler=None)


def fill(key: str, filler: Json, kind: Kind | None = None, *, default: Any = NODEFAULT) -> Spec:
    """A key that is always written: ``filler`` where the field has its default.

    For a field without a default, ``default`` is its default, else the filler itself.
    """
    return Spec(key, kind, False, filler=filler, default=filler if default is NODEFAULT else default)


def lost(reason: str, weight: LossWeight = "content", loss: LossKind = "dropped") -> Spec:
    """The protocol has no key for the field: using it is a loss with this reason."""
    return Spec(None, reason=reason, weight=weight, loss=loss)


ELSEWHERE = Spec("")  # a field that functions of the dialect read and write


class Rule(NamedTuple):
    """What the protocol refuses. ``holds`` tells whether a value is accepted; ``source`` is the same test as code.

    ``fit`` returns the value to write instead, after declaring its losses; None drops the value. ``history``: the rule
    holds for the history of a request, not for answers.
    """

    field: str
    holds: Callable[[Any], bool]
    fit: Callable[[Any, Ledger], Any]
    source: str = ""
    history: bool = False
    names: Mapping[str, Any] = NO_MARKS
    """The objects that ``source`` names."""
    fitted_before: bool = False
    """Whether values are fitted before rows write them, so that the rule is for reading only."""


class Row:
    """One phrase: a canonical type, its tag on the wire, rules, and its fields.

    ``constants`` are keys that always have the same value. ``accepts`` are keys that may be missing; with another value
    the object is not of this row. ``ignores`` are keys that mean nothing with this value, or with any value of a kind,
    and are residue with another one. ``fixed`` are values of canonical fields by which this row is chosen among the
    rows of its type; ``when``, a condition on the value, chooses it too. ``gives`` are values that reading gives to
    canonical fields. ``elsewhere`` names the fields that functions of the dialect read and write.
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

    def make_fields(self, common: Mapping[str, Spec]) -> None:
        """Make the fields, with those that all rows of the table share. A canonical field without an entry raises."""
        info = declared(self.type)
        specs = self.specs | {name: spec for name, spec in common.items() if name in info and name not in self.specs}
        grouped = {name for group in self.together for name in group.fields.split()}
        missing = info.keys() - specs.keys() - self.gives.keys() - grouped - OFF_WIRE
        if missing or specs.keys() - info.keys():
            odd = sorted(missing or specs.keys() - info.keys())
            raise TypeError(f"the row of {self.type.__name__} {self.tag!r}: {', '.join(odd)} missing or unknown")
        made = [_field(info[name], spec) for name, spec in specs.items() if name not in grouped]
        made += [_group(group, info) for group in self.together]
        constant: list[Field] = [
            Constant(f"={key}", tuple(key.split(".")), ANY, default=value) for key, value in self.constants.items()
        ]
        accepted: list[Field] = [
            AcceptedKey(f"?{key}", tuple(key.split(".")), Accepted(value), key in self.accepts, value)
            for key, value in (*self.accepts.items(), *self.ignores.items())
        ]
        self.fields = tuple([field for field in made if field is not None] + constant + accepted)
        self.constant_fields = constant
        for field in self.fields:
            if field.name in info and not field.required and info[field.name].default is NODEFAULT:
                self.gives.setdefault(field.name, field.default)

    def suits(self, value: Any) -> bool:
        """Whether this row writes a value of its type, as ``fixed`` and ``when`` say."""
        fixed = all(getattr(value, name) == fixed for name, fixed in self.fixed.items())
        return fixed and (self.when is None or self.when(value))

    # ------------------------------------------------------------------------------------------------------- reading

    def take(self, rest: Wire, into: dict[str, Any], marks: Wire) -> bool:
        """Move what the fields know from ``rest`` to ``into``; False if a required field is missing or wrong."""
        return all(field.take(rest, into, marks) for field in self.fields)

    def take_apart(self, wire: Wire) -> tuple[dict[str, Any], Wire, Wire]:
        """Return the fields of a wire object, what is left of it, and marks."""
        fields: dict[str, Any] = {}
        for field in self.fields:
            fields |= field.defaults() if field.key else {}
        marks: Wire = {}
        self.take(rest := dict(wire), fields, marks)
        return fields, rest, marks

    # ------------------------------------------------------------------------------------------------------- writing

    def put(self, value: Any, wire: Wire, ledger: Ledger, marks: Mapping[str, Json]) -> bool:
        """Write every field of a value; False if one that is required cannot be written."""
        return all(field.put(value, wire, ledger, marks) for field in self.fields)

    def put_constants(self, wire: Wire, marks: Mapping[str, Json], residue: Wire | None = None) -> None:
        """Write the constant keys, except those that stand in residue and those that were missing on the wire."""
        spelling = marks.get("spelling", NO_MARKS)
        for field in self.constant_fields:
            if field.name not in spelling and find(wire, field.key) is find(residue, field.key) is ABSENT:
                put(wire, field.key, copied(field.default))


def write_only(type: type[Struct], fit: Callable[[Any, Ledger], Any]) -> Row:
    """A row for writing only: the protocol cannot express this type, and ``fit`` returns what is written instead."""
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
        return Unsaid(info.name, (), ANY, False, default, spec.reason, spec.weight, spec.loss)
    kind = spec.kind if spec.kind is not None else usual_kind(info.hint)
    others = tuple(spec.other.split())
    made = OtherKeys if others else Field
    return made(info.name, tuple(spec.key.split(".")), kind, required, default, filler=spec.filler, others=others)


def _group(group: Together, info: Mapping[str, Declared]) -> Field:
    names, paths = tuple(group.fields.split()), tuple(group.keys.split())
    default = tuple([info[name].default for name in names])
    kind: Any = group.kind
    filler = default if group.always else OMIT
    return Grouped(group.fields, (paths[0],), kind, group.required, default, filler=filler, names=names, paths=paths)


def _never(value: Any) -> bool:
    return False
