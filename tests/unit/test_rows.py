"""The engine of rows: what a row means, and that compiled code means the same."""

from __future__ import annotations

import linecache
from typing import Any

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace

import interlingua.types
from interlingua.codec.ledger import Ledger
from interlingua.codec.marks import kept
from interlingua.codec.parameters import PARAMETERS, unsaid
from interlingua.codec.rows.compiler import source_of
from interlingua.codec.rows.field_kinds import declared, usual_kind
from interlingua.codec.rows.kinds import BOOL, INT, OBJECT, REFUSED, Each, Negated, One, Texts, Vocabulary
from interlingua.codec.rows.row import OFF_WIRE, Row, Rule, fill, instead, lost, may, must, null
from interlingua.codec.rows.table import Frame, Table
from interlingua.codec.rules import drop
from interlingua.codec.tools.arguments import arguments_at
from interlingua.types import (
    Base64Source,
    CacheMark,
    ImageBlock,
    JsonBlock,
    OpaqueBlock,
    RefusalBlock,
    Request,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    Value,
)

HERE = "toy"
# Every key differs from our field: a writer that hands on the struct itself would not pass.
SOURCES = Table(HERE, "sort", Row(Base64Source, "inline", media_type="mime", data="bytes"))
CACHE = Table(HERE, None, Row(CacheMark, None, constants={"kind": "short"}, ttl=may("age")))
INNER = Table(HERE, "sort", Row(TextBlock, "words", text="said", citations=lost("no citations")),
              carrier=OpaqueBlock, signature=lost("unsigned", "state"), cache=lost("not cached"))  # fmt: skip
SHORT = Rule("text", lambda block: len(block.text) < 9, lambda block, ledger: replace(block, text=block.text[:8]))
BLOCKS = Table(
    HERE,
    "sort",
    Row(TextBlock, "words", SHORT, text="said", citations=lost("toy has no citations")),
    Row(ThinkingBlock, "thought", text=must("idea"), signature=fill("proof", "")),
    Row(ImageBlock, "picture", source=must("from", One(SOURCES)), detail=null("zoom")),
    Row(ToolUseBlock, "call", id="call.ref", name="call.tool", input=must("call.with", OBJECT),
        input_text=lost("no text"), elsewhere="kind"),
    Row(ToolResultBlock, "result", Rule("is_error", lambda b: not b.is_error, drop("toy has no failures")),
        tool_use_id="ref", content=may("gave", Texts(INNER)), is_error=may("fine", Negated()), name=lost("no name")),
    instead(RefusalBlock, lambda block, ledger: TextBlock(block.text)),
    carrier=OpaqueBlock,
    cache=may("keep", One(CACHE)),
    signature=lost("toy signs nothing", "state"),
)  # fmt: skip
WIRES: list[Any] = [
    {"sort": "words", "said": "hi"},
    {"sort": "words", "said": ""},
    {"sort": "words", "said": "much too long"},
    {"sort": "words", "said": 7},
    {"sort": "words"},
    {"sort": "words", "said": "hi", "more": {"a": [1]}},
    {"sort": "words", "said": "hi", "keep": {"kind": "short"}},
    {"sort": "words", "said": "hi", "keep": {"kind": "short", "age": ""}},
    {"sort": "words", "said": "hi", "keep": {"kind": "long"}},
    {"sort": "words", "said": "hi", "keep": {}},
    {"sort": "words", "said": "hi", "keep": None},
    {"sort": "words", "said": "hi", "keep": 3},
    {"sort": "thought", "idea": "a", "proof": "p"},
    {"sort": "thought", "idea": "a", "proof": ""},
    {"sort": "thought", "idea": "a", "proof": None},
    {"sort": "thought", "idea": "a", "proof": 4},
    {"sort": "thought", "idea": "a"},
    {"sort": "picture", "from": {"sort": "inline", "mime": "image/png", "bytes": "AA"}, "zoom": None},
    {"sort": "picture", "from": {"sort": "inline", "mime": "image/png", "bytes": "AA"}, "zoom": "high"},
    {"sort": "picture", "from": {"sort": "inline", "mime": "image/png", "bytes": "AA", "odd": 1}},
    {"sort": "picture", "from": {"sort": "elsewhere"}, "zoom": None},
    {"sort": "call", "call": {"ref": "1", "tool": "t", "with": {"a": 1}}},
    {"sort": "call", "call": {"ref": "1", "tool": "t", "with": {}, "extra": None}},
    {"sort": "call", "call": {"ref": "1", "tool": "t", "with": []}},
    {"sort": "call", "call": None},
    {"sort": "result", "ref": "1", "gave": "text", "fine": True},
    {"sort": "result", "ref": "1", "gave": "text", "fine": False},
    {"sort": "result", "ref": "1", "gave": "", "fine": None},
    {"sort": "result", "ref": "1", "gave": [{"sort": "words", "said": "a"}, {"sort": "?"}, None]},
    {"sort": "result", "ref": "1", "gave": []},
    {"sort": "result", "ref": "1", "gave": {}},
    {"sort": ["words"], "said": "hi"},
    {"sort": "nothing of ours"},
    {},
    [],
    None,
    "words",
]


