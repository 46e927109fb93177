"""From a call to what the handler is given, or to a result that tells the model why not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from interlingua import ToolDefinition, ToolResultBlock, ToolUseBlock
from interlingua.agent.tools import Ready, Toolbox, tool
from interlingua.codec.typed.checking import complaints
from tools.tool_support import said


@tool
def search(query: str, limit: int = 10) -> str:
    raise AssertionError("prepare runs nothing")


def written(schema: dict[str, Any], **options: Any) -> Toolbox:
    return Toolbox([(ToolDefinition(name="t", input_schema=schema, **options), print)])


def refused(box: Toolbox, call: ToolUseBlock) -> str:
    result = box.prepare(call)
    assert isinstance(result, ToolResultBlock)
    assert result.tool_use_id == call.id
    assert result.is_error is True
    return said(result)


def ready(box: Toolbox, call: ToolUseBlock) -> Ready:
    found = box.prepare(call)
    assert isinstance(found, Ready), found
    return found


def call(**fields: Any) -> ToolUseBlock:
    return ToolUseBlock(**{"id": "c1", "name": "search", **fields})


BOX = Toolbox([search])


def test_a_good_call_is_ready():
    found = ready(BOX, call(input={"query": "x"}))
    assert (found.tool, found.args, found.kwargs) == (search, (), {"query": "x"})


def test_an_unknown_tool_is_told_with_those_there_are():
    assert refused(BOX, call(name="find")) == "There is no tool named `find`. There are: search."
    assert refused(Toolbox(), call()) == "There is no tool named `search`. There are: none."


# ------------------------------------------------------------------------------------------------- malformed arguments


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"query": "x", "limit": }', ("invalid character (byte 24)", '"limit": }')),
        ('{"query": "x', ("Input data was truncated (byte 12)", '{"query": "x')),
        ('{"query": "x"} and more', ("trailing characters (byte 16)", "} and more")),
        ("[1]", ("a JSON object was expected, got list",)),
        ('"text"', ("a JSON object was expected, got str",)),
        ("null", ("a JSON object was expected, got NoneType",)),
        ("query=x", ("byte 0",)),
    ],
)
def test_malformed_arguments_are_quoted_with_their_place(text, says):
    told = refused(BOX, call(input_text=text))
    assert told.startswith("The arguments of `search` are not a JSON object, so it was not run: ")
    assert all(part in told for part in says)


@pytest.mark.parametrize("text", ["", "  ", "{}", "{ }"])
def test_no_arguments_are_no_arguments(text):
    assert "`query` is missing" in refused(BOX, call(input_text=text))
    assert ready(Toolbox([tool(lambda: 1, name="search")]), call(input_text=text)).kwargs == {}


def test_valid_text_beside_its_input_is_no_matter():
    assert ready(BOX, call(input={"query": "x"}, input_text='{ "query": "x" }')).kwargs == {"query": "x"}


def test_an_input_that_was_mended_wins_over_its_text():
    assert ready(BOX, call(input={"query": "x"}, input_text='{"query": "x')).kwargs == {"query": "x"}


# --------------------------------------------------------------------------------------------------- wrong arguments


def test_all_that_is_wrong_is_told_at_once():
    told = refused(BOX, call(input={"limit": "many", "page": 2}))
    assert told == (
        "The arguments of `search` do not fit its schema, so it was not run:\n"
        "- `query` is missing\n"
        "- `limit`: Expected `int`, got `str`\n"
        "- `page` is not a parameter; there are: query, limit"
    )


def test_a_place_inside_an_argument_is_named():
    def ask(rows: list[dict[str, list[int]]]) -> None: ...

    told = refused(Toolbox([ask]), call(name="ask", input={"rows": [{"a": [1]}, {"b": [1, "2"]}]}))
    assert told.endswith("- `rows[1][...][1]`: Expected `int`, got `str`")


@pytest.mark.parametrize("error", [LookupError, ValueError])
def test_a_class_may_refuse_in_its_own_way(error):
    class Odd:
        @classmethod
        def model_json_schema(cls):
            return {"type": "object"}

        @classmethod
        def model_validate_json(cls, data):
            raise error("no such thing")

    def ask(thing: Any) -> None: ...

    ask.__annotations__["thing"] = Odd
    assert "no such thing" in refused(Toolbox([ask]), call(name="ask", input={"thing": {}}))


# ------------------------------------------------------------------------------------------------------------ free text


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"kind": "text", "input_text": "print(1)"}, "print(1)"),
        ({"kind": "text"}, ""),
        ({"input": {"input": "print(1)"}}, "print(1)"),  # from a protocol without free text
        ({"input_text": '{"input": "x"}'}, "x"),
    ],
)
def test_a_text_tool_is_given_the_text(fields, text):
    found = ready(written({}, kind="text"), call(name="t", **fields))
    assert (found.args, found.kwargs) == ((text,), {})


def test_a_text_tool_is_not_given_an_object():
    assert refused(written({}, kind="text"), call(name="t", input={"code": "x"})) == "`t` takes plain text."


def test_text_that_is_an_object_will_do_for_another_tool():
    assert ready(BOX, call(kind="text", input_text='{"query": "x"}')).kwargs == {"query": "x"}
    assert "not a JSON object" in refused(BOX, call(kind="text", input_text="x"))


# -------------------------------------------------------------------------------------------------- written definitions

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "mode": {"enum": ["r", "w"]},
        "lines": {"type": "array", "items": {"type": "integer"}},
        "at": {"$ref": "#/$defs/At"},
        "any": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"At": {"type": "object", "properties": {"x": {"type": "number"}, "next": {"$ref": "#/$defs/At"}}}},
}


def test_the_handler_gets_the_input_as_one_dict():
    input = {"path": "a", "mode": "w", "lines": [1, 2.0], "at": {"x": 1, "next": {"x": 2}}, "any": None}
    found = ready(written(SCHEMA), call(name="t", input=input))
    assert (found.args, found.kwargs) == ((input,), {})


def test_optional_nulls_are_absent_again():
    input = {"path": "a", "mode": None, "lines": None, "at": {"x": None, "next": None}, "any": None}
    assert ready(written(SCHEMA), call(name="t", input=input)).args == ({"path": "a", "at": {}, "any": None},)


def test_what_does_not_fit_a_written_schema_is_told():
    input = {"mode": "x", "lines": [1, "2"], "at": {"next": {"x": "1"}}, "any": 1, "other": 1}
    told = refused(written(SCHEMA), call(name="t", input=input)).splitlines()[1:]
    assert sorted(told) == [
        "- `any` fits none of 2 forms: `any`: expected string, got integer / `any`: expected null, got integer",
        "- `at.next.x`: expected number, got string",
        "- `lines[1]`: expected integer, got string",
        "- `mode`: 'x' is not one of 'r', 'w'",
        "- `other` is not known; there are: path, mode, lines, at, any",
        "- `path` is missing",
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$ref": "#"},
        {"$ref": "#/nowhere"},
        {"$ref": "https://example.org/schema"},
        {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"properties": [], "required": "path", "type": 3, "items": 1, "enum": {}},
        {"type": "object", "properties": {"a": True}},
    ],
)
def test_odd_schemas_refuse_nothing(schema):
    assert complaints({"a": 1}, schema) == []


@pytest.mark.parametrize(
    ("value", "schema", "says"),
    [
        ([1], {"items": False}, ["`[0]`: nothing is allowed here"]),
        ("x", {"oneOf": [{"const": 1}, {"const": True}]}, ["the input fits none of 2 forms: the input: 'x' is not 1"]),
        (1, {"oneOf": [{"type": "integer"}, {"minimum": 0}]}, []),  # bounds are not ours to check
        (None, {"type": "string", "nullable": True}, []),
        (True, {"enum": [1]}, ["the input: True is not one of 1"]),
    ],
)
def test_how_a_complaint_reads(value, schema, says):
    found = complaints(value, schema)
    assert len(found) == len(says)
    assert all(one.startswith(start) for one, start in zip(found, says, strict=True))


def test_a_very_deep_input_is_refused():
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"next": deep}
    assert "nested deeper" in complaints(deep, {"properties": {"next": {"$ref": "#"}}})[0]


# The light check says what jsonschema says, for the keywords that it knows.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, 1.0]) | st.sampled_from(["a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS | st.lists(KINDS, min_size=1, max_size=2, unique=True),
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "const": VALUES,
            "required": st.lists(st.sampled_from(["a", "b"]), unique=True),
            "$ref": st.just("#/$defs/node"),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            "additionalProperties": st.booleans() | inner,
            "items": st.booleans() | inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
        },
    ),
    max_leaves=5,
)


@given(SCHEMAS, SCHEMAS, VALUES)
def test_the_light_check_agrees_with_jsonschema(schema, node, value):
    root = {**schema, "$defs": {"node": {key: part for key, part in node.items() if key != "$ref"}}}
    if "#/$defs/node" in str(root["$defs"]):
        root["$defs"] = {"node": {"properties": {"a": {"$ref": "#/$defs/node"}}, "type": "object"}}
    assert (complaints(value, root) == []) == Draft202012Validator(root).is_valid(value)
