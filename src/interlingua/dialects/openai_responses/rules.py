"""What OpenAI Responses refuses in a value that another dialect or the caller made, and what is written instead.

Ids of calls are derived where it refuses the caller's own; ``Scribe`` keeps those of one request.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ...codec.history.issuer import same_issuer
from ...codec.json import Wire
from ...codec.ledger import Ledger
from ...codec.marks import marks
from ...codec.rows.row import Rule
from ...codec.rules import drop, hosted_here, lacking, present, rule, when
from ...codec.schema.plans import is_strict_form, write_strict_schema
from ...codec.tools.ids import IdMap, IdRule
from ...codec.tools.tool_names import verbatim_name
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
from ...types.capabilities import Target
from ...types.messages import Origin
from ...types.tools import ToolDefinition
from ..openai import named_documents, one_word
from ..openai_tools import no_error_flag
from .facts import CALL_ID, DETAIL, LONGEST_ID, NAME, NAMES, TTLS

DERIVED_ID = f"{NAME} takes unique ids of up to {LONGEST_ID} characters; one was derived"
NO_FLAG = f"{NAME} has no error flag"
CACHE_TIME = f"{NAME} caches for {' or '.join(TTLS)} only"
CACHE_ON_PARTS = f"{NAME} has cache marks on the parts of a result only"

# ------------------------------------------------------------------------------------------------------ names and ids


def is_verbatim(value: ToolUseBlock, field: str) -> bool:
    """Whether a field was read here although the provider would refuse it."""
    return bool(value.forms) and field in marks(NAME, value).get("verbatim", ())


class Scribe(Ledger):
    """A ledger that also keeps the ids of one request, and knows who reads it.

    A call is written with the id that this protocol's server gave it, where a conversation has ids of its own. Two
    calls of one history may have the same id where their protocol numbers them anew in each turn: here an id is given
    once, and a result answers the latest call of its id.
    """

    __slots__ = (
        *("_ids", "_trusted", "_turns"),
        *("calls", "derived", "namespaces", "reader", "renamed", "taken"),
    )

    def __init__(self, reader: Target | None = None) -> None:
        super().__init__()
        self.reader = reader
        self._ids: IdMap | None = None
        self._trusted: Origin | None = None
        self._turns: dict[str, int] = {}  # how often an id was given anew
        self.calls: dict[str, bool | None] = {}
        """By id: a call without a result is False, or True if it is of free text. One with a result is None."""
        self.renamed: dict[str, str] = {}  # what a call is called here, where that is not its own id
        self.derived: set[str] = set()  # calls that have another id since the provider would refuse theirs
        self.taken: set[str] = set()  # ids that are given to a call under another id
        self.namespaces: dict[str, str] = {}

    def call_id(self, block: ToolUseBlock) -> str:
        """The id to write for a call."""
        own = block.id
        id = wanted = block.native_ids.get(NAME, own) if block.native_ids else own
        if not self.takes(wanted) and not is_verbatim(block, "id"):
            id = self._derived_id(wanted)
        if self.renamed or self.derived:
            self.renamed.pop(own, None)
            self.derived.discard(own)
        if id != own:
            self.renamed[own] = id
            self.taken.add(id)
        if id != wanted:
            self.lose_form("approximated", DERIVED_ID, "id")
            self.derived.add(own)
        self.calls[own] = block.kind == "text"
        return id

    def takes_as_it_is(self, block: ToolUseBlock) -> bool:
        """Note a call that is new and is written with its own id; False for another."""
        id = block.id
        if block.native_ids or id in self.calls or id in self.taken or not 0 < len(id) <= LONGEST_ID:
            return False
        self.calls[id] = block.kind == "text"
        return True

    def forget(self, blocks: Iterable[Block]) -> None:
        """Take back what ``takes_as_it_is`` noted."""
        for block in blocks:
            if type(block) is ToolUseBlock:
                del self.calls[block.id]

    def takes(self, id: str) -> bool:
        """Whether a call can be written with this id."""
        return id not in self.calls and id not in self.taken and 0 < len(id) <= LONGEST_ID

    def _derived_id(self, wanted: str) -> str:
        if self._ids is None:
            self._ids = IdMap(IdRule(CALL_ID))
        id, head = self._ids.fit(wanted), wanted[:48]
        while not self.takes(id):
            self._turns[head] = turn = self._turns.get(head, 0) + 1
            id = self._ids.fit(f"{head}_{turn}")
        return id

    def answers(self, id: str) -> tuple[str, bool]:
        """The id to write for a result, and whether it answers free text: a result of no known call, the open one."""
        free = self.calls.get(id)
        if free is not None:
            self.calls[id] = None
        else:
            free = id not in self.calls and True in self.calls.values()
        if id in self.derived:
            self.lose_form("approximated", "the call was given another id", "tool_use_id")
        return self.renamed.get(id, id), free

    def answers_plainly(self, block: ToolResultBlock) -> bool:
        """Note a result of a call that is not of free text and was written with its own id; False for another."""
        id = block.tool_use_id
        if block.forms or self.renamed or self.derived or self.calls.get(id) is not False:
            return False
        self.calls[id] = None
        return True

    def trusts(self, origin: Origin | None) -> bool:
        """Whether what this origin signed may be sent to the reader. Most of a history is of one origin."""
        if origin is None or origin is self._trusted:
            return True
        if not same_issuer(origin, NAME, self.reader):
            return False
        self._trusted = origin
        return True


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
VERBATIM_NAME = verbatim_name(NAMES)
RESULT_NAME   = verbatim_name(NAMES, optional=True)
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
