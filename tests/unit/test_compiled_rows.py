"""Rows that are compiled: the code says what the interpreter says, for what is usual and for near misses of it.

The table here says nothing like our own names, so that code which writes a struct instead of wire would show.
"""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from interlingua import (
    CacheMark,
    FileSource,
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ToolDefinition,
    ToolUseBlock,
    UrlSource,
)
from interlingua.codec.ledger import Ledger
from interlingua.codec.rows.kinds import BOOL, OBJECT, OMIT, REFUSED, One, Vocabulary
from interlingua.codec.rows.row import Row, Rule, fill, lost, may, must, null
from interlingua.codec.rows.table import Frame, Table
from interlingua.codec.rows.together import Group, Together
from interlingua.codec.rules import drop
from interlingua.codec.tools.arguments import arguments_at

NAME = "rows"
Json = Any


class Picture(Group):
    """A source by URL or by id."""

    def read(self, found: dict[str, Json], marks: dict[str, Json]) -> Any:
        if len(found) != 1 or type(next(iter(found.values()))) is not str:
            return REFUSED
        return (UrlSource(found.pop("at")),) if "at" in found else (FileSource(found.pop("file"), dialect=NAME),)

    def write(self, values: Any, ledger: Ledger, marks: Any) -> Any:
        if isinstance(values[0], UrlSource):
            return {"at": values[0].url}
        if isinstance(values[0], FileSource):
            return {"file": values[0].file_id}
        ledger.lose("dropped", "no data")
        return OMIT


def add_flag(tool: ToolDefinition, ledger: Ledger) -> ToolDefinition:
    ledger.lose_form("added", "a flag", "strict")
    return replace(tool, strict=False)


MARKS = Table(NAME, "mode", Row(CacheMark, "here", ttl=may("for", Vocabulary({"long": "1h", "longer": "1h"}))))
FLAGGED = Rule("strict", lambda tool: tool.strict is not None, add_flag, "{}.strict is not None")
NO_SIGN = lost("nothing is signed", "state")
EVERY: dict[str, Any] = {"cache": may("keep", One(MARKS)), "signature": NO_SIGN}
BLOCKS = Table(
    NAME,
    "is",
    Row(
        TextBlock, "words", Rule("text", lambda block: bool(block.text), drop("empty"), "{}.text"),
        constants={"tokens": [], "count": 0}, accepts={"lang": "en", "n": 1}, text=must("says"), elsewhere="citations",
    ),
    Row(ImageBlock, "picture", Together("source", "at file", Picture(), required=True), detail=fill("look", "auto")),
    Row(ToolUseBlock, "calls", arguments_at("with"), fixed={"kind": "json"}, constants={"state": "done"}, id="number",
        name="what"),
    Row(ToolUseBlock, "asks", fixed={"kind": "text"}, id="number", name="what", input_text=must("with"),
        elsewhere="input"),
    carrier=OpaqueBlock,
    **EVERY,
)  # fmt: skip
TOOLS = Table(
    NAME,
    "is",
    Row(ToolDefinition, "tool", FLAGGED, fixed={"kind": "json"}, name="called", description=may("about"),
        input_schema=may("takes", OBJECT), strict=may("exact"), cache=lost("no caches")),
    Row(ToolDefinition, "free", fixed={"kind": "text"}, name="called", description=null("about"),
        input_schema=lost("no schema"), strict=lost("no flag"), cache=lost("no caches")),
)  # fmt: skip
SHELF = Frame(
    NAME,
    Row(ToolDefinition, None, constants={"is": "shelf", "since": 0}, accepts={"old": True}, name=fill("called", ""),
        strict=may("exact", BOOL), elsewhere="description input_schema cache kind"),
)  # fmt: skip

WIRES: list[Json] = [
    {"is": "words", "says": "hi", "tokens": [], "count": 0},
    {"is": "words", "says": "hi", "tokens": [], "count": 0, "keep": {"mode": "here", "for": "long"}, "lang": "en"},
    {"is": "picture", "at": "u", "look": "auto"},
    {"is": "picture", "at": "u", "look": "close", "keep": {"mode": "here"}},
    {"is": "picture", "file": "f", "look": "auto"},
    {"is": "calls", "number": "c", "what": "f", "with": '{"a":1}', "state": "done"},
    {"is": "calls", "number": "c", "what": "f", "with": "{}", "state": "done", "more": 1},
    {"is": "asks", "number": "c", "what": "f", "with": "x"},
]
TOOL_WIRES: list[Json] = [
    {"is": "tool", "called": "f", "about": "it", "takes": {"type": "object"}, "exact": True},
    {"is": "tool", "called": "f", "about": "it", "takes": {}},
    {"is": "free", "called": "f", "about": "it"},
]
ODD: list[Json] = [None, "", "x", "auto", "en", 0, 1, 0.0, True, False, [], ["x"], {}, {"a": 1}, '{ "a": 1}']
KEYS = "says about tokens count lang n at file look with state keep takes exact new".split()


def near_misses(wires: list[Json]) -> list[Json]:
    """Each object as it is, without each of its keys, and with each odd value in each place."""
    found: list[Json] = [*wires, None, "x", 1, [], {}, {"is": None}, {"is": "new"}]
    for wire in wires:
        found += [{key: value for key, value in wire.items() if key != left} for left in wire]
        found += [{**wire, key: odd} for key, odd in itertools.product({*wire, *KEYS}, ODD)]
    return found


