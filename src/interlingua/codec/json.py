"""Type checks of wire values of unknown shape.

A parsed value is a plain ``dict`` or ``list`` (or a ``KnownList``): ``is_object`` and ``is_array`` accept only these. A
body that a caller built may hold subclasses, which ``is_dict`` and ``is_list`` accept too. Type checkers see no
difference.
"""

from __future__ import annotations

from typing import TypeGuard

from ..types.base import Json
from .known_lists import KnownList

__all__ = ["Wire", "is_array", "is_dict", "is_empty", "is_list", "is_object"]

Wire = dict[str, Json]


def is_object(value: Json) -> TypeGuard[Wire]:
    return type(value) is dict


def is_array(value: Json) -> TypeGuard[list[Json]]:
    return type(value) is list or type(value) is KnownList


def is_dict(value: Json) -> TypeGuard[Wire]:
    return isinstance(value, dict)


def is_list(value: Json) -> TypeGuard[list[Json]]:
    return isinstance(value, list)


def is_empty(value: Json) -> bool:
    """Null or an empty string, list or object."""
    return value is None or value == "" or value == [] or value == {}
