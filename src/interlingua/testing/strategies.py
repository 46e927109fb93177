"""Hypothesis strategies for arbitrary conversations, for us and for anybody who tests a dialect or a loop.

    from hypothesis import given
    from interlingua.testing import strategies

    @given(strategies.requests("my-dialect"))
    def test_nothing_is_lost_in_silence(request): ...

Histories are legal: every call is answered by the message behind it, one ``tool`` message for each assistant turn, ids
are not used twice. Everything else is as odd as the types allow: empty texts, any Unicode that UTF-8 can carry, deep
JSON, every kind of block and every field. ``dialect`` is whose stored files, server tools, opaque blocks and residue
may occur beside those of nobody. hypothesis is imported here and nowhere else in the package.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec.structs import replace

from interlingua.errors import AdapterError, error_type
from interlingua.folding import unfold
from interlingua.testing.samples import FOREIGN, OPAQUE, SPOKEN_CLASSES
from interlingua.types import (
    AudioBlock,
    Base64Source,
    Block,
    CacheMark,
    Citation,
    DocumentBlock,
    Event,
    FileSource,
    ImageBlock,
    Json,
    JsonBlock,
    Message,
    MessageComplete,
    MessageStart,
    OpaqueBlock,
    Origin,
    RedactedThinkingBlock,
    RefusalBlock,
    Request,
    Response,
    Role,
    ServerTool,
    ServerToolResultBlock,
    ServerToolUseBlock,
    Source,
    StopReason,
    TextBlock,
    TextDelta,
    TextSource,
    Thinking,
    ThinkingBlock,
    ThinkingDelta,
    TokenUsage,
    Tool,
    ToolAnnotations,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseInputDelta,
    UrlSource,
    UsageUpdate,
    VideoBlock,
)

__all__ = [
    "answer_blocks",
    "conversations",
    "errors",
    "event_streams",
    "json_objects",
    "json_values",
    "requests",
    "responses",
    "splits",
    "system_blocks",
    "texts",
    "thinking",
    "tool_choices",
    "tools",
    "usages",
    "user_blocks",
]

T = TypeVar("T")

# ------------------------------------------------------------------------------------------------------------- leaves

COUNTS = st.integers(0, 2**40)
ODD_TEXTS = ("", " ", "\n", "naïve – 日本語 😀", "\u0000\u2028\ufeff", '{"a": 1}', "[DONE]", "data: x\n\n", "Error: no", "null")


@cache
def texts(*, empty: bool = True) -> SearchStrategy[str]:
    """Texts: mostly short, sometimes with what framings and readers trip over."""
    letters = st.text(st.characters(exclude_categories=["Cs"]), min_size=0 if empty else 1, max_size=12)
    return letters | st.sampled_from([text for text in ODD_TEXTS if text or empty])


@cache
def _names() -> SearchStrategy[str]:
    return st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,11}", fullmatch=True)


@cache
def _data() -> SearchStrategy[str]:
    return st.binary(min_size=1, max_size=9).map(lambda data: base64.b64encode(data).decode())


@cache
def json_values() -> SearchStrategy[Json]:
    """Any JSON value of modest size. Numbers are those that every JSON library reads back."""
    numbers = st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9).filter(lambda number: math.copysign(1, number) > 0 or number)
    leaves = st.none() | st.booleans() | numbers | texts()
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(), inner, max_size=3), max_leaves=6)


@cache
def json_objects() -> SearchStrategy[dict[str, Json]]:
    """Any JSON object."""
    return st.dictionaries(texts(), json_values(), max_size=3)


def _maybe(inner: SearchStrategy[T]) -> SearchStrategy[T | None]:
    return st.none() | inner


CACHES = st.sampled_from([None, None, CacheMark(), CacheMark("5m"), CacheMark("1h"), CacheMark("30m"), CacheMark("forever")])
RESIDUES: tuple[dict[str, Json], ...] = (
    {"x_vendor": 1},
    {"x_vendor": {"deep": ["é", None, {}]}, "x_more": False},
    {"x_vendor": None, "x_more": [""]},
)


@cache
def _residue(dialect: str | None) -> SearchStrategy[dict[str, Json]]:
    """What a dialect, or one that nobody speaks, may have left on a value. Mostly nothing."""
    foreign: list[dict[str, Json]] = [{FOREIGN: residue} for residue in RESIDUES]
    own: list[dict[str, Json]] = [{dialect: residue} for residue in RESIDUES[:2]] if dialect is not None else []
    return st.sampled_from([{}] * 12 + foreign + own)


@cache
def _marks() -> SearchStrategy[dict[str, Any]]:
    """What any block may carry beside what it says. Mostly nothing."""
    caches: list[dict[str, Any]] = [{"cache": CacheMark(ttl)} for ttl in (None, "5m", "1h", "30m", "forever")]
    signed: list[dict[str, Any]] = [{"signature": "c2lnbmVk"}, {"signature": "c2lnbmVk", "cache": CacheMark()}]
    left: list[dict[str, Any]] = [{"extras": {FOREIGN: residue}} for residue in RESIDUES[:2]]
    return st.sampled_from([{}] * 15 + caches + signed * 2 + left)


def _marked(block: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """A block with what any block may carry."""
    return st.builds(lambda value, marks: replace(value, **marks) if marks else value, block, _marks())


# ------------------------------------------------------------------------------------------------------------- blocks


def _sources(kinds: Sequence[str], dialect: str | None) -> SearchStrategy[Source]:
    urls = st.sampled_from(["https://example.com/a.png", "https://example.com/b.pdf", "https://example.com/c?d=é"])
    media = _maybe(st.sampled_from(list(kinds)))
    return st.one_of(
        st.builds(Base64Source, st.sampled_from(list(kinds)), _data()),
        st.builds(UrlSource, urls, media),
        st.builds(FileSource, st.just("file_1"), media, dialect=st.sampled_from([dialect, FOREIGN])),
    )


@cache
def _media(dialect: str | None) -> SearchStrategy[Block]:
    def source(*kinds: str) -> SearchStrategy[Source]:
        return _sources(kinds, dialect)

    papers = source("application/pdf", "text/plain") | st.builds(TextSource, texts(empty=False))
    return st.one_of(
        st.builds(ImageBlock, source("image/png", "image/webp", "image/tiff"), _maybe(st.sampled_from(["low", "high"]))),
        st.builds(DocumentBlock, papers, *[_maybe(texts(empty=False))] * 2, _maybe(st.just("a.pdf"))),
        st.builds(AudioBlock, source("audio/wav", "audio/mpeg", "audio/ogg"), _maybe(texts(empty=False))),
        st.builds(VideoBlock, source("video/mp4")),
    )


@cache
def _opaque(dialect: str | None) -> SearchStrategy[Block]:
    return st.builds(OpaqueBlock, st.sampled_from([dialect or FOREIGN, FOREIGN]), st.just(OPAQUE))


@cache
def system_blocks() -> SearchStrategy[Block]:
    """What a system prompt is made of."""
    return _marked(st.builds(TextBlock, texts()))


@cache
def user_blocks(dialect: str | None = None) -> SearchStrategy[Block]:
    """What a user says."""
    text = st.builds(TextBlock, texts())
    return _marked(text | text | _media(dialect)) | _opaque(FOREIGN)


@cache
def _citations() -> SearchStrategy[Citation]:
    kinds = st.sampled_from(["url", "char", "page", "block", "search_result", "other"])
    return st.builds(
        Citation,
        kinds,
        _maybe(st.just("https://example.com")),
        _maybe(texts(empty=False)),
        _maybe(texts(empty=False)),
        *[_maybe(st.integers(0, 9))] * 3,
    )


@cache
def _inputs() -> SearchStrategy[dict[str, Any]]:
    """The fields of a call's arguments: an object, one spelled otherwise, text that is none, free text."""
    return st.one_of(
        st.builds(lambda value: {"input": value}, json_objects()),
        st.just({"input": {"a": 1}, "input_text": '{ "a": 1 }'}),
        st.builds(lambda text: {"input_text": text}, st.sampled_from(['{"a": 1', "[1]", "null", "", "nonsense"])),
        st.builds(lambda text: {"input_text": text, "kind": "text"}, texts()),
    )


