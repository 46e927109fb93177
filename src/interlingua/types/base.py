"""What every value of the language carries beside its own fields: residue and form marks.

``extras`` is residue: the parts of a wire object that no canonical field can hold, keyed by dialect name, in
the wire's own nesting. Only that dialect writes it back; to any other dialect it is a Loss.

``forms`` is how the wire spelled something where that is not what we would write ourselves (a string or a
list, absent, null or empty, an older parameter name), keyed by dialect name too. It never reaches another
dialect, is never a Loss, and is only a hint: a canonical field that was edited wins over its mark.
"""

from __future__ import annotations

from copy import copy
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr

__all__ = ["Json", "Value", "unchecked_copy"]

Json = Any
"""A parsed JSON value. The alias shows what is meant; with a recursive type every access would need a cast."""


class Value(Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True, gc=False):
    """The root of blocks, messages, tools, requests and responses. Plain data: nothing in it refers back to it."""

    extras: dict[str, Json] = {}
    forms: dict[str, Json] = {}


V = TypeVar("V", bound=Value)


def unchecked_copy(value: V, **fields: Any) -> V:
    """A copy with other values of some fields. Unlike ``replace`` it checks nothing: the values must be right."""
    changed = copy(value)
    for name, held in fields.items():
        force_setattr(changed, name, held)
    return changed
