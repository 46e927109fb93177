"""Code that reads single keys of a wire object, for ``compiler``: each value into a variable, and the keys counted."""

from __future__ import annotations

from .fields import Field
from .kinds import Kind
from .source import INDENT, Source

__all__ = ["constant_variable", "read_accepted", "read_constant", "read_filled", "read_optional", "read_other_keys"]


def read_optional(source: Source, field: Field, key: str, var: str, wire: str) -> None:
    """Read a key that may be missing. A value that means nothing is remembered as its spelling."""
    blank = "" if field.kind.blank is None else f" or {var} == {source.bind(field.kind.blank)}"
    source.line(f"{var} = {wire}.get({key!r}, MISSING)")
    source.line(f"if {var} is MISSING: {var} = {source.bind(field.default)}")
    source.line(f"elif {var} is None{blank}:")
    source.depth += 1
    source.spell(field.name, f"[{var}]")
    source.line(f"{var} = {source.bind(field.default)}")
    source.record_key(key, wire)
    source.depth -= 1
    source.line("else:")
    source.depth += 1
    field.kind.emit_read(source, var)
    if field.default not in (None, (), field.kind.blank):
        source.fail_if(f"{var} == {source.bind(field.default)}")
    source.record_key(key, wire)
    if source.can_stop and wire == "wire":
        source.line("if len(wire) == known: break")
    source.depth -= 1


def read_other_keys(source: Source, field: Field, key: str, var: str) -> dict[str, str]:
    """Read a field that has several keys: in the usual case one of them has the value, and the others mean nothing."""
    blank = "" if field.kind.blank is None else f" or item == {source.bind(field.kind.blank)}"
    source.line(f"{var}, {var}keys = MISSING, None")
    for other in (key, *field.others):
        source.line(f"item = wire.get({other!r}, MISSING)")
        source.line("if item is not MISSING:")
        source.depth += 1
        source.line(f"if {var}keys is None: {var}keys = {{}}")
        source.line(f"{var}keys[{other!r}] = [item] if item is None{blank} else []")
        source.line(f"if not {var}keys[{other!r}]:")
        source.depth += 1
        source.fail_if(f"{var} is not MISSING")
        source.line(f"{var} = item")
        field.kind.emit_read(source, var)
        source.depth -= 1
        source.record_key(other, "wire")
        source.depth -= 1
    source.line(f"if {var} is MISSING: {var} = {source.bind(field.default)}")
    source.line(f"if {var}keys is not None and {var}keys != {{{key!r}: []}}:")
    source.depth += 1
    source.spell(field.name, f"{var}keys")
    source.depth -= 1
    return {field.name: var}


def constant_variable(key: str) -> str:
    """The variable of a constant key: it is None if the key has its constant value."""
    return f"other_{''.join(letter if letter.isalnum() else '_' for letter in key)}"


def read_constant(source: Source, field: Field, key: str, wire: str) -> None:
    """Read a constant key. It may be missing; with another value it is residue."""
    var = constant_variable(key)
    source.line(f"{var} = {wire}.get({key!r}, MISSING)")
    if wire != "wire":
        source.fail_if(f"not ({source.equals(var, field.default)})")
        return
    source.line(f"if {source.equals(var, field.default)}:")
    source.line(f"{INDENT}{f'del rest[{key!r}]' if source.taking else f'{var} = None'}")
    source.line("else:")
    source.depth += 1
    if not source.taking:
        source.line("known -= 1")
        source.line(f"if {var} is None: {var} = MISSING")
    source.line(f"if {key!r} not in wire:")
    source.depth += 1
    source.spell(field.name, "[]")
    source.depth -= 2


def read_filled(source: Source, field: Field, key: str, var: str, wire: str) -> None:
    """Read a key that we always write. Where it is missing, the field has its default."""
    source.line(f"{var} = {wire}.get({key!r}, MISSING)")
    source.line(f"if {var} is MISSING:")
    source.depth += 1
    source.spell(field.name, "[]")
    source.line(f"{var} = {source.bind(field.default)}")
    if wire != "wire" or not source.taking:
        source.line("known -= 1" if wire == "wire" else f"{wire}n -= 1")
    source.depth -= 1
    if field.has_blank_filler:
        source.line(f"elif {var} {'is' if field.filler is None else '=='} {source.bind(field.filler)}:")
        source.line(f"{INDENT}{var} = {source.bind(field.default)}")
        if source.taking and wire == "wire":
            source.line(f"{INDENT}del rest[{key!r}]")
    if field.filler is None and field.kind.blank is not None and wire == "wire":
        source.line(f"elif {var} == {source.bind(field.kind.blank)}:")
        source.depth += 1
        source.spell(field.name, f"[{var}]")
        source.line(f"{var} = {source.bind(field.default)}")
        if source.taking:
            source.line(f"del rest[{key!r}]")
        source.depth -= 1
    source.line("else:")
    source.depth += 1
    field.kind.emit_read(source, var)
    if field.has_blank_filler or field.filler != field.default:  # else the filler itself is read as the default
        source.fail_if(_is_like_missing(source, field, var))
    if source.taking and wire == "wire":
        source.line(f"del rest[{key!r}]")
    source.depth -= 1


def read_accepted(source: Source, field: Field, wire: str) -> None:
    """Read a key that means nothing; if it is there, that is remembered as its spelling."""
    key = field.key[-1]
    source.line(f"accepted = {wire}.get({key!r}, MISSING)")
    source.line("if accepted is not MISSING:")
    source.depth += 1
    if isinstance(field.default, Kind):
        field.default.emit_read(source, "accepted")
    else:
        source.fail_if(f"not ({source.equals('accepted', field.default)})")
    source.record_key(key, wire)
    source.spell(field.name, "[accepted]")
    source.depth -= 1


def _is_like_missing(source: Source, field: Field, var: str) -> str:
    """The condition that a value means the same as a missing key; the interpreter keeps that as a spelling."""
    blank = field.default if field.default is not None else field.kind.blank
    return f"{var} is None" if blank is None else f"{var} == {source.bind(blank)}"
