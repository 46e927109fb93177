"""Gemini's older `Schema` object: from JSON Schema and back."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from interlingua.codec.schema import from_gemini_schema, to_gemini_schema

Schema = dict[str, Any]
CITY: Schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
LOWERED_CITY: Schema = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]}


@pytest.mark.parametrize(
    ("json_schema", "gemini"),
    [
        ({"type": "string", "description": "d", "title": "T"}, {"type": "STRING", "description": "d", "title": "T"}),
        ({"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
        ({"type": "null"}, {"type": "NULL"}),
        ({"type": "string", "enum": ["a", "b"]}, {"type": "STRING", "enum": ["a", "b"]}),
        ({"type": ["string", "null"], "enum": ["a", None]}, {"type": "STRING", "enum": ["a"], "nullable": True}),
        ({"type": "integer", "enum": [101, 201]}, {"type": "INTEGER", "format": "enum", "enum": ["101", "201"]}),
        ({"type": "number", "enum": [0.5]}, {"type": "NUMBER", "format": "enum", "enum": ["0.5"]}),
        ({"type": "array", "items": CITY, "minItems": 1}, {"type": "ARRAY", "items": LOWERED_CITY, "minItems": 1}),
        (
            {"type": "string", "minLength": 1, "pattern": "a", "default": "ab"},
            {"type": "STRING", "minLength": 1, "pattern": "a", "default": "ab"},
        ),
        ({"type": "string", "examples": ["x"]}, {"type": "STRING", "example": "x"}),
        ({**CITY, "propertyOrdering": ["city"]}, {**LOWERED_CITY, "propertyOrdering": ["city"]}),
        ({"anyOf": [CITY, {"type": "string"}]}, {"anyOf": [LOWERED_CITY, {"type": "STRING"}]}),
        (
            {"anyOf": [CITY, {"type": "string"}, {"type": "null"}]},
            {"anyOf": [LOWERED_CITY, {"type": "STRING"}], "nullable": True},
        ),
        pytest.param(
            {**CITY, "type": ["object", "null"]}, {**LOWERED_CITY, "nullable": True}, id="BerriAI/litellm#19029"
        ),
        ({"type": "integer", "format": "int64", "minimum": 0}, {"type": "INTEGER", "format": "int64", "minimum": 0}),
    ],
)
def test_both_ways(json_schema: Schema, gemini: Schema) -> None:
    before = copy.deepcopy((json_schema, gemini))
    lowered = to_gemini_schema(json_schema)
    assert lowered.schema == gemini
    assert from_gemini_schema(gemini) == json_schema
    assert (json_schema, gemini) == before


@pytest.mark.parametrize(
    ("json_schema", "gemini", "change"),
    [
        (
            {"anyOf": [{**CITY, "description": "inner"}, {"type": "null"}], "description": "outer"},
            {**LOWERED_CITY, "description": "outer\n\ninner", "nullable": True},
            None,
        ),
        (
            {"type": ["string", "integer", "null"], "minimum": 1, "maxLength": 3, "description": "d", "enum": ["a", 2]},
            {
                "description": "d",
                "anyOf": [
                    {"type": "STRING", "maxLength": 3, "enum": ["a"]},
                    {"type": "INTEGER", "minimum": 1, "enum": ["2"], "format": "enum"},
                ],
                "nullable": True,
            },
            None,
        ),
        (
            {**CITY, "anyOf": [{"required": ["city"]}]},
            {**LOWERED_CITY, "anyOf": [{"required": ["city"]}]},
            None,
        ),
        ({"const": "a"}, {"type": "STRING", "enum": ["a"]}, "const said as enum"),
        ({"const": True}, {"type": "BOOLEAN", "description": "{enum: [true]}"}, "folded enum"),
        ({"oneOf": [{"type": "string"}]}, {"type": "STRING"}, "oneOf said as anyOf"),
        ({"type": "string", "format": "uri"}, {"type": "STRING", "description": "{format: uri}"}, "folded format"),
        ({"type": "string", "format": "date-time"}, {"type": "STRING", "format": "date-time"}, None),
        (
            {**CITY, "additionalProperties": False, "$schema": "s"},
            LOWERED_CITY,
            "dropped additionalProperties, $schema",
        ),
        ({"allOf": [CITY, {"description": "d"}]}, {**LOWERED_CITY, "description": "d"}, "merged the parts of allOf"),
        ({"properties": {"a": True}}, {"type": "OBJECT", "properties": {"a": {}}}, "boolean schema"),
        (
            {"$ref": "#/$defs/N", "$defs": {"N": {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}}}},
            {
                "type": "OBJECT",
                "properties": {
                    "n": {
                        "type": "OBJECT",
                        "properties": {"n": {"type": "OBJECT", "description": "(again N, as above)"}},
                    }
                },
            },
            "#/properties/n/properties/n: cut off #/$defs/N",
        ),
    ],
)
def test_lowered(json_schema: Schema, gemini: Schema, change: str | None) -> None:
    lowered = to_gemini_schema(json_schema)
    assert lowered.schema == gemini
    assert (change in "; ".join(lowered.changes)) if change else lowered.changes == ()


@pytest.mark.parametrize(
    ("gemini", "json_schema"),
    [
        ({"type": 6, "properties": {"a": {"type": 1}}}, {"type": "object", "properties": {"a": {"type": "string"}}}),
        ({"type": "object", "any_of": [{"type": "String"}]}, {"type": "object", "anyOf": [{"type": "string"}]}),
        ({"type": "ARRAY", "min_items": "2", "maxItems": "3"}, {"type": "array", "minItems": 2, "maxItems": 3}),
        ({"type": "TYPE_UNSPECIFIED", "nullable": True}, {}),
        ({"type": "STRING", "format": "enum", "enum": ["N"], "nullable": False}, {"type": "string", "enum": ["N"]}),
        ({"type": "INTEGER", "enum": ["1", "x"]}, {"type": "integer", "enum": [1, "x"]}),
        (
            {"ref": "#/defs/Pet", "defs": {"Pet": {"type": "OBJECT"}}},
            {"$ref": "#/$defs/Pet", "$defs": {"Pet": {"type": "object"}}},
        ),
        ({"type": ["STRING", "null"], "x-mine": [1]}, {"type": ["string", "null"], "x-mine": [1]}),
        (
            {"type": "OBJECT", "additional_properties": {"type": "STRING"}, "properties": {"any_of": {"type": "NULL"}}},
            {"type": "object", "additionalProperties": {"type": "string"}, "properties": {"any_of": {"type": "null"}}},
        ),
    ],
)
def test_raised(gemini: Schema, json_schema: Schema) -> None:
    assert from_gemini_schema(gemini) == json_schema


def gemini_objects(deeper: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    nullable = st.fixed_dictionaries({}, optional={"nullable": st.just(True), "description": st.just("d")})
    return st.tuples(
        st.builds(
            lambda p: {"type": "OBJECT", "properties": p}, st.dictionaries(st.sampled_from("abc"), deeper, min_size=1)
        )
        | st.builds(lambda items: {"type": "ARRAY", "items": items}, deeper)
        | st.builds(lambda branches: {"anyOf": branches}, st.lists(deeper, min_size=2, max_size=3)),
        nullable,
    ).map(lambda parts: {**parts[0], **parts[1]})


SCALARS: list[Schema] = [
    {"type": "STRING", "maxLength": 3},
    {"type": "STRING", "enum": ["a"], "nullable": True},
    {"type": "INTEGER", "nullable": True},
    {"type": "INTEGER", "format": "enum", "enum": ["7"]},
    {"type": "BOOLEAN"},
]


# The same examples in every run; `pytest --hypothesis-profile=thorough` looks for more.
THOROUGH = settings.get_current_profile_name() == "thorough"
modest = settings() if THOROUGH else settings(max_examples=100, derandomize=True)


@modest
@given(st.recursive(st.sampled_from(SCALARS), gemini_objects, max_leaves=8))
def test_what_google_wrote_survives_the_way_there_and_back(gemini: Schema) -> None:
    there = from_gemini_schema(gemini)
    assert to_gemini_schema(there).schema == gemini
