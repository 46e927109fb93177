"""The fields of a row: how each is taken from a wire object, and how it is put into one.

Nearly every field is one key. The others are classes of their own: a field that the protocol has no key for
(``Unsaid``), one that has several keys (``OtherKeys``), several fields that share several keys (``Grouped``, in
``together``), and keys that are no field of ours because they always have the same value (``Constant``) or mean nothing
(``AcceptedKey``).

These classes define what a row means, field by field. ``compiler`` makes code of the same fields for the usual case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...types.base import Json
from ...types.loss import LossKind, LossWeight
from ..json import Wire
from ..ledger import Ledger, weigh
from ..paths import ABSENT, copied, find, put, remove
from .kinds import OMIT, REFUSED, Kind

__all__ = ["NO_MARKS", "AcceptedKey", "Constant", "Field", "OtherKeys", "Unsaid", "spell", "spelling"]

NO_MARKS: Mapping[str, Json] = {}


class Field(NamedTuple):
    """One field of a row. ``key`` is a path of keys; empty if the protocol has no key for it (``reason``)."""

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
    names: tuple[str, ...] = ()
    """The fields of a group (see ``together``), and ``paths``, its keys; ``kind`` is a ``Group``."""
    paths: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """Other keys of an object that mean the same."""

    @property
    def constant(self) -> bool:
        """Whether ``default`` is a wire value that is always written, and no field of ours."""
        return isinstance(self, Constant)

    @property
    def accepted(self) -> bool:
        """Whether this is a key that may be left out and means nothing, and no field of ours."""
        return isinstance(self, AcceptedKey)

    def is_blank(self, wire: Json) -> bool:
        """Whether a value means nothing: null, or what is empty for its kind. No value of a required field does."""
        if self.required:
            return False
        return wire is None or (wire == self.kind.blank and type(wire) is type(self.kind.blank))

    @property
    def has_blank_filler(self) -> bool:
        """Whether the filler means nothing, so that it is read as the default without calling the kind."""
        return self.is_blank(self.filler)

    def defaults(self) -> dict[str, Any]:
        """The values of our fields where the wire has no such key."""
        return {self.name: self.default}

    def take(self, rest: Wire, into: dict[str, Any], marks: Wire) -> bool:
        """Move the value from ``rest`` to ``into``; False if it is required, and missing or of another kind."""
        wire = find(rest, self.key)
        value = self.default if wire is ABSENT or self.is_blank(wire) else self.kind.read(wire, marks)
        if wire is ABSENT or value is REFUSED:  # what is refused stays residue, and nothing may be written over it
            if self.filler is not OMIT:
                spell(marks, self.name, [])
            return not self.required
        remove(rest, self.key)
        into[self.name] = value
        if self.required or value != self.default:
            usual = self.kind.is_usual(value, wire)
        else:
            usual = self.filler is not OMIT and wire == self.filler and type(wire) is type(self.filler)
        if not usual:
            spell(marks, self.name, [wire])
        return True

    def put(self, value: Any, wire: Wire, ledger: Ledger, marks: Mapping[str, Json]) -> bool:
        """Write the field of a value; False if it is required and cannot be written."""
        held, spelled = getattr(value, self.name), spelling(marks).get(self.name)
        if spelled is not None and self._reads_as(spelled) == held:
            if spelled:
                put(wire, self.key, spelled[0])
            return True
        if held == self.default and not self.required:
            if self.filler is not OMIT:
                put(wire, self.key, copied(self.filler))
            return True
        losses = len(ledger.losses)
        written = self.wire_value(held, ledger, marks)
        if written is OMIT:
            if self.required:
                ledger.lift(losses)
            return not self.required
        put(wire, self.key, written)
        return True

    def wire_value(self, held: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        """The wire value of what the field holds, with losses declared at the field."""
        where = ledger.where
        ledger.where = (*where, self.name)
        written = self.kind.write(held, ledger, marks)
        ledger.where = where
        return written

    def _reads_as(self, spelled: list[Json]) -> Any:
        """The canonical value of a spelling that was kept."""
        return self.default if not spelled or self.is_blank(spelled[0]) else self.kind.read(spelled[0], {})


class Unsaid(Field):
    """A field that the protocol has no key for: using it is a loss."""

    def take(self, rest: Wire, into: dict[str, Any], marks: Wire) -> bool:
        return True

    def put(self, value: Any, wire: Wire, ledger: Ledger, marks: Mapping[str, Json]) -> bool:
        held = getattr(value, self.name)
        if held != self.default and self.reason:
            ledger.lose(self.loss, self.reason, self.name, weight=weigh(self.name, held, self.weight))
        return True


class OtherKeys(Field):
    """A field with other keys beside its own: servers write the same thing under different names.

    We write the first key; the others are read too. Which keys there were is the field's spelling, an object: for each
    key ``[]`` if it has the field's value as we write it, or ``[wire value]`` if it means nothing or is written
    otherwise. A field that was edited is written under the same keys. A key that contradicts the one before it is
    residue.
    """

    def take(self, rest: Wire, into: dict[str, Any], marks: Wire) -> bool:
        value, found = self.default, False
        keys: dict[str, list[Json]] = {}
        main = ".".join(self.key)
        for key in (main, *self.others):
            path = key.split(".")
            wire = find(rest, path)
            if wire is ABSENT:
                continue
            read: Any = self.default if self.is_blank(wire) else self.kind.read(wire, marks)
            if read is REFUSED or (found and read != value and not self.is_blank(wire)):
                continue
            if self.is_blank(wire):
                keys[key] = [wire]
            else:
                value, found = read, True
                keys[key] = [] if self.kind.is_usual(read, wire) else [wire]
            remove(rest, path)
        into[self.name] = value
        if keys and keys != {main: []}:
            spell(marks, self.name, keys)
        return True

    def put(self, value: Any, wire: Wire, ledger: Ledger, marks: Mapping[str, Json]) -> bool:
        keys: Mapping[str, list[Json]] | None = spelling(marks).get(self.name)
        if keys is None:
            return super().put(value, wire, ledger, marks)
        held = getattr(value, self.name)
        written = OMIT if held == self.default else self.wire_value(held, ledger, marks)
        used = False
        for key, spelled in keys.items():
            if spelled and (self.is_blank(spelled[0]) or self.kind.read(spelled[0], {}) == held):
                put(wire, key.split("."), spelled[0])
                used = used or not self.is_blank(spelled[0])
            elif written is not OMIT:
                put(wire, key.split("."), written)
                used = True
        if not used and written is not OMIT:
            put(wire, self.key, written)
        return True


class Constant(Field):
    """A key that always has the same value, or is missing on the wire. With another value it is residue."""

    def defaults(self) -> dict[str, Any]:
        return {}

    def take(self, rest: Wire, into: dict[str, Any], marks: Wire) -> bool:
        wire = find(rest, self.key)
        if wire is ABSENT:
            spell(marks, self.name, [])
        elif wire == self.default and type(wire) is type(self.default):
            remove(rest, self.key)
        return True

    def put(self, value: Any, wire: Wire, ledger: Ledger, marks: Mapping[str, Json]) -> bool:
        return True  # ``Row.put_constants`` writes it, since residue may hold another value


class AcceptedKey(Field):
    """A key that may be left out and means nothing. ``required``: with another value the object is not of this row."""

    def defaults(self) -> dict[str, Any]:
        return {}

    def take(self, rest: Wire, into: dict[str, Any], marks: Wire) -> bool:
        wire = find(rest, self.key)
        if wire is not ABSENT:
            if self.kind.read(wire, marks) is REFUSED:
                return not self.required
            spell(marks, self.name, [wire])
            remove(rest, self.key)
        return True

    def put(self, value: Any, wire: Wire, ledger: Ledger, marks: Mapping[str, Json]) -> bool:
        spelled = spelling(marks).get(self.name)
        if spelled is not None:
            put(wire, self.key, spelled[0])
        return True


def spelling(marks: Mapping[str, Json]) -> Mapping[str, Any]:
    """How the wire spelled fields, where we would write them otherwise."""
    found: Mapping[str, Any] = marks.get("spelling", NO_MARKS)
    return found


def spell(marks: Wire, name: str, wire: Json) -> None:
    """Remember how the wire spelled a field."""
    marks.setdefault("spelling", {})[name] = wire
