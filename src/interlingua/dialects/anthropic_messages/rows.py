"""The phrases of Anthropic Messages: our field, their key. How turns and requests are put together is in ``turns``.

A row that only names rules and keys is all there is to say about a thing; see ``codec.rows`` for what a row means.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ...codec.ids import IdRule
from ...codec.kinds import ANY, BOOL, INT, NUMBER, OBJECT, STRINGS, TEXT, Each, Negated, One, Texts, Vocabulary
from ...codec.ledger import Ledger
from ...codec.rows import Frame, Row, Rule, Table, elsewhere, fill, instead, may, must, null, unsaid
from ...codec.schemas import is_strict_form, say_strict
from ...codec.stream import dump
from ...codec.usage import Counts
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

NAME = "anthropic-messages"
Wire = dict[str, Json]
PLAIN, PDF = "text/plain", "application/pdf"
IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
IDS = IdRule(re.compile(r"[a-zA-Z0-9_-]+"), prefix="toolu_")
SERVER_TOOLS = (
    "web_search web_fetch code_execution bash_code_execution text_editor_code_execution tool_search advisor mcp".split()
)
FREE_TEXT = "Anthropic Messages has no free-text calls; sent as a call with one string argument `input`"
FREE_TEXT_TOOL = "Anthropic Messages has no free-text tools; sent as a function with one string argument `input`"
FREE_TEXT_SCHEMA: Wire = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


# ---------------------------------------------------------------------------------------------- rules, and what they do


def drop(reason: str, weight: Any = "content") -> Callable[[Any, Ledger], None]:
    """Leave the whole value out."""
    return lambda value, ledger: ledger.lose("dropped", reason, weight=weight)


def drop_foreign(value: Any, ledger: Ledger) -> None:
    part = "call" if isinstance(value, ServerToolUseBlock) else "result"
    ledger.lose("dropped", f"the {part} of a hosted tool of {value.dialect} that is not translated to {NAME}")


def drop_file(value: FileSource, ledger: Ledger) -> None:
    ledger.lose("dropped", f"the file is stored with {value.dialect}, where Anthropic cannot read it", weight="state")


def drop_document(value: DocumentBlock, ledger: Ledger) -> None:
    media_type = value.source.media_type
    ledger.lose("dropped", f"{NAME} takes documents as data only if they are PDF, not {media_type}")


def fit_media_type(value: TextSource, ledger: Ledger) -> TextSource:
    ledger.lose_form("approximated", f"{NAME} takes {PLAIN} only", "media_type")
    return replace(value, media_type=PLAIN)


def fit_cache(value: Any, ledger: Ledger) -> Any:
    ledger.lose("dropped", f"thinking blocks of {NAME} take no cache marks", "cache")
    return replace(value, cache=None)


def fit_call(value: ToolUseBlock, ledger: Ledger) -> ToolUseBlock:
    ledger.lose("approximated", FREE_TEXT, "input_text")
    ledger.lose("approximated", FREE_TEXT, "kind")
    ledger.lose("added", FREE_TEXT, "input")
    return replace(value, kind="json", input={"input": value.input_text or ""}, input_text=None)


def fit_id(field: str) -> Callable[[Any, Ledger], Any]:
    def fit(value: Any, ledger: Ledger) -> Any:
        assert ledger.ids is not None
        ledger.lose_form("approximated", f"{NAME} takes ids of letters, digits, _ and -; one was derived", field)
        return replace(value, **{field: ledger.ids.fit(getattr(value, field))})

    return fit


def as_json_text(value: JsonBlock, ledger: Ledger) -> TextBlock:
    ledger.lose_form("approximated", f"{NAME} has no JSON here; sent as JSON text")
    return TextBlock(dump(value.value).decode(), cache=value.cache, extras=value.extras, forms=value.forms)


def as_text(value: RefusalBlock, ledger: Ledger) -> TextBlock:
    ledger.lose("approximated", f"{NAME} has no refusals; sent as text")
    return TextBlock(value.text, cache=value.cache, extras=value.extras, forms=value.forms)


def fit_tool(tool: ToolDefinition, ledger: Ledger) -> ToolDefinition:
    """A tool as the protocol takes it: a JSON object as input, and a schema that allows strict mode if it is strict."""
    schema, strict = tool.input_schema, tool.strict
    if tool.kind == "text":
        ledger.lose("approximated", FREE_TEXT_TOOL, "kind")
        ledger.lose("added", FREE_TEXT_TOOL, "input_schema")
        return replace(tool, kind="json", input_schema=FREE_TEXT_SCHEMA)
    if strict:
        schema, able = say_strict(schema, NAME, ledger, "input_schema")
        strict = True if able else None
    if schema.get("type") != "object":
        ledger.lose_form("added", f"{NAME} requires `type: object`; it was added", "input_schema", "type")
        schema = {"type": "object", **{key: value for key, value in schema.items() if key != "type"}}
    return replace(tool, input_schema=schema, strict=strict)


def fit_mode(choice: ToolChoice, ledger: Ledger) -> ToolChoice:
    ledger.lose_form("added", f"a tool choice of {NAME} needs a mode; auto was added", "mode")
    return replace(choice, mode="auto")


def fit_parallel(choice: ToolChoice, ledger: Ledger) -> ToolChoice:
    ledger.lose_form("dropped", "no tool may be called, also not in parallel", "parallel")
    return replace(choice, parallel=None)


def fit_temperature(request: Request, ledger: Ledger) -> Request:
    ledger.lose("approximated", f"{NAME} takes a temperature of at most 1", "temperature")
    return replace(request, temperature=1)


def is_sendable(tool: ToolDefinition) -> bool:
    schema = tool.input_schema
    return (
        tool.kind == "json"
        and schema.get("type") == "object"
        and not (tool.strict and not is_strict_form(schema, NAME))
    )


def is_picture(block: ImageBlock) -> bool:
    source = block.source
    return source.media_type in IMAGE_TYPES if type(source) is Base64Source else type(source) is not TextSource


def is_document(block: DocumentBlock) -> bool:
    return type(block.source) is not Base64Source or block.source.media_type == PDF


# fmt: off
FILLED    = Rule("text",      lambda block: bool(block.text),            drop(f"{NAME} accepts no empty text", "form"), "{}.text", history=True)
SIGNED    = Rule("signature", lambda block: block.signature is not None, drop(f"{NAME} accepts only signed reasoning", "state"), "{}.signature is not None", history=True)
UNCACHED  = Rule("cache",     lambda block: block.cache is None,         fit_cache, "{}.cache is None", history=True)
OURS      = Rule("dialect",   lambda value: value.dialect in ("", NAME), drop_foreign)
JSON      = Rule("kind",      lambda block: block.kind == "json",        fit_call, "{}.kind == 'json'")
CALL_ID   = Rule("id",          lambda block: IDS.pattern.fullmatch(block.id) is not None,          fit_id("id"), history=True)
RESULT_ID = Rule("tool_use_id", lambda block: IDS.pattern.fullmatch(block.tool_use_id) is not None, fit_id("tool_use_id"), history=True)
PICTURE   = Rule("source",    is_picture,  drop(f"{NAME} takes images of {', '.join(IMAGE_TYPES)} only"))
DOCUMENT  = Rule("source",    is_document, drop_document)
# fmt: on

# ------------------------------------------------------------------------------------------------------------ the rows


def place(tag: str, kind: str, *rules: Rule, **keys: str) -> Row:
    """A kind of citation. All of its fields are needed but the title, which is null where there is none."""
    needed = [field for field in keys if field != "title"]
    missing = f"a {kind} citation of {NAME} needs its {', '.join(needed)}"

    def is_whole(citation: Citation) -> bool:
        return all([getattr(citation, field) is not None for field in needed])

    specs = {field: (null(key) if field == "title" else may(key)) for field, key in keys.items()}
    for field in ("url", "title", "text", "index", "start", "end"):
        specs.setdefault(field, unsaid(f"a {kind} citation of {NAME} has no {field}"))
    return Row(Citation, tag, Rule("fields", is_whole, drop(missing)), *rules, fixed={"kind": kind}, **specs)


def has_index(citation: Citation) -> bool:
    return "encrypted_index" in citation.extras.get(NAME, ())


def drop_citation(citation: Citation, ledger: Ledger) -> None:
    ledger.lose("dropped", f"{NAME} has no {citation.kind} citations")


def read_unknown_citation(wire: Json) -> Citation | OpaqueBlock:
    """A citation of a type that we do not know: its type is its kind, and the rest is residue."""
    rest = dict(wire)
    return Citation(str(rest.pop("type")), extras={NAME: rest}, forms={} if rest else {NAME: {"verbatim": ["kind"]}})


# fmt: off
CACHE = Table(NAME, "type",
    Row(CacheMark, "ephemeral", ttl=may("ttl", Vocabulary({"5m": "5m", "1h": "1h"}, f"{NAME} caches for 5m or 1h only"))),
)
ENCRYPTED = Rule("extras", has_index, drop(f"a web citation of {NAME} needs its issuer's `encrypted_index`"))
CITATIONS = Table(NAME, "type",
    place("char_location",              "char",          index="document_index", title="document_title", text="cited_text", start="start_char_index", end="end_char_index"),
    place("page_location",              "page",          index="document_index", title="document_title", text="cited_text", start="start_page_number", end="end_page_number"),
    place("content_block_location",     "block",         index="document_index", title="document_title", text="cited_text", start="start_block_index", end="end_block_index"),
    place("search_result_location",     "search_result", index="search_result_index", url="source", title="title", text="cited_text", start="start_block_index", end="end_block_index"),
    place("web_search_result_location", "url", ENCRYPTED, url="url", title="title", text="cited_text"),
    Row(Citation, None, Rule("kind", lambda citation: NAME in citation.extras, drop_citation), kind=must("type"), url=elsewhere(), title=elsewhere(),
        text=elsewhere(), index=elsewhere(), start=elsewhere(), end=elsewhere()),
    unknown=read_unknown_citation,
)
MEDIA = (
    Row(Base64Source, "base64", media_type="media_type", data="data"),
    Row(UrlSource,    "url",    url="url", media_type=unsaid(f"{NAME} takes no media type beside a URL", "form")),
    Row(FileSource,   "file",   Rule("dialect", lambda source: source.dialect in (None, NAME), drop_file), gives={"dialect": NAME}, file_id="file_id",
        media_type=unsaid(f"{NAME} takes no media type beside a file id", "form")),
)
PICTURES = Table(NAME, "type", *MEDIA)
PAPERS = Table(NAME, "type", *MEDIA,
    Row(TextSource,   "text",   Rule("media_type", lambda source: source.media_type == PLAIN, fit_media_type), media_type=must("media_type"), text="data"),
)
SEEN = (  # what a user and a tool may show
    Row(TextBlock,     "text",     FILLED, text="text", citations=may("citations", Each(CITATIONS))),
    Row(ImageBlock,    "image",    PICTURE, source=must("source", One(PICTURES)), detail=unsaid(f"{NAME} has no `detail` of images")),
    Row(DocumentBlock, "document", DOCUMENT, source=must("source", One(PAPERS)), title=may("title"), context=may("context"),
        filename=unsaid(f"{NAME} has no file names of documents")),
    instead(JsonBlock, as_json_text),
    instead(RefusalBlock, as_text),
)
MARKED = {"cache": may("cache_control", One(CACHE)), "signature": unsaid(f"{NAME} signs thinking blocks only", "state")}
RESULT_BLOCKS = Table(NAME, "type", *SEEN, carrier=OpaqueBlock, **MARKED)
BLOCKS = Table(NAME, "type", *SEEN,
    Row(ThinkingBlock,         "thinking",          SIGNED, UNCACHED, text=must("thinking"), signature=fill("signature", "")),
    Row(RedactedThinkingBlock, "redacted_thinking", UNCACHED, data="data"),
    Row(ToolUseBlock,          "tool_use",          JSON, CALL_ID, id="id", name="name", input=must("input", OBJECT), kind=elsewhere(),
        input_text=unsaid(f"{NAME} takes parsed arguments, not the text", "form")),
    Row(ToolResultBlock,       "tool_result",       RESULT_ID, tool_use_id="tool_use_id", content=may("content", Texts(RESULT_BLOCKS)), is_error=may("is_error"),
        name=unsaid(f"a tool result of {NAME} has no name", "form")),
    Row(ServerToolUseBlock,    "server_tool_use",   OURS, gives={"dialect": NAME}, id="id", name="name", input=must("input", OBJECT)),
    Row(ServerToolUseBlock,    "mcp_tool_use",      OURS, gives={"dialect": NAME}, id="id", name="name", input=must("input", OBJECT)),
    *[Row(ServerToolResultBlock, f"{name}_tool_result", OURS, fixed={"name": name}, gives={"dialect": NAME}, tool_use_id="tool_use_id",
          content=must("content", ANY), is_error=may("is_error")) for name in SERVER_TOOLS],
    carrier=OpaqueBlock, **MARKED,
)
ANSWER_BLOCKS = BLOCKS.for_answers()
TOOLS = Table(NAME, None,
    Row(ToolDefinition, None, Rule("input_schema", is_sendable, fit_tool), accepts={"type": "custom"}, name="name", description=may("description"),
        input_schema=must("input_schema", OBJECT), strict=may("strict"), cache=may("cache_control", One(CACHE)), kind=elsewhere()),
    carrier=ServerTool,
)
CHOICE = Table(NAME, None,
    Row(ToolChoice, None,
        Rule("mode",     lambda choice: choice.mode is not None, fit_mode),
        Rule("parallel", lambda choice: choice.mode != "none" or choice.parallel is None, fit_parallel),
        mode=must("type", Vocabulary({"auto": "auto", "any": "any", "tool": "specific", "none": "none"})), name=may("name"),
        parallel=may("disable_parallel_tool_use", Negated()), allowed=unsaid(f"{NAME} has no list of allowed tools")),
)
THINKING = Table(NAME, None,
    Row(Thinking, None, mode=must("type", Vocabulary({mode: mode for mode in ("adaptive", "enabled", "disabled", "between_tools")})),
        budget=may("budget_tokens"), display=may("display"), effort=elsewhere()),
)
PARAMS = Frame(NAME,
    Row(Request, None,
        Rule("temperature", lambda request: (request.temperature or 0) <= 1, fit_temperature),
        model=may("model", TEXT), max_output_tokens=may("max_tokens", INT), temperature=may("temperature", NUMBER), top_p=may("top_p", NUMBER),
        top_k=may("top_k", INT), stop_sequences=may("stop_sequences", STRINGS), stream=may("stream", BOOL),
        service_tier=may("service_tier", Vocabulary({"auto": "auto", "standard_only": "default"}, f"{NAME} has no service tier {{}}")),
        seed=unsaid(f"{NAME} has no `seed`"), output_name=unsaid(f"{NAME} has no `output_name`", "form"),
        messages=elsewhere(), system=elsewhere(), tools=elsewhere(), tool_choice=elsewhere(), output_schema=elsewhere(), thinking=elsewhere(),
        metadata=elsewhere(), betas=elsewhere(), request_id=elsewhere()),
)
ANSWER = Frame(NAME,
    Row(Response, None, constants={"type": "message", "role": "assistant", "stop_sequence": None},
        id=fill("id", ""), model=fill("model", ""), content=elsewhere(), stop_reason=elsewhere(), raw_stop_reason=elsewhere(), usage=elsewhere(),
        request_id=elsewhere(), origin=elsewhere(), latency_ms=elsewhere(), losses=elsewhere(), attempts=elsewhere(), raw=elsewhere(), error=elsewhere()),
)
STOP = Vocabulary({
    "end_turn": StopReason.end_turn, "max_tokens": StopReason.max_tokens, "stop_sequence": StopReason.stop_sequence, "tool_use": StopReason.tool_use,
    "pause_turn": StopReason.pause_turn, "refusal": StopReason.refusal, "model_context_window_exceeded": StopReason.context_overflow,
    "compaction": StopReason.pause_turn,
}, f"{NAME} has no stop reason {{}}", nearest="end_turn")
USAGE = Counts(NAME, ("input_tokens", "cached_input_tokens", "cache_creation_input_tokens", "output_tokens"),
    input_tokens="input_tokens", cached_input_tokens="cache_read_input_tokens", cache_creation_input_tokens="cache_creation_input_tokens",
    output_tokens="output_tokens", reasoning_tokens="output_tokens_details.thinking_tokens")
# fmt: on
