"""Compiled rows mean what their interpreter means, on every object of the recordings and on near misses of them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from random import Random
from typing import Any

import pytest

from interlingua import dialects
from interlingua.codec.kinds import REFUSED
from interlingua.codec.ledger import Ledger
from interlingua.codec.table import Frame, Table
from lab.fuzzing.mutations import near_miss
from shared_data import corpus, needs_shared

EVERY, MOST, SEED = 7, 1500, 20261116
"""One of so many recordings is read, and at most so many objects of each table are compared."""


def tables() -> Iterator[Any]:
    for module in iter_modules(dialects.__path__):
        package = f"{dialects.__name__}.{module.name}"
        if "rows" in [inner.name for inner in iter_modules(import_module(package).__path__)]:
            for name, found in vars(import_module(f"{package}.rows")).items():
                if isinstance(found, Table | Frame):
                    yield pytest.param(found, id=f"{module.name} {name}")


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)


def wires(table: Table) -> Iterator[Any]:
    """Objects that a table may know, and near misses of them."""
    random, found = Random(f"{SEED} {table.dialect} {sorted(map(str, table.by_tag))}"), 0
    for number, record in enumerate(corpus(table.dialect)):
        if number % EVERY:
            continue
        for wire in (*objects(record.get("request")), *objects(record.get("response"))):
            tag = table.tag_of(wire)
            if table.tag is not None and not (isinstance(tag, str | None) and tag in table.by_tag):
                continue
            found += 1
            if found > MOST:
                return
            yield wire
            yield near_miss(wire, random)


@needs_shared
@pytest.mark.parametrize("table", [*tables()])
def test_compiled_code_means_what_the_rows_mean(table: Table | Frame) -> None:
    if isinstance(table, Frame):
        for wire in wires(table.table):
            assert table.take(wire) == table.row.take_apart(wire)
        return
    for wire in wires(table):
        value = table.read(wire)
        assert value == table.interpret_read(wire)
        if value is not REFUSED:
            ledger = Ledger()
            written = table.interpret_write(value, ledger)
            assert (written, ledger.losses) == (wire, [])
            assert table.write_usual(value) in (wire, None)


def test_there_are_tables_to_compare() -> None:
    assert len(list(tables())) >= 10
