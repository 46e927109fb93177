"""Compiled rows give the same results as interpreted rows, on every recorded object and on near misses of them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from interlingua.codec.rows.table import Frame, Table
from lab.fuzzing.mutations import near_miss
from row_tables import check_compiled, may_stand_in, named_tables, objects
from shared_data import corpus, needs_shared

EVERY, MOST, SEED = 7, 1500, 20261116
"""One of so many recordings is read, and at most so many objects of each table are compared."""
TABLES = dict(named_tables())


def wires(table: Table) -> Iterator[Any]:
    """Objects that a table may read, and near misses of them."""
    random, found = Random(f"{SEED} {table.dialect} {sorted(map(str, table.by_tag))}"), 0
    for number, record in enumerate(corpus(table.dialect)):
        if number % EVERY:
            continue
        for wire in (*objects(record.get("request")), *objects(record.get("response"))):
            if not may_stand_in(wire, table):
                continue
            found += 1
            if found > MOST:
                return
            yield wire
            yield near_miss(wire, random)


@needs_shared
@pytest.mark.parametrize("name", TABLES)
def test_compiled_code_means_what_the_rows_mean(name: str) -> None:
    table: Table | Frame = TABLES[name]
    for wire in wires(table.table if isinstance(table, Frame) else table):
        check_compiled(table, wire)


def test_there_are_tables_to_compare() -> None:
    assert len(TABLES) >= 10
