"""The phrases of Anthropic Messages: our field, their key. ``codec.rows`` says what a row means.

``turns`` and ``request`` put turns and requests together.
"""

from __future__ import annotations

from typing import Any

from ...codec.json import is_object
from ...codec.parameters import lost_parameters
from ...codec.rows.endings import Ending
from ...codec.rows.fitted_kinds import OneOf
from ...codec.rows.kinds import (
    ANY,
    BOOL,
    INT,
    NUMBER,
    OBJECT,
    REFUSED,
    STRINGS,
    TEXT,
    Each,
    Negated,
    One,
    Texts,
    Vocabulary,
)
from ...codec.rows.row import Row, Rule, fill, lost, may, must, null, write_only
from ...codec.rows.table import Frame, Table
from ...codec.rows.usage import Counts
from ...codec.rules import (
    among,
    as_json_text,
    as_text,
    at_most,
    by_id_rule,
    change,
    drop,
    filled,
    hosted_here,
    is_json_call,
    lacking,
    leave_out,
    present,
    rule,
    sendable,
    stands_in,
    when,
)
from ...codec.tools.tool_names import verbatim_name
from ...types.base import Json
from ...types.blocks import (
    Base64Source,
    CacheMark,
    Citation,
    DocumentBlock,
    FileSource,
    ImageBlock,
    JsonBlock,
    OpaqueBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
    TextBlock,
    TextSource,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
)
from ...types.request import Request, Thinking
from ...types.response import Response
from ...types.tools import ServerTool, ToolChoice, ToolDefinition
from ...types.words import StopReason
from .. import claude
from .facts import IDS, IMAGE_TYPES, NAME, NAMES, PDF, PLAIN

SERVER_TOOLS = (
    "web_search web_fetch code_execution bash_code_execution text_editor_code_execution tool_search advisor mcp".split()
)
CACHE_TIMES = Vocabulary({"5m": "5m", "1h": "1h"}, f"{NAME} caches for 5m or 1h only")
CHOICES = Vocabulary({"auto": "auto", "any": "any", "tool": "specific", "none": "none"})
TIERS = Vocabulary({"auto": "auto", "standard_only": "default"}, f"{NAME} has no service tier {{}}")
THINKING_MODES = OneOf(("adaptive", "enabled", "disabled", "between_tools"))
STOP = Vocabulary(
    {
        **claude.STOP,
        "pause_turn": StopReason.pause_turn,
        "refusal": StopReason.refusal,
        "compaction": StopReason.pause_turn,
    },
    f"{NAME} has no stop reason {{}}",
    nearest="end_turn",
)
NO_URL_TYPE = lost(f"{NAME} takes no media type beside a URL", "form")
NO_FILE_TYPE = lost(f"{NAME} takes no media type beside a file id", "form")
NO_SIGNATURE = lost(f"{NAME} signs thinking blocks only", "state")
NO_RESULT_NAME = lost(f"a tool result of {NAME} has no name", "form")
NO_ARGUMENT_TEXT = lost(f"{NAME} takes parsed arguments, not the text", "form")
BAD_ID = f"{NAME} takes ids of letters, digits, _ and -; one was derived"

# --------------------------------------------------------------------------------------------------------------- rules


def _is_accepted_image(block: ImageBlock) -> bool:
    source = block.source
    return source.media_type in IMAGE_TYPES if type(source) is Base64Source else type(source) is not TextSource


def _is_accepted_document(block: DocumentBlock) -> bool:
    return type(block.source) is not Base64Source or block.source.media_type == PDF


# fmt: off
#                   what is accepted; what is written otherwise
FILLED       = filled(NAME)
SIGNED       = rule(present("signature"), drop(f"{NAME} accepts only signed reasoning", "state"), history=True)
UNCACHED     = rule(lacking("cache"), leave_out("cache", f"thinking blocks of {NAME} take no cache marks"),
                    history=True)
HOSTED_HERE  = hosted_here(NAME)
STORED_HERE  = rule(among("dialect", (None, NAME)),
                    drop(f"the file is stored with {{0.dialect}}, which {NAME} cannot read", "state"))
PLAIN_TEXT   = rule(among("media_type", (PLAIN,)),
                    change("media_type", PLAIN, "approximated", f"{NAME} takes {PLAIN} only", "form"))
PICTURE      = rule(when("source", _is_accepted_image), drop(f"{NAME} takes images of {', '.join(IMAGE_TYPES)} only"))
DOCUMENT     = rule(when("source", _is_accepted_document),
                    drop(f"{NAME} takes documents as data only if they are PDF, not {{0.source.media_type}}"))
