"""Law 10: changing one canonical leaf changes exactly that place on the wire.

The wire (body, headers, path) is compared before and after an edit, leaf by leaf. The rule:

- something changed, or a Loss says that the dialect cannot express the place;
- a *text* changed one leaf, which has the new text in place of the old one, or holds JSON in which exactly that value
  changed (a call's arguments), or holds it as base64;
- a *number* changed one leaf, by the same amount; a usage count may change several, each by the same amount (totals,
  further names);
- a *flag* changed one leaf, which is a boolean or a word before and after, or appears or disappears (perhaps under
  another key);
- a *word* of a closed vocabulary changed at most `WORD_LEAVES` leaves;
- the model may be in the body and in the URL;
- neighbours that are equal before and after are echoes of each other and count as one leaf;
- a value that was not on the wire before may bring the object that holds it;
- a *citation* may change everything on the wire about itself and its neighbours, and nothing else;
- what follows from the edit by the protocol's own rule (`DERIVED`) is ignored.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias
from urllib.parse import unquote

import msgspec

from interlingua.types.base import Json
from interlingua.types.loss import Encoded
from lab.fidelity.edits import Edit, chosen, kind_of, put
from lab.fidelity.tally import Fault, raised
from lab.fidelity.trees import ABSENT, brief, covers, differences, is_blank, leaves, pattern, same_scalar

__all__ = ["edit_faults", "show_faults"]

WORD_LEAVES = 4
MANY = 99
Changes: TypeAlias = dict[str, tuple[Json, Json]]
"""The values of the changed leaves of the wire before and after, by path."""

# By canonical place, the places on the wire that change with it: only streams may have options, strict tools want
# closed objects.
DERIVED: dict[str, tuple[str, ...]] = {
    "stream": ("/stream_options",),
    "logprobs": ("top_logprobs", "generationConfig/logprobs"),
    "tools/strict": ("/input_schema", "/parameters", "/inputSchema"),
}
CITED = ("citation", "annotation", "grounding")
"""Where protocols keep citations: some count bytes, repeat the passage, and gather those of one passage."""


def edit_faults(
    record: str, value: Json, say: Callable[[Any], Encoded], encoded: Encoded
) -> Iterator[tuple[str, list[Fault]]]:
    """The kind of each edit of a record, with the faults of how it shows on the wire."""
    for edit in chosen(record, value):
        try:
            faults = show_faults(edit, encoded, say(put(value, edit.path, edit.new)))
        except Exception as error:  # noqa: BLE001 - whatever a dialect raises is a finding
            faults = [raised(error)]
        yield kind_of(edit), faults


def show_faults(edit: Edit, before: Encoded, after: Encoded) -> list[Fault]:
    """A fault if the edit does not show on the wire, or changes it where it should not."""
    changed = own_changes(edit, wire_changes(before, after))
    if not changed:
        unseen = Fault(f"{kind_of(edit)} does not show", f"{edit.place}: {brief(edit.new)}")
        return [] if _declared(edit, after) else [unseen]
    if "citations" in edit.path:
        strays = [path for path in changed if not any(word in path.lower() for word in CITED)]
    else:
        strays = [path for path, (old, new) in changed.items() if not RULES[edit.rule](edit, old, new)]
    if strays and not _declared(edit, after):
        return [Fault(f"{kind_of(edit)} changes {pattern(strays[0])}", _shown(edit, strays[0], changed[strays[0]]))]
    if len(voices(changed)) > most(edit):
        return [Fault(f"{kind_of(edit)} changes {len(changed)} places", f"{edit.place}: {', '.join(changed)}")]
    return []


def own_changes(edit: Edit, changed: Changes) -> Changes:
    """The changes without those that follow from them: see `DERIVED`, and objects that a new value needs around it."""
    follows = DERIVED.get(kind_of(edit), ())
    homes = {path.rpartition("/")[0] for path, (old, new) in changed.items() if is_blank(old) and new == edit.new}
    return {
        path: (old, new)
        for path, (old, new) in changed.items()
        if not any(place in path for place in follows)
        and not (old is ABSENT and new != edit.new and path.rpartition("/")[0] in homes)
    }


def _declared(edit: Edit, after: Encoded) -> bool:
    return any(covers(loss.path, edit.place) for loss in after.losses)


def voices(changed: Changes) -> set[tuple[str, str]]:
    """The changed leaves without echoes: neighbours with the same change count once, as does a move to another key."""
    gone, came = (sorted(repr(c[side]) for c in changed.values() if c[1 - side] is ABSENT) for side in (0, 1))
    if gone and gone == came:
        changed = {path: change for path, change in changed.items() if ABSENT not in change} | {"": (gone, came)}
    return {(path.rpartition("/")[0], repr(change)) for path, change in changed.items()}


def _shown(edit: Edit, path: str, change: tuple[Json, Json]) -> str:
    return f"{edit.place} -> {brief(edit.new)}; {path}: {brief(change[0])} -> {brief(change[1])}"


def most(edit: Edit) -> int:
    """How many leaves of the wire an edit may change."""
    if edit.rule == "word":
        return WORD_LEAVES
    if edit.path == ("model",):
        return 2  # the body and the URL
    return MANY if "citations" in edit.path or (edit.rule == "number" and edit.path[0] == "usage") else 1


def wire_changes(before: Encoded, after: Encoded) -> Changes:
    """The leaves of the wire that differ; a blank that appears or disappears is no change."""
    one, other = (
        dict(leaves({"body": side.body, "headers": side.headers, "path": unquote(side.path or "")}))
        for side in (before, after)
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
    return isinstance(old, str) and any(shows(edit, old, new) for shows in (_literally, _json, _base64))


def _literally(edit: Edit, old: str, new: str) -> bool:
    return new.replace(edit.new, edit.old, 1) == old


def _base64(edit: Edit, old: str, new: str) -> bool:
    """Whether base64 data changed from the old text to the new one."""
    try:
        return [binascii.a2b_base64(side) for side in (old, new)] == [edit.old.encode(), edit.new.encode()]
    except ValueError:
        return False


def _json(edit: Edit, old: str, new: str) -> bool:
    """Whether JSON inside a text changed in exactly this value."""
    try:
        found = list(differences(msgspec.json.decode(old), msgspec.json.decode(new)))
    except msgspec.DecodeError:
        return False
    return len(found) == 1 and found[0].before == edit.old and found[0].after == edit.new


def _number(edit: Edit, old: Json, new: Json) -> bool:
    if old is ABSENT and new == edit.new:
        return True
    old, new = (0 if is_blank(side) else side for side in (old, new))
    if isinstance(old, int | float) and isinstance(new, int | float):
        return bool(abs(abs(new - old) - abs(edit.new - edit.old)) < 1e-9)
    return isinstance(old, str) and isinstance(new, str) and _json(edit, old, new)


def _flag(edit: Edit, old: Json, new: Json) -> bool:
    if isinstance(old, str) and isinstance(new, str):
        # A URL has another verb, a protocol another word.
        return _json(edit, old, new) or ("/" in old and "/" in new) or (old + new).isidentifier()
    return ABSENT in (old, new) or all(isinstance(side, bool) or is_blank(side) for side in (old, new))


RULES: dict[str, Callable[[Edit, Json, Json], bool]] = {
    "text": _text,
    "number": _number,
    "flag": _flag,
    "word": lambda edit, old, new: True,
}