@pytest.mark.parametrize("wire", WIRES, ids=str)
def test_what_is_read_is_written_back_and_compiled_code_means_the_same(wire: Any) -> None:
    for table in (BLOCKS, BLOCKS.for_answers()):
        value = table.read(wire)
        assert value == table.interpret_read(wire)
        ledger = Ledger()
        assert (table.write(value, ledger), ledger.losses) == (wire, [])
        assert table.interpret_write(value, Ledger()) == wire
        assert table.write_usual(value) in (wire, None)


def test_an_edited_field_wins_over_its_spelling() -> None:
    read = BLOCKS.read({"sort": "thought", "idea": "a", "proof": None})
    assert BLOCKS.write(replace(read, signature="new"), Ledger()) == {"sort": "thought", "idea": "a", "proof": "new"}
    result = BLOCKS.read({"sort": "result", "ref": "1", "gave": "text", "fine": None})
    assert BLOCKS.write(replace(result, is_error=False), Ledger()) == {
        "sort": "result", "ref": "1", "gave": "text", "fine": True
    }  # fmt: skip


def test_a_rule_mends_what_others_made_and_leaves_what_came_from_here() -> None:
    ledger = Ledger()
    assert BLOCKS.write(TextBlock("much too long"), ledger) == {"sort": "words", "said": "much too"}
    ours = BLOCKS.read({"sort": "words", "said": "much too long"})
    assert BLOCKS.write(ours, ledger) == {"sort": "words", "said": "much too long"}


def test_losses_have_the_path_of_what_is_lost() -> None:
    ledger = Ledger()
    ledger.where = ("messages", 0, "content", 1)
    block = ToolResultBlock("1", (TextBlock("a", signature="s"),), name="n")
    assert BLOCKS.write(block, ledger) == {"sort": "result", "ref": "1", "gave": [{"sort": "words", "said": "a"}]}
    assert [(loss.path, loss.reason, loss.weight) for loss in ledger.losses] == [
        ("messages/0/content/1/content/0/signature", "unsigned", "state"),
        ("messages/0/content/1/name", "no name", "content"),
    ]


def test_a_value_whose_required_part_cannot_be_written_is_lost_as_a_whole() -> None:
    ledger = Ledger()
    assert BLOCKS.write(ImageBlock(UrlSource("https://a.b")), ledger) is None
    assert [(loss.path, loss.kind) for loss in ledger.losses] == [("", "dropped")]
    assert BLOCKS.write(JsonBlock(1), ledger) is None
    assert BLOCKS.write(RefusalBlock("no"), ledger) == {"sort": "words", "said": "no"}


def test_residue_of_another_dialect_is_declared_and_not_written() -> None:
    ledger = Ledger()
    assert BLOCKS.write(TextBlock("a", extras={"other": {"x": 1}}), ledger) == {"sort": "words", "said": "a"}
    assert [loss.path for loss in ledger.losses] == ["extras/other/x"]


