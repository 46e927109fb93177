"""`strict_schema`: what is changed, what stays, and what cannot be."""

import copy
from typing import Any

import pytest

from interlingua.codec.schema import StrictSchema, project_schema, strict_schema

Schema = dict[str, Any]
NULL: Schema = {"type": "null"}
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


@pytest.mark.parametrize(
    ("optional", "nullable"),
    [
        (STRING, {"type": ["string", "null"]}),
        ({"type": ["string", "integer"]}, {"type": ["string", "integer", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        (
            {"type": "string", "enum": ["a"], "description": "d"},
            {"anyOf": [{"type": "string", "enum": ["a"]}, NULL], "description": "d"},
        ),
        ({"enum": ["a", None]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"const": 1}, {"anyOf": [{"type": "integer", "const": 1}, NULL]}),
        (
            {"anyOf": [STRING, {"type": "integer"}], "title": "T"},
            {"anyOf": [STRING, {"type": "integer"}, NULL], "title": "T"},
        ),
        ({"anyOf": [STRING, NULL]}, {"anyOf": [STRING, NULL]}),
        ({"oneOf": [STRING, {"const": 1}]}, {"anyOf": [STRING, {"type": "integer", "const": 1}, NULL]}),
        ({"$ref": "#/$defs/N"}, {"anyOf": [{"$ref": "#/$defs/N"}, NULL]}),
        (
            {"$ref": "#/$defs/N", "description": "d"},
            {"anyOf": [{"$ref": "#/$defs/N"}, NULL], "description": "d"},
        ),
        ({"$ref": "#/$defs/S", "description": "d"}, {"type": ["string", "null"], "description": "d"}),
        ({"allOf": [{"$ref": "#/$defs/S"}]}, {"anyOf": [{"$ref": "#/$defs/S"}, NULL]}),
        ({"type": "array", "items": STRING}, {"anyOf": [{"type": "array", "items": STRING}, NULL]}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (
            tool("", a=STRING),
            {"anyOf": [closed("a", a={"type": ["string", "null"]}), NULL]},
        ),
    ],
)
def test_optional_becomes_nullable(optional: Schema, nullable: Schema) -> None:
    defs = {
        "S": STRING,
        "N": closed("n", n={"anyOf": [{"$ref": "#/$defs/N"}, NULL]}),
    }
    strict = made({**tool("", p=optional), "$defs": defs})
    assert strict["properties"] == {"p": nullable}
    assert strict["required"] == ["p"]
    assert strict["additionalProperties"] is False
    assert strict["$defs"] == defs


def test_every_place_is_reached() -> None:
    inner = tool("", deep=STRING)
    strict = made(
        {
            **tool("l u", l={"type": "array", "items": inner}, u={"anyOf": [inner, NULL]}, o=inner),
            "$defs": {"D": inner},
            "definitions": {"E": inner},
        }
    )
    outer = closed("deep", deep={"type": ["string", "null"]})
    assert strict["properties"]["l"]["items"] == outer
    assert strict["properties"]["u"]["anyOf"][0] == outer
    assert strict["properties"]["o"]["anyOf"][0] == outer
    assert strict["$defs"]["D"] == strict["definitions"]["E"] == outer


def test_changes_are_told_with_their_places() -> None:
    schema = tool("b", **{"a/b": {"type": "string", "minLength": 2}, "b": {"const": "x"}})
    assert strict_schema(schema, "openai-chat").changes == (
        "#: closed: no other properties",
        "#/properties/a~1b: folded minLength into the description",
        "#/properties/b: named the type string",
        "#/properties/a~1b: required; null if left out",
    )


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


# ----------------------------------------------------------------------------------------------- words it does not take


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (
            {"type": "string", "minLength": 1, "maxLength": 9},
            {"type": "string", "description": "{minLength: 1, maxLength: 9}"},
        ),
        (
            {"type": "string", "format": "uri", "description": "d"},
            {"type": "string", "description": "d\n\n{format: uri}"},
        ),
        (
            {"type": "string", "format": "date-time", "pattern": "^a+$"},
            {"type": "string", "format": "date-time", "pattern": "^a+$"},
        ),
        ({"type": "string", "pattern": "^(?!x)"}, {"type": "string", "description": "{pattern: ^(?!x)}"}),
        ({"type": "integer", "format": "int64", "minimum": 0}, {"type": "integer", "format": "int64", "minimum": 0}),
        ({"type": "string", "default": "a"}, {"type": "string", "description": "{default: a}"}),
        ({"type": ["string", "null"], "default": None}, {"type": ["string", "null"]}),
        (
            {"type": "string", "examples": ["é"], "deprecated": True},
            {"type": "string", "description": '{examples: ["é"], deprecated: true}'},
        ),
        ({"type": "string", "$comment": "x", "$id": "urn:x"}, STRING),
        ({"type": "integer", "not": {"const": 3}}, {"type": "integer", "description": '{not: {"const": 3}}'}),
        (
            {"type": "array", "items": STRING, "uniqueItems": True, "minItems": 2},
            {"type": "array", "items": STRING, "minItems": 2, "description": "{uniqueItems: true}"},
        ),
        ({"allOf": [STRING], "description": "d"}, {"type": "string", "description": "d"}),
        (
            {"allOf": [{"type": "number", "minimum": 1}, {"type": "integer", "minimum": 3}]},
            {"type": "integer", "minimum": 3},
        ),
        ({"allOf": [{"type": "integer"}, {"type": "number"}]}, {"type": "integer"}),
        ({"$ref": "#/$defs/OpenApi", "title": "T"}, {"type": ["string", "null"], "title": "T"}),
        ({"allOf": [{"$ref": "#/$defs/O"}, tool("b", b=STRING)]}, closed("a b", a=STRING, b=STRING)),
        ({"$ref": "#/$defs/O", "title": "T"}, {**closed("a", a=STRING), "title": "T"}),
        (
            {"type": "object", "oneOf": [tool("a", a=STRING), {"$ref": "#/$defs/O"}]},
            {"anyOf": [closed("a", a=STRING), {"$ref": "#/$defs/O"}]},
        ),
        (
            {"oneOf": [{"const": "a"}, {"const": "b"}], "discriminator": {"propertyName": "kind"}},
            {"anyOf": [{"type": "string", "const": "a"}, {"type": "string", "const": "b"}]},
        ),
        ({"properties": {"a": STRING}, "required": ["a"]}, closed("a", a=STRING)),
        (
            {"type": "object", "additionalProperties": False},
            {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
        ),
        ({**tool("a", a=STRING), "additionalProperties": {"not": {}}}, closed("a", a=STRING)),
        ({"type": "string", "enum": [["x"], "y"]}, {"type": "string", "description": '{enum: [["x"], "y"]}'}),
        ({"type": "string", "enum": None, "minimum": "1"}, STRING),
    ],
)
def test_said_in_other_words(given: Schema, wanted: Schema) -> None:
    defs = {"O": tool("a", a=STRING), "OpenApi": {"type": "string", "nullable": True}}
    schema = {**closed("p", p=given), "$defs": defs}
    assert made(schema)["properties"]["p"] == wanted


def test_conditions_are_left_to_the_description() -> None:
    names = {"a": STRING, "b": STRING}
    one_of_them = {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "dependentRequired": {"a": ["b"]}}
    strict = made({**tool("", **names), **one_of_them})
    assert "anyOf" not in strict
    assert strict["description"] == (
        '{anyOf: [{"required": ["a"]}, {"required": ["b"]}]}\n\n{dependentRequired: {"a": ["b"]}}'
    )


def test_root_reference_becomes_the_object_it_names() -> None:
    node = closed("next", next={"anyOf": [{"$ref": "#/$defs/Node"}, NULL]})
    assert made({"$ref": "#/$defs/Node", "$defs": {"Node": node}}) == {"$defs": {"Node": node}, **node}


def test_a_reference_to_any_place_gets_a_definition() -> None:
    """As zod writes them: `#/properties/a` becomes nullable where it stands, its other users must not."""
    schema = tool("b", a=STRING, b={"type": "array", "items": {"$ref": "#/properties/a"}})
    strict = made(schema)
    assert strict["properties"]["a"] == {"type": ["string", "null"]}
    assert strict["properties"]["b"]["items"] == {"$ref": "#/$defs/properties_a"}
    assert strict["$defs"] == {"properties_a": STRING}
    taken = made({**schema, "$defs": {"properties_a": {"type": "integer"}}})
    assert taken["properties"]["b"]["items"] == {"$ref": "#/$defs/properties_a_2"}
    assert taken["$defs"] == {"properties_a": {"type": "integer"}, "properties_a_2": STRING}


def test_references_as_openapi_writes_them() -> None:
    pet = tool("owner", owner={"$ref": "#/components/schemas/Owner"})
    components = {"schemas": {"Pet": pet, "Owner": tool("pet", pet={"$ref": "#/components/schemas/Pet"})}}
    strict = made({**closed("pet", pet={"$ref": "#/components/schemas/Pet"}), "components": components})
    assert strict["properties"]["pet"] == {"$ref": "#/$defs/Pet"}
    assert strict["$defs"] == {
        "Pet": closed("owner", owner={"$ref": "#/$defs/Owner"}),
        "Owner": closed("pet", pet={"$ref": "#/$defs/Pet"}),
    }
    assert "description" not in strict


def test_references_to_the_root_stay() -> None:
    strict = made(tool("kids", kids={"type": "array", "items": {"$ref": "#"}}, name=STRING))
    assert strict["properties"]["kids"]["items"] == {"$ref": "#"}


# -------------------------------------------------------------------------------------------------------- it cannot be


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"type": "object"}, "free-form"),
        ({"type": "object", "properties": {}}, "free-form"),
        ({**tool("a", a=STRING), "additionalProperties": True}, "additionalProperties lets any name in"),
        ({"type": "object", "additionalProperties": STRING}, "additionalProperties lets any name in"),
        ({**tool("a", a=STRING), "patternProperties": {"^x": {}}}, "properties without fixed names"),
        ({}, "accepts anything"),
        ({"description": "any"}, "accepts anything"),
        (True, "a boolean schema has no type"),
        ({"type": "array"}, "items of the array"),
        ({"type": "array", "items": {}}, "items of the array"),
        ({"type": "array", "prefixItems": [STRING], "items": STRING}, "differ by position"),
        ({"$ref": "#/$defs/Missing"}, "#/$defs/Missing names nothing"),
        ({"$ref": "https://example.com/schema"}, "names nothing"),
        ({"allOf": [STRING, {"type": "integer"}]}, "allOf cannot be merged"),
        ({"allOf": [closed("a", a=STRING), tool("b", b=STRING)]}, "allOf cannot be merged"),
        ({"allOf": [{"type": "string", "pattern": "a"}, {"pattern": "b"}]}, "allOf cannot be merged"),
        ({"allOf": [STRING, True]}, "allOf cannot be merged"),
        ({"$ref": "#/$defs/Loop", "required": ["a"]}, "copies of #/$defs/Loop would not end"),
        ({**tool("a", a=STRING), "anyOf": [tool("b", b=STRING)]}, "anyOf adds to what stands beside"),
        ({**tool("a", a=STRING), "if": {}, "then": tool("b", b=STRING)}, "then adds properties"),
        (tool("a ghost", a=STRING), "ghost is required but not declared"),
    ],
)
@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic-messages"])
def test_cannot_be_strict(given: Any, why: str, dialect: str) -> None:
    loop = tool("", a={"$ref": "#/$defs/Loop", "required": ["a"]})
    schema = {**tool("p", p=given), "$defs": {"Loop": loop} if "Loop" in str(given) else {}}
    assert why in refused(schema, dialect)


