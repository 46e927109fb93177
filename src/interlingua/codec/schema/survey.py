"""One pass over a whole schema, before anything is rewritten: is it well formed, what does it refer to, and which parts
of it does a subset take as they are? Most schemas fit: this is the only pass over them, and they are never rewritten.
"""

from typing import Any

from interlingua.codec.schema.subsets import Subset
from interlingua.codec.schema.walk import NAMED, PLACES, SHAPES, Schema, is_list, is_schema

DEEPEST = 32
"""Parts that are nested deeper never count as settled: they may be too deep to be rewritten."""

_SCALARS = ("string", "number", "integer", "boolean", "null")


class Survey:
    """What must be known of ``root`` to rewrite it into ``subset``."""

    __slots__ = ("plain", "refs", "settled", "sound", "subset")

    def __init__(self, root: Schema, subset: Subset) -> None:
        self.subset = subset
        self.sound = True
        """Whether every keyword has the shape that JSON Schema gives it; if not, the other attributes mean nothing."""
        self.refs: list[str] = []
        """Every reference, from the top down; may repeat."""
        self.plain: set[int] = set()
        """The identities of the parts that no rule would change, but which contain others that must change."""
        self.settled: set[int] = set()
        """The identities of the parts that stay as they are, with all that is below them."""
        self._visit(root, 0)

    def _visit(self, node: Schema, depth: int) -> bool:
        """Survey ``node`` and what is below it. Return whether it is settled."""
        subset, taken, settled = self.subset, True, depth < DEEPEST
        if "$ref" in node:
            self.refs.append(node["$ref"])
        for word, value in node.items():
            if word in subset.texts and type(value) is str:
                continue
            shape = SHAPES.get(word)
            if shape is not None and not shape(value):
                self.sound = False
                return False
            if word not in subset.keywords:
                taken = False
            if word in PLACES:
                for child in value.values() if word in NAMED else _listed(value):
                    if not is_schema(child) or not self._visit(child, depth + 1):
                        settled = False
        if not taken or not self._takes(node):
            return False
        (self.settled if settled else self.plain).add(id(node))
        return settled

    def _takes(self, node: Schema) -> bool:
        """Whether no rule would change ``node`` itself, whose keywords are all kept. If strict, only for scalars."""
        subset = self.subset
        for word, accepts in subset.accepts.items():
            if word in node and not accepts(node[word], node):
                return False
        if "$ref" in node:
            return len(node) == 1 and not subset.strict
        if subset.strict:
            return node.get("type") in _SCALARS and "anyOf" not in node
        if not subset.null_in_enum and None in node.get("enum", ()):
            return False
        return not subset.typed or "type" in node or "anyOf" in node


def _listed(value: Any) -> tuple[Any, ...] | list[Any]:
    """The subschemas of a keyword that has a list of them, or one; a boolean that stands alone counts as a flag."""
    return value if is_list(value) else (value,) if is_schema(value) else ()
