"""One small value for each concept of the canonical types: the built-in samples of the conformance suite.

A sample adds one concept to a request or an answer that every dialect can express. ``path`` is the place of the
concept, where a test checks that it came back or was declared lost. Values that belong to one dialect (stored files,
server tools, opaque blocks, residue) are made for the dialect that is passed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from interlingua.testing.examples import PARAMETERS
from interlingua.types import (
    AudioBlock,
    Base64Source,
    Block,
    CacheMark,
    Citation,
    DocumentBlock,
    FileSource,
    ImageBlock,
    JsonBlock,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Request,
    Response,
    Role,
    ServerTool,
    ServerToolResultBlock,
    ServerToolUseBlock,
    StopReason,
    TextBlock,
    TextSource,
    Thinking,
    ThinkingBlock,
    TokenUsage,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    VideoBlock,
)

__all__ = ["ANSWER", "BASE", "FOREIGN", "PNG", "Sample", "answers", "requests"]

FOREIGN = "some-other-dialect"
"""The name of a dialect that does not exist: no wire may contain what is marked with it."""

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"
PDF = "JVBERi0xLjQK"
SOUND = "UklGRiQAAABXQVZF"
FILM = "AAAAIGZ0eXBpc29t"

USER = Message(Role.user, (TextBlock("hi"),))
BASE = Request(model="m", max_output_tokens=64, messages=(USER,))
ANSWER = Response(id="r1", model="m", content=(TextBlock("hello"),), usage=TokenUsage(input_tokens=3, output_tokens=2))

ADD = ToolDefinition(
    name="add",
    description="Adds.",
    input_schema={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
)
OPTIONAL = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
FREE = ToolDefinition("run", "Runs code.", kind="text")
OPAQUE = {"type": "x_block", "x_block": {"a": 1}}
CALL = ToolUseBlock(id="call_1", name="add", input={"a": 1, "b": 2})
CUT_CALL = replace(CALL, incomplete=True)
RESULT = ToolResultBlock(tool_use_id="call_1", content=(TextBlock("3"),))


class Sample(NamedTuple):
    """A request or an answer that uses one concept, and the path of the concept."""

    concept: str
    path: str
    value: Any


def requests(dialect: str) -> list[Sample]:
    """A sample request for every concept, made for one dialect."""
    return [*_parameters(), *_thinking(), *_tools(dialect), *_choices(), *_system(), *_turns(dialect), *_results()]


def _request(concept: str, path: str, **fields: Any) -> Sample:
    return Sample(concept, path, replace(BASE, **fields))


def _parameters() -> list[Sample]:
    field = _field
    schema = {**OPTIONAL, "required": ["city", "days"], "additionalProperties": False}
    return [
        field("model", "another-model"),
        field("max_output_tokens", 128),
        *[field(name, values[0]) for name, values in PARAMETERS.items()],
        _request("top logprobs", "top_logprobs", logprobs=True, top_logprobs=3),
        field("output_schema", schema),
        _request("output name", "output_name", output_schema=schema, output_name="weather"),
        _request(
            "output description",
            "output_description",
            output_schema=schema,
            output_description="The weather, in Celsius.",
        ),
        _request("output schema with optionals", "output_schema", output_schema=OPTIONAL),
        _request("metadata user id", "metadata/user_id", metadata={"user_id": "u-1"}),
        _request("metadata", "metadata/team", metadata={"team": "blue"}),
    ]


def _field(name: str, value: Any) -> Sample:
    return _request(name.replace("_", " "), name, **{name: value})


def _thinking() -> list[Sample]:
    rows = (
        ("thinking effort", "effort", Thinking(effort="high")),
        ("thinking budget", "budget", Thinking(mode="enabled", budget=2048)),
        ("thinking display", "display", Thinking(mode="adaptive", display="summarized")),
        ("thinking adaptive", "mode", Thinking(mode="adaptive")),
        ("thinking disabled", "mode", Thinking(mode="disabled")),
        ("thinking between tools", "mode", Thinking(mode="between_tools")),
    )
    return [
        _request(concept, f"thinking/{name}", thinking=value, max_output_tokens=4096) for concept, name, value in rows
    ]


def _tools(dialect: str) -> list[Sample]:
    def tool(concept: str, path: str, value: Any) -> Sample:
        return _request(concept, f"tools/0{path}", tools=(value,))

    server = {"x_search": {"deep": 1}}
    return [
        tool("tool", "", ADD),
        tool("tool without description", "", replace(ADD, description=None)),
        tool("tool without parameters", "", ToolDefinition("ping", input_schema={"type": "object", "properties": {}})),
        tool("tool strict", "/strict", replace(ADD, strict=True)),
        tool("tool not strict", "/strict", replace(ADD, strict=False)),
        tool("tool strict with optionals", "/input_schema", ToolDefinition("w", "Weather.", OPTIONAL, strict=True)),
        tool("tool cache", "/cache", replace(ADD, cache=CacheMark())),
        tool("free-text tool", "/kind", FREE),
        tool("own server tool", "", ServerTool(dialect, server)),
        tool("foreign server tool", "", ServerTool(FOREIGN, server)),
        tool("own tool residue", "/extras", replace(ADD, extras={dialect: {"x_vendor": {"a": 1}}})),
    ]


def _choices() -> list[Sample]:
    rows = (
        ("choice auto", "mode", ToolChoice.auto()),
        ("choice any", "mode", ToolChoice.any()),
        ("choice none", "mode", ToolChoice.none()),
        ("choice specific", "name", ToolChoice.specific("add")),
        ("choice allowed", "allowed", ToolChoice(mode="any", allowed=("add", "sub"))),
        ("choice not parallel", "parallel", ToolChoice.auto(parallel=False)),
        ("choice parallel only", "parallel", ToolChoice(parallel=False)),
    )
    tools = (ADD, replace(ADD, name="sub"), replace(ADD, name="mul"))
    return [_request(concept, f"tool_choice/{name}", tools=tools, tool_choice=value) for concept, name, value in rows]


def _system() -> list[Sample]:
    one, two = TextBlock("Be kind."), TextBlock("Be brief.")
    later = (USER, Message(Role.assistant, (TextBlock("yes?"),)), Message(Role.system, (one,)), USER)
    return [
        _request("system", "system/0", system=(one,)),
        _request("system blocks", "system", system=(one, two)),
        _request("system cache", "system/0/cache", system=(replace(one, cache=CacheMark()), two)),
        _request("later system", "messages/2", messages=later),
        _request("leading system message", "messages/0", messages=(Message(Role.system, (one,)), USER)),
    ]


def _turns(dialect: str) -> list[Sample]:
    own = Message(Role.user, (TextBlock("hi"),), extras={dialect: {"x_vendor": 1}})
    return [
        *(_user(concept, path, block) for concept, path, block in (*_media(dialect), *_marks())),
        *(_assistant(concept, path, blocks) for concept, path, blocks in _answer_contents(dialect)),
        _assistant("cut text", "/incomplete", (TextBlock("so f", incomplete=True),)),
        _request("cut call", "messages/1/content/0", messages=(*_called(CUT_CALL), USER), tools=(ADD,)),
        _request("parallel calls", "messages/1", messages=(*_called(CALL, replace(CALL, id="call_2")),), tools=(ADD,)),
        _request("own message residue", "messages/0/extras", messages=(own,)),
        _request("own request residue", "extras", extras={dialect: {"x_vendor": {"deep": [1]}}}),
        _request("foreign request residue", "extras", extras={FOREIGN: {"x_vendor": 1}}),
    ]


def _user(concept: str, path: str, block: Block) -> Sample:
    """A request with a user's block. Media follow a text, as in protocols that keep images apart from the text."""
    before = () if isinstance(block, TextBlock) else (TextBlock("see"),)
    turn = Message(Role.user, (*before, block))
    return _request(concept, f"messages/0/content/{len(before)}{path}", messages=(turn,))


