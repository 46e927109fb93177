"""Other keys of one field: servers write the same thing under different names.

The first key is ours; the others are read too. Which keys there were is the field's spelling, an object: for each key
``[]`` if it has the field's value as we write it, or ``[wire value]`` if it says nothing or is written otherwise. A
field that was edited is written under the same keys. A key that contradicts the one before it is residue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..types.base import Json
from .json import Wire
from .kinds import OMIT, REFUSED
from .paths import ABSENT, find, put, remove

__all__ = ["put_keys", "take_keys"]


def take_keys(field: Any, rest: Wire, into: dict[str, Any], marks: Wire) -> None:
    """Move the value of a field from ``rest`` to ``into``, and every key that says the same."""
    value, found = field.default, False
    keys: dict[str, list[Json]] = {}
    main = ".".join(field.key)
    for key in (main, *field.others):
        path = key.split(".")
        wire = find(rest, path)
        if wire is ABSENT:
            continue
        read: Any = field.default if field.is_blank(wire) else field.kind.read(wire, marks)
        if read is REFUSED or (found and read != value and not field.is_blank(wire)):
            continue
        if field.is_blank(wire):
            keys[key] = [wire]
        else:
            value, found = read, True
            keys[key] = [] if field.kind.is_usual(read, wire) else [wire]
        remove(rest, path)
    into[field.name] = value
    if keys and keys != {main: []}:
        marks.setdefault("spelling", {})[field.name] = keys


def put_keys(field: Any, held: Any, wire: Wire, keys: Mapping[str, list[Json]], write: Callable[[], Json]) -> None:
    """Write a field under the keys that it was read from; ``write`` gives its wire value."""
    written = OMIT if held == field.default else write()
    used = False
    for key, spelled in keys.items():
        if spelled and (field.is_blank(spelled[0]) or field.kind.read(spelled[0], {}) == held):
            put(wire, key.split("."), spelled[0])
            used = used or not field.is_blank(spelled[0])
        elif written is not OMIT:
            put(wire, key.split("."), written)
            used = True
    if not used and written is not OMIT:
        put(wire, field.key, written)
