"""The phrases of Bedrock Converse: our field, their path of keys. ``codec.rows`` says what a row means.

A block is tagged by its only key, and ``tag_of`` tells apart the blocks that share one. A cache point is a block of its
own on the wire and a mark on the block before it here. What the protocol refuses is in ``rules``;
``turns`` and ``request`` put turns and requests together.
"""

from __future__ import annotations

from typing import Any, get_args

from msgspec.structs import replace

from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.parameters import lost_parameters
from ...codec.rows.endings import Ending
from ...codec.rows.fitted_kinds import Bounded, FilledStrings, OneOf, Suffixed
from ...codec.rows.kinds import ANY, OBJECT, REFUSED, Each, FunctionKind, Vocabulary
from ...codec.rows.row import ELSEWHERE, Row, Rule, fill, lost, may, must, write_only
from ...codec.rows.table import Frame, Table
from ...codec.rows.usage import Counts
from ...codec.rules import as_text, drop
from ...types.base import Json
from ...types.blocks import (
    AudioBlock,
    Block,
    CacheMark,
    Citation,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    OpaqueBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)
from ...types.request import Request, Thinking
from ...types.response import Response
from ...types.tools import ServerTool, ToolChoice, ToolDefinition
from ...types.words import StopReason
from .. import claude
from . import rules
from .cache_points import EachWithPoint
from .facts import NAME, SERVER_CALL

CACHE_TIMES = Vocabulary({"5m": "5m", "1h": "1h"}, f"{NAME} caches for 5m or 1h only")
STATUS = Vocabulary({"success": False, "error": True})
TIERS = Vocabulary(
    {tier: tier for tier in ("priority", "default", "flex", "reserved")}, f"{NAME} has no service tier {{}}"
)
STOP = Vocabulary(
    {
        **claude.STOP,
        "content_filtered": StopReason.refusal,
        "guardrail_intervened": StopReason.refusal,
        "malformed_model_output": StopReason.error,
        "malformed_tool_use": StopReason.error,
    },
    f"{NAME} has no stop reason {{}}",
    nearest="end_turn",
)
NO_SIGNATURE = lost(f"{NAME} signs reasoning only", "state")
NO_RESULT_NAME = lost(f"a tool result of {NAME} has no name", "form")
NO_ARGUMENT_TEXT = lost(f"{NAME} takes parsed arguments, not the text", "form")
NO_CITATIONS = lost(f"{NAME} takes citations in assistant messages only")
NEAREST = f"the nearest value that {NAME} takes is {{}}"
ALONE_TAGS = frozenset("text image document video audio json toolSpec".split())
"""Keys that only one kind of block has."""
TAGS = ALONE_TAGS | set("citationsContent guardContent reasoningContent toolUse toolResult cachePoint".split())


def tag_of(wire: Wire) -> str | None:
    """The tag of a block: its key, or a name of ours where several kinds of blocks share the key."""
    tag = next(iter(wire), "")
    if tag in ALONE_TAGS:
        return tag
    if tag not in TAGS:
        tag = next((key for key in wire if key in TAGS), "")
    inner = wire.get(tag)
    if not is_object(inner):
        return tag
    match tag:
        case "toolUse" if inner.get("type") == SERVER_CALL:
            return "server call"
        case "toolResult" if type(inner.get("type")) is str:
            return "server result"
        case "reasoningContent" if "redactedContent" in inner:
            return "redacted"
        case "guardContent" if "image" in inner:
            return "guarded image"
        case "citationsContent" if not inner.get("citations"):
            return "uncited"
        case "cachePoint" if inner.get("type") != "default":
            return None
        case _:
            return tag


# ----------------------------------------------------------------------------------------------------------- citations


def read_pieces(wire: Json) -> Any:
    """The text of ``[{"text": …}, …]``; ``REFUSED`` if a piece holds anything else."""
    if not is_array(wire):
        return REFUSED
    texts: list[Any] = [piece.get("text") if is_object(piece) and len(piece) == 1 else None for piece in wire]
    return "".join(texts) if all(type(text) is str for text in texts) else REFUSED


def write_pieces(text: str, ledger: Ledger) -> Json:
    return [{"text": text}]


