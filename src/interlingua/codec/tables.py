"""The tables a dialect is written in, and the bookkeeping under them. Knows no vendor.

Three ideas carry all dialects:

- **Readers pop.** A reader takes a private copy of a wire object and pops what it knows; what is left is residue
  (``extras``). Blank values of known keys (null, ``""``, ``[]``, ``{}``) are form marks: ``forms[dialect]["blank"]``,
  in the wire's own nesting.
- **Writers say, then merge.** A writer says the canonical fields; ``merge`` then lays blanks and residue under
  them. What was said wins, so an edited field always shows and a stale mark never does.
- **Would-write.** An encoder has one normal way to write each thing. A reader marks only what deviates from it, so
  a value built by hand carries no marks and comes back equal.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from ..types.base import Json, Value
from ..types.blocks import Block, BlockBase, CacheMark, OpaqueBlock
from ..types.loss import LossWeight
from ..types.tools import ToolDefinition
from .json import Wire, is_array, is_list, is_object
from .ledger import Ledger, is_blank

__all__ = [
    "BlockTable",
    "CacheWord",
    "Field",
    "FieldTable",
    "Ledger",
    "Row",
    "Words",
    "blank",
    "blanks",
    "is_blank",
    "is_plain_tool",
    "keep",
    "kept",
    "marks",
    "merge",
    "note_role",
    "own",
    "read_constants",
    "say_constants",
    "sift",
    "take",
    "take_text",
    "with_marks",
]

V = TypeVar("V", bound=Value)
BLANKS: tuple[Json, ...] = (None, "", [], {})


def blank(value: Json) -> bool:
    """Null or an empty string, list or object."""
    return value is None or value == "" or value == [] or value == {}


def take(rest: Wire, key: str, blanks: Wire) -> Json:
    """Pop a known key; a blank value is noted as a form mark and read as None."""
    value = rest.pop(key, blanks)
    if value is blanks:
        return None
    if value is None or value == "" or value == [] or value == {}:
        blanks[key] = value
        return None
    return value


def take_text(rest: Wire, key: str, blanks: Wire) -> str | None:
    """``take`` for what is a string; anything else stays residue."""
    value = take(rest, key, blanks)
    if value is None or type(value) is str:
        return value
    rest[key] = value
    return None


def sift(rest: Wire, blanks: Wire, empty: tuple[Json, ...] = (None,)) -> None:
    """Move values that say nothing from residue to the blanks, in their own nesting; objects left empty go too."""
    for key, value in [*rest.items()]:
        if is_object(value) and value:
            inner = dict(value)
            hollow: Wire = {}
            sift(inner, hollow, empty)
            if hollow:
                blanks[key] = merge(hollow, blanks[key]) if type(blanks.get(key)) is dict else hollow
                rest[key] = inner
                if not inner:
                    del rest[key]
        elif value in empty and type(value) is not bool:
            blanks[key] = rest.pop(key)


def merge(wire: Wire, under: Mapping[str, Json]) -> Wire:
    """Lay residue or blanks under what was said: only absent places are filled. Returns ``wire``."""
    for key, value in under.items():
        if key not in wire:
            wire[key] = value
        else:
            said = wire[key]
            if is_object(said) and is_object(value):
                merge(said, value)
            elif is_array(said) and is_array(value):
                _merge_list(said, value)
    return wire


def _merge_list(said: list[Json], under: list[Json]) -> None:
    for mine, value in zip(said, under, strict=False):
        if is_object(mine) and is_object(value):
            merge(mine, value)
    said.extend(under[len(said) :])


def _fresh(value: Json) -> Json:
    if is_object(value):
        return {key: _fresh(item) for key, item in value.items()}
    return [_fresh(item) for item in value] if is_array(value) else value


def own(dialect: str, wire: Wire, value: Value) -> Wire:
    """Write back what this dialect left on a value: its blanks, then its residue."""
    if value.forms:
        under = value.forms.get(dialect)
        if under and "blank" in under:
            merge(wire, _fresh(under["blank"]))  # residue may be merged into what is put here
    if value.extras:
        residue = value.extras.get(dialect)
        if residue:
            merge(wire, residue)
    return wire


def kept(dialect: str, rest: Wire, forms: Wire, blanks: Wire) -> dict[str, Any]:
    """The ``extras`` and ``forms`` arguments of a value: only what there is to keep."""
    fields: dict[str, Any] = {}
    if rest:
        fields["extras"] = {dialect: rest}
    if blanks:
        forms["blank"] = blanks
    if forms:
        fields["forms"] = {dialect: forms}
    return fields


def keep(dialect: str, rest: Wire, forms: Wire, blanks: Wire) -> tuple[dict[str, Json], dict[str, Json]]:
    """``(extras, forms)`` of a value, as ``kept`` gives them by name."""
    if blanks:
        forms["blank"] = blanks
    return {dialect: rest} if rest else {}, {dialect: forms} if forms else {}


def marks(dialect: str, value: Value) -> Wire:
    """The form marks this dialect left on a value."""
    forms = value.forms
    return forms.get(dialect, _NONE) if forms else _NONE


def with_marks(dialect: str, value: V, **more: Json) -> V:
    """The value with further form marks of this dialect."""
    return replace(value, forms={**value.forms, dialect: {**marks(dialect, value), **more}})


def blanks(dialect: str, value: Value) -> Wire:
    """The blank values this dialect found on a value."""
    found: Wire = marks(dialect, value).get("blank", _NONE)
    return found


_NONE: Wire = {}


def note_role(word: Json, known: Container[Json], rest: Wire) -> None:
    """A role that we do not know is residue, beside the mark that writes it back: other dialects declare it."""
    if word is not None and not (type(word) is str and word in known):
        rest["role"] = word


def read_constants(rest: Wire, forms: Wire, constants: Wire) -> None:
    """Pop keys that always say the same; a missing one is marked, another value is left to be residue."""
    for key, value in constants.items():
        if key not in rest:
            forms.setdefault("absent", []).append(key)
        elif rest[key] == value:
            del rest[key]


def say_constants(wire: Wire, forms: Wire, constants: Wire) -> None:
    """Write what always says the same, unless residue says otherwise or the wire lacked it. Comes after ``own``."""
    absent = forms.get("absent", ())
    for key, value in constants.items():
        if key not in wire and key not in absent:
            wire[key] = value


def is_plain_tool(tool: ToolDefinition) -> bool:
    """A tool that says nothing but its name, description and schema: nearly all of them."""
    return not (tool.extras or tool.forms or tool.cache or tool.strict is not None or tool.kind != "json")


class Row(NamedTuple):
    """One phrase: a canonical block, its wire tag, how to say it and how to read it.

    ``say(block, ledger)`` gives the wire fields without the tag, or None after declaring a loss. ``read(rest)`` pops
    what it knows and gives the fields of the block, or None if this is not such a block after all.
    """

    canonical: type[BlockBase]
    tag: str
    say: Callable[[Any, Ledger], Wire | None]
    read: Callable[[Wire], dict[str, Any] | None]
    signs: bool = False
    """The row says and reads ``signature`` itself."""


class CacheWord(NamedTuple):
    """How a dialect marks a cache point on a block."""

    key: str
    say: Callable[[CacheMark, Ledger], Wire | None]
    read: Callable[[Json], CacheMark | None]


class BlockTable:
    """The phrase book of a dialect's blocks. What it does not know is carried whole.

    A block is tagged by its ``type`` field, or (``tagged="key"``) by a key of its own, as in ``{"text": …}``: then a
    row's fields include that key. ``signature`` names the wire key of a signature that any block may carry.
    """

    def __init__(
        self,
        dialect: str,
        *rows: Row,
        cache: CacheWord | None = None,
        tagged: str = "type",
        signature: str | None = None,
    ) -> None:
        self.dialect = dialect
        self.cache = cache
        self.signature = signature
        self.by_key = tagged == "key"
        self._by_tag = {row.tag: row for row in rows}
        self._by_type: dict[type, Row] = {}
        for row in rows:
            self._by_type.setdefault(row.canonical, row)

    def decode(self, wire: Json) -> Block:
        """Read one block. A malformed or unknown one comes through as an OpaqueBlock, whole."""
        try:
            rest = dict(wire)
            row = self._by_tag[next(key for key in rest if key in self._by_tag) if self.by_key else rest.pop("type")]
            fields = row.read(rest)
        except (KeyError, TypeError, ValueError, AttributeError, StopIteration):
            return OpaqueBlock(dialect=self.dialect, raw=wire)
        if fields is None:
            return OpaqueBlock(dialect=self.dialect, raw=wire)
        if self.cache is not None and self.cache.key in rest:
            mark = self.cache.read(rest[self.cache.key])
            if mark is not None:
                del rest[self.cache.key]
                fields["cache"] = mark
        if self.signature in rest and isinstance(rest[self.signature], str):
            fields["signature"] = rest.pop(self.signature)
        if rest:
            fields["extras"] = {self.dialect: rest}
        return row.canonical(**fields)  # type: ignore[return-value]

    def knows(self, block: Block) -> bool:
        """Whether there is a word for such a block."""
        if isinstance(block, OpaqueBlock):
            return block.dialect == self.dialect
        return type(block) in self._by_type

    def encode(self, block: Block, ledger: Ledger) -> Wire | None:
        """Say one block, or declare that there is no word for it."""
        if type(block) is OpaqueBlock:
            return self._opaque(block, ledger)
        row = self._by_type.get(type(block))
        if row is None:
            ledger.lose("dropped", f"{self.dialect} has no {block.type} blocks")
            return None
        fields = row.say(block, ledger)
        if fields is None:
            return None
        wire = fields if self.by_key else {"type": row.tag, **fields}
        self._attributes(block, row, wire, ledger)
        return wire

    def _attributes(self, block: Block, row: Row, wire: Wire, ledger: Ledger) -> None:
        if block.signature is not None and self.signature is not None:
            wire[self.signature] = block.signature
        elif block.signature is not None and not row.signs:
            ledger.lose(
                "dropped", f"{block.type} blocks of {self.dialect} have no signature", "signature", weight="state"
            )
        if block.cache is not None:
            self.say_cache(block.cache, wire, ledger)
        if block.forms or block.extras:
            own(self.dialect, wire, block)
            ledger.foreign(block, self.dialect)

    def say_cache(self, mark: CacheMark, wire: Wire, ledger: Ledger) -> None:
        """Write a cache mark on a wire object, or declare that it cannot be written."""
        said = self.cache.say(mark, ledger) if self.cache is not None else None
        if self.cache is None:
            ledger.lose("dropped", f"{self.dialect} has no cache marks", "cache")
        elif said is not None:
            wire[self.cache.key] = own(self.dialect, said, mark)
            ledger.foreign(mark, self.dialect, "cache")

    def _opaque(self, block: OpaqueBlock, ledger: Ledger) -> Wire | None:
        if block.dialect != self.dialect:
            ledger.opaque(block)
            return None
        for name in ("signature", "cache"):
            if getattr(block, name) is not None:
                ledger.lose("dropped", "a block that is sent as it was read takes no marks", name)
        raw: Wire = block.raw
        return dict(raw) if type(raw) is dict else raw


class Field(NamedTuple):
    """One scalar parameter. ``wire`` is None where the dialect has no word for it: using it is a Loss."""

    canonical: str
    wire: str | None
    types: tuple[type, ...] = (object,)
    weight: LossWeight = "content"
    """Of the loss, where there is no word."""


class FieldTable:
    """Parameters that are the same value under another name."""

    def __init__(self, dialect: str, *fields: Field) -> None:
        self.dialect = dialect
        self.fields = fields
        self._readable = [(f.canonical, f.wire, f.types) for f in fields if f.wire is not None]

    def decode(self, rest: Wire, into: dict[str, Any], blanks: Wire) -> None:
        """Pop what the table knows; a value of another type than ours is left to be residue."""
        for canonical, wire, types in self._readable:
            if wire in rest:
                value = rest[wire]
                if value is None or value == []:
                    blanks[wire] = rest.pop(wire)
                elif is_list(value) and not all(type(item) is str for item in value):
                    continue  # a list of anything else than strings is residue
                elif isinstance(value, types) and (type(value) is not bool or bool in types):
                    into[canonical] = tuple(rest.pop(wire)) if isinstance(value, list) else rest.pop(wire)

    def encode(self, value: Value, wire: Wire, ledger: Ledger) -> None:
        """Say what is set."""
        for field in self.fields:
            said = getattr(value, field.canonical)
            if said is None or said == () or said == {}:
                continue
            if field.wire is None:
                ledger.lose(
                    "dropped", f"{self.dialect} has no `{field.canonical}`", field.canonical, weight=field.weight
                )
            else:
                wire[field.wire] = [*said] if type(said) is tuple else said


K = TypeVar("K")


class Words(Generic[K]):
    """A small two-way vocabulary. The first wire word listed for a canonical one is what we write."""

    def __init__(self, pairs: Iterable[tuple[str, K]]) -> None:
        self.read: dict[str, K] = dict(pairs)
        self.write: dict[K, str] = {}
        for wire, canonical in self.read.items():
            self.write.setdefault(canonical, wire)
