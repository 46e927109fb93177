"""Null: whether a schema allows it, and how to make it do so."""

from typing import Any

from interlingua.codec.schema.walk import (
    ASSERTIONS,
    Schema,
    branches_of,
    declared_types,
    is_schema,
    map_subschemas,
    properties_of,
    required_of,
    resolve,
    types_of,
)
from interlingua.codec.schema.wording import folded

# Keywords that stay outside when a schema becomes a branch; references must still find its definitions.
OUTSIDE = ("$schema", "$defs", "definitions", "title", "description")


def allows_null(node: object, root: Schema) -> bool:
    """Whether null is valid. ``nullable: true`` (OpenAPI's keyword) counts, because its author meant it."""
    return _allows_null(node, root, {})


def _allows_null(node: object, root: Schema, known: dict[str, bool]) -> bool:
    """The same. ``known`` holds the results for references; False while one is being followed."""
    if not is_schema(node):
        return node is True
    if node.get("nullable") is True:
        return True
    if (types := types_of(node)) and "null" not in types:
        return False
    if ("enum" in node and None not in branches_of(node, "enum")) or node.get("const") is not None:
        return False
    if (ref := node.get("$ref")) is not None and ref not in known:
        known[ref] = False
        known[ref] = _allows_null(resolve(ref, root), root, known)
    unions = [branches_of(node, keyword) for keyword in ("anyOf", "oneOf") if keyword in node]
    return (
        (ref is None or known[ref])
        and all(any(_allows_null(branch, root, known) for branch in union) for union in unions)
        and all(_allows_null(part, root, known) for part in branches_of(node, "allOf"))
        and not ("not" in node and _allows_null(node["not"], root, known))
    )


def or_null(node: Schema, root: Schema) -> Schema:
    """``node``, with null allowed. A plain scalar gets a list of types; `anyOf` is what vendors take for the rest."""
    if allows_null(node, root):
        return node
    types = declared_types(node)
    if types and not {"object", "array"} & set(types) and not node.keys() & {"enum", "const", "anyOf", "$ref"}:
        return {**node, "type": [*types, "null"]}
    if "anyOf" in node and not node.keys() & ASSERTIONS - {"anyOf"}:
        return {**node, "anyOf": [*branches_of(node, "anyOf"), {"type": "null"}]}
    about = {key: value for key, value in node.items() if key in OUTSIDE}
    return {"anyOf": [{key: value for key, value in node.items() if key not in about}, {"type": "null"}], **about}


def all_required(node: Schema, root: Schema) -> Schema:
    """``node`` with every property required, and null allowed for what may be left out: models then leave nothing out
    by mistake. A default is moved into the description. ``without_added_nulls`` is the inverse for values."""

    def inner(child: Any, place: str) -> Any:
        return all_required(child, root) if is_schema(child) and place not in CONDITIONS else child

    result = map_subschemas(node, inner)
    if "default" in result:
        described = result if result["default"] is None else folded(result, ["default"])
        result = {word: value for word, value in described.items() if word != "default"}
    names, required = properties_of(result), required_of(result)
    if not names or names.keys() <= set(required):
        return result
    properties = {
        name: child if name in required or not is_schema(child) else or_null(child, root)
        for name, child in names.items()
    }
    return {**result, "properties": properties, "required": list(names)}


CONDITIONS = tuple(f"#/{word}" for word in ("not", "if", "then", "else", "contains", "propertyNames"))