TITLED       = stands_in("filename", "title", f"documents of {NAME} have a title; the file name was taken")
PROVED       = rule(when("extras", lambda citation: "encrypted_index" in citation.extras.get(NAME, ())),
                    drop(f"a web citation of {NAME} needs its issuer's `encrypted_index`"))
OUR_CITATION = rule(when("kind", lambda citation: NAME in citation.extras), drop(f"{NAME} has no {{0.kind}} citations"))
JSON_CALL    = is_json_call(NAME)
TOOL_NAMED   = verbatim_name(NAMES)
CALL_ID      = by_id_rule("id", IDS, BAD_ID)
RESULT_ID    = by_id_rule("tool_use_id", IDS, BAD_ID)
SENDABLE     = sendable(NAME)
HAS_MODE     = rule(present("mode"),
                    change("mode", "auto", "added", f"a tool choice of {NAME} needs a mode; auto was added", "form"))
NOT_PARALLEL = rule(when("parallel", lambda choice: choice.mode != "none" or choice.parallel is None),
                    leave_out("parallel", "no tool may be called, also not in parallel", "form"))
TEMPERATURE  = rule(at_most("temperature", 1),
                    change("temperature", 1, "approximated", f"{NAME} takes a temperature of at most 1"))
# fmt: on


def has_fields(kind: str, needed: list[str]) -> Rule:
    """The rule for citations of a kind: all of these fields must be set."""

    def holds(citation: Citation) -> bool:
        return None not in [getattr(citation, field) for field in needed]

    return rule(when("fields", holds), drop(f"a {kind} citation of {NAME} needs its {', '.join(needed)}"))


# ----------------------------------------------------------------------------------------------------------- citations


def citation_row(tag: str, kind: str, *more: Rule, **keys: str) -> Row:
    """The row of a kind of citation. All of its fields are required except the title, which may be null."""
    specs: dict[str, Any] = {field: (null(key) if field == "title" else may(key)) for field, key in keys.items()}
    for field in ("url", "title", "text", "index", "start", "end"):
        specs.setdefault(field, lost(f"a {kind} citation of {NAME} has no {field}"))
    needed = has_fields(kind, [field for field in keys if field != "title"])
    return Row(Citation, tag, needed, *more, fixed={"kind": kind}, **specs)


def read_unknown_citation(wire: Json) -> Any:
    """Read a citation of an unknown type: the type becomes its kind, the rest is residue."""
    if not is_object(wire) or type(wire.get("type")) is not str:
        return REFUSED
    rest = {key: value for key, value in wire.items() if key != "type"}
    return Citation(wire["type"], extras={NAME: rest}, forms={} if rest else {NAME: {"verbatim": ["kind"]}})


