"""Checkers of single JSON values, and the wording of their faults."""

from __future__ import annotations

import binascii
from collections.abc import Collection, Iterable
from typing import Any, Final, Protocol, TypeAlias, TypeGuard

Path: TypeAlias = "tuple[Path, str | int] | None"
"""The parent and the last step. `render` makes text of it, only when there is a fault to report."""

KINDS: Final = {
    dict: "object",
    list: "array",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
LONGEST_SHOWN: Final = 60


def render(path: Path) -> str:
    """The path as ``messages[0].content``; the body itself is ``$``."""
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return "".join(reversed(steps)).removeprefix(".") or "$"


def shown(value: object) -> str:
    """A value short enough for a message."""
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return type(value) is dict


def is_array(value: object) -> TypeGuard[list[Any]]:
    return type(value) is list


def kind_of(value: object) -> type:
    """The exact type, since to JSON a boolean is no integer."""
    return type(value)


class Check(Protocol):
    """A checker. ``kinds`` are the JSON types that it can accept: a union chooses its branches by them."""

    @property
    def kinds(self) -> Collection[type]: ...

    def check(self, value: Any, path: Path, out: list[str]) -> None: ...


class Free:
    """Any value of the given kinds; what is inside is not checked."""

    __slots__ = ("kinds",)

    def __init__(self, kinds: Iterable[type]) -> None:
        self.kinds: Collection[type] = frozenset(kinds)

    def check(self, value: Any, path: Path, out: list[str]) -> None:
        if kind_of(value) not in self.kinds:
            wanted = " or ".join(name for kind, name in KINDS.items() if kind in self.kinds)
            out.append(f"{render(path)}: {shown(value)} is not {wanted or 'allowed'}")


ANYTHING: Final = Free(KINDS)
ARRAY: Final = Free((list,))
BOOLEAN: Final = Free((bool,))
INTEGER: Final = Free((int,))
NOTHING: Final = Free(())  # a type with no JSON form (a file handle, a class): never on the wire
NULL: Final = Free((type(None),))
NUMBER: Final = Free((int, float))
OBJECT: Final = Free((dict,))
STRING: Final = Free((str,))


class OneOf:
    """A closed set of words (or booleans). ``any_case``: the declaration itself says that case does not matter."""

    __slots__ = ("_admitted", "any_case", "kinds", "words")

    def __init__(self, words: Iterable[Any], *, any_case: bool = False) -> None:
        self.words = tuple(words)
        self.any_case = any_case
        self.kinds: Collection[type] = frozenset(map(kind_of, self.words))
        self._admitted = frozenset(word.upper() if any_case else word for word in self.words)

    def admits(self, value: Any) -> bool:
        # By kind first: 1 == True in Python, not in JSON.
        return kind_of(value) in self.kinds and (value.upper() if self.any_case else value) in self._admitted

    def check(self, value: Any, path: Path, out: list[str]) -> None:
        if not self.admits(value):
            out.append(f"{render(path)}: {shown(value)} is none of {', '.join(map(repr, self.words))}")


class Base64:
    """Bytes in JSON. ``url_safe`` also accepts ``-_`` and missing padding, as protobuf's JSON mapping does."""

    __slots__ = ("url_safe",)
    kinds: Collection[type] = frozenset({str})

    def __init__(self, *, url_safe: bool = False) -> None:
        self.url_safe = url_safe

    def check(self, value: Any, path: Path, out: list[str]) -> None:
        if not isinstance(value, str) or not self.decodes(value):
            out.append(f"{render(path)}: {shown(value)} is not base64")

    def decodes(self, text: str) -> bool:
        if self.url_safe:
            text = text.replace("-", "+").replace("_", "/")
            text += "=" * (-len(text) % 4)
        try:
            binascii.a2b_base64(text, strict_mode=True)
        except ValueError:
            return False
        return True
