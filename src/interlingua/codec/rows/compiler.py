"""Code made from rows: straight-line readers and writers for the usual case.

A compiled reader fetches the keys of a row, checks their types, counts them, and builds the value. A compiled writer
fetches the fields and builds the wire object. They also handle the frequent exceptions: keys that are missing, or
there although they mean nothing, constants with another value, and values that were read although they break a rule.
With anything else (another type, another spelling, a broken rule, residue of another dialect, a field that the protocol
has no key for) the code gives up: a reader passes the object to the interpreter (``Table.interpret_read``), a writer
returns None, and the caller calls the interpreter with its ledger.

A reader is made when a row reads the second time, a writer on first use; ``source`` keeps the text of the code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from msgspec.structs import force_setattr

from .fields import Field
from .key_readers import constant_variable, read_accepted, read_constant, read_filled, read_optional, read_other_keys
from .kinds import OMIT
from .row import Row
from .source import INDENT, Source, source_of
from .table import Table
from .writers import compile_constants, compile_putter, compile_writer, condition, function_name

__all__ = [
    "compile_constants",
    "compile_putter",
    "compile_reader",
    "compile_taker",
    "compile_writer",
    "source_of",
]

KEYWORDS = ("signature", "cache")
"""Fields of blocks that are passed by name only."""
EMPTY: dict[str, Any] = {}


# -------------------------------------------------------------------------------------------------------------- readers


def compile_reader(table: Table, row: Row, *, otherwise: Callable[[Any], Any] | None = None) -> Callable[[Any], Any]:
    """Make the function that reads a wire object of this row.

    ``otherwise`` reads the objects that are not as usual; by default that is the interpreter.
    """
    source = Source("return interpret(wire)")
    source.bound["interpret"] = otherwise or (table.interpret_read if table.keys is None else table.read_otherwise)
    tagged = table.tag is not None and table.tag != Table.KEY
    if not tagged:
        source.fail_if("type(wire) is not dict")
    tree = _tree(row)
    expected, optional, accepted = _sorted(row, tree)
    names: dict[str, str] = {}
    source.line(f"known = {len(expected) + int(tagged)}")
    grouped = [key for key in optional if _has_group(tree[key])]
    for key in [*expected, *grouped]:
        names |= _read_node(source, tree[key], key, "wire")
    names |= _read_groups(source, row)
    source.line(f"if len(wire) == known: value = {_call(source, row, names)}")
    source.line("else:")
    source.depth += 1
    names |= _read_optional(source, row, tree, [key for key in optional if key not in grouped], accepted)
    source.line(f"if len(wire) == known: value = {_call(source, row, names)}")
    source.line("else:")
    source.depth += 1
    _collect_residue(source, row, [*tree, *([table.tag] if tagged and table.tag else [])])
    _check_keys(source, table)
    source.line(f"value = {_call(source, row, names, extras=f'{{{table.dialect!r}: rest}}')}")
    source.depth = 1
    _remember_marks(source, table, row)
    source.line("return value")
    return source.compile(function_name("read", table, row), "wire")


def _read_optional(source: Source, row: Row, tree: Tree, keys: list[str], accepted: list[Field]) -> dict[str, str]:
    """Add code that reads the keys that may be missing, until all keys of the object are known."""
    names: dict[str, str] = {}
    if not keys and not accepted:
        return names
    source.can_stop = True
    start = len(source.lines)
    source.line("while len(wire) != known:")
    source.depth += 1
    for key in keys:
        names |= _read_node(source, tree[key], key, "wire")
    for field in accepted:
        read_accepted(source, field, "wire")
    source.line("break")
    source.depth -= 1
    defaults = {field.name: source.bind(field.default) for field in row.fields}
    indent = INDENT * source.depth
    source.lines[start:start] = [f"{indent}{var} = {defaults[name]}" for name, var in names.items()]
    source.can_stop = False
    return names


def compile_taker(table: Table, row: Row, *, otherwise: Callable[[Any], Any] | None = None) -> Callable[[Any], Any]:
    """Make the function ``take`` of a frame: it returns the fields of a wire object, what is left of it, and marks."""
    source = Source("return interpret(wire)")
    source.bound["interpret"] = otherwise or row.take_apart
    tree = _tree(row)
    expected, optional, accepted = _sorted(row, tree)
    names: dict[str, str] = {}
    source.line("rest, marks = wire.copy(), {}")
    source.taking = True
    for key in [*expected, *optional]:
        names |= _read_node(source, tree[key], key, "wire")
    for field in accepted:
        read_accepted(source, field, "wire")
    names |= _read_groups(source, row)
    fields = ", ".join([f"{name!r}: {variable}" for name, variable in names.items()])
    _collect_marks(source)
    source.line(f"return {{{fields}}}, rest, marks")
    return source.compile(function_name("take", table, row), "wire")


def _check_keys(source: Source, table: Table) -> None:
    """Add code that gives up where an unknown key is another spelling of a known one."""
    if table.keys is not None:
        source.fail_if(f"{source.bind(table.keys.is_suspect)}(rest)")


def _sorted(row: Row, tree: Tree) -> tuple[list[str], list[str], list[Field]]:
    """The keys that are usually there, those that may be there, and those that are accepted and mean nothing."""
    expected = [key for key, node in tree.items() if _is_expected(node)]
    optional = [key for key in tree if key not in expected]
    return expected, optional, [field for field in row.fields if field.accepted and len(field.key) == 1]


def _collect_residue(source: Source, row: Row, keys: list[str]) -> None:
    """Add code that collects the residue: what no field took, and constants with another value."""
    constants = [field.key[0] for field in row.constant_fields if len(field.key) == 1]
    accepted = [field.key[0] for field in row.fields if field.accepted and len(field.key) == 1]
    others = [key for field in row.fields for key in field.others]
    taken = frozenset([*keys, *accepted, *others]) - {*constants}
    source.line(f"rest = {{key: item for key, item in wire.items() if key not in {source.bind(taken)}}}")
    for key in constants:
        source.line(f"if {constant_variable(key)} is None: del rest[{key!r}]")


def _remember_marks(source: Source, table: Table, row: Row) -> None:
    """Add code that remembers the shape and the spelling of a value that was read, and the rules that it breaks."""
    remember = f"{source.bind(force_setattr)}(value, 'forms', {{{table.dialect!r}: marks}})"
    if source.shapes:
        source.line("marks = {}")
        _collect_marks(source)
        source.line(f"if marks: {remember}")
    elif source.spells:
        source.line("marks = None if spelled is None else {'spelling': spelled}")
        source.line(f"if marks is not None: {remember}")
    elif table.rules(row):
        source.line("marks = None")
    for rule in table.rules(row):
        source.line(f"if not ({condition(source, rule)}):")
        source.line(f"{INDENT}if not marks: marks = {{}}")
        source.line(f"{INDENT}marks.setdefault('verbatim', []).append({rule.field!r})")
        source.line(f"{INDENT}{remember}")


def _collect_marks(source: Source) -> None:
    for mark, variable in source.shapes.items():
        source.line(f"if {variable} is not None: marks[{mark!r}] = {variable}")
    if source.spells:
        source.line("if spelled is not None: marks['spelling'] = spelled")


Tree = dict[str, Any]


def _tree(row: Row) -> Tree:
    """The fields of a row by their paths of keys."""
    tree: Tree = {}
    for field in row.fields:
        if field.accepted and len(field.key) == 1:
            continue  # it is usually left out, and then there is nothing to read
        for path in field.paths:
            _put_node(tree, tuple(path.split(".")), GroupKey(field, path))
        if field.key and not field.names:
            _put_node(tree, field.key, field)
    return tree


class GroupKey(NamedTuple):
    """One key of a group."""

    field: Field
    path: str


def _put_node(tree: Tree, path: tuple[str, ...], leaf: Field | GroupKey) -> None:
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
    tree[path[-1]] = leaf


def _is_expected(node: Field | GroupKey | Tree) -> bool:
    """Whether a key is there in the usual case."""
    if isinstance(node, GroupKey):
        return False
    if isinstance(node, Field):
        return (node.required and not node.accepted) or node.constant or node.filler is not OMIT
    return any(map(_is_expected, node.values()))


def _has_group(node: Field | GroupKey | Tree) -> bool:
    """Whether a node is a key of a group, or has one below it."""
    return isinstance(node, GroupKey) or (not isinstance(node, Field) and any(map(_has_group, node.values())))


def _read_node(source: Source, node: Field | GroupKey | Tree, key: str, wire: str) -> dict[str, str]:
    """Add code that reads one key of an object. Return the variables that hold the canonical values, by field."""
    var = f"v{len(source.lines)}"
    if isinstance(node, GroupKey):
        source.line(f"{var} = {wire}.get({key!r}, ABSENT)")
        source.line(f"if {var} is not ABSENT:")
        source.depth += 1
        source.record_key(key, wire)
        source.depth -= 1
        source.groups.setdefault(node.field.name, {})[node.path] = var
        return {}
    if not isinstance(node, Field):
        return _read_inner(source, node, key, var, wire)
    taken = source.taking and wire == "wire"
    if node.accepted:
        read_accepted(source, node, wire)
        return {}
    if node.constant:
        read_constant(source, node, key, wire)
        return {}
    if node.required:
        missing = "" if node.kind.rejects_none else ", MISSING"
        source.line(f"{var} = {wire}.get({key!r}{missing})")
        if missing:
            source.fail_if(f"{var} is MISSING")
        node.kind.emit_read(source, var)
        if taken:
            source.record_key(key, wire)
        return {node.name: var}
    if node.filler is not OMIT:
        read_filled(source, node, key, var, wire)
        return {node.name: var}
    if node.others:
        return read_other_keys(source, node, key, var)
    read_optional(source, node, key, var, wire)
    return {node.name: var}


def _read_groups(source: Source, row: Row) -> dict[str, str]:
    """Add code that makes the values of the groups from the variables that hold their keys."""
    names: dict[str, str] = {}
    for at, field in enumerate([field for field in row.fields if field.names]):
        keys, kind = source.groups[field.name], cast("Any", field.kind)
        if kind.quick is not None:
            source.line(f"group{at} = {source.bind(kind.quick)}({', '.join([keys[path] for path in field.paths])})")
        else:
            found = ", ".join([f"({path!r}, {var})" for path, var in keys.items()])
            source.line(f"found = {{path: item for path, item in ({found},) if item is not ABSENT}}")
            source.line(f"if found: group{at} = {source.bind(kind.read_usual)}(found)")
            missing = "REFUSED" if field.required or field.filler is not OMIT else source.bind(field.default)
            source.line(f"else: group{at} = {missing}")
            if not field.required and field.filler is OMIT:
                source.fail_if(f"found and group{at} == {source.bind(field.default)}")
        source.fail_if(f"group{at} is REFUSED")
        names |= {name: f"group{at}[{index}]" for index, name in enumerate(field.names)}
    return names


def _read_inner(source: Source, tree: Tree, key: str, var: str, wire: str) -> dict[str, str]:
    """Add code that reads an object which contains keys of fields. In the usual case all its keys are known.

    In a frame, its unknown keys stay in the rest.
    """
    expected, in_frame = _is_expected(tree), source.taking and wire == "wire"
    otherwise = f") or {source.bind(EMPTY)}" if in_frame else ")" if expected else f", {source.bind(EMPTY)})"
    source.line(f"{var} = {wire}.get({key!r}{otherwise}")
    source.fail_if(f"type({var}) is not dict")
    source.line(f"{var}n = {sum(map(_is_expected, tree.values()))}")
    names: dict[str, str] = {}
    for inner in sorted(tree, key=lambda name: not _is_expected(tree[name])):
        names |= _read_node(source, tree[inner], inner, var)
    whole = f"len({var}) == {var}n"
    if in_frame:
        known = source.bind(frozenset(tree))
        source.line(f"if not {whole}: rest[{key!r}] = {{k: item for k, item in {var}.items() if k not in {known}}}")
        source.line(f"elif {var}: del rest[{key!r}]")  # null and an empty object stay
        return names
    source.fail_if(f"not ({whole})" if not expected else f"not {var} or not ({whole})")  # an empty object is residue
    if expected:
        return names
    source.line(f"if {var}:")
    source.depth += 1
    source.record_key(key, wire)
    source.depth -= 1
    source.fail_if(f"not {var} and {key!r} in {wire}")
    return names


def _call(source: Source, row: Row, names: Mapping[str, str], *, extras: str = "") -> str:
    """The construction of the value: by position as far as possible."""
    held = {**{name: source.bind(value) for name, value in row.gives.items()}, **names}
    arguments: list[str] = []
    by_name = False
    for name in row.type.__struct_fields__:
        if name in KEYWORDS or name not in held:
            by_name = True
        if name in held:
            arguments.append(f"{name}={held[name]}" if by_name else held[name])
    return f"{source.bind(row.type)}({', '.join([*arguments, *([f'extras={extras}'] if extras else [])])})"
