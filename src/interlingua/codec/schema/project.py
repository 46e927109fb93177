"""`project_schema`: a tool's parameters in the part of JSON Schema that a dialect takes, strict or not."""

from typing import NamedTuple

from interlingua.codec.schema.narrow import Narrowed, narrow
from interlingua.codec.schema.rewrite import Rewriter
from interlingua.codec.schema.subsets import Subset, subset_of
from interlingua.codec.schema.walk import Schema

TOO_DEEP = "#: dropped, for it is nested deeper than Python's stack"


class Projection(NamedTuple):
    """A schema in a dialect's subset, and what had to change: a JSON pointer, a colon, a few words."""

    schema: Schema
    changes: tuple[str, ...]


def project_schema(schema: Schema, dialect: str) -> Projection:
    """``schema`` as the parameters of a tool in ``dialect``; the very same if nothing had to change.

    Gemini: for `parametersJsonSchema` and `responseJsonSchema` (the older `parameters`: ``to_gemini_schema``).
    Ollama: for tools only; its `format` takes any schema. The other dialects take any schema for a tool.
    """
    subset = subset_of(dialect)
    if subset.strict:
        return Projection(schema, ())
    projection = projected(schema, subset)
    if "description" in projection.schema and not subset.described_root:
        rest = {key: value for key, value in projection.schema.items() if key != "description"}
        return Projection(rest, (*projection.changes, "#: dropped description: parameters have none of their own"))
    return projection


def narrow_tool(schema: Schema, dialect: str) -> Narrowed | None:
    """The change that ``project_schema`` makes to the parameters of a tool, where that is simple; else None."""
    subset = subset_of(dialect)
    if subset.strict or schema.get("type") != "object":
        return None
    found = narrow(schema, subset)
    if found is None or subset.described_root:
        return found
    described = "description" in schema or (found.change is not None and "description" in dict(found.change.values))
    return None if described else found


def projected(schema: Schema, subset: Subset) -> Projection:
    try:
        rewriter = Rewriter(schema, subset)
        rewritten = rewriter.rewritten()
    except RecursionError:
        return Projection({"type": "object"}, (TOO_DEEP,))
    return Projection(rewritten if rewriter.changes else schema, tuple(rewriter.changes))