def text(value: Json) -> Json:
    """A value as JSON text, which tells True from 1; ``forms`` and ``extras`` included."""
    return "refused" if value is REFUSED else msgspec.json.encode(value, order="sorted")


@pytest.mark.parametrize(("table", "wires"), [(BLOCKS, WIRES), (TOOLS, TOOL_WIRES)])
def test_compiled_code_reads_what_the_interpreter_reads(table: Table, wires: list[Json]) -> None:
    for wire in near_misses(wires):
        assert text(table.read(wire)) == text(table.interpret_read(wire)), wire


@pytest.mark.parametrize(("table", "wires"), [(BLOCKS, WIRES), (TOOLS, TOOL_WIRES)])
def test_what_was_read_is_written_back(table: Table, wires: list[Json]) -> None:
    for wire in near_misses(wires):
        value = table.read(wire)
        if value is not REFUSED:
            ledger = Ledger()
            assert text(table.interpret_write(value, ledger)) == text(wire)
            assert ledger.losses == []


@pytest.mark.parametrize(("table", "wires"), [(BLOCKS, WIRES), (TOOLS, TOOL_WIRES)])
def test_compiled_code_writes_what_the_interpreter_writes(table: Table, wires: list[Json]) -> None:
    values = [table.read(wire) for wire in near_misses(wires)]
    for value in values:
        usual = None if value is REFUSED else table.write_usual(value)
        if usual is not None:
            ledger = Ledger()
            assert text(usual) == text(table.interpret_write(value, ledger))
            assert ledger.losses == []


EDITS: list[dict[str, Any]] = [
    {"text": "new"}, {"text": ""}, {"detail": "low"}, {"detail": None}, {"source": FileSource("g")},
    {"input": {"b": 2}}, {"input_text": "y"}, {"kind": "text"}, {"signature": "s"}, {"strict": None},
    {"strict": False}, {"input_schema": {"type": "object"}}, {"description": None}, {"extras": {"other": {"x": 1}}},
]  # fmt: skip


@pytest.mark.parametrize(("table", "wires"), [(BLOCKS, WIRES), (TOOLS, TOOL_WIRES)])
def test_edits_are_written_the_same_way(table: Table, wires: list[Json]) -> None:
    values = [value for wire in near_misses(wires) if (value := table.read(wire)) is not REFUSED]
    for value, edit in itertools.product(values, EDITS):
        if not set(edit) <= set(type(value).__struct_fields__):
            continue
        edited = replace(value, **edit)
        usual, ledger = table.write_usual(edited), Ledger()
        assert usual is None or text(usual) == text(table.interpret_write(edited, ledger))
        assert usual is None or ledger.losses == []


def test_what_is_frequent_is_compiled() -> None:
    """Keys that are left out, keys that say nothing, and values that break a rule do not need the interpreter."""
    for table, wire in (
        (BLOCKS, {"is": "words", "says": "hi"}),
        (BLOCKS, {"is": "words", "says": "hi", "tokens": [], "count": 3, "lang": "en"}),
        (BLOCKS, {"is": "words", "says": ""}),
        (BLOCKS, {"is": "picture", "at": "u"}),
        (BLOCKS, {"is": "calls", "number": "c", "what": "f", "with": "{}"}),
        (TOOLS, {"is": "tool", "called": "f"}),
    ):
        assert table.write_usual(table.read(wire)) == wire


def test_a_frame_takes_what_the_interpreter_takes() -> None:
    wires = [{"is": "shelf", "since": 0, "called": "f"}, {"is": "shelf", "since": 12, "exact": True, "x": 1}]
    keys = ("is", "since", "called", "exact", "old", "x")
    wires += [{key: value for key, value in wire.items() if key != left} for wire in wires for left in wire]
    wires += [{**wire, key: odd} for wire in wires[:2] for key, odd in itertools.product(keys, ODD)]
    for wire in wires:
        fields, rest, marks = SHELF.take(wire)
        meant, *left = SHELF.row.take_apart(wire)
        assert (fields, rest, marks) == (meant, *left), wire


def test_lists_that_are_written_belong_to_nobody_else() -> None:
    for written in (BLOCKS.write_usual(TextBlock("a")), BLOCKS.interpret_write(TextBlock("a"), Ledger())):
        written["tokens"].append("x")
    assert BLOCKS.write_usual(TextBlock("a"))["tokens"] == []
    assert BLOCKS.interpret_write(TextBlock("a"), Ledger())["tokens"] == []


STYLES = Table(NAME, None, Row(ToolUseBlock, None, id="i", name="n", input=may("w", OBJECT),
    kind=fill("s", "plain", Vocabulary({"plain": "json", "free": "text", "custom": "text"})),
    input_text=lost("no text"), signature=lost("unsigned"), cache=lost("not cached")))  # fmt: skip


@pytest.mark.parametrize("style", ["plain", "free", "custom", None, 7])
def test_a_synonym_of_a_key_that_is_always_written_is_kept(style: Any) -> None:
    wire = {"i": "1", "n": "t", "s": style}
    value = STYLES.read(wire)
    assert value == STYLES.interpret_read(wire)
    assert STYLES.write(value, Ledger()) == STYLES.interpret_write(value, Ledger()) == wire
    edited = replace(value, kind="text" if value.kind == "json" else "json")
    assert STYLES.write(edited, Ledger()) == STYLES.interpret_write(edited, Ledger())
