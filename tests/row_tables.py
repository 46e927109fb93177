"""The tables of all dialects, and the law that their compiled code means what their rows mean."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from interlingua import dialects
from interlingua.codec.ledger import Ledger
from interlingua.codec.rows.kinds import REFUSED
from interlingua.codec.rows.table import Frame, Table

__all__ = ["check_compiled", "may_stand_in", "named_tables", "objects"]


def named_tables() -> Iterator[tuple[str, Any]]:
    """Every table and frame in the rows of a dialect, with its name."""
    for module in iter_modules(dialects.__path__):
        package = f"{dialects.__name__}.{module.name}"
        if module.ispkg and "rows" in [inner.name for inner in iter_modules(import_module(package).__path__)]:
            for name, found in vars(import_module(f"{package}.rows")).items():
                if isinstance(found, Table | Frame):
                    yield f"{module.name} {name}", found


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)


def may_stand_in(wire: Any, table: Table) -> bool:
    """Whether an object has a tag of this table."""
    if table.tag is None:
        return True
    tag = table.tag_of(wire)
    return isinstance(tag, str | None) and tag in table.by_tag


def check_compiled(table: Table | Frame, wire: Any) -> None:
    """Compiled code reads and writes an object as the interpreter of the rows does."""
    if isinstance(table, Frame):
        assert table.take(wire) == table.row.take_apart(wire)
        return
    value = table.read(wire)
    assert value == table.interpret_read(wire)
    if value is not REFUSED:
        ledger = Ledger()
        written = table.interpret_write(value, ledger)
        assert (written, ledger.losses) == (wire, [])
        assert table.write_usual(value) in (wire, None)
