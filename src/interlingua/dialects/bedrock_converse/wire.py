"""Reading wire objects that nobody has checked: a reader takes private copies and leaves the rest in its place."""

from __future__ import annotations

from typing import TypeGuard

from ...types.base import Json

Wire = dict[str, Json]


def is_object(value: Json) -> TypeGuard[Wire]:
    return type(value) is dict


def is_array(value: Json) -> TypeGuard[list[Json]]:
    return type(value) is list


def opened(rest: Wire, key: str) -> Wire:
    """Pop a nested object as a private copy; that it is none means that this is not what the reader took it for."""
    inner = rest.pop(key)
    if not is_object(inner):
        raise TypeError(key)
    return dict(inner)


def leave(rest: Wire, key: str, inner: Wire) -> None:
    """What a nested object still holds stays residue, in its place."""
    if inner:
        rest[key] = inner
