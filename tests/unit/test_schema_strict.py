"""`strict_schema`: what is changed, what stays, and what cannot be."""

import copy
from typing import Any

import pytest

from interlingua.codec.schema import StrictSchema, project_schema, strict_schema

Schema = dict[str, Any]
STRING: Schema = {"type": "string"}
OPENAI = ("openai-chat", "openai-responses")
ANTHROPIC = ("anthropic-messages", "bedrock-converse")


def tool(required: str = "", /, **properties: Any) -> Schema:
    """A root in no dialect's subset: open, some properties optional."""
    return {"type": "object", "properties": properties, "required": required.split()}


def closed(required: str = "", /, **properties: Any) -> Schema:
    return {**tool(required, **properties), "additionalProperties": False}


def made(schema: Schema, dialect: str = "openai-chat") -> Schema:
    before = copy.deepcopy(schema)
    result = strict_schema(schema, dialect)
    assert result.strict, result.changes
    assert schema == before
    assert strict_schema(result.schema, dialect) == (result.schema, True, ())
    return result.schema


def refused(schema: Schema, dialect: str = "openai-chat") -> str:
    result = strict_schema(schema, dialect)
    assert not result.strict
    assert result.schema is schema
    assert all(": cannot be strict: " in change for change in result.changes)
    return "; ".join(result.changes)


# --------------------------------------------------------------------------------------------------- optional: OpenAI


@pytest.mark.parametrize("dialect", [*OPENAI, *ANTHROPIC, "gemini", "ollama"])
def test_a_schema_in_the_subset_comes_back_itself(dialect: str) -> None:
    schema = tool("a", a={"type": "string", "description": "d"})
    if dialect not in ("gemini", "ollama"):
        schema = {"additionalProperties": False, **schema}
    result = strict_schema(schema, dialect)
    assert result == StrictSchema(schema, True, ())
    assert result.schema is schema


def test_unknown_dialect() -> None:
    for ask in (strict_schema, project_schema):
        with pytest.raises(
            ValueError, match=r"'morse'; known: anthropic-messages, bedrock-converse, gemini, ollama, open"
        ):
            ask({}, "morse")


# -------------------------------------------------------------------------------------------------------------- limits


def nested(levels: int) -> Schema:
    schema = closed("leaf", leaf=STRING)
    for _ in range(levels - 1):
        schema = closed("inner", inner=schema)
    return schema


def enum(count: int, length: int = 4) -> Schema:
    return closed("e", e={"type": "string", "enum": [f"{i:0{length}}" for i in range(count)]})


@pytest.mark.parametrize(
    ("fits", "exceeds", "why"),
    [
        (nested(10), nested(11), "11 levels of objects"),
        (enum(1000), enum(1001), "1001 enum values"),
        (enum(250, 99), enum(251, 99), "24849 characters in an enum of more than 250"),
        (closed("a", a=STRING), closed("a" * 120_001, **{"a" * 120_001: STRING}), "120001 characters"),
        (
            closed(" ".join(f"p{i}" for i in range(5000)), **{f"p{i}": STRING for i in range(5000)}),
            closed(" ".join(f"p{i}" for i in range(5001)), **{f"p{i}": STRING for i in range(5001)}),
            "5001 properties",
        ),
    ],
    ids=["nesting", "enum", "long enum", "characters", "properties"],
)
def test_openai_limits(fits: Schema, exceeds: Schema, why: str) -> None:
    assert made(fits) == fits
    assert why in refused(exceeds)


def test_anthropic_limits() -> None:
    def some(count: int, kind: Any) -> Schema:
        return closed("", **{f"p{i}": {"type": kind} for i in range(count)})

    assert made(some(24, "string"), "anthropic-messages") == some(24, "string")
    assert "25 optional properties" in refused(some(25, "string"), "bedrock-converse")
    unions = {**some(16, ["string", "null"]), "required": [f"p{i}" for i in range(16)]}
    assert "16 properties with a union type" in refused(unions, "anthropic-messages")
