"""The phrases of OpenAI Chat: our field, their key. ``codec.rows`` says what a row means.

What the protocol refuses is in ``rules``. An assistant's message has its calls, its reasoning and its refusal beside
the content: ``Turn`` is such a message, and ``assistant`` makes a list of blocks of it.
"""

from __future__ import annotations

from typing import Any

from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger
from ...codec.parameters import lost_parameters
from ...codec.rows.fitted_kinds import FilledText, OneOf, StringOrStrings
from ...codec.rows.kinds import INT, NUMBER, TEXT, Each, FunctionKind, One, Plain, Vocabulary
from ...codec.rows.media_urls import MediaUrl, StoredFile, is_data_url
from ...codec.rows.row import Row, fill, lost, may, must, null, write_only
from ...codec.rows.table import Frame, Table
from ...codec.rows.usage import Counts
from ...codec.rules import LOGPROBS_ASKED, as_json_text
from ...codec.tools.arguments import arguments_at
from ...types.base import Json, Value
from ...types.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    CacheMark,
    Citation,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    OpaqueBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)
from ...types.messages import Message
from ...types.request import Request
from ...types.response import Response
from ...types.tools import ServerTool, ToolDefinition
from ...types.words import Role, StopReason
from ..openai_tools import Choices
from . import rules
from .facts import (
    CACHE_TIMES,
    NAME,
    THINKING_KEYS,
    MessageContent,
    MixedContent,
    ResultContent,
    read_format,
    read_sound,
    read_thought,
    write_format,
    write_sound,
    write_thought,
)

# --------------------------------------------------------------------------------------------------------------- parts


def cache_tag(wire: Wire) -> str | None:
    """Which spelling of a cache mark an object has: OpenAI's, or that of routers to Anthropic models."""
    if wire.get("mode") == "explicit":
        return "explicit"
    return "ephemeral" if wire.get("type") == "ephemeral" else None


def part_tag(wire: Wire) -> str | None:
    """The tag of a part: its type, or a name of ours where a type can hold its content in several ways."""
    tag = wire.get("type")
    if tag == "file" and is_object(file := wire.get("file")):
        data = file.get("file_data")
        if type(data) is str and data.startswith(("http://", "https://")):
            return "file by URL"
        return "file" if is_data_url(data) or type(file.get("file_id")) is not str or data else "file by id"
    if tag == "image_url" and type(wire.get("image_url")) is str:
        return "image by string"
    if tag == "document_url" and is_data_url(wire.get("document_url")):
        return "document by data URL"
    return tag if type(tag) is str else None


def leave_out(block: Block, ledger: Ledger) -> None:
    """Leave a block out of a result, which has text only. ``turns`` sends it in a user message and declares that."""