# fmt: off
CITED = {"index": "document_index", "title": "document_title", "text": "cited_text"}
CITATIONS = Table(NAME, "type",
    citation_row("char_location",              "char",  start="start_char_index", end="end_char_index", **CITED),
    citation_row("page_location",              "page",  start="start_page_number", end="end_page_number", **CITED),
    citation_row("content_block_location",     "block", start="start_block_index", end="end_block_index", **CITED),
    citation_row("search_result_location",     "search_result", index="search_result_index", url="source",
                 title="title", text="cited_text", start="start_block_index", end="end_block_index"),
    citation_row("web_search_result_location", "url", PROVED, url="url", title="title", text="cited_text"),
    Row(Citation, None, OUR_CITATION, kind=must("type"), elsewhere="url title text index start end"),
    unknown=read_unknown_citation,
)
CACHE = Table(NAME, "type", Row(CacheMark, "ephemeral", ttl=may("ttl", CACHE_TIMES)))
SOURCES = (
    Row(Base64Source, "base64", media_type="media_type", data="data"),
    Row(UrlSource,    "url",    url="url", media_type=NO_URL_TYPE),
    Row(FileSource,   "file",   STORED_HERE, file_id="file_id", media_type=NO_FILE_TYPE, gives={"dialect": NAME}),
)
IMAGE_SOURCES = Table(NAME, "type", *SOURCES)
DOCUMENT_SOURCES = Table(NAME, "type", *SOURCES,
    Row(TextSource,   "text",   PLAIN_TEXT, media_type=must("media_type"), text="data"),
)
CONTENT_ROWS = (  # the blocks that users and tools can send to the model
    Row(TextBlock,     "text",     FILLED, text="text", citations=may("citations", Each(CITATIONS))),
    Row(ImageBlock,    "image",    PICTURE, source=must("source", One(IMAGE_SOURCES)),
        detail=lost(f"{NAME} has no `detail` of images")),
    Row(DocumentBlock, "document", DOCUMENT, TITLED, source=must("source", One(DOCUMENT_SOURCES)), title=may("title"),
        context=may("context"), filename=lost(f"{NAME} has no file names of documents")),
    write_only(JsonBlock,    as_json_text(f"{NAME} has no JSON here; sent as JSON text")),
    write_only(RefusalBlock, as_text(f"{NAME} has no refusals; sent as text")),
)
EVERY_BLOCK: dict[str, Any] = {"cache": may("cache_control", One(CACHE)), "signature": NO_SIGNATURE}
RESULT_BLOCKS = Table(NAME, "type", *CONTENT_ROWS, carrier=OpaqueBlock, **EVERY_BLOCK)
HOSTED: dict[str, Any] = {"id": "id", "name": "name", "input": must("input", OBJECT)}
BLOCKS = Table(NAME, "type", *CONTENT_ROWS,
    Row(ThinkingBlock,         "thinking",          SIGNED, UNCACHED, text=must("thinking"),
        signature=fill("signature", "")),
    Row(RedactedThinkingBlock, "redacted_thinking", UNCACHED, data="data"),
    Row(ToolUseBlock,          "tool_use",          JSON_CALL, CALL_ID, TOOL_NAMED, id="id", name="name",
        input=must("input", OBJECT), input_text=NO_ARGUMENT_TEXT, elsewhere="kind"),
    Row(ToolResultBlock,       "tool_result",       RESULT_ID, tool_use_id="tool_use_id",
        content=may("content", Texts(RESULT_BLOCKS)), is_error=may("is_error"), name=NO_RESULT_NAME),
    Row(ServerToolUseBlock,    "server_tool_use",   HOSTED_HERE, gives={"dialect": NAME}, **HOSTED),
    Row(ServerToolUseBlock,    "mcp_tool_use",      HOSTED_HERE, gives={"dialect": NAME}, **HOSTED),
    *[
        Row(ServerToolResultBlock, f"{name}_tool_result", HOSTED_HERE, tool_use_id="tool_use_id",
            content=must("content", ANY), is_error=may("is_error"), fixed={"name": name}, gives={"dialect": NAME})
        for name in SERVER_TOOLS
    ],
    carrier=OpaqueBlock, **EVERY_BLOCK,
)
ANSWER_BLOCKS = BLOCKS.for_answers()
TOOLS = Table(NAME, None,
    Row(ToolDefinition, None, TOOL_NAMED, SENDABLE, accepts={"type": "custom"}, name="name",
        description=may("description"), input_schema=must("input_schema", OBJECT), strict=may("strict"),
        cache=may("cache_control", One(CACHE)), elsewhere="kind"),
    carrier=ServerTool,
)
CHOICE = Table(NAME, None,
    Row(ToolChoice, None, HAS_MODE, NOT_PARALLEL, mode=must("type", CHOICES), name=may("name"),
        parallel=may("disable_parallel_tool_use", Negated()), allowed=lost(f"{NAME} has no list of allowed tools")),
)
THINKING = Table(NAME, None,
    Row(Thinking, None, mode=must("type", THINKING_MODES), budget=may("budget_tokens"), display=may("display"),
        elsewhere="effort"),
)
PARAMS = Frame(NAME,
    Row(Request, None, TEMPERATURE,
        model=may("model", TEXT),
        max_output_tokens=may("max_tokens", INT),
        temperature=may("temperature", NUMBER),
        top_p=may("top_p", NUMBER),
        top_k=may("top_k", INT),
        stop_sequences=may("stop_sequences", STRINGS),
        stream=may("stream", BOOL),
        service_tier=may("service_tier", TIERS),
        json_output=lost(f"{NAME} gives JSON by a schema only"),
        elsewhere="messages system tools tool_choice output_schema thinking metadata user betas request_id"),
    **lost_parameters(NAME),
)
ANSWER = Frame(NAME,
    Row(Response, None, constants={"type": "message", "role": "assistant", "stop_sequence": None},
        id=fill("id", ""), model=fill("model", ""), content=fill("content", [], Each(ANSWER_BLOCKS, empty=True)),
        elsewhere="stop_reason raw_stop_reason usage request_id origin latency_ms losses attempts raw error"),
)
USAGE = Counts(NAME, ("input_tokens", "cached_input_tokens", "cache_creation_input_tokens", "output_tokens"),
    input_tokens="input_tokens",
    cached_input_tokens="cache_read_input_tokens",
    cache_creation_input_tokens="cache_creation_input_tokens",
    output_tokens="output_tokens",
    reasoning_tokens="output_tokens_details.thinking_tokens",
)
ENDING = Ending(NAME, "stop_reason", STOP, USAGE)
ANSWERS = claude.Answers(NAME, ANSWER, ANSWER_BLOCKS, ENDING, {"content": []})
# fmt: on
