"""The fields of canonical types as they are declared, and the kinds that rows choose by themselves for them."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from msgspec import NODEFAULT, Struct

from ...types.base import Json
from .kinds import ANY, BOOL, INT, NUMBER, OBJECT, REFUSED, STRINGS, TEXT, Kind

__all__ = ["Accepted", "Declared", "declared", "usual_kind"]

BY_NAME: dict[str, Kind] = {
    "str": TEXT,
    "int": INT,
    "float": NUMBER,
    "bool": BOOL,
    "dict[str, Json]": OBJECT,
    "tuple[str, ...]": STRINGS,
}


class Declared(NamedTuple):
    """One field of a type. ``hint`` is its annotation; ``default`` is ``NODEFAULT`` where it must be given."""

    name: str
    hint: Any
    default: Any


@cache
def declared(type: type[Struct]) -> dict[str, Declared]:
    """The fields of a type, by name. Annotations stay text, since evaluating them would take most of the time."""
    hints: dict[str, Any] = {}
    for base in reversed(type.__mro__):
        hints |= getattr(base, "__annotations__", {})
    names, given = type.__struct_fields__, type.__struct_defaults__
    defaults = (NODEFAULT,) * (len(names) - len(given)) + given
    return {name: Declared(name, hints[name], _made(default)) for name, default in zip(names, defaults, strict=True)}


def _made(default: Any) -> Any:
    """The default value; where the type declares a factory, what the factory returns."""
    return default.factory() if hasattr(default, "factory") else default


def usual_kind(hint: Any) -> Kind:
    """The kind of a canonical field by its annotation."""
    name = str(hint).removeprefix("<class '").removesuffix("'>").replace("typing.Any", "Json")
    name = name.replace(" | None", "").replace("Optional[", "").rstrip("]") if "tuple" not in name else name
    if name not in BY_NAME:
        name = "dict[str, Json]" if name.startswith("dict") else name
    return BY_NAME.get(name, ANY)


class Accepted(Kind):
    """A key that may be left out; if it is there it has one value, or any of a kind."""

    def __init__(self, value: Json | Kind) -> None:
        self.value = value

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        if isinstance(self.value, Kind):
            return self.value.read(wire, marks)
        return wire if wire == self.value and type(wire) is type(self.value) else REFUSED
