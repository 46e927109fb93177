"""Code made from rows: straight-line readers and writers for the usual case.

A compiled reader fetches the keys of a row, checks their types, counts them, and builds the value. A compiled writer
fetches the fields and builds the wire object. Where anything is not as usual (another type, another spelling, marks,
a broken rule, residue of another dialect, a field without a word), the code gives up: a reader hands the object to
the interpreter (``Table.interpret_read``), a writer gives None, and the caller asks the interpreter with its ledger.

The code of a row is made on first use; ``source`` has its text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import fields as struct_fields, force_setattr

from .json import is_object
from .kinds import OMIT
from .rows import Field, Row
from .source import INDENT, Source, source_of
from .table import Table

__all__ = ["compile_putter", "compile_reader", "compile_taker", "compile_writer", "source_of"]

KEYWORDS = ("signature", "cache")
"""Fields of blocks that are passed by name only."""
EMPTY: dict[str, Any] = {}


# -------------------------------------------------------------------------------------------------------------- readers


def compile_reader(table: Table, row: Row) -> Callable[[Any], Any]:
    """A function that reads a wire object of this row."""
    source = Source("return interpret(wire)")
    source.bound["interpret"] = table.interpret_read
    tagged = table.tag is not None and table.tag != Table.KEY
    if not tagged:
        source.fail_if("type(wire) is not dict")
    tree = _tree(row)
    expected, optional, accepted = _sorted(row, tree)
    names: dict[str, str] = {}
    for key in expected:
        names |= _read_node(source, tree[key], key, "wire")
    size = len(expected) + int(tagged)
    source.line(f"if len(wire) == {size}:")
    if optional or accepted:
        source.line(f"{INDENT}value = {_call(source, row, names, bare=True)}")
        source.line("else:")
        source.depth += 1
        source.line(f"known = {size}")
        for key in accepted:
            source.fail_if(f"{key!r} in wire")
        for key in optional:
            names |= _read_node(source, tree[key], key, "wire")
        source.line("if len(wire) == known:")
    source.line(f"{INDENT}value = {_call(source, row, names)}")
    source.line("else:")
    rest = _rest(source, [*tree, *([table.tag] if tagged and table.tag else [])])
    source.line(f"{INDENT}value = {_call(source, row, names, extras=f'{{{table.dialect!r}: {rest}}}')}")
    source.depth = 1
    for mark, variable in source.shapes.items():
        shape = f"{{{table.dialect!r}: {{{mark!r}: {variable}}}}}"
        source.line(f"if {variable} is not None: {source.bind(force_setattr)}(value, 'forms', {shape})")
    _check_rules(source, table, row)
    source.line("return value")
    return source.compile(_name("read", table, row), "wire")


def compile_taker(table: Table, row: Row, *, otherwise: Callable[[Any], Any] | None = None) -> Callable[[Any], Any]:
    """A function that gives the fields of a wire object, what is left of it, and marks: for rows that are a frame.

    ``otherwise`` is called where something is not as usual; by default the interpreter.
    """
    source = Source("return interpret(wire)")
    source.bound["interpret"] = otherwise or row.take_apart
    tree = _tree(row)
    expected, optional, accepted = _sorted(row, tree)
    names: dict[str, str] = {}
    for key in accepted:
        source.fail_if(f"{key!r} in wire")
    source.line("rest = wire.copy()")
    source.taking = True
    for key in [*expected, *optional]:
        names |= _read_node(source, tree[key], key, "wire")
    fields = ", ".join([f"{name!r}: {variable}" for name, variable in names.items()])
    source.line(f"return {{{fields}}}, rest, {{}}")
    return source.compile(_name("take", table, row), "wire")


def _sorted(row: Row, tree: Tree) -> tuple[list[str], list[str], list[str]]:
    """The keys that are usually there, those that may be there, and those that are accepted and say nothing."""
    expected = [key for key, node in tree.items() if _is_expected(node)]
    optional = [key for key in tree if key not in expected]
    return expected, optional, [field.key[0] for field in row.fields if field.accepted]


def _rest(source: Source, keys: list[str]) -> str:
    return f"{{key: item for key, item in wire.items() if key not in {source.bind(frozenset(keys))}}}"


Tree = dict[str, Any]


def _tree(row: Row) -> Tree:
    """The fields of a row by their paths of keys."""
    tree: Tree = {}
    for field in row.fields:
        if field.accepted:
            continue  # it is usually left out, and then there is nothing to read
        node = tree
        for step in field.key[:-1]:
            node = node.setdefault(step, {})
        if field.key:
            node[field.key[-1]] = field
    return tree


def _is_expected(node: Field | Tree) -> bool:
    """Whether a key is there in the usual case."""
    if isinstance(node, Field):
        return node.required or node.constant or node.filler is not OMIT
    return any(map(_is_expected, node.values()))


def _read_node(source: Source, node: Field | Tree, key: str, wire: str) -> dict[str, str]:
    """Read one key of an object; the variables that hold the canonical values, by field."""
    var = f"v{len(source.lines)}"
    if not isinstance(node, Field):
        return _read_inner(source, node, key, var, wire)
    taken = source.taking and wire == "wire"
    if node.constant:
        source.fail_if(f"{wire}.get({key!r}, MISSING) != {source.bind(node.default)}")
        if taken:
            source.done(key, wire)
        return {}
    if _is_expected(node):
        missing = "" if node.kind.rejects_none and node.filler is OMIT else ", MISSING"
        source.line(f"{var} = {wire}.get({key!r}{missing})")
        if missing:
            source.fail_if(f"{var} is MISSING")
        _read_expected(source, node, var)
        if taken:
            source.done(key, wire)
        return {node.name: var}
    source.line(f"{var} = {wire}.get({key!r}, MISSING)")
    source.line(f"if {var} is MISSING:")
    source.line(f"{INDENT}{var} = {source.bind(node.default)}")
    source.line("else:")
    source.depth += 1
    node.kind.emit_read(source, var)
    source.fail_if(_says_nothing(source, node, var))
    source.done(key, wire)
    source.depth -= 1
    return {node.name: var}


def _read_expected(source: Source, field: Field, var: str) -> None:
    if field.filler is OMIT:
        field.kind.emit_read(source, var)
        return
    if field.filler == field.default and field.filler is not None:
        field.kind.emit_read(source, var)
        return
    differs = "is not None" if field.filler is None else f"!= {source.bind(field.filler)}"
    source.line(f"if {var} {differs}:")
    source.depth += 1
    field.kind.emit_read(source, var)
    source.fail_if(_says_nothing(source, field, var))
    source.depth -= 1
    if field.default is not field.filler:
        source.line(f"else: {var} = {source.bind(field.default)}")


def _says_nothing(source: Source, field: Field, var: str) -> str:
    """Whether an optional key says what its absence says; the interpreter keeps that as a spelling."""
    blank = field.default if field.default is not None else field.kind.blank
    return f"{var} is None" if blank is None else f"{var} == {source.bind(blank)}"


def _read_inner(source: Source, tree: Tree, key: str, var: str, wire: str) -> dict[str, str]:
    """Read an object that lies on the way to some fields. In the usual case all of it is known."""
    expected = _is_expected(tree)
    source.line(f"{var} = {wire}.get({key!r}{'' if expected else f', {source.bind(EMPTY)}'})")
    source.fail_if(f"type({var}) is not dict")
    source.line(f"{var}n = {sum(map(_is_expected, tree.values()))}")
    names: dict[str, str] = {}
    for inner in sorted(tree, key=lambda name: not _is_expected(tree[name])):
        names |= _read_node(source, tree[inner], inner, var)
    source.fail_if(f"len({var}) != {var}n")
    if expected:
        if source.taking and wire == "wire":
            source.done(key, wire)
        return names
    source.line(f"if {var}:")
    source.depth += 1
    source.done(key, wire)
    source.depth -= 1
    source.fail_if(f"not {var} and {key!r} in {wire}")
    return names


def _call(source: Source, row: Row, names: Mapping[str, str], *, extras: str = "", bare: bool = False) -> str:
    """The construction of the value: by position as far as possible. ``bare``: optional fields have their defaults."""
    held = {**{name: source.bind(value) for name, value in row.gives.items()}, **names}
    defaults = {field.name: source.bind(field.default) for field in row.fields if field.key}
    arguments: list[str] = []
    by_name = False
    for info in struct_fields(row.type):
        if info.name in KEYWORDS or info.name not in held:
            by_name = True
        if info.name not in held:
            continue
        if bare and info.name not in row.gives and held[info.name] == defaults.get(info.name):
            by_name = True
            continue
        arguments.append(f"{info.name}={held[info.name]}" if by_name else held[info.name])
    return f"{source.bind(row.type)}({', '.join([*arguments, *([f'extras={extras}'] if extras else [])])})"


def _check_rules(source: Source, table: Table, row: Row) -> None:
    for rule in table.rules(row):
        source.fail_if(f"not ({rule.source.format('value') or f'{source.bind(rule.holds)}(value)'})")


# -------------------------------------------------------------------------------------------------------------- writers


def compile_writer(table: Table, row: Row) -> Callable[[Any], Any]:
    """A function that writes a value of this row, or gives None."""
    source = Source("return None")
    _write_head(source, table, row)
    unusual = [f"value.{name} != {source.bind(fixed)}" for name, fixed in row.fixed.items()]
    unusual += [f"value.{field.name}{_differs(source, field)}" for field in row.fields if not field.key]
    if unusual:
        source.fail_if(" or ".join(unusual))
    _check_rules(source, table, row)
    _write_fields(source, table, row)
    source.line("if value.extras:")
    source.line(f"    residue = value.extras.get({table.dialect!r})")
    source.line(f"    if residue is None or len(value.extras) != 1: {source.fail}")
    source.line("    merge(wire, residue)")
    for field in row.fields:
        if field.constant:
            source.line(f"wire.setdefault({field.key[0]!r}, {source.bind(field.default)})")
    source.line("return wire")
    return source.compile(_name("write", table, row), "value")


def compile_putter(table: Table, row: Row) -> Callable[[Any], Any]:
    """A function that writes the fields of a frame, or gives None. Residue and constants are the caller's."""
    source = Source("return None")
    _write_head(source, table, row)
    unusual = [f"value.{field.name}{_differs(source, field)}" for field in row.fields if not field.key]
    if unusual:
        source.fail_if(" or ".join(unusual))
    _check_rules(source, table, row)
    _write_fields(source, table, row)
    source.line("return wire")
    return source.compile(_name("put", table, row), "value")