def test_a_row_that_forgets_a_field_is_refused() -> None:
    with pytest.raises(TypeError, match="TextBlock 'words': cache, citations, signature missing or unknown"):
        Table(HERE, "sort", Row(TextBlock, "words", text="said"))
    with pytest.raises(TypeError, match="colour"):
        Table(HERE, "sort", Row(UrlSource, "link", url="href", media_type=may("mime"), colour="c"))


def test_a_parameter_that_a_protocol_lacks_is_named_in_one_table() -> None:
    assert PARAMETERS.keys() <= declared(Request).keys()
    named = " ".join(declared(Request).keys() - OFF_WIRE - PARAMETERS.keys())
    request = Request(seed=1, store=True, verbosity="low")
    frame = Frame(HERE, Row(Request, None, seed=may("grain"), elsewhere=named), **unsaid(HERE))
    assert frame.put(request, ledger := Ledger()) == {"grain": 1}
    assert {(loss.path, loss.reason, loss.weight) for loss in ledger.losses} == {
        ("verbosity", "toy has no `verbosity`", "content"),
        ("store", "toy has no `store`", "state"),
    }
    with pytest.raises(TypeError, match=r"store, .*verbosity missing"):
        Frame(HERE, Row(Request, None, seed=may("grain"), elsewhere=named))


def test_rows_of_one_type_are_told_apart_and_remember_their_tag() -> None:
    table = Table(HERE, "sort", Row(UrlSource, "link", url="href", media_type=lost("none")),
                  Row(UrlSource, "anchor", url="href", media_type=lost("none")))  # fmt: skip
    assert table.write(table.read({"sort": "anchor", "href": "u"}), Ledger()) == {"sort": "anchor", "href": "u"}
    assert table.write(UrlSource("u"), Ledger()) == {"sort": "link", "href": "u"}


def test_the_key_itself_may_be_the_tag() -> None:
    table = Table(HERE, Table.KEY, Row(TextBlock, "words", text="words", citations=lost("no"), signature=may("sig"),
                  cache=lost("no")), carrier=OpaqueBlock)  # fmt: skip
    for wire in (
        {"words": "a"},
        {"words": "a", "sig": "s"},
        {"sig": "s", "words": "a", "x": 1},
        {"words": 1},
        {"x": 1},
    ):
        assert table.read(wire) == table.interpret_read(wire)
        assert table.write(table.read(wire), Ledger()) == wire


def check_exact(table: Table, *wires: Any) -> None:
    for wire in wires:
        value = table.read(wire)
        assert value == table.interpret_read(wire)
        ledger = Ledger()
        assert (table.write(value, ledger), ledger.losses) == (wire, [])
        assert table.interpret_write(value, Ledger()) == wire
        assert table.write_usual(value) in (wire, None)


SAME = Table(HERE, "sort", Row(UrlSource, "link", url="href", media_type=may("mime", other="type kind")))


def test_other_keys_say_the_same() -> None:
    link = {"sort": "link", "href": "u"}
    odd = [
        {"mime": None},
        {"kind": ""},
        {"mime": None, "type": "a"},
        {"mime": "a", "type": "a"},
        {"mime": 1, "kind": "a"},
    ]
    check_exact(SAME, link, *[{**link, **more} for more in ({"mime": "a"}, {"type": "a"}, {"kind": "a", "x": 1}, *odd)])
    assert SAME.read({**link, "type": "a"}).media_type == "a"
    assert SAME.read({**link, "mime": "a", "type": "b"}).extras == {HERE: {"type": "b"}}


def test_an_edited_field_is_written_under_the_key_that_it_was_read_from() -> None:
    def edited(**keys: Any) -> Any:
        read = SAME.read({"sort": "link", "href": "u", **keys})
        return {
            key: value for key, value in SAME.write(replace(read, media_type="new"), Ledger()).items() if key in keys
        }

    assert edited(type="a") == {"type": "new"}
    assert edited(mime=None) == {"mime": "new"}
    assert edited(mime="a", kind="a") == {"mime": "new", "kind": "new"}
    read = SAME.read({"sort": "link", "href": "u", "type": "a"})
    assert SAME.write(replace(read, media_type=None), Ledger()) == {"sort": "link", "href": "u"}


