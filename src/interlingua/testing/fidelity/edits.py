"""Law 10: changing one canonical leaf changes exactly that place on the wire.

Per record up to `EDITS` leaves are changed, one at a time, chosen by a hash of the record's id among the kinds of leaf
that it has. The wire (body, headers, path) is compared before and after, leaf by leaf. The rule:

- something changed, or a Loss says that the place has no word here;
- a *text* changed one leaf, which says the new text where it said the old one, or holds JSON in which exactly that
  value changed (a call's arguments);
- a *number* changed one leaf, by as much; a usage count may change several, each by as much (totals, further names);
- a *flag* changed one leaf, which is a boolean before and after or comes and goes (under another key, perhaps);
- a *word* of a closed vocabulary changed at most `WORD_LEAVES` leaves;
- neighbours that said the same before and after are echoes of each other and count as one leaf;
- what follows from the edit by the protocol's own rule (`DERIVED`) is left out.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote
from zlib import crc32

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from interlingua.arguments import parse_object
from interlingua.testing.fidelity.tally import Fault, raised
from interlingua.testing.fidelity.trees import ABSENT, brief, differences, is_blank, leaves, pattern, same_scalar, shape
from interlingua.testing.oracles.leaves import is_array, is_object
from interlingua.types.base import Json
from interlingua.types.blocks import ToolUseBlock
from interlingua.types.loss import Encoded

__all__ = ["Edit", "edit_faults", "editable", "put", "show_faults"]

EDITS = 3
WORD_LEAVES = 4
Path: TypeAlias = tuple[str | int, ...]

# Closed vocabularies and what only repeats another field: changing these alone means something else, or nothing.
CLOSED = frozenset({"role", "kind", "mode", "display", "dialect", "raw_stop_reason", "extras"})
# The names of a provider's own tools are its words; their ids pair a call with its result, often in one wire object.
FIXED = frozenset(
    {
        ("ServerToolUseBlock", "name"),
        ("ServerToolUseBlock", "id"),
        ("ServerToolResultBlock", "name"),
        ("ServerToolResultBlock", "tool_use_id"),
    }
)
# Words: what to say instead.
SWAPS: dict[str, dict[str, str]] = {
    "stop_reason": {"end_turn": "max_tokens", "tool_use": "max_tokens", "max_tokens": "end_turn"},
    "effort": {"low": "high", "medium": "high", "high": "low"},
    "detail": {"low": "high", "auto": "low", "high": "low"},
    "ttl": {"5m": "1h", "1h": "5m"},
    "media_type": {"image/png": "image/jpeg", "image/jpeg": "image/png"},
    "service_tier": {},
}
# Texts: what to add, so that ids stay ids and base64 stays base64.
BEFORE = {"data": "AAAA", "signature": "AAAA"}
AFTER = {"name": "_x", "id": "x", "tool_use_id": "x", "file_id": "x", "url": "#x", "model": "-x", "betas": "-x", "allowed": "_x"}
# Numbers that have a range: a value within it.
WITHIN = {"temperature": (0.5, 0.25), "top_p": (0.5, 0.25)}
# By canonical place, what else on the wire follows from it: only streams may have options, strict tools want closed
# objects, a grounded segment repeats the passage that it marks.
DERIVED: dict[str, tuple[str, ...]] = {
    "stream": ("/stream_options",),
    "tools/strict": ("/input_schema", "/parameters", "/inputSchema"),
    "content/citations/start": ("/groundingSupports",),
    "content/citations/end": ("/groundingSupports",),
}
# Of JSON Schemas only prose is changed: another type or bound would be another schema.
SCHEMAS = frozenset({"input_schema", "output_schema"})
PROSE = frozenset({"description", "title"})


class Edit(NamedTuple):
    """One leaf, what it says and what it shall say."""

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
    """The text of arguments that an object says too: the object wins."""
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
        yield Edit(path, "text", value, BEFORE.get(name, "") + value + ("" if name in BEFORE else AFTER.get(name, " edited")))


def chosen(record: str, value: Json) -> Iterator[Edit]:
    """The edits of one record: a few kinds of leaf, one leaf of each."""
    kinds: dict[str, list[Edit]] = {}
    for edit in editable(value):
        kinds.setdefault(kind_of(edit), []).append(edit)
    for kind in sorted(kinds, key=lambda kind: crc32(f"{record} {kind}".encode()))[:EDITS]:
        yield kinds[kind][crc32(record.encode()) % len(kinds[kind])]


def kind_of(edit: Edit) -> str:
    """The kind of place: its path without positions, and not into plain JSON."""
    steps = [str(step) for step in edit.path if isinstance(step, str)]
    ends = [index for index, step in enumerate(steps) if step in {"input", "metadata", "value", "raw", *SCHEMAS}]
    return "/".join(steps[: ends[0] + 1] if ends else steps)


def put(value: Any, path: Path, new: Json) -> Any:
    """A copy of a canonical value with another leaf."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, Struct):
        return replace(value, **{str(step): put(getattr(value, str(step)), rest, new)})
    copy: Any = dict(value) if is_object(value) else list(value)
    copy[step] = put(value[step], rest, new)
    return tuple(copy) if isinstance(value, tuple) else copy


# ------------------------------------------------------------------------------------------------ what must show


