"""References between the parts of one schema: which there are, which are recursive, and moving targets to `$defs`."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from interlingua.codec.schema.walk import Schema, is_schema, map_subschemas, resolve, subschemas


def refs_in(node: object) -> Iterator[str]:
    """Every reference below ``node``; may repeat."""
    if not is_schema(node):
        return
    if isinstance(ref := node.get("$ref"), str):
        yield ref
    for _, child in subschemas(node):
        yield from refs_in(child)


def recursive_refs(root: Schema) -> frozenset[str]:
    """The references that lead back to themselves, and those that lead from one such circle to another."""
    names = {ref: set(refs_in(resolve(ref, root))) for ref in set(refs_in(root))}
    users: dict[str, set[str]] = {ref: set() for ref in names}
    for ref, named in names.items():
        for other in named:
            users[other].add(ref)
    return frozenset(_without_ends(names, users) & _without_ends(users, names))


def _without_ends(forth: dict[str, set[str]], back: dict[str, set[str]]) -> set[str]:
    """The references that are left after those that lead to no other are removed, again and again."""
    degree = {ref: len(named) for ref, named in forth.items()}
    ends = [ref for ref, count in degree.items() if count == 0]
    while ends:
        ref = ends.pop()
        del degree[ref]
        for user in back[ref]:
            degree[user] -= 1
            if degree[user] == 0:
                ends.append(user)
    return set(degree)


def hoisted(root: Schema, keys: tuple[str, ...], refs: Sequence[str]) -> tuple[Schema, dict[str, str | None]]:
    """``root``, whose references are ``refs``, with every one of them to the root or to a definition under one of
    ``keys``: what another one names becomes a definition in `$defs`.

    Vendors document references to definitions only, and rewriting may move another place or make it nullable. A
    reference that names nothing is dropped. Also returned: old reference -> new one, None if dropped.
    """
    if not refs:
        return root, {}
    taken: set[str] = set(root.get("$defs", ()))
    moves: dict[str, str | None] = {}
    moved: Schema = {}
    waiting = list(dict.fromkeys(refs))
    for ref in waiting:  # grows: a target may be where ``refs`` were not looked for, as in `components/schemas`
        if ref in moves:
            continue
        if (target := resolve(ref, root)) is None:
            moves[ref] = None
        elif not _names_definition(ref, keys):
            name = _free_name(ref, taken)
            moves[ref] = f"#/$defs/{name}"
            moved[name] = target
            waiting.extend(refs_in(target))
    if not moves:
        return root, {}

    def named(ref: str) -> str | None:
        return moves.get(ref, ref)

    renamed: Schema = with_refs(root, named)
    defs = {**renamed.get("$defs", {}), **{name: with_refs(target, named) for name, target in moved.items()}}
    return {**renamed, "$defs": defs} if defs else renamed, moves


def _names_definition(ref: str, keys: tuple[str, ...]) -> bool:
    """Whether a reference names the root or one of its definitions, not a part of one."""
    _, _, rest = ref.partition("/")
    key, _, name = rest.partition("/")
    return ref == "#" or (key in keys and name != "" and "/" not in name)


def _free_name(ref: str, taken: set[str]) -> str:
    """A definition's name made from where it was; recorded in ``taken``."""
    base = re.sub(r"^(definitions|defs|components_schemas)_(?=.)", "", re.sub(r"[^A-Za-z0-9_.-]+", "_", ref).strip("_"))
    name = base
    number = 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    taken.add(name)
    return name


def with_refs(node: Any, named: Callable[[str], str | None]) -> Any:
    """A copy of a schema with ``named(reference)`` in the place of every reference; None drops it."""
    if not is_schema(node):
        return node
    copy = map_subschemas(node, lambda child, _: with_refs(child, named))
    if isinstance(ref := copy.get("$ref"), str):
        if (name := named(ref)) is None:
            del copy["$ref"]
        else:
            copy["$ref"] = name
    return copy
