"""The rows of OpenAI Responses: which of our fields is which key. ``codec.rows`` explains what a row means.

Values that the protocol refuses are in ``rules``. An item that a model makes becomes one block or several: this is in
``items`` and ``hosted``. How items make turns is in ``history`` (reading) and ``turns`` (writing).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger
from ...codec.parameters import lost_parameters
from ...codec.paths import ABSENT
from ...codec.rows.fitted_kinds import OneOf
from ...codec.rows.kinds import (
    BOOL,
    INT,
    NUMBER,
    OBJECT,
    OMIT,
    REFUSED,
    TEXT,
    Each,
    FunctionKind,
    One,
    Texts,
    Vocabulary,
)
from ...codec.rows.media_urls import MediaUrl, StoredFile, read_url
from ...codec.rows.row import Row, Rule, fill, lost, may, must, write_only
from ...codec.rows.table import Frame, Table
from ...codec.rows.together import Group, Together
from ...codec.rows.usage import Counts
from ...codec.rules import as_json_text, as_text, drop
from ...codec.streams.stream import dump
from ...codec.tools.arguments import arguments_at, read_arguments, write_arguments
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
    RefusalBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
)
from ...types.messages import Message
from ...types.request import Request, Thinking
from ...types.response import Response
from ...types.tools import ServerTool, ToolDefinition
from ..openai import EFFORTS
from ..openai_tools import Choices
from . import rules
from .facts import DONE, NAME, REASON, ROLES, SHOWN, SUMMARY, TIERS, TTLS, is_part

NO_SIGNATURE = lost(f"{NAME} signs reasoning only", "state")
NO_CACHE = lost(f"{NAME} takes cache marks on input parts only")

BARE_DATA = "application/octet-stream"
JSON_TEXT = f"{NAME} has no JSON here; sent as JSON text"
URL, STORED = MediaUrl(NAME), StoredFile(NAME)

# -------------------------------------------------------------------------------------------------------------- kinds


class Media(Group):
    """A source: data as a data URL, a URL, or the id of a stored file, each under its key.

    Other keys may be null or empty. Under a key for data only, bare base64 without ``data:…,`` is read, too.
    """

    name = "a data URL, a URL or a file id"

    def __init__(self, data: str, url: str) -> None:
        self.data, self.url = data, url
        if data == url:
            self.quick = self._read_one

    def read(self, found: Wire, marks: Wire) -> Any:
        keys = [key for key, value in found.items() if value not in (None, "")]
        if len(keys) != 1 or type(found[keys[0]]) is not str:
            return REFUSED
        key, text = keys[0], found.pop(keys[0])
        if key == "file_id":
            return (FileSource(text, dialect=NAME),)
        source = read_url(text) if key == self.data else UrlSource(text)
        bare = type(source) is UrlSource and key != self.url
        return (Base64Source(BARE_DATA, text) if bare else source,)

    def _read_one(self, url: Json, file_id: Json) -> Any:
        return (read_url(url),) if type(url) is str and url and file_id is ABSENT else REFUSED

    def is_usual(self, values: Any, found: Wire) -> bool:
        data = found.get(self.data)
        return self.data == self.url or data is None or data.startswith("data:")

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        (source,) = values
        key = "file_id" if type(source) is FileSource else self.url if type(source) is UrlSource else self.data
        where, ledger.where = ledger.where, (*ledger.where, "source")
        written = (STORED if type(source) is FileSource else URL).write(source, ledger, {})
        ledger.where = where
        return {key: written}


class Picture(Group):
    """A picture that the model made: its data, and its format unless it is PNG."""

    name = "base64 data and its format"

    def read(self, found: Wire, marks: Wire) -> Any:
        if type(found.get("result")) is not str or not found["result"]:
            return REFUSED
        kind = found.pop("output_format") if type(found.get("output_format")) is str else "png"
        return (Base64Source(f"image/{kind}", found.pop("result")),)

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        (source,) = values
        ledger.lose_foreign_extras(source, NAME, "source")
        kind = source.media_type.removeprefix("image/")
        return {"result": source.data, **({"output_format": kind} if kind != "png" else {})}


class Output(Texts):
    """The content of a tool result: usually a string for one text or one JSON value, else parts."""

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        only: Any = value[0] if len(value) == 1 and marks.get(self.mark) != "list" else None
        if type(only) is JsonBlock and not (only.cache or only.signature or only.extras):
            ledger.lose_form("approximated", JSON_TEXT, 0)
            return dump(only.value).decode()
        written = super().write(value, ledger, marks)
        return "" if written is OMIT else written


class Effort(Group):
    """How much to think: one word for ``mode`` and ``effort``."""

    name = "a string"

    def read(self, found: Wire, marks: Wire) -> Any:
        word = found["effort"]
        if word != "none" and word not in EFFORTS:
            return REFUSED
        del found["effort"]
        return ("disabled", None) if word == "none" else (None, word)

    def write(self, values: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Any:
        return {"effort": "none" if values[0] == "disabled" else values[1]}


def read_text(wire: Json) -> Any:
    return wire if type(wire) is str else REFUSED


def read_object(wire: Json) -> Any:
    return read_arguments(wire)[0] if type(wire) is str else REFUSED


FREE_TEXT = FunctionKind(read_text, lambda text, ledger: text or "", name="a string", usual=lambda wire: True)
OBJECT_TEXT = FunctionKind(read_object, lambda value, ledger: write_arguments(value, None), name="JSON text")
SUMMARIES = Vocabulary(
    dict.fromkeys(("auto", "concise", "detailed"), SHOWN), f"{NAME} has no way to say that thinking is {{}}"
)
CACHE_TIMES = OneOf(TTLS, rules.CACHE_TIME)
SERVICE_TIERS = OneOf(TIERS, f"{NAME} has no service tier {{}}")
ROLE_WORDS = Vocabulary({"user": ROLES["user"], "developer": ROLES["developer"], "system": ROLES["system"]})


def annotation(tag: str | None, kind: str, *more: Rule, **keys: Any) -> Row:
    """The row for a kind of citation. Fields that are not in ``keys`` cannot be written: each is a loss."""
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


def unknown_part(*, in_input: bool) -> Callable[[Json], OpaqueBlock]:
    """A reader for parts of unknown types. A part whose type looks like that of an item is marked ``part``."""

    def read(wire: Json) -> OpaqueBlock:
        block = OpaqueBlock(NAME, wire)
        return block if is_part(block, in_input=in_input) else replace(block, forms={NAME: {"part": True}})

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
IN_INPUT: dict[str, Any] = {"cache": may("prompt_cache_breakpoint", One(CACHE)), "signature": NO_SIGNATURE}
IN_OUTPUT: dict[str, Any] = {"cache": NO_CACHE, "signature": NO_SIGNATURE}
INPUT_ROWS = (
    Row(TextBlock,     "input_text",  text="text", citations=lost(f"{NAME} takes no citations in input"), **IN_INPUT),
    Row(ImageBlock,    "input_image", rules.PICTURE, rules.STORED_HERE, rules.HAS_DETAIL,
        Together("source", "image_url file_id", Media("image_url", "image_url"), required=True),
        detail=may("detail"), **IN_INPUT),
    Row(DocumentBlock, "input_file",  rules.STORED_HERE, rules.HAS_FILENAME, rules.HAS_OWN_TITLE,
        Together("source", "file_data file_url file_id", Media("file_data", "file_url"), required=True),
        filename=may("filename"), title=lost(f"documents of {NAME} have no title"),
        context=lost(f"documents of {NAME} have no context"), **IN_INPUT),
)
OUTPUT_ROWS = (
    Row(TextBlock,     "output_text", rules.CITED_AT, constants={"logprobs": []}, text="text",
        citations=fill("annotations", [], Each(ANNOTATIONS, empty=True)), **IN_OUTPUT),
    Row(RefusalBlock,  "refusal",     text=must("refusal"), **IN_OUTPUT),
)
INPUT = Table(NAME, "type", *INPUT_ROWS,
    write_only(JsonBlock,     as_json_text(JSON_TEXT)),
    write_only(RefusalBlock,  as_text(f"{NAME} takes no refusals in input; sent as text")),
    *OUTPUT_ROWS, carrier=OpaqueBlock, unknown=unknown_part(in_input=True),
)
OUTPUT = Table(NAME, "type", *OUTPUT_ROWS,
    write_only(ImageBlock,    drop(f"{NAME} has no image blocks of an assistant in a message")),
    write_only(DocumentBlock, drop(f"{NAME} has no document blocks of an assistant")),
    *INPUT_ROWS, carrier=OpaqueBlock, unknown=unknown_part(in_input=False),
)
THOUGHTS = Table(NAME, "type",
    Row(ThinkingBlock, SUMMARY, text=must("text"), elsewhere="signature cache"),
    Row(ThinkingBlock, REASON,  text=must("text"), elsewhere="signature cache"),
)
def call_rows(**constants: str) -> tuple[Row, Row]:
    """The rows for the items of calls."""
    return (
        Row(ToolUseBlock, "function_call",    rules.VERBATIM_NAME, arguments_at("arguments"), fixed={"kind": "json"},
            constants=constants, id="call_id", name="name"),
        Row(ToolUseBlock, "custom_tool_call", rules.VERBATIM_NAME, fixed={"kind": "text"}, constants=constants,
            id="call_id", name="name", input_text=must("input", FREE_TEXT), elsewhere="input"),
    )
EASY_ITEMS   = Table(NAME, "type",
    Row(TextBlock, "message", constants={"role": "assistant"}, text=must("content", TEXT),
        citations=lost(f"{NAME} takes citations only with their message's id")),
    *call_rows(), **IN_OUTPUT,
)
ITEM_CALLS   = Table(NAME, "type", *call_rows(status=DONE), **IN_OUTPUT)
ANSWER_CALLS = ITEM_CALLS.for_answers()
RESULT: dict[str, Any] = {
    "tool_use_id": "call_id", "content": fill("output", "", Output(INPUT, usual="string")),
    "elsewhere": "is_error cache",
    "signature": lost(f"tool results of {NAME} have no signature", "state"),
}
RESULTS = {
    "json": Table(NAME, "type", Row(ToolResultBlock, "function_call_output", rules.RESULT_NAME, rules.NO_ERROR_FLAG,
        rules.NO_CACHE,
        name=may("name"), **RESULT)),
    "text": Table(NAME, "type", Row(ToolResultBlock, "custom_tool_call_output", rules.NO_ERROR_FLAG, rules.NO_CACHE,
        name=lost(f"a custom tool's output in {NAME} has no name", "form"), **RESULT)),
}
PICTURES = Table(NAME, "type",
    Row(ImageBlock, "image_generation_call", Together("source", "result output_format", Picture(), required=True),
        constants={"status": DONE}, detail=lost(f"an assistant's image in {NAME} has no `detail`"), **IN_OUTPUT),
)
MCP_CALLS = Table(NAME, "type",
    Row(ServerToolUseBlock, "mcp_call", rules.HOSTED_HERE, constants={"status": DONE}, id="id", name="name",
        input=must("arguments", OBJECT_TEXT), gives={"dialect": NAME}, **IN_OUTPUT),
)
# Items from which functions make several blocks, or one block with all their other keys as its input.
AROUND = "id role content origin metadata"
REASONING    = Frame(NAME, Row(ThinkingBlock, None, constants={"type": "reasoning"}, signature=may("encrypted_content"),
    elsewhere="text cache"))
ITEM_MESSAGE = Frame(NAME, Row(Message, None, elsewhere=AROUND,
    constants={"type": "message", "role": "assistant", "status": DONE}))
EASY_MESSAGE = Frame(NAME, Row(Message, None, elsewhere=AROUND, constants={"type": "message", "role": "assistant"}))
INPUT_MESSAGE        = Frame(NAME, Row(Message, None, accepts={"type": "message"}, role=must("role", ROLE_WORDS),
    elsewhere="id content origin metadata"))
HOSTED_CALL  = Frame(NAME, Row(ServerToolUseBlock, None, constants={"status": DONE},
    elsewhere="id name input dialect cache signature"))

# ----------------------------------------------------------------------------------------------- request and answer

TOOLS = Table(NAME, "type",
    Row(ToolDefinition, "function", rules.VERBATIM_NAME, rules.SENDABLE, fixed={"kind": "json"},
        name="name", description=may("description"), input_schema=may("parameters", OBJECT),
        strict=fill("strict", False, BOOL, default=None)),
    Row(ToolDefinition, "custom",   rules.VERBATIM_NAME, fixed={"kind": "text"},
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
    **lost_parameters(NAME),
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
