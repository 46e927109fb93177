"""fold and unfold: the only accumulator, and what it refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from interlingua import (
    DIALECTS,
    BlockComplete,
    BlockStart,
    CancelledError,
    Citation,
    Event,
    ImageBlock,
    Message,
    MessageComplete,
    MessageStart,
    NetworkError,
    OpaqueBlock,
    ParseError,
    RedactedThinkingBlock,
    RefusalBlock,
    Response,
    ServerError,
    StopReason,
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
    decode_stream,
    dialect,
    fold,
    from_json,
    to_json,
    unfold,
)
from interlingua.codec.streams.fold import Accumulator

START = MessageStart("id", "m")

RESPONSES: tuple[Response, ...] = (
    Response(),
    Response("hi"),
    Response((TextBlock("a"), TextBlock("a"), TextBlock("")), usage=TokenUsage(1, 2)),
    Response((ThinkingBlock("hm", signature="s"), RedactedThinkingBlock("d"), RefusalBlock("no")), "refusal"),
    Response((TextBlock("a", (Citation(kind="url", url="u"), Citation(kind="char", index=0))),)),
    Response((ToolUseBlock("a", "f", input={"x": [None]}), ToolUseBlock("b", "f", input={"x": [None]})), "tool_use"),
    Response((ToolUseBlock("a", "f", input_text='{"x": '),), "max_tokens"),
    Response((ToolUseBlock("a", "f", input={"x": 1}, input_text='{ "x": 1 }'),), "tool_use"),
    Response(
        (ToolUseBlock("a", "f", "text", input_text="free"), ToolUseBlock("b", "f", "text", input_text="")), "tool_use"
    ),
    Response(
        (ImageBlock(UrlSource("u")), OpaqueBlock("d", {"a": 1})), "pause_turn", "raw", "id", "m", extras={"d": {"k": 1}}
    ),
    Response((TextBlock("x", extras={"d": {"k": 1}}, forms={"d": {"f": 1}}),), forms={"d": {"f": 2}}),
    Response((TextBlock("par"),), "error", error=ServerError("x")),
    # Answers that broke off: what was open is incomplete.
    Response((TextBlock("all"), TextBlock("par", incomplete=True)), "error", error=ServerError("x")),
    Response((ThinkingBlock("hm", incomplete=True), RefusalBlock("n", incomplete=True)), "error", error=ServerError()),
    Response((ToolUseBlock("a", "f", incomplete=True),), "cancelled", error=CancelledError("c")),
    Response((ToolUseBlock("a", "f", input_text="", incomplete=True),), "error", error=ServerError("x")),
    Response((ToolUseBlock("a", "f", input_text='{"x": ', incomplete=True),), "cancelled", error=CancelledError("c")),
    Response((ToolUseBlock("a", "f", input={"x": 1}, incomplete=True),), "max_tokens"),
    Response((ToolUseBlock("a", "f", input={"x": 1}, input_text='{"x":1,"y":', incomplete=True),), "max_tokens"),
    Response((ToolUseBlock("a", "f", "text", input_text="rm -rf /tm", incomplete=True),), "error", error=ServerError()),
    Response((OpaqueBlock("d", {"a": 1}, incomplete=True),), "error", error=ServerError("x")),
)


@pytest.mark.parametrize("response", RESPONSES)
def test_fold_undoes_unfold(response: Response) -> None:
    assert fold(unfold(response)) == response


@pytest.mark.parametrize("response", RESPONSES)
def test_an_answer_survives_saving(response: Response) -> None:
    assert from_json(to_json(response), Response) == response
    (*_, last) = unfold(response)
    assert from_json(to_json(last), MessageComplete) == last


@pytest.mark.parametrize("response", RESPONSES)
def test_only_closers_say_that_a_block_is_incomplete(response: Response) -> None:
    """It is not known at the start of a block that it will break off."""
    events = list(unfold(response))
    openers = [event.block for event in events if isinstance(event, BlockStart | ToolUseStart)]
    closers = [event.block for event in events if isinstance(event, BlockComplete | ToolUseEnd)]
    assert not any(block.incomplete for block in openers)
    assert [block.incomplete for block in closers] == [block.incomplete for block in response.content]


def test_no_arguments_are_made_up_for_an_incomplete_call() -> None:
    events = unfold(Response((ToolUseBlock("a", "f", incomplete=True),), "error"))
    assert not any(isinstance(event, ToolUseInputDelta) for event in events)


def test_a_stream_is_told_in_order() -> None:
    events = list(unfold(Response((TextBlock("hi"), ToolUseBlock("a", "f", input={"x": 1})), usage=TokenUsage(1))))
    assert [event.type for event in events] == [
        *("message.start", "block.start", "text.delta", "block.complete"),
        *("tool.use_start", "tool.use_input_delta", "tool.use_end", "usage.update", "message.complete"),
    ]


BROKEN: dict[str, tuple[Event, ...]] = {
    "text": (BlockStart(0, TextBlock("")), TextDelta(0, "a"), BlockComplete(0, TextBlock("b"))),
    "text that only the end knows": (BlockStart(0, TextBlock("")), BlockComplete(0, TextBlock("b"))),
    "text lost": (BlockStart(0, TextBlock("")), TextDelta(0, "a"), TextDelta(0, "b"), BlockComplete(0, TextBlock("a"))),
    "text from the start said again": (
        BlockStart(0, TextBlock("a")),
        TextDelta(0, "a"),
        BlockComplete(0, TextBlock("a")),
    ),
    "thinking": (BlockStart(0, ThinkingBlock()), ThinkingDelta(0, "a"), BlockComplete(0, ThinkingBlock("b"))),
    "refusal": (BlockStart(0, RefusalBlock("")), TextDelta(0, "a"), BlockComplete(0, RefusalBlock("b"))),
    "a text that became a thought": (
        BlockStart(0, TextBlock("")),
        TextDelta(0, "a"),
        BlockComplete(0, ThinkingBlock("a")),
    ),
    "arguments": (
        ToolUseStart(0, "a", "f", ToolUseBlock("a", "f")),
        ToolUseInputDelta(0, '{"x":1}'),
        ToolUseEnd(0, {"x": 2}, ToolUseBlock("a", "f", input={"x": 2})),
    ),
    "arguments of another call": (
        ToolUseStart(0, "a", "f", ToolUseBlock("a", "f")),
        ToolUseInputDelta(0, '{"x":1}'),
        ToolUseEnd(0, {"y": 2}, ToolUseBlock("b", "g", input={"y": 2}, input_text='{"y": 2}')),
    ),
    "malformed arguments": (
        ToolUseStart(0, "a", "f", ToolUseBlock("a", "f")),
        ToolUseInputDelta(0, '{"x":'),
        ToolUseEnd(0, {}, ToolUseBlock("a", "f", input_text='{"y":')),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_deltas_that_do_not_add_up(name: str) -> None:
    with pytest.raises(ParseError, match="add up"):
        fold([START, *BROKEN[name], MessageComplete(Response())])


def test_nulls_that_a_strict_schema_forced_do_not_count() -> None:
    """The fragments stay literal; the input is what the tool's author declared."""
    block = ToolUseBlock("a", "f", input={"x": 1}, input_text='{"x":1,"y":null}')
    events = (
        ToolUseStart(0, "a", "f", ToolUseBlock("a", "f")),
        ToolUseInputDelta(0, '{"x":1,"y":null}'),
        ToolUseEnd(0, {"x": 1}, block),
    )
    assert fold([START, *events, MessageComplete(Response((block,)))]).content == (block,)


