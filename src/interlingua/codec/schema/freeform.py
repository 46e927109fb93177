"""Schemas that no grammar can follow: they accept names or items that they do not declare."""

from collections.abc import Iterator

from interlingua.codec.schema.conjoin import is_guidance
from interlingua.codec.schema.walk import Schema, is_schema, properties_of, required_of, types_of

CONDITIONS = ("then", "else", "dependentSchemas")


def free_forms(node: Schema, is_root: bool) -> Iterator[str]:
    """Why ``node`` itself, its subschemas aside, cannot be strict."""
    types = types_of(node)
    if "object" in types:
        yield from _free_names(node, is_root)
    if "array" in types and not (is_schema(items := node.get("items")) and items):
        yield "the items of the array have no one schema"
    if "prefixItems" in node:
        yield "items that differ by position"
    conditions = {word: node[word] for word in CONDITIONS if word in node}
    if not is_guidance(conditions, set(properties_of(node))):
        yield f"{', '.join(conditions)} adds properties"


def _free_names(node: Schema, is_root: bool) -> Iterator[str]:
    """Why an object accepts undeclared names. Empty ``properties`` mean no names at the root (a tool that takes none),
    but any names elsewhere."""
    names = properties_of(node)
    closed = node.get("additionalProperties") in (False, {"not": {}})  # the second is how zod writes never
    if "additionalProperties" in node and not closed:
        yield "additionalProperties lets any name in"
    elif not names and not closed and not (is_root and "properties" in node):
        yield "an object without properties is free-form"
    if node.get("patternProperties") or node.get("unevaluatedProperties", False) is not False:
        yield "properties without fixed names"
    if unknown := [name for name in required_of(node) if name not in names]:
        yield f"{', '.join(unknown)} is required but not declared"