def _assistant(concept: str, path: str, blocks: tuple[Block, ...]) -> Sample:
    turn = Message(Role.assistant, blocks)
    calls = [block for block in blocks if isinstance(block, ToolUseBlock)]
    last = Message(Role.tool, tuple(replace(RESULT, tool_use_id=call.id) for call in calls)) if calls else USER
    tools = tuple(replace(ADD, name=call.name) if call.kind == "json" else FREE for call in calls)
    return _request(concept, f"messages/1/content/0{path}", messages=(USER, turn, last), tools=tools)


def _media(dialect: str) -> list[tuple[str, str, Block]]:
    picture, pdf = Base64Source("image/png", PNG), Base64Source("application/pdf", PDF)
    return [
        ("text", "", TextBlock("hi")),
        ("unicode text", "", TextBlock('naïve – 日本語 \u0000\u2028 😀\r\n\t"\\')),
        ("image", "", ImageBlock(picture)),
        ("image by url", "", ImageBlock(UrlSource("https://example.com/a.png"))),
        ("image with type", "", ImageBlock(UrlSource("https://example.com/a", "image/png"))),
        ("own image file", "", ImageBlock(FileSource("file_1", dialect=dialect))),
        ("foreign image file", "", ImageBlock(FileSource("file_1", dialect=FOREIGN))),
        ("image detail", "/detail", ImageBlock(picture, "low")),
        ("document", "", DocumentBlock(pdf)),
        ("document filename", "/filename", DocumentBlock(pdf, filename="a.pdf")),
        ("document by url", "", DocumentBlock(UrlSource("https://example.com/a.pdf"))),
        ("own document file", "", DocumentBlock(FileSource("file_2", "application/pdf", dialect=dialect))),
        ("document of text", "", DocumentBlock(TextSource("Once."), title="Tale")),
        ("document of markdown", "", DocumentBlock(TextSource("# Once", "text/markdown"))),
        ("document title", "/title", DocumentBlock(pdf, title="T")),
        ("document context", "/context", DocumentBlock(pdf, context="C")),
        ("audio", "", AudioBlock(Base64Source("audio/wav", SOUND))),
        ("audio by url", "", AudioBlock(UrlSource("https://example.com/a.wav"))),
        ("video", "", VideoBlock(Base64Source("video/mp4", FILM))),
        ("video by url", "", VideoBlock(UrlSource("https://example.com/a.mp4", "video/mp4"))),
    ]


