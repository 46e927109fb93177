"""Gemini's `Schema` object, which `parameters` and `responseSchema` take: a relative of OpenAPI 3.0, not JSON Schema.

Types are upper-case words, null is a flag, enum values are strings, there are no references and no open or closed
objects. The `…JsonSchema` fields beside them take JSON Schema: prefer those, with ``project_schema``.
https://ai.google.dev/api/caching#Schema
"""

from collections.abc import Callable, Mapping
from typing import Any

from interlingua.codec.schema.project import TOO_DEEP, Projection, projected
from interlingua.codec.schema.subsets import SHAPE, Subset, formats, is_strings_or_numbers, words
from interlingua.codec.schema.walk import ASSERTIONS, Schema, branches_of, declared_types, is_list, is_schema, type_of

# https://ai.google.dev/api/caching#Schema; `nullable` and `example` are written last.
GEMINI_SCHEMA = Subset(
    keywords=SHAPE
    | words("minItems maxItems minLength maxLength minProperties maxProperties minimum maximum pattern format")
    | words("propertyOrdering default examples"),
    accepts={
        "enum": is_strings_or_numbers,
        "items": lambda value, node: isinstance(value, dict),
        "examples": lambda value, node: is_list(value) and len(value) == 1,
        "format": formats(
            {"string": words("date-time enum"), "integer": words("int32 int64"), "number": words("float double")}
        ),
    },
    typed=True,
    null_in_enum=False,
)
# Type words by their number, which some clients send: protobuf's JSON form allows it.
UNSPECIFIED = "type_unspecified"
TYPES = (UNSPECIFIED, "string", "number", "integer", "boolean", "array", "object", "null")

# What a keyword is about, for splitting a list of types; one that is not here is about the whole.
BELONGS = {
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), ("string",)),
    **dict.fromkeys(("minimum", "maximum"), ("number", "integer")),
    **dict.fromkeys(("items", "minItems", "maxItems"), ("array",)),
    **dict.fromkeys(("properties", "required", "minProperties", "maxProperties", "propertyOrdering"), ("object",)),
}
COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
SPELLINGS = {
    "any_of": "anyOf", "property_ordering": "propertyOrdering", "additional_properties": "additionalProperties",
    "min_items": "minItems", "max_items": "maxItems", "min_length": "minLength", "max_length": "maxLength",
    "min_properties": "minProperties", "max_properties": "maxProperties", "defs": "$defs", "ref": "$ref",
}  # fmt: skip


def to_gemini_schema(schema: Schema) -> Projection:
    """JSON Schema to Gemini's ``Schema``. A reference becomes a copy, one that is part of itself is cut off; what has
    no word is folded into the description. ``changes`` says which; upper case and `nullable` are no changes."""
    projection = projected(schema, GEMINI_SCHEMA)
    try:
        return Projection(_lowered(projection.schema), projection.changes)
    except RecursionError:
        return Projection({"type": "OBJECT"}, (TOO_DEEP,))


def _lowered(node: Any) -> Any:
    if not is_schema(node):
        return {}
    types = [name for name in declared_types(node) if name != "null"]
    if len(types) > 1:
        node = _split(node, types)
    if "anyOf" in node:
        return _lowered_union(node)
    return _lowered_words(node, types)


def _lowered_words(node: Schema, types: list[str]) -> Schema:
    lowered = {SAYS.get(key, key): LOWER[key](value) if key in LOWER else value for key, value in node.items()}
    if types:
        lowered["type"] = types[0].upper()
        if "null" in declared_types(node):
            lowered["nullable"] = True
    elif "type" in node:
        lowered["type"] = "NULL"
    if "enum" in node and types and types[0] != "string":
        lowered["format"] = "enum"
    return lowered


