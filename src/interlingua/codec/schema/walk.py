"""Reading JSON Schema: where subschemas live, what a reference names, which types a schema has.

No function here changes the schema that it gets, and none raises, whatever a stranger wrote into it. The other modules
read what ``well_formed`` returned, where each keyword has the shape that JSON Schema gives it or is absent.
"""

from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, TypeAlias, TypeGuard

Schema: TypeAlias = dict[str, Any]

# Where subschemas live: under names, in lists, alone. In `enum`, `default` and `examples` are values, not schemas.
NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
LONE = (
    "items", "additionalProperties", "not", "if", "then", "else", "contains",
    "propertyNames", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip

PLACES = frozenset((*NAMED, *LISTED, *LONE))

BOUNDS = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems",
    "maxItems", "minContains", "maxContains", "minProperties", "maxProperties",
)  # fmt: skip

# Keywords that decide whether a value is valid. Every other keyword only annotates.
ASSERTIONS = frozenset((
    *NAMED, *LISTED, *LONE, *BOUNDS, "$ref", "type", "nullable", "enum", "const", "required", "dependentRequired",
    "format", "pattern", "uniqueItems",
)) - {"$defs", "definitions"}  # fmt: skip


def is_schema(value: object) -> TypeGuard[Schema]:
    """Whether a value is an object schema; boolean schemas are not."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def is_number(value: object) -> bool:
    return isinstance(value, _NUMBER) and not isinstance(value, bool)


def _are_names(value: object) -> bool:
    if not is_list(value):
        return False
    for name in value:  # noqa: SIM110  (a generator takes twice as long, and every object has names)
        if not isinstance(name, str):
            return False
    return True


# made once: a union of types is made anew wherever it is written
_NUMBER, _ALONE, _ITEMS = (int, float), (dict, bool), (dict, bool, list)

SHAPES: Mapping[str, Callable[[object], bool]] = {
    **dict.fromkeys(NAMED, is_schema),
    **dict.fromkeys((*LISTED, "enum"), lambda value: is_list(value) and bool(value)),
    **dict.fromkeys(LONE, lambda value: isinstance(value, _ALONE)),
    **dict.fromkeys(("$ref", "title", "description", "pattern", "format"), lambda value: isinstance(value, str)),
    **dict.fromkeys(BOUNDS, is_number),
    "type": lambda value: isinstance(value, str) or (_are_names(value) and bool(value)),
    "required": _are_names,
    "items": lambda value: isinstance(value, _ITEMS),
}


def malformed(node: object, at: str = "#") -> Iterator[str]:
    """The JSON pointers of keywords that do not have their shape."""
    if is_schema(node):
        yield from (step(at, word) for word, value in node.items() if word in SHAPES and not SHAPES[word](value))
        for place, child in subschemas(node):
            yield from malformed(child, f"{at}/{place}")


def well_formed(node: Any) -> Any:
    """``node`` without the keywords that ``malformed`` finds."""
    if not is_schema(node):
        return node
    kept = {word: value for word, value in node.items() if word not in SHAPES or SHAPES[word](value)}
    return map_subschemas(kept, lambda child, _: well_formed(child))


def properties_of(node: Schema) -> Schema:
    found: Schema = node.get("properties", {})
    return found


def required_of(node: Schema) -> list[str]:
    found: list[str] = node.get("required", [])
    return found


def branches_of(node: Schema, keyword: str) -> list[Any]:
    found: list[Any] = node.get(keyword, [])
    return found


def step(at: str, *names: str) -> str:
    """The JSON pointer of a place below ``at``."""
    for name in names:
        at = f"{at}/{name.replace('~', '~0').replace('/', '~1') if '~' in name or '/' in name else name}"
    return at


def subschemas(node: Schema) -> Iterator[tuple[str, Any]]:
    """Each direct subschema with its pointer relative to ``node``; a boolean that stands alone counts as a flag."""
    for keyword, value in node.items():
        if keyword not in PLACES:
            continue
        if is_schema(value):
            if keyword in NAMED:
                yield from ((step(keyword, name), child) for name, child in value.items())
            elif keyword in LONE:
                yield keyword, value
        elif is_list(value) and keyword not in NAMED:
            yield from ((step(keyword, str(index)), child) for index, child in enumerate(value))


def map_subschemas(
    node: Schema, change: Callable[[Any, str], Any], at: str = "#", settled: Set[int] = frozenset()
) -> Schema:
    """A copy of ``node`` with ``change(child, pointer)`` in the place of each direct subschema; those whose identities
    are in ``settled`` stay."""
    mapped = dict(node)
    for keyword, value in node.items():
        if keyword not in PLACES:
            continue
        if is_schema(value) and keyword in NAMED:
            mapped[keyword] = {
                name: child if id(child) in settled else change(child, step(at, keyword, name))
                for name, child in value.items()
            }
        elif is_list(value) and keyword not in NAMED:
            mapped[keyword] = [
                child if id(child) in settled else change(child, step(at, keyword, str(index)))
                for index, child in enumerate(value)
            ]
        elif is_schema(value) and keyword in LONE and id(value) not in settled:
            mapped[keyword] = change(value, step(at, keyword))
    return mapped


def resolve(ref: object, root: Schema) -> Schema | None:
    """The schema that a local reference names; None for a foreign or dangling reference, and for anchors."""
    if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
        return None
    from urllib.parse import unquote  # noqa: PLC0415 - slow to import, and rarely needed

    found: Any = root
    for part in unquote(ref).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if is_schema(found):
            found = found.get(name)
        elif is_list(found) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found if is_schema(found) else None


def declared_types(node: Schema) -> tuple[str, ...]:
    found: str | list[str] = node.get("type", [])
    return (found,) if isinstance(found, str) else tuple(found)


def types_of(node: Schema) -> tuple[str, ...]:
    """The declared types, else the ones that other keywords imply; empty if none does."""
    if declared := declared_types(node):
        return declared
    if "properties" in node:
        return ("object",)
    if "items" in node or "prefixItems" in node:
        return ("array",)
    values: list[Any] = [node["const"]] if "const" in node else branches_of(node, "enum")
    return tuple(dict.fromkeys(type_of(value) for value in values))


def type_of(value: object) -> str:
    """The JSON type of a value; `bool` is tested before `int`, because in Python True is an int."""
    kinds: tuple[tuple[type, str], ...] = (
        (bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"), (dict, "object"),
    )  # fmt: skip
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")
