"""Compiled writers: straight-line code that writes a value of a row. ``compiler`` says when it gives up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache, partial
from typing import Any, cast

from ...types.base import Json
from ..json import Wire, is_object
from ..paths import find, put
from .fields import Field
from .kinds import OMIT, Kind
from .row import Row, Rule
from .source import Source
from .table import Table

__all__ = ["compile_constants", "compile_putter", "compile_writer", "condition", "function_name"]

EMPTY: dict[str, Any] = {}


Writer = Callable[[Any], Any]


def compile_writer(table: Table, rows: Sequence[Row]) -> Writer:
    """Make the function that writes a value by the first of its type's rows that suits it, or returns None.

    It is the code of the first row. It passes other values to code of the other rows, which is made on first use.
    """
    return _compile(table, rows[0], "write", others=rows[1:])


def compile_putter(table: Table, row: Row) -> Writer:
    """Make the function that writes the fields of a frame, or returns None. The caller writes residue and constants."""
    return _compile(table, row, "put")


def _compile(table: Table, row: Row, verb: str, *, has_marks: bool = False, others: Sequence[Row] = ()) -> Writer:
    """Make code for values without marks. Other code writes those that have marks; it is made on first use."""
    source = Source("return None")
    source.has_marks = has_marks
    foreign = _conditions_of_others(source, row) if verb == "write" else []
    if foreign and others:
        source.bound["by_others"] = cache(lambda: compile_writer(table, others))
        source.line(f"if {' or '.join(foreign)}: return by_others()(value)")
    if has_marks:
        _write_head(source, table, row)
    elif "forms" in row.type.__struct_fields__:
        source.bound["with_marks"] = cache(lambda: _compile(table, row, verb, has_marks=True))
        source.line("if value.forms: return with_marks()(value)")
    unusual = [] if others else foreign
    unusual += [f"value.{field.name}{_differs(source, field)}" for field in row.fields if not field.key]
    if unusual:
        source.fail_if(" or ".join(unusual))
    _check_rules(source, table, row)
    _write_fields(source, table, row, row.constant_fields if verb == "write" else [])
    if verb == "write":
        _write_residue(source, table, row)
    if has_marks and table.keys is not None:
        source.line(f"if 'keys' in marks: wire = {source.bind(table.keys.restore)}(wire, marks['keys'])")
    source.line("return wire")
    return source.compile(function_name(verb, table, row), "value")


def compile_constants(table: Table, row: Row) -> Callable[[Any, Any], None]:
    """Make the function that writes the constant keys into the wire object of a frame, given its marks."""
    source = Source("return None")
    source.bound |= {"find": find, "put": put}
    source.line("spelling = marks.get('spelling', ()) if marks else ()")
    for field in row.constant_fields:
        path, missing = field.key, f"{field.name!r} not in spelling"
        if len(path) == 1:
            source.line(f"if {missing} and {path[0]!r} not in wire: wire[{path[0]!r}] = {field.default!r}")
        else:
            source.line(f"if {missing} and find(wire, {path}) is ABSENT: put(wire, {path}, {field.default!r})")
    writer: Any = source.compile(function_name("complete", table, row), "wire, marks")
    return cast("Callable[[Any, Any], None]", writer)


def _conditions_of_others(source: Source, row: Row) -> list[str]:
    """Conditions, one of which holds if another row of the same type writes the value."""
    differs = {name: "is not" if isinstance(fixed, Enum) else "!=" for name, fixed in row.fixed.items()}
    unsuitable = [f"value.{name} {differs[name]} {source.bind(fixed)}" for name, fixed in row.fixed.items()]
    return unsuitable + ([f"not {source.bind(row.when)}(value)"] if row.when is not None else [])


def _write_head(source: Source, table: Table, row: Row) -> None:
    """Add code that gives up on a value with a spelling that it does not know.

    Marks of shape are left to the kinds that made them.
    """
    source.line("marks, spelling, verbatim = EMPTY, (), ()")
    source.bound["EMPTY"] = EMPTY
    source.line(f"if {table.dialect!r} in value.forms:")
    source.depth += 1
    source.line(f"marks = value.forms[{table.dialect!r}]")
    source.fail_if("'tag' in marks or marks.get('verbatim') is True")
    source.line("spelling, verbatim = marks.get('spelling', ()), marks.get('verbatim', ())")
    single = [field for field in row.fields if not field.names]
    known = [field.name for field in single if field.constant or field.accepted or field.filler is not OMIT]
    known += [*_blanks(row), *[field.name for field in single if field.others]]
    source.fail_if(f"spelling and not spelling.keys() <= {source.bind(frozenset(known))}")
    source.depth -= 1


def _write_fields(source: Source, table: Table, row: Row, constants: Sequence[Field]) -> None:
    """Add code that writes all keys that are always there as one dict display, then those that may be left out."""
    always: Wire = {}
    if table.tag is not None and table.tag != Table.KEY and row.tag is not None:
        always[table.tag] = repr(row.tag)
    for field in constants:
        put(always, field.key, repr(field.default))
    others: list[tuple[Field, str]] = []
    absent: list[tuple[Field, str]] = []
    for at, field in enumerate(row.fields):
        if not field.key or field.constant or (not source.has_marks and _is_refused(table, row, field)):
            continue
        if field.names and cast("Any", field.kind).quick_write is not None:
            put(always, field.paths[0].split("."), _write_quickly(source, field, f"v{at}"))
        elif field.required and not field.names and not field.accepted:
            put(always, field.key, _write_required(source, field, f"v{at}"))
        elif field.filler is not OMIT and not field.names:
            put(always, field.key, _write_filled(source, field, f"v{at}"))
            absent.append((field, f"v{at}"))
        else:
            others.append((field, f"v{at}"))
    source.made = {path: f"inner{at}" for at, path in enumerate(_paths(always))}
    source.line(f"wire = {_display(always, _filled_later(source, others))}")
    for field, var in absent if source.has_marks else ():
        if len(field.key) == 1:
            source.line(f"if {var} is ABSENT: del wire[{field.key[0]!r}]")
    for field, var in others:
        _write_other(source, field, var)
    if source.has_marks and (blanks := _blanks(row)):
        source.fail_if(f"spelling and not {source.bind(partial(_write_blanks, blanks))}(spelling, value, wire)")


def _write_quickly(source: Source, field: Field, var: str) -> str:
    """Add code for a group of fields that is always written under one key. Return the expression of its wire value."""
    kind, fields = cast("Any", field.kind), [f"value.{name}" for name in field.names]
    written = f"{source.bind(kind.quick_write)}({', '.join(fields)})"
    if (frequent := kind.frequent(fields, source)) is not None:
        written = f"{frequent[0]} if {frequent[1]} else {written}"
    source.line(f"{var} = {written}")
    source.fail_if(f"{var} is OMIT")
    return var


def _is_refused(table: Table, row: Row, field: Field) -> bool:
    """Whether a rule, which is checked before, refuses every value of an optional field but its default."""
    if field.required or field.filler is not OMIT:
        return False
    none = f"not {{0}}.{field.name}" if field.default == () else f"{{0}}.{field.name} is None"
    return (field.default is None or field.default == ()) and any(rule.source == none for rule in table.rules(row))


def _write_required(source: Source, field: Field, var: str) -> str:
    """Add code for a field that is always written. Return the expression of its wire value."""
    if type(field.kind).write is Kind.write:
        return f"value.{field.name}"
    source.line(f"{var} = value.{field.name}")
    field.kind.emit_write(source, var)
    return var


def _write_filled(source: Source, field: Field, var: str) -> str:
    """The same for a key that has its filler where the field has its default.

    Where the wire had no such key, the value is ``ABSENT``.
    """
    same = field.filler == field.default and type(field.filler) is type(field.default)
    if same and not source.has_marks and type(field.kind).write is Kind.write:
        return f"value.{field.name}"
    source.line(f"{var} = value.{field.name}")
    source.line(f"if {var}{_differs(source, field)}:")
    source.depth += 1
    if source.has_marks:
        source.fail_if(f"spelling and spelling.get({field.name!r})")
    start = len(source.lines)
    field.kind.emit_write(source, var)
    if len(source.lines) == start:
        source.line("pass")
    source.depth -= 1
    if source.has_marks:
        source.line(f"elif {field.name!r} in spelling:")
        source.depth += 1
        source.line(f"{var} = spelling[{field.name!r}][0] if spelling[{field.name!r}] else ABSENT")
        absent = f"{var} is ABSENT or " if len(field.key) == 1 else ""
        source.fail_if(f"not ({absent}{_is_blank(source, field, var)})")
        source.depth -= 1
    source.line(f"else: {var} = {field.filler!r}")
    return var


def _is_blank(source: Source, field: Field, var: str) -> str:
    """The condition that a wire value means nothing."""
    blank = field.kind.blank
    return f"{var} is None" if blank is None else f"{var} is None or {var} == {source.bind(blank)}"


def _write_other(source: Source, field: Field, var: str) -> None:
    """Add code for a key that may be left out."""
    if field.names:
        _write_group(source, field)
    elif not field.accepted:
        _write_optional(source, field, var)
    elif source.has_marks:
        source.line(f"if {field.name!r} in spelling: {_target(source, field)} = spelling[{field.name!r}][0]")


def _write_residue(source: Source, table: Table, row: Row) -> None:
    """Add code that writes residue. A constant is left out if residue has its key, or if the wire had no such key."""
    constants = row.constant_fields
    for field in constants if source.has_marks else ():
        spelled = f"{field.name!r} in spelling"
        if len(field.key) == 1:
            source.line(f"if {spelled}: del wire[{field.key[0]!r}]")
        else:
            source.fail_if(spelled)
    source.line("if value.extras:")
    source.depth += 1
    source.line(f"residue = value.extras.get({table.dialect!r})")
    source.fail_if("residue is None or len(value.extras) != 1")
    for field in constants:
        if len(field.key) == 1:
            source.line(f"if {field.key[0]!r} in residue: del wire[{field.key[0]!r}]")
        else:
            source.fail_if(f"{source.bind(find)}(residue, {source.bind(field.key)}) is not ABSENT")
    source.line("merge(wire, residue)")
    source.depth -= 1


def _blanks(row: Row) -> dict[str, Field]:
    """The fields that are written only if they are not their default, but may have been read from a blank value."""
    optional = [field for field in row.fields if field.key and not (field.names or field.others or field.required)]
    return {field.name: field for field in optional if field.filler is OMIT and not (field.constant or field.accepted)}


def _write_blanks(fields: Mapping[str, Field], spelling: Mapping[str, list[Json]], value: Any, wire: Wire) -> bool:
    """Write the blank values of fields that still have their default; False for another spelling than a blank."""
    for name in spelling.keys() & fields.keys():
        field, spelled = fields[name], spelling[name]
        if not spelled or not field.is_blank(spelled[0]):
            return False
        if getattr(value, name) == field.default:
            put(wire, field.key, spelled[0])
    return True


def _write_group(source: Source, field: Field) -> None:
    values, kind = "".join([f"value.{name}, " for name in field.names]), cast("Any", field.kind)
    if not field.required and field.filler is OMIT:
        source.line(f"if ({values}) != {source.bind(field.default)}:")
        source.depth += 1
    source.line(f"group = {source.bind(kind.write_usual)}(({values}))")
    source.fail_if("group is OMIT")
    source.line("merge(wire, group)")
    source.depth = 1


def _filled_later(source: Source, fields: Sequence[tuple[Field, str]]) -> Mapping[tuple[str, ...], str]:
    """The objects of the display that get a name, because fields are added to them later."""
    parents = {field.key[:-1] for field, _ in fields}
    return {path: name for path, name in source.made.items() if path in parents}


def _display(tree: Wire, named: Mapping[tuple[str, ...], str], path: tuple[str, ...] = ()) -> str:
    shown = ", ".join(
        f"{key!r}: {_display(node, named, (*path, key)) if is_object(node) else node}" for key, node in tree.items()
    )
    return f"({named[path]} := {{{shown}}})" if path in named else f"{{{shown}}}"


def _paths(tree: Wire, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of the objects in a display."""
    for key, node in tree.items():
        if is_object(node):
            yield (*path, key)
            yield from _paths(node, (*path, key))


