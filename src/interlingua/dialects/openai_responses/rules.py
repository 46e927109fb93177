"""What OpenAI Responses refuses in a value that another dialect or the caller made, and what is written instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from ...codec.json import Wire
from ...codec.ledger import Ledger
from ...codec.rows.row import Rule
from ...codec.rules import drop, hosted_here, lacking, matching, present, rule, when
from ...codec.schema.plans import is_strict_form, write_strict_schema
from ...types.blocks import (
    Block,
    Citation,
    DocumentBlock,
    FileSource,
    ImageBlock,
    JsonBlock,
    RefusalBlock,
    TextBlock,
    TextSource,
    ToolResultBlock,
    ToolUseBlock,
)
from ...types.tools import ToolDefinition
from ..openai import named_documents, one_word
from ..openai_tools import no_error_flag
from .facts import DETAIL, NAME, TOOL_NAME, TTLS

if TYPE_CHECKING:
    from .tools import Scribe

NO_FLAG = f"{NAME} has no error flag"
CACHE_TIME = f"{NAME} caches for {' or '.join(TTLS)} only"
CACHE_ON_PARTS = f"{NAME} has cache marks on the parts of a result only"

# ------------------------------------------------------------------------------------------------------ parts and calls


def _is_stored_here(block: ImageBlock | DocumentBlock) -> bool:
    return type(block.source) is not FileSource or block.source.dialect in (None, NAME)


def _is_no_text(block: ImageBlock) -> bool:
    return type(block.source) is not TextSource


def _with_detail(block: ImageBlock, ledger: Ledger) -> ImageBlock:
    ledger.lose_form("added", f"{NAME} requires `detail` of an image; `{DETAIL}` was added", "detail")
    return replace(block, detail=DETAIL)


def _is_cited_at(block: TextBlock) -> bool:
    return not any(map(_lacks_place, block.citations))


def _lacks_place(citation: Citation) -> bool:
    return citation.kind == "url" and None in (citation.title, citation.start, citation.end)


def _with_places(block: TextBlock, ledger: Ledger) -> TextBlock:
    """The text with citations that have a title and a position: of the whole text where they have none."""
    usual: dict[str, Any] = {"title": "", "start": 0, "end": len(block.text)}
    citations = list(block.citations)
    for index, citation in enumerate(citations):
        if not _lacks_place(citation) or citation.url is None:
            continue
        lacking = [field for field in usual if getattr(citation, field) is None]
        for field in lacking:
            ledger.lose_form("added", f"{NAME} requires a title and a position; added", "citations", index, field)
        citations[index] = replace(citation, **{field: usual[field] for field in lacking})
    return replace(block, citations=tuple(citations))


def _is_from_here(citation: Citation) -> bool:
    return NAME in citation.extras


def _renamed(value: ToolUseBlock | ToolDefinition, ledger: Ledger) -> ToolUseBlock | ToolDefinition:
    return replace(value, name=cast("Scribe", ledger).tool_name(value.name))


# fmt: off
STORED_HERE   = rule(when("source", _is_stored_here),
                     drop(f"the file is stored with {{0.source.dialect}}, which {NAME} cannot read", "state"))
PICTURE       = rule(when("source", _is_no_text),
                     drop(f"{NAME} takes images as data, by URL or by file id, not as text"))
HAS_DETAIL    = rule(present("detail"),                        _with_detail)
HAS_FILENAME, HAS_OWN_TITLE = named_documents(NAME)
CITED_AT      = Rule("citations", _is_cited_at, _with_places,
                     "not {0}.citations or {all}({0})", names={"all": _is_cited_at})
HAS_URL       = rule(present("url"),                           drop(f"a URL citation of {NAME} needs a URL"))
OUR_CITATION  = rule(when("kind", _is_from_here),              drop(f"{NAME} has no {{0.kind}} citations"))
NAMED_WELL    = rule(matching("name", TOOL_NAME),              _renamed, history=True)
HOSTED_HERE   = hosted_here(NAME)
# fmt: on

# ------------------------------------------------------------------------------------------------------------ results


def _with_cache_inside(block: ToolResultBlock, ledger: Ledger) -> ToolResultBlock:
    """The cache mark on the last part of a result."""
    content = list(block.content)
    last = next((at for at in range(len(content) - 1, -1, -1) if isinstance(content[at], _PARTS)), None)
    if last is None or content[last].cache is not None:
        ledger.lose("dropped", CACHE_ON_PARTS, "cache")
        return replace(block, cache=None)
    ledger.lose_form("moved", CACHE_ON_PARTS, "cache")
    ledger.lose_form("added", CACHE_ON_PARTS, "content", last, "cache")
    cache = block.cache
    if cache is not None and cache.ttl not in (None, *TTLS):
        ledger.lose("dropped", CACHE_TIME, "cache", "ttl")
        cache = replace(cache, ttl=None)
    moved: Block = replace(content[last], cache=cache)
    content[last] = moved
    return replace(block, cache=None, content=tuple(content))


_PARTS = (TextBlock, ImageBlock, DocumentBlock, JsonBlock, RefusalBlock)

# fmt: off
NO_ERROR_FLAG = no_error_flag(NAME, "text")
NO_CACHE      = rule(lacking("cache"),                         _with_cache_inside)
# fmt: on

# --------------------------------------------------------------------------------------------------------- parameters


def _is_sendable(tool: ToolDefinition) -> bool:
    schema = tool.input_schema
    if schema.get("type") != "object" or ("properties" not in schema and write_object(schema) is not schema):
        return False
    return not tool.strict or is_strict_form(schema, NAME)


USUAL = "not {0}.strict and {0}.input_schema.get('type') == 'object' and 'properties' in {0}.input_schema"
IS_SENDABLE = f"({USUAL}) or {{holds}}({{0}})"


def _as_sendable(tool: ToolDefinition, ledger: Ledger) -> ToolDefinition:
    """The tool with a schema that the provider takes, strict if that is possible."""
    schema, strict = tool.input_schema, tool.strict
    if strict:
        schema, able = write_strict_schema(schema, NAME, ledger, "input_schema")
        strict = able
    written = write_object(schema)
    for key in written:
        if key not in schema or written[key] != schema[key]:
            ledger.lose_form("added", f"{NAME} requires `{key}` of parameters", "input_schema", key)
    return replace(tool, input_schema=written, strict=strict)


def write_object(schema: Wire) -> Wire:
    """A schema as the provider takes it at all: of type object, naming its properties."""
    if schema.get("type") != "object":
        schema = {"type": "object", **{key: value for key, value in schema.items() if key != "type"}}
    if "properties" not in schema and schema.keys().isdisjoint(("anyOf", "oneOf", "allOf", "$ref")):
        schema = {**schema, "properties": {}}
    return schema


# fmt: off
SENDABLE      = Rule("input_schema", _is_sendable, _as_sendable, IS_SENDABLE, names={"holds": _is_sendable})
ONE_WORD      = one_word(NAME)
# fmt: on
