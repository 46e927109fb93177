"""Compiled writers: straight-line code that writes a value of a row. ``compiler`` says when it gives up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, cast

from ..types.base import Json
from .json import Wire, is_object
from .kinds import OMIT, Plain
from .paths import find, put
from .rows import Field, Row, Rule
from .source import Source
from .table import Table

__all__ = ["compile_choice", "compile_constants", "compile_putter", "compile_writer", "condition", "function_name"]

EMPTY: dict[str, Any] = {}


def compile_writer(table: Table, row: Row) -> Callable[[Any], Any]:
    """A function that writes a value of this row, or gives None."""
    return _compile(_write_value, table, row, "write")


def compile_putter(table: Table, row: Row) -> Callable[[Any], Any]:
    """A function that writes the fields of a frame, or gives None. Residue and constants are the caller's."""
    return _compile(_put_fields, table, row, "put")


Emit = Callable[[Source, Table, Row, bool], None]


def _compile(emit: Emit, table: Table, row: Row, verb: str, *, has_marks: bool = False) -> Callable[[Any], Any]:
    """Code for values without marks. Values that have some are written by other code, which is made on first use."""
    source = Source("return None")
    if has_marks:
        _write_head(source, table, row)
    elif "forms" in row.type.__struct_fields__:
        with_marks = cache(lambda: _compile(emit, table, row, verb, has_marks=True))
        source.bound |= {"marks": EMPTY, "with_marks": with_marks}
        source.line("if value.forms: return with_marks()(value)")
    emit(source, table, row, has_marks)
    source.line("return wire")
    return source.compile(function_name(verb, table, row), "value")


def _write_value(source: Source, table: Table, row: Row, has_marks: bool) -> None:
    unusual = _not_of(source, row)
    unusual += [f"value.{field.name}{_differs(source, field)}" for field in row.fields if not field.key]
    if unusual:
        source.fail_if(" or ".join(unusual))
    _check_rules(source, table, row, has_marks=has_marks)
    _write_fields(source, table, row, has_marks=has_marks)
    source.line("if value.extras:")
    source.line(f"    residue = value.extras.get({table.dialect!r})")
    source.line(f"    if residue is None or len(value.extras) != 1: {source.fail}")
    source.line("    merge(wire, residue)")
    for field in row.constant_fields:
        _write_constant(source, field, has_marks=has_marks)


def _put_fields(source: Source, table: Table, row: Row, has_marks: bool) -> None:
    unusual = [f"value.{field.name}{_differs(source, field)}" for field in row.fields if not field.key]
    if unusual:
        source.fail_if(" or ".join(unusual))
    _check_rules(source, table, row, has_marks=has_marks)
    _write_fields(source, table, row, has_marks=has_marks)


def compile_constants(table: Table, row: Row) -> Callable[[Any, Any], None]:
    """A function that writes what always says the same into the wire object of a frame, given its marks."""
    source = Source("return None")
    source.line("spelling = marks.get('spelling', ()) if marks else ()")
    for field in row.constant_fields:
        _write_constant(source, field, has_marks=True)
    writer: Any = source.compile(function_name("complete", table, row), "wire, marks")
    return cast("Callable[[Any, Any], None]", writer)


def compile_choice(table: Table, rows: Sequence[Row], kind: type) -> Callable[[Any], Any]:
    """A function that writes a value by the first of some rows that suits it, or gives None."""
    source = Source("return None")
    for row in rows:
        unsuitable = " or ".join(_not_of(source, row)) or "False"
        source.line(f"if not ({unsuitable}): return {source.bind(compile_writer(table, row))}(value)")
    source.line("return None")
    return source.compile(f"choose_{kind.__name__}", "value")


def _not_of(source: Source, row: Row) -> list[str]:
    """The conditions that a value is of another row of the same type."""
    unsuitable = [f"value.{name} != {source.bind(fixed)}" for name, fixed in row.fixed.items()]
    return unsuitable + ([f"not {source.bind(row.when)}(value)"] if row.when is not None else [])


def _write_head(source: Source, table: Table, row: Row) -> None:
    """Give up on a value with a spelling that the code does not know.

    Marks of shape are known to the kinds that made them.
    """
    source.line("marks, spelling, verbatim = EMPTY, (), ()")
    source.bound["EMPTY"] = EMPTY
    source.line(f"if {table.dialect!r} in value.forms:")
    source.depth += 1
    source.line(f"marks = value.forms[{table.dialect!r}]")
    source.fail_if("'tag' in marks or 'keys' in marks")
    source.line("spelling, verbatim = marks.get('spelling', ()), marks.get('verbatim', ())")
    single = [field for field in row.fields if not field.names]
    known = [field.name for field in single if field.constant or field.accepted or field.filler is not OMIT]
    known += [*_blanks(row), *[field.name for field in single if field.others]]
    source.fail_if(f"spelling and not spelling.keys() <= {source.bind(frozenset(known))}")
    source.depth -= 1


