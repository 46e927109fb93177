"""Values are checked where they are built, so that a mistake is named there and not where the value is sent or loaded.

Each type has a guard in its ``__post_init__``: a few comparisons of exact types, which is all that a right value costs.
Only when a guard fails does ``check`` read every field, convert what is clear (a list into a tuple, a string in a list
of blocks into a text block), and raise ``TypeError`` for the rest.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import force_setattr

__all__ = ["check", "check_arguments", "check_content"]

NAMES: dict[Any, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "True or False",
    dict: "a dict with string keys",
    Callable: "a function",
    type(None): "None",
}
SHOWN = 60
"""How many characters of a wrong value are quoted."""


def check(value: Struct) -> None:
    """Raise ``TypeError`` for the first field that is not of its declared type. Lists are stored as tuples."""
    for name, hint in _hints(type(value)).items():
        found: Any = getattr(value, name)
        if type(found) is list and get_origin(hint) is tuple:
            found = tuple(found)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            force_setattr(value, name, found)
        if not _fits(found, hint):
            place, part, wanted = _innermost(name, found, hint)
            raise TypeError(f"{type(value).__name__}.{place} must be {wanted}, not {_shown(part)}")


def check_arguments(owner: str, given: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    """Raise ``TypeError`` for the first argument that is not of its declared type, or that ``owner`` does not take."""
    if unknown := sorted(set(given) - set(hints)):
        raise TypeError(f"{owner} takes no {', '.join(unknown)}; it takes {', '.join(hints)}")
    for name, value in given.items():
        if not _fits(value, hints[name]):
            raise TypeError(f"{owner}: {name} must be {_wanted(hints[name])}, not {_shown(value)}")


def check_content(value: Struct, name: str, content: Any, text_block: Any) -> None:
    """Store a string, a block, or an iterable of both as a tuple of blocks."""
    if isinstance(content, str):
        force_setattr(value, name, (text_block(content),))
        return
    if isinstance(content, Struct):
        content = (content,)
    elif isinstance(content, bytes | dict) or not isinstance(content, Iterable):
        raise TypeError(f"{type(value).__name__}.{name} must be a string or a list of blocks, not {_shown(content)}")
    items = _items(content)
    force_setattr(value, name, tuple(text_block(item) if isinstance(item, str) else item for item in items))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(kind).items() if name in kind.__struct_fields__}  # type: ignore[attr-defined]


def _items(value: Any) -> Iterable[Any]:
    return value  # type: ignore[no-any-return]


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if hint is Any or type(hint) is TypeVar:
        return True
    if origin is types.UnionType or origin is Union:
        return any(_fits(value, each) for each in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    if origin is tuple:
        inner = get_args(hint)[0]
        return isinstance(value, tuple) and all(_fits(item, inner) for item in _items(value))
    if origin is dict:
        return isinstance(value, dict) and all(isinstance(key, str) for key in _items(value))
    if hint is int or hint is float:
        return isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
    return isinstance(value, origin or hint)


def _innermost(name: str, value: Any, hint: Any) -> tuple[str, Any, str]:
    """The place that is wrong, what stands there, and what was expected."""
    if get_origin(hint) is tuple and isinstance(value, tuple):
        inner = get_args(hint)[0]
        place, item = next((index, item) for index, item in enumerate(_items(value)) if not _fits(item, inner))
        return f"{name}[{place}]", item, _wanted(inner)
    return name, value, _wanted(hint)


def _wanted(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin is tuple:
        return f"a list or tuple, each item {_wanted(inner[0])}"
    if origin is types.UnionType or origin is Union:
        if len(inner) > 6:  # the blocks
            return "a block, such as TextBlock; file(path) makes one of a file"
        return " or ".join(dict.fromkeys(map(_wanted, inner)))
    kind = origin or hint
    return NAMES.get(kind) or f"{'an' if kind.__name__[0] in 'AEIO' else 'a'} {kind.__name__}"


def _shown(value: Any) -> str:
    """The type of a wrong value and the beginning of its text; never all of it, which may be large or secret."""
    text = repr(value)
    return f"{type(value).__name__} ({text[:SHOWN]}{'…' if len(text) > SHOWN else ''})"
