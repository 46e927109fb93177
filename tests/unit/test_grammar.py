"""StreamGrammar: the legal moves written down by hand; every other move is refused and changes nothing."""

from __future__ import annotations

import itertools

import pytest

from interlingua import (
    BlockComplete,
    BlockStart,
    Citation,
    CitationDelta,
    Event,
    ImageBlock,
    MessageComplete,
    MessageStart,
    ParseError,
    RefusalBlock,
    Response,
    StreamGrammar,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    TokenUsage,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    Unknown,
    UrlSource,
    UsageUpdate,
)

CALL, IMAGE = ToolUseBlock("a", "f"), ImageBlock(UrlSource("u"))
START, COMPLETE = MessageStart(), MessageComplete(Response())

# The event that opens a block of each kind, and the events that are legal in it.
OPENERS: dict[str, Event] = {
    "text": BlockStart(0, TextBlock("")),
    "refusal": BlockStart(0, RefusalBlock("")),
    "thinking": BlockStart(0, ThinkingBlock()),
    "whole": BlockStart(0, IMAGE),
    "call": ToolUseStart(0, "a", "f", CALL),
}
TAKES: dict[str, set[str]] = {
    "text": {"text.delta", "citation.delta", "block.complete"},
    "refusal": {"text.delta", "block.complete"},
    "thinking": {"thinking.delta", "block.complete"},
    "whole": {"block.complete"},
    "call": {"tool.use_input_delta", "tool.use_end"},
    "closed": set(),
}
MOVES: tuple[Event, ...] = (
    TextDelta(0, "x"),
    ThinkingDelta(0, "x"),
    CitationDelta(0, Citation(kind="url")),
    ToolUseInputDelta(0, "x"),
    ToolUseEnd(0, {}, CALL),
    BlockComplete(0, TextBlock("")),
)
ANYWHERE: tuple[Event, ...] = (UsageUpdate(TokenUsage()), Unknown("d", {}))


def after(*events: Event) -> StreamGrammar:
    grammar = StreamGrammar()
    for event in events:
        grammar.check(event)
    return grammar


def refuses(grammar: StreamGrammar, event: Event) -> None:
    before = (grammar.state, list(grammar.blocks))
    with pytest.raises(ParseError):
        grammar.check(event)
    assert (grammar.state, grammar.blocks) == before


@pytest.mark.parametrize("kind", OPENERS)
@pytest.mark.parametrize("move", MOVES, ids=lambda event: event.type)
def test_every_move_of_every_kind_of_block(kind: str, move: Event) -> None:
    grammar = after(START, OPENERS[kind])
    if move.type in TAKES[kind]:
        grammar.check(move)
    else:
        refuses(grammar, move)


@pytest.mark.parametrize("kind", OPENERS)
@pytest.mark.parametrize("move", MOVES, ids=lambda event: event.type)
def test_a_closed_block_takes_nothing_and_never_reopens(kind: str, move: Event) -> None:
    closer = MOVES[4] if kind == "call" else MOVES[5]
    grammar = after(START, OPENERS[kind], closer)
    refuses(grammar, move)
    refuses(grammar, OPENERS[kind])


@pytest.mark.parametrize("event", [*MOVES, *OPENERS.values(), *ANYWHERE, COMPLETE], ids=lambda event: event.type)
def test_nothing_comes_before_the_start_or_after_the_end(event: Event) -> None:
    refuses(StreamGrammar(), event)
    refuses(after(START, COMPLETE), event)


def test_one_start_and_one_end() -> None:
    refuses(after(START), START)
    refuses(after(START, COMPLETE), START)
    refuses(after(START, COMPLETE), COMPLETE)
    assert after(START, COMPLETE).state == "done"


@pytest.mark.parametrize("kind", OPENERS)
def test_the_end_waits_for_open_blocks(kind: str) -> None:
    refuses(after(START, OPENERS[kind]), COMPLETE)


@pytest.mark.parametrize("index", [-1, 1, 2])
def test_a_new_block_has_the_next_index(index: int) -> None:
    refuses(after(START), BlockStart(index, TextBlock("")))
    refuses(after(START), ToolUseStart(index, "a", "f", CALL))
    refuses(after(START, OPENERS["text"]), BlockStart(0, TextBlock("")))


@pytest.mark.parametrize("index", [-1, 1, 99])
def test_no_delta_for_a_block_that_was_never_opened(index: int) -> None:
    refuses(after(START, OPENERS["text"]), TextDelta(index, "x"))


def test_calls_are_opened_by_their_own_event() -> None:
    refuses(after(START), BlockStart(0, CALL))
    refuses(after(START), ToolUseStart(0, "a", "f", TextBlock("")))  # type: ignore[arg-type]


def test_blocks_may_be_open_together_in_any_order() -> None:
    openers = [BlockStart(0, TextBlock("")), ToolUseStart(1, "a", "f", CALL), ToolUseStart(2, "b", "f", CALL)]
    closers: list[Event] = [BlockComplete(0, TextBlock("")), ToolUseEnd(1, {}, CALL), ToolUseEnd(2, {}, CALL)]
    for order in itertools.permutations(closers):
        deltas = [ToolUseInputDelta(2, "x"), TextDelta(0, "x"), ToolUseInputDelta(1, "x"), ToolUseInputDelta(2, "x")]
        assert after(START, *openers, *deltas, *order, COMPLETE).state == "done"


def test_usage_and_unknown_events_stand_anywhere_between() -> None:
    assert after(START, *ANYWHERE, OPENERS["text"], *ANYWHERE, MOVES[5], *ANYWHERE, COMPLETE).state == "done"


def test_an_empty_answer_is_legal() -> None:
    assert after(START, COMPLETE).state == "done"
