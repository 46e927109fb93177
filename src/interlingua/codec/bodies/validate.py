"""What a request body must look like, checked row by row; each dialect says the complaint as its vendor would.

A row is a path, the JSON types that may stand there, and whether something must. ``*`` in a path is every item of a
list; ``*role=tool`` only items that say so. Nothing is said of keys that no row names. A row that would refuse what a
provider accepts is worse than one that is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from ...errors import InvalidRequestError
from ...types.base import Json
from ..json import Wire, is_dict, is_list
from .quick_check import MISSING, Fits, fits_all, is_paired

__all__ = ["Check", "Complaint", "Pairs", "Path", "Requirements", "brackets", "dots"]

Path = tuple[str | int, ...]
KINDS: dict[str, Callable[[Json], bool]] = {
    "a string": lambda value: isinstance(value, str),
    "an integer": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1,
    "a number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "a boolean": lambda value: isinstance(value, bool),
    "an object": is_dict,
    "an array": is_list,
    "an array of objects": is_list,  # the items have a row of their own
    "null": lambda value: value is None,
}
TEXT, INTEGER, NUMBER, BOOLEAN, OBJECT, ARRAY, OBJECTS, NULL = KINDS


class Check(NamedTuple):
    """A row. ``words``: the only strings that may stand there. ``filled``: a list may not be empty."""

    path: str
    kinds: tuple[str, ...]
    needed: bool = False
    words: tuple[str, ...] = ()
    filled: bool = False


class Complaint(NamedTuple):
    """The first thing that is wrong: where, what kind of fault, what should stand there and what does."""

    path: Path
    fault: str
    """``missing``, ``type``, ``value`` or ``empty``; ``no call`` and ``no result`` of results and calls."""
    expected: str = ""
    got: str = ""


class Pairs(NamedTuple):
    """Where the calls and the results of a history have their ids."""

    history: str
    calls: tuple[str, ...]
    results: tuple[str, ...]
    hosted: str = ""
    """A key that only calls of the server's own tools have, whose results need not follow."""
    stored: Callable[[Wire], bool] = lambda body: False
    """Whether the server holds earlier turns, so that a result may answer a call that is not here."""


class Requirements:
    """What a request of one dialect must have, and how its vendor complains.

    ``sentences`` are by fault, with ``{place}``, ``{expected}`` and ``{got}``; ``spell`` writes the place. ``refusal``
    makes of the sentence the error's body, as the dialect keeps one that it has read, and its code. ``more`` finds what
    no row can say; it is asked, and calls and results are paired, only if every field is what it should be. ``usual``
    brings a body into the spelling of the rows.
    """

    def __init__(
        self,
        dialect: str,
        *checks: Check,
        sentences: Mapping[str, str],
        spell: Callable[[Path], str],
        refusal: Callable[[str, Complaint], tuple[Wire, str | None]],
        pairs: Pairs | None = None,
        more: Callable[[Wire], Iterable[Complaint]] = lambda body: (),
        usual: Callable[[Wire], Wire] = lambda body: body,
    ) -> None:
        self.dialect, self._checks = dialect, [(check, check.path.split(".")) for check in checks]
        self._sentences, self._spell, self._refusal = sentences, spell, refusal
        self._pairs, self._more, self._usual = pairs, more, usual

    @cached_property
    def _fits(self) -> Fits:
        return fits_all(self._checks)

    @cached_property
    def _is_paired(self) -> Fits:
        pairs = self._pairs
        return is_paired(pairs.history, pairs.calls, pairs.results, pairs.hosted) if pairs is not None else bool

    def check(self, body: Json) -> None:
        """Raise what the vendor would answer to a body that it cannot take."""
        if self.is_fine(body):
            return
        wrong = next(self.complaints(body), None)
        if wrong is None:
            return
        said = self._sentences[wrong.fault].format(
            place=self._spell(wrong.path), expected=wrong.expected, got=wrong.got
        )
        residue, code = self._refusal(said, wrong)
        raise InvalidRequestError(
            said, provider_status=400, provider_code=code, provider_message=said, extras={self.dialect: residue}
        )

    def is_fine(self, body: Json) -> bool:
        """Whether there is surely nothing to complain of; nearly always, and found out at a tenth of the cost."""
        if not is_dict(body):
            return False
        body = self._usual(body)
        if not self._fits(body) or next(iter(self._more(body)), None) is not None:
            return False
        return self._pairs is None or self._pairs.stored(body) or self._is_paired(body)

    def complaints(self, body: Json) -> Iterator[Complaint]:
        if not is_dict(body):
            yield Complaint((), "type", OBJECT, kind_of(body))
            return
        body = self._usual(body)
        for check, steps in self._checks:
            for path, parent in _walk(body, steps[:-1], ()):
                for place, value in _found(parent, steps[-1]):
                    wrong = _wrong(check, value)
                    if wrong is not None:
                        yield wrong._replace(path=(*path, place))
        yield from self._more(body)
        if self._pairs is not None and not self._pairs.stored(body):
            yield from _unpaired(body, self._pairs)