def test_content_is_built_from_finished_blocks() -> None:
    events = (BlockStart(0, TextBlock("")), TextDelta(0, "a"), BlockComplete(0, TextBlock("a")))
    for claimed in ((), (TextBlock("other"),), (TextBlock("a"), TextBlock("b"))):
        assert fold([START, *events, MessageComplete(Response(claimed))]).content == (TextBlock("a"),)


def two(*claimed: Any) -> Response:
    events = [
        BlockStart(0, TextBlock("")), TextDelta(0, "b"), BlockStart(1, ThinkingBlock()), ThinkingDelta(1, "a"),
        BlockComplete(0, TextBlock("b")), BlockComplete(1, ThinkingBlock("a")),
    ]  # fmt: skip
    return fold([START, *events, MessageComplete(Response(claimed))])


def test_the_order_is_the_responses_where_it_holds_the_same_blocks() -> None:
    """Blocks may end out of order; the response has their order."""
    assert two(ThinkingBlock("a"), TextBlock("b")).content == (ThinkingBlock("a"), TextBlock("b"))
    assert two(TextBlock("b"), ThinkingBlock("a")).content == (TextBlock("b"), ThinkingBlock("a"))
    assert two(TextBlock("b"), TextBlock("b")).content == (TextBlock("b"), ThinkingBlock("a"))