@cache
def _calls() -> SearchStrategy[Block]:
    ids = st.sampled_from(["call_a", "toolu_b", "functions.add:0", "x" * 70])
    call = st.builds(lambda id, name, fields: ToolUseBlock(id, name, **fields), ids, _names(), _inputs())
    return _marked(call)


@cache
def _server_blocks(dialect: str | None) -> SearchStrategy[Block]:
    whose = st.sampled_from([dialect or FOREIGN, FOREIGN])
    call = st.builds(ServerToolUseBlock, st.just("srv_1"), st.just("web_search"), json_objects(), whose)
    content = st.just([{"type": "x_result", "url": "https://example.com"}])
    result = st.builds(
        ServerToolResultBlock, st.just("srv_1"), st.just("web_search"), content, whose, _maybe(st.booleans())
    )
    return call | result


@cache
def answer_blocks(dialect: str | None = None) -> SearchStrategy[Block]:
    """What a model says."""
    text = st.builds(TextBlock, texts(), st.just(()) | st.lists(_citations(), max_size=2).map(tuple))
    thought = st.builds(ThinkingBlock, texts())
    plain = st.one_of(
        text, thought, st.builds(RedactedThinkingBlock, _data()), st.builds(RefusalBlock, texts(empty=False)),
        _server_blocks(dialect), _media(dialect),
    )  # fmt: skip
    return _marked(text | text | thought | plain) | _calls() | _calls() | _opaque(dialect)


