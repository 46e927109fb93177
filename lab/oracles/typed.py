"""Checkers of parsed JSON: built once from the type declarations of an SDK, run on many bodies.

A checker appends one sentence per fault, which begins with the JSON path of the value. Keys that a `Record` does not
name are faults; a free-form value (a tool's input, a JSON Schema) is `Free`. `hints` makes checkers of Python hints.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from lab.oracles.leaves import Check, Free, OneOf, Path, is_array, is_object, kind_of, render, shown

ABSENT: Final = object()
WORD_KINDS: Final = (str, bool, type(None), type(ABSENT))


class ListOf:
    """An array whose every element fits ``item``."""

    __slots__ = ("item",)
    kinds: Collection[type] = frozenset({list})

    def __init__(self, item: Check) -> None:
        self.item = item

    def check(self, value: Any, path: Path, out: list[str]) -> None:
        if not is_array(value):
            out.append(f"{render(path)}: {shown(value)} is not array")
            return
        check = self.item.check
        for index, element in enumerate(value):
            check(element, (path, index), out)


class MapOf:
    """An object with any keys, whose every value fits ``item``."""

    __slots__ = ("item",)
    kinds: Collection[type] = frozenset({dict})

    def __init__(self, item: Check) -> None:
        self.item = item

    def check(self, value: Any, path: Path, out: list[str]) -> None:
        if not is_object(value):
            out.append(f"{render(path)}: {shown(value)} is not object")
            return
        for key, element in value.items():
            self.item.check(element, (path, key), out)


class Record:
    """An object with named fields, which may be filled in after construction: declarations can be recursive."""

    __slots__ = ("fields", "name", "open", "required")
    kinds: Collection[type] = frozenset({dict})

    def __init__(self, name: str, *, open: bool = False) -> None:
        self.name = name
        self.fields: dict[str, Check] = {}
        self.required: tuple[str, ...] = ()
        self.open = open

    def check(self, value: Any, path: Path, out: list[str]) -> None:
        if not is_object(value):
            out.append(f"{render(path)}: {shown(value)} is not object ({self.name})")
            return
        fields = self.fields
        for key, element in value.items():
            field = fields.get(key)
            if field is not None:
                field.check(element, (path, key), out)
            elif not self.open:
                out.append(f"{render((path, key))}: unknown key of {self.name}")
        out.extend(
            f"{render((path, key))}: missing, {self.name} requires it" for key in self.required if key not in value
        )

    def words(self, key: str) -> OneOf | None:
        """The closed set that tells this record from its neighbours in a union, if ``key`` holds one."""
        field = self.fields.get(key)
        if isinstance(field, Choice):  # an optional tag: Literal[...] | None
            field = next((branch for branch in field.branches if isinstance(branch, OneOf)), None)
        return field if isinstance(field, OneOf) else None


class Choice:
    """A union. The branch is picked by JSON type, then by tag; of several that remain, the best fitting speaks."""

    __slots__ = ("_by_kind", "branches", "kinds")

    def __init__(self, branches: Iterable[Check]) -> None:
        self.branches: Sequence[Check] = tuple(flattened(branches))
        self.kinds: Collection[type] = frozenset(kind for branch in self.branches for kind in branch.kinds)
        self._by_kind: dict[type, Check] = {}

    def check(self, value: Any, path: Path, out: list[str]) -> None:
        kind = kind_of(value)
        branch = self._by_kind.get(kind) or self._of_kind(kind)
        branch.check(value, path, out)

    def _of_kind(self, kind: type) -> Check:
        fitting = [branch for branch in self.branches if kind in branch.kinds]
        self._by_kind[kind] = found = narrowed(fitting) if fitting else Free(self.kinds)
        return found


class Attempts:
    """Branches of one JSON type that must be tried one after the other."""

    __slots__ = ("branches", "kinds")

    def __init__(self, branches: Sequence[Check]) -> None:
        self.branches = branches
        self.kinds: Collection[type] = frozenset(kind for branch in branches for kind in branch.kinds)

    def check(self, value: Any, path: Path, out: list[str]) -> None:
        best: list[str] | None = None
        for branch in self.branches:
            found: list[str] = []
            branch.check(value, path, found)
            if not found:
                return
            if best is None or len(found) < len(best):
                best = found
        out.extend(best or ())


class Tagged:
    """Records told apart by the word under ``tag``. If it is absent, those that do not require it are tried."""

    __slots__ = ("_memo", "_records", "_words", "tag")
    kinds: Collection[type] = frozenset({dict})

    def __init__(self, tag: str, records: Sequence[Record]) -> None:
        self.tag = tag
        self._records = records
        self._memo: dict[tuple[type, Any], Check | None] = {}
        tags = (record.words(tag) for record in records)
        self._words = ", ".join(repr(word) for words in tags if words for word in words.words)

    def check(self, value: Any, path: Path, out: list[str]) -> None:
        word = value.get(self.tag, ABSENT)
        key = (kind_of(word), word)
        if key[0] not in WORD_KINDS:
            branch = None
        elif key in self._memo:
            branch = self._memo[key]
        else:
            branch = self._memo[key] = self._among(word)
        if branch is not None:
            branch.check(value, path, out)
        else:
            found = "missing" if word is ABSENT else shown(word)
            out.append(f"{render((path, self.tag))}: {found}, expected one of {self._words}")

    def _among(self, word: Any) -> Check | None:
        fitting = [record for record in self._records if self._fits(record, word)]
        return Attempts(fitting) if len(fitting) > 1 else next(iter(fitting), None)

    def _fits(self, record: Record, word: Any) -> bool:
        if word is ABSENT or word is None:
            return self.tag not in record.required
        words = record.words(self.tag)
        return words.admits(word) if words else self.tag in record.fields


def flattened(branches: Iterable[Check]) -> Iterable[Check]:
    for branch in branches:
        if isinstance(branch, Choice):
            yield from branch.branches
        else:
            yield branch


def narrowed(branches: Sequence[Check]) -> Check:
    """One checker for branches of the same JSON type. A `Free` among them accepts everything that the others do."""
    for branch in branches:
        if len(branches) == 1 or isinstance(branch, Free):
            return branch
    records = [branch for branch in branches if isinstance(branch, Record)]
    if len(records) == len(branches) and (tag := common_tag(records)):
        return Tagged(tag, records)
    return Attempts(branches)


def common_tag(records: Sequence[Record]) -> str | None:
    """The key whose word identifies the most records; ``None`` if no key identifies any."""
    scores = {key: singled_out(records, key) for record in records for key in record.fields}
    best = max(scores, key=lambda key: scores[key], default="")
    return best if scores.get(best) else None


def singled_out(records: Sequence[Record], key: str) -> int:
    sets = [set(words.words) if (words := record.words(key)) else set[Any]() for record in records]
    return sum(bool(own) and not any(own & other for other in sets if other is not own) for own in sets)


def run(check: Check, value: Any) -> list[str]:
    """All faults of one body."""
    out: list[str] = []
    check.check(value, None, out)
    return out


def record(name: str, fields: Mapping[str, Check], required: Iterable[str] = ()) -> Record:
    """A record made by hand, for a protocol whose wire differs from the parameters of its SDK."""
    made = Record(name)
    made.fields.update(fields)
    made.required = tuple(required)
    return made
