"""The kind of a canonical field that a row does not name one for: by its annotation."""

from __future__ import annotations

from typing import Any

from .kinds import ANY, BOOL, INT, NUMBER, OBJECT, STRINGS, TEXT, Kind

__all__ = ["usual_kind"]

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
