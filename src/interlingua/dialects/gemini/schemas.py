"""Schemas: JSON Schema in the fields made for it, or the protocol's older ``Schema``, in upper case.

We write the former. The mark ``schema`` tells otherwise: ``verbatim`` (JSON Schema that we would have projected),
``Schema`` (the older field), ``plain`` (the older field, holding JSON Schema as it is), or the older one as it was
spelled, where another spelling would come back.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ...codec.schema import Projection, from_gemini_schema, project_schema, to_gemini_schema
from ...codec.schemas import Declared, Plans, narrowed
from ...codec.stream import decode_json, dump
from ...codec.tables import Ledger, is_plain_tool
from ...types.base import Json
from ...types.tools import Tool, ToolDefinition
from .key_case import Wire, is_array, is_object
from .media import NAME


class Fields(NamedTuple):
    """Where a schema stands: as JSON Schema, and as ``Schema``."""

    json: str
    older: str


PARAMETERS = Fields("parametersJsonSchema", "parameters")
OUTPUT = Fields("responseJsonSchema", "responseSchema")


def read_schema(rest: Wire, fields: Fields, forms: Wire, blanks: Wire) -> dict[str, Json] | None:
    """Pops a schema; of two, the second is residue."""
    for key in fields:
        wire = rest.get(key)
        if is_object(wire) and wire:
            del rest[key]
            return _json(wire, forms) if key == fields.json else _older(wire, forms)
        if key in rest and not wire:
            blanks[key] = rest.pop(key)
    return None


def _json(wire: Wire, forms: Wire) -> dict[str, Json]:
    if project(wire, older=False).changes:
        forms["schema"] = "verbatim"
    return wire


def _older(wire: Wire, forms: Wire) -> dict[str, Json]:
    try:
        schema = from_gemini_schema(wire)
        again = project(schema, older=True)
    except (TypeError, ValueError, AttributeError, KeyError, RecursionError):
        forms["schema"] = "plain"
        return wire
    if again.schema == wire and not again.changes:
        forms["schema"] = "Schema"
    else:
        forms["schema"] = "plain" if schema == wire else {"Schema": wire}
    return schema


def say_schema(
    schema: dict[str, Json], fields: Fields, mark: Wire, ledger: Ledger, *path: str | int
) -> tuple[str, dict[str, Json]]:
    """The field to write, and its value."""
    form = mark.get("schema")
    if form == "verbatim":
        return fields.json, schema
    if form == "plain":
        return fields.older, schema
    if is_object(form) and (standing := respelled(form["Schema"], schema)) is not None:
        return fields.older, standing
    older = form is not None
    projection = project(schema, older=older)
    if projection.changes:
        why, weight = narrowed(NAME, projection.changes)
        ledger.lose("approximated", why, *path, weight=weight)
    return fields.older if older else fields.json, projection.schema


def project(schema: dict[str, Json], *, older: bool) -> Projection:
    """A schema in one of the two subsets. Agents send the same schemas with every request, so texts are remembered."""
    text, changes = _projected(dump(schema), older)
    return Projection(schema if text is None else decode_json(text), changes)


def judge(schema: dict[str, Json]) -> tuple[dict[str, Json], tuple[Declared, ...]]:
    """A schema of parameters as JSON Schema of the protocol's own subset, and what to declare."""
    said, changes = project_schema(schema, NAME)
    if not changes:
        return said, ()
    why, weight = narrowed(NAME, changes)
    return said, (("approximated", why, "input_schema", weight),)


def is_usual(tool: Tool) -> bool:
    """A declaration of nothing but a name, a description and a schema."""
    return isinstance(tool, ToolDefinition) and is_plain_tool(tool) and bool(tool.description and tool.input_schema)


PLANS = Plans(judge, is_usual)


def all_fit(schemas: list[dict[str, Json]]) -> bool:
    """Whether none of some schemas needs projecting: the tools of an agent, which are the same in every request."""
    text = dump(schemas)
    if text != _fitting[0] and _all_fit(text):
        _fitting[0] = text  # what was asked last is not even looked up
    return text == _fitting[0]


_fitting = [b""]


@lru_cache(maxsize=64)
def _all_fit(text: bytes) -> bool:
    return not any(project_schema(schema, NAME).changes for schema in decode_json(text))


@lru_cache(maxsize=512)
def _projected(text: bytes, older: bool) -> tuple[bytes | None, tuple[str, ...]]:
    """The projection as a text; None for the very same."""
    schema = decode_json(text)
    said, changes = to_gemini_schema(schema) if older else project_schema(schema, NAME)
    return None if said == schema else dump(said), changes


def respelled(wire: Wire, schema: dict[str, Json]) -> dict[str, Json] | None:
    """A schema spelled as ``wire`` is, apart from words that have changed; None where more has changed than words."""
    before = from_gemini_schema(wire)
    if before == schema:
        return wire
    said: dict[str, Json] = _respelled(wire, before, schema)
    return said if from_gemini_schema(said) == schema else None


def _respelled(wire: Json, before: Json, after: Json) -> Json:
    if before == after:
        return wire
    if is_object(wire) and is_object(before) and is_object(after):
        return {key: _respelled(value, before.get(key), after.get(key)) for key, value in wire.items()}
    if is_array(wire) and is_array(before) and is_array(after) and len(wire) == len(before) == len(after):
        return [_respelled(*triple) for triple in zip(wire, before, after, strict=True)]
    return after if wire == before else wire
