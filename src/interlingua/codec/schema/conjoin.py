"""Merging `$ref`, `allOf` and the keywords beside them into one schema; and finding the alternatives of a union."""

from collections.abc import Callable
from functools import reduce
from typing import Any

from interlingua.codec.schema.refs import refs_in
from interlingua.codec.schema.walk import (
    ASSERTIONS,
    Schema,
    branches_of,
    is_schema,
    properties_of,
    required_of,
    resolve,
    subschemas,
    types_of,
    well_formed,
)

UNIONS = ("anyOf", "oneOf")


def direct_refs(node: Schema) -> frozenset[str]:
    """The references that ``conjoined`` would follow first."""
    parts = (node, *(part for part in branches_of(node, "allOf") if is_schema(part)))
    return frozenset(part["$ref"] for part in parts if isinstance(part.get("$ref"), str))


def conjoined(node: Schema, root: Schema, seen: frozenset[str] = frozenset()) -> Schema | None:
    """An equal schema whose top has neither `$ref` nor `allOf`.

    None if a reference dangles, leads back to itself or is in ``seen``, or if one schema cannot express all the parts.
    """
    return _conjoined(node, root, dict.fromkeys(seen))


def _conjoined(node: Schema, root: Schema, known: dict[str, Schema | None]) -> Schema | None:
    """The same. ``known`` has the results for references; None while one is being followed, so that a circle ends."""
    if "$ref" not in node and "allOf" not in node:
        return node
    parts: list[Schema | None] = [{key: value for key, value in node.items() if key not in ("$ref", "allOf")}]
    if (ref := node.get("$ref")) is not None:
        if ref not in known:
            known[ref] = None
            target = resolve(ref, root)
            known[ref] = None if target is None else _conjoined(target, root, known)
        parts.append(known[ref])
    parts.extend(_conjoined(part, root, known) if is_schema(part) else None for part in branches_of(node, "allOf"))
    return reduce(_both, parts)


def with_own_root(root: Schema) -> Schema:
    """An equal schema whose root is no reference, since providers require a type there; ``root`` itself if it is none,
    or one that cannot be followed."""
    ref = root.get("$ref")
    if not isinstance(ref, str) or (copy := conjoined(well_formed(root), root)) is None:
        return root
    keyword, _, name = ref.removeprefix("#/").partition("/")
    if is_schema(known := copy.get(keyword)) and ref not in refs_in(copy):
        others = {other: schema for other, schema in known.items() if other != name}
        copy = {key: value for key, value in copy.items() if key != keyword} | ({keyword: others} if others else {})
    last = ("$defs", "definitions")
    return {key: copy[key] for key in sorted(copy, key=lambda key: key in last)}


def lone_reference(node: Schema) -> Schema:
    """``node`` with an `allOf` of one reference replaced by the reference, which means the same."""
    parts = branches_of(node, "allOf")
    if len(parts) == 1 and is_schema(parts[0]) and parts[0].keys() == {"$ref"} and "$ref" not in node:
        return {**parts[0], **{key: value for key, value in node.items() if key != "allOf"}}
    return node


def _both(first: Schema | None, second: Schema | None) -> Schema | None:
    """The schema that both allow; annotations of the first win, but descriptions are joined."""
    if first is None or second is None or not (_leaves_room(first, second) and _leaves_room(second, first)):
        return None
    both = dict(first)
    for keyword, value in second.items():
        if keyword not in both or keyword in ("$defs", "definitions"):
            both.setdefault(keyword, value)
        elif both[keyword] != value and keyword in JOINS:
            if (joined := JOINS[keyword](both[keyword], value)) is None:
                return None
            both[keyword] = joined
        elif both[keyword] != value and keyword in ASSERTIONS:
            return None
    return both


def _leaves_room(closed: Schema, other: Schema) -> bool:
    """Whether ``closed`` allows what ``other`` declares: `additionalProperties` sees only the properties beside it."""
    return (
        closed.get("additionalProperties", True) is True or properties_of(other).keys() <= properties_of(closed).keys()
    )


def _types(first: str | list[str], second: str | list[str]) -> str | list[str] | None:
    one, two = ([names] if isinstance(names, str) else names for names in (first, second))
    common = [name for name in one if name in two or (name == "integer" and "number" in two)]
    common += [name for name in two if name == "integer" and "number" in one and name not in common]
    return common[0] if len(common) == 1 else common or None


def _properties(first: Schema, second: Schema) -> Schema:
    """The properties of both. One that both declare must satisfy both: it becomes an `allOf`, which is merged later."""
    shared = {
        name: {"allOf": [first[name], second[name]]} for name in first if first[name] != second.get(name, first[name])
    }
    return {**second, **first, **shared}


JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "description": lambda first, second: f"{first}\n\n{second}",
    "type": _types,
    "properties": _properties,
    "required": lambda first, second: list(dict.fromkeys([*first, *second])),
    "enum": lambda first, second: [value for value in first if value in second] or None,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}


def alternatives(node: Schema, root: Schema) -> list[Any] | None:
    """The branches of a union that is the whole of ``node``: nothing beside it but annotations, or a type that the
    branches state again. None if there is no union, or if it only adds conditions (see ``is_guidance``)."""
    keyword = next((word for word in UNIONS if word in node), None)
    if keyword is None or (node.keys() & ASSERTIONS) - {keyword, "type", "nullable"}:
        return None
    branches = branches_of(node, keyword)
    if "type" not in node:
        return branches
    stated = [types_of(joined) for branch in branches if (joined := _joined(branch, root)) is not None]
    within = all(types and set(types) <= set(types_of(node)) for types in stated)
    return branches if within and len(stated) == len(branches) else None


def _joined(branch: object, root: Schema) -> Schema | None:
    return conjoined(branch, root) if is_schema(branch) else None


def is_guidance(condition: object, names: set[str]) -> bool:
    """Whether a condition (a branch, `then`, `not`) is only about properties in ``names``: then moving it into the
    description loosens the schema but loses no property."""
    if not is_schema(condition):
        return True
    if "$ref" in condition or not (properties_of(condition).keys() | set(required_of(condition))) <= names:
        return False
    return all(
        is_guidance(child, set() if place.startswith("properties/") else names)
        for place, child in subschemas(condition)
    )
