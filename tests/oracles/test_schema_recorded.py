"""Schemas that real clients sent, and what the provider said to them."""

import collections
import json
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from interlingua.codec.schema import from_gemini_schema, narrow_tool, project_schema, strict_schema, to_gemini_schema
from interlingua.codec.schema.patches import changed, compiled, difference
from shared_data import CLIENTS, corpus, needs_shared

Schema = dict[str, Any]
DIALECTS = ("openai-chat", "openai-responses", "anthropic-messages", "bedrock-converse", "gemini", "ollama")
pytestmark = needs_shared


class Sent(NamedTuple):
    dialect: str
    provider: str
    status: int
    strict: bool
    schema: Schema
    id: str


def schemas_in(body: Schema) -> Iterator[tuple[bool, Any]]:
    """(the strict flag, the schema) of every tool and output format, in OpenAI's and Anthropic's words."""
    for tool in body.get("tools") or ():
        if isinstance(tool, dict):
            function = tool.get("function", tool)
            yield function.get("strict") is True, function.get("parameters") or function.get("input_schema")
            yield from ((inner.get("strict") is True, inner.get("parameters")) for inner in tool.get("tools") or ())
    for place, keys in (("response_format", ("json_schema",)), ("text", ("format",)), ("output_config", ("format",))):
        found = body.get(place)
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, dict):
            yield found.get("strict") is True or place == "output_config", found.get("schema")


@cache
def recorded() -> list[Sent]:
    """Each schema once for each dialect and answer."""
    found: dict[str, Sent] = {}
    for dialect in ("openai-chat", "openai-responses", "anthropic-messages"):
        for record in corpus(dialect):
            if isinstance(body := record["request"], dict):
                for strict, schema in schemas_in(body):
                    if isinstance(schema, dict):
                        sent = Sent(dialect, record["provider"], record["status"], strict, schema, record["id"])
                        found.setdefault(json.dumps(sent[:5]), sent)
    return list(found.values())


def from_clients() -> list[Schema]:
    bodies = [json.loads(path.read_bytes()).get("body") for path in sorted(CLIENTS.glob("*/*.json"))]
    return [
        schema
        for body in bodies
        if isinstance(body, dict)
        for _, schema in schemas_in(body)
        if isinstance(schema, dict)
    ]


def test_no_recorded_schema_makes_us_raise() -> None:
    schemas = {json.dumps(schema): schema for schema in [*(sent.schema for sent in recorded()), *from_clients()]}
    assert len(schemas) > 500
    for text, schema in schemas.items():
        for dialect in DIALECTS:
            result = strict_schema(schema, dialect)
            assert json.dumps(schema) == text
            if result.strict:
                assert strict_schema(result.schema, dialect) == (result.schema, True, ())
            projection = project_schema(schema, dialect)
            assert project_schema(projection.schema, dialect) == (projection.schema, ())
            if (found := narrow_tool(schema, dialect)) is not None:
                said = schema if found.change is None else changed(schema, found.change)
                assert (json.dumps(said), found.changes) == (json.dumps(projection.schema), projection.changes)
            if (change := difference(schema, projection.schema)) is not None:
                (changer,) = compiled([change])
                assert json.dumps(changer(schema)) == json.dumps(changed(schema, change))
        assert "$ref" not in json.dumps(to_gemini_schema(schema).schema)


def test_what_openai_took_as_strict_is_strict() -> None:
    """966 requests, 158 schemas. What we change in them is known: `default` and `minLength` are taken although the
    vendor does not list them, and are folded all the same."""
    taken = [s for s in recorded() if s.strict and s.status == 200 and s.provider in ("openai", "azure")]
    taken = [s for s in taken if s.dialect.startswith("openai")]
    changes: collections.Counter[str] = collections.Counter()
    for sent in taken:
        result = strict_schema(sent.schema, sent.dialect)
        assert result.strict, (sent.id, result.changes)
        changes.update(change.split(": ", 1)[1] for change in result.changes)
    assert len(taken) > 100
    assert changes.keys() <= {
        "folded default into the description",
        "folded minLength into the description",
        "dropped default",
    }


def test_what_anthropic_took_as_strict_is_strict() -> None:
    taken = [s for s in recorded() if s.strict and s.status == 200 and s.provider == "anthropic"]
    changes: collections.Counter[str] = collections.Counter()
    for sent in taken:
        result = strict_schema(sent.schema, "anthropic-messages")
        assert result.strict, (sent.id, result.changes)
        changes.update(change.split(": ", 1)[1] for change in result.changes)
    assert len(taken) > 30
    assert changes.keys() <= {"merged the parts of allOf"}


def test_what_anthropic_refused_as_strict_we_refuse() -> None:
    """Unions and cycles at the root, scalars, booleans, dangling references, too many optional or union properties."""
    refused = [s for s in recorded() if s.strict and s.status == 400 and "strict_schema" in s.id]
    assert len(refused) >= 9
    assert [s.id for s in refused if strict_schema(s.schema, "anthropic-messages").strict] == []


def test_what_others_sent_to_gemini_is_raised_and_lowered() -> None:
    for record in corpus("gemini"):
        for schema in gemini_schemas(record["request"]):
            raised = from_gemini_schema(schema)
            assert not any(word.isupper() for word in type_words(raised))
            again = from_gemini_schema(to_gemini_schema(raised).schema)
            assert again == from_gemini_schema(to_gemini_schema(again).schema)


def gemini_schemas(body: Any) -> Iterator[Schema]:
    for tool in (body or {}).get("tools") or ():
        if isinstance(tool, dict):
            for declaration in tool.get("functionDeclarations") or ():
                if isinstance(declaration.get("parameters"), dict):
                    yield declaration["parameters"]
    config = (body or {}).get("generationConfig") or {}
    yield from (config[key] for key in ("responseSchema", "response_schema") if isinstance(config.get(key), dict))


def type_words(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(word := schema.get("type"), str):
            yield word
        for child in schema.values():
            yield from type_words(child)