def placed_row(tag: str, kind: str, **keys: str) -> Row:
    """The row of a kind of citation that has a place."""
    specs: dict[str, Any] = {field: may(f"location.{tag}.{key}") for field, key in keys.items()}
    specs.setdefault("url", may("source"))
    for field in ("index", "start", "end"):
        specs.setdefault(field, lost(f"a {kind} citation of {NAME} has no {field}"))
    return Row(
        Citation, tag, rules.place_key(tag, [*keys]), fixed={"kind": kind}, title=may("title"), text=PASSAGE, **specs
    )


def place_of(wire: Wire) -> str | None:
    """The kind of place that a citation has: the key in its ``location``."""
    location = wire.get("location")
    return next(iter(location), None) if is_object(location) else None


def read_unknown_citation(wire: Json) -> Any:
    """Read a citation without a known place. The key of an unknown place becomes the kind; the place stays residue."""
    found = PLACELESS.read(wire)
    kind = place_of(wire) if found is not REFUSED else None
    return found if kind is None else replace(found, kind=kind)


def _is_citable(block: TextBlock) -> bool:
    return any(CITATIONS.write(citation, Ledger()) is not None for citation in block.citations)


def _without_citations(block: TextBlock, ledger: Ledger) -> TextBlock:
    where = ledger.where
    ledger.where = (*where, "citations")
    Each(CITATIONS).write_each(block.citations, ledger)  # declares why
    ledger.where = where
    return replace(block, citations=())


# fmt: off
PIECES = FunctionKind(read_pieces, write_pieces, name="an array of texts")
PASSAGE = may("sourceContent", PIECES)
SPAN = {"start": "start", "end": "end"}
UNPLACED: dict[str, Any] = {"url": may("source"), "title": may("title"), "text": PASSAGE} | {
    field: lost(f"a citation of {NAME} without a place has no {field}") for field in ("index", "start", "end")}
PLACELESS = Table(NAME, None, Row(Citation, None, gives={"kind": "text"}, **UNPLACED))
CITATIONS = Table(NAME, place_of,
    placed_row("web",                  "url",           url="url"),
    placed_row("documentChar",         "char",          index="documentIndex", **SPAN),
    placed_row("documentPage",         "page",          index="documentIndex", **SPAN),
    placed_row("documentChunk",        "block",         index="documentIndex", **SPAN),
    placed_row("searchResultLocation", "search_result", index="searchResultIndex", **SPAN),
    Row(Citation, None, rules.OUR_CITATION, elsewhere="kind", **UNPLACED),
    unknown=read_unknown_citation,
)
CITABLE = Rule("citations", _is_citable, _without_citations, "True")  # compiled code gives up where a citation is lost
WORDS = fill("citationsContent.content", [{"text": ""}], PIECES, default="")
UNCITED: dict[str, Any] = {"fixed": {"citations": ()}}

# -------------------------------------------------------------------------------------------------------------- blocks


def text_rows(*, cites: bool) -> tuple[Row, ...]:
    """Rows of text, plain or with citations (the assistant's only). The last two are written only if they were read."""
    usual: dict[str, Any] = UNCITED if cites else {"citations": NO_CITATIONS}
    return (
        Row(TextBlock, "text",             rules.FILLED, rules.no_type("type"), ignores={"type": "text"}, text="text",
            **usual),
        Row(TextBlock, "citationsContent", CITABLE, when=lambda block: bool(block.citations), text=WORDS,
            citations=must("citationsContent.citations", Each(CITATIONS))),
        Row(TextBlock, "uncited",          text=WORDS, **UNCITED),
        Row(TextBlock, "guardContent",     rules.FILLED, text="guardContent.text.text", **UNCITED),
    )


def media_rows(*more: Rule) -> tuple[Row, ...]:
    """Rows of images, documents and videos."""
    return (
        Row(ImageBlock,    "image",         *more, rules.media("image"), detail=NO_DETAIL),
        Row(ImageBlock,    "guarded image", *more, rules.media("image", "guardContent.image"), detail=NO_DETAIL),
        Row(DocumentBlock, "document",      *more, rules.NAMED, rules.media("document"), elsewhere="filename",
            title=may("document.name", rules.DocumentName()), context=may("document.context")),
        Row(VideoBlock,    "video",         *more, rules.media("video")),
    )