NO_CITATIONS = lost(rules.NO_CITATIONS)
NO_TITLE, NO_CONTEXT = [lost(f"documents of {NAME} have no {name}") for name in ("title", "context")]
NO_TRANSCRIPT = lost(f"audio in a request of {NAME} has no transcript")
NO_SIGNATURE = lost(f"{NAME} has no signatures", "state")
NO_CACHE = lost(f"{NAME} takes cache marks on content parts only")
ID_ALONE = lost(f"an assistant's audio in {NAME} is sent by its id alone", "form")
JSON_TEXT = as_json_text(f"{NAME} has no JSON here; sent as JSON text")
URL, STORED = MediaUrl(NAME), StoredFile(NAME)
DOCUMENT: dict[str, Any] = {"title": NO_TITLE, "context": NO_CONTEXT}
# fmt: off
CACHE = Table(NAME, cache_tag,
    Row(CacheMark, "explicit",  constants={"mode": "explicit"},
        ttl=may("ttl", OneOf(CACHE_TIMES, rules.OTHER_TIMES))),
    Row(CacheMark, "ephemeral", constants={"type": "ephemeral"}, ttl=may("ttl")),
)
SOUNDS = Table(NAME, None,
    Row(Base64Source, None, media_type=must("format", FunctionKind(read_format, write_format)), data="data"),
)
CACHED = may("prompt_cache_breakpoint", One(CACHE), other="cache_control")
TEXT_PART = Row(TextBlock, "text", constants={"type": "text"}, text="text", citations=NO_CITATIONS)
PARTS = Table(NAME, part_tag, TEXT_PART,
    Row(RefusalBlock,  "refusal",         constants={"type": "refusal"}, text="refusal"),
    Row(ImageBlock,    "image_url",       rules.BY_URL, constants={"type": "image_url"},
        source=must("image_url.url", URL), detail=may("image_url.detail")),
    Row(ImageBlock,    "image by string", rules.BY_URL, constants={"type": "image_url"}, fixed={"detail": None},
        source=must("image_url", URL)),
    Row(AudioBlock,    "input_audio",     rules.SOUND, constants={"type": "input_audio"},
        source=must("input_audio", One(SOUNDS)), transcript=NO_TRANSCRIPT),
    Row(DocumentBlock, "file",            rules.HAS_FILENAME, rules.HAS_OWN_TITLE, when=rules.is_data,
        constants={"type": "file"}, source=must("file.file_data", URL), filename=may("file.filename"), **DOCUMENT),
    Row(DocumentBlock, "file by id",      rules.STORED_HERE, constants={"type": "file"}, when=rules.is_stored,
        source=must("file.file_id", STORED), filename=may("file.filename"), **DOCUMENT),
    Row(DocumentBlock, "document_url",    rules.BY_LINK, constants={"type": "document_url"}, when=rules.is_linked,
        source=must("document_url", URL), filename=lost("a document by URL has no file name"), **DOCUMENT),
    Row(DocumentBlock, "document by data URL", rules.BY_LINK, constants={"type": "document_url"}, when=rules.is_data,
        source=must("document_url", URL), filename=lost("a document by URL has no file name"), **DOCUMENT),
    Row(DocumentBlock, "file by URL",     rules.BY_LINK, constants={"type": "file"}, when=rules.is_linked,
        source=must("file.file_data", URL), filename=may("file.filename"), **DOCUMENT),
    Row(VideoBlock,    "video_url",       rules.VIDEO, constants={"type": "video_url"},
        source=must("video_url.url", URL)),
    Row(ThinkingBlock, "thinking",        rules.THOUGHT_PART, constants={"type": "thinking"},
        text=must("thinking", FunctionKind(read_thought, write_thought)), signature=may("signature")),
    write_only(JsonBlock, JSON_TEXT),
    carrier=OpaqueBlock, cache=CACHED, signature=NO_SIGNATURE,
)
MOVED = (ImageBlock, AudioBlock, DocumentBlock, VideoBlock, RefusalBlock, ThinkingBlock)
RESULT_PARTS = Table(NAME, part_tag, TEXT_PART, write_only(JsonBlock, JSON_TEXT),
    *[write_only(type, leave_out) for type in MOVED],
    carrier=OpaqueBlock, cache=CACHED, signature=NO_SIGNATURE,
)

# ------------------------------------------------------------------------------------------------------------ messages


class Turn(Value, frozen=True):
    """An assistant's message as on the wire: one slot for each kind of block."""

    content: tuple[Block, ...] = ()
    tool_calls: tuple[Block, ...] = ()
    thinking: str | None = None
    refusal: str | None = None
    audio: AudioBlock | None = None
    function_call: ToolUseBlock | None = None
    citations: tuple[Citation, ...] = ()


class Calls(Table):
    """Calls. An unknown call is carried whole below ``tool_call``, to tell it apart from parts of the content."""

    def _write_carried(self, value: Any, ledger: Ledger) -> Any:
        return value.raw["tool_call"]

    def is_null(self, value: Any) -> bool:
        return type(value) is OpaqueBlock and value.raw == {"tool_call": None}


def kind_tag(wire: Wire) -> str | None:
    """The tag of a tool or a call: ``custom`` for free text, ``function`` also without a type; None for other types."""
    kind = wire.get("type", "function")
    if kind == "custom" and is_object(wire.get("custom")):
        return "custom"
    return "function" if kind == "function" else None


def call_tag(wire: Wire) -> str | None:
    """The tag of a call. Some servers write other types for functions."""
    return kind_tag(wire) or ("function" if is_object(wire.get("function")) else None)


