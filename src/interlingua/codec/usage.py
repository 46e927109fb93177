"""Token counts: which counts of ours are which counts of theirs, in one table for each dialect.

Where the wire's numbers are not what we would write for the counts that we read from them (one is missing, null,
negative, or contradicts another), the wire's own numbers are kept beside the usage: ``forms[dialect]["usage"]``, by
path. They are written back only while reading them still gives the same counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any

from ..types.base import Json
from ..types.usage import TokenUsage
from .kinds import COUNT
from .paths import ABSENT, find, put, remove
from .rows import Row, fill, may
from .table import Table, compiler

__all__ = ["Counts", "count_at"]

Wire = dict[str, Json]
FIELDS = ("input_tokens", "cached_input_tokens", "cache_creation_input_tokens", "output_tokens", "reasoning_tokens")


class Counts:
    """The paths of a dialect's counts in its usage object, by our fields.

    ``always``: the fields that are written even if they are 0.
    """

    def __init__(self, dialect: str, always: Collection[str], **paths: str) -> None:
        self.dialect, self.always = dialect, always
        self.paths = {field: paths[field].split(".") for field in FIELDS}
        self.keys = paths

    @cached_property
    def _row(self) -> tuple[Table, Row]:
        specs: dict[str, Any] = {
            field: fill(key, 0, COUNT) if field in self.always else may(key, COUNT) for field, key in self.keys.items()
        }
        row = Row(TokenUsage, None, elsewhere="estimated raw", **specs)
        return Table(self.dialect, None, row), row

    @cached_property
    def _put(self) -> Callable[[TokenUsage], Wire]:
        """Compiled code that writes the counts."""
        putter: Callable[[TokenUsage], Wire] = compiler().compile_putter(*self._row)
        return putter

    @cached_property
    def _take(self) -> Callable[[Wire], Any]:
        """Compiled code that reads a usage object with nothing odd about it, or gives None."""
        taker: Callable[[Wire], Any] = compiler().compile_taker(*self._row, otherwise=_nothing)
        return taker

    def count(self, wire: Wire) -> TokenUsage:
        """The counts alone. What is no count is 0; reasoning is a part of the output."""
        fresh, cached, created, output, reasoning = [count_at(wire, path) for path in self.paths.values()]
        return TokenUsage(fresh, cached, created, output, min(reasoning, output))

    def read(self, wire: Wire) -> tuple[TokenUsage, Wire, Wire]:
        """The counts, what is left of the usage object, and the numbers that we would write otherwise."""
        usual = self._take(wire)
        if usual is not None and usual[0]["reasoning_tokens"] <= usual[0]["output_tokens"]:
            return TokenUsage(**usual[0]), usual[1], {}
        usage = self.count(wire)
        plain, rest, odd = self.write(usage), dict(wire), Wire()
        for field, path in self.paths.items():
            found, ours = find(wire, path), find(plain, path)
            if found is None or type(found) is int:
                remove(rest, path)
                if found != ours:
                    odd[self.keys[field]] = [found]
            elif ours is not ABSENT:
                odd[self.keys[field]] = []
        return usage, rest, odd

    def write(self, usage: TokenUsage, odd: Mapping[str, list[Json]] | None = None) -> Wire:
        """The usage object of some counts, with the numbers that were kept if they still mean the same."""
        wire = self._put(usage)
        if not odd:
            return wire
        kept = self._put(usage)
        for key, spelled in odd.items():
            path = key.split(".")
            if spelled:
                put(kept, path, spelled[0])
            elif find(kept, path) is not ABSENT:
                remove(kept, path)
        return kept if self.count(kept) == usage else wire


def count_at(wire: Wire, path: list[str]) -> int:
    """The count at a path; 0 where there is none."""
    found = find(wire, path)
    return found if type(found) is int and found >= 0 else 0


def _nothing(wire: Wire) -> None:
    """Something is odd; the caller looks at each count."""
