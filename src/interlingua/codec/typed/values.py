"""Reading a JSON value exactly as a value of a Python type, and saying what is wrong where that fails."""

from __future__ import annotations

from typing import Any

import msgspec

from ...types.base import Json
from ..schema import restore_optional
from ..schema.nulls import allows_null
from ..schema.walk import Schema, is_list, is_schema, properties_of, required_of, well_formed
from .hints import build

__all__ = ["complaint_of", "read_value", "without_forced_nulls"]


def read_value(value: Json, type_: Any) -> Any:
    """Read a value exactly by type; only a float without a fraction is taken as an integer, as in JSON Schema."""
    try:
        return msgspec.convert(value, type_, str_keys=True, dec_hook=build)
    except msgspec.ValidationError:
        whole = _whole(value)
        if whole is value:
            raise
        try:
            return msgspec.convert(whole, type_, str_keys=True, dec_hook=build)
        except msgspec.ValidationError:
            pass
        raise


def _whole(value: Json) -> Json:
    """``value`` with integers for floats that are whole; itself if there are none."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if is_list(value):
        items = [_whole(item) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if is_schema(value):
        members = {key: _whole(item) for key, item in value.items()}
        return value if all(members[key] is item for key, item in value.items()) else members
    return value


def complaint_of(error: msgspec.ValidationError, name: str) -> str:
    """msgspec's message, with ``name`` in the place of its ``$``."""
    text, _, place = str(error).partition(" - at ")
    return f"`{name}{place.strip('`').removeprefix('$')}`: {text}" if place else f"`{name}`: {text}"


def without_forced_nulls(value: Schema, schema: Schema) -> Schema:
    """``value`` without the nulls that strict mode forced, and without those at the top that can only mean "absent".

    Where a schema cannot be strict, no nulls are forced, but models send them all the same.
    """
    restored = restore_optional(value, schema)
    if None not in restored.values():
        return restored
    root: Schema = well_formed(schema)
    properties, required = properties_of(root), required_of(root)
    absent = {
        name
        for name, found in restored.items()
        if found is None and name in properties and name not in required and not allows_null(properties[name], root)
    }
    return {name: found for name, found in restored.items() if name not in absent}