def _marks() -> list[tuple[str, str, Block]]:
    return [
        ("text cache", "/cache", TextBlock("hi", cache=CacheMark())),
        ("text cache 1h", "/cache/ttl", TextBlock("hi", cache=CacheMark("1h"))),
        ("text cache 30m", "/cache/ttl", TextBlock("hi", cache=CacheMark("30m"))),
        ("image cache", "/cache", ImageBlock(Base64Source("image/png", PNG), cache=CacheMark())),
        ("json outside a result", "", JsonBlock({"a": 1})),
        ("foreign opaque block", "", OpaqueBlock(FOREIGN, OPAQUE)),
        ("foreign block residue", "/extras", TextBlock("hi", extras={FOREIGN: {"x_vendor": 1}})),
    ]


def _answer_contents(dialect: str) -> list[tuple[str, str, tuple[Block, ...]]]:
    """Contents of an answer. A text follows every thought, because protocols require it."""
    text = TextBlock("so")
    web = Citation("url", url="https://example.com", title="E", start=0, end=2)
    page = Citation("page", title="E", text="quoted", index=0, start=1, end=2)
    found = {"type": "x_result", "x": 1}
    return [
        ("assistant text", "", (text,)),
        ("assistant texts", "", (text, TextBlock("then"))),
        ("thinking", "", (ThinkingBlock("hm", signature="c2lnbmVk"), text)),
        ("thinking without text", "", (ThinkingBlock("", signature="c2lnbmVk"), text)),
        ("unsigned thinking", "", (ThinkingBlock("hm"), text)),
        ("redacted thinking", "", (RedactedThinkingBlock("c2VjcmV0"), text)),
        ("thoughts", "", (ThinkingBlock("hm"), ThinkingBlock("hm!"), text)),
        ("text before a thought", "", (text, ThinkingBlock("hm", signature="c2lnbmVk"))),
        ("signed text", "/signature", (replace(text, signature="c2lnbmVk"),)),
        ("refusal", "", (RefusalBlock("no"),)),
        ("refusals", "", (RefusalBlock("no"), RefusalBlock("never"))),
        ("web citation", "/citations", (replace(text, citations=(web,)),)),
        ("page citation", "/citations", (replace(text, citations=(page,)),)),
        ("call", "", (CALL,)),
        ("call before text", "", (CALL, text)),
        ("own block residue", "/extras", (replace(CALL, extras={dialect: {"x_vendor": {"a": 1}}}),)),
        ("own opaque block", "", (OpaqueBlock(dialect, OPAQUE), text)),
        ("call without input", "", (replace(CALL, input={}),)),
        ("call with deep input", "/input", (replace(CALL, input={"é": [1, {"b": None}], "x": {"y": 0.5, "z": True}}),)),
        ("call spelled otherwise", "/input_text", (replace(CALL, input_text='{"a": 1, "b": 2}'),)),
        ("malformed call", "/input_text", (replace(CALL, input={}, input_text='{"a": 1'),)),
        ("free-text call", "/kind", (ToolUseBlock("call_1", "run", "text", input_text="print(1)"),)),
        ("signed call", "/signature", (replace(CALL, signature="c2lnbmVk"),)),
        ("call cache", "/cache", (replace(CALL, cache=CacheMark()),)),
        ("call with odd id", "/id", (replace(CALL, id="functions.add:0|" + "x" * 70),)),
        ("own server call", "", (ServerToolUseBlock("s1", "web_search", {"query": "q"}, dialect), text)),
        ("own server result", "", (ServerToolResultBlock("s1", "web_search", found, dialect, is_error=False), text)),
        ("foreign server call", "", (ServerToolUseBlock("s1", "web_search", {"query": "q"}, FOREIGN), text)),
        ("assistant audio", "", (AudioBlock(FileSource("audio_1", dialect=dialect), transcript="so"), text)),
        ("assistant image", "", (ImageBlock(Base64Source("image/png", PNG)), text)),
    ]