def annotation_tag(wire: Wire) -> str | None:
    """The tag of a citation of a URL; None for other annotations."""
    return "url_citation" if wire.get("type") == "url_citation" and is_object(wire.get("url_citation")) else None


WORDS = Plain("a string", str)
"""The input of a free-text call. An empty string is an input, unlike no value."""


def carry_call(wire: Json) -> OpaqueBlock:
    return OpaqueBlock(NAME, {"tool_call": wire})


CALLS = Calls(NAME, call_tag,
    Row(ToolUseBlock, "function", rules.CALL_ID, rules.TOOL_NAMED, arguments_at("function.arguments"),
        constants={"type": "function"}, ignores={"index": INT}, fixed={"kind": "json"}, id=fill("id", ""),
        name="function.name"),
    Row(ToolUseBlock, "custom",   rules.CALL_ID, rules.TOOL_NAMED, constants={"type": "custom"}, ignores={"index": INT},
        fixed={"kind": "text"}, id=fill("id", ""), name="custom.name", input_text=fill("custom.input", "", WORDS),
        elsewhere="input"),
    unknown=carry_call, signature=NO_SIGNATURE, cache=NO_CACHE,
)
LEGACY_CALL = Table(NAME, None,
    Row(ToolUseBlock, None, rules.TOOL_NAMED, arguments_at("arguments"), name=must("name", FilledText()),
        gives={"id": "", "kind": "json"}, signature=NO_SIGNATURE, cache=NO_CACHE),
)
SPOKEN = Table(NAME, lambda wire: "data" if wire.get("data") else "id",
    Row(AudioBlock, "id",   rules.ISSUED, when=rules.is_stored, source=must("id", STORED), transcript=ID_ALONE),
    Row(AudioBlock, "data", rules.ISSUED, source=must("data", FunctionKind(read_sound, write_sound)),
        transcript=may("transcript")),
    signature=NO_SIGNATURE, cache=NO_CACHE,
)
ANNOTATIONS = Table(NAME, annotation_tag,
    Row(Citation, "url_citation", rules.HAS_URL, rules.HAS_PLACE, constants={"type": "url_citation"},
        fixed={"kind": "url"}, url=may("url_citation.url"), title=fill("url_citation.title", ""),
        start=may("url_citation.start_index"), end=may("url_citation.end_index"),
        text=lost(f"citations of {NAME} quote no text"), index=lost(f"citations of {NAME} have no index", "form")),
    Row(Citation, None, rules.NO_CITATION, elsewhere="kind url title text index start end"),
)

def turn_row(calls: Table) -> Row:
    return Row(Turn, None, rules.TURN_FILLED, rules.NO_THINKING, rules.UNCITED, constants={"role": "assistant"},
        content=null("content", MixedContent(PARTS, "string")),
        tool_calls=may("tool_calls", Each(calls)),
        thinking=may(THINKING_KEYS[0], TEXT, other=THINKING_KEYS[1]),
        refusal=may("refusal", TEXT),
        audio=may("audio", One(SPOKEN)),
        function_call=may("function_call", One(LEGACY_CALL)),
        citations=may("annotations", Each(ANNOTATIONS)))


ANSWER_CALLS = CALLS.for_answers()
TURNS, ANSWER_TURNS = Table(NAME, None, turn_row(CALLS)), Table(NAME, None, turn_row(ANSWER_CALLS)).for_answers()
SAID: dict[str, Any] = {"content": may("content", MessageContent(PARTS, "string")), "elsewhere": "id origin metadata"}
RESULT: dict[str, Any] = {"content": fill("content", "", ResultContent(PARTS, RESULT_PARTS)), "name": may("name"),
                          "cache": CACHED, "signature": NO_SIGNATURE, "elsewhere": "is_error"}
MESSAGES = Table(NAME, "role",
    Row(Message, "user",      rules.FILLED, fixed={"role": Role.user}, **SAID),
    Row(Message, "system",    rules.FILLED, fixed={"role": Role.system}, **SAID),
    Row(Message, "developer", rules.FILLED, fixed={"role": Role.system}, **SAID),
    Row(ToolResultBlock, "tool", rules.NO_FLAG, rules.NAMELESS, rules.RESULT_ID, rules.UNCACHED,
        tool_use_id=fill("tool_call_id", ""), **RESULT),
    Row(ToolResultBlock, "function", rules.NO_FLAG, rules.UNCACHED, gives={"tool_use_id": ""}, **RESULT),
)