def _write_fields(source: Source, table: Table, row: Row, *, has_marks: bool) -> None:
    said = [field for field in row.fields if field.key and not (field.accepted or field.constant or field.names)]
    literal = [(field, f"v{at}") for at, field in enumerate(said) if _is_always_written(field)]
    for field, var in literal:
        source.line(f"{var} = value.{field.name}")
        field.kind.emit_write(source, var)
    tagged = table.tag is not None and table.tag != Table.KEY
    _literal(source, {table.tag: repr(row.tag)} if tagged and table.tag and row.tag else {}, literal)
    source.made = {field.key[:end] for field, _ in literal for end in range(1, len(field.key))}
    for field, var in literal if has_marks else ():
        if field.filler is not OMIT:
            _write_absent(source, field, var)
    for at, field in enumerate(said):
        if not _is_always_written(field):
            _write_optional(source, field, f"v{at}", has_marks=has_marks)
    for field in row.fields:
        if field.names:
            _write_group(source, field)
        elif field.accepted and has_marks:
            source.line(f"if {field.name!r} in spelling: {_target(source, field)} = spelling[{field.name!r}][0]")
    if has_marks and (blanks := _blanks(row)):
        source.fail_if(f"spelling and not {source.bind(partial(_write_blanks, blanks))}(spelling, value, wire)")


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


def _is_always_written(field: Field) -> bool:
    """Whether the key is always written, and its value is what the kind writes, also for the default."""
    same = field.filler == field.default and type(field.filler) is type(field.default) and type(field.kind) is Plain
    return field.required or (field.filler is not OMIT and same)


def _write_absent(source: Source, field: Field, var: str) -> None:
    """Take back what is always written, if the wire had no such key and the field still has its default."""
    source.line(f"if {field.name!r} in spelling and {var} == {source.bind(field.default)}:")
    source.depth += 1
    source.fail_if(f"spelling[{field.name!r}]" if len(field.key) == 1 else "True")
    source.line(f"del {_target(source, field)}")
    source.depth -= 1


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


def _write_optional(source: Source, field: Field, var: str, *, has_marks: bool) -> None:
    source.line(f"{var} = value.{field.name}")
    source.line(f"if {var}{_differs(source, field)}:")
    source.depth += 1
    if has_marks and field.filler is not OMIT:
        source.fail_if(f"spelling and spelling.get({field.name!r})")
    field.kind.emit_write(source, var)
    if has_marks and field.others:
        usual = source.bind(((field.key[0], ()),))
        source.line(f"for key, found in spelling[{field.name!r}].items() if {field.name!r} in spelling else {usual}:")
        source.line(f"    if found: {source.fail}")
        source.line(f"    wire[key] = {var}")
    else:
        source.line(f"{_target(source, field)} = {var}")
    source.depth -= 1
    if field.filler is OMIT:
        if has_marks and field.others:
            _write_blank(source, field)
        return
    if has_marks:
        _write_blank(source, field)
    source.line(f"else: {_target(source, field)} = {field.filler!r}")


def _write_blank(source: Source, field: Field) -> None:
    """Write null or an empty value where the wire had it, and the field still has its default."""
    blank = "said is None" if field.kind.blank is None else f"said is None or said == {source.bind(field.kind.blank)}"
    source.line(f"elif {field.name!r} in spelling:")
    source.depth += 1
    if field.others:
        source.line(f"for key, found in spelling[{field.name!r}].items():")
        source.line("    for said in found:")
        source.line(f"        if not ({blank}): {source.fail}")
        source.line("        wire[key] = said")
    else:
        source.line(f"for said in spelling[{field.name!r}]:")
        source.line(f"    if not ({blank}): {source.fail}")
        source.line(f"    {_target(source, field)} = said")
    source.depth -= 1


def _target(source: Source, field: Field) -> str:
    """The place of a field in the wire object; objects on the way are made."""
    place = "wire"
    for end, step in enumerate(field.key[:-1], 1):
        place += f"[{step!r}]" if field.key[:end] in source.made else f".setdefault({step!r}, {{}})"
    return f"{place}[{field.key[-1]!r}]"


def _write_constant(source: Source, field: Field, *, has_marks: bool) -> None:
    absent, value = f"{field.name!r} not in spelling and " if has_marks else "", repr(field.default)
    if len(field.key) == 1:
        source.line(f"if {absent}{field.key[0]!r} not in wire: wire[{field.key[0]!r}] = {value}")
    else:
        path = source.bind(field.key)
        source.bound |= {"find": find, "put": put}
        source.line(f"if {absent}find(wire, {path}) is ABSENT: put(wire, {path}, {value})")


def _differs(source: Source, field: Field) -> str:
    """The end of a condition: the field is not its default."""
    if field.default == () or field.default == {}:
        return ""
    return " is not None" if field.default is None else f" != {source.bind(field.default)}"


def _check_rules(source: Source, table: Table, row: Row, *, has_marks: bool) -> None:
    """Give up on a value that breaks a rule, unless it was read so."""
    for rule in table.rules(row):
        unless = f" and {rule.field!r} not in verbatim" if has_marks else ""
        source.fail_if(f"not ({condition(source, rule)}){unless}")


def condition(source: Source, rule: Rule) -> str:
    """The expression that a value keeps a rule."""
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
