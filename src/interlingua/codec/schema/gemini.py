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
# The types by the numbers that some clients send instead, which protobuf's JSON form allows.
UNSPECIFIED = "type_unspecified"
TYPES = (UNSPECIFIED, "string", "number", "integer", "boolean", "array", "object", "null")

# The types that a keyword applies to, for splitting a list of types; any other keyword stays beside the union.
APPLIES_TO = {
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
    """JSON Schema to Gemini's ``Schema``. A reference becomes a copy, cut off where it contains itself; keywords that
    Gemini lacks are folded into the description. ``changes`` lists that, but not upper case and `nullable`."""
    projection = projected(schema, GEMINI_SCHEMA)
    try:
        return Projection(_to_gemini(projection.schema), projection.changes)
    except RecursionError:
        return Projection({"type": "OBJECT"}, (TOO_DEEP,))


def _to_gemini(node: Any) -> Any:
    if not is_schema(node):
        return {}
    types = [name for name in declared_types(node) if name != "null"]
    if len(types) > 1:
        node = _split(node, types)
    if "anyOf" in node:
        return _union_to_gemini(node)
    return _words_to_gemini(node, types)


def _words_to_gemini(node: Schema, types: list[str]) -> Schema:
    written = {NAMES.get(key, key): TO_GEMINI[key](value) if key in TO_GEMINI else value for key, value in node.items()}
    if types:
        written["type"] = types[0].upper()
        if "null" in declared_types(node):
            written["nullable"] = True
    elif "type" in node:
        written["type"] = "NULL"
    if "enum" in node and types and types[0] != "string":
        written["format"] = "enum"
    return written


def _union_to_gemini(node: Schema) -> Schema:
    """null becomes a flag instead of a branch. If one branch is left, it replaces the union, with all its keywords."""
    branches = branches_of(node, "anyOf")
    others = [
        _to_gemini(branch) for branch in branches if not (is_schema(branch) and declared_types(branch) == ("null",))
    ]
    around = _words_to_gemini({key: value for key, value in node.items() if key != "anyOf"}, list(declared_types(node)))
    nullable = {"nullable": True} if len(others) < len(branches) else {}
    if len(others) != 1 or around.keys() & ASSERTIONS:
        return {**around, "anyOf": others, **nullable}
    descriptions = [part["description"] for part in (around, others[0]) if "description" in part]
    about = {"description": "\n\n".join(dict.fromkeys(descriptions))} if descriptions else {}
    return {**others[0], **around, **about, **nullable}


def _split(node: Schema, types: list[str]) -> Schema:
    """A list of types as a union, each type with the keywords that apply to it."""

    def branch(name: str) -> Schema:
        own = {key: value for key, value in node.items() if name in APPLIES_TO.get(key, ())}
        values = [value for value in branches_of(node, "enum") if type_of(value) == name]
        return {"type": name, **own, **({"enum": values} if values else {})}

    around = {key: value for key, value in node.items() if key not in APPLIES_TO and key not in ("type", "enum")}
    null = [{"type": "null"}] if "null" in declared_types(node) else []
    return {**around, "anyOf": [*map(branch, types), *null]}


NAMES = {"examples": "example"}
TO_GEMINI: Mapping[str, Callable[[Any], Any]] = {
    "properties": lambda properties: {name: _to_gemini(child) for name, child in properties.items()},
    "items": _to_gemini,
    "enum": lambda values: [str(value) for value in values],
    "examples": lambda values: values[0],
}


def from_gemini_schema(schema: Schema) -> Schema:
    """Gemini's ``Schema`` to JSON Schema: in either spelling of its keys, its types in any case or by number."""
    try:
        return _schema_from_gemini(schema)
    except RecursionError:  # nested deeper than Python's stack: left as it is
        return schema


def _schema_from_gemini(schema: Schema) -> Schema:
    node = {SPELLINGS.get(key, key): value for key, value in schema.items()}
    nullable = node.pop("nullable", False)
    found = {key: FROM_GEMINI[key](value) if key in FROM_GEMINI else value for key, value in node.items()}
    if found.get("type") == UNSPECIFIED:
        del found["type"]
    if found.get("format") == "enum":
        del found["format"]
    if "example" in found:
        found["examples"] = [found.pop("example")]
    if found.get("type") in ("integer", "number") and is_list(values := found.get("enum")):
        found["enum"] = [_number(value) for value in values]
    return _with_null(found) if nullable is True else found


def _with_null(node: Schema) -> Schema:
    found = dict(node)
    if isinstance(word := node.get("type"), str) and word != "null":
        found["type"] = [word, "null"]
    if is_list(values := node.get("enum")):
        found["enum"] = [*values, None]
    if is_list(branches := node.get("anyOf")):
        found["anyOf"] = [*branches, {"type": "null"}]
    return found


def _from_gemini(value: Any) -> Any:
    return _schema_from_gemini(value) if is_schema(value) else value


def _named_from_gemini(value: Any) -> Any:
    return {name: _from_gemini(child) for name, child in value.items()} if is_schema(value) else value


def _type_from_gemini(value: Any) -> Any:
    if isinstance(value, int) and 0 <= value < len(TYPES):
        return TYPES[value]
    if is_list(value):
        return [_type_from_gemini(word) for word in value]
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


FROM_GEMINI: Mapping[str, Callable[[Any], Any]] = {
    "type": _type_from_gemini,
    "properties": _named_from_gemini,
    "$defs": _named_from_gemini,
    "items": _from_gemini,
    "additionalProperties": _from_gemini,
    "anyOf": lambda branches: [_from_gemini(branch) for branch in branches] if is_list(branches) else branches,
    "$ref": lambda ref: ref.replace("#/defs/", "#/$defs/") if isinstance(ref, str) else ref,
    **dict.fromkeys(COUNTS, lambda count: int(count) if isinstance(count, str) and count.isdecimal() else count),
}
