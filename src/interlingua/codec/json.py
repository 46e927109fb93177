"""Telling apart wire values that nobody has checked.

A parsed value is a plain ``dict`` or ``list`` (or a list that was parsed before), which ``is_object`` and ``is_array``
ask for. A body that a caller built
may hold subclasses of them: ``is_dict`` and ``is_list`` take those too. The words are the same to a type checker.
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
