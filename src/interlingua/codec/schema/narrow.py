"""Bringing a schema into a ``Subset`` where that is simple: keywords are left out, or moved into the description.

That is enough for nearly all tools. One pass finds the change, and copies nothing. Where more is needed (references,
``allOf``, ``const``, a keyword of a wrong shape), ``narrow`` returns None, and ``rewrite`` must be used. Both change a
schema in the same way: a test compares them.
"""

from typing import Any, NamedTuple

from interlingua.codec.schema.patches import Patch
from interlingua.codec.schema.subsets import Subset
from interlingua.codec.schema.walk import NAMED, PLACES, SHAPES, Schema, is_list, is_schema, step
from interlingua.codec.schema.wording import RETITLED, folded, needs_no_mention, retitled

DEEPEST = 64
"""The most steps of a path. A schema that is nested deeper may be too deep to be rewritten."""
HARD = ("$ref", "$defs", "definitions", "allOf", "nullable")
"""Keywords that are never simple, kept or not."""
REWORDED = ("oneOf", "const")
"""Keywords that are replaced by others, where a subset does not keep them."""
KEPT, PLACE, NOT_SIMPLE = 1, 2, 3
DEEP = (dict, list)


class Narrowed(NamedTuple):
    """The change to a schema, None if there is none, and the sentences that ``rewrite`` has for it."""

    change: Patch | None
    changes: tuple[str, ...]


class NotSimple(Exception):
    """The schema needs more than ``narrow`` does."""


def narrow(schema: Schema, subset: Subset) -> Narrowed | None:
    """The change that brings a schema into a subset; None where that is not simple."""
    if subset.strict or subset.typed:
        return None
    narrowing = Narrowing(subset)
    try:
        change = narrowing.change(schema)
    except (NotSimple, TypeError, ValueError, AttributeError):
        return None
    return Narrowed(change, tuple(narrowing.changes)) if change is None or isinstance(change, Patch) else None


class Narrowing:
    """One pass over one schema. ``path`` leads to the part that is being read."""

    __slots__ = ("accepts", "actions", "changes", "null_in_enum", "path", "texts")

    def __init__(self, subset: Subset) -> None:
        self.accepts, self.null_in_enum = subset.accepts, subset.null_in_enum
        self.changes: list[str] = []
        self.path: list[str] = []
        if id(subset) not in _known:
            kept = {word: PLACE if word in PLACES else KEPT for word in subset.keywords}
            actions = dict.fromkeys(REWORDED, NOT_SIMPLE) | kept | dict.fromkeys(HARD, NOT_SIMPLE)
            _known[id(subset)] = subset.texts.difference(HARD), actions
        self.texts, self.actions = _known[id(subset)]

    def change(self, node: Any) -> Patch | Schema | None:
        """The change to one schema: None, a new object where it holds no others, or a patch."""
        if not is_schema(node):
            raise NotSimple
        others, places, flat = self._sorted(node)
        if not others and not places:
            return None
        values: list[tuple[str | int, Any]] = []
        if others:
            rest = self._without(node, others)
            if flat and not places:
                return rest
            if rest.get("description") != node.get("description"):
                values.append(("description", rest["description"]))
        for word in places:
            inner = self._inside(word, node[word])
            if inner is not None:
                values.append((word, inner))
        return Patch(tuple(others), tuple(values)) if values or others else None

    def _sorted(self, node: Schema) -> tuple[list[str], list[str], bool]:
        """The keywords that are not kept, those that hold schemas, and whether all else is texts and numbers."""
        texts, actions = self.texts, self.actions
        others: list[str] = []
        places: list[str] = []
        flat = True
        for word, value in node.items():
            if type(value) is str and word in texts:
                continue
            action = actions.get(word)
            if action is NOT_SIMPLE or (word in SHAPES and not SHAPES[word](value)):
                raise NotSimple
            if action is PLACE:
                places.append(word)
            elif action is None:
                others.append(word)
            else:
                flat = flat and type(value) not in DEEP
                if word == "enum" or word in self.accepts:
                    self._check(word, value, node)
        return others, places, flat

    def _check(self, word: str, value: Any, node: Schema) -> None:
        if word in self.accepts and not self.accepts[word](value, node):
            raise NotSimple
        if word == "enum" and not self.null_in_enum and None in value:
            raise NotSimple

    def _without(self, node: Schema, words: list[str]) -> Schema:
        """The schema without some keywords; those that a model should know are in its description."""
        dropped: list[str] = []
        mentioned: list[str] = []
        for word in words:
            value = node[word]
            if word in PLACES and value and type(value) is not bool:
                raise NotSimple
            (dropped if needs_no_mention(word, value) else mentioned).append(word)
        at = "/".join(["#", *self.path])
        if "~" in at or at.count("/") != len(self.path):
            at = step("#", *self.path)
        if (named := retitled(node, dropped, at)) is not node:
            self.changes.append(f"{at}: {RETITLED}")
            node = named
        if dropped:
            self.changes.append(f"{at}: dropped {', '.join(dropped)}")
            node = {key: value for key, value in node.items() if key not in dropped}
        if not mentioned:
            return node
        self.changes.append(f"{at}: folded {', '.join(mentioned)} into the description")
        return folded(node, mentioned)

    def _inside(self, word: str, value: Any) -> Patch | Schema | None:
        """The change to the schemas under a keyword: by name, in a list, or alone."""
        path, size = self.path, len(self.path)
        if size > DEEPEST:
            raise NotSimple
        path.append(word)
        values: list[tuple[str | int, Any]] = []
        if is_schema(value) and word not in NAMED:
            change = self.change(value)
            path.pop()
            return change
        if is_schema(value):
            for name, child in value.items():
                path.append(name)
                if (change := self.change(child)) is not None:
                    values.append((name, change))
                path.pop()
        elif is_list(value):
            for index, child in enumerate(value):
                path.append(str(index))
                if (change := self.change(child)) is not None:
                    values.append((index, change))
                path.pop()
        elif type(value) is not bool:
            raise NotSimple
        path.pop()
        return Patch((), tuple(values)) if values else None


_known: dict[int, tuple[frozenset[str], dict[str, int]]] = {}
"""By the identity of a subset: the keywords that are kept wherever their value is a text, and the actions of all."""
