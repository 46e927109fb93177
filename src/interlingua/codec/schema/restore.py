"""`restore_optional`: the inverse of `strict_schema` for values, so that a tool sees what its author declared.

Strict mode makes a model write null for a property that it would leave out. Only a null at an optional property whose
own schema does not allow null is removed. Where the property is optional and may be null too, null stays.
"""

from typing import Any

from interlingua.codec.schema.conjoin import alternatives, conjoined, direct_refs
from interlingua.codec.schema.nulls import allows_null
from interlingua.codec.schema.strict import strict_schema
from interlingua.codec.schema.subsets import subset_of
from interlingua.codec.schema.walk import (
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

PENDING = object()  # the result of a branch that refers to its own union: it adds nothing to the other branches


def restore_optional(input: Schema, schema: Schema, dialect: str = "openai-chat") -> Schema:
    """``input`` without the nulls that ``strict_schema(schema, dialect)`` made the model write.

    ``schema`` is the one that the tool's author declared. Returns ``input`` itself if there is nothing to remove:
    if the dialect keeps optional properties, if the schema could not be made strict, if the value does not fit.
    """
    subset = subset_of(dialect)
    if not subset.all_required or not _has_null(input) or not strict_schema(schema, dialect).strict:
        return input
    restored: Schema = without_added_nulls(input, schema)
    return restored


def without_added_nulls(value: Any, schema: Schema) -> Any:
    """``value`` without the nulls at optional properties that may not be null in ``schema``, as its author wrote it."""
    try:
        root: Schema = well_formed(schema)
        return Restorer(root).restored(value, root) if _has_null(value) else value
    except RecursionError:  # nested deeper than Python's stack
        return value


def _has_null(value: object) -> bool:
    waiting = [value]
    while waiting:
        if (found := waiting.pop()) is None:
            return True
        if is_schema(found):
            waiting.extend(found.values())
        elif is_list(found):
            waiting.extend(found)
    return False


class Restorer:
    """Removes nulls by one schema. The result for a reference is kept for each value: unions may need it repeatedly."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        # By the identities of value and schema; the schema is kept alive, so that no other gets its identity.
        self._restored: dict[tuple[int, int], tuple[Schema, Any]] = {}
        self._fitting: dict[tuple[int, int], tuple[Schema, bool]] = {}

    def restored(self, value: Any, node: Any) -> Any:
        if not is_schema(node):
            return value
        if not direct_refs(node):
            return self._by_schema(value, node)
        key = (id(value), id(node))
        if key not in self._restored:
            self._restored[key] = (node, PENDING)
            self._restored[key] = (node, self._by_schema(value, node))
        return self._restored[key][1]

    def _by_schema(self, value: Any, node: Schema) -> Any:
        if (joined := conjoined(node, self._root)) is None:
            return value
        if (branches := alternatives(joined, self._root)) is not None:
            return self._by_branch(value, branches)
        if is_schema(value):
            return self._by_properties(value, joined)
        return self._by_items(value, joined) if is_list(value) else value

    def _by_branch(self, value: Any, branches: list[Any]) -> Any:
        """Restore by the first branch that fits. If several fit and one of them changes nothing, the value stays."""
        tried = [self.restored(value, branch) for branch in branches if self._fits(value, branch)]
        found = [restored for restored in tried if restored is not PENDING]
        return value if not found or any(restored is value for restored in found) else found[0]

    def _by_properties(self, value: Schema, node: Schema) -> Schema:
        properties, required = properties_of(node), required_of(node)
        restored = {
            name: self.restored(child, properties.get(name))
            for name, child in value.items()
            if child is not None or name not in properties or name in required or self._nullable(properties[name])
        }
        same = len(restored) == len(value) and all(restored[name] is child for name, child in value.items())
        return value if same else restored

    def _by_items(self, value: list[Any], node: Schema) -> list[Any]:
        restored = [self.restored(child, node.get("items")) for child in value]
        return value if all(new is old for new, old in zip(restored, value, strict=True)) else restored

    def _nullable(self, node: Any) -> bool:
        return allows_null(node, self._root)

    # --------------------------------------------------------------------------------------------------- which branch

    def _fits(self, value: Any, node: Any) -> bool:
        """Whether ``value`` has the shape that strict mode gives to ``node``: every property there, no other, null for
        what is optional. Bounds and patterns do not count: some are only in the description, and a model may miss them.
        """
        if not is_schema(node):
            return node is True
        if value is None:
            return self._nullable(node)
        if not direct_refs(node):
            return self._fits_schema(value, node)
        key = (id(value), id(node))
        if key not in self._fitting:
            self._fitting[key] = (node, False)  # the result if the reference leads back to itself
            self._fitting[key] = (node, self._fits_schema(value, node))
        return self._fitting[key][1]

    def _fits_schema(self, value: Any, node: Schema) -> bool:
        if (joined := conjoined(node, self._root)) is None:
            return False
        if (branches := alternatives(joined, self._root)) is not None:
            return any(self._fits(value, branch) for branch in branches)
        if not _has_type(value, types_of(joined)) or not _is_listed(value, joined):
            return False
        if is_schema(value):
            return self._fits_object(value, joined)
        return all(self._fits(child, joined.get("items")) for child in value) if is_list(value) else True

    def _fits_object(self, value: Schema, node: Schema) -> bool:
        properties, required = properties_of(node), required_of(node)
        return value.keys() == properties.keys() and all(
            (child is None and name not in required) or self._fits(child, properties[name])
            for name, child in value.items()
        )


def _has_type(value: object, types: tuple[str, ...]) -> bool:
    name = type_of(value)
    if name == "number" and isinstance(value, float) and value.is_integer():
        return "number" in types or "integer" in types
    return name in types or (name == "integer" and "number" in types)


def _is_listed(value: object, node: Schema) -> bool:
    values = [node["const"]] if "const" in node else branches_of(node, "enum")
    return not values or any(value == other and isinstance(value, bool) == isinstance(other, bool) for other in values)
