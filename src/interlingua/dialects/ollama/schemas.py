"""Which schemas the server's own type of a tool's parameters holds whole.

Clients send the same tools with every request, so the latest schema found to fit is remembered for each tool name: to
compare is much cheaper than to check. What is remembered is a copy of ours, which nobody else can change.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ...types.base import Json
from .._json import Wire, is_array, is_object

MOST, LONGEST = 256, 16_384  # schemas that are remembered, and the bytes of one
_known: dict[str, Wire] = {}


def is_ours(name: str, schema: Wire) -> bool:
    """Whether the server's types hold all of a tool's schema of parameters, so that nothing has to be projected."""
    if _known.get(name) == schema:
        return True
    if schema.get("type") != "object" or "description" in schema or not fits(schema):
        return False
    remember(name, schema)
    return True


def remember(name: str, schema: Wire) -> None:
    try:
        text = msgspec.json.encode(schema)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return  # not JSON: whoever sends it will hear of it
    if len(_known) >= MOST:
        _known.clear()
    if len(text) <= LONGEST:
        _known[name] = msgspec.json.decode(text)


def fits(schema: Json) -> bool:
    if not is_object(schema):
        return False
    for word, value in schema.items():
        check = KEYWORDS.get(word)
        if check is None or not check(value):
            return False
    return True


def is_type(value: Json) -> bool:
    return type(value) is str or (is_array(value) and all(type(name) is str for name in value))


# ToolProperty in https://github.com/ollama/ollama/blob/main/api/types.go
KEYWORDS: dict[str, Callable[[Json], bool]] = {
    "type": is_type,
    "description": lambda value: type(value) is str,
    "enum": lambda value: type(value) is list,
    "required": lambda value: type(value) is list,
    "properties": lambda value: is_object(value) and all(map(fits, value.values())),
    "items": fits,
    "anyOf": lambda value: is_array(value) and all(map(fits, value)),
}
