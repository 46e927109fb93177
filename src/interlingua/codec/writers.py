"""Compiled writers: straight-line code that writes a value of a row. ``compiler`` says when it gives up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from .json import is_object
from .kinds import OMIT, Plain
from .rows import Field, Row
from .source import Source
from .table import Table

__all__ = ["check_rules", "compile_putter", "compile_writer", "function_name"]

EMPTY: dict[str, Any] = {}


def compile_writer(table: Table, row: Row) -> Callable[[Any], Any]:
    """A function that writes a value of this row, or gives None."""
    source = Source("return None")
    _write_head(source, table, row)
    unusual = [f"value.{name} != {source.bind(fixed)}" for name, fixed in row.fixed.items()]
    unusual += [f"value.{field.name}{_differs(source, field)}" for field in row.fields if not field.key]
    if unusual:
        source.fail_if(" or ".join(unusual))
    check_rules(source, table, row)
    _write_fields(source, table, row)
    source.line("if value.extras:")
    source.line(f"    residue = value.extras.get({table.dialect!r})")
    source.line(f"    if residue is None or len(value.extras) != 1: {source.fail}")
    source.line("    merge(wire, residue)")
    for field in row.fields:
        if field.constant:
            target = "wire" + "".join(f".setdefault({step!r}, {{}})" for step in field.key[:-1])
            source.line(f"{target}.setdefault({field.key[-1]!r}, {field.default!r})")
    source.line("return wire")
    return source.compile(function_name("write", table, row), "value")


def compile_putter(table: Table, row: Row) -> Callable[[Any], Any]:
    """A function that writes the fields of a frame, or gives None. Residue and constants are the caller's."""
    source = Source("return None")
    _write_head(source, table, row)
    unusual = [f"value.{field.name}{_differs(source, field)}" for field in row.fields if not field.key]
    if unusual:
        source.fail_if(" or ".join(unusual))
    check_rules(source, table, row)
    _write_fields(source, table, row)
    source.line("return wire")
    return source.compile(function_name("put", table, row), "value")


def _write_head(source: Source, table: Table, row: Row) -> None:
    """Give up on a value with a spelling of its own; marks of shape are known to the kinds that made them."""
    if "forms" not in row.type.__struct_fields__:
        return
    source.line(
        f"marks = value.forms.get({table.dialect!r}, {source.bind(EMPTY)}) if value.forms else {source.bind(EMPTY)}"
    )
    source.fail_if("marks and ('spelling' in marks or 'verbatim' in marks or 'tag' in marks or 'keys' in marks)")


def _write_fields(source: Source, table: Table, row: Row) -> None:
    said = [field for field in row.fields if field.key and not (field.accepted or field.constant or field.names)]
    literal = [(field, f"v{at}") for at, field in enumerate(said) if _is_always_written(field)]
    for field, var in literal:
        source.line(f"{var} = value.{field.name}")
        field.kind.emit_write(source, var)
    tagged = table.tag is not None and table.tag != Table.KEY
    _literal(source, {table.tag: repr(row.tag)} if tagged and table.tag and row.tag else {}, literal)
    for at, field in enumerate(said):
        if not _is_always_written(field):
            _write_optional(source, field, f"v{at}")
    for field in row.fields:
        if field.names:
            _write_group(source, field)


def _is_always_written(field: Field) -> bool:
    """Whether the key is always written, and its value is what the kind writes, also for the default."""
    same = field.filler == field.default and type(field.filler) is type(field.default) and type(field.kind) is Plain
    return field.required or (field.filler is not OMIT and same)


def _write_group(source: Source, field: Field) -> None:
    values, kind = "".join([f"value.{name}, " for name in field.names]), cast("Any", field.kind)
    if kind.quick_write is not None:
        path = field.paths[0].split(".")
        target = "wire" + "".join(f".setdefault({step!r}, {{}})" for step in path[:-1])
        source.line(f"{target}[{path[-1]!r}] = {source.bind(kind.quick_write)}({values})")
        return
    if not field.required and field.filler is OMIT:
        source.line(f"if ({values}) != {source.bind(field.default)}:")
        source.depth += 1
    source.line(f"group = {source.bind(kind.write_usual)}(({values}))")
    source.fail_if("group is OMIT")
    source.line("merge(wire, group)")
    source.depth = 1


def _literal(source: Source, first: dict[str, str], fields: list[tuple[Field, str]]) -> None:
    """The wire object with all that is always there, in one display."""
    tree: dict[str, Any] = dict(first)
    for field, var in fields:
        node = tree
        for step in field.key[:-1]:
            node = node.setdefault(step, {})
        node[field.key[-1]] = var
    source.line(f"wire = {_display(tree)}")


def _display(tree: dict[str, Any]) -> str:
    shown = ", ".join(f"{key!r}: {_display(node) if is_object(node) else node}" for key, node in tree.items())
    return f"{{{shown}}}"


def _write_optional(source: Source, field: Field, var: str) -> None:
    source.line(f"{var} = value.{field.name}")
    source.line(f"if {var}{_differs(source, field)}:")
    source.depth += 1
    field.kind.emit_write(source, var)
    target = "wire" + "".join(f".setdefault({step!r}, {{}})" for step in field.key[:-1])
    source.line(f"{target}[{field.key[-1]!r}] = {var}")
    source.depth -= 1
    if field.filler is not OMIT:
        source.line(f"else: {target}[{field.key[-1]!r}] = {field.filler!r}")


def _differs(source: Source, field: Field) -> str:
    """The end of a condition: the field is not its default."""
    if field.default == () or field.default == {}:
        return ""
    return " is not None" if field.default is None else f" != {source.bind(field.default)}"


def check_rules(source: Source, table: Table, row: Row) -> None:
    """Give up on a value that breaks a rule."""
    for rule in table.rules(row):
        source.fail_if(f"not ({rule.source.format('value') or f'{source.bind(rule.holds)}(value)'})")


def function_name(verb: str, table: Table, row: Row) -> str:
    """The name of a compiled function, as tracebacks show it."""
    words = [
        verb,
        table.dialect,
        row.type.__name__,
        *([row.tag] if row.tag else []),
        *([] if table.history else ["answer"]),
    ]
    return "_".join("".join(letter if letter.isalnum() else "_" for letter in word) for word in words)