def blocks_of(*more: Rule, cites: bool) -> Table:
    """The table of the blocks of a turn. The rules in ``more`` apply to its media."""
    return Table(NAME, tag_of, *text_rows(cites=cites), *media_rows(*more),
        Row(AudioBlock,            "audio",            *more, rules.media("audio"),
            transcript=lost(f"audio of {NAME} has no transcript")),
        Row(ThinkingBlock,         "reasoningContent", text=must("reasoningContent.reasoningText.text"),
            signature=may("reasoningContent.reasoningText.signature")),
        Row(RedactedThinkingBlock, "redacted",         data="reasoningContent.redactedContent"),
        Row(ToolUseBlock,          "toolUse",          rules.JSON_CALL, rules.CALL_ID, rules.TOOL_NAMED,
            rules.no_type("toolUse.type"), ignores={"toolUse.type": "tool_use"}, id="toolUse.toolUseId",
            name="toolUse.name", input=must("toolUse.input", OBJECT), input_text=NO_ARGUMENT_TEXT, elsewhere="kind"),
        Row(ToolResultBlock,       "toolResult",       rules.RESULT_ID, tool_use_id="toolResult.toolUseId",
            content=must("toolResult.content", Each(RESULT_BLOCKS, empty=True)),
            is_error=may("toolResult.status", STATUS), name=NO_RESULT_NAME),
        Row(ServerToolUseBlock,    "server call",      rules.HOSTED_HERE, constants={"toolUse.type": SERVER_CALL},
            id="toolUse.toolUseId", name="toolUse.name", input=must("toolUse.input", OBJECT), gives={"dialect": NAME}),
        Row(ServerToolResultBlock, "server result",    rules.HOSTED_HERE, tool_use_id="toolResult.toolUseId",
            name=must("toolResult.type", Suffixed("_result")), content=must("toolResult.content", ANY),
            is_error=may("toolResult.status", STATUS), gives={"dialect": NAME}),
        write_only(JsonBlock,    rules.AS_JSON_TEXT),
        write_only(RefusalBlock, AS_TEXT),
        CACHE, carrier=OpaqueBlock, cache=ELSEWHERE, signature=NO_SIGNATURE,
    )


AS_TEXT = as_text(f"{NAME} has no refusals; sent as text")
NO_DETAIL = lost(f"{NAME} has no `detail` of images")
CACHE = Row(CacheMark, "cachePoint", constants={"cachePoint.type": "default"}, ttl=may("cachePoint.ttl", CACHE_TIMES))
RESULT_BLOCKS = Table(NAME, tag_of,
    Row(TextBlock,  "text", rules.FILLED, rules.no_type("type"), ignores={"type": "text"}, text="text",
        citations=NO_CITATIONS),
    Row(JsonBlock,  "json", rules.JSON_OBJECT, value=must("json", ANY)),
    *media_rows(),
    write_only(AudioBlock,   drop(f"a tool result of {NAME} takes no audio")),
    write_only(RefusalBlock, AS_TEXT),
    carrier=OpaqueBlock, cache=lost(f"{NAME} takes the cache point after the whole result", "form", "moved"),
    signature=NO_SIGNATURE,
)
USER_BLOCKS = blocks_of(cites=False)
ASSISTANT_BLOCKS = blocks_of(rules.NO_MEDIA, cites=True)
ANSWER_BLOCKS = ASSISTANT_BLOCKS.for_answers()
SYSTEM_TURN_BLOCKS = blocks_of(rules.NO_MEDIA, cites=False)
SYSTEM_BLOCKS = Table(NAME, tag_of, *text_rows(cites=False),
    *[write_only(kind, rules.ONLY_TEXT) for kind in get_args(Block) if kind not in (TextBlock, OpaqueBlock)],
    Row(ImageBlock, "guarded image", rules.media("image", "guardContent.image"), detail=NO_DETAIL),
    CACHE, carrier=OpaqueBlock, cache=ELSEWHERE, signature=NO_SIGNATURE,
)

# ---------------------------------------------------------------------------------------------------------- parameters

