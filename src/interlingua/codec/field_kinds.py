"""The fields of canonical types, and the kind of one that a row does not name a kind for: by its annotation."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from .kinds import ANY, BOOL, INT, NUMBER, OBJECT, STRINGS, TEXT, Kind

__all__ = ["fields_of", "usual_kind"]

BY_NAME: dict[str, Kind] = {
    "str": TEXT,
    "int": INT,
    "float": NUMBER,
    "bool": BOOL,
    "dict[str, Json]": OBJECT,
    "tuple[str, ...]": STRINGS,
}


@cache
def fields_of(kind: type[Struct]) -> dict[str, FieldInfo]:
    """The fields of a type by name, in their order. To read the annotations takes long, and a type has many rows."""
    return {field.name: field for field in fields(kind)}


def usual_kind(hint: Any) -> Kind:
    """The kind of a canonical field by its annotation."""
    name = str(hint).removeprefix("<class '").removesuffix("'>").replace("typing.Any", "Json")
    name = name.replace(" | None", "").replace("Optional[", "").rstrip("]") if "tuple" not in name else name
    if name not in BY_NAME:
        name = "dict[str, Json]" if name.startswith("dict") else name
    return BY_NAME.get(name, ANY)
