"""The kinds that rows choose by themselves: by the annotation of a field, and for keys that say nothing."""

from __future__ import annotations

from typing import Any

from ..types.base import Json
from .kinds import ANY, BOOL, INT, NUMBER, OBJECT, REFUSED, STRINGS, TEXT, Kind

__all__ = ["Accepted", "usual_kind"]

BY_NAME: dict[str, Kind] = {
    "str": TEXT,
    "int": INT,
    "float": NUMBER,
    "bool": BOOL,
    "dict[str, Json]": OBJECT,
    "tuple[str, ...]": STRINGS,
}


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
