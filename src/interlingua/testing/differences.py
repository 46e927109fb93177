"""How two canonical values differ, and which of the differences a loss explains.

A loss explains a difference at its path or below. Lists are aligned first, because a dropped block moves its neighbours
up: ``messages/1/content/2`` is always a path in the original value. A value that only the other side has needs a loss
at the object or list that holds it, or something that was moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, TypeGuard

import msgspec

from interlingua.codec.json import is_array, is_object
from interlingua.errors import AdapterError
from interlingua.types import (
    FileSource,
    Json,
    Loss,
    Message,
    MessageComplete,
    MessageStart,
    Request,
    Response,
    TokenUsage,
    ToolDefinition,
    ToolUseBlock,
)

__all__ = ["OFF_WIRE", "form_marks", "plain", "says", "unexplained"]

# Fields that Exchange and Session fill, and dialects do not write. The provider's own stop reason is on the wire, but
# only as another name of the stop reason: a value built by hand has none.
OFF_WIRE: dict[type, frozenset[str]] = {
    Message: frozenset({"id", "origin", "metadata"}),
    Request: frozenset({"request_id"}),
    Response: frozenset(
        "request_id origin latency_ms attempts losses raw raw_stop_reason error output stopped stopped_reason".split()
    ),
    TokenUsage: frozenset({"raw", "estimated"}),
    ToolUseBlock: frozenset({"native_ids"}),
    ToolDefinition: frozenset({"annotations"}),
    FileSource: frozenset({"dialect"}),
    MessageStart: frozenset({"origin"}),
    MessageComplete: frozenset({"error"}),
}

Path = tuple[str, ...]


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    return type(value) is tuple


ABSENT: Any = object()


def plain(value: Any) -> Any:
    """A value as JSON, without what is not on the wire: defaults, form marks and the fields of ``OFF_WIRE``."""
    if isinstance(value, msgspec.Struct):
        return dict(_fields(value))
    if isinstance(value, AdapterError):
        return repr(value)
    if is_object(value):
        return {str(key): plain(item) for key, item in value.items()}
    if is_array(value) or is_tuple(value):
        return [plain(item) for item in value]
    return value


def _fields(value: msgspec.Struct) -> Iterator[tuple[str, Any]]:
    tag = value.__struct_config__.tag
    if tag is not None:
        yield "type", tag
    for name, default in _shown_fields(type(value)):
        found = getattr(value, name)
        if found == default and type(found) is type(default):
            continue
        shown = plain(found) if name != "extras" else _without_blanks(found)
        if shown is not ABSENT:
            yield name, shown


@cache
def _shown_fields(kind: type[msgspec.Struct]) -> list[tuple[str, Any]]:
    """The fields that are compared, each with its default."""
    hidden = OFF_WIRE.get(kind, frozenset()) | {"forms"}
    return [(field.name, _default(field)) for field in msgspec.structs.fields(kind) if field.name not in hidden]


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return ABSENT if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def _without_blanks(residue: Any) -> Any:
    """Residue without null and empty values, which carry no information."""
    if is_object(residue):
        kept = {key: _without_blanks(value) for key, value in residue.items()}
        return {key: value for key, value in kept.items() if value is not ABSENT} or ABSENT
    if is_array(residue):
        return residue if any(_without_blanks(item) is not ABSENT for item in residue) else ABSENT
    return ABSENT if residue is None or residue == "" else residue


def form_marks(value: Any, path: str = "") -> dict[str, Json]:
    """Every form mark in a value, by its place."""
    found: dict[str, Json] = {}
    if isinstance(value, msgspec.Struct):
        if getattr(value, "forms", None):
            found[path] = value.forms  # type: ignore[attr-defined]
        for name in value.__struct_fields__:
            found |= form_marks(getattr(value, name), f"{path}/{name}")
    elif is_tuple(value):
        for index, item in enumerate(value):
            found |= form_marks(item, f"{path}/{index}")
    return found


def says(losses: Iterable[Loss], path: str) -> bool:
    """Whether a loss is declared at a place, above it or below it."""
    return _Losses(losses).touch(tuple(path.split("/")))


def unexplained(meant: Any, found: Any, losses: Iterable[Loss] = ()) -> list[str]:
    """A sentence for every difference between two values (of ``plain``) that no loss explains."""
    known = _Losses(losses)
    return [
        f"{'/'.join(path) or '(the whole)'}: {_shown(old)} became {_shown(new)}"
        for path, old, new in _compare(meant, found, (), known)
    ]


class _Losses:
    """The paths of losses."""

    def __init__(self, losses: Iterable[Loss]) -> None:
        losses = list(losses)
        self.paths = {tuple(loss.path.split("/")) if loss.path else () for loss in losses}
        self.moved = any(loss.kind == "moved" for loss in losses)

    def cover(self, path: Path) -> bool:
        """Whether there is a loss at the place or above it."""
        return any(path[:end] in self.paths for end in range(len(path) + 1))

    def touch(self, path: Path) -> bool:
        """Whether there is a loss at the place, above it or below it."""
        return self.cover(path) or any(known[: len(path)] == path for known in self.paths)

    def allow(self, path: Path) -> bool:
        """Whether a new value may be at a place where the original has none."""
        return self.moved or self.touch(path) or (len(path) > 1 and self.touch(path[:-1]))


Difference = tuple[Path, Any, Any]


def _compare(old: Any, new: Any, path: Path, losses: _Losses) -> list[Difference]:
    if _same(old, new) or losses.cover(path):
        return []
    if is_object(old) and is_object(new):
        return _compare_objects(old, new, path, losses)
    if is_array(old) and is_array(new):
        return _compare_lists(old, new, path, losses)
    if new is ABSENT and isinstance(old, dict | list) and old:
        return _leaves(old, path, losses)
    if old is ABSENT and losses.allow(path):
        return []
    return [(path, old, new)]


def _same(old: Any, new: Any) -> bool:
    """Equal in JSON: True is not 1, 1 is 1.0."""
    return bool(old == new) and isinstance(old, bool) is isinstance(new, bool)


def _compare_objects(old: dict[str, Any], new: dict[str, Any], path: Path, losses: _Losses) -> list[Difference]:
    found: list[Difference] = []
    for key in {**old, **new}:
        found += _compare(old.get(key, ABSENT), new.get(key, ABSENT), (*path, key), losses)
    return found


def _leaves(old: Any, path: Path, losses: _Losses) -> list[Difference]:
    """The parts of a missing value that no loss explains; its type tag is not counted."""
    if losses.cover(path):
        return []
    pairs = old.items() if is_object(old) else enumerate(old) if is_array(old) else ()
    if not pairs or not old:
        return [(path, old, ABSENT)]
    lost: list[Difference] = []
    for key, value in pairs:
        if key != "type":
            lost += _leaves(value, (*path, str(key)), losses)
    return lost


def _compare_lists(old: list[Any], new: list[Any], path: Path, losses: _Losses) -> list[Difference]:
    """The alignment of two lists that leaves the least unexplained."""
    start = 0
    while start < min(len(old), len(new)) and _same(old[start], new[start]) and not losses.cover((*path, str(start))):
        start += 1
    best: list[list[Difference]] = [[]]
    for item in new[start:]:
        best.append([*best[-1], *_extra(item, path, losses)])
    for index, item in enumerate(old[start:], start):
        place = (*path, str(index))
        row = [[*best[0], *_compare(item, ABSENT, place, losses)]]
        for column, other in enumerate(new[start:], 1):
            candidates = (
                [*best[column - 1], *_compare(item, other, place, losses)],
                [*best[column], *_compare(item, ABSENT, place, losses)],
                [*row[column - 1], *_extra(other, path, losses)],
            )
            row.append(min(candidates, key=len))
        best = row
    return best[-1]


def _extra(item: Any, path: Path, losses: _Losses) -> Sequence[Difference]:
    return () if losses.allow(path) else [((*path, "+"), ABSENT, item)]


def _shown(value: Any) -> str:
    text = "nothing" if value is ABSENT else repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
