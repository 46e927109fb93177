"""Which schemas the server's own type of a tool's parameters holds whole, and what becomes of the others.

Clients send the same tools with every request, so the latest schema found to fit is remembered for each tool name: to
compare is much cheaper than to check. What is remembered is a copy of ours, which nobody else can change.
"""

from __future__ import annotations

from collections.abc import Callable

from ...codec.json import Wire, is_array, is_object
from ...codec.schema import project_schema
from ...codec.schemas import NO_JSON, Declared, Plans, narrowed
from ...codec.stream import decode_json, dump
from ...codec.tables import is_plain_tool
from ...types.base import Json
from ...types.tools import Tool, ToolDefinition
from .blocks import NAME

MOST, LONGEST = 256, 16_384  # schemas that are remembered, and the bytes of one
_known: dict[str, Wire] = {}


def is_ours(name: str, schema: Wire) -> bool:
    """Whether the server's types hold all of a tool's schema of parameters, so that nothing has to be projected."""
    if _known.get(name) == schema:
        return True
    if not is_whole(schema):
        return False
    remember(name, schema)
    return True


def remember(name: str, schema: Wire) -> None:
    try:
        text = dump(schema)
    except NO_JSON:  # whoever sends it will hear of it
        return
    if len(_known) >= MOST:
        _known.clear()
    if len(text) <= LONGEST:
        _known[name] = decode_json(text)


def is_whole(schema: Wire) -> bool:
    return schema.get("type") == "object" and "description" not in schema and fits(schema)


def judge(schema: Wire) -> tuple[Wire, tuple[Declared, ...]]:
    """A schema of parameters as the server's types hold it, and what to declare."""
    if is_whole(schema):
        return schema, ()
    said, changes = project_schema(schema, NAME)
    losses: list[Declared] = []
    if said != schema:
        why, weight = narrowed(NAME, changes)
        losses.append(("approximated", why, "input_schema", weight))
    if said.get("type") != "object":
        losses.append(("added", f"{NAME} requires `type: object`; it was added", "input_schema/type", "form"))
        said = {"type": "object", **{key: value for key, value in said.items() if key != "type"}}
    return said, tuple(losses)


def is_usual(tool: Tool) -> bool:
    """A definition with nothing but a name, a description and a schema."""
    return isinstance(tool, ToolDefinition) and tool.description is not None and is_plain_tool(tool)


PLANS = Plans(judge, is_usual)


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
