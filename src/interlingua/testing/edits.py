"""Single edits of a request, for law 10: what was changed, and whether the wire shows it."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from interlingua.codec.json import is_array, is_object
from interlingua.types import Json, Request

__all__ = ["Edit", "Node", "changed_nodes", "edits"]

WORD = "edit7919"
DATA = "RURJVDc5MTk0"  # base64, of whole quanta: it may be appended to data without padding
NUMBER = 79190  # more than any budget inside it
SHARE = 0.4242

# Fields whose value an encoder writes unchanged. Ids and names are at several places at once and are not edited; an
# edit inside residue, marks, schemas or opaque payloads is not an edit of a canonical field.
TEXTS = ("text", "description", "title", "context", "filename", "user_id", "model")
NUMBERS = ("max_output_tokens", "top_k", "seed")
SHARES = ("temperature", "top_p")
CLOSED = ("extras", "forms", "raw", "input_schema", "output_schema", "origin", "annotations")
FREE = ("input", "value")


class Edit(NamedTuple):
    """A request with one thing changed."""

    path: str
    value: Request
    mark: str

    def shows_in(self, place: Json) -> bool:
        """Whether a place on the wire holds the new value, also inside base64 data."""
        return self.mark in msgspec.json.encode(place).decode() or any(self.mark in text for text in _decoded(place))


class Node(NamedTuple):
    """A place where two wires differ."""

    path: str
    before: Json
    after: Json


def edits(request: Request) -> Iterator[Edit]:
    """The request with each of its editable fields changed, one at a time."""
    tree = msgspec.json.decode(msgspec.json.encode(request))
    for path, new in _leaves(tree, (), free=False):
        if path[-1] == "title" and _documents(tree) > 1:
            continue  # some protocols require distinct names, so one title changes another
        yield Edit("/".join(map(str, path)), msgspec.convert(_replaced(tree, path, new), Request), _mark(new))


def _documents(tree: Json) -> int:
    if is_object(tree):
        return (tree.get("type") == "document") + _documents(list(tree.values()))
    return sum(map(_documents, tree)) if is_array(tree) else 0


def _mark(new: Json) -> str:
    return str(new) if not isinstance(new, str) else WORD if WORD in new else DATA


def _leaves(tree: Json, path: tuple[Any, ...], *, free: bool) -> Iterator[tuple[tuple[Any, ...], Json]]:
    if is_object(tree):
        for key, value in tree.items():
            if key not in CLOSED or free:
                yield from _leaves(value, (*path, key), free=free or key in FREE)
    elif is_array(tree):
        for index, value in enumerate(tree):
            yield from _leaves(value, (*path, index), free=free)
    elif (new := _edited(path, tree, free=free)) is not None:
        yield path, new


def _edited(path: tuple[Any, ...], value: Json, *, free: bool) -> Json:
    key = next((step for step in reversed(path) if isinstance(step, str)), "")
    if isinstance(value, str) and value and (free or key in TEXTS or key == "stop_sequences"):
        return value + WORD
    if isinstance(value, str) and key == "url" and value.startswith("https://"):
        return value.replace("https://", f"https://{WORD}.", 1)
    if isinstance(value, str) and key == "data" and value and not value.endswith("="):
        return value + DATA
    if type(value) is int and (free or key in NUMBERS):
        return NUMBER if value != NUMBER else NUMBER + 1
    if key in SHARES and not free:
        return SHARE if value != SHARE else 1 - SHARE
    return None


def _replaced(tree: Json, path: tuple[Any, ...], new: Json) -> Json:
    if not path:
        return new
    step, *rest = path
    copy: Any = dict(tree) if is_object(tree) else list(tree)
    copy[step] = _replaced(tree[step], tuple(rest), new)
    return copy


def _decoded(place: Json) -> Iterator[str]:
    """The decoded texts of the base64 data at a place."""
    if is_object(place):
        place = list(place.values())
    if is_array(place):
        for inner in place:
            yield from _decoded(inner)
    elif isinstance(place, str):
        with suppress(ValueError):
            yield b64decode(place.rpartition(",")[2]).decode("utf-8", "replace")


def changed_nodes(before: Json, after: Json, path: str = "") -> list[Node]:
    """The smallest places where two JSON values differ; objects with other keys and lists of other length are one."""
    if before == after:
        return []
    pairs: list[tuple[Any, Any, Any]] = []
    if is_object(before) and is_object(after) and before.keys() == after.keys():
        pairs = [(key, before[key], after[key]) for key in before]
    elif is_array(before) and is_array(after) and len(before) == len(after):
        pairs = [(index, *pair) for index, pair in enumerate(zip(before, after, strict=True))]
    if not pairs:
        return [Node(path, before, after)]
    return [node for key, old, new in pairs for node in changed_nodes(old, new, f"{path}/{key}")]
