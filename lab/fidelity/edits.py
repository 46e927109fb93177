"""The edits of law 10: which canonical leaves can be changed alone, and to what. The check is in ``shows.py``.

In each record up to `EDITS` leaves are changed, one at a time, chosen by a hash of the record's id among the kinds of
leaf that it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from interlingua.codec.tools.arguments import parse_object
from interlingua.testing.examples import PARAMETERS, UNKNOWN_WORD
from interlingua.types.base import Json
from interlingua.types.blocks import ToolUseBlock
from interlingua.types.response import Response
from lab.fidelity.trees import shape
from lab.oracles.leaves import is_array, is_object

__all__ = ["Edit", "chosen", "editable", "kind_of", "put"]

EDITS = 4
Path: TypeAlias = tuple[str | int, ...]

# Closed vocabularies, and fields that repeat another one: changing one of these alone means something else, or nothing.
CLOSED = frozenset({"role", "kind", "mode", "display", "dialect", "raw_stop_reason", "extras", "incomplete"})
# The names of hosted tools are words of the provider; their ids pair a call with its result, often in one wire object.
FIXED = frozenset(
    {
        ("ServerToolUseBlock", "name"),
        ("ServerToolUseBlock", "id"),
        ("ServerToolResultBlock", "name"),
        ("ServerToolResultBlock", "tool_use_id"),
    }
)


def _another(words: Sequence[str]) -> dict[str, str]:
    """The next word for each word, and the first for the last."""
    return dict(zip(words, (*words[1:], words[0]), strict=True))


# Words: the new word for each.
SWAPS: dict[str, dict[str, str]] = {
    "stop_reason": {"end_turn": "max_tokens", "tool_use": "max_tokens", "max_tokens": "end_turn"},
    "effort": {"low": "high", "medium": "high", "high": "low"},
    "detail": {"low": "high", "auto": "low", "high": "low"},
    "ttl": {"5m": "1h", "1h": "5m"},
    "media_type": {"image/png": "image/jpeg", "image/jpeg": "image/png"},
    **{name: _another(words[:-1]) for name, words in PARAMETERS.items() if words[-1] == UNKNOWN_WORD},
    "service_tier": {},
}
# Texts: what to add before or after them, so that ids stay ids and base64 stays base64.
BEFORE = {"data": "AAAA", "signature": "AAAA"}
AFTER = {
    "name": "_x",
    "id": "x",
    "tool_use_id": "x",
    "file_id": "x",
    "url": "#x",
    "model": "-x",
    "output_name": "-x",
    "betas": "-x",
    "allowed": "_x",
}
# Numbers with a range: two values within it.
SHARES = ("temperature", "top_p", "frequency_penalty", "presence_penalty")
WITHIN: dict[str, tuple[float, float]] = dict.fromkeys(SHARES, (0.5, 0.25))
# In JSON Schemas only prose is changed: another type or bound would be another schema.
SCHEMAS = frozenset({"input_schema", "output_schema"})
PROSE = frozenset({"description", "title"})


class Edit(NamedTuple):
    """A leaf, its old value and its new one."""

    path: Path
    rule: str
    old: Json
    new: Json

    @property
    def place(self) -> str:
        return "/".join(map(str, self.path))


# ------------------------------------------------------------------------------------------------ what can be edited


def editable(value: Json, path: Path = ()) -> Iterator[Edit]:
    """Every leaf of a canonical value that can be changed alone."""
    if isinstance(value, Struct):
        for name, _ in shape(type(value))[1]:
            if name not in CLOSED and not _stale(value, name) and (type(value).__name__, name) not in FIXED:
                yield from editable(getattr(value, name), (*path, name))
    elif isinstance(value, tuple):
        for index, item in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            yield from editable(item, (*path, index))
    elif is_object(value) or is_array(value):
        yield from _inside(value, path)
    else:
        yield from _leaf(value, path)


def _stale(value: Struct, name: str) -> bool:
    """Whether changing a field has no effect or more than one: the text of arguments that are an object, too, and the
    stop reason of an answer with an unfinished call."""
    if name == "stop_reason" and isinstance(value, Response):
        return any(block.incomplete for block in value.content)  # for another reason the call would be left out
    if name != "input_text" or not isinstance(value, ToolUseBlock):
        return False
    return value.kind == "json" and parse_object(value.input_text or "") is not None


def _inside(value: Json, path: Path) -> Iterator[Edit]:
    """The leaves of plain JSON inside a canonical value."""
    if is_object(value) or is_array(value):
        for key, child in value.items() if is_object(value) else enumerate(value):
            yield from _inside(child, (*path, key))
    elif path[-1] != "type" and (not SCHEMAS.intersection(path) or (path[-1] in PROSE and isinstance(value, str))):
        yield from _leaf(value, path)


def _leaf(value: Json, path: Path) -> Iterator[Edit]:
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    if isinstance(value, bool):
        yield Edit(path, "flag", value, not value)
    elif isinstance(value, int | float):
        one, other = WITHIN.get(name, (value + 1, value + 2))
        yield Edit(path, "number", value, one if one != value else other)
    elif name in SWAPS:
        if value in SWAPS[name]:
            yield Edit(path, "word", value, SWAPS[name][value])
    elif isinstance(value, str):
        yield Edit(
            path, "text", value, BEFORE.get(name, "") + value + ("" if name in BEFORE else AFTER.get(name, " edited"))
        )


def chosen(record: str, value: Json) -> Iterator[Edit]:
    """The edits of one record: one leaf for each of a few kinds."""
    kinds: dict[str, list[Edit]] = {}
    for edit in editable(value):
        kinds.setdefault(kind_of(edit), []).append(edit)
    for kind in sorted(kinds, key=lambda kind: crc32(f"{record} {kind}".encode()))[:EDITS]:
        yield kinds[kind][crc32(record.encode()) % len(kinds[kind])]


def kind_of(edit: Edit) -> str:
    """The kind of a leaf: its path without indexes, and without steps inside plain JSON."""
    steps = [str(step) for step in edit.path if isinstance(step, str)]
    ends = [index for index, step in enumerate(steps) if step in {"input", "metadata", "value", "raw", *SCHEMAS}]
    return "/".join(steps[: ends[0] + 1] if ends else steps)


def put(value: Any, path: Path, new: Json) -> Any:
    """A copy of a canonical value with a new value at a path."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, Struct):
        return replace(value, **{str(step): put(getattr(value, str(step)), rest, new)})
    copy: Any = {**value} if is_object(value) else [*value]
    copy[step] = put(copy[step], rest, new)
    return tuple(copy) if isinstance(value, tuple) else copy