def _called(*calls: ToolUseBlock) -> tuple[Message, ...]:
    results = tuple(replace(RESULT, tool_use_id=call.id) for call in calls)
    return USER, Message(Role.assistant, calls), Message(Role.tool, results)


def _results() -> list[Sample]:
    text, picture = TextBlock("3"), ImageBlock(Base64Source("image/png", PNG))
    pdf = DocumentBlock(Base64Source("application/pdf", PDF))
    rows = (
        ("result", "", RESULT),
        ("result name", "/name", replace(RESULT, name="add")),
        ("empty result", "/content", replace(RESULT, content=())),
        ("result of texts", "/content", replace(RESULT, content=(text, TextBlock("4")))),
        ("result with image", "/content/1", replace(RESULT, content=(text, picture))),
        ("result with document", "/content/1", replace(RESULT, content=(text, pdf))),
        ("result of JSON", "/content/0", replace(RESULT, content=(JsonBlock({"sum": 3, "deep": [None, "x"]}),))),
        ("result of JSON text", "/content/0", replace(RESULT, content=(TextBlock('{"sum":3}'),))),
        ("result failed", "/is_error", replace(RESULT, is_error=True)),
        ("result not failed", "/is_error", replace(RESULT, is_error=False)),
        ("result cache", "/cache", replace(RESULT, cache=CacheMark())),
    )
    turns = (USER, Message(Role.assistant, (CALL,)))
    return [
        _request(concept, f"messages/2/content/0{path}", messages=(*turns, Message(Role.tool, (block,))), tools=(ADD,))
        for concept, path, block in rows
    ]


# ------------------------------------------------------------------------------------------------------------ answers


def answers(dialect: str) -> list[Sample]:
    """A sample answer for every concept, made for one dialect."""
    contents = [
        _answer(concept, f"content/0{path}", content=blocks)
        for concept, path, blocks in _answer_contents(dialect)
        if concept != "call with odd id"  # a server does not write what its own protocol refuses
    ]
    two = (CALL, replace(CALL, id="call_2"))
    return [
        *(_finished(sample) for sample in contents),
        _answer("parallel calls", "content", content=(TextBlock("let me see"), *two), stop_reason=StopReason.tool_use),
        _answer("cut call", "content/1", content=(TextBlock("so"), CUT_CALL), stop_reason=StopReason.max_tokens),
        _answer("nothing said", "content", content=()),
        *_stops(),
        *_usage(),
        _answer("no id", "id", id=None),
        _answer("no model", "model", model=None),
        _answer("own residue", "extras", extras={dialect: {"x_vendor": {"a": [1]}}}),
        _answer("foreign residue", "extras", extras={FOREIGN: {"x_vendor": 1}}),
    ]


def _answer(concept: str, path: str, **fields: Any) -> Sample:
    return Sample(concept, path, replace(ANSWER, **fields))


def _finished(sample: Sample) -> Sample:
    """The sample with the stop reason that fits its content."""
    response: Response = sample.value
    if response.tool_uses:
        return sample._replace(value=replace(response, stop_reason=StopReason.tool_use))
    if any(isinstance(block, RefusalBlock) for block in response.content):
        return sample._replace(value=replace(response, stop_reason=StopReason.refusal))
    return sample


def _stops() -> list[Sample]:
    return [
        _answer(
            f"stop {reason}",
            "stop_reason",
            stop_reason=reason,
            content=(CALL,) if reason == "tool_use" else ANSWER.content,
        )
        for reason in StopReason
        if reason not in (StopReason.error, StopReason.cancelled)
    ]


def _usage() -> list[Sample]:
    rows = (
        ("usage cached", "cached_input_tokens", TokenUsage(3, 5, 0, 2)),
        ("usage written", "cache_creation_input_tokens", TokenUsage(3, 0, 7, 2)),
        ("usage reasoning", "reasoning_tokens", TokenUsage(3, 0, 0, 9, 4)),
        ("usage of zero", "", TokenUsage()),
    )
    return [
        *(_answer(concept, f"usage/{name}".rstrip("/"), usage=usage) for concept, name, usage in rows),
        _answer("no usage", "usage", usage=None),
    ]