def kind_of(value: Json) -> str:
    """The JSON type of a value, with its article."""
    return next(name for name in (NULL, BOOLEAN, TEXT, INTEGER, NUMBER, OBJECT, ARRAY) if KINDS[name](value))


def _walk(value: Json, steps: list[str], path: Path) -> Iterator[tuple[Path, Json]]:
    if not steps:
        yield path, value
        return
    for place, inner in _found(value, steps[0]):
        if inner is not MISSING:
            yield from _walk(inner, steps[1:], (*path, place))


def _found(parent: Json, step: str) -> Iterator[tuple[str | int, Json]]:
    if not step.startswith("*"):
        if is_dict(parent):
            yield step, parent.get(step, MISSING)
        return
    key, _, word = step[1:].partition("=")
    for index, item in enumerate(parent if is_list(parent) else ()):
        if not key or (is_dict(item) and item.get(key) == word):
            yield index, item


def _wrong(check: Check, value: Json) -> Complaint | None:
    if value is MISSING or (value is None and NULL not in check.kinds):
        return Complaint((), "missing", _either(check.kinds)) if check.needed else None
    if not any(KINDS[kind](value) for kind in check.kinds):
        return Complaint((), "type", _either(check.kinds), kind_of(value))
    if check.words and isinstance(value, str) and value not in check.words:
        return Complaint((), "value", ", ".join(map(repr, check.words)), repr(value[:80]))
    if check.filled and value == []:
        return Complaint((), "empty", "an array with at least one item", "an empty array")
    return None


def _either(kinds: tuple[str, ...]) -> str:
    return " or ".join(kind for kind in kinds if kind != NULL)


# -------------------------------------------------------------------------------------------------- calls and results


def _unpaired(body: Wire, pairs: Pairs) -> Iterator[Complaint]:
    """Results that no call asked for before them, and calls that never get a result although turns follow them."""
    turns = body.get(pairs.history)
    if not is_list(turns):
        return
    asked: dict[str, Path] = {}
    last: dict[str, Path] = {}
    answered: set[str] = set()
    for calls, results in zip(_ids(body, pairs, pairs.calls), _ids(body, pairs, pairs.results), strict=True):
        asked |= calls
        last = {**last, **calls} if calls else {}
        answered |= results.keys()
        for id, path in results.items():
            if id not in asked:
                yield Complaint(path, "no call", got=id)
    for id, path in asked.items():
        if id not in answered and id not in last:
            yield Complaint(path, "no result", got=id)


def _ids(body: Wire, pairs: Pairs, paths: Iterable[str]) -> list[dict[str, Path]]:
    """The ids of each turn, with their places. A path begins below the history."""
    found: list[dict[str, Path]] = [{} for _ in body[pairs.history]]
    for path in paths:
        *steps, key = path.split(".")
        for place, parent in _walk(body, [pairs.history, *steps], ()):
            id = parent.get(key) if is_dict(parent) else None
            if id and not (pairs.hosted and parent.get(pairs.hosted) is not None):
                found[int(place[1])][id] = (*place, key)
    return found


# ------------------------------------------------------------------------------------------------------------- places


def dots(path: Path) -> str:
    """``messages.0.content``"""
    return ".".join(map(str, path))


def brackets(path: Path) -> str:
    """``messages[0].content``"""
    said = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return said.removeprefix(".")