NO_NAME = lost(f"a tool choice of {NAME} has a name only if it is specific")
ALONE: dict[str, Any] = {
    "allowed": lost(f"{NAME} has no list of allowed tools"),
    "parallel": lost(f"{NAME} has no setting for parallel calls"),
}
NO_SETTING = lost("this model has no such setting")
THREE_LEVELS = OneOf(("low", "medium", "high"))
TOOLS = Table(NAME, tag_of,
    Row(ToolDefinition, "toolSpec", rules.TOOL_NAMED, rules.DESCRIBED, rules.SENDABLE, name="toolSpec.name",
        description=may("toolSpec.description"), input_schema=must("toolSpec.inputSchema.json", OBJECT),
        strict=may("toolSpec.strict"), elsewhere="kind cache"),
    CACHE, carrier=ServerTool,
)
CHOICE = Table(NAME, Table.KEY,
    Row(ToolChoice, "auto", constants={"auto": {}}, fixed={"mode": "auto"}, name=NO_NAME, **ALONE),
    Row(ToolChoice, "any",  constants={"any": {}},  fixed={"mode": "any"},  name=NO_NAME, **ALONE),
    Row(ToolChoice, "tool", rules.HAS_NAME, fixed={"mode": "specific"},
        name=may("tool.name"), **ALONE),
    Row(ToolChoice, None,   mode=lost(f"{NAME} has no tool choice none"), name=NO_NAME, **ALONE),
)
CLAUDE_THINKING = Table(NAME, None,
    Row(Thinking, None, rules.BUDGETED, budget=may("budget_tokens"), display=may("display"), elsewhere="effort",
        mode=must("type", OneOf(("adaptive", "enabled", "disabled", "between_tools")))),
)
NOVA_THINKING = Table(NAME, None,
    Row(Thinking, None, effort=may("maxReasoningEffort", THREE_LEVELS), budget=NO_SETTING, display=NO_SETTING,
        mode=must("type", Vocabulary({"enabled": "enabled", "disabled": "disabled"},
                  "this model has the modes enabled, disabled; sent as enabled", nearest="enabled"))),
)
FRACTION = Bounded("a number", int, float, least=0, most=1, reason=NEAREST)
PARAMS = Frame(NAME,
    Row(Request, None,
        max_output_tokens=may("inferenceConfig.maxTokens", Bounded("an integer", int, least=1, reason=NEAREST)),
        temperature=may("inferenceConfig.temperature", FRACTION),
        top_p=may("inferenceConfig.topP", FRACTION),
        stop_sequences=may("inferenceConfig.stopSequences", FilledStrings(f"{NAME} accepts no empty stop sequence")),
        service_tier=may("serviceTier.type", TIERS),
        metadata=may("requestMetadata", FunctionKind(rules.read_tags, rules.write_tags, name="an object of strings")),
        json_output=lost(f"{NAME} gives JSON by a schema only"),
        elsewhere="messages model system tools tool_choice top_k output_schema output_name thinking betas stream"
                  " request_id output_description"),
    **lost_parameters(NAME),
)
ANSWER = Frame(NAME,
    Row(Response, None, constants={"output.message.role": "assistant", "metrics": {"latencyMs": 0}},
        content=fill("output.message.content", [], EachWithPoint(ANSWER_BLOCKS, empty=True)),
        id=lost(f"an answer of {NAME} has no id", "form"),
        model=lost(f"an answer of {NAME} does not name its model", "form"),
        elsewhere="stop_reason raw_stop_reason usage request_id origin latency_ms losses attempts raw error"),
)
USAGE = Counts(NAME, ("input_tokens", "output_tokens"), total="totalTokens", zeros=True,
    input_tokens="inputTokens",
    cached_input_tokens="cacheReadInputTokens cacheReadInputTokenCount",
    cache_creation_input_tokens="cacheWriteInputTokens cacheWriteInputTokenCount",
    output_tokens="outputTokens",
)
ENDING = Ending(NAME, "stopReason", STOP, USAGE)
NO_CONTENT: Wire = {"output": {"message": {"role": "assistant", "content": []}}}
ANSWERS = claude.Answers(NAME, ANSWER, ANSWER_BLOCKS, ENDING, NO_CONTENT)
# fmt: on
