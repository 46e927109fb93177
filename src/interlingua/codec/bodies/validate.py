"""What a request body must look like, as rows; each dialect words the complaint as its vendor would.

A row is a path, the JSON types that may stand there, and whether a value is required. ``*`` in a path is every item of
a list; ``*role=tool`` only the items whose ``role`` is ``tool``. Keys that no row names are not checked. A row that
would refuse what a provider accepts is worse than one that is missing.

The rows form a tree of places. Usually nothing is wrong, so a body is first checked by one function that is compiled
from the tree (``quick_check``) and only answers yes or no; after a no, the tree finds what to complain about
(``Place.complaints``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import NamedTuple

from ...errors import InvalidRequestError
from ...types.base import Json
from ..json import Wire, is_dict, is_list
from ..rows.source import MISSING
from .quick_check import TYPES, Fits, Steps, compile_check, compile_pairs, condition

__all__ = ["Check", "Complaint", "Pairs", "Path", "Requirements", "brackets", "dots"]

Path = tuple[str | int, ...]
NONE: Set[str] = frozenset()
TEXT, INTEGER, NUMBER, BOOLEAN, OBJECT, ARRAY, OBJECTS, NULL = TYPES


def is_kind(value: Json, kind: str) -> bool:
    """Whether a value is of a JSON type. A number without a fraction is an integer."""
    if kind == INTEGER and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[kind]) and (kind == BOOLEAN or not isinstance(value, bool))


def kind_of(value: Json) -> str:
    """The JSON type of a value, with its article."""
    return next(kind for kind in (NULL, BOOLEAN, TEXT, INTEGER, NUMBER, OBJECT, ARRAY) if is_kind(value, kind))


class Complaint(NamedTuple):
    """One thing that is wrong: where, what kind of fault, what should stand there and what does."""

    path: Path
    fault: str
    """``missing``, ``type``, ``value`` or ``empty``; ``no call`` for a result, ``no result`` for a call."""
    expected: str = ""
    got: str = ""


class Check(NamedTuple):
    """A row. ``words``: the only strings that may stand there. ``filled``: a list may not be empty."""

    path: str
    kinds: tuple[str, ...]
    needed: bool = False
    words: tuple[str, ...] = ()
    filled: bool = False

    def complaint(self, value: Json, path: Path) -> Complaint | None:
        """What is wrong with the value at this row's place."""
        if value is MISSING or (value is None and NULL not in self.kinds):
            return Complaint(path, "missing", self.expected) if self.needed else None
        if not any(is_kind(value, kind) for kind in self.kinds):
            return Complaint(path, "type", self.expected, kind_of(value))
        if self.words and isinstance(value, str) and value not in self.words:
            return Complaint(path, "value", ", ".join(map(repr, self.words)), repr(value[:80]))
        if self.filled and value == []:
            return Complaint(path, "empty", "an array with at least one item", "an empty array")
        return None

    @property
    def expected(self) -> str:
        """The kinds, as a sentence names them."""
        return " or ".join(kind for kind in self.kinds if kind != NULL)


class Place:
    """The rows for one place: for the value itself, its fields, and its items."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, Check]] = []  # with their numbers
        self.fields: dict[str, Place] = {}
        self.items: dict[str, Place] = {}

    def below(self, step: str) -> Place:
        """The place one step below, made if it is new."""
        below = self.items if step.startswith("*") else self.fields
        return below.setdefault(step, Place())

    def complaints(self, value: Json, path: Path = ()) -> Iterator[tuple[int, Complaint]]:
        """All complaints about this place and those below it, each with the number of its row."""
        for number, row in self.rows:
            if (wrong := row.complaint(value, path)) is not None:
                yield number, wrong
        for name, place in self.fields.items() if is_dict(value) else ():
            yield from place.complaints(value.get(name, MISSING), (*path, name))
        for step, place in self.items.items():
            for index, item in _found(value, step):
                yield from place.complaints(item, (*path, index))


def _found(parent: Json, step: str) -> Iterator[tuple[str | int, Json]]:
    """The values one step below another, each with its key or index."""
    if not step.startswith("*"):
        if is_dict(parent) and step in parent:
            yield step, parent[step]
        return
    key, word = condition(step)
    for index, item in enumerate(parent if is_list(parent) else ()):
        if not key or (is_dict(item) and item.get(key) == word):
            yield index, item


# -------------------------------------------------------------------------------------------------- calls and results


class Pairs(NamedTuple):
    """Where the calls and the results of a history have their ids."""

    history: str
    calls: tuple[str, ...]
    results: tuple[str, ...]
    hosted: str = ""
    """A key that only calls of the server's own tools have; such a call needs no result."""
    stored: Callable[[Wire], bool] = lambda body: False
    """Whether the server holds earlier turns, so that a result may answer a call that is not here."""


