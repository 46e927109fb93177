"""Values inside wire objects by paths of keys, and merging residue into what was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..types.base import Json
from .json import Wire, is_array, is_object

__all__ = ["ABSENT", "find", "copied", "put_back", "merge", "put", "remove"]


class Sentinel:
    """An object that no wire value equals."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


ABSENT = Sentinel("ABSENT")
"""What ``find`` returns where the wire has no value."""


def find(wire: Json, path: Sequence[str]) -> Json:
    """The value at a path of keys, or ``ABSENT``."""
    for step in path:
        if not is_object(wire) or step not in wire:
            return ABSENT
        wire = wire[step]
    return wire


def copied(value: Json) -> Json:
    """A deep copy of a value that a row writes every time, because residue may be merged into it."""
    if is_object(value):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if is_array(value) else value


def put(wire: Wire, path: Sequence[str], value: Json) -> None:
    """Set the value at a path; missing objects on the way are created."""
    for step in path[:-1]:
        wire = wire.setdefault(step, {})
    wire[path[-1]] = value


def remove(wire: Wire, path: Sequence[str]) -> None:
    """Remove the value at a path. Objects on the way are copied first; those left empty are removed too."""
    if len(path) == 1:
        del wire[path[0]]
        return
    inner = dict(wire[path[0]])
    remove(inner, path[1:])
    if inner:
        wire[path[0]] = inner
    else:
        del wire[path[0]]


def put_back(rest: Wire, key: str, left: Wire) -> None:
    """Set the key to what is left of its object, or remove the key if nothing is left."""
    rest[key] = left
    if not left:
        del rest[key]


def merge(wire: Wire, under: Mapping[str, Json]) -> Wire:
    """Add the values of ``under`` that are missing in ``wire``, in nested objects and lists too. Returns ``wire``."""
    for key, value in under.items():
        if key not in wire:
            wire[key] = value
        else:
            written = wire[key]
            if is_object(written) and is_object(value):
                merge(written, value)
            elif is_array(written) and is_array(value):
                _merge_list(written, value)
    return wire


def _merge_list(written: list[Json], under: list[Json]) -> None:
    for item, value in zip(written, under, strict=False):
        if is_object(item) and is_object(value):
            merge(item, value)
    written.extend(under[len(written) :])