@cache
def _results(dialect: str | None) -> SearchStrategy[tuple[Block, ...]]:
    inner = st.builds(TextBlock, texts()) | _media(dialect) | st.builds(JsonBlock, json_values())
    return st.lists(_marked(inner), max_size=3).map(tuple)


# ------------------------------------------------------------------------------------------------------ conversations


@st.composite
def conversations(draw: st.DrawFn, dialect: str | None = None, *, turns: int = 4) -> tuple[Message, ...]:
    """A legal history: the user first, every call answered right behind its turn."""
    messages: list[Message] = [draw(_messages(Role.user, dialect))]
    for turn in range(draw(st.integers(0, turns))):
        if draw(st.integers(0, 5)) == 0:
            messages.append(draw(_messages(Role.system, dialect)))
        said = draw(_messages(Role.assistant, dialect))
        said = replace(said, content=_with_ids(said.content, turn), origin=draw(_origins(dialect)))
        messages.append(said)
        calls = [block for block in said.content if isinstance(block, ToolUseBlock)]
        if calls:
            messages.append(Message(Role.tool, tuple(_answering(draw(_answers(dialect)), call) for call in calls)))
        if not calls or draw(st.booleans()):
            messages.append(draw(_messages(Role.user, dialect)))
    return tuple(messages)


@cache
def _messages(role: Role, dialect: str | None) -> SearchStrategy[Message]:
    block = {Role.user: user_blocks(dialect), Role.system: system_blocks(), Role.assistant: answer_blocks(dialect)}[role]
    content = st.lists(block, min_size=1, max_size=4).map(tuple)
    return st.builds(lambda content, extras: Message(role, content, extras=extras), content, _residue(dialect))


@cache
def _origins(dialect: str | None) -> SearchStrategy[Origin | None]:
    return st.sampled_from([None, Origin(dialect=dialect), Origin(dialect=FOREIGN), Origin("p", dialect, "m")])


def _with_ids(content: tuple[Block, ...], turn: int) -> tuple[Block, ...]:
    """Calls of one conversation do not share an id."""
    return tuple(
        replace(block, id=f"{block.id}_{turn}_{index}") if isinstance(block, ToolUseBlock) else block
        for index, block in enumerate(content)
    )


@cache
def _answers(dialect: str | None) -> SearchStrategy[ToolResultBlock]:
    """A result for a call that is yet to be named; its own name is said or not."""
    said, failed = st.sampled_from([None, "named"]), st.sampled_from([None, True, False])
    return _marked(st.builds(ToolResultBlock, st.just(""), _results(dialect), said, failed))


def _answering(result: ToolResultBlock, call: ToolUseBlock) -> ToolResultBlock:
    return replace(result, tool_use_id=call.id, name=call.name if result.name else None)


