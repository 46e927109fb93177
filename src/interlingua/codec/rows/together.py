"""Fields and keys that only together have a meaning: several keys on the wire for several fields of ours.

``{"mimeType": …, "data": …}`` is one source, and ``{"error": …}`` is both a content and a flag: no single key is one
field. A ``Group`` is the kind of such fields. As with every kind, what is read and would be written otherwise keeps its
spelling, here as ``[{key: wire value}]`` by the paths of the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ...types.base import Json
from ..json import Wire
from ..ledger import Ledger
from ..paths import ABSENT, find, merge, put, remove
from .fields import Field, spell, spelling
from .kinds import OMIT, REFUSED

if TYPE_CHECKING:
    from .source import Source

__all__ = ["Group", "Grouped", "Together"]


class Group:
    """How several fields travel between their canonical values and some keys of the wire."""

    name = "several fields"
    quick: Callable[..., Any] | None = None
    """A reader for compiled code, if there is a faster one than ``read_usual``.

    It takes the values of all keys in their order, ``ABSENT`` for those that are missing.
    """
    quick_write: Callable[..., Any] | None = None
    """A writer for compiled code, where only the first key is written: it takes the fields and returns its value.

    It returns ``OMIT`` where other keys must be written too, or a loss declared.
    """

    def read(self, found: Wire, marks: Wire) -> Any:
        """The canonical values as a tuple, or ``REFUSED``.

        ``found`` has the values of the keys that are there, by their paths (``"inlineData.data"``). Keys that were read
        are removed from it; those left in it stay residue.
        """
        raise NotImplementedError

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        """The wire object of the values, or ``OMIT`` after a declared loss. ``ledger`` is at the value, not a field."""
        raise NotImplementedError

    def is_usual(self, values: Any, found: Wire) -> bool:
        """Whether the keys are how we would write these values."""
        ledger = Ledger()
        usual: Wire = {}
        for path, value in found.items():
            put(usual, path.split("."), value)
        return bool(self.write(values, ledger, {}) == usual and not ledger.losses)

    def frequent(self, fields: Sequence[str], source: Source) -> tuple[str, str] | None:
        """Code that replaces most calls of ``quick_write``: the value of the first key, and when that is the value.

        ``fields`` are the expressions of the fields. None if there is no such code.
        """
        return None

    def read_usual(self, found: Wire) -> Any:
        """The values for compiled code, or ``REFUSED`` if keys are left or would be written otherwise."""
        left = dict(found)
        marks: Wire = {}
        values = self.read(left, marks)
        return REFUSED if values is REFUSED or left or marks or not self.is_usual(values, found) else values

    def write_usual(self, values: Any) -> Any:
        """The wire object for compiled code, or ``OMIT`` where there are losses."""
        ledger = Ledger()
        wire = self.write(values, ledger, {})
        return OMIT if ledger.losses else wire


class Together(NamedTuple):
    """An entry of a row: the names of some fields, the paths of some keys, and their kind.

    ``always``: the keys are written even for the defaults of the fields.
    """

    fields: str
    keys: str
    kind: Group
    required: bool = False
    always: bool = False


class Grouped(Field):
    """Several fields that several keys express together. ``kind`` is a ``Group``."""

    @property
    def group(self) -> Group:
        """The kind of these fields."""
        return cast("Group", cast("Any", self.kind))

    def defaults(self) -> dict[str, Any]:
        return dict(zip(self.names, self.default, strict=True))

    def take(self, rest: Wire, into: dict[str, Any], marks: Wire) -> bool:
        found = {key: value for key in self.paths if (value := find(rest, key.split("."))) is not ABSENT}
        left = dict(found)
        values: Any = self.group.read(left, marks) if found else REFUSED
        if values is REFUSED:
            if self.filler is not OMIT:
                spell(marks, self.name, [{}])
            return not self.required
        taken = {key: value for key, value in found.items() if key not in left}
        for key in taken:
            remove(rest, key.split("."))
        into.update(zip(self.names, values, strict=True))
        is_written = self.required or self.filler is not OMIT or values != self.default
        if not (is_written and self.group.is_usual(values, taken)):
            spell(marks, self.name, [taken])
        return True

    def put(self, value: Any, wire: Wire, ledger: Ledger, marks: Mapping[str, Json]) -> bool:
        held = tuple([getattr(value, name) for name in self.names])
        spelled: list[Wire] | None = spelling(marks).get(self.name)
        if spelled is not None and self._means(spelled[0], held):
            for key, item in spelled[0].items():
                put(wire, key.split("."), item)
            return True
        if held == self.default and not self.required and self.filler is OMIT:
            return True
        losses = len(ledger.losses)
        written = self.group.write(held, ledger, marks)
        if written is OMIT:
            if self.required:
                ledger.lift(losses)
            return not self.required
        if spelled:
            self._respell(written, spelled[0], held)
        merge(wire, written)
        return True

    def _respell(self, written: Wire, spelled: Wire, held: Any) -> None:
        """Some of the fields were edited: each key keeps its spelling if all keys still mean the same with it."""
        for key in self.paths:
            path = key.split(".")
            usual, item = find(written, path), spelled.get(key, ABSENT)
            if usual != item:
                _set(written, path, item)
                found = {name: value for name in self.paths if (value := find(written, name.split("."))) is not ABSENT}
                if not self._means(found, held):
                    _set(written, path, usual)

    def _means(self, spelled: Wire, held: Any) -> bool:
        """Whether the keys ``spelled`` are read as the values ``held``, and nothing of them is left."""
        left = dict(spelled)
        if not spelled:
            return bool(held == self.default)
        return bool(self.group.read(left, {}) == held and not left)


def _set(wire: Wire, path: list[str], item: Any) -> None:
    if item is not ABSENT:
        put(wire, path, item)
    elif find(wire, path) is not ABSENT:
        remove(wire, path)
