"""Schemas: JSON Schema in the fields made for it, or the protocol's older ``Schema``, in upper case.

We write the former. The mark ``schema`` tells otherwise: ``verbatim`` (JSON Schema that we would have projected),
``Schema`` (the older field), ``plain`` (the older field, holding JSON Schema as it is), or the older one as it was
spelled, where another spelling would come back.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ...schema import Projection, from_gemini_schema, project_schema, to_gemini_schema
from ...types.base import Json
from .._stream import decode_json, dump
from .._tables import Ledger
from .media import NAME
from .spelling import Wire, is_array, is_object


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
        ledger.lose("approximated", "; ".join(projection.changes), *path)
    return fields.older if older else fields.json, projection.schema


def project(schema: dict[str, Json], *, older: bool) -> Projection:
    """A schema in one of the two subsets. Agents send the same schemas with every request, so texts are remembered."""
    text, changes = _projected(dump(schema), older)
    return Projection(schema if text is None else decode_json(text), changes)


def all_fit(schemas: list[dict[str, Json]]) -> bool:
    """Whether none of some schemas needs projecting: the tools of an agent, asked for at once.

    An agent's tools are the same in every request: the last that fitted are kept, as our own copy, and compared.
    """
    if _fitting and _fitting[0] == schemas:
        return True
    text = dump(schemas)
    fit = _all_fit(text)
    if fit:
        _fitting[:] = [decode_json(text)]
    return fit


_fitting: list[Json] = []


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
