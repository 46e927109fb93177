"""`strict_schema`: the schema that a dialect's strict mode takes, or the reasons why there is none."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from interlingua.codec.schema.project import project_schema
from interlingua.codec.schema.rewrite import Rewriter
from interlingua.codec.schema.subsets import subset_of
from interlingua.codec.schema.walk import (
    Schema,
    branches_of,
    declared_types,
    is_schema,
    properties_of,
    required_of,
    subschemas,
)


class StrictSchema(NamedTuple):
    """What ``strict_schema`` made of a schema."""

    schema: Schema
    """In the subset if ``strict``; else the very schema that was given, to be sent without the strict flag."""
    strict: bool
    changes: tuple[str, ...]
    """What was changed, or why it cannot be strict: a JSON pointer, a colon, a few words. Empty if equal."""


def strict_schema(schema: Schema, dialect: str) -> StrictSchema:
    """``schema`` in the strict subset of ``dialect``, if its meaning can be kept.

    For tools and output schemas alike the root must be an object. Gemini and Ollama have no strict flag, so there the
    result is that of ``project_schema``. ``restore_optional`` is the inverse for values.
    """
    subset = subset_of(dialect)
    if not subset.strict:
        projection = project_schema(schema, dialect)
        return StrictSchema(projection.schema, True, projection.changes)
    try:
        rewriter = Rewriter(schema, subset)
        rewritten = rewriter.rewritten()
        obstacles = rewriter.obstacles or list(_excesses(rewritten, subset.limits))
    except RecursionError:
        return StrictSchema(schema, False, ("#: cannot be strict: nested deeper than Python's stack",))
    if obstacles:
        return StrictSchema(schema, False, tuple(dict.fromkeys(obstacles)))
    return StrictSchema(rewritten if rewriter.changes else schema, True, tuple(rewriter.changes))


# ---------------------------------------------------------------------------------------------------------- limits


def _excesses(schema: Schema, limits: Mapping[str, int]) -> Iterator[str]:
    for measure, most in limits.items():
        if (count := MEASURES[measure](schema)) > most:
            yield f"#: cannot be strict: {count} {measure}, and at most {most} are allowed"


def _nodes(schema: Any) -> Iterator[Schema]:
    if is_schema(schema):
        yield schema
        for _, child in subschemas(schema):
            yield from _nodes(child)


def _properties(schema: Schema) -> int:
    return sum(len(properties_of(node)) for node in _nodes(schema))


def _levels(schema: Any) -> int:
    """How deep objects are nested in the text of a schema; references are not followed, which might never end."""
    if not is_schema(schema):
        return 0
    deepest = max((_levels(child) for _, child in subschemas(schema)), default=0)
    return deepest + ("object" in declared_types(schema))


def _enum_values(schema: Schema) -> int:
    return sum(len(branches_of(node, "enum")) for node in _nodes(schema))


def _characters(schema: Schema) -> int:
    names = (
        len(name)
        for node in _nodes(schema)
        for key in ("properties", "$defs", "definitions")
        for name in node.get(key, ())
    )
    values = (len(str(v)) for node in _nodes(schema) for v in (*branches_of(node, "enum"), *_constant(node)))
    return sum(names) + sum(values)


def _constant(node: Schema) -> list[Any]:
    return [node["const"]] if "const" in node else []


def _long_enum_characters(schema: Schema) -> int:
    """The characters of the longest enum with more than 250 strings."""
    enums = ([value for value in branches_of(node, "enum") if isinstance(value, str)] for node in _nodes(schema))
    return max((sum(map(len, values)) for values in enums if len(values) > 250), default=0)


def _optional(schema: Schema) -> int:
    return sum(len(properties_of(node).keys() - set(required_of(node))) for node in _nodes(schema))


def _unions(schema: Schema) -> int:
    parameters = (child for node in _nodes(schema) for child in properties_of(node).values() if is_schema(child))
    return sum("anyOf" in child or len(declared_types(child)) > 1 for child in parameters)


Measure: TypeAlias = Callable[[Schema], int]
MEASURES: Mapping[str, Measure] = {
    "properties": _properties,
    "levels of objects": _levels,
    "enum values": _enum_values,
    "characters of names and enum values": _characters,
    "characters in an enum of more than 250": _long_enum_characters,
    "optional properties": _optional,
    "properties with a union type": _unions,
}
