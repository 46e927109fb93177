"""JSON values as trees: leaves, paths, differences; and canonical values as such trees, without fields off the wire."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec import NODEFAULT, UNSET, Struct

from interlingua.testing.differences import OFF_WIRE
from interlingua.types.base import Json
from lab.oracles.leaves import is_array, is_object

__all__ = [
    "ABSENT",
    "Difference",
    "brief",
    "count_leaves",
    "covers",
    "differences",
    "identical",
    "is_blank",
    "leaves",
    "pattern",
    "plain",
    "same",
    "same_scalar",
    "shape",
    "structs",
]

ABSENT: Any = UNSET
"""The value of a place that does not exist; ``null`` is a value."""

# The presence of such a mark has a meaning: it must not look empty.
MARKS: frozenset[str] = frozenset({"CacheMark"})
_NOTHING: frozenset[str] = frozenset()
_INDEX = re.compile(r"(?<=/)\d+(?=/|$)|\b\d+\b(?=\])")
_LONGEST = 160


class Difference(NamedTuple):
    """Two trees differ at a path."""

    path: str
    before: Json
    after: Json

    def __str__(self) -> str:
        return f"{self.path}: {brief(self.before)} -> {brief(self.after)}"


def brief(value: Json) -> str:
    """A value short enough for a line of a report."""
    text = "<absent>" if value is ABSENT else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 40]} … {text[-30:]}"


def pattern(path: str) -> str:
    """A path with ``*`` for its list indexes: the kind of place."""
    return _INDEX.sub("*", path)


def is_blank(value: Json) -> bool:
    """Whether a value is null or empty, or holds only such values."""
    if is_object(value):
        return all(map(is_blank, value.values()))
    if is_array(value):
        return all(map(is_blank, value))
    return value is None or value == "" or value is ABSENT


def covers(above: str, path: str) -> bool:
    """Whether ``path`` is at or under ``above``; the empty path is above all."""
    return path == above or path.startswith(f"{above}/") or not above


def leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Every scalar with its path; an empty list or object counts as one."""
    children = _children(value)
    if children is None or not value:
        yield path, value
    else:
        for key, child in children:
            yield from leaves(child, f"{path}/{key}" if path else str(key))


def _children(value: Json) -> Iterator[tuple[str | int, Json]] | None:
    if is_object(value):
        return iter(value.items())
    return enumerate(value) if is_array(value) else None


def count_leaves(value: Json) -> tuple[int, int]:
    """How many scalars a tree holds, and how many of them are not null."""
    if is_object(value):
        counts = [count_leaves(child) for child in value.values()]
    elif is_array(value):
        counts = [count_leaves(child) for child in value]
    else:
        return 1, int(value is not None)
    return sum(count for count, _ in counts), sum(count for _, count in counts)


def same(one: Json, other: Json) -> bool:
    """Whether two values are equal as JSON: keys have no order, 1 equals 1.0, true does not equal 1."""
    return _sorted_json(one) == _sorted_json(other) or next(differences(one, other), None) is None


def _sorted_json(value: Json) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def identical(one: Json, other: Json) -> bool:
    """Whether two values are equal, by a quick comparison that never takes true for 1."""
    return same_scalar(one, other) and (_children(one) is None or _sorted_json(one) == _sorted_json(other))


def differences(one: Json, other: Json, path: str = "") -> Iterator[Difference]:
    """Where two trees differ, lists by position."""
    if is_object(one) and is_object(other):
        for key in dict.fromkeys([*one, *other]):
            yield from differences(one.get(key, ABSENT), other.get(key, ABSENT), f"{path}/{key}" if path else key)
    elif is_array(one) and is_array(other):
        for index in range(max(len(one), len(other))):
            left, right = (side[index] if index < len(side) else ABSENT for side in (one, other))
            yield from differences(left, right, f"{path}/{index}" if path else str(index))
    elif not same_scalar(one, other):
        yield Difference(path, one, other)


def same_scalar(one: Json, other: Json) -> bool:
    """Whether two values are equal, and both or neither is a boolean."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


# ------------------------------------------------------------------------------------------------ canonical values


@cache
def shape(kind: type[Struct]) -> tuple[str | None, tuple[tuple[str, Json], ...]]:
    """The tag of a struct and its fields that are on a wire, with their defaults."""
    hidden = OFF_WIRE.get(kind, _NOTHING)
    fields = [field for field in msgspec.structs.fields(kind) if field.name != "forms" and field.name not in hidden]
    tag = kind.__struct_config__.tag
    return str(tag) if tag is not None else None, tuple((field.name, default_of(field)) for field in fields)


def default_of(field: msgspec.structs.FieldInfo) -> Json:
    """The default of a field; ``NODEFAULT`` if it has none."""
    if field.default_factory is not NODEFAULT:
        return field.default_factory()
    return field.default


def plain(value: Any) -> Json:
    """A canonical value as a tree of JSON, defaults left out, without form marks and what is on no wire."""
    if isinstance(value, Struct):
        tag, fields = shape(type(value))
        tree: dict[str, Json] = {} if tag is None else {"type": tag}
        if type(value).__name__ in MARKS:
            tree["set"] = True
        for name, default in fields:
            held = getattr(value, name)
            if held != default:
                tree[name] = plain(held)
        return tree
    return [plain(item) for item in value] if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownVariableType]


def structs(value: Any) -> Iterator[Struct]:
    """A canonical value and every struct inside it."""
    if isinstance(value, Struct):
        yield value
        for name in value.__struct_fields__:
            yield from structs(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from structs(item)