def _lowered_union(node: Schema) -> Schema:
    """null is a flag, not a branch; a union that leaves one branch is that branch, with all its properties."""
    branches = branches_of(node, "anyOf")
    others = [
        _lowered(branch) for branch in branches if not (is_schema(branch) and declared_types(branch) == ("null",))
    ]
    around = _lowered_words({key: value for key, value in node.items() if key != "anyOf"}, list(declared_types(node)))
    nullable = {"nullable": True} if len(others) < len(branches) else {}
    if len(others) != 1 or around.keys() & ASSERTIONS:
        return {**around, "anyOf": others, **nullable}
    descriptions = [part["description"] for part in (around, others[0]) if "description" in part]
    about = {"description": "\n\n".join(dict.fromkeys(descriptions))} if descriptions else {}
    return {**others[0], **around, **about, **nullable}


def _split(node: Schema, types: list[str]) -> Schema:
    """A list of types as a union, each with the keywords that are about it."""

    def branch(name: str) -> Schema:
        own = {key: value for key, value in node.items() if name in BELONGS.get(key, ())}
        values = [value for value in branches_of(node, "enum") if type_of(value) == name]
        return {"type": name, **own, **({"enum": values} if values else {})}

    around = {key: value for key, value in node.items() if key not in BELONGS and key not in ("type", "enum")}
    null = [{"type": "null"}] if "null" in declared_types(node) else []
    return {**around, "anyOf": [*map(branch, types), *null]}


SAYS = {"examples": "example"}
LOWER: Mapping[str, Callable[[Any], Any]] = {
    "properties": lambda properties: {name: _lowered(child) for name, child in properties.items()},
    "items": _lowered,
    "enum": lambda values: [str(value) for value in values],
    "examples": lambda values: values[0],
}


def from_gemini_schema(schema: Schema) -> Schema:
    """Gemini's ``Schema`` to JSON Schema: in either spelling of its keys, its types in any case or by number."""
    try:
        return _raised_schema(schema)
    except RecursionError:  # nested deeper than Python's stack: left as it is
        return schema


def _raised_schema(schema: Schema) -> Schema:
    node = {SPELLINGS.get(key, key): value for key, value in schema.items()}
    nullable = node.pop("nullable", False)
    raised = {key: RAISE[key](value) if key in RAISE else value for key, value in node.items()}
    if raised.get("type") == UNSPECIFIED:
        del raised["type"]
    if raised.get("format") == "enum":
        del raised["format"]
    if "example" in raised:
        raised["examples"] = [raised.pop("example")]
    if raised.get("type") in ("integer", "number") and is_list(values := raised.get("enum")):
        raised["enum"] = [_number(value) for value in values]
    return _raised_null(raised) if nullable is True else raised


def _raised_null(node: Schema) -> Schema:
    raised = dict(node)
    if isinstance(word := node.get("type"), str) and word != "null":
        raised["type"] = [word, "null"]
    if is_list(values := node.get("enum")):
        raised["enum"] = [*values, None]
    if is_list(branches := node.get("anyOf")):
        raised["anyOf"] = [*branches, {"type": "null"}]
    return raised


def _raised(value: Any) -> Any:
    return _raised_schema(value) if is_schema(value) else value


def _raised_named(value: Any) -> Any:
    return {name: _raised(child) for name, child in value.items()} if is_schema(value) else value


def _raised_type(value: Any) -> Any:
    if isinstance(value, int) and 0 <= value < len(TYPES):
        return TYPES[value]
    if is_list(value):
        return [_raised_type(word) for word in value]
    return value.lower() if isinstance(value, str) else value


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        return value


RAISE: Mapping[str, Callable[[Any], Any]] = {
    "type": _raised_type,
    "properties": _raised_named,
    "$defs": _raised_named,
    "items": _raised,
    "additionalProperties": _raised,
    "anyOf": lambda branches: [_raised(branch) for branch in branches] if is_list(branches) else branches,
    "$ref": lambda ref: ref.replace("#/defs/", "#/$defs/") if isinstance(ref, str) else ref,
    **dict.fromkeys(COUNTS, lambda count: int(count) if isinstance(count, str) and count.isdecimal() else count),
}