@cache
def tools(dialect: str | None = None) -> SearchStrategy[Tool]:
    """Tools of the caller's, and one that a provider runs."""
    schemas = st.sampled_from(
        [
            {},
            {"type": "object"},
            {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]},
            {"type": "object", "properties": {"deep": {"type": "array", "items": {"enum": ["x", None]}}}},
        ]
    )
    flags = _maybe(st.booleans())
    annotations = _maybe(st.builds(ToolAnnotations, flags, flags, flags, flags))
    defined = st.builds(
        ToolDefinition, _names(), _maybe(texts(empty=False)), schemas, annotations, flags, CACHES, extras=_residue(dialect)
    )
    free = st.builds(ToolDefinition, _names(), _maybe(texts(empty=False)), kind=st.just("text"))
    raw: dict[str, Json] = {"x_search": {"deep": 1}}
    server = st.builds(ServerTool, st.sampled_from([dialect or FOREIGN, FOREIGN]), st.just(raw))
    return defined | defined | free | server


def tool_choices(offered: Sequence[Tool]) -> SearchStrategy[ToolChoice]:
    """A choice among the tools that are offered."""
    names = [tool.name for tool in offered if isinstance(tool, ToolDefinition)]
    parallel = _maybe(st.booleans())
    some: SearchStrategy[ToolChoice] = st.one_of(
        st.builds(ToolChoice.auto, parallel=parallel),
        st.builds(ToolChoice.any, parallel=parallel),
        st.just(ToolChoice.none()),
        st.builds(ToolChoice, parallel=st.booleans()),
    )
    if not names:
        return some
    name = st.sampled_from(names)
    allowed = st.builds(ToolChoice, st.sampled_from(["auto", "any"]), allowed=st.lists(name, min_size=1, unique=True).map(tuple))
    return some | st.builds(ToolChoice.specific, name, parallel=parallel) | allowed


@cache
def thinking() -> SearchStrategy[Thinking]:
    """How much to reason: any of the terms that providers have."""
    asked = st.builds(
        Thinking,
        st.sampled_from([None, "adaptive", "enabled", "disabled", "between_tools"]),
        st.sampled_from([None, "none", "minimal", "low", "medium", "high", "xhigh", "max", "heroic"]),
        _maybe(st.integers(1024, 4096)),
        st.sampled_from([None, "summarized", "omitted"]),
        extras=_residue(None),
    )
    return asked.filter(lambda value: any((value.mode, value.effort, value.budget, value.display)))


STRICT = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
LOOSE = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": ["string", "null"]}}, "required": ["b"]}


@cache
def _settings(dialect: str | None) -> dict[str, SearchStrategy[Any]]:
    """Every field of a request but its messages and the choice among its tools."""
    offered = st.lists(tools(dialect), max_size=3, unique_by=lambda tool: getattr(tool, "name", ""))
    return {
        "model": st.sampled_from(["m", "claude-x", "gpt-x"]),
        "system": st.lists(system_blocks(), max_size=3).map(tuple),
        "tools": offered.map(tuple),
        "max_output_tokens": st.integers(5_000, 99_999),
        "temperature": st.sampled_from([0, 0.5, 1, 1.5]),
        "top_p": st.sampled_from([0.1, 1]),
        "top_k": st.integers(1, 99),
        "stop_sequences": st.lists(texts(empty=False), min_size=1, max_size=3).map(tuple),
        "seed": st.integers(0, 99),
        "output_schema": st.sampled_from([STRICT, LOOSE]),
        "thinking": thinking(),
        "metadata": st.sampled_from([{"user_id": "u"}, {"team": "blue"}, {"user_id": "u", "team": "blue"}]),
        "service_tier": st.sampled_from(["auto", "default", "flex", "priority", "unheard-of"]),
        "betas": st.just(("beta-one", "beta-two")),
        "stream": st.booleans(),
        "extras": _residue(dialect),
    }


