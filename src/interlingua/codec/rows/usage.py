"""Token counts: where each of our counts stands on the wire, in one table for each dialect.

Our input counts are disjoint, and reasoning is a part of the output. Protocols differ in what their counts include, so
a table tells it: ``cached_inside`` (their input count includes the cached part) and ``reasoning`` (whether their output
count includes it).

Where the wire's numbers are not what we would write for the counts that we read from them (one is missing, null,
negative, stands under another name, or contradicts another), the numbers are kept beside the usage, in the wire's own
nesting: ``forms[dialect]["usage"]``. They are written back with what has changed in the usage since.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

from ...types.usage import TokenUsage
from ..json import Wire, is_object
from ..paths import Sentinel, find, put
from .kinds import COUNT
from .row import Row, fill, may
from .table import Table, compiler

__all__ = ["Counts", "count_at"]

Path = tuple[str, ...]
NumberOf = Callable[[TokenUsage], int]
"""Returns the number that a further name of a count must have for some counts, to be read as a count."""
EMPTY: Wire = {}
ALWAYS = Sentinel("ALWAYS")
FIELDS = ("input_tokens", "cached_input_tokens", "cache_creation_input_tokens", "output_tokens", "reasoning_tokens")
MISCOUNTED = 1.5
"""Reasoning of up to this many times the output count may be part of it: servers count the two with different
tokenizers (Doubleword). More was left out of the output count (Gemini behind Vercel's gateway; its price shows it)."""


class Numbers(Struct):
    """The numbers as a protocol counts them."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    total: int = 0
    extras: dict[str, Wire] = {}
    forms: dict[str, Wire] = {}


class Counts:
    """The paths of a dialect's counts in its usage object, by our fields; a dialect lacks the counts without a path.

    A path is written as keys with dots; further paths behind a space are other names for the same count, which are
    read but not written. ``always``: the fields that are written even if they are 0. ``total``: the path of the sum of
    all. ``reasoning``: whether it is ``inside`` the output count, ``apart`` from it, or ``either`` of both, because
    servers differ and only the total tells. ``derived``: further numbers that follow from our counts. ``zeros``:
    unknown numbers mean nothing if they are 0 or null, and are kept with the counts.
    """

    def __init__(
        self,
        dialect: str,
        always: Collection[str],
        *,
        total: str = "",
        cached_inside: bool = False,
        reasoning: Literal["inside", "apart", "either"] = "inside",
        derived: Mapping[str, NumberOf] | None = None,
        zeros: bool = False,
        **paths: str,
    ) -> None:
        self.dialect, self.always, self.zeros = dialect, always, zeros
        self.cached_inside, self.reasoning = cached_inside, reasoning
        self.names = {field: [tuple(path.split(".")) for path in paths.get(field, "").split()] for field in FIELDS}
        self.total = tuple(total.split("."))
        self.keys = {**{field: paths[field].split()[0] for field in FIELDS if field in paths}, **_named(total)}
        self.derived: dict[Path, NumberOf] = {tuple(key.split(".")): of for key, of in (derived or {}).items()}
        self.tree = self._tree()

    def _tree(self) -> Wire:
        """The names of all numbers in their own nesting. The leaf of a further name of a count is a ``NumberOf``.

        It is None for the first name of a count, and ``ALWAYS`` for one that is written even if it is 0.
        """
        tree: Wire = {}
        for name, number_of in self.derived.items():
            put(tree, name, number_of)
        for field, paths in self.names.items():
            for place, path in enumerate(paths):
                put(tree, path, _number_of(field) if place else ALWAYS if field in self.always else None)
        if self.total != ("",):
            put(tree, self.total, ALWAYS)
        return tree

    # -------------------------------------------------------------------------------------------------- the usual case

    @cached_property
    def _row(self) -> tuple[Table, Row]:
        specs: dict[str, Any] = {}
        for field, key in self.keys.items():
            specs[field] = fill(key, 0, COUNT) if field in (*self.always, "total") else may(key, COUNT)
        unsaid = " ".join([field for field in (*FIELDS, "total") if field not in self.keys])
        row = Row(Numbers, None, elsewhere=unsaid, **specs)
        return Table(self.dialect, None, row), row

    @cached_property
    def _put(self) -> Callable[[Numbers], Wire]:
        """Compiled code that writes the numbers."""
        putter: Callable[[Numbers], Wire] = compiler().compile_putter(*self._row)
        return putter

    @cached_property
    def _take(self) -> Callable[[Wire], Numbers | None]:
        """Compiled code that reads a usage object, or returns None if something in it is odd."""
        reader: Callable[[Wire], Numbers | None] = compiler().compile_reader(*self._row, otherwise=_nothing)
        return reader

    @cached_property
    def count(self) -> Callable[[Wire], TokenUsage]:
        """Compiled code that returns the counts alone. A value that is no count is 0."""
        source = compiler().Source("")
        objects: dict[Path, str] = {(): "wire"}
        for path in [*itertools.chain(*self.names.values()), self.total]:
            _fetch_objects(source, objects, path[:-1])
        for place, field in enumerate(FIELDS):
            count = f"n{place}"
            source.line(f"{count} = 0")
            for path in self.names[field]:
                source.line(f"if not {count}: {count} = {objects[path[:-1]]}.get({path[-1]!r})")
                source.line(f"if type({count}) is not int or {count} < 0: {count} = 0")
        source.line(f"total = {objects[self.total[:-1]]}.get({self.total[-1]!r})")
        usage = source.bind(self._usage)
        source.line(f"return {usage}(n0, n1, n2, n3, n4, total if type(total) is int else None)")
        counter: Callable[[Wire], TokenUsage] = source.compile(f"count_{self.dialect.replace('-', '_')}", "wire")
        return counter

    def _read_usual(self, wire: Wire) -> tuple[TokenUsage, Wire, Wire | None] | None:
        if self.zeros:
            found = _classify(wire, self.tree)
            if found is OTHER:
                return None
            usage = self.count(wire)
            return usage, {}, None if found is COUNTS and wire == self.write(usage) else wire
        numbers = self._take(wire)
        counts = None if numbers is None or (numbers.extras and numbers.forms) else self._agreeing(numbers)
        if numbers is None or counts is None:
            return None
        return counts, numbers.extras[self.dialect] if numbers.extras else {}, wire if numbers.forms else None

    def _agreeing(self, numbers: Numbers) -> TokenUsage | None:
        """The counts of numbers; None if the numbers contradict each other."""
        fresh, cached, created = numbers.input_tokens, numbers.cached_input_tokens, numbers.cache_creation_input_tokens
        output, reasoning = numbers.output_tokens, numbers.reasoning_tokens
        if self.cached_inside:
            fresh -= cached + created
        if self.reasoning == "apart":
            output += reasoning
        if fresh < 0 or reasoning > output:
            return None
        if "total" in self.keys and numbers.total != fresh + cached + created + output:
            return None
        return TokenUsage(fresh, cached, created, output, reasoning)

    # ----------------------------------------------------------------------------------------------------- the meaning

    def _usage(
        self, fresh: int, cached: int, created: int, output: int, reasoning: int, total: int | None
    ) -> TokenUsage:
        if reasoning and self._is_apart(fresh, output, reasoning, total):
            output += reasoning
        if self.cached_inside and (cached or created):
            cached = min(cached, fresh)
            created = min(created, fresh - cached)
            fresh -= cached + created
        return TokenUsage(fresh, cached, created, output, min(reasoning, output))

    def _is_apart(self, given: int, output: int, reasoning: int, total: int | None) -> bool:
        """Whether the output count leaves the reasoning out."""
        if self.reasoning != "either":
            return self.reasoning == "apart"
        if total == given + output + reasoning:
            return True
        return reasoning > output and not (reasoning <= MISCOUNTED * output and total == given + output)

    def _numbers(self, usage: TokenUsage) -> Numbers:
        given = usage.total_input_tokens if self.cached_inside else usage.input_tokens
        output, reasoning = usage.output_tokens, usage.reasoning_tokens
        if self.reasoning == "apart":
            reasoning = min(reasoning, output)
            output -= reasoning
        cached, created = usage.cached_input_tokens, usage.cache_creation_input_tokens
        return Numbers(given, cached, created, output, reasoning, usage.total_tokens)

    def read(self, wire: Wire) -> tuple[TokenUsage, Wire, Wire | None]:
        """The counts, what is left of the usage object, and its numbers if we would write others."""
        usual = self._read_usual(wire)
        if usual is not None:
            return usual
        usage = self.count(wire)
        kept, rest = self._split(wire, self.tree, usage)
        return usage, rest, None if kept == self.write(usage) else kept

    def _split(self, wire: Wire, tree: Wire, usage: TokenUsage) -> tuple[Wire, Wire]:
        """The numbers of a usage object that we know, and the rest of it."""
        kept: Wire = {}
        rest: Wire = {}
        for key, value in wire.items():
            leaf = tree.get(key, key)
            if is_object(value) and value:
                inner, left = self._split(value, leaf if is_object(leaf) else EMPTY, usage)
                if inner:
                    kept[key] = inner
                if left:
                    rest[key] = left
            elif type(value) is int and (leaf is None or leaf is ALWAYS or (callable(leaf) and leaf(usage) == value)):
                kept[key] = value
            elif value is None or (self.zeros and value == 0 and type(value) is not bool):
                (kept if self.zeros or key in tree else rest)[key] = value
            else:
                rest[key] = value
        return kept, rest

    def write(self, usage: TokenUsage, kept: Wire | None = None) -> Wire:
        """The usage object of some counts: the numbers that were kept, with what has changed since."""
        if kept is None:
            return self._put(self._numbers(usage))
        before = self.count(kept)
        return _copy(kept) if before == usage else self._write_changes(kept, before, usage)

    def _write_changes(self, kept: Wire, before: TokenUsage, usage: TokenUsage) -> Wire:
        """Change the numbers that were kept by as much as the counts have changed, or to what we would write."""
        changed = self._changed(_copy(kept), before, usage, by_as_much=True)
        if self.count(changed) == usage:
            return changed
        anew = self._changed(_copy(kept), before, usage, by_as_much=False)
        return anew if self.count(anew) == usage else changed

    def _changed(self, wire: Wire, before: TokenUsage, usage: TokenUsage, *, by_as_much: bool) -> Wire:
        old, new = self._numbers(before), self._numbers(usage)
        if self.reasoning == "either" and self._is_outside(wire, before):
            old.output_tokens -= old.reasoning_tokens
            new.output_tokens -= new.reasoning_tokens
        for field, paths in self.names.items():
            change = getattr(new, field) - getattr(old, field)
            held = [path for path in paths if type(find(wire, path)) is int]
            for path in held if change else ():
                put(wire, path, find(wire, path) + change if by_as_much else getattr(new, field))
            if change and paths and not held:
                _put(wire, paths[0], getattr(new, field))
        for path, number_of in self.derived.items():
            if find(wire, path) == number_of(before):
                put(wire, path, number_of(usage))
        if type(total := find(wire, self.total)) is int:
            put(wire, self.total, total + new.total - old.total if by_as_much else new.total)
        return wire

    def _is_outside(self, wire: Wire, usage: TokenUsage) -> bool:
        """Whether the output count of these numbers leaves the reasoning out."""
        rest = usage.output_tokens - usage.reasoning_tokens
        return usage.reasoning_tokens > 0 and rest in [count_at(wire, path) for path in self.names["output_tokens"]]


def count_at(wire: Wire, path: Sequence[str]) -> int:
    """The count at a path; 0 where there is none."""
    found = find(wire, path)
    return found if type(found) is int and found >= 0 else 0


def _put(wire: Wire, path: Path, count: int) -> None:
    """Set a count. A value on its path that is no object is replaced by one."""
    for step in path[:-1]:
        if not is_object(wire.get(step)):
            wire[step] = {}
        wire = wire[step]
    wire[path[-1]] = count


def _fetch_objects(source: Any, objects: dict[Path, str], path: Path) -> None:
    """Add code that fetches the objects on the way to a count."""
    for end in range(1, len(path) + 1):
        if path[:end] not in objects:
            name = objects[path[:end]] = f"o{len(objects)}"
            source.line(f"{name} = {objects[path[: end - 1]]}.get({path[end - 1]!r})")
            source.line(f"if type({name}) is not dict: {name} = {source.bind(EMPTY)}")


def _named(total: str) -> dict[str, str]:
    return {"total": total} if total else {}


def _number_of(field: str) -> NumberOf:
    def number(usage: TokenUsage) -> int:
        count: int = getattr(usage, field)
        return count

    return number


class Held(Enum):
    """What a usage object holds: known numbers alone, zeros under unknown names too, or anything else."""

    COUNTS = 1
    ZEROS = 2
    OTHER = 3


COUNTS, ZEROS, OTHER = Held.COUNTS, Held.ZEROS, Held.OTHER  # attribute access on an Enum costs 40 ns


def _classify(wire: Wire, tree: Wire) -> Held:
    """What a usage object holds. ``tree`` has the names of the known numbers."""
    held = COUNTS
    for key, value in wire.items():
        if not value:
            if type(value) is not int and value is not None:
                return OTHER
            if tree.get(key) is not ALWAYS:
                held = ZEROS
        elif type(value) is int:
            if (leaf := tree.get(key, key)) is not None and leaf is not ALWAYS:
                return OTHER
        elif not is_object(value) or not is_object(inner := tree.get(key, EMPTY)):
            return OTHER
        elif (found := _classify(value, inner)) is not COUNTS:
            if found is OTHER:
                return OTHER
            held = ZEROS
    return held


def _copy(wire: Wire) -> Wire:
    """A copy of numbers that were kept, without the lists that earlier releases kept beside them."""
    return {k: _copy(value) if is_object(value) else value for k, value in wire.items() if type(value) is not list}


def _nothing(wire: Wire) -> None:
    """Return None: something is odd, and the caller reads each count by itself."""