@pytest.mark.parametrize(
    "root",
    [
        STRING,
        {"anyOf": [tool("a", a=STRING)]},
        {"type": "object", "oneOf": [tool("a", a=STRING)]},
        {"type": ["object", "null"], "properties": {"a": STRING}},
        {"type": "object"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
    ],
)
def test_the_root_is_an_object(root: Schema) -> None:
    for dialect in (*OPENAI, *ANTHROPIC):
        refused(root, dialect)


def test_a_tool_without_parameters_is_strict() -> None:
    assert made({"type": "object", "properties": {}}) == closed()


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


# ----------------------------------------------------------------------------------------------------------- Anthropic


def test_anthropic_keeps_optional_properties_and_folds_bounds() -> None:
    schema = tool(
        "a", a={"type": "integer", "minimum": 1, "default": 2}, b=tool("", c={"type": "string", "format": "uri"})
    )
    assert made(schema, "anthropic-messages") == closed(
        "a",
        a={"type": "integer", "default": 2, "description": "{minimum: 1}"},
        b=closed("", c={"type": "string", "format": "uri"}),
    )


def test_anthropic_takes_no_recursion() -> None:
    schema = {**tool("", n={"$ref": "#/$defs/N"}), "$defs": {"N": tool("", n={"$ref": "#/$defs/N"})}}
    assert "#/$defs/N is recursive" in refused(schema, "anthropic-messages")
    assert "is recursive" in refused(tool("", self={"$ref": "#"}), "bedrock-converse")


def test_what_is_used_twice_is_not_recursive() -> None:
    refs = {name: {"$ref": f"#/$defs/{name}"} for name in ("B", "C", "D")}
    defs = {
        "A": closed("b c", b=refs["B"], c=refs["C"]),
        "B": closed("d", d=refs["D"]),
        "C": closed("d", d=refs["D"]),
        "D": STRING,
    }
    schema = {**closed("a d", a={"$ref": "#/$defs/A"}, d=refs["D"]), "$defs": defs}
    assert made(schema, "anthropic-messages") is schema


def test_anthropic_describes_a_reference_by_a_copy() -> None:
    schema = {
        **closed("a", a={"$ref": "#/$defs/A", "description": "mine"}),
        "$defs": {"A": {"type": "string", "description": "theirs"}},
    }
    assert made(schema, "anthropic-messages")["properties"]["a"] == {"type": "string", "description": "mine\n\ntheirs"}
