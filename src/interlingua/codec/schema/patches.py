"""The changes that rewriting made to a schema, kept to be made again to equal schemas: that is cheap, and parts without
a change are not copied."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from msgspec import json, to_builtins

from interlingua.codec.schema.walk import Schema, is_list, is_schema


class Patch(NamedTuple):
    """The changes to one object, or to one list, whose keys are indexes."""

    dropped: tuple[str, ...]
    values: tuple[tuple[str | int, Any], ...]
    """For a key, its new value: a text or a number; an object of nothing else; or a ``Patch`` or ``Copy``."""


class Copy(NamedTuple):
    """A new value of any other kind. It is copied wherever it is set."""

    value: Any


Change: TypeAlias = Patch | Copy
Changer: TypeAlias = Callable[[Schema], Schema]
"""A function that returns a schema after a change."""


def difference(before: Schema, after: Schema) -> Patch | None:
    """The patch that turns ``before`` into ``after``, with its order of keys; None if they are the same."""
    if before is after:
        return None
    dropped: tuple[str, ...] = ()
    if list(before) != list(after):
        dropped = tuple(key for key in before if key not in after)
        if [*(key for key in before if key in after), *(key for key in after if key not in before)] != list(after):
            return Patch(tuple(before), tuple((key, _new(value)) for key, value in after.items()))
    values: list[tuple[str | int, Any]] = []
    for key, value in after.items():
        if key not in before:
            values.append((key, _new(value)))
        elif before[key] is not value:
            values += _changed(key, before[key], value)
    return Patch(dropped, tuple(values)) if dropped or values else None


def _changed(key: str | int, old: Any, value: Any) -> list[tuple[str | int, Any]]:
    if is_schema(old) and is_schema(value):
        if _is_flat(value):
            return [] if _same(old, value) else [(key, value)]
        patch = difference(old, value)
        return [] if patch is None else [(key, Copy(value) if old.keys().isdisjoint(value) else patch)]
    if is_list(old) and is_list(value) and len(old) == len(value):
        pairs = enumerate(zip(old, value, strict=True))
        values = tuple(change for index, (item, new) in pairs for change in _changed(index, item, new))
        return [(key, Patch((), values))] if values else []
    return [] if type(old) is type(value) and old == value else [(key, _new(value))]


def _same(old: Schema, flat: Schema) -> bool:
    """Whether two objects have the same order of keys and the same types of values too, for true is not 1."""
    return old == flat and list(old) == list(flat) and [*map(type, old.values())] == [*map(type, flat.values())]


def _new(value: Any) -> Any:
    return Copy(value) if is_list(value) or (is_schema(value) and not _is_flat(value)) else value


def _is_flat(node: Schema) -> bool:
    for value in node.values():  # noqa: SIM110  (a generator takes twice as long)
        if isinstance(value, _DEEP):
            return False
    return True


_DEEP = (dict, list)


def weight(change: Any) -> int:
    """How many objects a change makes."""
    return 1 + sum([weight(new) for _, new in change.values if type(new) is not str]) if type(change) is Patch else 1


NOT_JSON = (AttributeError, LookupError, TypeError)
"""Raised for a schema that was built by hand, with values (such as tuples) that become lists and texts in JSON only."""


def changed(node: Schema, change: Change) -> Schema:
    """``node`` after a change. New parts are not shared with any other schema; the rest may be shared with ``node``."""
    result: Schema
    try:
        result = _after(node, change)
    except NOT_JSON:
        result = _after(json.decode(json.encode(node)), change)
    return result


def _after(node: Any, change: Change) -> Any:
    if type(change) is not Patch:
        return to_builtins(change[0])
    dropped, values = change
    result = node.copy()
    for word in dropped:
        del result[word]
    for key, new in values:
        if type(new) is dict:
            result[key] = new.copy()
        elif type(new) is Patch:
            result[key] = _after(result[key], new)
        else:
            result[key] = to_builtins(new.value) if type(new) is Copy else new
    return result


def compiled(changes: Sequence[Change]) -> list[Changer]:
    """Functions that do what ``changed`` does, for changes that are made often."""
    bound: dict[str, Any] = {"to_builtins": to_builtins, "NOT_JSON": NOT_JSON}
    lines: list[str] = []
    for number, change in enumerate(changes):
        bound[f"otherwise{number}"] = partial(changed, change=change)
        lines += [f"def change{number}(node):", "  try:"]
        if type(change) is Patch:
            lines += ["    said = node.copy()", *_lines(change, "said", bound), "    return said"]
        else:
            bound[f"copy{number}"] = change[0]
            lines.append(f"    return to_builtins(copy{number})")
        lines.append(f"  except NOT_JSON: return otherwise{number}(node)")
    exec(compile("\n".join(lines), "<patches>", "exec"), bound)
    return [bound[f"change{number}"] for number in range(len(changes))]


def _lines(change: Patch, var: str, bound: dict[str, Any]) -> list[str]:
    """The code that makes the changes to one object, or to one list."""
    lines = [f"    del {var}[{word!r}]" for word in change.dropped]
    for key, new in change.values:
        place, name = f"{var}[{key!r}]", f"x{len(bound)}"
        bound[name] = new.value if type(new) is Copy else new
        if type(new) is Patch:
            lines += [f"    {name} = {place} = {place}.copy()", *_lines(new, name, bound)]
        elif type(new) is Copy:
            lines.append(f"    {place} = to_builtins({name})")
        else:
            lines.append(f"    {place} = {name}.copy()" if type(new) is dict else f"    {place} = {name}")
    return lines
