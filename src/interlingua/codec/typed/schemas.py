"""JSON Schema of the types in a signature: msgspec's, made shorter and better described."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import Any, get_type_hints

import msgspec
from msgspec import inspect

from ..schema.refs import refs_in, with_refs
from ..schema.walk import Schema, is_list, is_schema, map_subschemas, properties_of, type_of
from .docstrings import read_docstring
from .hints import description_of, schema_of

__all__ = ["schemas_of"]

DEFS = "#/$defs/"


def schemas_of(types: Sequence[Any]) -> tuple[list[Schema], Schema]:
    """The schema of each type, and the definitions that they share."""
    found, shared = msgspec.json.schema_components(types, schema_hook=schema_of)
    definitions: Schema = dict(shared)
    for cls, info in _classes(types).items():
        name = next((name for name in _names(cls) if name in definitions), None)
        if name is not None:
            definitions[name] = _described(definitions[name], cls, info)
    hoist = _Hoist(definitions)
    for name in list(definitions):
        definitions[name] = hoist.hoisted(definitions[name])
    schemas = [_tidied(hoist.hoisted(schema)) for schema in found]
    return schemas, {name: _tidied(schema, f"/{name}") for name, schema in definitions.items()}


# ----------------------------------------------------------------------------------------------- words of the classes


def _classes(types: Sequence[Any]) -> dict[Any, Any]:
    """Every class in the types, with what msgspec knows of it."""
    found: dict[Any, Any] = {}
    waiting: list[Any] = list(inspect.multi_type_info(types))
    while waiting:
        node = waiting.pop()
        if type(node) is tuple:
            waiting += node
        elif isinstance(node, inspect.Type | inspect.Field):
            cls = getattr(node, "cls", None)
            if cls is None or cls not in found:
                waiting += (getattr(node, field) for field in node.__struct_fields__)
            if cls is not None:
                found[cls] = node
    return found


def _names(cls: Any) -> tuple[str, str]:
    """The names that msgspec may have given to a class: its own, or the full one where two have the same."""
    bare = getattr(cls, "__origin__", cls)
    arguments = ", ".join(getattr(arg, "__name__", repr(arg)) for arg in getattr(cls, "__args__", ()))
    own = f"{bare.__name__}[{arguments}]" if arguments else bare.__name__
    full = f"{bare.__module__}.{bare.__qualname__}"
    return re.sub(r"[^\w.-]", "_", own, flags=re.ASCII), re.sub(r"[^\w.-]", "_", full, flags=re.ASCII)


def _described(schema: Schema, cls: Any, info: Any) -> Schema:
    """The schema of a class, with an Enum's values as declared and the descriptions that the class has for fields."""
    if isinstance(cls, type) and issubclass(cls, Enum):
        return {**schema, "enum": [member.value for member in cls]}
    doc = read_docstring(schema.get("description"))
    words = {**doc.parameters, **_annotated(cls)}
    about = {field.encode_name: words[field.name] for field in getattr(info, "fields", ()) if field.name in words}
    properties = {
        name: {**field, "description": about[name]} if name in about and "description" not in field else field
        for name, field in properties_of(schema).items()
    }
    described = {**schema, **({"properties": properties} if properties else {})}
    if "description" in schema:
        described["description"] = doc.text
    return {key: value for key, value in described.items() if key != "description" or value}


def _annotated(cls: Any) -> dict[str, str]:
    try:
        hints = get_type_hints(getattr(cls, "__origin__", cls), include_extras=True)
    except (NameError, TypeError):
        return {}
    return {name: text for name, hint in hints.items() if (text := description_of(hint))}


# ---------------------------------------------------------------------------------------------------------- tidying


class _Hoist:
    """Moves definitions that stand inside a schema, where pydantic puts them, to those that all share."""

    def __init__(self, definitions: Schema) -> None:
        self.definitions = definitions
        self._closures: dict[str, Schema] = {}  # what each name stands for, with all that it refers to

    def hoisted(self, node: Any) -> Any:
        if not is_schema(node):
            return node
        if not is_schema(inner := node.get("$defs")):
            return map_subschemas(node, lambda child, _: self.hoisted(child))
        names = {name: self._free_name(name, _closure(name, inner)) for name in inner}
        self.definitions |= {names[name]: _renamed(schema, names) for name, schema in inner.items()}
        return _renamed({key: value for key, value in node.items() if key != "$defs"}, names)

    def _free_name(self, name: str, closure: Schema) -> str:
        """The name itself, or one with a number if another definition has that name."""
        free, count = name, 1
        while free in self.definitions.keys() | self._closures.keys() and self._closures.get(free) != closure:
            count += 1
            free = f"{name}_{count}"
        self._closures[free] = closure
        return free


def _closure(name: str, definitions: Schema) -> Schema:
    found: Schema = {}
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if name in definitions and name not in found:
            found[name] = definitions[name]
            waiting += [ref.removeprefix(DEFS) for ref in refs_in(definitions[name])]
    return found


def _renamed(node: Any, names: dict[str, str]) -> Any:
    """A schema with definitions under other names."""
    return with_refs(node, lambda ref: DEFS + names[name] if (name := ref.removeprefix(DEFS)) in names else ref)


def _tidied(node: Any, at: str = "#") -> Any:
    """A schema without titles that only repeat a name, and with the type of an ``enum``, which some vendors require."""
    if not is_schema(node):
        return node
    tidy = map_subschemas(node, _tidied, at)
    if _letters(tidy.get("title")) == _letters(at.rpartition("/")[2]):
        del tidy["title"]
    if "type" not in tidy and is_list(values := tidy.get("enum")):
        kinds = list(dict.fromkeys(map(type_of, values)))
        tidy = {"type": kinds[0] if len(kinds) == 1 else kinds, **tidy}
    return tidy


def _letters(text: object) -> str | None:
    return re.sub(r"[\W_]", "", text).lower() if isinstance(text, str) else None
