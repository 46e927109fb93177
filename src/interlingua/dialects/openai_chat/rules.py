"""What OpenAI Chat refuses in a value that another dialect or the caller made, and what is written instead.

Some rules never hold: OpenAI does not have what they refuse, but compatible servers do, so it is written back where it
was read, and otherwise not sent. The end of the module fits values to one server (``facts.Quirks``).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ...codec.history.rules import PLACEHOLDER, call_ids
from ...codec.json import Wire
from ...codec.ledger import Ledger
from ...codec.marks import marks, with_marks
from ...codec.rules import (
    Condition,
    among,
    as_json_tool,
    by_id_rule,
    drop,
    having,
    is_json_call,
    lacking,
    leave_out,
    never,
    present,
    rule,
    when,
)
from ...codec.schema.plans import is_strict_form, write_strict_schema
from ...codec.tools.ids import IdMap
from ...codec.tools.tool_names import verbatim_name
from ...types.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    Citation,
    DocumentBlock,
    FileSource,
    TextBlock,
    TextSource,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
)
from ...types.messages import Message
from ...types.tools import Tool, ToolDefinition
from ..openai import named_documents
from ..openai_tools import no_error_flag
from .facts import CACHE_TIMES, EMPTY, NAME, NAMES, OPENAI, TIERS, Quirks

NO_CITATIONS = f"{NAME} takes no citations in a request"
OTHER_TIMES = f"{NAME} caches for {' or '.join(CACHE_TIMES)} only"
OTHER_IDS = "this server takes other ids; one was derived"


def unchanged(value: Any, ledger: Ledger) -> Any:
    """Return the value: ``assistant`` has already left out what may not be sent."""
    return value


# ------------------------------------------------------------------------------------------------------------- parts

is_stored = having("source", FileSource).holds
is_data = having("source", Base64Source, TextSource).holds
is_linked = having("source", UrlSource).holds


def is_stored_here(block: Any) -> bool:
    """Whether this provider may have stored the file."""
    return block.source.dialect in (None, NAME)


def _is_stored_or_issued(block: AudioBlock) -> bool:
    return is_stored_here(block) if is_stored(block) else "id" in block.extras.get(NAME, ())


def _is_whole(citation: Citation) -> bool:
    return citation.start is not None and citation.end is not None


AUDIO_BY_ID_ONLY = drop(f"an assistant's audio in {NAME} is sent by its issuer's id only", "state")
NO_FILE_IDS = drop(f"{NAME} takes images as data or by URL, not by file id", "state")
STORED_ELSEWHERE = drop("the file is stored elsewhere, with {0.source.dialect}", "state")
AUDIO_AS_DATA = drop(f"{NAME} takes audio as data only")
NO_URLS = drop(f"{NAME} takes documents as data or by file id, not by URL")
NO_VIDEO = drop(f"{NAME} has no video blocks")
NO_THOUGHT_PARTS = drop(f"{NAME} has no reasoning in its content", "state")
URLS_ONLY = drop(f"{NAME} has citations of URLs only")
WITHOUT_CACHE = leave_out("cache", f"{NAME} takes cache marks on content parts only")

# fmt: off
#                  what is accepted                                           what is written otherwise
BY_URL       = rule(having("source", Base64Source, UrlSource, TextSource),    NO_FILE_IDS)
SOUND        = rule(having("source", Base64Source),                           AUDIO_AS_DATA)
STORED_HERE  = rule(when("source", is_stored_here),                           STORED_ELSEWHERE)
HAS_FILENAME, HAS_OWN_TITLE = named_documents(NAME)
BY_LINK      = rule(never("source"),                                          NO_URLS)
VIDEO        = rule(never("source"),                                          NO_VIDEO)
THOUGHT_PART = rule(never("part"),                                            NO_THOUGHT_PARTS)
ISSUED       = rule(when("source", _is_stored_or_issued),                     AUDIO_BY_ID_ONLY)
HAS_URL      = rule(present("url"),                                           URLS_ONLY)
HAS_PLACE    = rule(when("start", _is_whole),                                 unchanged)
NO_CITATION  = rule(never("kind"),                                            URLS_ONLY)
UNCACHED     = rule(lacking("cache"),                                         WITHOUT_CACHE)
CALL_ID      = by_id_rule("id", OPENAI.ids, OTHER_IDS)
RESULT_ID    = by_id_rule("tool_use_id", OPENAI.ids, OTHER_IDS)
# fmt: on

# ------------------------------------------------------------------------------------------------------------ messages


def _with_placeholder(value: Any, ledger: Ledger) -> Any:
    ledger.lose("added", EMPTY, "content")
    return replace(value, content=(TextBlock(PLACEHOLDER),))


def _has_content(message: Any) -> bool:
    return bool(message.content)


def _is_uncited(turn: Any) -> bool:
    return not turn.citations


def _is_not_empty(turn: Any) -> bool:
    return bool(turn.content or turn.tool_calls or turn.refusal or turn.audio or turn.function_call)


NOT_EMPTY = "{0}.content or {0}.tool_calls or {0}.refusal or {0}.audio or {0}.function_call"
HAS_CONTENT = Condition("content", _has_content, "{0}.content")
IS_UNCITED = Condition("citations", _is_uncited, "not {0}.citations")
WITHOUT_NAME = leave_out("name", f"a tool message of {NAME} has no name", "form")
# fmt: off
TOOL_NAMED   = verbatim_name(NAMES)
NAMELESS     = rule(lacking("name"),                                          WITHOUT_NAME)
NO_FLAG      = no_error_flag(NAME)
FILLED       = rule(HAS_CONTENT,                                              _with_placeholder)
TURN_FILLED  = rule(Condition("content", _is_not_empty, NOT_EMPTY),           _with_placeholder, history=True)
NO_THINKING  = rule(lacking("thinking"),                                      unchanged, history=True)
UNCITED      = rule(IS_UNCITED,                                               unchanged, history=True)
# fmt: on

# ---------------------------------------------------------------------------------------------------------- parameters


def _is_strict_enough(tool: ToolDefinition) -> bool:
    return not tool.strict or is_strict_form(tool.input_schema, NAME)


def _as_strict(tool: ToolDefinition, ledger: Ledger) -> ToolDefinition:
    schema, able = write_strict_schema(tool.input_schema, NAME, ledger, "input_schema")
    return replace(tool, input_schema=schema, strict=True if able else None)


IS_STRICT = Condition("input_schema", _is_strict_enough, "not {0}.strict or {holds}({0})", {"holds": _is_strict_enough})
WITHOUT_TIER = leave_out("service_tier", f"{NAME} has no service tier {{0.service_tier}}")
WITHOUT_TOP_K = leave_out("top_k", f"{NAME} has `top_k` on some servers only")
# fmt: off
STRICT       = rule(IS_STRICT,                                                _as_strict)
TIER         = rule(among("service_tier", (None, *TIERS)),                    WITHOUT_TIER)
NO_TOP_K     = rule(lacking("top_k"),                                         WITHOUT_TOP_K)
# fmt: on

# ------------------------------------------------------------------------------------------------------ for one server

as_function = as_json_tool("this server")
JSON_CALL = is_json_call("this server")


def fit_history(messages: Sequence[Message], quirks: Quirks, ledger: Ledger) -> Sequence[Message]:
    """The history with ids and content parts as this server takes them."""
    if quirks.ids is OPENAI.ids and quirks.free_text and not differs_in_parts(quirks):
        return messages
    ids = IdMap(quirks.ids, call_ids(messages))
    fitted: list[Message] = []
    for index, message in enumerate(messages):
        content = fit_blocks(message.content, quirks, ids, ledger, "messages", index, "content")
        fitted.append(message if content is message.content else replace(message, content=content))
    return fitted


def fit_tools(tools: Sequence[Tool], quirks: Quirks, ledger: Ledger) -> Sequence[Tool]:
    """The tools as this server takes them."""
    if quirks.strict and quirks.free_text:
        return tools
    fitted: list[Tool] = []
    for index, tool in enumerate(tools):
        ledger.where = ("tools", index)
        if isinstance(tool, ToolDefinition) and tool.kind == "text" and not quirks.free_text:
            tool = as_function(tool, ledger)
        if isinstance(tool, ToolDefinition) and tool.strict and not quirks.strict:
            ledger.lose("dropped", "this server has no strict tools", "strict")
            tool = replace(tool, strict=None)
        fitted.append(tool)
    ledger.where = ()
    return fitted


def differs_in_parts(quirks: Quirks) -> bool:
    """Whether this server wants content parts otherwise than OpenAI."""
    return quirks.cache_key != OPENAI.cache_key or quirks.list_content


def fit_blocks(
    blocks: tuple[Block, ...], quirks: Quirks, ids: IdMap | None, ledger: Ledger, *where: str | int
) -> tuple[Block, ...]:
    """The blocks as this server takes them; the same tuple if none is changed. ``where`` is their path."""
    fitted: list[Block] = []
    for index, block in enumerate(blocks):
        if type(block) is ToolResultBlock:
            content = fit_blocks(block.content, quirks, ids, ledger, *where, index, "content")
            block = block if content is block.content else replace(block, content=content)
        ledger.where = (*where, index)
        fitted.append(fit_block(block, quirks, ids, ledger))
    ledger.where = ()
    return blocks if all(map(operator.is_, fitted, blocks)) else tuple(fitted)


def fit_block(block: Block, quirks: Quirks, ids: IdMap | None, ledger: Ledger) -> Block:
    if type(block) is ToolUseBlock and block.kind == "text" and not quirks.free_text:
        block = JSON_CALL.fit(block, ledger)
    field = "id" if type(block) is ToolUseBlock else "tool_use_id" if type(block) is ToolResultBlock else None
    if field is not None:
        id: str = getattr(block, field)
        fitted_id = id if ids is None or "derived" in marks(NAME, block) else ids.fit(id)
        if fitted_id != id:
            ledger.lose_form("approximated", OTHER_IDS, field)
        return block if fitted_id == id else replace(block, **{field: fitted_id})
    if quirks.list_content:
        block = allow_part(block)
    mark = marks(NAME, block)
    if block.cache is None or quirks.cache_key == OPENAI.cache_key or "cache" in mark.get("spelling", ()):
        return block
    if quirks.cache_key is None:
        fitted: Block = WITHOUT_CACHE(block, ledger)
        return fitted
    keys: Wire = {quirks.cache_key: []}
    cached: Block = replace(block, cache=with_marks(NAME, block.cache, tag="ephemeral"))
    return with_marks(NAME, cached, spelling={**mark.get("spelling", {}), "cache": keys})


def allow_part(block: Block) -> Block:
    """The block. Reasoning and linked documents are marked, so that they are written as content parts."""
    linked = type(block) is DocumentBlock and type(block.source) is UrlSource
    field = "part" if type(block) is ThinkingBlock else "source" if linked else None
    verbatim = [*marks(NAME, block).get("verbatim", ()), field]
    return block if field is None else with_marks(NAME, block, verbatim=verbatim)
