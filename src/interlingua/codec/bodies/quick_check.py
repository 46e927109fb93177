"""A compiled check of the fields of a body, in one pass: straight-line code made from the tree of ``validate``.

It only answers yes or no, and reads each value once. A float where an integer is wanted is a no, although one without a
fraction is allowed: then the tree itself decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..known_lists import KnownList
from ..rows.source import Source

__all__ = ["TYPES", "Fits", "Steps", "compile_check", "compile_pairs", "condition"]

Fits = Callable[[Any], bool]
Steps = Sequence[tuple[Sequence[str], str]]
"""Paths that begin with a turn: the steps to an object, and the key of its id."""
TYPES: Mapping[str, tuple[type, ...]] = {
    "a string": (str,),
    "an integer": (int,),
    "a number": (int, float),
    "a boolean": (bool,),
    "an object": (dict,),
    "an array": (list, KnownList),
    "an array of objects": (list, KnownList),  # the items have a row of their own
    "null": (type(None),),
}


class Row(Protocol):
    """What may stand at a place: a ``validate.Check``."""

    @property
    def kinds(self) -> tuple[str, ...]: ...
    @property
    def needed(self) -> bool: ...
    @property
    def words(self) -> tuple[str, ...]: ...
    @property
    def filled(self) -> bool: ...


class Tree(Protocol):
    """A place: its rows, and the places of its fields and of its items."""

    @property
    def rows(self) -> Sequence[tuple[int, Row]]: ...
    @property
    def fields(self) -> Mapping[str, Tree]: ...
    @property
    def items(self) -> Mapping[str, Tree]: ...


def compile_check(tree: Tree) -> Fits:
    """Make the function that checks a whole body."""
    source = Source("return False")
    _write(source, tree, "body")
    source.line("return True")
    return source.compile("fits", "body")


def compile_pairs(calls: Steps, results: Steps, hosted: str) -> Callable[[Any], bool]:
    """Make the function that checks that every result follows its call, and that calls before later turns have results.

    Calls and results of the server's own tools have the key ``hosted`` and are not checked.
    """
    source = Source("return False")
    source.line("called, answered, last = set(), set(), set()")
    source.line("for turn in turns:")
    source.depth = 2
    source.line("ids = []")
    _write_ids(source, calls, hosted, "ids.append(id)")
    source.line("if not ids: last.clear()")
    source.line("else: called.update(ids); last.update(ids)")
    _write_ids(source, results, hosted, "if id not in called: return False", "answered.add(id)")
    source.depth = 1
    source.line("return not called or called <= answered | last")
    return source.compile("pairs", "turns")


def _write_ids(source: Source, paths: Steps, hosted: str, *use: str) -> None:
    """Add code that runs the lines ``use`` for each id in a turn, except for objects that have the key ``hosted``."""
    depth = source.depth
    for (first, *steps), key in paths:
        value = "turn"
        _write_condition(source, first, value)
        for step in steps:
            inner = f"v{source.depth}"
            if step.startswith("*"):
                source.line(f"for {inner} in {value} if isinstance({value}, list) else ():")
                source.depth += 1
                _write_condition(source, step, inner)
            else:
                source.line(f"if isinstance({value}, dict) and {step!r} in {value}:")
                source.depth += 1
                source.line(f"{inner} = {value}[{step!r}]")
            value = inner
        apart = f" and {value}.get({hosted!r}) is None" if hosted else ""
        source.line(f"if isinstance({value}, dict) and (id := {value}.get({key!r})){apart}:")
        source.depth += 1
        for line in use:
            source.line(line)
        source.depth = depth


def _write_condition(source: Source, step: str, item: str) -> None:
    """Let the code that follows run only for the items that a step means."""
    key, word = condition(step)
    if key:
        source.line(f"if isinstance({item}, dict) and {item}.get({key!r}) == {word!r}:")
        source.depth += 1


def condition(step: str) -> tuple[str, str]:
    """The field and the word that an item must have for a step to mean it; an empty field means all items."""
    key, _, word = step[1:].partition("=")
    return key, word


def _write(source: Source, place: Tree, value: str, level: int = 0, *, is_dict: bool = False) -> None:
    """Add code that checks the value in a variable. ``is_dict``: the code before has found it to be an object."""
    for _, row in place.rows:
        _write_row(source, row, value)
        is_dict = is_dict or (row.needed and _types(row) == {dict})
    if place.fields:
        depth = source.depth
        if not is_dict:
            source.line(f"if type({value}) is dict:")
            source.depth += 1
        _write_fields(source, place, value, level + 1)
        source.depth = depth
    if place.items:
        _write_items(source, place, value, level + 1)


def _types(row: Row) -> set[type]:
    return {kind for name in row.kinds for kind in TYPES[name]}


def _write_row(source: Source, row: Row, value: str) -> None:
    allowed = _types(row)
    known = source.bind(frozenset(allowed) if len(allowed) > 1 else next(iter(allowed)))
    wrong = f"type({value}) {'not in' if len(allowed) > 1 else 'is not'} {known}"
    source.fail_if(wrong if row.needed else f"{value} is not None and {wrong}")
    if row.words:
        is_text = "" if allowed == {str} and row.needed else f"type({value}) is str and "
        source.fail_if(f"{is_text}{value} not in {source.bind(frozenset(row.words))}")
    if row.filled:
        source.fail_if(f"{value} == []")


def _write_fields(source: Source, place: Tree, value: str, level: int) -> None:
    """Add code that checks fields. One that is missing counts as null, unless a row needs a field that may be null."""
    field, get, depth = f"v{level}", f"get{level}", source.depth
    source.line(f"{get} = {value}.get")
    for name, inner in place.fields.items():
        if any(row.needed for _, row in inner.rows):
            absent = ", MISSING" if any(row.needed and type(None) in _types(row) for _, row in inner.rows) else ""
            source.line(f"{field} = {get}({name!r}{absent})")
        else:
            source.line(f"if {name!r} in {value}:")
            source.depth += 1
            source.line(f"{field} = {value}[{name!r}]")
        _write(source, inner, field, level)
        source.depth = depth


def _write_items(source: Source, place: Tree, value: str, level: int) -> None:
    """Add code that checks all items, and those with a certain word in a field; the items of a known list only once."""
    known, here, depth = source.bind(KnownList), source.bind(place), source.depth
    source.line(f"if type({value}) is list or (type({value}) is {known} and {here} not in {value}.made):")
    source.depth += 1
    item = f"v{level}"
    source.line(f"for {item} in {value}:")
    source.depth += 1
    each, key_before = source.depth, ""
    for step, items in place.items.items():
        source.depth = each
        key, word = condition(step)
        if key and key != key_before:
            source.line(f"word{level} = {item}.get({key!r}) if type({item}) is dict else None")
        if key:
            source.line(f"{'elif' if key == key_before else 'if'} word{level} == {word!r}:")
            source.depth += 1
        _write(source, items, item, level, is_dict=bool(key))
        key_before = key
    source.depth = depth + 1
    source.line(f"if type({value}) is {known}: {value}.made[{here}] = True")
    source.depth = depth
