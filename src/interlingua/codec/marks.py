"""What a dialect remembers about a value's wire: residue (``extras``) and marks of shape and spelling (``forms``)."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, TypeVar

from msgspec.structs import replace

from ..types.base import Json, Value
from .json import Wire

__all__ = ["extras_and_forms", "marks", "note_role", "with_marks"]

V = TypeVar("V", bound=Value)
NONE: Wire = {}


def extras_and_forms(dialect: str, rest: Wire, marks: Wire) -> dict[str, Any]:
    """The ``extras`` and ``forms`` of a value as keyword arguments, without empty ones."""
    fields: dict[str, Any] = {}
    if rest:
        fields["extras"] = {dialect: rest}
    if marks:
        fields["forms"] = {dialect: marks}
    return fields


def marks(dialect: str, value: Value) -> Wire:
    """The marks that this dialect left on a value."""
    forms = value.forms
    return forms.get(dialect, NONE) if forms else NONE


def with_marks(dialect: str, value: V, **more: Json) -> V:
    """The value with further marks of this dialect."""
    return replace(value, forms={**value.forms, dialect: {**marks(dialect, value), **more}})


def note_role(word: Json, known: Container[Json], rest: Wire) -> None:
    """Add an unknown role to the residue, so that other dialects declare it; the mark ``role`` writes it back."""
    if word is not None and not (type(word) is str and word in known):
        rest["role"] = word
