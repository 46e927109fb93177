"""`restore_optional` undoes for values what `strict_schema` did to the schema. The judge is jsonschema."""

import copy
import json
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from jsonschema import Draft202012Validator

from interlingua.codec.schema import restore_optional, strict_schema

Schema = dict[str, Any]


def obj(required: str = "", /, **properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": required.split()}


STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
MAYBE: Schema = {"type": ["string", "null"]}
NODE: Schema = {
    "$defs": {"Node": obj("value", value=INTEGER, label=STRING, next={"$ref": "#/$defs/Node"})},
    "$ref": "#/$defs/Node",
}


def test_the_same_object_if_nothing_is_removed() -> None:
    schema = obj("a", a=STRING, o=obj("", m=MAYBE))
    for said in ({"a": "x"}, {"a": "x", "o": {"m": None}}, {"a": 1, "b": [None]}):
        assert restore_optional(said, schema) is said


def test_deeper_than_the_stack() -> None:
    said: Schema = {"value": 1, "label": None, "next": None}
    for _ in range(5000):
        said = {"value": 1, "label": None, "next": said}
    assert restore_optional(said, NODE) is said


def test_what_is_not_touched_is_shared() -> None:
    said = {"big": {"m": None}, "a": None}
    assert restore_optional(said, obj("big", big=obj("", m=MAYBE), a=STRING))["big"] is said["big"]


def test_unknown_dialect() -> None:
    with pytest.raises(ValueError, match=r"'morse'.*anthropic-messages, .*openai-responses"):
        restore_optional({}, {}, "morse")


# ----------------------------------------------------------------------------------- any schema, any value that fits it


class Case(NamedTuple):
    schema: Schema
    value: Any
    """Valid for the schema, with optional properties left out."""
    said: Any
    """The same as a strict model must write it: null for what is left out."""
    meant: Any
    """What the tool should get: the value, with null only where the schema's author allows it."""


NAMES = ("a", "b", "c", "d", "$ref", "type", "x/y")
SCALARS: tuple[tuple[Schema, Any], ...] = (
    ({"type": "string"}, "text"),
    ({"type": "string", "minLength": 1, "format": "slug", "pattern": "^(?=t)"}, "text"),
    ({"type": "integer", "minimum": 0, "default": 3}, 7),
    ({"type": "number", "multipleOf": 0.5}, 1.5),
    ({"type": "boolean"}, False),
    ({"type": "null"}, None),
    ({"type": ["string", "null"]}, None),
    ({"type": ["integer", "boolean"]}, True),
    ({"enum": ["p", "q"]}, "q"),
    ({"enum": ["p", None]}, None),
    ({"const": 3}, 3),
    ({"type": "string", "enum": ["p"], "description": "one"}, "p"),
    ({"$ref": "#/$defs/Word"}, "yes"),
    ({"$ref": "#/$defs/Maybe"}, None),
    ({"$ref": "#/$defs/Word", "description": "described"}, "no"),
    ({"allOf": [{"$ref": "#/$defs/Word"}]}, "no"),
    ({"allOf": [{"type": "integer"}, {"maximum": 9}]}, 9),
    ({"type": "string", "anyOf": [{"pattern": "t"}, {"maxLength": 2}]}, "text"),
)
DEFS: Schema = {
    "Word": {"enum": ["yes", "no"]},
    "Maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "Tree": {
        "type": "object",
        "properties": {
            "leaf": {"type": "integer"},
            "maybe": {"type": ["string", "null"]},
            "left": {"$ref": "#/$defs/Tree", "description": "smaller"},
            "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        },
        "required": ["leaf"],
    },
}
VALIDATOR = Draft202012Validator({"$defs": DEFS})


def null_is_valid(schema: Schema) -> bool:
    return VALIDATOR.evolve(schema={**schema, "$defs": DEFS}).is_valid(None)


@st.composite
def scalars(draw: st.DrawFn) -> Case:
    schema, value = draw(st.sampled_from(SCALARS))
    return Case(copy.deepcopy(schema), value, value, value)


@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> Case:
    """A value of the recursive definition."""
    value: Schema = {"leaf": draw(st.integers(0, 9))}
    said: Schema = {**value, "maybe": None, "left": None, "kids": None}
    meant: Schema = {**value, "maybe": None}
    if draw(st.booleans()):
        value["maybe"] = said["maybe"] = meant["maybe"] = draw(st.none() | st.just("m"))
    if depth and draw(st.booleans()):
        _, value["left"], said["left"], meant["left"] = draw(trees(depth - 1))
    if depth and draw(st.booleans()):
        kids = draw(st.lists(trees(depth - 1), max_size=2))
        value["kids"], said["kids"], meant["kids"] = ([kid[part] for kid in kids] for part in (1, 2, 3))
    return Case({"$ref": "#/$defs/Tree"}, value, said, meant)


@st.composite
def objects(draw: st.DrawFn, cases: st.SearchStrategy[Case], names: tuple[str, ...] = NAMES) -> Case:
    properties: Schema = {}
    required: list[str] = []
    value: Schema = {}
    said: Schema = {}
    meant: Schema = {}
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True)):
        case = draw(cases)
        properties[name] = case.schema
        how = draw(st.sampled_from(("required", "given", "left out")))
        if how == "required":
            required.append(name)
        if how == "left out":
            said[name] = None
            meant |= {name: None} if null_is_valid(case.schema) else {}
        else:
            value[name], said[name], meant[name] = case[1:]
            if case.value is None and how == "given" and not null_is_valid(case.schema):
                raise AssertionError("the generator made an invalid value")
    schema: Schema = {"type": "object", "properties": properties, "required": required}
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    return Case(schema, value, said, meant)