def edit_faults(
    record: str, value: Json, say: Callable[[Any], Encoded], encoded: Encoded
) -> Iterator[tuple[str, list[Fault]]]:
    """Each edit of a record, by kind of place, with what is wrong about how it shows."""
    for edit in chosen(record, value):
        try:
            said = say(put(value, edit.path, edit.new))
            faults = show_faults(edit, encoded, said)
        except Exception as error:  # noqa: BLE001 - whatever a dialect raises is a finding
            faults = [raised(error)]
        yield kind_of(edit), faults


def show_faults(edit: Edit, before: Encoded, after: Encoded) -> list[Fault]:
    """What the edit did to the wire that it should not have done, or did not do."""
    changed = own_changes(edit, wire_changes(before, after))
    if not changed:
        return [] if _declared(edit, after) else [Fault(f"{kind_of(edit)} does not show", f"{edit.place}: {brief(edit.new)}")]
    strays = [path for path, (old, new) in changed.items() if not RULES[edit.rule](edit, old, new)]
    if strays and not _declared(edit, after):
        return [Fault(f"{kind_of(edit)} changes {pattern(strays[0])}", _shown(edit, strays[0], changed[strays[0]]))]
    if len(voices(changed)) > most(edit):
        return [Fault(f"{kind_of(edit)} changes {len(changed)} places", f"{edit.place}: {', '.join(changed)}")]
    return []


def own_changes(edit: Edit, changed: dict[str, tuple[Json, Json]]) -> dict[str, tuple[Json, Json]]:
    """The changes without what follows from them: see `DERIVED`; and a new value may need an object to stand in."""
    follows = DERIVED.get(kind_of(edit), ())
    homes = {path.rpartition("/")[0] for path, (_, new) in changed.items() if is_blank(edit.old) and new == edit.new}
    return {
        path: (old, new)
        for path, (old, new) in changed.items()
        if not any(place in path for place in follows)
        and not (old is ABSENT and new != edit.new and path.rpartition("/")[0] in homes)
    }


def _declared(edit: Edit, after: Encoded) -> bool:
    return any(covers(loss.path, edit.place) for loss in after.losses)


def voices(changed: dict[str, tuple[Json, Json]]) -> set[tuple[str, str]]:
    """The changed leaves, echoes taken together: neighbours that say the same, or one that got another name."""
    return {(path.rpartition("/")[0], "".join(sorted(map(repr, change)))) for path, change in changed.items()}


def _shown(edit: Edit, path: str, change: tuple[Json, Json]) -> str:
    return f"{edit.place} -> {brief(edit.new)}; {path}: {brief(change[0])} -> {brief(change[1])}"


def covers(loss: str, path: str) -> bool:
    """Whether a place lies under the path of a Loss."""
    return path == loss or path.startswith(f"{loss}/") or not loss


def most(edit: Edit) -> int:
    """How many leaves of the wire an edit may change."""
    if edit.rule == "word":
        return WORD_LEAVES
    if edit.path == ("model",):
        return 2  # the body and the URL
    return 99 if edit.rule == "number" and edit.path[0] == "usage" else 1


def wire_changes(before: Encoded, after: Encoded) -> dict[str, tuple[Json, Json]]:
    """The leaves of the wire that differ; blanks that only come or go are no leaves."""
    one, other = (
        dict(leaves({"body": said.body, "headers": said.headers, "path": unquote(said.path or "")}))
        for said in (before, after)
    )
    pairs = {path: (one.get(path, ABSENT), other.get(path, ABSENT)) for path in {**one, **other}}
    return {
        path: (old, new)
        for path, (old, new) in pairs.items()
        if not same_scalar(old, new) and not (is_blank(old) and is_blank(new))
    }


def _text(edit: Edit, old: Json, new: Json) -> bool:
    if not isinstance(new, str):
        return False
    if is_blank(old):
        return edit.new in new
    return isinstance(old, str) and any(says(edit, old, new) for says in (_literally, _json, _base64))


def _literally(edit: Edit, old: str, new: str) -> bool:
    return new.replace(edit.new, edit.old, 1) == old


def _base64(edit: Edit, old: str, new: str) -> bool:
    """A text that travels as bytes."""
    try:
        return [binascii.a2b_base64(side) for side in (old, new)] == [edit.old.encode(), edit.new.encode()]
    except ValueError:
        return False


def _json(edit: Edit, old: str, new: str) -> bool:
    """JSON inside a text, in which exactly this value changed."""
    try:
        found = list(differences(msgspec.json.decode(old), msgspec.json.decode(new)))
    except msgspec.DecodeError:
        return False
    return len(found) == 1 and found[0].before == edit.old and found[0].after == edit.new


def _number(edit: Edit, old: Json, new: Json) -> bool:
    old, new = (0 if is_blank(side) else side for side in (old, new))
    if isinstance(old, int | float) and isinstance(new, int | float):
        return abs(abs(new - old) - abs(edit.new - edit.old)) < 1e-9
    return isinstance(old, str) and isinstance(new, str) and _json(edit, old, new)


def _flag(edit: Edit, old: Json, new: Json) -> bool:
    if isinstance(old, str) and isinstance(new, str):
        # A URL says it with another verb, a protocol with another word.
        return _json(edit, old, new) or ("/" in old and "/" in new) or (old + new).isidentifier()
    return ABSENT in (old, new) or all(isinstance(side, bool) or is_blank(side) for side in (old, new))


RULES: dict[str, Callable[[Edit, Json, Json], bool]] = {
    "text": _text,
    "number": _number,
    "flag": _flag,
    "word": lambda edit, old, new: True,
}