def _write_head(source: Source, table: Table, row: Row) -> None:
    """Give up on a value with a spelling of its own; marks of shape are known to the kinds that made them."""
    if "forms" not in row.type.__struct_fields__:
        return
    source.line(
        f"marks = value.forms.get({table.dialect!r}, {source.bind(EMPTY)}) if value.forms else {source.bind(EMPTY)}"
    )
    source.fail_if("marks and ('spelling' in marks or 'verbatim' in marks or 'tag' in marks)")


def _write_fields(source: Source, table: Table, row: Row) -> None:
    said = [field for field in row.fields if field.key and not (field.accepted or field.constant)]
    literal = [(field, f"v{at}") for at, field in enumerate(said) if field.required]
    for field, var in literal:
        source.line(f"{var} = value.{field.name}")
        field.kind.emit_write(source, var)
    tagged = table.tag is not None and table.tag != Table.KEY
    _literal(source, {table.tag: repr(row.tag)} if tagged and table.tag and row.tag else {}, literal)
    for at, field in enumerate(said):
        if not field.required:
            _write_optional(source, field, f"v{at}")


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
        source.line(f"else: {target}[{field.key[-1]!r}] = {source.bind(field.filler)}")


def _differs(source: Source, field: Field) -> str:
    """The end of a condition: the field is not its default."""
    if field.default == () or field.default == {}:
        return ""
    return " is not None" if field.default is None else f" != {source.bind(field.default)}"


def _name(verb: str, table: Table, row: Row) -> str:
    words = [
        verb,
        table.dialect,
        row.type.__name__,
        *([row.tag] if row.tag else []),
        *([] if table.history else ["answer"]),
    ]
    return "_".join("".join(letter if letter.isalnum() else "_" for letter in word) for word in words)
