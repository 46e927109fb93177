"""`restore_optional`: the inverse of `strict_schema` for values, so that a tool sees what its author declared.

Strict mode makes a model say null for what it would leave out. Such a null is one at an optional property whose own
schema does not allow null; no other is touched. Where the property is optional and may be null too, null stays.
"""

from typing import Any

from interlingua.schema.conjoin import alternatives, conjoined, direct_refs
from interlingua.schema.nulls import allows_null
from interlingua.schema.strict import strict_schema
from interlingua.schema.subsets import STRICT, known_dialect
from interlingua.schema.walk import (
    Schema,
    branches_of,
    is_list,
    is_schema,
    properties_of,
    required_of,
    type_of,
    types_of,
    well_formed,
)


def restore_optional(input: Schema, schema: Schema, dialect: str = "openai-chat") -> Schema:
    """``input`` without the nulls that ``strict_schema(schema, dialect)`` made the model say.

    ``schema`` is the one that the tool's author declared. Returns ``input`` itself if there is nothing to remove:
    if the dialect keeps optional properties, if the schema could not be made strict, if the value does not fit.
    """
    subset = STRICT.get(known_dialect(dialect))
    if subset is None or not subset.all_required or not _has_null(input) or not strict_schema(schema, dialect).strict:
        return input
    root: Schema = well_formed(schema)
    restored: Schema = _restored(input, root, root, frozenset())
    return restored


def _has_null(value: object) -> bool:
    if is_schema(value):
        return any(_has_null(child) for child in value.values())
    return any(_has_null(child) for child in value) if is_list(value) else value is None


def _restored(value: Any, node: Any, root: Schema, seen: frozenset[str]) -> Any:
    """``seen`` holds the references followed for this very value: one that leads to itself is not followed twice."""
    if not is_schema(node) or (joined := conjoined(node, root, seen)) is None:
        return value
    if (branches := alternatives(joined, root)) is not None:
        return _restored_by_branch(value, branches, root, seen | direct_refs(node))
    if is_schema(value):
        return _restored_object(value, joined, root)
    return _restored_list(value, joined, root) if is_list(value) else value


def _restored_by_branch(value: Any, branches: list[Any], root: Schema, seen: frozenset[str]) -> Any:
    """By the branch that fits. If several do, the value itself could be what one of them means: then it stays."""
    found = [_restored(value, branch, root, seen) for branch in branches if _fits(value, branch, root, seen)]
    return value if not found or any(restored is value for restored in found) else found[0]


def _restored_object(value: Schema, node: Schema, root: Schema) -> Schema:
    properties, required = properties_of(node), required_of(node)
    restored = {
        name: _restored(child, properties.get(name), root, frozenset())
        for name, child in value.items()
        if not _introduced(child, name, properties, required, root)
    }
    same = len(restored) == len(value) and all(restored[name] is child for name, child in value.items())
    return value if same else restored


def _introduced(child: object, name: str, properties: Schema, required: list[str], root: Schema) -> bool:
    return child is None and name in properties and name not in required and not allows_null(properties[name], root)


def _restored_list(value: list[Any], node: Schema, root: Schema) -> list[Any]:
    restored = [_restored(child, node.get("items"), root, frozenset()) for child in value]
    return value if all(new is old for new, old in zip(restored, value, strict=True)) else restored


# ------------------------------------------------------------------------------------------------------- which branch


def _fits(value: Any, node: Any, root: Schema, seen: frozenset[str]) -> bool:
    """Whether ``value`` has the shape that strict mode gives to ``node``: every property there, no other, null for
    what is optional. Bounds and patterns do not count: some are only in the description, and a model may miss them."""
    if not is_schema(node):
        return node is True
    if value is None:
        return allows_null(node, root)
    if (joined := conjoined(node, root, seen)) is None:
        return False
    branches = alternatives(joined, root)
    if branches is not None:
        return any(_fits(value, branch, root, seen | direct_refs(node)) for branch in branches)
    if not _has_type(value, types_of(joined)) or not _is_listed(value, joined):
        return False
    if is_schema(value):
        return _object_fits(value, joined, root)
    return _list_fits(value, joined, root) if is_list(value) else True


def _has_type(value: object, types: tuple[str, ...]) -> bool:
    name = type_of(value)
    if name == "number" and isinstance(value, float) and value.is_integer():
        return "number" in types or "integer" in types
    return name in types or (name == "integer" and "number" in types)


def _is_listed(value: object, node: Schema) -> bool:
    values = [node["const"]] if "const" in node else branches_of(node, "enum")
    return not values or any(value == other and isinstance(value, bool) == isinstance(other, bool) for other in values)


def _object_fits(value: Schema, node: Schema, root: Schema) -> bool:
    properties, required = properties_of(node), required_of(node)
    return value.keys() == properties.keys() and all(
        (child is None and name not in required) or _fits(child, properties[name], root, frozenset())
        for name, child in value.items()
    )


def _list_fits(value: list[Any], node: Schema, root: Schema) -> bool:
    return all(_fits(child, node.get("items"), root, frozenset()) for child in value)