def _write_optional(source: Source, field: Field, var: str) -> None:
    source.line(f"{var} = value.{field.name}")
    source.line(f"if {var}{_differs(source, field)}:")
    source.depth += 1
    field.kind.emit_write(source, var)
    if source.has_marks and field.others:
        _write_other_keys(source, field, var)
    else:
        unless = f"if {var} is not OMIT: " if field.kind.omits else ""
        source.line(f"{unless}{_target(source, field)} = {var}")
        source.depth -= 1


def _write_other_keys(source: Source, field: Field, var: str) -> None:
    """Add code that writes a field under the keys that it was read from, and the blank values of the other keys."""
    usual = source.bind(((field.key[0], ()),))
    source.line(f"for key, found in spelling[{field.name!r}].items() if {field.name!r} in spelling else {usual}:")
    source.line(f"    if found: {source.fail}")
    source.line(f"    wire[key] = {var}")
    source.depth -= 1
    source.line(f"elif {field.name!r} in spelling:")
    source.depth += 1
    source.line(f"for key, found in spelling[{field.name!r}].items():")
    source.line("    for said in found:")
    source.line(f"        if not ({_is_blank(source, field, 'said')}): {source.fail}")
    source.line("        wire[key] = said")
    source.depth -= 1


def _target(source: Source, field: Field) -> str:
    """The expression of a field's place in the wire object; it makes the objects on the way."""
    if field.key[:-1] in source.made:
        return f"{source.made[field.key[:-1]]}[{field.key[-1]!r}]"
    place = "wire"
    for end, step in enumerate(field.key[:-1], 1):
        place += f"[{step!r}]" if field.key[:end] in source.made else f".setdefault({step!r}, {{}})"
    return f"{place}[{field.key[-1]!r}]"


def _differs(source: Source, field: Field) -> str:
    """The end of the condition that a field is not its default; empty if only the default is false."""
    if field.default == () or field.default == {}:
        return ""
    return " is not None" if field.default is None else f" != {source.bind(field.default)}"


def _check_rules(source: Source, table: Table, row: Row) -> None:
    """Add code that gives up on a value that breaks a rule, unless it was read that way."""
    for rule in table.rules(row):
        if rule.fitted_before:
            continue
        unless = f" and {rule.field!r} not in verbatim" if source.has_marks else ""
        source.fail_if(f"not ({condition(source, rule)}){unless}")


def condition(source: Source, rule: Rule) -> str:
    """The expression that tells whether a value keeps a rule."""
    names = {name: source.bind(value) for name, value in rule.names.items()}
    return rule.source.format("value", **names) or f"{source.bind(rule.holds)}(value)"


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
