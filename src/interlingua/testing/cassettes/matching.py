"""Whether a request matches a recorded one, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import zip_longest
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from ...codec.json import is_array, is_object
from ...types.base import Json
from .recording import Asked

__all__ = ["Difference", "differences", "nearest"]

ABSENT: Json = UNSET
LONGEST = 80


class Difference(NamedTuple):
    """One place where two requests differ, with the recorded and the sent value."""

    path: str
    recorded: Json
    sent: Json

    def __str__(self) -> str:
        return f"{self.path}: recorded {_short(self.recorded)}, sent {_short(self.sent)}"


def differences(recorded: Asked, sent: Asked, ignore: Sequence[str] = ()) -> list[Difference]:
    """All places where two requests differ. ``ignore`` are paths in the body; ``*`` stands for any one step."""
    found = [
        Difference(name, getattr(recorded, name), getattr(sent, name))
        for name in ("method", "url")
        if getattr(recorded, name) != getattr(sent, name)
    ]
    wanted = [path.strip("/").split("/") for path in ignore]
    return [*found, *_compare(_body(recorded), _body(sent), (), wanted)]


def nearest(recorded: Sequence[Asked], sent: Asked, ignore: Sequence[str] = ()) -> tuple[int, list[Difference]]:
    """The index of the recording with the fewest differences, and these. Another method or URL counts most."""

    def distance(found: list[Difference]) -> tuple[int, int]:
        elsewhere = sum(difference.path in ("method", "url") for difference in found)
        return elsewhere, sum(_weight(difference.recorded) + _weight(difference.sent) for difference in found)

    compared = [(index, differences(each, sent, ignore)) for index, each in enumerate(recorded)]
    return min(compared, key=lambda pair: distance(pair[1]))


def _body(request: Asked) -> Json:
    if request.json is not UNSET:
        return request.json
    return request.lines if request.lines is not None else request.base64


def _compare(old: Json, new: Json, path: tuple[str, ...], ignore: list[list[str]]) -> Iterator[Difference]:
    if any(_fits(path, pattern) for pattern in ignore):
        return
    if is_object(old) and is_object(new):
        for key in {**old, **new}:
            yield from _compare(old.get(key, ABSENT), new.get(key, ABSENT), (*path, key), ignore)
    elif is_array(old) and is_array(new):
        for index, (before, after) in enumerate(zip_longest(old, new, fillvalue=ABSENT)):
            yield from _compare(before, after, (*path, str(index)), ignore)
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        yield Difference("/".join(path) or "body", old, new)


def _fits(path: tuple[str, ...], pattern: list[str]) -> bool:
    return len(path) == len(pattern) and all(map(fnmatchcase, path, pattern))


def _weight(value: Json) -> int:
    """The number of values in a value, itself included."""
    inner = value.values() if is_object(value) else value if is_array(value) else ()
    return (value is not ABSENT) + sum(map(_weight, inner))


def _short(value: Json) -> str:
    if value is UNSET:
        return "nothing"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