class Pairing:
    """Finds results that no call asked for before them, and calls that never get a result although turns follow."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.calls, self.results = _split(pairs.calls), _split(pairs.results)

    @cached_property
    def _fits(self) -> Fits:
        return compile_pairs(self.calls, self.results, self.pairs.hosted)

    def is_fine(self, body: Wire) -> bool:
        """Whether nothing is to complain about."""
        turns = body.get(self.pairs.history)
        return not is_list(turns) or self.pairs.stored(body) or self._fits(turns)

    def complaints(self, body: Wire) -> Iterator[Complaint]:
        """What is wrong, after ``is_fine`` has found that something is."""
        called: dict[str, int] = {}  # the index of the turn of each call
        last: Set[str] = NONE
        answered: set[str] = set()
        for index, turn in enumerate(body[self.pairs.history]):
            calls, results = self._ids(turn, self.calls), self._ids(turn, self.results)
            for id in calls:
                called[id] = index
            last = last | set(calls) if calls else NONE
            for id in results:
                if id not in called:
                    yield Complaint(self._place(turn, index, self.results, id), "no call", got=id)
            answered.update(results)
        if not called.keys() <= answered | last:
            id = next(id for id in called if id not in answered and id not in last)
            turns = body[self.pairs.history]
            yield Complaint(self._place(turns[called[id]], called[id], self.calls, id), "no result", got=id)

    def _ids(self, turn: Json, paths: Steps) -> list[str]:
        """The ids in a turn, without those of the server's own tools."""
        hosted = self.pairs.hosted
        found = [(inner, key) for steps, key in paths for _, inner in _walk([turn], steps, ()) if is_dict(inner)]
        return [inner[key] for inner, key in found if inner.get(key) and (not hosted or inner.get(hosted) is None)]

    def _place(self, turn: Json, index: int, paths: Steps, id: str) -> Path:
        """The path of an id; the last one of several."""
        places = [
            (self.pairs.history, index, *place[1:], key)
            for steps, key in paths
            for place, parent in _walk([turn], steps, ())
            if is_dict(parent) and parent.get(key) == id
        ]
        return places[-1]


def _split(paths: Iterable[str]) -> Steps:
    """Split paths, which begin with the turn, into the steps to an object and the key of its id."""
    return [(steps, key) for *steps, key in (path.split(".") for path in paths)]


def _walk(value: Json, steps: Sequence[str], path: Path) -> Iterator[tuple[Path, Json]]:
    """The values at the end of some steps, with their paths."""
    if not steps:
        yield path, value
        return
    for place, inner in _found(value, steps[0]):
        yield from _walk(inner, steps[1:], (*path, place))


# ---------------------------------------------------------------------------------------------------- the whole of it


class Requirements:
    """What a request of one dialect must have, and how its vendor complains.

    ``sentences`` are by fault, with ``{place}``, ``{expected}`` and ``{got}``; ``spell`` writes the place. ``refusal``
    makes the error's body of the sentence, as the dialect keeps one that it has read, and its code. ``more`` finds what
    no row can express; it is called, and calls and results are paired, only if every field is what it should be.
    ``usual`` brings a body into the spelling of the rows.
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
        self.dialect, self._checks = dialect, checks
        self._sentences, self._spell, self._refusal = sentences, spell, refusal
        self._pairing = None if pairs is None else Pairing(pairs)
        self._more, self._usual = more, usual

    @cached_property
    def _body(self) -> Place:
        root = Place()
        for number, check in enumerate(self._checks):
            place = root
            for step in check.path.split("."):
                place = place.below(step)
            place.rows.append((number, check))
        return root

    @cached_property
    def _fits(self) -> Fits:
        return compile_check(self._body)

    def check(self, body: Json) -> None:
        """Raise the error that the vendor would answer to a body that it refuses."""
        if self.is_fine(body):
            return
        wrong = next(self.complaints(body), None)
        if wrong is None:
            return
        text = self._sentences[wrong.fault].format(
            place=self._spell(wrong.path), expected=wrong.expected, got=wrong.got
        )
        residue, code = self._refusal(text, wrong)
        raise InvalidRequestError(
            text, provider_status=400, provider_code=code, provider_message=text, extras={self.dialect: residue}
        )

    def is_fine(self, body: Json) -> bool:
        """Whether the body surely has no fault. That is usual, and ten times as fast as looking for complaints."""
        if not is_dict(body):
            return False
        body = self._usual(body)
        if not self._fits(body) or next(iter(self._more(body)), None) is not None:
            return False
        return self._pairing is None or self._pairing.is_fine(body)

    def complaints(self, body: Json) -> Iterator[Complaint]:
        """What is wrong, in the order of the rows."""
        if not is_dict(body):
            yield Complaint((), "type", OBJECT, kind_of(body))
            return
        body = self._usual(body)
        for _, wrong in sorted(self._body.complaints(body), key=lambda found: found[0]):
            yield wrong
        yield from self._beyond(body)

    def _beyond(self, body: Wire) -> Iterator[Complaint]:
        """What is wrong even if every field is what it should be."""
        yield from self._more(body)
        if self._pairing is not None and not self._pairing.is_fine(body):
            yield from self._pairing.complaints(body)


# ------------------------------------------------------------------------------------------------------------- places


def dots(path: Path) -> str:
    """A path written as ``messages.0.content``."""
    return ".".join(map(str, path))


def brackets(path: Path) -> str:
    """A path written as ``messages[0].content``."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")
