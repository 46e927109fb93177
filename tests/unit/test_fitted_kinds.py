"""Kinds that fit a value, keys that are accepted inside of objects, lists that may be empty."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.codec.ledger import Ledger
from interlingua.codec.marks import kept
from interlingua.codec.rows.fitted_kinds import AtLeast, Bounded, FilledStrings, Suffixed
from interlingua.codec.rows.kinds import ANY, Each
from interlingua.codec.rows.row import OFF_WIRE, Row, fill, lost, may, must
from interlingua.codec.rows.table import Frame, Table
from interlingua.types import (
    OpaqueBlock,
    Request,
    ServerToolResultBlock,
    TextBlock,
    ToolChoice,
    ToolResultBlock,
    ToolUseBlock,
)

HERE = "toy"
SAID = {"max_output_tokens", "temperature", "top_p", "stop_sequences"}
NAMES = " ".join(name for name in Request.__struct_fields__ if name not in SAID | OFF_WIRE)
PARAMS = Frame(HERE, Row(Request, None,
    max_output_tokens=may("limits.most", Bounded("an integer", int, least=1, reason="the nearest is {}")),
    temperature=may("limits.heat", Bounded("a number", int, float, least=0, most=1, reason="the nearest is {}")),
    top_p=may("limits.share"), stop_sequences=may("stop", FilledStrings("no empty ones")), elsewhere=NAMES,
))  # fmt: skip


@pytest.mark.parametrize(
    "wire",
    [
        {"limits": {"most": 5, "heat": 0.5}, "stop": ["a"]},
        {"limits": {"most": 0, "heat": 1.5}, "stop": ["", "a"]},
        {"limits": {"most": -1, "heat": None}, "stop": [""]},
        {"limits": {"most": True, "heat": "hot"}, "stop": []},
    ],
)
def test_what_lies_outside_is_written_back_as_it_came(wire: Any) -> None:
    fields, rest, marks = PARAMS.take(wire)
    assert (fields, rest, marks) == PARAMS.interpret_take(wire)
    request = Request(**fields, **kept(PARAMS.table.dialect, rest, marks))
    ledger = Ledger()
    written = PARAMS.put(request, ledger)
    for key, value in rest.items():
        written[key] = {**value, **written.get(key, {})}
    assert (written, ledger.losses) == (wire, [])


def test_what_others_made_is_fitted() -> None:
    ledger = Ledger()
    request = Request(max_output_tokens=0, temperature=2, stop_sequences=("", "a"))
    assert PARAMS.put(request, ledger) == {"limits": {"most": 1, "heat": 1}, "stop": ["a"]}
    assert [(loss.kind, loss.path, loss.weight) for loss in ledger.losses] == [
        ("approximated", "max_output_tokens", "content"),
        ("approximated", "temperature", "content"),
        ("approximated", "stop_sequences", "form"),
    ]
    assert PARAMS.put(Request(stop_sequences=("",)), ledger) == {}


INNER = Table(HERE, "sort", Row(TextBlock, "words", text="said", citations=lost("no"), signature=lost("no")),
              carrier=OpaqueBlock, cache=lost("a mark goes behind the whole", "form", "moved"))  # fmt: skip
BLOCKS = Table(HERE, Table.KEY,
    Row(TextBlock, "cited", text=fill("cited.pieces", [{"t": ""}], default=""), citations=lost("no")),
    Row(ToolUseBlock, "call", accepts={"call.type": "tool"}, ignores={"call.state": "done"}, id="call.id",
        name="call.name", input=may("call.input"), elsewhere="kind input_text"),
    Row(ToolResultBlock, "gave", tool_use_id="gave.id", content=must("gave.content", Each(INNER, empty=True)),
        elsewhere="name is_error"),
    Row(ServerToolResultBlock, "found", constants={"found.by": "us"}, tool_use_id="found.id",
        name=must("found.type", Suffixed("_found")), content=must("found.content", ANY), elsewhere="is_error dialect"),
    carrier=OpaqueBlock, cache=lost("no"), signature=lost("no"),
)  # fmt: skip


@pytest.mark.parametrize(
    "wire",
    [
        {"call": {"id": "1", "name": "f"}},
        {"call": {"id": "1", "name": "f", "type": "tool"}},
        {"call": {"id": "1", "name": "f", "type": "other"}},
        {"call": {"id": "1", "name": "f", "state": "done"}},
        {"call": {"id": "1", "name": "f", "state": "begun"}},
        {"gave": {"id": "1", "content": []}},
        {"gave": {"id": "1", "content": [{"sort": "words", "said": "a"}]}},
        {"gave": {"id": "1"}},
        {"found": {"id": "1", "type": "web_found", "content": None, "by": "us"}},
        {"found": {"id": "1", "type": "web", "content": 1, "by": "us"}},
        {"found": {"id": "1", "type": "web_found", "content": 1, "by": "them"}},
        {"found": {"id": "1", "type": "_found", "content": 1}},
        {"found": {"id": "1", "type": 5, "content": 1, "by": "us"}},
    ],
    ids=str,
)
def test_keys_inside_of_objects(wire: Any) -> None:
    value = BLOCKS.read(wire)
    assert value == BLOCKS.interpret_read(wire)
    ledger = Ledger()
    assert (BLOCKS.interpret_write(value, ledger), ledger.losses) == (wire, [])
    assert BLOCKS.write_usual(value) in (wire, None)


def test_a_result_of_which_nothing_is_left_stays() -> None:
    ledger = Ledger()
    assert BLOCKS.write(ToolResultBlock("1", (OpaqueBlock("other", {"x": 1}),)), ledger) == {
        "gave": {"id": "1", "content": []}
    }
    assert [loss.path for loss in ledger.losses] == ["content/0"]


def test_what_is_always_written_is_never_shared() -> None:
    first, second = (BLOCKS.write(TextBlock(""), Ledger()) for _ in range(2))
    assert first == second == {"cited": {"pieces": [{"t": ""}]}}
    first["cited"]["pieces"].append("more")
    assert BLOCKS.write(TextBlock(""), Ledger()) == second
    assert BLOCKS.interpret_write(TextBlock(""), Ledger()) == second


def test_a_constant_object_is_never_shared() -> None:
    table = Table(HERE, Table.KEY, Row(ToolChoice, "auto", constants={"auto": {}}, fixed={"mode": "auto"},
                  elsewhere="name allowed parallel"))  # fmt: skip
    choice = table.read({"auto": {}})
    assert choice == ToolChoice(mode="auto")
    for write in (table.write_usual, lambda value: table.interpret_write(value, Ledger())):
        first, second = write(choice), write(choice)
        assert first == second == {"auto": {}}
        assert first["auto"] is not second["auto"]


LEAST = Frame(HERE, Row(Request, None, seed=may("numbers.seed", AtLeast(1, "none below 1")),
    elsewhere=NAMES.replace("seed ", "") + " max_output_tokens temperature top_p stop_sequences"))  # fmt: skip


@pytest.mark.parametrize(
    ("wire", "seed", "rest"),
    [
        ({"numbers": {"seed": 1}}, 1, {}),
        ({"numbers": {"seed": 0, "more": 2}}, None, {"numbers": {"seed": 0, "more": 2}}),
        ({"numbers": {"seed": True}}, None, {"numbers": {"seed": True}}),
        ({"numbers": {}}, None, {"numbers": {}}),
        ({}, None, {}),
    ],
)
def test_what_is_below_a_least_stays_residue(wire: Any, seed: int | None, rest: Any) -> None:
    assert LEAST.take(wire) == LEAST.interpret_take(wire) == ({"seed": seed}, rest, {})


def test_what_is_below_a_least_is_not_written() -> None:
    ledger = Ledger()
    assert LEAST.put(Request(seed=1), ledger) == {"numbers": {"seed": 1}}
    assert LEAST.put(Request(seed=0), ledger) == {}
    assert [(loss.kind, loss.path, loss.reason) for loss in ledger.losses] == [("dropped", "seed", "none below 1")]
