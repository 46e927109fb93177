"""`project_schema`: what Gemini's JSON Schema fields and Ollama's tools take; and that no schema makes us raise."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from interlingua.codec.schema import (
    from_gemini_schema,
    narrow_tool,
    project_schema,
    restore_optional,
    strict_schema,
    to_gemini_schema,
)
from interlingua.codec.schema.patches import changed

Schema = dict[str, Any]


def tool(required: str = "", /, **properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": required.split()}


# --------------------------------------------------------------------------------- a schema is what a stranger wrote


NAMES = st.sampled_from(("a", "b", "x/y"))
REFS = st.sampled_from(
    (
        "#",
        "#/$defs/a",
        "#/$defs/b",
        "#/definitions/a",
        "#/properties/a",
        "#/$defs/a/properties/b",
        "#no",
        "http://x",
        "#/anyOf/0",
    )
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(("a", "string")),
    lambda deeper: st.lists(deeper, max_size=2) | st.dictionaries(NAMES, deeper, max_size=2),
    max_leaves=4,
)
TYPES = st.sampled_from(("string", "integer", "number", "boolean", "null", "object", "array"))


def any_keywords(deeper: st.SearchStrategy[Any]) -> st.SearchStrategy[Schema]:
    named, listed = st.dictionaries(NAMES, deeper, max_size=3), st.lists(deeper, max_size=3)
    shapes: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys(("properties", "$defs", "definitions", "patternProperties"), named),
        **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), listed),
        **dict.fromkeys(("not", "if", "then", "additionalProperties"), deeper),
        **dict.fromkeys(("const", "default", "examples", "minimum"), JUNK),
        "items": deeper | listed,
        "type": TYPES | st.lists(TYPES, max_size=3, unique=True),
        "required": st.lists(NAMES, max_size=2),
        "enum": st.lists(JUNK, max_size=3),
        "nullable": st.booleans(),
        "description": st.just("d"),
        "format": st.sampled_from(("date", "uri", "int64")),
        "pattern": st.sampled_from(("a", "(?=a)")),
        "$ref": REFS,
    }
    return st.fixed_dictionaries({}, optional={word: shape | JUNK for word, shape in shapes.items()})


SCHEMAS = st.recursive(
    st.fixed_dictionaries({"type": TYPES}) | st.booleans() | st.fixed_dictionaries({"$ref": REFS}),
    any_keywords,
    max_leaves=12,
).filter(lambda schema: isinstance(schema, dict))


# The same examples in every run; `pytest --hypothesis-profile=thorough` looks for more.
THOROUGH = settings.get_current_profile_name() == "thorough"
odd = settings(suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large))
modest = odd if THOROUGH else settings(odd, max_examples=150, derandomize=True)


@modest
@given(SCHEMAS, st.dictionaries(NAMES, JUNK, max_size=3))
def test_no_schema_makes_us_raise(schema: Schema, value: Schema) -> None:
    before = json.dumps((schema, value))
    for dialect in ("openai-chat", "anthropic-messages", "gemini", "ollama"):
        result = strict_schema(schema, dialect)
        if result.strict:
            assert strict_schema(result.schema, dialect) == (result.schema, True, ())
        assert result.changes or result.schema is schema
        project_schema(schema, dialect)
    restore_optional(value, schema)
    from_gemini_schema(to_gemini_schema(schema).schema)
    from_gemini_schema(schema)
    assert json.dumps((schema, value)) == before


def narrowed(schema: Schema, dialect: str) -> Any:
    """What ``narrow_tool`` makes of a schema, as text with the order of its keys; None where it leaves it to others."""
    found = narrow_tool(schema, dialect)
    return found and (json.dumps(schema if found.change is None else changed(schema, found.change)), found.changes)


PLAIN = st.recursive(
    st.fixed_dictionaries({"type": TYPES}, optional={"description": st.just("d"), "minimum": st.integers(0, 3)}),
    lambda deeper: st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "properties": st.dictionaries(NAMES, deeper, max_size=3),
            "items": deeper,
            "anyOf": st.lists(deeper, min_size=1, max_size=2),
            "enum": st.lists(JUNK, min_size=1, max_size=2),
            "additionalProperties": st.booleans(),
            "default": JUNK,
            "title": st.just("T"),
            "description": st.just("d"),
            "format": st.just("date"),
        },
    ),
    max_leaves=8,
).filter(lambda schema: schema["type"] == "object")


@modest
@given(PLAIN | SCHEMAS)
def test_a_schema_that_is_narrowed_simply_is_narrowed_alike(schema: Schema) -> None:
    before = json.dumps(schema)
    for dialect in ("gemini", "ollama"):
        found = narrowed({"type": "object", **schema}, dialect)
        if found is not None:
            said, changes = project_schema({"type": "object", **schema}, dialect)
            assert found == (json.dumps(said), changes)
    assert json.dumps(schema) == before


@pytest.mark.parametrize(
    "schema",
    [
        tool("", p={"$ref": "#/$defs/a"}),
        tool("", p={"allOf": [{"type": "string"}]}),
        tool("", p={"const": 1}),
        tool("", p={"oneOf": [{"type": "string"}]}),
        tool("", p={"nullable": True}),
        tool("", p=True),
        tool("", p={"minimum": "one"}),
        tool("", p={"additionalProperties": {"type": "string"}}),
        {**tool(), "minProperties": 1},
        {**tool(), "description": "d"},
        {"type": "string"},
    ],
)
def test_what_is_not_simple_is_left_to_others(schema: Schema) -> None:
    assert narrow_tool(schema, "ollama") is None
    assert project_schema(schema, "ollama")


def test_what_is_simple() -> None:
    number = {"type": "integer", "minimum": 0, "description": "d"}
    schema = {**tool("a", a=number, b={"type": "array", "items": {"enum": ["x"], "format": "f"}}), "$schema": "s"}
    said = narrowed(schema, "ollama")[0]
    assert json.loads(said) == tool(
        "a",
        a={"type": "integer", "description": "d\n\n{minimum: 0}"},
        b={"type": "array", "items": {"enum": ["x"], "description": "{format: f}"}},
    )
    assert narrow_tool(tool("a", a={"type": "string"}), "ollama") == (None, ())
    assert narrow_tool(schema, "openai-chat") is None


def doubled(link: Any, levels: int = 40) -> Schema:
    """Definitions each of which uses the next one twice."""
    defs = {f"D{i}": link({"$ref": f"#/$defs/D{i + 1}"}) for i in range(levels)}
    return {"$defs": {**defs, f"D{levels}": {"type": "string"}}, **tool("", p={"$ref": "#/$defs/D0"})}


def nested(levels: int) -> Schema:
    schema: Schema = {"type": "string"}
    for _ in range(levels):
        schema = tool("a", a=schema)
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(doubled(lambda ref: tool("", a=ref, b=ref)), id="properties"),
        pytest.param(
            doubled(lambda ref: tool("", a={**ref, "title": "A"}, b={**ref, "title": "B"})), id="with siblings"
        ),
        pytest.param(doubled(lambda ref: {"anyOf": [ref, {**ref}]}), id="unions"),
        pytest.param(doubled(lambda ref: {"allOf": [ref, {**ref}]}), id="intersections"),
        pytest.param(doubled(lambda ref: ref, levels=2000), id="a long chain"),
        pytest.param(nested(300), id="depth"),
        pytest.param(nested(5000), id="great depth"),
    ],
)
def test_a_hostile_schema_costs_little(schema: Schema) -> None:
    """Each would take for ever, or all of the stack, if read naively."""
    for dialect in ("openai-chat", "anthropic-messages", "gemini", "ollama"):
        strict_schema(schema, dialect)
        project_schema(schema, dialect)
    from_gemini_schema(to_gemini_schema(schema).schema)
    from_gemini_schema(schema)
    restore_optional({"p": {"a": None, "b": None}}, schema)
