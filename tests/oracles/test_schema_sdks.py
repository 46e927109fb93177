"""The official SDKs carry schema transformers of their own: where both speak, we should agree, and differ by intent."""

import copy
from typing import Any, Literal

import pytest
from anthropic import transform_schema
from google.genai import types as google
from openai.lib._pydantic import _ensure_strict_json_schema, to_strict_json_schema
from pydantic import BaseModel, Field

from interlingua.codec.schema import from_gemini_schema, strict_schema, to_gemini_schema

Schema = dict[str, Any]
STRING: Schema = {"type": "string"}


def tool(required: str = "", /, **properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": required.split()}


def by_openai(schema: Schema) -> Schema:
    ours = copy.deepcopy(schema)
    return _ensure_strict_json_schema(ours, path=(), root=ours)


# -------------------------------------------------------------------------------------------------------------- OpenAI


@pytest.mark.parametrize(
    "schema",
    [
        tool("a", a=STRING),
        tool(),
        tool("a", a={"type": "array", "items": tool("b", b=STRING)}),
        tool("a", a={"anyOf": [tool("b", b=STRING), {"type": "null"}]}),
        tool("a", a={"allOf": [{"type": "string", "enum": ["x"]}]}),
        tool("a", a={"type": ["string", "null"], "default": None}),
        {**tool("a", a={"$ref": "#/$defs/A"}), "$defs": {"A": tool("b", b=STRING)}},
        {**tool("a", a={"$ref": "#/$defs/A", "description": "d"}), "$defs": {"A": tool("b", b=STRING)}},
        {**tool("a", a={"$ref": "#/definitions/A"}), "definitions": {"A": tool("b", b={"$ref": "#/definitions/A"})}},
    ],
)
def test_openai_agrees(schema: Schema) -> None:
    assert strict_schema(schema, "openai-chat").schema == by_openai(schema)


class Chain(BaseModel):
    next: "Chain" = Field(description="the next one")


class Flat(BaseModel):
    steps: list[str] = Field(min_length=1, max_length=3)
    score: float = Field(ge=0, le=1)
    note: str | None
    mood: Literal["good", "bad"]


def test_openai_agrees_on_a_model() -> None:
    assert strict_schema(Flat.model_json_schema(), "openai-responses").schema == to_strict_json_schema(Flat)


@pytest.mark.parametrize(
    ("schema", "ours", "theirs"),
    [
        pytest.param(
            tool("", a=STRING),
            {"type": ["string", "null"]},
            STRING,
            id="theirs makes an optional property required, with no way to leave it out",
        ),
        pytest.param(
            tool("a", a={"type": "string", "minLength": 2, "default": "xx"}),
            {"type": "string", "description": "{minLength: 2, default: xx}"},
            {"type": "string", "minLength": 2, "default": "xx"},
            id="theirs leaves what the vendor does not list",
        ),
        pytest.param(
            tool("a", a={"oneOf": [STRING, {"type": "integer"}]}),
            {"anyOf": [STRING, {"type": "integer"}]},
            {"oneOf": [STRING, {"type": "integer"}]},
            id="theirs leaves oneOf",
        ),
        pytest.param(
            tool("a", a={"allOf": [STRING, {"enum": ["x"]}]}),
            {"type": "string", "enum": ["x"]},
            {"allOf": [STRING, {"enum": ["x"]}]},
            id="theirs leaves allOf of several",
        ),
    ],
)
def test_openai_does_less(schema: Schema, ours: Schema, theirs: Schema) -> None:
    assert strict_schema(schema, "openai-chat").schema["properties"]["a"] == ours
    assert by_openai(schema)["properties"]["a"] == theirs


def test_openai_lets_free_form_objects_through() -> None:
    schema = tool("a", a={"type": "object", "additionalProperties": STRING})
    assert by_openai(schema)["properties"]["a"]["additionalProperties"] == STRING
    assert not strict_schema(schema, "openai-chat").strict


def test_a_recursive_model_with_descriptions() -> None:
    """Theirs copies the model into itself until Python's stack ends."""
    with pytest.raises(RecursionError):
        to_strict_json_schema(Chain)
    strict = strict_schema(Chain.model_json_schema(), "openai-chat")
    assert strict.strict
    assert strict.schema["properties"]["next"] == {"anyOf": [{"$ref": "#/$defs/Chain"}], "description": "the next one"}


# ----------------------------------------------------------------------------------------------------------- Anthropic


@pytest.mark.parametrize(
    "schema",
    [
        tool("a", a=STRING),
        tool("", a=STRING, b={"type": "boolean", "description": "d"}),
        tool("a", a={"type": "array", "items": tool("", b=STRING), "minItems": 1}),
        tool("a", a={"type": "integer", "minimum": 1, "maximum": 10, "description": "A number"}),
        tool("a", a={"type": "string", "format": "uuid", "title": "A"}),
        # They fold the words in an order of their own, we in the author's.
        tool("a", a={"type": "string", "minLength": 3, "format": "slug"}),
        tool("a", a={"type": "array", "items": STRING, "maxItems": 3, "minItems": 2}),
        tool("a", a={"anyOf": [STRING, tool("", b=STRING)]}),
        tool("a", a={"oneOf": [STRING, {"type": "null"}]}),
        {**tool("a", a={"$ref": "#/$defs/A"}), "$defs": {"A": tool("", b=STRING)}},
    ],
)
def test_anthropic_agrees(schema: Schema) -> None:
    assert strict_schema(schema, "anthropic-messages").schema == transform_schema(copy.deepcopy(schema))
    assert strict_schema(schema, "bedrock-converse").schema == transform_schema(copy.deepcopy(schema))


@pytest.mark.parametrize(
    ("given", "ours", "theirs"),
    [
        pytest.param(
            {"$ref": "#/$defs/A", "description": "mine"},
            {"type": "string", "description": "mine"},
            {"$ref": "#/$defs/A"},
            id="theirs loses what stands beside a reference",
        ),
        pytest.param({"type": "string", "enum": ["x"]}, ..., {"enum": ["x"]}, id="theirs drops the type of an enum"),
        pytest.param(
            {"type": "string", "default": "x"},
            ...,
            {"type": "string", "description": "{default: x}"},
            id="documented and recorded",
        ),
        pytest.param({"allOf": [STRING]}, STRING, {"allOf": [STRING]}, id="theirs leaves allOf"),
    ],
)
def test_anthropic_differs(given: Schema, ours: Any, theirs: Schema) -> None:
    schema = {**tool("a", a=given), "$defs": {"A": STRING}}
    assert strict_schema(schema, "anthropic-messages").schema["properties"]["a"] == (given if ours is ... else ours)
    assert transform_schema(copy.deepcopy(schema))["properties"]["a"] == theirs


def test_anthropic_closes_what_is_open() -> None:
    """Theirs turns a free-form object into one that must be empty; we refuse."""
    schema = tool("a", a={"type": "object", "additionalProperties": STRING})
    theirs = transform_schema(copy.deepcopy(schema))["properties"]["a"]
    assert theirs == {"type": "object", "properties": {}, "additionalProperties": False}
    assert not strict_schema(schema, "anthropic-messages").strict


# -------------------------------------------------------------------------------------------------------------- Google


def by_google(schema: Schema) -> Schema:
    lowered = google.Schema.from_json_schema(json_schema=google.JSONSchema.model_validate(copy.deepcopy(schema)))
    return lowered.model_dump(mode="json", exclude_none=True, by_alias=True)


@pytest.mark.parametrize(
    "schema",
    [
        tool("a", a=STRING, b={"type": ["integer", "null"], "minimum": 0}),
        tool("a", a={"type": "array", "items": tool("b", b={"type": "boolean"}), "minItems": 1}),
        tool("a", a={"anyOf": [STRING, {"type": "integer"}]}),
        tool("a", a={"anyOf": [tool("b", b=STRING), {"type": "null"}]}),
        tool("a", a={**tool("b", b=STRING), "type": ["object", "null"]}),
        tool("a", a={"type": "string", "enum": ["x"], "title": "A", "description": "d"}),
        tool("a", a={"type": ["string", "integer"], "minLength": 1, "minimum": 2}),
        {**tool("a", a={"$ref": "#/$defs/A"}), "$defs": {"A": tool("b", b=STRING)}},
    ],
)
def test_google_agrees(schema: Schema) -> None:
    assert to_gemini_schema(schema).schema == by_google(schema)


@pytest.mark.parametrize(
    "schema",
    [
        tool("a", a={"type": "integer", "enum": [1, 2]}, b={"enum": ["x", None]}, c={"const": 1.5}),
        tool("a", a={"type": ["string", "number", "null"], "pattern": "x", "default": "x"}, b={"oneOf": [STRING]}),
        tool("a", a={"type": "array", "prefixItems": [STRING], "uniqueItems": True}, b={"examples": [[1]]}),
        tool("a", a={"$ref": "#"}, b={"type": "object", "additionalProperties": STRING, "minProperties": 1}),
    ],
)
def test_google_takes_what_we_say(schema: Schema) -> None:
    """Its model refuses keys that it does not know."""
    lowered = to_gemini_schema(schema).schema
    taken = google.Schema.model_validate(lowered)
    assert taken.model_dump(mode="json", exclude_none=True, by_alias=True) == lowered
    assert to_gemini_schema(from_gemini_schema(lowered)).schema == lowered
