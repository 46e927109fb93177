"""Compiles Python type hints to checkers: TypedDicts (openai, anthropic), pydantic models (google-genai, ollama)."""

from __future__ import annotations

import collections.abc
import datetime
import enum
import types
import typing
from collections.abc import Mapping
from typing import Any, Final

import typing_extensions
from pydantic import BaseModel

from lab.oracles import leaves
from lab.oracles.leaves import Base64, Check, OneOf
from lab.oracles.typed import Choice, ListOf, MapOf, Record

SCALARS: Final[Mapping[Any, Check]] = {
    Any: leaves.ANYTHING,
    object: leaves.ANYTHING,
    types.NoneType: leaves.NULL,
    str: leaves.STRING,
    int: leaves.INTEGER,
    float: leaves.NUMBER,
    bool: leaves.BOOLEAN,
    bytes: Base64(url_safe=True),
    datetime.datetime: leaves.STRING,
    list: leaves.ARRAY,
    dict: leaves.OBJECT,
}
MAPPINGS: Final = (dict, collections.abc.Mapping)
WRAPPERS: Final = (typing.Annotated, typing_extensions.Required, typing_extensions.NotRequired, typing.Required)


class Compiler:
    """Turns hints into checkers, each declaration once. ``overrides``: checkers to use for some types instead."""

    def __init__(self, overrides: Mapping[Any, Check] | None = None) -> None:
        self._made: dict[Any, Check] = {**SCALARS, **(overrides or {})}

    def compile(self, hint: Any) -> Check:
        return self._made.get(hint) or self._build(hint)

    def _build(self, hint: Any) -> Check:
        if typing_extensions.is_typeddict(hint):
            return self._typed_dict(hint)
        if isinstance(hint, type) and issubclass(hint, BaseModel):
            return self._model(hint)
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            # google-genai's enums define `_missing_` to read a word in any case.
            return OneOf((member.value for member in hint), any_case="_missing_" in vars(hint.__mro__[1]))
        return self._generic(typing_extensions.get_origin(hint), typing_extensions.get_args(hint))

    def _generic(self, origin: Any, args: tuple[Any, ...]) -> Check:
        if origin in WRAPPERS:
            return self.compile(args[0])
        if origin in (typing.Literal, typing_extensions.Literal):
            return OneOf(args)
        if origin in (typing.Union, types.UnionType):
            return Choice(self.compile(arg) for arg in args)
        if origin in MAPPINGS:
            return MapOf(self.compile(args[1]))
        if isinstance(origin, type) and is_array(origin):
            return ListOf(self.compile(args[0]))
        return leaves.NOTHING

    def _typed_dict(self, hint: Any) -> Record:
        config: Mapping[str, Any] = getattr(hint, "__pydantic_config__", {})
        record = self._made[hint] = Record(hint.__name__, open=config.get("extra") == "allow")
        fields = declared(hint)
        record.required = tuple(key for key, (_, required) in fields.items() if required)
        record.fields.update((key, self.compile(field)) for key, (field, _) in fields.items())
        return record

    def _model(self, model: type[BaseModel]) -> Record:
        record = self._made[model] = Record(model.__name__)
        for name, field in model.model_fields.items():
            # Both spellings: the APIs behind these models read snake_case and camelCase alike.
            check = self.compile(field.annotation)
            record.fields[name] = record.fields[field.alias or name] = check
        record.required = tuple(name for name, field in model.model_fields.items() if field.is_required())
        return record


def is_array(origin: type) -> bool:
    """Whether a type means an array: `list`, `tuple`, Iterable, Sequence, or the SDKs' SequenceNotStr protocol."""
    return issubclass(origin, (list, tuple)) or origin.__name__ in {"Iterable", "Sequence", "SequenceNotStr"}


def declared(hint: Any) -> dict[str, tuple[Any, bool]]:
    """The hints of a TypedDict's fields, and whether each is required.

    Not from ``__required_keys__``: under ``from __future__ import annotations`` it does not see ``Required[...]``.
    """
    fields: dict[str, tuple[Any, bool]] = {}
    for base in hint.__orig_bases__:
        if typing_extensions.is_typeddict(base):
            fields.update(declared(base))
    hints = typing_extensions.get_type_hints(hint, include_extras=True)
    inherited = dict(fields)
    for key, field in hints.items():
        if key not in inherited or inherited[key][0] != field:
            fields[key] = (field, is_required(field, total=hint.__total__))
    return fields


def is_required(hint: Any, *, total: bool) -> bool:
    origin = typing_extensions.get_origin(hint)
    if origin in (typing.Required, typing_extensions.Required):
        return True
    return total and origin not in (typing.NotRequired, typing_extensions.NotRequired)
