"""Rewriting a schema into a ``Subset``, from the top down, with a sentence for every change.

A change that keeps the meaning is made. One that only loosens it (a bound, a condition) also moves the keywords into
the description. One that would lose or invent values is an obstacle, and a schema with an obstacle cannot be strict.
"""

from collections.abc import Iterable, Set
from functools import cached_property
from typing import Any

from interlingua.codec.schema.conjoin import UNIONS, alternatives, conjoined, direct_refs, is_guidance, lone_reference
from interlingua.codec.schema.freeform import free_forms
from interlingua.codec.schema.nulls import or_null
from interlingua.codec.schema.refs import hoisted, recursive_refs
from interlingua.codec.schema.subsets import Subset
from interlingua.codec.schema.survey import Survey
from interlingua.codec.schema.walk import (
    ASSERTIONS,
    PLACES,
    Schema,
    branches_of,
    declared_types,
    is_schema,
    malformed,
    map_subschemas,
    properties_of,
    required_of,
    resolve,
    step,
    type_of,
    types_of,
    well_formed,
)
from interlingua.codec.schema.wording import RETITLED, described, folded, needs_no_mention, retitled

# Definitions that use each other twice, as a stranger may write them, would double at every level.
MOST_COPIES = 1000


class Rewriter:
    """One pass over one schema. ``changes`` and ``obstacles`` are sentences that begin with a JSON pointer."""

    def __init__(self, root: Schema, subset: Subset) -> None:
        self.subset = subset
        self.changes: list[str] = []
        self.obstacles: list[str] = []
        self._copies = 0
        survey = Survey(root, subset)
        if not survey.sound:
            for place in malformed(root):
                self._changed(place, "dropped, for it does not have the shape of its keyword")
            root = well_formed(root)
            survey = Survey(root, subset)
        self.root, moves = hoisted(root, subset.definition_keys, survey.refs)
        self._settled: Set[int] = frozenset() if moves else survey.settled
        self._plain: Set[int] = frozenset() if moves else survey.plain
        for old, new in moves.items():
            self._changed("#", f"moved {old} to {new}" if new else f"dropped {old}, which names nothing in this schema")
            if new is None:
                self._obstacle("#", f"{old} names nothing in this schema")

    @cached_property
    def _recursive(self) -> frozenset[str]:
        return recursive_refs(self.root)

    def rewritten(self) -> Schema:
        root = self.root
        if "$ref" in root and (copy := conjoined(root, self.root)) is not None:
            self._changed("#", f"replaced by a copy of {root['$ref']}, for the root must be an object")
            root = copy
        rewritten: Schema = self._schema(root, "#", frozenset())
        if self.subset.strict and types_of(rewritten) != ("object",):
            self._obstacle("#", "the root is not an object")
        return rewritten

    def _changed(self, at: str, what: str) -> None:
        self.changes.append(f"{at}: {what}")

    def _obstacle(self, at: str, why: str) -> None:
        if self.subset.strict:
            self.obstacles.append(f"{at}: cannot be strict: {why}")

    # ------------------------------------------------------------------------------------------------- one schema

    def _schema(self, node: object, at: str, trail: frozenset[str]) -> Any:
        """Rewrite a schema and all below it. ``trail`` holds the references that were replaced by copies around it."""
        if id(node) in self._settled:
            return node
        if not is_schema(node):
            self._obstacle(at, "a boolean schema has no type")
            self._changed(at, "a boolean schema said in words")
            return {"description": "(never valid)"} if node is False else {}
        if id(node) not in self._plain:
            node = self._nullable(node, at)
            if "$ref" in node or "allOf" in node:
                node, trail = self._resolved(node, at, trail)
                if "$ref" in node:
                    return node
                node = self._nullable(node, at)
            node = self._limited(self._reworded(node, at), at)
            if self.subset.strict:
                node = self._closed(node, at)
        if not PLACES.isdisjoint(node):
            node = map_subschemas(node, lambda child, place: self._schema(child, place, trail), at, self._settled)
        return self._all_required(node, at) if self.subset.all_required else node

    def _resolved(self, node: Schema, at: str, trail: frozenset[str]) -> tuple[Schema, frozenset[str]]:
        """Copy a reference unless it stands alone: vendors refuse or ignore keywords beside it, and know no `allOf`."""
        node = lone_reference(node)
        ref = node.get("$ref")
        if ref is not None and not self.subset.recursive and ref in self._recursive:
            self._obstacle(at, f"{ref} is recursive")
        if ref is not None and self.subset.references:
            if len(node) == 1:
                return node, trail
            if ref in self._recursive and not (node.keys() & ASSERTIONS) - {"$ref"}:
                self._changed(at, "wrapped $ref in anyOf, for nothing may stand beside it")
                return {"anyOf": [{"$ref": ref}], **{key: node[key] for key in node if key != "$ref"}}, trail
        return self._copied(node, at, trail) if ref is not None or "allOf" in node else (node, trail)

    def _copied(self, node: Schema, at: str, trail: frozenset[str]) -> tuple[Schema, frozenset[str]]:
        ref = node.get("$ref")
        self._copies += 1
        if ref in trail or (ref is not None and self._copies > MOST_COPIES):
            return self._cut_off(node, at), trail
        if (joined := conjoined(node, self.root, trail)) is not None and self._copies <= MOST_COPIES:
            self._changed(at, f"replaced by a copy of {ref}" if ref else "merged the parts of allOf")
            own = {key: value for key, value in joined.items() if key not in ("$defs", "definitions") or key in node}
            return own, trail | direct_refs(node)
        if ref is None:
            self._obstacle(at, "the parts of allOf cannot be merged")
            return self._folded(node, at, ["allOf"]), trail
        self._obstacle(at, f"{ref} cannot be merged with what stands beside it")
        rest = {key: value for key, value in node.items() if key != "$ref"}
        if words := [word for word in rest if word in ASSERTIONS]:
            rest = self._folded(rest, at, words)
        return self._copied({**(resolve(ref, self.root) or {}), **rest}, at, trail | {ref})

    def _cut_off(self, node: Schema, at: str) -> Schema:
        ref = node["$ref"]
        self._obstacle(at, f"copies of {ref} would not end")
        self._changed(at, f"cut off {ref}, whose copies would not end")
        target = resolve(ref, self.root) or {}
        types = {"type": target["type"]} if "type" in target else {}
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return described({**types, **rest}, f"(again {ref.rpartition('/')[2]}, as above)")

    def _reworded(self, node: Schema, at: str) -> Schema:
        """``node`` with keywords that the subset lacks replaced by others that mean the same."""
        subset = self.subset
        if "anyOf" in node or "oneOf" in node:
            node = self._unions(node, at)
        if "const" in node and "const" not in subset.keywords:
            node = self._constant(node, at)
        if not subset.null_in_enum:
            node = self._null_in_enum(node, at)
        return self._typed(node, at) if subset.typed else node

    def _nullable(self, node: Schema, at: str) -> Schema:
        """Replace `nullable`, OpenAPI's keyword for null. JSON Schema ignores it, but its author meant it."""
        if "nullable" not in node:
            return node
        self._changed(at, "nullable said as type null" if node["nullable"] is True else "dropped nullable")
        plain = {key: value for key, value in node.items() if key != "nullable"}
        return or_null(plain, self.root) if node["nullable"] is True else plain

    def _unions(self, node: Schema, at: str) -> Schema:
        present = [word for word in UNIONS if word in node]
        if self.subset.strict and alternatives(node, self.root) is None:
            return self._guidance(node, at, present)
        if self.subset.strict and at == "#":
            self._obstacle(at, f"{present[0]} at the root")
        if self.subset.strict and "type" in node:
            self._changed(at, "dropped type, which the branches state again")
            node = {key: value for key, value in node.items() if key != "type"}
        if "oneOf" in node and "oneOf" not in self.subset.keywords:
            if "anyOf" in node:
                return self._folded(node, at, ["oneOf"])
            self._changed(at, "oneOf said as anyOf")
            node = {("anyOf" if key == "oneOf" else key): value for key, value in node.items()}
        return node

    def _guidance(self, node: Schema, at: str, present: list[str]) -> Schema:
        """Move a union that stands beside properties into the description: a grammar cannot express it."""
        names = set(properties_of(node))
        if not all(is_guidance(branch, names) for word in present for branch in branches_of(node, word)):
            self._obstacle(at, f"{present[0]} adds to what stands beside it")
        return self._folded(node, at, present)

    def _constant(self, node: Schema, at: str) -> Schema:
        self._changed(at, "const said as enum")
        return {**{key: value for key, value in node.items() if key not in ("const", "enum")}, "enum": [node["const"]]}

    def _null_in_enum(self, node: Schema, at: str) -> Schema:
        values = [value for value in branches_of(node, "enum") if value is not None]
        if len(values) == len(branches_of(node, "enum")):
            return node
        self._changed(at, "null moved from enum to a type of its own")
        rest = {key: value for key, value in node.items() if key not in ("type", "enum")}
        if not values:
            return {**rest, "type": "null"}
        types = dict.fromkeys(type_of(value) for value in values)
        return or_null({**rest, "type": _one_or_list(types), "enum": values}, self.root)

    def _typed(self, node: Schema, at: str) -> Schema:
        if declared_types(node) or "anyOf" in node or "$ref" in node:
            return node
        if not (types := types_of(node)):
            self._obstacle(at, "it has no type and so accepts anything")
            return node
        self._changed(at, f"named the type {' or '.join(types)}")
        return {"type": _one_or_list(types), **node}

    # ------------------------------------------------------------------------------------- keywords it does not take

    def _limited(self, node: Schema, at: str) -> Schema:
        """Keep the keywords of the subset only; others that a model should know are folded into the description."""
        for why in free_forms(node, at == "#") if self.subset.strict else ():
            self._obstacle(at, why)
        keywords, accepts = self.subset.keywords, self.subset.accepts
        dropped: list[str] = []
        mentioned: list[str] = []
        for word, value in node.items():
            if word not in keywords or (word in accepts and not accepts[word](value, node)):
                (dropped if needs_no_mention(word, value) else mentioned).append(word)
        if (named := retitled(node, dropped, at)) is not node:
            self._changed(at, RETITLED)
            node = named
        if dropped:
            if reported := [word for word in dropped if word not in ("$defs", "definitions")]:
                self._changed(at, f"dropped {', '.join(reported)}")
            node = {key: value for key, value in node.items() if key not in dropped}
        return self._folded(node, at, mentioned) if mentioned else node

    def _folded(self, node: Schema, at: str, words: list[str]) -> Schema:
        self._changed(at, f"folded {', '.join(words)} into the description")
        return folded(node, words)

    # ------------------------------------------------------------------------------------------------------ objects

    def _closed(self, node: Schema, at: str) -> Schema:
        if "object" not in types_of(node):
            return node
        if node.get("additionalProperties") is False and "properties" in node:
            return node
        self._changed(at, "closed: no other properties")
        return {**node, "properties": properties_of(node), "additionalProperties": False}

    def _all_required(self, node: Schema, at: str) -> Schema:
        if "object" not in types_of(node):
            return node
        names, required = properties_of(node), required_of(node)
        if "required" in node and names.keys() <= set(required):
            return node
        properties = {
            name: or_null(child, self.root) if name not in required and is_schema(child) else child
            for name, child in names.items()
        }
        for name in (name for name in names if name not in required):
            was_nullable = properties[name] is names[name]
            self._changed(step(at, "properties", name), "required" if was_nullable else "required; null if left out")
        if not names:
            self._changed(at, "required stated, though empty")
        return {**node, "properties": properties, "required": list(names)}


def _one_or_list(types: Iterable[str]) -> str | list[str]:
    names = list(types)
    return names[0] if len(names) == 1 else names