# ------------------------------------------------------------------------------------------------------ the request


TOOLS = Table(NAME, kind_tag,
    Row(ToolDefinition, "function", rules.TOOL_NAMED, rules.STRICT, rules.UNCACHED, constants={"type": "function"},
        fixed={"kind": "json"}, name="function.name", description=may("function.description"),
        input_schema=may("function.parameters"), strict=may("function.strict"), cache=CACHED),
    Row(ToolDefinition, "custom",   rules.TOOL_NAMED, rules.UNCACHED, constants={"type": "custom"},
        fixed={"kind": "text"}, name="custom.name", description=may("custom.description"), cache=CACHED,
        input_schema=lost(f"a free-text tool of {NAME} has no schema"),
        strict=lost(f"a free-text tool of {NAME} has no strict flag")),
    carrier=ServerTool,
)
FUNCTIONS = Table(NAME, None,  # tools as older clients send them
    Row(ToolDefinition, None, rules.TOOL_NAMED, rules.STRICT, name="name", description=may("description"),
        input_schema=may("parameters"), strict=may("strict"), cache=NO_CACHE, gives={"kind": "json"}),
    carrier=ServerTool,
)
CHOICES = Choices(NAME, nested=True)
LENGTHS = ("low", "medium", "high")
PARAMS = Frame(NAME,
    Row(Request, None, rules.TIER, rules.NO_TOP_K, LOGPROBS_ASKED,
        model=may("model"),
        temperature=may("temperature", NUMBER),
        top_p=may("top_p", NUMBER),
        top_k=may("top_k"),
        service_tier=may("service_tier"),
        verbosity=may("verbosity", OneOf(LENGTHS, f"{NAME} has no verbosity {{}}")),
        stream=may("stream"),
        max_output_tokens=may("max_completion_tokens", other="max_tokens"),
        seed=may("seed", other="random_seed"),
        stop_sequences=may("stop", StringOrStrings("stop")),
        frequency_penalty=may("frequency_penalty", NUMBER),
        presence_penalty=may("presence_penalty", NUMBER),
        n=may("n"),
        logprobs=may("logprobs"),
        top_logprobs=may("top_logprobs"),
        prompt_cache_key=may("prompt_cache_key"),
        store=may("store"),
        user=may("user"),
        elsewhere="messages system tools tool_choice output_schema output_name json_output thinking metadata"
                  " request_id output_description"),
    **lost_parameters(NAME),
)

# --------------------------------------------------------------------------------------------------------- the answer

STOP = Vocabulary({
    "stop": StopReason.end_turn,
    "length": StopReason.max_tokens,
    "tool_calls": StopReason.tool_use,
    "content_filter": StopReason.refusal,
    "function_call": StopReason.tool_use,
    "eos": StopReason.end_turn,
    "model_length": StopReason.context_overflow,
    "error": StopReason.error,
    "insufficient_system_resource": StopReason.error,
})
ANSWER = Frame(NAME,
    Row(Response, None, constants={"object": "chat.completion", "created": 0},
        id=fill("id", ""), model=fill("model", ""),
        elsewhere="content stop_reason raw_stop_reason usage request_id origin latency_ms losses attempts raw error"),
)
USAGE = Counts(NAME, ("input_tokens", "output_tokens"), total="total_tokens",
    cached_inside=True, reasoning="either", zeros=True,
    input_tokens="prompt_tokens",
    cached_input_tokens="prompt_tokens_details.cached_tokens prompt_cache_hit_tokens cached_tokens num_cached_tokens"
                        " cache_read_input_tokens",
    cache_creation_input_tokens="prompt_tokens_details.cache_write_tokens prompt_tokens_details.created_cache_tokens"
                                " cache_creation_input_tokens",
    output_tokens="completion_tokens",
    reasoning_tokens="completion_tokens_details.reasoning_tokens reasoning_tokens",
    derived={"prompt_cache_miss_tokens": lambda usage: usage.total_input_tokens - usage.cached_input_tokens},
)
# fmt: on
