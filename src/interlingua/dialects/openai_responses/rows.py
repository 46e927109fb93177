"""The phrases of OpenAI Responses: our field, their key. ``codec.rows`` says what a row means.

What the protocol refuses is in ``rules``. An item that a model makes becomes one block or several: ``items`` and
``hosted`` put them together, ``history`` and ``turns`` the turns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ...codec.json import is_object
from ...codec.parameters import unsaid
from ...codec.rows.fitted_kinds import OneOf
from ...codec.rows.kinds import BOOL, INT, NUMBER, OBJECT, REFUSED, TEXT, By, Each, One, Vocabulary
from ...codec.rows.row import Row, Rule, fill, instead, lost, may, must
from ...codec.rows.table import Frame, Table
from ...codec.rows.together import Together
from ...codec.rows.usage import Counts
from ...codec.rules import as_json_text, as_text, drop
from ...codec.tools.arguments import arguments_at, read_arguments, write_arguments
from ...types.base import Json
from ...types.blocks import (
    CacheMark,
    Citation,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    OpaqueBlock,
    RefusalBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ...types.messages import Message
from ...types.request import Request, Thinking
from ...types.response import Response
from ...types.tools import ServerTool, ToolDefinition
from ..openai_tools import Choices
from . import rules
from .facts import DONE, NAME, REASON, ROLES, SHOWN, SUMMARY, TIERS, TTLS, is_part
from .kinds import JSON_TEXT, Effort, Media, Output, Picture

NO_SIGNATURE = lost(f"{NAME} signs reasoning only", "state")
NO_CACHE = lost(f"{NAME} takes cache marks on input parts only")

# -------------------------------------------------------------------------------------------------------------- kinds


def read_text(wire: Json) -> Any:
    return wire if type(wire) is str else REFUSED


def read_object(wire: Json) -> Any:
    return read_arguments(wire)[0] if type(wire) is str else REFUSED


FREE_TEXT = By(read_text, lambda text, ledger: text or "", name="a string", usual=lambda wire: True)
OBJECT_TEXT = By(read_object, lambda value, ledger: write_arguments(value, None), name="JSON text")
SUMMARIES = Vocabulary(
    dict.fromkeys(("auto", "concise", "detailed"), SHOWN), f"{NAME} has no way to say that thinking is {{}}"
)
CACHE_TIMES = OneOf(TTLS, rules.CACHE_TIME)
SERVICE_TIERS = OneOf(TIERS, f"{NAME} has no service tier {{}}")
ROLE_WORDS = Vocabulary({"user": ROLES["user"], "developer": ROLES["developer"], "system": ROLES["system"]})


def annotation(tag: str | None, kind: str, *more: Rule, **keys: Any) -> Row:
    """A kind of citation. What is none of its keys has no word."""
    specs: dict[str, Any] = {field: may(key) for field, key in keys.items()}
    for field in ("url", "title", "text", "index", "start", "end"):
        specs.setdefault(field, lost(f"a {kind} citation of {NAME} has no {field}"))
    if tag is None:
        return Row(Citation, None, *more, kind=must("type"), **specs)
    return Row(Citation, tag, *more, fixed={"kind": kind}, **specs)


def read_unknown_annotation(wire: Json) -> Any:
    """A citation of a type that we do not know: its type is its kind, and the rest is residue."""
    if not is_object(wire) or type(wire.get("type")) is not str:
        return REFUSED
    rest = {key: value for key, value in wire.items() if key != "type"}
    return Citation(wire["type"], extras={NAME: rest}, forms={} if rest else {NAME: {"verbatim": ["kind"]}})


def unknown_part(*, put_in: bool) -> Callable[[Json], OpaqueBlock]:
    """A reader of parts that we do not know; what does not look like a part is marked."""

    def read(wire: Json) -> OpaqueBlock:
        block = OpaqueBlock(NAME, wire)
        return block if is_part(block, put_in=put_in) else replace(block, forms={NAME: {"part": True}})

    return read


# ------------------------------------------------------------------------------------------------------ parts and items

# fmt: off
ANNOTATIONS = Table(NAME, "type",
    annotation("url_citation",            "url",            rules.HAS_URL, url="url", title="title",
               start="start_index", end="end_index"),
    annotation("file_citation",           "file",           rules.OUR_CITATION, title="filename", index="index"),
    annotation("container_file_citation", "container_file", rules.OUR_CITATION, title="filename",
               start="start_index", end="end_index"),
    annotation("file_path",               "file_path",      rules.OUR_CITATION, index="index"),
    annotation(None,                      "such a",         rules.OUR_CITATION),
    unknown=read_unknown_annotation,
)
CACHE = Table(NAME, "mode", Row(CacheMark, "explicit", ttl=may("ttl", CACHE_TIMES)))
PUT_IN: dict[str, Any] = {"cache": may("prompt_cache_breakpoint", One(CACHE)), "signature": NO_SIGNATURE}
SAID: dict[str, Any] = {"cache": NO_CACHE, "signature": NO_SIGNATURE}
INPUT_ROWS = (
    Row(TextBlock,     "input_text",  text="text", citations=lost(f"{NAME} takes no citations in input"), **PUT_IN),
    Row(ImageBlock,    "input_image", rules.PICTURE, rules.STORED_HERE, rules.HAS_DETAIL,
        Together("source", "image_url file_id", Media("image_url", "image_url"), required=True),
        detail=may("detail"), **PUT_IN),
    Row(DocumentBlock, "input_file",  rules.STORED_HERE, rules.HAS_FILENAME, rules.HAS_OWN_TITLE,
        Together("source", "file_data file_url file_id", Media("file_data", "file_url"), required=True),
        filename=may("filename"), title=lost(f"documents of {NAME} have no title"),
        context=lost(f"documents of {NAME} have no context"), **PUT_IN),
)
OUTPUT_ROWS = (
    Row(TextBlock,     "output_text", rules.CITED_AT, constants={"logprobs": []}, text="text",
        citations=fill("annotations", [], Each(ANNOTATIONS, empty=True)), **SAID),
    Row(RefusalBlock,  "refusal",     text=must("refusal"), **SAID),
)
INPUT = Table(NAME, "type", *INPUT_ROWS,
    instead(JsonBlock,     as_json_text(JSON_TEXT)),
    instead(RefusalBlock,  as_text(f"{NAME} takes no refusals in input; sent as text")),
    *OUTPUT_ROWS, carrier=OpaqueBlock, unknown=unknown_part(put_in=True),
)
OUTPUT = Table(NAME, "type", *OUTPUT_ROWS,
    instead(ImageBlock,    drop(f"{NAME} has no image blocks of an assistant in a message")),
    instead(DocumentBlock, drop(f"{NAME} has no document blocks of an assistant")),
    *INPUT_ROWS, carrier=OpaqueBlock, unknown=unknown_part(put_in=False),
)
THOUGHTS = Table(NAME, "type",
    Row(ThinkingBlock, SUMMARY, text=must("text"), elsewhere="signature cache"),
    Row(ThinkingBlock, REASON,  text=must("text"), elsewhere="signature cache"),
)
def call_rows(**constants: str) -> tuple[Row, Row]:
    """The items of calls."""
    return (
        Row(ToolUseBlock, "function_call",    rules.NAMED_WELL, arguments_at("arguments"), fixed={"kind": "json"},
            constants=constants, id="call_id", name="name"),
        Row(ToolUseBlock, "custom_tool_call", rules.NAMED_WELL, fixed={"kind": "text"}, constants=constants,
            id="call_id", name="name", input_text=must("input", FREE_TEXT), elsewhere="input"),
    )
EASY_ITEMS   = Table(NAME, "type",
    Row(TextBlock, "message", constants={"role": "assistant"}, text=must("content", TEXT),
        citations=lost(f"{NAME} takes citations only with their message's id")),
    *call_rows(), **SAID,
)
ITEM_CALLS   = Table(NAME, "type", *call_rows(status=DONE), **SAID)
ANSWER_CALLS = ITEM_CALLS.for_answers()
RESULT: dict[str, Any] = {
    "tool_use_id": "call_id", "content": fill("output", "", Output(INPUT, usual="string")),
    "elsewhere": "is_error cache",
    "signature": lost(f"tool results of {NAME} have no signature", "state"),
}
RESULTS = {
    "json": Table(NAME, "type", Row(ToolResultBlock, "function_call_output", rules.NO_ERROR_FLAG, rules.NO_CACHE,
        name=may("name"), **RESULT)),
    "text": Table(NAME, "type", Row(ToolResultBlock, "custom_tool_call_output", rules.NO_ERROR_FLAG, rules.NO_CACHE,
        name=lost(f"a custom tool's output in {NAME} has no name", "form"), **RESULT)),
}
PICTURES = Table(NAME, "type",
    Row(ImageBlock, "image_generation_call", Together("source", "result output_format", Picture(), required=True),
        constants={"status": DONE}, detail=lost(f"an assistant's image in {NAME} has no `detail`"), **SAID),
)
MCP_CALLS = Table(NAME, "type",
    Row(ServerToolUseBlock, "mcp_call", rules.HOSTED_HERE, constants={"status": DONE}, id="id", name="name",
        input=must("arguments", OBJECT_TEXT), gives={"dialect": NAME}, **SAID),
)
# Items of which functions make several blocks, or whose fields are all the other keys.
AROUND = "id role content origin metadata"
REASONING    = Frame(NAME, Row(ThinkingBlock, None, constants={"type": "reasoning"}, signature=may("encrypted_content"),
    elsewhere="text cache"))
ITEM_MESSAGE = Frame(NAME, Row(Message, None, elsewhere=AROUND,
    constants={"type": "message", "role": "assistant", "status": DONE}))
EASY_MESSAGE = Frame(NAME, Row(Message, None, elsewhere=AROUND, constants={"type": "message", "role": "assistant"}))
WORDS        = Frame(NAME, Row(Message, None, accepts={"type": "message"}, role=must("role", ROLE_WORDS),
    elsewhere="id content origin metadata"))
HOSTED_CALL  = Frame(NAME, Row(ServerToolUseBlock, None, constants={"status": DONE},
    elsewhere="id name input dialect cache signature"))

# ----------------------------------------------------------------------------------------------- request and answer

TOOLS = Table(NAME, "type",
    Row(ToolDefinition, "function", rules.NAMED_WELL, rules.SENDABLE, fixed={"kind": "json"},
        name="name", description=may("description"), input_schema=may("parameters", OBJECT),
        strict=fill("strict", False, BOOL, default=None)),
    Row(ToolDefinition, "custom",   rules.NAMED_WELL, fixed={"kind": "text"},
        name="name", description=may("description"),
        input_schema=lost(f"a free-text tool of {NAME} has no schema"),
        strict=lost(f"a free-text tool of {NAME} has no strict flag")),
    carrier=ServerTool, cache=lost(f"{NAME} takes cache marks on content parts only"),
)
CHOICES = Choices(NAME, nested=False)
THINKING = Table(NAME, None,
    Row(Thinking, None, rules.ONE_WORD, Together("mode effort", "effort", Effort()), display=may("summary", SUMMARIES),
        budget=lost(f"{NAME} has no token budget for reasoning")),
)
LENGTHS = ("low", "medium", "high")
PARAMS = Frame(NAME,
    Row(Request, None,
        model=may("model", TEXT),
        max_output_tokens=may("max_output_tokens", INT),
        temperature=may("temperature", NUMBER),
        top_p=may("top_p", NUMBER),
        stream=may("stream", BOOL),
        service_tier=may("service_tier", SERVICE_TIERS),
        verbosity=may("text.verbosity", OneOf(LENGTHS, f"{NAME} has no verbosity {{}}")),
        top_logprobs=may("top_logprobs", INT),
        prompt_cache_key=may("prompt_cache_key", TEXT),
        store=may("store", BOOL),
        user=may("user", TEXT),
        elsewhere="messages system tools tool_choice output_schema output_name json_output thinking metadata request_id"
                  " logprobs output_description"),
    **unsaid(NAME),
)
ANSWER = Frame(NAME,
    Row(Response, None, constants={"object": "response", "created_at": 0, "service_tier": "default"},
        id=fill("id", ""), model=fill("model", ""),
        elsewhere="content stop_reason raw_stop_reason usage request_id origin latency_ms losses attempts raw error"),
)
COUNTED = "input_tokens cached_input_tokens cache_creation_input_tokens output_tokens reasoning_tokens".split()
USAGE = Counts(NAME, COUNTED, total="total_tokens", cached_inside=True, reasoning="either",
    input_tokens="input_tokens",
    cached_input_tokens="input_tokens_details.cached_tokens",
    cache_creation_input_tokens="input_tokens_details.cache_write_tokens",
    output_tokens="output_tokens",
    reasoning_tokens="output_tokens_details.reasoning_tokens",
)
# fmt: on