@st.composite
def requests(draw: st.DrawFn, dialect: str | None = None, *, turns: int = 3) -> Request:
    """A request with any of its fields set."""
    settings = _settings(dialect)
    chosen = draw(st.sets(st.sampled_from(sorted(settings)), max_size=6))
    fields: dict[str, Any] = {name: draw(settings[name]) for name in sorted(chosen)}
    if draw(st.booleans()):
        fields["tool_choice"] = draw(tool_choices(fields.get("tools", ())))
    return Request(messages=draw(conversations(dialect, turns=turns)), **fields)


# ------------------------------------------------------------------------------------------------------------ answers


@cache
def usages() -> SearchStrategy[TokenUsage]:
    """Token counts that do not contradict themselves."""

    def usage(fresh: int, read: int, written: int, said: int, thought: int) -> TokenUsage:
        return TokenUsage(fresh, read, written, said + thought, thought)

    return st.builds(usage, *[COUNTS] * 5)


@cache
def _contents(dialect: str | None) -> SearchStrategy[tuple[Block, ...]]:
    return st.lists(answer_blocks(dialect), max_size=5).map(tuple)


@st.composite
def responses(draw: st.DrawFn, dialect: str | None = None) -> Response:
    """A whole answer. Its stop reason is ``tool_use`` exactly when it ends in calls, or was cut short."""
    content = tuple(  # ids as a server gives them
        replace(block, id=f"call_{index}") if isinstance(block, ToolUseBlock) else block
        for index, block in enumerate(draw(_contents(dialect)))
    )
    calls = any(isinstance(block, ToolUseBlock) for block in content)
    cut = draw(st.sampled_from([None, None, StopReason.max_tokens, StopReason.context_overflow]))
    other = draw(st.sampled_from([StopReason.end_turn, StopReason.stop_sequence, StopReason.pause_turn, StopReason.refusal]))
    return Response(
        content=content,
        stop_reason=cut or (StopReason.tool_use if calls else other),
        id=draw(st.sampled_from([None, "r_1"])),
        model=draw(st.sampled_from([None, "m"])),
        usage=draw(_maybe(usages())),
        extras=draw(_residue(dialect)),
    )


@cache
def errors() -> SearchStrategy[AdapterError]:
    """A failed call, of any class that a server can answer with."""
    return st.builds(
        lambda word, message, after: error_type(word)(message, retry_after=after),
        st.sampled_from(SPOKEN_CLASSES),
        texts(empty=False),
        st.sampled_from([None, 0.5, 30.0]),
    )


@st.composite
def event_streams(draw: st.DrawFn, dialect: str | None = None, *, response: Response | None = None) -> list[Event]:
    """A response as a stream: its texts in any pieces, its blocks open together and interleaved in any legal way."""
    whole = response if response is not None else draw(responses(dialect))
    waiting = _by_block(list(unfold(whole)))
    waiting = [[piece for event in events for piece in draw(_pieces(event))] for events in waiting]
    events: list[Event] = [MessageStart(whole.id, whole.model, extras=whole.extras)]
    opened = 0
    while any(waiting):
        going = [index for index, left in enumerate(waiting[: opened + 1]) if left]
        index = draw(st.sampled_from(going))
        opened = max(opened, index + 1)
        events.append(waiting[index].pop(0))
    if whole.usage is not None:
        events.insert(draw(st.integers(1, len(events))), UsageUpdate(whole.usage))
    return [*events, MessageComplete(whole)]


def _by_block(events: list[Event]) -> list[list[Event]]:
    found: dict[int, list[Event]] = {}
    for event in events:
        if hasattr(event, "index"):
            found.setdefault(event.index, []).append(event)
    return [found[index] for index in sorted(found)]


def _pieces(event: Event) -> SearchStrategy[list[Event]]:
    """A delta, whole or in two."""
    field = "partial_json" if isinstance(event, ToolUseInputDelta) else "text"
    if not isinstance(event, TextDelta | ThinkingDelta | ToolUseInputDelta):
        return st.just([event])
    text: str = getattr(event, field)
    cuts = st.integers(0, len(text))
    return cuts.map(lambda cut: [replace(event, **{field: piece}) for piece in (text[:cut], text[cut:]) if piece])


@st.composite
def splits(draw: st.DrawFn, data: bytes) -> list[int]:
    """Places to cut some bytes at; often inside a character or between CR and LF."""
    return draw(st.lists(st.integers(0, len(data)), max_size=12))
