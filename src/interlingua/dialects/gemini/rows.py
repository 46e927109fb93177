"""The rows of Gemini: which of our fields is which key. ``codec.rows`` explains what a row means.

Parts are told apart by their keys, with two exceptions: media by their media type, and thoughts, which are texts with a
flag. How turns, requests and answers are put together is in ``turns``, ``request`` and ``response``.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...codec.base64 import is_base64
from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger
from ...codec.parameters import lost_parameters
from ...codec.rows.fitted_kinds import WHOLE, AtMostStrings, FilledOne, FilledText
from ...codec.rows.kinds import BOOL, INT, NUMBER, OBJECT, OMIT, REFUSED, TEXT, FunctionKind, Vocabulary
from ...codec.rows.row import Row, Rule, fill, lost, may, must, write_only
from ...codec.rows.table import Frame, Table
from ...codec.rows.together import Together
from ...codec.rows.usage import Counts
from ...codec.rules import (
    LOGPROBS_ASKED,
    Condition,
    among,
    as_json_text,
    as_json_tool,
    as_text,
    change,
    hosted_here,
    is_json_call,
    lacking,
    leave_out,
    rule,
    stands_in,
)
from ...codec.tools.tool_names import verbatim_name
from ...types.base import Json
from ...types.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    OpaqueBlock,
    RefusalBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)
from ...types.loss import LossWeight
from ...types.request import Request, Thinking
from ...types.response import Response
from ...types.tools import ToolChoice, ToolDefinition
from ...types.words import StopReason
from . import parts
from .facts import CODE, KEYS, LABEL, LABEL_VALUE, MAX_STOPS, NAME, NAMES, SIGNATURE
from .kinds import (
    ChosenTools,
    Contents,
    DeclaredSchema,
    IssuedId,
    OutputSchema,
    SignatureKind,
    ThinkingAmount,
    read_display,
    write_display,
)
from .parts import MediaSource

# --------------------------------------------------------------------------------------------------------------- rules


def is_sendable(block: TextBlock) -> bool:
    return bool(block.text) or (block.signature is not None and is_base64(block.signature))


def drop_empty(block: TextBlock, ledger: Ledger) -> None:
    weight: LossWeight = "state" if block.signature else "content" if block.citations else "form"
    ledger.lose("dropped", f"{NAME} accepts no empty text", weight=weight)


def is_uncited(block: TextBlock) -> bool:
    return not block.citations


def code_without_name(word: str, field: str) -> Rule:
    """A rule for blocks about code that was run, known by the key ``word``: their parts have no name, so it is lost."""

    def holds(block: Any) -> bool:
        value = getattr(block, field)
        return not (is_object(value) and word in value)

    def fit(block: Any, ledger: Ledger) -> Any:
        ledger.lose_form("dropped", f"code that {NAME} ran is named {CODE}", "name")
        return replace(block, name=CODE)

    return Rule("name", holds, fit)


def is_label(key: str, value: Json) -> bool:
    return bool(LABEL.fullmatch(key) and type(value) is str and LABEL_VALUE.fullmatch(value))


def read_labels(wire: Json) -> Any:
    return wire if is_object(wire) else REFUSED


def write_labels(metadata: Wire, ledger: Ledger) -> Json:
    for key, value in metadata.items():
        if not is_label(key, value):
            ledger.lose("dropped", f"labels of {NAME} are short words in lower case", key)
    return {key: value for key, value in metadata.items() if is_label(key, value)} or OMIT


# fmt: off
#              what is accepted                                what is written otherwise
FILLED       = Rule("text", is_sendable, drop_empty, "{0}.text or {sendable}({0})", True, {"sendable": is_sendable})
UNCITED      = rule(Condition("citations", is_uncited, "not {0}.citations"),
                    change("citations", (), "dropped", f"{NAME} takes no citations in a request"), history=True)
HOSTED_HERE  = hosted_here(NAME)
TOOL_NAMED   = verbatim_name(NAMES)
RESULT_NAMED = verbatim_name(NAMES, optional=True)
JSON_CALL    = is_json_call(NAME)
JSON_TOOL    = rule(among("kind", ("json",)), as_json_tool(NAME))
NOT_PARALLEL = rule(lacking("parallel"),      leave_out("parallel", f"{NAME} has no setting for parallel calls"))

# ------------------------------------------------------------------------------------------------------- vocabularies

SIGNED = SignatureKind()
WORD = FilledText()
LABELS = FunctionKind(read_labels, write_labels, name="an object of strings")
STOPS = AtMostStrings(MAX_STOPS, f"{NAME} takes at most {MAX_STOPS} stop sequences")
DISPLAY = FunctionKind(read_display, write_display, name="a boolean")
DETAILS = Vocabulary(
    {f"MEDIA_RESOLUTION_{word.upper()}": word for word in ("low", "medium", "high", "ultra_high")},
    f"{NAME} has the details low, medium, high, ultra_high only",
)
TIERS = Vocabulary(
    {"standard": "default", "flex": "flex", "priority": "priority", "unspecified": "auto"},
    f"{NAME} has no service tier {{}}",
)
REFUSALS = (
    "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR JAILBREAK IMAGE_SAFETY"
    " IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_OTHER"
)
STOP = Vocabulary({
    "STOP": StopReason.end_turn,
    "MAX_TOKENS": StopReason.max_tokens,
    "CONTINUATION": StopReason.pause_turn,
    **dict.fromkeys(REFUSALS.split(), StopReason.refusal),
    "MALFORMED_RESPONSE": StopReason.error,
    "MALFORMED_FUNCTION_CALL": StopReason.error,
    "UNEXPECTED_TOOL_CALL": StopReason.error,
    "TOO_MANY_TOOL_CALLS": StopReason.error,
})
NO_CACHE = lost(f"{NAME} has no cache marks")
NO_ARGUMENT_TEXT = lost(f"{NAME} takes parsed arguments, not the text", "form")
NO_ERROR_FLAG = lost(f"{NAME} has no error flag; the result itself says it", "form")
TITLED = stands_in("title", "filename", f"documents of {NAME} have a display name; the title was taken")
NO_TITLE = lost(f"documents of {NAME} have no title")
NO_CONTEXT = lost(f"documents of {NAME} have no context")
NO_DETAIL = lost(f"media in a result of {NAME} have no detail")
NO_TRANSCRIPT = lost(f"media in a result of {NAME} have no transcript")

# --------------------------------------------------------------------------------------------------------------- parts


def source_of(block: type[parts.Media]) -> Together:
    if block is DocumentBlock:
        return Together("source filename", parts.NAMED_SOURCE_KEYS, MediaSource(block, named=True), required=True)
    return Together("source", parts.SOURCE_KEYS, MediaSource(block), required=True)


DATA = frozenset("functionCall functionResponse inlineData fileData executableCode codeExecutionResult toolCall"
                 " toolResponse".split())


def part_tag(part: Wire) -> str | None:
    """The tag of a part: the key of its data, ``thought`` or ``text``. A part with only a signature is a text."""
    text = part.get("text")
    if type(text) is not str or (len(part) > 1 and not DATA.isdisjoint(part)):
        for key in part:
            if key in DATA and is_object(part[key]):
                return parts.media_tag(part) if key in ("inlineData", "fileData") else key
        if text is not None and type(text) is not str:
            return None
        if text is None and SIGNATURE not in part and part.get("thought") is not True:
            return None
    return "thought" if part.get("thought") is True else "text"


def video_and_document(**more: Any) -> tuple[Row, Row]:
    return (
        Row(VideoBlock,    "video",    source_of(VideoBlock), **more),
        Row(DocumentBlock, "document", TITLED, source_of(DocumentBlock), title=NO_TITLE, context=NO_CONTEXT, **more),
    )


SAID: dict[str, Any] = {"ignores": {"thought": False}}
"""Any part may have ``thought: false``, which means the same as leaving it out."""
RESULT_PARTS = Table(NAME, parts.media_tag,
    Row(ImageBlock,    "image",    source_of(ImageBlock), detail=NO_DETAIL),
    Row(AudioBlock,    "audio",    source_of(AudioBlock), transcript=NO_TRANSCRIPT),
    *video_and_document(),
    carrier=OpaqueBlock, keys=KEYS, signature=lost(f"media in a result of {NAME} have no signature", "state"),
    cache=NO_CACHE,
)
PARTS = Table(NAME, part_tag,
    Row(TextBlock,             "text",    FILLED, UNCITED, text=fill("text", ""), elsewhere="citations", **SAID),
    Row(ThinkingBlock,         "thought", text=fill("text", ""), constants={"thought": True}),
    Row(ImageBlock,            "image",   source_of(ImageBlock), detail=may("mediaResolution.level", DETAILS), **SAID),
    Row(AudioBlock,            "audio",   source_of(AudioBlock), transcript=may("audioTranscription.text"), **SAID),
    *video_and_document(**SAID),
    Row(ToolUseBlock,          "functionCall", JSON_CALL, TOOL_NAMED,
        id=may("functionCall.id", IssuedId("id"), default=""),
        name=must("functionCall.name", WORD), input=fill("functionCall.args", {}, OBJECT),
        input_text=NO_ARGUMENT_TEXT, elsewhere="kind", **SAID),
    Row(ToolResultBlock,       "functionResponse", RESULT_NAMED,
        Together("content is_error", parts.RESULT_KEYS, parts.ResultContent(RESULT_PARTS), always=True),
        tool_use_id=may("functionResponse.id", IssuedId("tool_use_id"), default=""), name=may("functionResponse.name"),
        **SAID),
    Row(ServerToolUseBlock,    "executableCode", HOSTED_HERE,
        Together("input", "executableCode.code executableCode.language", Contents("executableCode"), always=True),
        id=may("executableCode.id", IssuedId("id"), default=""), fixed={"name": CODE}, gives={"dialect": NAME}, **SAID),
    Row(ServerToolUseBlock,    "toolCall", HOSTED_HERE, code_without_name("code", "input"),
        id=may("toolCall.id", IssuedId("id"), default=""), name=must("toolCall.toolType", TEXT),
        input=may("toolCall.args", OBJECT), gives={"dialect": NAME}, **SAID),
    Row(ServerToolResultBlock, "codeExecutionResult", HOSTED_HERE,
        Together("content", "codeExecutionResult.outcome codeExecutionResult.output", Contents("codeExecutionResult"),
                 always=True),
        tool_use_id=may("codeExecutionResult.id", IssuedId("tool_use_id"), default=""), is_error=NO_ERROR_FLAG,
        fixed={"name": CODE}, gives={"dialect": NAME}, **SAID),
    Row(ServerToolResultBlock, "toolResponse", HOSTED_HERE, code_without_name("outcome", "content"),
        tool_use_id=may("toolResponse.id", IssuedId("tool_use_id"), default=""),
        name=must("toolResponse.toolType", TEXT), content=may("toolResponse.response"), is_error=NO_ERROR_FLAG,
        gives={"dialect": NAME}, **SAID),
    write_only(JsonBlock,    as_json_text(f"{NAME} has no JSON here; sent as JSON text")),
    write_only(RefusalBlock, as_text(f"{NAME} has no refusals; sent as text")),
    carrier=OpaqueBlock, keys=KEYS, signature=may(SIGNATURE, SIGNED), cache=NO_CACHE,
)
ANSWER_PARTS = PARTS.for_answers()

# ------------------------------------------------------------------------------------------------ tools and parameters


DECLARED: dict[str, Any] = {
    "name": must("name"), "description": may("description"), "strict": lost(f"{NAME} has no strict tools"),
    "cache": NO_CACHE, "elsewhere": "kind",
}
DECLARATIONS = Table(NAME, None,
    Row(ToolDefinition, None, TOOL_NAMED, JSON_TOOL,
        Together("input_schema", "parametersJsonSchema parameters", DeclaredSchema()), **DECLARED),
    keys=KEYS,
)
OFFERED = Table(NAME, None,  # for the tools of a request: their schemas are adapted later, all at once
    Row(ToolDefinition, None, TOOL_NAMED, JSON_TOOL, input_schema=may("parametersJsonSchema", OBJECT), **DECLARED),
    keys=KEYS,
)
CHOICE = Table(NAME, None,
    Row(ToolChoice, None, NOT_PARALLEL,
        Together("mode name allowed", "mode allowedFunctionNames", ChosenTools(), required=True), elsewhere="parallel"),
    keys=KEYS,
)
THINKING = Table(NAME, None,
    Row(Thinking, None, Together("mode budget effort", "thinkingBudget thinkingLevel", ThinkingAmount()),
        display=may("includeThoughts", DISPLAY)),
    keys=KEYS,
)
CONFIG = "generationConfig"
PARAMS = Frame(NAME,
    Row(Request, None, LOGPROBS_ASKED,
        Together("output_schema",
                 f"{CONFIG}.responseMimeType {CONFIG}.responseJsonSchema {CONFIG}.responseSchema", OutputSchema()),
        max_output_tokens=may(f"{CONFIG}.maxOutputTokens", INT),
        temperature=may(f"{CONFIG}.temperature", NUMBER),
        top_p=may(f"{CONFIG}.topP", NUMBER),
        top_k=may(f"{CONFIG}.topK", WHOLE),
        stop_sequences=may(f"{CONFIG}.stopSequences", STOPS),
        seed=may(f"{CONFIG}.seed", INT),
        frequency_penalty=may(f"{CONFIG}.frequencyPenalty", NUMBER),
        presence_penalty=may(f"{CONFIG}.presencePenalty", NUMBER),
        n=may(f"{CONFIG}.candidateCount", INT),
        logprobs=may(f"{CONFIG}.responseLogprobs", BOOL),
        top_logprobs=may(f"{CONFIG}.logprobs", INT),
        store=may("store", BOOL),
        thinking=may(f"{CONFIG}.thinkingConfig", FilledOne(THINKING)),
        service_tier=may("serviceTier", TIERS),
        metadata=may("labels", LABELS),
        elsewhere="messages system tools tool_choice model stream request_id json_output"),
    **lost_parameters(NAME),
)
ANSWER = Frame(NAME,
    Row(Response, None, id=may("responseId"), model=may("modelVersion"),
        elsewhere="content stop_reason raw_stop_reason usage request_id origin latency_ms losses attempts raw error"),
)
USAGE = Counts(NAME, ("input_tokens", "output_tokens"), total="totalTokenCount", cached_inside=True, reasoning="apart",
    input_tokens="promptTokenCount",
    cached_input_tokens="cachedContentTokenCount",
    output_tokens="candidatesTokenCount",
    reasoning_tokens="thoughtsTokenCount",
)
# fmt: on
