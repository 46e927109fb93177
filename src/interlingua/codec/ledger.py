"""The ledger collects the losses of a translation, each with a path, a reason and a weight. It knows no vendor.

Residue (``extras``) and blocks that another dialect carried whole are not translated; the weight of their loss follows
from their keys and values on the wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from msgspec.structs import replace

from ..types.base import Json, Value
from ..types.blocks import Block, OpaqueBlock
from ..types.loss import Loss, LossKind, LossWeight
from ..types.tools import ServerTool
from .json import Wire, is_dict, is_list, is_object
from .tools.ids import IdMap

__all__ = ["Ledger", "is_blank", "weigh"]

# Residue of a request, and types of blocks, that refer to state which a server keeps.
KEPT_BY_SERVER = frozenset(
    "previous_response_id conversation prompt thread thread_id store container cachedContent cached_content context"
    " item_reference compaction container_upload".split()
)
# Residue of a block that a model does not see: names that a server gave, and the state of an item.
LABELS = frozenset(("id", "status", "index", "item"))
# Residue of an answer that the model did not write: notes of the server about its own work.
NOTES = frozenset(("created", "system_fingerprint", "timings"))
# Parameters and residue whose value here means the same as leaving them out.
DEFAULTS: Wire = {
    "n": 1,
    "candidateCount": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "logprobs": False,
    "top_logprobs": 0,
    "json_output": False,
    "strict": False,
    "parallel": True,
    "prefix": False,
}
# Fields whose loss depends on their value.
VARYING = frozenset(("role", *DEFAULTS))
PLAIN = frozenset({str, int, float, bool})
T = TypeVar("T")
QUOTED = 60
"""How many characters of a name are quoted: a wire may have a long text in its place, which must not fill a log."""
FEW = 8
"""Fewer losses than this are searched one by one."""
NAMED = 4
"""How many fields a reason names at most."""


class Ledger:
    """Collects losses. ``where`` is the place being encoded; loops set it, so a path is built only when needed.

    Encoders may also append to ``losses``, and remove what was appended last.
    """

    __slots__ = ("_places", "ids", "losses", "where")

    def __init__(self) -> None:
        self.losses: list[Loss] = []
        self._places: dict[Loss, int] = {}  # the index in ``losses`` of each loss that was looked up, in order
        self.where: tuple[str | int, ...] = ()
        self.ids: IdMap | None = None
        """The ids that the calls of this request get; None if the protocol accepts every id."""

    def lose(self, kind: LossKind, reason: str, *path: str | int, weight: LossWeight | None = None) -> None:
        """Declare a loss at ``path`` below the current place. The default weight is content; state for a signature."""
        if weight is None:
            weight = "state" if kind == "dropped" and path and path[-1] == "signature" else "content"
        loss = Loss("/".join(map(str, (*self.where, *path))), kind, reason, weight)
        if not self._has(loss):
            self.losses.append(loss)

    def _has(self, loss: Loss) -> bool:
        """``loss in self.losses``, without a search: thousands of losses would be compared with each other."""
        losses, places = self.losses, self._places
        if len(losses) < FEW:
            return loss in losses
        start = 0
        while places:
            latest, place = next(reversed(places.items()))
            if place < len(losses) and losses[place] is latest:
                start = place + 1
                break
            del places[latest]  # it was removed from ``losses``
        for place in range(start, len(losses)):
            places.setdefault(losses[place], place)
        return loss in places

    def lose_form(self, kind: LossKind, reason: str, *path: str | int) -> None:
        """Declare a loss of weight form: only a comparison of bytes would show it."""
        self.lose(kind, reason, *path, weight="form")

    def each(self, placed: Iterable[tuple[int, T]], *path: str | int) -> Iterator[tuple[int, T]]:
        """Yield values with their indexes, and set ``where`` to each in turn, ``path`` below the current place."""
        where = self.where
        for index, value in placed:
            self.where = (*where, *path, index)
            yield index, value
        self.where = where

    def lose_foreign_extras(self, value: Value, dialect: str, *path: str | int) -> None:
        """Declare the residue of other dialects in a value: it is not translated."""
        for name, residue in value.extras.items():
            if name != dialect:
                for key, lost in residue.items():
                    if not is_blank(lost):
                        loss = _lost_residue((*self.where, *path), name, key, lost)
                        if not self._has(loss):
                            self.losses.append(loss)

    def lose_opaque(self, block: OpaqueBlock) -> None:
        """Declare a block that another dialect carried whole. The loss of an empty one has the weight form."""
        raw: Json = block.raw
        held = {key: raw[key] for key in raw if key not in ("type", "role", "id")} if is_object(raw) else raw
        word = str(raw.get("type") or next(iter(raw), "")) if is_object(raw) else type(raw).__name__
        weight: LossWeight = "state" if word in KEPT_BY_SERVER else "form" if is_blank(held) else "content"
        reason = f"`{word[:QUOTED]}` is a block of {block.dialect} that interlingua does not translate; it was left out"
        self.lose("dropped", reason, weight=weight)

    def lift(self, count: int) -> None:
        """Give the losses after the first ``count`` the current place: nothing of the value there is written."""
        path = "/".join(map(str, self.where))
        lifted = [replace(loss, path=path) for loss in self.losses[count:]]
        del self.losses[count:]
        self.losses += [loss for index, loss in enumerate(lifted) if loss not in lifted[:index]]

    def drop_parts(self, count: int) -> None:
        """Remove the losses of parts after the first ``count``, if one says that the whole value is left out."""
        path = "/".join(map(str, self.where))
        if whole := [loss for loss in self.losses[count:] if loss.path == path]:
            self.losses[count:] = whole

    def relocate(self, count: int, places: Mapping[str, str]) -> None:
        """Give the losses after the first ``count`` the caller's paths: they were found in a value that was regrouped.

        ``places`` maps the paths in that value to the caller's paths, where they differ.
        """
        self.losses[count:] = [replace(loss, path=_relocated(loss.path, places)) for loss in self.losses[count:]]

    def untranslated(self, value: OpaqueBlock | ServerTool, dialect: str) -> None:
        """Declare a block or tool that another dialect carried whole."""
        if isinstance(value, OpaqueBlock):
            self.lose_opaque(value)
        else:
            self.lose("dropped", f"a hosted tool of {value.dialect} that is not translated to {dialect}")

    def lose_from_system(self, block: Block, dialect: str) -> None:
        """Declare a block of the system prompt that is not text."""
        if type(block) is OpaqueBlock:
            self.lose_opaque(block)
        else:
            self.lose("dropped", f"{dialect} takes only text in a system prompt")


def _relocated(path: str, places: Mapping[str, str]) -> str:
    steps = path.split("/")
    for end in range(len(steps), 0, -1):
        place = places.get("/".join(steps[:end]))
        if place is not None:
            return "/".join([place, *steps[end:]])
    return path


def _lost_residue(place: tuple[str | int, ...], dialect: str, key: str, value: Json) -> Loss:
    """The loss of a field of another dialect at ``place``, which is empty for a whole request or response."""
    if not place and key not in VARYING and len(key) <= QUOTED:
        if type(value) in PLAIN:
            return _lost_field(dialect, key)
        if is_object(value) and _is_flat(value):
            return _lost_field(dialect, key, *value)
    path = "/".join(map(str, (*place, "extras", dialect, key)))
    return Loss(path, "dropped", _untranslated(dialect, key, value), _weight(key, value, whole=not place))


def _is_flat(value: Wire) -> bool:
    """Whether an object holds a few plain values, none of them blank, whose loss depends on their keys alone."""
    held = value.values()
    is_plain = 0 < len(value) <= FEW and PLAIN.issuperset(map(type, held)) and "" not in held
    return is_plain and VARYING.isdisjoint(value) and max(map(len, value)) <= QUOTED


@lru_cache(maxsize=256)
def _lost_field(dialect: str, key: str, *inner: str) -> Loss:
    """The loss of a plain value of a whole answer, or of an object of such values under the keys ``inner``; cached,
    because the same fields are lost in every answer of a provider."""
    value = dict.fromkeys(inner, True) if inner else True
    reason, weight = _untranslated(dialect, key, value), _weight(key, value, whole=True)
    return Loss(f"extras/{dialect}/{key}", "dropped", reason, weight)


def _untranslated(dialect: str, key: str, value: Json) -> str:
    if key == "role":
        return f"{dialect} had the role {str(value)[:QUOTED]!r} here, which interlingua does not know; sent as user"
    if not is_object(value):
        return _one_untranslated(dialect, key[:QUOTED])
    fields = list(_fields(key, value))
    named = ", ".join(f"`{field[:QUOTED]}`" for field in fields[:NAMED])
    more = f" and {len(fields) - NAMED} more" if len(fields) > NAMED else ""
    if len(fields) == 1:
        return _one_untranslated(dialect, fields[0][:QUOTED])
    return f"{named}{more} are fields of {dialect} that interlingua does not translate; they were left out"


@lru_cache(maxsize=256)
def _one_untranslated(dialect: str, field: str) -> str:
    return f"`{field}` is a field of {dialect} that interlingua does not translate; it was left out"


def _fields(key: str, value: Json, depth: int = 2) -> Iterator[str]:
    """The dotted paths of the values in residue, at most ``depth`` levels below the key; blank values are skipped."""
    if depth and is_object(value) and value:
        for inner, held in value.items():
            if not is_blank(held):
                yield from (f"{key}.{field}" for field in _fields(inner, held, depth - 1))
    else:
        yield key


def _weight(key: str, value: Json, *, whole: bool) -> LossWeight:
    """The weight of lost residue. ``whole``: it belongs to a request or a response, not to a block."""
    if whole and key in KEPT_BY_SERVER:
        return "state"
    if whole and key in NOTES:
        return "form"
    if is_object(value) and value:
        return "form" if all(_weight(k, v, whole=whole) == "form" for k, v in value.items()) else "content"
    by_default = key in DEFAULTS and value == DEFAULTS[key]
    return "form" if by_default or is_blank(value) or (key in LABELS and not whole) else "content"


def weigh(name: str, value: Any, weight: LossWeight) -> LossWeight:
    """The weight of a lost parameter: form if it had its default value, otherwise ``weight``."""
    return "form" if name in DEFAULTS and value == DEFAULTS[name] else weight


def is_blank(value: Json) -> bool:
    """Whether a value is null, an empty string, or holds nothing but such values."""
    if value is None or type(value) in PLAIN:
        return value is None or value == ""
    if is_dict(value):
        return all(map(is_blank, value.values()))
    return is_list(value) and all(map(is_blank, value))
