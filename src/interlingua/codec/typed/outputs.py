"""A typed answer: the schema that is sent to the model, and reading its text as a value of the type."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Generic, TypeVar, Union, cast, get_args, get_origin

import msgspec

from ...types.base import Json
from ..limits import Limits, is_deeper
from ..schema.conjoin import with_own_root
from ..schema.nulls import all_required
from ..schema.refs import with_refs
from ..schema.restore import without_added_nulls
from ..schema.walk import Schema, is_schema, properties_of, types_of
from .checking import complaints
from .hints import plain_hint
from .schemas import schemas_of
from .values import read_value

__all__ = ["Output", "output_of"]

T = TypeVar("T")

RESULT = "result"
"""The property in which a value that is no object is wrapped: many providers answer with objects only."""
DEFINITIONS = ("$defs", "definitions")
FENCE = "```"
DEEPEST = Limits().depth


class Output(Generic[T]):
    """What an answer has to be. ``schema`` is what is sent to the model; its root is an object."""

    def __init__(self, types: Sequence[Any], schemas: Sequence[Schema], definitions: Schema) -> None:
        """``types`` are tried in order; none means that the value is checked by its schema, and stays as it is."""
        self._types, self._schemas, self._definitions = types, schemas, definitions
        root: Schema = dict(schemas[0]) if len(schemas) == 1 else {"anyOf": list(schemas)}
        self._root = with_own_root({**root, **definitions})
        self.wrapped = types_of(self._root) != ("object",)
        self._own = _wrapped(self._root) if self.wrapped else self._root
        self.schema = all_required(self._own, self._own)

    def read(self, text: str) -> T:
        """The value that a text holds. Raises ``ValueError`` that lists what is wrong with it."""
        value = self._unwrapped(_parsed(text))
        if found := [] if self._types else complaints(value, self._root):
            raise ValueError(_listed(found))
        if not self._types:
            return cast("T", value)
        reasons: list[str] = []
        for place in self._likely(value):
            try:
                return cast("T", read_value(value, self._types[place]))
            except msgspec.ValidationError as error:
                reasons += complaints(value, {**self._schemas[place], **self._definitions}) or [str(error)]
            except Exception as error:  # noqa: BLE001 - the caller's own class may refuse in its own way
                reasons.append(f"{type(error).__name__}: {error}")
        raise ValueError(_listed(reasons))

    def inside(self, value: Json) -> Json:
        """The value in an answer: the answer itself, or what stands in the property that the value is wrapped in."""
        return value.get(RESULT) if self.wrapped and is_schema(value) else value

    def _unwrapped(self, value: Json) -> Json:
        if self.wrapped and not (is_schema(value) and value.keys() == {RESULT}):
            return without_added_nulls(value, self._root)
        return self.inside(without_added_nulls(value, self._own))

    def _likely(self, value: Json) -> list[int]:
        """The indexes of the types, in the order to try them: first those that know most names of the value."""
        places = range(len(self._types))
        if len(places) == 1 or not is_schema(value):
            return list(places)
        return sorted(places, key=lambda place: len(value.keys() - self._names(place)))

    def _names(self, place: int) -> set[str]:
        return set(properties_of(with_own_root({**self._schemas[place], **self._definitions})))


def output_of(kind: Any) -> Output[Any]:
    """The typed answer that ``output=`` asks for: a type that a tool's parameter may have, or a JSON Schema."""
    if isinstance(kind, Mapping):
        schema = dict(cast("Mapping[str, Json]", kind))
        definitions = {name: schema.pop(name) for name in DEFINITIONS if name in schema}
        return Output((), [schema], definitions)
    if isinstance(kind, str | bytes | int | float | list | tuple) or kind is None:
        raise TypeError(f"output= takes a type or a JSON Schema (a dict), not {kind!r}")
    try:
        return _known(kind)
    except TypeError as error:
        raise TypeError(f"output={getattr(kind, '__name__', kind)}: {str(error).splitlines()[-1]}") from None


@lru_cache(maxsize=256)
def _known(kind: Any) -> Output[Any]:
    members = [plain_hint(member) for member in _members(kind)]
    schemas, definitions = schemas_of(members)
    return Output(members, schemas, {"$defs": definitions} if definitions else {})


def _members(kind: Any) -> tuple[Any, ...]:
    """The members of a union, which are read one after the other: msgspec knows no union of two plain classes."""
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(member for part in get_args(kind) for member in _members(part))
    return (kind,)


def _wrapped(root: Schema) -> Schema:
    """An object with the value as its one property. References are changed to name the same parts as before."""
    shared = {name: root[name] for name in DEFINITIONS if name in root}
    inner = {name: value for name, value in root.items() if name not in DEFINITIONS}
    whole: Schema = {
        "type": "object",
        "properties": {RESULT: inner},
        "required": [RESULT],
        "additionalProperties": False,
        **shared,
    }
    moved: Schema = with_refs(whole, _moved)
    return moved


def _moved(ref: str) -> str:
    """A reference to a part that is now below the property; definitions stay where they are."""
    inside = (ref == "#" or ref.startswith("#/")) and not ref.startswith(_TO_DEFINITIONS)
    return f"#/properties/{RESULT}{ref[1:]}" if inside else ref


_TO_DEFINITIONS = tuple(f"#/{name}/" for name in DEFINITIONS)


def _parsed(text: str) -> Json:
    """The JSON of a text. Some models put it in a fenced block, whatever they are asked for."""
    text = text.strip()
    if text.startswith(FENCE) and text.endswith(FENCE) and "\n" in text:
        text = text.partition("\n")[2].removesuffix(FENCE)
    if not text.strip():
        raise ValueError("- the answer holds no text")
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ValueError(f"- it is not JSON: {error}") from None
    if is_deeper(value, DEEPEST):
        raise ValueError(f"- it is nested more than {DEEPEST} deep")
    return value


def _listed(reasons: Sequence[str]) -> str:
    return "\n".join(f"- {reason}" for reason in dict.fromkeys(reasons))
