"""Kinds: how one field of a row travels between its canonical value and the wire.

``read`` and ``write`` define what a kind means; the interpreter in ``row`` uses them. ``emit_read`` and ``emit_write``
are the same as source code for the usual case, for ``compiler``; code that meets anything unusual gives up (``fail``),
and the interpreter decides. By default that code calls the two. Kinds of frequent fields have faster code of their own,
and a property test compares it with ``read`` and ``write``.

``read`` returns ``REFUSED`` for a wire value that this kind cannot hold: a required field then makes the whole value
unreadable, an optional one stays residue. ``write`` returns ``OMIT`` to leave the key out, after declaring the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...types.base import Json
from ...types.blocks import TextBlock
from ..json import is_array
from ..ledger import Ledger
from ..paths import Sentinel
from .plain_text import is_one_text, is_plain_text, plain_condition

if TYPE_CHECKING:
    from .source import Source
    from .table import Table

__all__ = [
    "ANY",
    "BOOL",
    "COUNT",
    "INT",
    "NUMBER",
    "OBJECT",
    "OMIT",
    "REFUSED",
    "STRINGS",
    "TEXT",
    "FunctionKind",
    "Each",
    "Kind",
    "Negated",
    "One",
    "Plain",
    "Strings",
    "Texts",
    "Typed",
    "Vocabulary",
]

REFUSED = Sentinel("REFUSED")
OMIT = Sentinel("OMIT")


class Kind:
    """The base: any JSON value, the same on both sides.

    ``blank`` is the empty wire value that means nothing where the field is optional.
    """

    blank: Json = None
    rejects_none = omits = False
    """Whether the compiled reader gives up on null by itself; whether the writer may return ``OMIT``, for no key."""
    name = "anything"

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        """Return the canonical value, or ``REFUSED``. What must be remembered about the shape is added to ``marks``."""
        return wire

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        """Return the wire value, or ``OMIT`` after declaring a loss."""
        return value

    def is_usual(self, value: Any, wire: Json) -> bool:
        """Whether ``wire`` is how we would write this value."""
        return bool(self.write(value, Ledger(), {}) == wire)

    def emit_read(self, source: Source, var: str) -> None:
        """Add code that turns the wire value in ``var`` into the canonical one, or gives up."""
        source.line(f"{var} = {source.bind(self._read_usual)}({var})")
        source.fail_if(f"{var} is REFUSED")

    def emit_write(self, source: Source, var: str) -> None:
        """Add code that turns the canonical value in ``var`` into the wire value, or gives up."""
        source.line(f"{var} = {source.bind(self._write_usual)}({var}, marks)")
        source.fail_if(f"{var} is OMIT")

    def _read_usual(self, wire: Json) -> Any:
        marks: dict[str, Json] = {}
        value = self.read(wire, marks)
        return REFUSED if value is REFUSED or marks or not self.is_usual(value, wire) else value

    def _write_usual(self, value: Any, marks: Mapping[str, Json]) -> Json:
        ledger = Ledger()
        wire = self.write(value, ledger, marks)
        return OMIT if ledger.losses else wire


class Anything(Kind):
    """Any JSON value, the same on both sides."""

    def is_usual(self, value: Any, wire: Json) -> bool:
        return True

    def emit_read(self, source: Source, var: str) -> None:
        pass

    def emit_write(self, source: Source, var: str) -> None:
        pass


class Typed(Kind):
    """A JSON value of some exact types."""

    rejects_none = True

    def __init__(self, name: str, *types: type, blank: Json = None) -> None:
        self.name, self.types, self.blank = name, types, blank

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return wire if type(wire) in self.types else REFUSED


class Plain(Typed):
    """A JSON value of some exact types, the same on both sides."""

    def is_usual(self, value: Any, wire: Json) -> bool:
        return True

    def emit_read(self, source: Source, var: str) -> None:
        if len(self.types) == 1:
            source.fail_if(f"type({var}) is not {self.types[0].__name__}")
        else:
            source.fail_if(f"type({var}) not in {source.bind(self.types)}")

    def emit_write(self, source: Source, var: str) -> None:
        pass


ANY = Anything()
TEXT = Plain("a string", str, blank="")
INT = Plain("an integer", int)
NUMBER = Plain("a number", int, float)
BOOL = Plain("a boolean", bool)
OBJECT = Plain("an object", dict)


class Count(Plain):
    """A number of tokens: an integer that is not negative."""

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return wire if type(wire) is int and wire >= 0 else REFUSED

    def emit_read(self, source: Source, var: str) -> None:
        source.fail_if(f"type({var}) is not int or {var} < 0")


COUNT = Count("a count", int)


class Strings(Kind):
    """A list of strings, kept as a tuple."""

    blank: Json = []
    rejects_none = True
    name = "an array of strings"

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        if not is_array(wire) or not all(type(item) is str for item in wire):
            return REFUSED
        return tuple(wire)

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        return [*value]


STRINGS = Strings()


class Negated(Kind):
    """A boolean with the opposite meaning on the wire: our true is their false."""

    rejects_none = True
    name = "a boolean"

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return not wire if type(wire) is bool else REFUSED

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        return not value


class Vocabulary(Kind):
    """A small two-way vocabulary: wire words and what they mean. The first word listed for a meaning is written.

    A meaning without a word is a loss with ``reason`` (``{}`` is the meaning); ``nearest`` is written instead, if set.
    """

    rejects_none = True
    name = "a string"

    def __init__(self, words: Mapping[str, Any], reason: str = "", nearest: str | None = None) -> None:
        self.reads = dict(words)
        self.writes: dict[Any, str] = {}
        for word, meaning in words.items():
            self.writes.setdefault(meaning, word)
        self.reason, self.nearest = reason, nearest

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return self.reads.get(wire, REFUSED) if type(wire) is str else REFUSED

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        word = self.writes.get(value)
        if word is not None:
            return word
        ledger.lose("dropped" if self.nearest is None else "approximated", self.reason.format(value))
        return OMIT if self.nearest is None else self.nearest

    def emit_read(self, source: Source, var: str) -> None:
        source.fail_if(f"type({var}) is not str")
        source.line(f"word, {var} = {var}, {source.bind(self.reads)}.get({var}, REFUSED)")
        source.fail_if(f"{var} is REFUSED or {source.bind(self.writes)}[{var}] != word")

    def emit_write(self, source: Source, var: str) -> None:
        source.line(f"{var} = {source.bind(self.writes)}.get({var}, REFUSED)")
        source.fail_if(f"{var} is REFUSED")


class One(Kind):
    """One value that a table reads and writes."""

    name = "an object"

    def __init__(self, table: Table) -> None:
        self.table = table

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return self.table.interpret_read(wire)

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        wire = self.table.interpret_write(value, ledger)
        return OMIT if wire is None else wire

    def is_usual(self, value: Any, wire: Json) -> bool:
        return True  # the value remembers its own spelling

    def emit_read(self, source: Source, var: str) -> None:
        source.line(f"{var} = {source.bind(self.table.read)}({var})")
        source.fail_if(f"{var} is REFUSED")

    def emit_write(self, source: Source, var: str) -> None:
        source.line(f"{var} = {source.bind(self.table.writers)}[type({var})]({var})")
        source.fail_if(f"{var} is None")


class Each(Kind):
    """A list of values that a table reads and writes, kept as a tuple. Values that cannot be written are left out.

    A list that becomes empty by that is left out too, unless it may be ``empty``.
    """

    blank: Json = []
    rejects_none = True
    name = "an array of objects"

    def __init__(self, table: Table, *, empty: bool = False) -> None:
        self.table, self.empty = table, empty

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        if not is_array(wire):
            return REFUSED
        values = tuple(map(self.table.interpret_read, wire))
        return REFUSED if any(value is REFUSED for value in values) else values

    def is_usual(self, value: Any, wire: Json) -> bool:
        return True  # each value remembers its own spelling

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        written = self.write_each(value, ledger)
        return written if written or self.empty else OMIT

    def write_each(self, values: Sequence[Any], ledger: Ledger) -> list[Json]:
        """The wire objects of the values that can be written; losses are declared at the index of each."""
        where = ledger.where
        written: list[Json] = []
        for index, value in enumerate(values):
            ledger.where = (*where, index)
            wire = self.table.interpret_write(value, ledger)
            if wire is not None or self.table.is_null(value):
                written.append(wire)
        ledger.where = where
        return written

    def emit_read(self, source: Source, var: str) -> None:
        source.fail_if(f"type({var}) is not list" + ("" if self.empty else f" or not {var}"))
        source.line(f"{var} = tuple([{source.bind(self.table.read)}(item) for item in {var}])")
        if not self.table.reads_all:
            source.fail_if(f"REFUSED in {var}")

    def emit_write(self, source: Source, var: str) -> None:
        source.line(f"{var}, items = [], {var}")  # for a few items a comprehension costs more
        source.line("for item in items:")
        source.line(f"    item = {source.bind(self.table.writers)}[type(item)](item)")
        source.line(f"    if item is None: {source.fail}")
        source.line(f"    {var}.append(item)")


class Texts(Each):
    """A list of blocks, or a string for one plain text. The mark ``content`` remembers which of both it was.

    ``usual`` is what one plain text is written as without that mark.
    """

    mark = "content"
    name = "a string or an array of objects"

    def __init__(self, table: Table, usual: str = "list") -> None:
        super().__init__(table)
        self.usual = usual
        if usual == "string":
            self.blank = ""

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        if type(wire) is str:
            if self.usual == "list":
                marks[self.mark] = "string"
            return (TextBlock(wire),)
        values = super().read(wire, marks)
        if values is not REFUSED and (mark := self.list_mark(values)) is not None:
            marks[self.mark] = mark
        return values

    def list_mark(self, values: Sequence[Any]) -> str | None:
        """The mark of a list that would be written as a string because it holds one text; None for other lists."""
        return "list" if self.usual == "string" and is_one_text(values) else None

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        if marks.get(self.mark, self.usual) == "string" and self._is_string(value):
            return value[0].text
        return super().write(value, ledger, marks)

    def _is_string(self, value: Any) -> bool:
        return len(value) == 1 and is_plain_text(value[0]) and (self.usual == "list" or bool(value[0].text))

    def emit_read(self, source: Source, var: str) -> None:
        source.line(f"if type({var}) is str and {var}:")
        source.line(f"    {var} = ({source.bind(TextBlock)}({var}),)")
        if self.usual == "list":
            source.line(f"    {source.shape(self.mark)} = 'string'")
        source.line("else:")
        source.depth += 1
        super().emit_read(source, var)
        if self.usual == "string":
            source.line(f"{source.shape(self.mark)} = {source.bind(self.list_mark)}({var})")
        source.depth -= 1

    def emit_write(self, source: Source, var: str) -> None:
        marked = source.is_marked(self.mark, "string", self.usual)
        if marked == "False":
            super().emit_write(source, var)
            return
        filled = " and block.text" if self.usual == "string" else ""
        source.line(f"if {marked} and len({var}) == 1 and {plain_condition('block', f'{var}[0]', source)}{filled}:")
        source.line(f"    {var} = block.text")
        source.line("else:")
        source.depth += 1
        super().emit_write(source, var)
        source.depth -= 1


class FunctionKind(Kind):
    """A kind made of two functions. ``read`` returns ``REFUSED`` or the value, ``write`` the wire value or ``OMIT``.

    What is read and would be written otherwise keeps its spelling, as with every kind. ``usual`` tells whether a wire
    value is what would be written, without writing it. ``blank`` is a wire value that means nothing.
    """

    def __init__(
        self,
        read: Callable[[Json], Any],
        write: Callable[[Any, Ledger], Json],
        *,
        name: str = "anything",
        usual: Callable[[Json], bool] | None = None,
        blank: Json = None,
    ) -> None:
        self._read, self._write, self.name, self._usual, self.blank = read, write, name, usual, blank

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return self._read(wire)

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        return self._write(value, ledger)

    def is_usual(self, value: Any, wire: Json) -> bool:
        return self._usual(wire) if self._usual is not None else bool(self._write(value, Ledger()) == wire)
