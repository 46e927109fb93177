"""Values inside wire objects, by paths of keys, and residue laid under what was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..types.base import Json

__all__ = ["ABSENT", "find", "merge", "put", "remove"]

Wire = dict[str, Json]


class Sentinel:
    """An object that no wire value equals."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


ABSENT = Sentinel("ABSENT")
"""What ``find`` gives where there is nothing."""


def find(wire: Json, path: Sequence[str]) -> Json:
    """The value at a path of keys, or ``ABSENT``."""
    for step in path:
        if type(wire) is not dict or step not in wire:
            return ABSENT
        wire = wire[step]
    return wire


def put(wire: Wire, path: Sequence[str], value: Json) -> None:
    """Set the value at a path; objects on the way are made."""
    for step in path[:-1]:
        wire = wire.setdefault(step, {})
    wire[path[-1]] = value


def remove(wire: Wire, path: Sequence[str]) -> None:
    """Remove the value at a path. Objects on the way are copied first; one that is left empty goes too."""
    if len(path) == 1:
        del wire[path[0]]
        return
    inner = dict(wire[path[0]])
    remove(inner, path[1:])
    if inner:
        wire[path[0]] = inner
    else:
        del wire[path[0]]


def merge(wire: Wire, under: Mapping[str, Json]) -> Wire:
    """Fill only the places of ``wire`` that are absent, in objects and lists alike. Returns ``wire``."""
    for key, value in under.items():
        if key not in wire:
            wire[key] = value
        else:
            written = wire[key]
            if type(written) is dict and type(value) is dict:
                merge(written, value)
            elif type(written) is list and type(value) is list:
                _merge_list(written, value)
    return wire


def _merge_list(written: list[Json], under: list[Json]) -> None:
    for mine, value in zip(written, under, strict=False):
        if type(mine) is dict and type(value) is dict:
            merge(mine, value)
    written.extend(under[len(written) :])
