"""Type hints as msgspec reads them, and the types that it cannot build alone.

Words in ``Annotated[str, "..."]`` and constraints of other libraries (pydantic's ``Field``, ``annotated_types``) become
``msgspec.Meta``. Of the types that msgspec does not know, a pydantic model is recognised by its methods, a path by its
class. pydantic itself is never imported.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import msgspec

from ...types.base import Json

__all__ = ["build", "description_of", "plain_hint", "plain_value", "schema_of"]

_BOUNDS = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern")


# ------------------------------------------------------------------------------------------------------------- hints


def plain_hint(hint: Any) -> Any:
    """``hint`` with the notes in its ``Annotated`` parts as ``msgspec.Meta``, at any depth."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        base, *notes = args
        metas = tuple(_metas(notes))
        return Annotated[(plain_hint(base), *metas)] if metas else plain_hint(base)
    if not args or origin is Literal:
        return hint
    plain = tuple(plain_hint(arg) for arg in args)
    if all(new is old for new, old in zip(plain, args, strict=True)):
        return hint
    return Union[plain] if origin in (Union, types.UnionType) else origin[plain]  # noqa: UP007


def description_of(hint: Any) -> str | None:
    """The last description in the outermost ``Annotated``."""
    if get_origin(hint) is not Annotated:
        return None
    descriptions = [meta.description for meta in _metas(get_args(hint)[1:]) if meta.description]
    return descriptions[-1] if descriptions else None


def _metas(notes: Iterable[Any]) -> Iterator[msgspec.Meta]:
    for note in notes:
        if isinstance(note, msgspec.Meta):
            yield note
        elif isinstance(note, str):
            yield msgspec.Meta(description=note)
        else:
            yield from _foreign(note)


def _foreign(note: Any) -> Iterator[msgspec.Meta]:
    """A note of another library: bounds by their usual names, words in ``description`` or ``documentation``."""
    bounds = {word: value for word in _BOUNDS if (value := getattr(note, word, None)) is not None}
    if bounds:
        yield msgspec.Meta(**bounds)
    for word in ("description", "documentation"):
        if isinstance(text := getattr(note, word, None), str):
            yield msgspec.Meta(description=text)
    if isinstance(inner := getattr(note, "metadata", None), list | tuple):
        yield from _metas(cast("Sequence[Any]", inner))


# ------------------------------------------------------------------------------------- types that msgspec does not know


def schema_of(cls: Any) -> dict[str, Json]:
    """The ``schema_hook`` for msgspec."""
    if hasattr(cls, "model_json_schema"):
        found: dict[str, Json] = cls.model_json_schema()
        return {key: value for key, value in found.items() if key != "title" or value != cls.__name__}
    if isinstance(cls, type) and issubclass(cls, PurePath):
        return {"type": "string"}
    raise NotImplementedError


def build(cls: Any, value: Json) -> Any:
    """The ``dec_hook`` for msgspec, which adds the place to an error that is raised here."""
    if hasattr(cls, "model_validate_json"):
        return _validated(cls, value)
    if isinstance(cls, type) and issubclass(cls, PurePath):
        if isinstance(value, str):
            return cls(value)
        raise ValueError(f"Expected `str`, got `{type(value).__name__}`")
    raise NotImplementedError


def _validated(cls: Any, value: Json) -> Any:
    """Validate by way of JSON, so that a strict model takes a date from a string and a tuple from an array."""
    try:
        return cls.model_validate_json(msgspec.json.encode(value))
    except ValueError as error:
        list_errors = getattr(error, "errors", None)
        if list_errors is None:
            raise
        errors = (f"{'.'.join(map(str, one['loc'])) or cls.__name__}: {one['msg']}" for one in list_errors())
        raise ValueError("; ".join(errors)) from None


def plain_value(value: Any) -> Json:
    """The ``enc_hook`` for msgspec: the JSON value of a pydantic model, a path, or a string of a subclass."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, str):  # a subclass, which msgspec refuses
        return str.__str__(value)
    if isinstance(value, PurePath):
        return str(value)
    raise NotImplementedError(f"a {type(value).__name__} has no form as JSON")