def test_other_keys_of_a_frame() -> None:
    frame = Frame(HERE, Row(CacheMark, None, ttl=may("age", other="time")))
    for wire in ({}, {"age": "1"}, {"time": "1"}, {"time": "1", "x": 2}, {"age": None, "time": "1"}, {"time": 3}):
        fields, rest, marks = frame.take(wire)
        assert (fields, rest, marks) == frame.interpret_take(wire)
        value = CacheMark(**fields, **kept(frame.table.dialect, rest, marks))
        assert frame.put(value, Ledger()) | rest == wire


def is_file(block: Any) -> bool:
    return type(block.source) is Base64Source


def is_link(block: Any) -> bool:
    return type(block.source) is UrlSource


def test_a_condition_chooses_among_the_rows_of_one_type() -> None:
    unused: dict[str, Any] = {name: lost("no") for name in ("detail", "signature", "cache")}
    table = Table(HERE, "sort",
                  Row(ImageBlock, "file", when=is_file, source=must("from", One(SOURCES)), **unused),
                  Row(ImageBlock, "link", when=is_link, source=must("from", One(SAME)), **unused),
                  Row(ImageBlock, "page", when=is_link, source=must("page", One(SAME)), **unused))  # fmt: skip
    link, data = {"sort": "link", "href": "u"}, {"sort": "inline", "mime": "a", "bytes": "b"}
    check_exact(table, {"sort": "file", "from": data}, {"sort": "link", "from": link}, {"sort": "page", "page": link})
    assert table.write(ImageBlock(UrlSource("u")), Ledger()) == {"sort": "link", "from": link}


def test_arguments_are_json_text_and_other_forms_of_them_come_back() -> None:
    rest: dict[str, Any] = {name: lost("no") for name in ("signature", "cache")}
    table = Table(HERE, Table.KEY,
                  Row(ToolUseBlock, "call", arguments_at("call.with"), id=fill("ref", ""), name="call.tool",
                      ignores={"place": INT}, fixed={"kind": "json"}, **rest),
                  Row(ToolUseBlock, "words", id=fill("ref", ""), name="words.tool", input_text=fill("words.said", ""),
                      fixed={"kind": "text"}, elsewhere="input", **rest))  # fmt: skip
    for arguments in ('{"a":1}', '{ "a": 1 }', "{}", "[1]", "{", "", {"a": 1}, {}, None, 7):
        check_exact(table, {"ref": "1", "call": {"tool": "t", "with": arguments}})
    call = {"tool": "t", "with": "{}"}
    check_exact(table, {"ref": "1", "call": {"tool": "t"}}, {"call": call}, {"ref": None, "call": call})
    check_exact(table, {"ref": "1", "call": call, "place": 0}, {"ref": "1", "call": call, "place": "x"})
    check_exact(table, {"ref": "1", "words": {"tool": "t", "said": "hi"}}, {"ref": "1", "words": {"tool": "t"}})
    assert table.read({"ref": "1", "call": call, "place": 0}).extras == {}
    read = table.read({"ref": "1", "call": {"tool": "t", "with": {"a": 1}}})
    assert table.write(replace(read, input={"b": 2}), Ledger()) == {
        "ref": "1",
        "call": {"tool": "t", "with": '{"b":2}'},
    }
    assert table.write(ToolUseBlock("1", "t"), Ledger()) == {"ref": "1", "call": call}


def test_one_plain_text_is_usually_a_string_or_usually_a_list() -> None:
    unused: dict[str, Any] = {name: lost("no") for name in ("name", "is_error", "signature", "cache")}
    for usual, written in (("list", [{"sort": "words", "said": "a"}]), ("string", "a")):
        table = Table(HERE, None, Row(ToolResultBlock, None, tool_use_id="ref", **unused,
                      content=may("gave", Texts(INNER, usual))))  # fmt: skip
        for gave in (
            "a",
            "",
            None,
            [],
            7,
            [{"sort": "words", "said": "a"}],
            [{"sort": "words", "said": ""}],
            [{}],
            [None],
        ):
            check_exact(table, {"ref": "1", "gave": gave})
        check_exact(table, {"ref": "1"})
        assert table.write(ToolResultBlock("1", (TextBlock("a"),)), Ledger()) == {"ref": "1", "gave": written}


