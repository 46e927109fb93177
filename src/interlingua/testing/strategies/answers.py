"""Answers, whole and streamed, errors, and splits of bytes."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec.structs import replace

from interlingua.codec.streams.fold import unfold
from interlingua.errors import AdapterError, error_type
from interlingua.testing.failures import SPOKEN_CLASSES
from interlingua.testing.strategies.blocks import answer_blocks, cut_short, maybe, residue, texts
from interlingua.types import (
    Block,
    CitationDelta,
    ErrorClass,
    Event,
    MessageComplete,
    MessageStart,
    Response,
    StopReason,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
    ToolUseBlock,
    ToolUseInputDelta,
    Unknown,
    UsageUpdate,
)

COUNTS = st.integers(0, 2**40)


@cache
def usages() -> SearchStrategy[TokenUsage]:
    """Token counts that do not contradict each other."""

    def usage(fresh: int, read: int, written: int, visible: int, thought: int) -> TokenUsage:
        return TokenUsage(fresh, read, written, visible + thought, thought)

    return st.builds(usage, *[COUNTS] * 5)


@cache
def _contents(dialect: str | None) -> SearchStrategy[tuple[Block, ...]]:
    return st.lists(answer_blocks(dialect), max_size=5).map(tuple)


@st.composite
def responses(draw: st.DrawFn, dialect: str | None = None) -> Response:
    """A whole answer. Its stop reason is ``tool_use`` exactly when it ends in calls, or was cut short."""
    content = tuple(  # with ids as a server gives them
        replace(block, id=f"call_{index}") if isinstance(block, ToolUseBlock) else block
        for index, block in enumerate(draw(_contents(dialect)))
    )
    calls = any(isinstance(block, ToolUseBlock) for block in content)
    cut = draw(st.sampled_from([None, None, StopReason.max_tokens, StopReason.context_overflow]))
    if cut is not None and content and isinstance(content[-1], ToolUseBlock) and draw(st.booleans()):
        content = cut_short(content)
    other = draw(
        st.sampled_from([StopReason.end_turn, StopReason.stop_sequence, StopReason.pause_turn, StopReason.refusal])
    )
    return Response(
        content=content,
        stop_reason=cut or (StopReason.tool_use if calls else other),
        id=draw(st.sampled_from([None, "r_1"])),
        model=draw(st.sampled_from([None, "m"])),
        usage=draw(maybe(usages())),
        extras=draw(residue(dialect)),
    )


@cache
def errors() -> SearchStrategy[AdapterError]:
    """An error of any class that a server can send."""

    def error(word: ErrorClass, message: str, after: float | None) -> AdapterError:
        return error_type(word)(message, retry_after=after)

    return st.builds(error, st.sampled_from(SPOKEN_CLASSES), texts(empty=False), st.sampled_from([None, 0.5, 30.0]))


@st.composite
def event_streams(draw: st.DrawFn, dialect: str | None = None, *, response: Response | None = None) -> list[Event]:
    """A response as a stream: texts in any pieces, blocks open together and interleaved in any legal way."""
    whole = response if response is not None else draw(responses(dialect))
    waiting = [draw(_block_events(events)) for events in _by_block(list(unfold(whole)))]
    waiting = [[piece for event in events for piece in draw(_pieces(event))] for events in waiting]
    events: list[Event] = [MessageStart(whole.id, whole.model, extras=whole.extras)]
    opened = 0
    while any(waiting):
        unfinished = [index for index, left in enumerate(waiting[: opened + 1]) if left]
        index = draw(st.sampled_from(unfinished))
        opened = max(opened, index + 1)
        events.append(waiting[index].pop(0))
    if whole.usage is not None:
        events.insert(draw(st.integers(1, len(events))), UsageUpdate(whole.usage))
    return [*events, MessageComplete(whole)]


def _by_block(events: list[Event]) -> list[list[Event]]:
    found: dict[int, list[Event]] = {}
    for event in events:
        if not isinstance(event, MessageStart | UsageUpdate | Unknown | MessageComplete):
            found.setdefault(event.index, []).append(event)
    return [found[index] for index in sorted(found)]


def _block_events(events: list[Event]) -> SearchStrategy[list[Event]]:
    """The events of a block, sometimes without the deltas of citations or arguments, which its end repeats."""
    fewer: list[Event] = [event for event in events if not isinstance(event, CitationDelta | ToolUseInputDelta)]
    return st.just(events) if len(fewer) == len(events) else st.sampled_from([events, events, fewer])


def _pieces(event: Event) -> SearchStrategy[list[Event]]:
    """A delta, whole or in two pieces; any other event as it is."""
    field = "partial_json" if isinstance(event, ToolUseInputDelta) else "text"
    if not isinstance(event, TextDelta | ThinkingDelta | ToolUseInputDelta):
        return st.just([event])
    text: str = getattr(event, field)
    cuts = st.integers(0, len(text))
    return cuts.map(lambda cut: [replace(event, **{field: piece}) for piece in (text[:cut], text[cut:]) if piece])


@st.composite
def splits(draw: st.DrawFn, data: bytes) -> list[int]:
    """Positions to split bytes at; often inside a character or between CR and LF."""
    return draw(st.lists(st.integers(0, len(data)), max_size=12))
