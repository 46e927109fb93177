"""Matches the elements of two similar lists, by the alignment with the least cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TypeAlias

from interlingua.types.base import Json
from lab.fidelity.trees import is_blank, leaves, pattern

__all__ = ["Match", "align"]

Match: TypeAlias = tuple[int | None, int | None]
"""The indexes of an element in both lists; None in the list that has no counterpart."""

LARGEST = 40_000
"""Lists with more cells than this are matched by position. No recorded conversation has nearly as many."""
RETURNED = 0.1
"""The cost of adding an element that was given up in another place."""
OTHER_KIND = 3.0
"""The cost of matching a message with one of another role, or a block with one of another type."""


def align(before: Sequence[Json], after: Sequence[Json], given_up: Collection[int] = ()) -> list[Match]:
    """The elements of two lists, in order, matched at the least cost.

    ``given_up`` are indexes of ``before`` that a Loss declares dropped or moved: leaving them out costs nothing.
    """
    head = 0
    while head < min(len(before), len(after)) and head not in given_up and before[head] == after[head]:
        head += 1
    tail = 0
    while (
        tail < min(len(before), len(after)) - head
        and len(before) - 1 - tail not in given_up
        and before[-1 - tail] == after[-1 - tail]
    ):
        tail += 1
    rows, columns = range(head, len(before) - tail), range(head, len(after) - tail)
    middle = _middle(before, after, rows, columns, given_up)
    ends = [(len(before) - tail + i, len(after) - tail + i) for i in range(tail)]
    return [*((i, i) for i in range(head)), *middle, *ends]


def _middle(
    before: Sequence[Json], after: Sequence[Json], rows: range, columns: range, given_up: Collection[int]
) -> list[Match]:
    if not rows or not columns:
        return [*((i, None) for i in rows), *((None, j) for j in columns)]
    if len(rows) * len(columns) > LARGEST:
        paired = min(len(rows), len(columns))
        pairs: list[Match] = list(zip(rows, columns, strict=False))
        return [*pairs, *((i, None) for i in rows[paired:]), *((None, j) for j in columns[paired:])]
    left, right = [bag(before[i]) for i in rows], [bag(after[j]) for j in columns]
    drop = [0.0 if i in given_up else weight(one) for i, one in zip(rows, left, strict=True)]
    moved = [one for i, one in zip(rows, left, strict=True) if i in given_up]
    add = [RETURNED if other in moved else weight(other) for other in right]
    moves = _cheapest(left, right, drop, add)
    return [(rows[i] if i is not None else None, columns[j] if j is not None else None) for i, j in moves]


Bag: TypeAlias = "Counter[tuple[str, Json]]"


def bag(value: Json) -> Bag:
    """The leaves of an element without their positions."""
    found: Bag = Counter()
    for path, leaf in leaves(value):
        if not is_blank(leaf):
            found[pattern(path), leaf] += 1
    return found


def weight(one: Bag) -> float:
    return float(one.total() or 1)


def distance(one: Bag, other: Bag) -> float:
    """The cost of matching two elements: 1 for each leaf that is gone, a half for each that is new."""
    return (one - other).total() + (other - one).total() / 2 + (OTHER_KIND if kind(one) != kind(other) else 0.0)


def kind(one: Bag) -> frozenset[Json]:
    return frozenset(leaf for (path, leaf) in one if path in ("role", "type"))


def _cheapest(left: list[Bag], right: list[Bag], drop: list[float], add: list[float]) -> list[Match]:
    """The cheapest matches, by dynamic programming over prefixes."""
    table = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    change = [[distance(one, other) for other in right] for one in left]
    for i in range(len(left) + 1):
        for j in range(len(right) + 1):
            if i or j:
                table[i][j] = min(cost for cost, _ in _steps(table, change, drop, add, i, j))
    moves: list[Match] = []
    i, j = len(left), len(right)
    while i or j:
        _, (back_i, back_j) = min(_steps(table, change, drop, add, i, j))
        moves.append((i - 1 if back_i < i else None, j - 1 if back_j < j else None))
        i, j = back_i, back_j
    return moves[::-1]


def _steps(
    table: list[list[float]], change: list[list[float]], drop: list[float], add: list[float], i: int, j: int
) -> list[tuple[float, tuple[int, int]]]:
    steps: list[tuple[float, tuple[int, int]]] = []
    if i and j:
        steps.append((table[i - 1][j - 1] + change[i - 1][j - 1], (i - 1, j - 1)))
    if i:
        steps.append((table[i - 1][j] + drop[i - 1], (i - 1, j)))
    if j:
        steps.append((table[i][j - 1] + add[j - 1], (i, j - 1)))
    return steps
