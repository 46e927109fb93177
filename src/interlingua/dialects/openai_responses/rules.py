"""Values of other dialects or of the caller that OpenAI Responses refuses, and what is written instead.

The id of a call that the provider would refuse is replaced by a derived one; ``Scribe`` keeps the ids of one request.
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
    """A ledger that also keeps the ids of calls in one request, and knows its target.

    A call is written with the id that this protocol's server gave it (``native_ids``), if it has one. Protocols that
    number calls anew in each turn repeat ids. This protocol does not allow it, so the later calls get derived ids, and
    a result answers the latest call with its id.
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
        self._turns: dict[str, int] = {}  # how many ids were derived from the same beginning
        self.calls: dict[str, bool | None] = {}
        """By id of the call: None if it has a result, else whether it is a call of a free-text tool."""
        self.renamed: dict[str, str] = {}  # the written id of each call that is written with another id than its own
        self.derived: set[str] = set()  # the calls whose own id the provider would refuse
        self.taken: set[str] = set()  # the ids under which renamed calls are written
        self.namespaces: dict[str, str] = {}  # the namespace of each tool that has one

    def call_id(self, block: ToolUseBlock) -> str:
        """The id to write for a call."""
        own = block.id
        id = wanted = block.native_ids.get(NAME, own) if block.native_ids else own
        if not self.can_use_id(wanted) and not is_verbatim(block, "id"):
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

    def note_own_id(self, block: ToolUseBlock) -> bool:
        """Remember a call that can be written with its own id; return False, and remember nothing, for any other."""
        id = block.id
        if block.native_ids or id in self.calls or id in self.taken or not 0 < len(id) <= LONGEST_ID:
            return False
        self.calls[id] = block.kind == "text"
        return True

    def forget(self, blocks: Iterable[Block]) -> None:
        """Forget calls that ``note_own_id`` remembered."""
        for block in blocks:
            if type(block) is ToolUseBlock:
                del self.calls[block.id]

    def can_use_id(self, id: str) -> bool:
        """Whether a call can be written with this id."""
        return id not in self.calls and id not in self.taken and 0 < len(id) <= LONGEST_ID

    def _derived_id(self, wanted: str) -> str:
        if self._ids is None:
            self._ids = IdMap(IdRule(CALL_ID))
        id, head = self._ids.fit(wanted), wanted[:48]
        while not self.can_use_id(id):
            self._turns[head] = turn = self._turns.get(head, 0) + 1
            id = self._ids.fit(f"{head}_{turn}")
        return id

    def answer(self, id: str) -> tuple[str, bool]:
        """The id to write for a result, and whether its call is of a free-text tool.

        A result of an unknown call counts as free text if a free-text call has no result yet.
        """
        free = self.calls.get(id)
        if free is not None:
            self.calls[id] = None
        else:
            free = id not in self.calls and True in self.calls.values()
        if id in self.derived:
            self.lose_form("approximated", "the call was given another id", "tool_use_id")
        return self.renamed.get(id, id), free

    def note_plain_result(self, block: ToolResultBlock) -> bool:
        """Remember a result without marks whose call takes JSON and was written with its own id; False for others."""
        id = block.tool_use_id
        if block.forms or self.renamed or self.derived or self.calls.get(id) is not False:
            return False
        self.calls[id] = None
        return True

    def trusts(self, origin: Origin | None) -> bool:
        """Whether signatures of this origin may be sent to the target. The last trusted origin is cached."""
        if origin is None or origin is self._trusted:
            return True
        if not same_issuer(origin, NAME, self.reader):
            return False
        self._trusted = origin
        return True


# ------------------------------------------------------------------------------------------------------ parts and calls


def _is_stored_here(block: ImageBlock | DocumentBlock) -> bool:
    return type(block.source) is not FileSource or block.source.dialect in (None, NAME)


def _has_no_text_source(block: ImageBlock) -> bool:
    return type(block.source) is not TextSource


def _with_detail(block: ImageBlock, ledger: Ledger) -> ImageBlock:
    ledger.lose_form("added", f"{NAME} requires `detail` of an image; `{DETAIL}` was added", "detail")
    return replace(block, detail=DETAIL)


def _is_cited_at(block: TextBlock) -> bool:
    return not any(map(_lacks_place, block.citations))


def _lacks_place(citation: Citation) -> bool:
    return citation.kind == "url" and None in (citation.title, citation.start, citation.end)


def _with_places(block: TextBlock, ledger: Ledger) -> TextBlock:
    """The text with a title and a position for each URL citation; the default position is the whole text."""
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


def _was_read_here(citation: Citation) -> bool:
    return NAME in citation.extras


# fmt: off
STORED_HERE   = rule(when("source", _is_stored_here),
                     drop(f"the file is stored with {{0.source.dialect}}, which {NAME} cannot read", "state"))
PICTURE       = rule(when("source", _has_no_text_source),
                     drop(f"{NAME} takes images as data, by URL or by file id, not as text"))
HAS_DETAIL    = rule(present("detail"),                        _with_detail)
HAS_FILENAME, HAS_OWN_TITLE = named_documents(NAME)
CITED_AT      = Rule("citations", _is_cited_at, _with_places,
                     "not {0}.citations or {all}({0})", names={"all": _is_cited_at})
HAS_URL       = rule(present("url"),                           drop(f"a URL citation of {NAME} needs a URL"))
OUR_CITATION  = rule(when("kind", _was_read_here),             drop(f"{NAME} has no {{0.kind}} citations"))
VERBATIM_NAME = verbatim_name(NAMES)
RESULT_NAME   = verbatim_name(NAMES, optional=True)
HOSTED_HERE   = hosted_here(NAME)
# fmt: on

# ------------------------------------------------------------------------------------------------------------ results


def _with_cache_inside(block: ToolResultBlock, ledger: Ledger) -> ToolResultBlock:
    """The result with its cache mark moved to its last part."""
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
    """The tool with a schema that the provider accepts. A strict tool stays strict if its schema can be made so."""
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
    """The schema with what the provider requires of every schema: the type ``object``, and ``properties``."""
    if schema.get("type") != "object":
        schema = {"type": "object", **{key: value for key, value in schema.items() if key != "type"}}
    if "properties" not in schema and schema.keys().isdisjoint(("anyOf", "oneOf", "allOf", "$ref")):
        schema = {**schema, "properties": {}}
    return schema


# fmt: off
SENDABLE      = Rule("input_schema", _is_sendable, _as_sendable, IS_SENDABLE, names={"holds": _is_sendable})
ONE_WORD      = one_word(NAME)
# fmt: on