SAID = {"model", "max_output_tokens", "seed", "stream", "temperature", "top_p", "top_k", "service_tier"}
NAMES = " ".join(name for name in Request.__struct_fields__ if name not in SAID | OFF_WIRE)
PARAMS = Frame(HERE, Row(Request, None, model=may("who"), max_output_tokens=may("limits.tokens", INT),
               seed=may("limits.seed"), stream=may("flow", BOOL), temperature=lost("toy is cold"), top_p=lost("no"),
               top_k=lost("no"), service_tier=may("tier", Vocabulary({"slow": "flex"}, "toy has no tier {}")),
               elsewhere=NAMES))  # fmt: skip


@pytest.mark.parametrize(
    "wire",
    [
        {},
        {"who": "m", "limits": {"tokens": 3}, "flow": False},
        {"who": "m", "limits": {"tokens": 3, "other": 1}, "left": 1},
        {"who": 1, "limits": {"seed": None}, "tier": "slow"},
        {"limits": {}, "tier": "fast", "flow": None},
        {"limits": []},
    ],
    ids=str,
)
def test_a_frame_takes_what_it_knows(wire: Any) -> None:
    fields, rest, marks = PARAMS.take(wire)
    request = Request(**fields, **kept(PARAMS.table.dialect, rest, marks))
    slow_fields, slow_rest, slow_marks = PARAMS.row.take_apart(wire)
    assert request == Request(**slow_fields, **kept(PARAMS.table.dialect, slow_rest, slow_marks))
    written = PARAMS.put(request, Ledger())
    for key, value in request.extras.get(HERE, {}).items():
        written[key] = {**value, **written.get(key, {})} if isinstance(value, dict) else value
    assert written == wire


def test_what_a_frame_has_no_word_for_is_a_loss() -> None:
    ledger = Ledger()
    assert PARAMS.put(Request(temperature=1, service_tier="priority", model="m"), ledger) == {"who": "m"}
    assert sorted((loss.path, loss.reason) for loss in ledger.losses) == [
        ("service_tier", "toy has no tier priority"),
        ("temperature", "toy is cold"),
    ]


def test_generated_code_can_be_read() -> None:
    BLOCKS.read({"sort": "words", "said": "hi"})
    text = source_of(BLOCKS.readers["words"])
    assert "wire.get('said')" in text
    assert text in ["".join(linecache.getlines(name)) for name in linecache.cache if "read_toy_TextBlock" in name]


def test_each_refuses_the_list_if_one_item_is_refused() -> None:
    class Pair(Struct, frozen=True):
        sources: tuple[Base64Source, ...] = ()
        extras: dict[str, Any] = {}
        forms: dict[str, Any] = {}

    table = Table(HERE, None, Row(Pair, None, sources=may("list", Each(SOURCES))))
    good, bad = {"sort": "inline", "mime": "a", "bytes": "b"}, {"sort": "?"}
    for wire in ({"list": [good]}, {"list": [good, bad]}, {"list": []}, {}):
        assert table.read(wire) == table.interpret_read(wire)
        assert table.write(table.read(wire), Ledger()) == wire
    assert SOURCES.read(bad) is REFUSED


VALUES = [found for found in vars(interlingua.types).values() if isinstance(found, type) and issubclass(found, Value)]


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_fields_are_declared_as_msgspec_finds_them(kind: type[Value]) -> None:
    """A row reads annotations as text; msgspec evaluates them, and both choose the same kinds and defaults."""
    found = {field.name: field for field in msgspec.structs.fields(kind)}
    ours = declared(kind)
    assert list(ours) == list(found)
    for name, field in found.items():
        made = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
        assert ours[name].default == made
        assert usual_kind(ours[name].hint) is usual_kind(field.type)
