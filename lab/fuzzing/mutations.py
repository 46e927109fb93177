"""Changes to JSON values and to bytes, chosen by a seeded generator: the same seed makes the same changes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from interlingua.types.base import Json
from lab.oracles.leaves import is_array, is_object

__all__ = ["mutated", "mutated_bytes", "near_miss"]

Path = tuple[str | int, ...]

ODD: tuple[Json, ...] = (
    *(None, True, False, 0, -1, 7, 1.5, 1e308, 2**63, "", " ", "0", "²", "null", "absent", "x" * 300),
    *([], {}, [None], [{}], {"": None}, {"type": "text"}, {"type": None}, [[[]]]),
)
KEYS = ("type", "id", "name", "text", "content", "index", "role", "input", "error", "zzz", "")


def _places(value: Json, path: Path, found: list[Path]) -> None:
    found.append(path)
    if is_object(value):
        for key, item in value.items():
            _places(item, (*path, key), found)
    elif is_array(value):
        for index, item in enumerate(value):
            _places(item, (*path, index), found)


def _changed(value: Json, path: Path, change: Callable[[Any, str | int], None]) -> Json:
    """A copy of a value in which ``change`` was called with the container of a path and its last step."""
    if is_object(value):
        copy: Any = dict(value)
    else:
        copy = list(value)
    if len(path) == 1:
        change(copy, path[0])
    else:
        copy[path[0]] = _changed(copy[path[0]], path[1:], change)
    return copy


def _remove(container: Any, key: str | int) -> None:
    del container[key]


def mutated(value: Json, random: Random, changes: int = 1) -> Json:
    """The value with some places removed, set to something odd, swapped with others, or added to."""
    for _ in range(changes):
        value = _once(value, random)
    return value


def _once(value: Json, random: Random) -> Json:
    places: list[Path] = []
    _places(value, (), places)
    path = random.choice(places)
    if not path:
        return value
    kind = random.randrange(5)
    if kind == 0:
        return _changed(value, path, _remove)
    if kind == 1:
        return _put(value, path, random.choice(ODD))
    if kind == 2:
        return _put(value, path, _at(value, random.choice(places)))
    if kind == 3:
        return _put(value, path, _retyped(_at(value, path), random))
    return _added(value, path, random)


def near_miss(value: Json, random: Random) -> Json:
    """The value with one leaf removed, of another type, null, or with a key added beside it."""
    places: list[Path] = []
    _places(value, (), places)
    leaves = [path for path in places if path and not isinstance(_at(value, path), dict | list)]
    if not leaves:
        return value
    path, kind = random.choice(leaves), random.randrange(4)
    if kind == 0:
        return _changed(value, path, _remove)
    if kind == 1:
        return _put(value, path, _retyped(_at(value, path), random))
    return _put(value, path, None) if kind == 2 else _added(value, path, random)


def _put(value: Json, path: Path, new: Json) -> Json:
    return _changed(value, path, lambda container, key: container.__setitem__(key, new))


def _added(value: Json, path: Path, random: Random) -> Json:
    """A copy of a value with a new key or item beside a path."""
    new, name = random.choice(ODD), random.choice(KEYS)

    def add(container: Any, key: str | int) -> None:
        if is_object(container):
            container.setdefault(name, new)
        else:
            container.insert(key, new)

    return _changed(value, path, add)


def _retyped(value: Json, random: Random) -> Json:
    """The value in another type: a number as text, a text in a list, an object in a list."""
    forms: list[Json] = [str(value), [value], {"value": value}, 7, True]
    if isinstance(value, str):
        forms = [[value], {"text": value}, len(value), True]
    return random.choice(forms)


def _at(value: Json, path: Path) -> Json:
    for step in path:
        value = value[step]
    return value


def mutated_bytes(data: bytes, random: Random) -> bytes:
    """Bytes with a piece cut out, doubled, overwritten or moved."""
    if not data:
        return data
    begin, size = random.randrange(len(data)), random.choice((1, 2, 8, 40, 200))
    piece, kind = data[begin : begin + size], random.randrange(5)
    if kind == 0:
        return data[:begin] + data[begin + size :]
    if kind == 1:
        return data[:begin] + piece + data[begin:]
    if kind == 2:
        return data[:begin] + random.randbytes(len(piece)) + data[begin + size :]
    if kind == 3:
        place = random.randrange(len(data))
        return data[:place] + piece + data[place:]
    return data[:begin]
