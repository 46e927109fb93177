"""A light check of a value by JSON Schema, for tools whose schema was written by hand or came from a server.

Shapes only: ``type``, ``enum``, ``const``, ``required``, ``properties``, ``additionalProperties``, ``items``,
``prefixItems``, the unions and local ``$ref``. The tool itself must check bounds, patterns and formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from ...types.base import Json
from ..schema.walk import (
    Schema,
    branches_of,
    is_list,
    is_schema,
    properties_of,
    required_of,
    resolve,
    type_of,
    well_formed,
)

__all__ = ["complaints"]

MOST, LONGEST = 20, 2000
"""How many complaints are returned, and how many characters one may have."""


def complaints(value: Json, schema: Schema) -> list[str]:
    """What is wrong with a value, each complaint with its place; empty if it fits the schema."""
    try:
        root: Schema = well_formed(schema)
        return _first(_Check(root).complaints(value, root, ""))
    except RecursionError:
        return ["the input is nested deeper than Python's stack"]


class _Check:
    """Checks one value by one schema. The result for a reference is kept: unions may need it repeatedly."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._known: dict[tuple[str, str], list[str]] = {}

    def complaints(self, value: Json, node: Any, at: str) -> Iterator[str]:
        if node is False:
            yield f"{_place(at)}: nothing is allowed here"
        elif is_schema(node) and not (value is None and node.get("nullable") is True):
            for keyword in [word for word in node if word in _KEYWORDS]:
                yield from _KEYWORDS[keyword](self, value, node, at)

    # ---------------------------------------------------------------------------------------------------- keywords

    def by_ref(self, value: Json, node: Schema, at: str) -> Iterator[str]:
        key = (at, str(node["$ref"]))
        if key not in self._known:
            self._known[key] = []  # the result if the reference leads back to itself
            found = resolve(node["$ref"], self._root)  # None for a reference to another document: nothing is checked
            self._known[key] = _first(self.complaints(value, found, at))
        yield from self._known[key]

    def by_type(self, value: Json, node: Schema, at: str) -> Iterator[str]:
        wanted: list[str] = [node["type"]] if isinstance(node["type"], str) else node["type"]
        kind = type_of(value)
        whole = isinstance(value, float) and value.is_integer()
        if kind in wanted or (kind == "integer" and "number" in wanted) or (whole and "integer" in wanted):
            return
        yield f"{_place(at)}: expected {' or '.join(wanted)}, got {kind}"

    def by_enum(self, value: Json, node: Schema, at: str) -> Iterator[str]:
        if not any(_same(value, one) for one in branches_of(node, "enum")):
            yield f"{_place(at)}: {value!r} is not one of {', '.join(map(repr, branches_of(node, 'enum')))}"

    def by_const(self, value: Json, node: Schema, at: str) -> Iterator[str]:
        if not _same(value, node["const"]):
            yield f"{_place(at)}: {value!r} is not {node['const']!r}"

    def by_required(self, value: Json, node: Schema, at: str) -> Iterator[str]:
        if is_schema(value):
            yield from (f"{_place(f'{at}.{name}')} is missing" for name in required_of(node) if name not in value)

    def by_properties(self, value: Json, node: Schema, at: str) -> Iterator[str]:
        if is_schema(value):
            for name, child in properties_of(node).items():
                if name in value:
                    yield from self.complaints(value[name], child, f"{at}.{name}")

    def by_others(self, value: Json, node: Schema, at: str) -> Iterator[str]:
        if not is_schema(value) or "patternProperties" in node:
            return
        known = properties_of(node)
        for name in [name for name in value if name not in known]:
            if node["additionalProperties"] is False:
                yield f"{_place(f'{at}.{name}')} is not known; there are: {', '.join(known) or 'none'}"
            else:
                yield from self.complaints(value[name], node["additionalProperties"], f"{at}.{name}")

    def by_items(self, value: Json, node: Schema, at: str) -> Iterator[str]:
        if is_list(value):
            for index in range(len(branches_of(node, "prefixItems")), len(value)):
                yield from self.complaints(value[index], node["items"], f"{at}[{index}]")

    def by_prefix(self, value: Json, node: Schema, at: str) -> Iterator[str]:
        if is_list(value):
            for index, (item, child) in enumerate(zip(value, branches_of(node, "prefixItems"), strict=False)):
                yield from self.complaints(item, child, f"{at}[{index}]")

    def by_all(self, value: Json, node: Schema, at: str) -> Iterator[str]:
        for branch in branches_of(node, "allOf"):
            yield from self.complaints(value, branch, at)

    def by_any(self, value: Json, node: Schema, at: str) -> Iterator[str]:
        yield from self._by_union(value, branches_of(node, "anyOf"), at)

    def by_one(self, value: Json, node: Schema, at: str) -> Iterator[str]:
        yield from self._by_union(value, branches_of(node, "oneOf"), at)

    def _by_union(self, value: Json, branches: list[Any], at: str) -> Iterator[str]:
        """One branch must fit. More may, even of ``oneOf``: branches often differ in something that we do not check."""
        tried = [_first(self.complaints(value, branch, at)) for branch in branches]
        if all(tried):
            why = " / ".join(_first(one for some in tried for one in some))
            yield f"{_place(at)} fits none of {len(branches)} forms: {why}"[:LONGEST]


_Keyword = Callable[[_Check, Json, Schema, str], Iterator[str]]
_KEYWORDS: dict[str, _Keyword] = {
    "$ref": _Check.by_ref,
    "type": _Check.by_type,
    "enum": _Check.by_enum,
    "const": _Check.by_const,
    "required": _Check.by_required,
    "properties": _Check.by_properties,
    "additionalProperties": _Check.by_others,
    "items": _Check.by_items,
    "prefixItems": _Check.by_prefix,
    "allOf": _Check.by_all,
    "anyOf": _Check.by_any,
    "oneOf": _Check.by_one,
}


def _first(found: Iterator[str]) -> list[str]:
    """The first complaints, each once. References that fan out repeat the same one again and again."""
    return list(islice(dict.fromkeys(islice(found, MOST * MOST)), MOST))


def _place(at: str) -> str:
    return f"`{at.removeprefix('.')}`" if at else "the input"


def _same(value: object, other: object) -> bool:
    """Whether two values are equal as JSON: to Python, True is 1."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)
