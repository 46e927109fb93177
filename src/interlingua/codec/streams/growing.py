"""Merging unknown fields that a stream sends in pieces: objects and indexed lists merge, some texts are appended."""

from __future__ import annotations

from ...types.base import Json
from ..json import Wire, is_array, is_object

__all__ = ["accumulate"]

GROWING = ("text", "summary", "data", "arguments", "signature")
"""The fields of indexed entries whose texts are appended; any other value is replaced by the newest."""


def accumulate(into: Wire, new: Wire) -> None:
    """Merge the unknown fields of one delta into ``into``, whose lists and objects are changed in place."""
    for key, value in new.items():
        old = into.get(key)
        if is_object(value):
            inner = into[key] = old if is_object(old) else {}
            accumulate(inner, value)
        elif is_array(value):
            known = into[key] = old if is_array(old) else []
            _accumulate_list(known, value)
        elif value is not None or key not in into:
            into[key] = value


def _accumulate_list(known: list[Json], new: list[Json]) -> None:
    for item in new:
        place = _place_of(item, known) if is_object(item) and "index" in item else None
        if place is None:
            known.append(item)
        else:
            known[place] = _grown(known[place], item)


def _place_of(item: Wire, known: list[Json]) -> int | None:
    """The index of the entry that ``item`` continues, usually the last; None if there is none."""
    for place in range(len(known) - 1, -1, -1):
        entry = known[place]
        if is_object(entry) and entry.get("index") == item["index"] and entry.get("type") == item.get("type"):
            return place
    return None


def _grown(known: Wire, item: Wire) -> Wire:
    grown = dict(known)
    for key, value in item.items():
        if key in GROWING and isinstance(value, str) and isinstance(known.get(key), str):
            grown[key] = known[key] + value
        elif value is not None:
            grown[key] = value
    return grown
