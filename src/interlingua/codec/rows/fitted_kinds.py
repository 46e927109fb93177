"""Kinds that fit a value into the range that a protocol takes. A wire value outside of it keeps its spelling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...types.base import Json
from ..ledger import Ledger
from .kinds import OMIT, REFUSED, One, Plain, Strings, Typed, Vocabulary

if TYPE_CHECKING:
    from .source import Source

__all__ = [
    "WHOLE",
    "AtLeast",
    "AtMostStrings",
    "Bounded",
    "FilledOne",
    "FilledStrings",
    "FilledText",
    "OneOf",
    "StringOrStrings",
    "Suffixed",
]


class Bounded(Typed):
    """A number with a minimum and perhaps a maximum. One outside is read, and written as the nearest one inside."""

    def __init__(self, name: str, *types: type, least: float, most: float | None = None, reason: str) -> None:
        super().__init__(name, *types)
        self.least, self.most, self.reason = least, most, reason

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        fitted = max(self.least, value if self.most is None else min(self.most, value))
        if fitted == value:
            return value  # 0.0 stays 0.0
        ledger.lose("approximated", self.reason.format(fitted))
        return fitted


class Suffixed(Typed):
    """A word that has an ending on the wire, which may be missing."""

    def __init__(self, ending: str) -> None:
        super().__init__("a string", str)
        self.ending = ending

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return wire.removesuffix(self.ending) if type(wire) is str else REFUSED

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        return f"{value}{self.ending}"


class FilledStrings(Strings):
    """A list of strings; empty ones are not written."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        if not all(value):
            ledger.lose_form("approximated", self.reason)
        return [item for item in value if item] or OMIT


class AtMostStrings(Strings):
    """A list of strings that has a greatest length. What is beyond it is left out."""

    def __init__(self, most: int, reason: str) -> None:
        self.most, self.reason = most, reason

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        for index in range(self.most, len(value)):
            ledger.lose("dropped", self.reason, index)
        return [*value[: self.most]]


class Whole(Plain):
    """An integer that the wire may write as a float: ``40.0``."""

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return int(wire) if type(wire) is float and wire.is_integer() else super().read(wire, marks)

    def is_usual(self, value: Any, wire: Json) -> bool:
        return type(wire) is int


WHOLE = Whole("an integer", int)


class FilledOne(One):
    """One value of a table, never an empty object: that means nothing, is residue, and is not written."""

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return super().read(wire, marks) if wire else REFUSED

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        return super().write(value, ledger, marks) or OMIT

    def emit_read(self, source: Source, var: str) -> None:
        source.fail_if(f"not {var}")
        super().emit_read(source, var)

    def emit_write(self, source: Source, var: str) -> None:
        super().emit_write(source, var)
        source.fail_if(f"not {var}")


class AtLeast(Typed):
    """An integer with a minimum. A lower one is neither read nor written."""

    def __init__(self, least: int, reason: str) -> None:
        super().__init__("an integer", int)
        self.least, self.reason = least, reason

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return wire if type(wire) is int and wire >= self.least else REFUSED

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        if value >= self.least:
            return value
        ledger.lose("dropped", self.reason)
        return OMIT


class FilledText(Plain):
    """A string that is not empty."""

    def __init__(self) -> None:
        super().__init__("a string", str)

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return wire if type(wire) is str and wire else REFUSED

    def emit_read(self, source: Source, var: str) -> None:
        source.fail_if(f"type({var}) is not str or not {var}")


class StringOrStrings(Strings):
    """A list of strings; the wire may have one string instead of a list of one, which is remembered as a mark."""

    name = "a string or an array of strings"

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        if type(wire) is str and wire:
            marks[self.mark] = "string"
            return (wire,)
        return super().read(wire, marks)

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        return value[0] if len(value) == 1 and marks.get(self.mark) == "string" else [*value]

    def is_usual(self, value: Any, wire: Json) -> bool:
        return True


class OneOf(Vocabulary):
    """One of some words, the same on both sides. Another one is a loss with ``reason`` (``{}`` is the word)."""

    def __init__(self, words: Iterable[str], reason: str = "") -> None:
        super().__init__({word: word for word in words}, reason)