def test_unknown_events_and_usage_are_passed_by() -> None:
    response = Response("x", usage=TokenUsage(9))
    start, *rest = unfold(response)
    events = [start, Unknown("d", {"a": 1}), UsageUpdate(TokenUsage(1)), *rest]
    assert fold(events) == response


def test_a_stream_that_never_completes_raises() -> None:
    with pytest.raises(ParseError, match=r"message\.complete"):
        fold([START, BlockStart(0, TextBlock("")), BlockComplete(0, TextBlock(""))])
    with pytest.raises(ParseError):
        fold([])


def test_an_illegal_stream_raises() -> None:
    with pytest.raises(ParseError):
        fold([START, TextDelta(0, "x"), MessageComplete(Response())])


def test_a_partial_answer_folds_with_its_error() -> None:
    response = Response("par", StopReason.error, error=ServerError("x"))
    folded = fold(unfold(response))
    assert (folded.text, folded.stop_reason, folded.error) == ("par", "error", ServerError("x"))


def failing(events: list[Event], error: Exception) -> Iterator[Event]:
    yield from events
    raise error


def test_the_error_that_an_iterator_ends_with_passes() -> None:
    """The error in ``message.complete`` is not raised; an error that the iterator raises after it is."""
    response = Response("par", StopReason.error, error=ServerError("x"))
    events = list(unfold(response))
    assert fold(events) == response
    with pytest.raises(ServerError, match="x"):
        fold(failing(events, ServerError("x")))


def test_nothing_may_follow_the_end() -> None:
    with pytest.raises(ParseError, match="done"):
        fold([*unfold(Response("a")), *unfold(Response("b"))])


@pytest.mark.parametrize("name", DIALECTS)
def test_fold_of_a_cut_stream_raises_its_error_with_the_partial_answer(name: str) -> None:
    encoder = dialect(name).stream_encoder()
    start, opener, delta, *_ = unfold(Response("part"))
    with pytest.raises(NetworkError) as caught:
        fold(decode_stream(map(encoder.feed, (start, opener, delta)), dialect=name))
    assert caught.value.response is not None
    assert caught.value.response.stop_reason is StopReason.error
    assert caught.value.response.text == "part"


def test_an_async_stream_is_refused_with_a_sentence() -> None:
    async def events() -> AsyncIterator[Event]:
        yield START

    with pytest.raises(TypeError, match="async for"):
        fold(events())  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def test_the_writing_side_numbers_blocks_and_joins_texts_once() -> None:
    grown = Accumulator()
    events = [
        grown.open(TextBlock("")),
        grown.open(ToolUseBlock("a", "f")),
        grown.text(0, "h"),
        grown.arguments(1, "{}"),
    ]
    events += [grown.text(0, "i"), grown.close(1, ToolUseBlock("a", "f")), grown.close(0, TextBlock(grown.joined(0)))]
    assert grown.content == (TextBlock("hi"), ToolUseBlock("a", "f"))
    assert list(grown.open_indexes) == []
    assert fold([START, *events, MessageComplete(Response(grown.content))]).text == "hi"


def test_a_response_is_a_turn() -> None:
    assert Response("hi").message == Message("assistant", "hi")