@st.composite
def arrays(draw: st.DrawFn, cases: st.SearchStrategy[Case]) -> Case:
    """Every item is of one schema, so the same value is repeated."""
    case = draw(cases)
    count = draw(st.integers(0, 2))
    return Case({"type": "array", "items": case.schema}, *([part] * count for part in case[1:]))


@st.composite
def unions(draw: st.DrawFn, cases: st.SearchStrategy[Case]) -> Case:
    """Branches that a strict reader can tell apart: by a constant, by their names, by their type."""
    tagged = draw(st.booleans())
    branches = [draw(objects(cases, tuple(f"{name}{i}" for name in "abc"))) for i in range(draw(st.integers(1, 3)))]
    if tagged:
        branches = [
            Case(
                {
                    **case.schema,
                    "properties": {**case.schema["properties"], "kind": {"const": f"k{i}"}},
                    "required": [*case.schema["required"], "kind"],
                },
                *({**part, "kind": f"k{i}"} for part in case[1:]),
            )
            for i, case in enumerate(branches)
        ]
    extra: list[Schema] = draw(st.sampled_from(([], [{"type": "string"}], [{"type": "integer"}, {"type": "null"}])))
    chosen = draw(st.sampled_from(branches))
    word = "oneOf" if tagged and draw(st.booleans()) else "anyOf"
    return Case({word: [*(case.schema for case in branches), *extra]}, *chosen[1:])


@st.composite
def intersections(draw: st.DrawFn, cases: st.SearchStrategy[Case]) -> Case:
    parts = [draw(objects(cases, tuple(f"{name}{i}" for name in "abc"))) for i in range(2)]
    for part in parts:
        part.schema.pop("additionalProperties", None)
    return Case(
        {"allOf": [part.schema for part in parts]}, *({**a, **b} for a, b in zip(*(p[1:] for p in parts), strict=True))
    )


def anything(cases: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    return objects(cases) | arrays(cases) | unions(cases) | intersections(cases)


CASES = st.recursive(scalars() | trees(), anything, max_leaves=8)
ROOTS = objects(CASES) | intersections(CASES) | trees()


# The same examples in every run; `pytest --hypothesis-profile=thorough` looks for more.
THOROUGH = settings.get_current_profile_name() == "thorough"
odd = settings(suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large))
modest = odd if THOROUGH else settings(odd, max_examples=120, derandomize=True)
few = odd if THOROUGH else settings(odd, max_examples=60, derandomize=True)


@modest
@given(ROOTS)
def test_a_strict_model_says_what_the_tool_means(case: Case) -> None:
    schema = {**case.schema, "$defs": copy.deepcopy(DEFS)}
    before = json.dumps((schema, case.said))
    strict = strict_schema(schema, "openai-chat")

    assert strict.strict, strict.changes
    Draft202012Validator.check_schema(strict.schema)
    Draft202012Validator(schema).validate(case.value)
    Draft202012Validator(schema).validate(case.meant)
    Draft202012Validator(strict.schema).validate(case.said)
    assert restore_optional(case.said, schema) == case.meant
    assert restore_optional(case.said, schema, "openai-responses") == case.meant
    if case.said == case.meant:
        assert restore_optional(case.said, schema) is case.said
    assert json.dumps((schema, case.said)) == before


@few
@given(ROOTS)
def test_strict_is_idempotent_and_anthropic_keeps_what_is_optional(case: Case) -> None:
    schema = {**case.schema, "$defs": copy.deepcopy(DEFS)}
    once = strict_schema(schema, "openai-responses")
    assert strict_schema(once.schema, "openai-responses") == (once.schema, True, ())

    del schema["$defs"]["Tree"]  # recursion, which Anthropic does not compile
    claude = strict_schema(schema, "anthropic-messages")
    if claude.strict:
        Draft202012Validator(claude.schema).validate(case.value)
        assert strict_schema(claude.schema, "anthropic-messages") == (claude.schema, True, ())
    else:
        assert "#/$defs/Tree" in str(claude.changes) or "allowed" in str(claude.changes)
