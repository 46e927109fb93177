"""Blocks that are open together, in protocols that write one after the other: what is said, moved and lost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from interlingua import (
    DIALECTS,
    AudioBlock,
    Base64Source,
    BlockComplete,
    BlockStart,
    CacheMark,
    Citation,
    CitationDelta,
    Event,
    FileSource,
    ImageBlock,
    MessageComplete,
    MessageStart,
    OpaqueBlock,
    Response,
    StopReason,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolUseBlock,
    ToolUseInputDelta,
    fold,
    unfold,
)
from interlingua.testing.conformance import check_events, decode_bytes, encode_events

SERIAL = ("anthropic-messages", "bedrock-converse")
PLACE = Citation("char", title="t", text="b", index=0, start=1, end=2)
OTHER = Citation("char", title="t", text="c", index=0, start=2, end=3)
WEB = Citation("url", url="https://example.com", title="t", start=0, end=1)
Z = TextBlock("z")


def early(first: Any, *pieces: Event, second: Any = Z) -> list[Event]:
    """The first block goes on, and ends, when the second one is complete."""
    response = Response((first, second), model="m")
    between = [event for event in unfold(response) if getattr(event, "index", 0) == 1]
    return [*pieces[:-1], *between, pieces[-1], BlockComplete(0, first), MessageComplete(response)]


def stream(events: Iterable[Event]) -> list[Event]:
    return [MessageStart(None, "m"), *events]


def read(name: str, events: list[Event]) -> tuple[tuple[Any, ...], dict[str, str]]:
    """What a reader has, and the losses at the first block."""
    said, losses = encode_events(name, events)
    lost: dict[str, str] = {loss.path: loss.kind for loss in losses if loss.path.startswith("content/0")}
    return fold(decode_bytes(name, [said])[0]).content, lost


@pytest.mark.parametrize("name", SERIAL)
def test_the_rest_of_a_text_is_a_block_with_what_came_late(name: str) -> None:
    text = TextBlock("abc", (PLACE, OTHER), extras={name: {"x_vendor": 1}})
    start = BlockStart(0, TextBlock("", extras=text.extras))
    events = stream(
        [start, *early(text, TextDelta(0, "ab"), CitationDelta(0, PLACE), TextDelta(0, "c"))],
    )
    content, lost = read(name, events)
    assert [block.text for block in content] == ["ab", "z", "c"]
    assert [len(block.citations) for block in content] == [1, 0, 1]
    assert [block.extras for block in content[1:]] == [{}, {}]
    assert lost["content/0"] == "moved"


@pytest.mark.parametrize("name", SERIAL)
def test_a_citation_that_comes_when_there_is_no_more_text_is_lost(name: str) -> None:
    text = TextBlock("ab", (PLACE, OTHER))
    pieces = (TextDelta(0, "ab"), CitationDelta(0, PLACE), CitationDelta(0, OTHER))
    content, lost = read(name, stream([BlockStart(0, TextBlock("")), *early(text, *pieces)]))
    assert [len(block.citations) for block in content] == [1, 0]
    assert lost == {"content/0/citations": "dropped"}


def test_a_cache_mark_has_no_place_in_a_stream_however_it_ends() -> None:
    text = TextBlock("ab", (PLACE,), cache=CacheMark())
    pieces = (TextDelta(0, "ab"), CitationDelta(0, PLACE))
    start = BlockStart(0, TextBlock("", cache=CacheMark()))
    for events in (unfold(Response((text,), model="m")), stream([start, *early(text, *pieces)])):
        _, lost = read("bedrock-converse", list(events))
        assert lost["content/0/cache"] == "dropped"


@pytest.mark.parametrize("name", SERIAL)
def test_half_a_thought_is_not_signed(name: str) -> None:
    thought = ThinkingBlock("ab", signature="c2ln")
    start = BlockStart(0, ThinkingBlock(signature="c2ln"))
    pieces = (ThinkingDelta(0, "a"), ThinkingDelta(0, "b"))
    content, lost = read(name, stream([start, *early(thought, *pieces)]))
    assert [block.signature for block in content] == [None, None, None]
    assert lost["content/0/signature"] == "dropped"
    assert read(name, list(unfold(Response((thought,), model="m"))))[0] == (thought,)


def test_a_thought_is_signed_at_its_end() -> None:
    said, _ = encode_events("anthropic-messages", unfold(Response((ThinkingBlock("a", signature="c2ln"),))))
    events = [json.loads(line[6:]) for line in said.decode().splitlines() if line.startswith("data: ")]
    starts = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    assert starts == [{"type": "thinking", "thinking": "", "signature": ""}]
    assert [e["delta"] for e in events if e["type"] == "content_block_delta"][-1]["signature"] == "c2ln"


CALL = ToolUseBlock("call_0", "add", input={"a": 1})


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    "block",
    [CALL, ToolUseBlock("call_0", "add", input_text='{"a": '), ToolUseBlock("call_0", "add"),
     ToolUseBlock("call_0", "add", "text", input_text="hi"), TextBlock("abc", (PLACE,)), TextBlock("abc", (WEB,))],
)  # fmt: skip
def test_what_comes_with_the_end_of_a_block_alone(name: str, block: Any) -> None:
    """Arguments and citations need no deltas."""
    reason = StopReason.tool_use if isinstance(block, ToolUseBlock) else StopReason.end_turn
    events = unfold(Response((block,), reason, model="m"))
    check_events(name, [event for event in events if not isinstance(event, CitationDelta | ToolUseInputDelta)])


@pytest.mark.parametrize("name", SERIAL)
def test_arguments_that_come_with_the_end_are_said(name: str) -> None:
    events = unfold(Response((CALL,), StopReason.tool_use))
    content, _ = read(name, [event for event in events if not isinstance(event, ToolUseInputDelta)])
    assert content == (CALL,)


def test_a_segment_is_of_the_part_that_the_reader_has() -> None:
    """Texts that are alike are told apart by their parts, and the rest of a text is one."""
    first, last = TextBlock("ab"), TextBlock("b", (WEB,))
    whole = Response((first, Z, last), model="m")
    begun = early(first, TextDelta(0, "a"), TextDelta(0, "b"))[:-1]
    behind = [event for event in unfold(whole) if getattr(event, "index", 0) == 2]
    events = stream([BlockStart(0, TextBlock("")), *begun, *behind, MessageComplete(whole)])
    content, lost = read("gemini", events)
    assert [(block.text, block.citations) for block in content] == [("a", ()), ("z", ()), ("b", ()), ("b", (WEB,))]
    assert lost == {"content/0": "moved"}


def test_a_late_signature_is_a_part_that_counts() -> None:
    said = Response((TextBlock("a", signature="c2ln"), TextBlock("a", (WEB,))), model="m")
    events = list(unfold(said))
    events[1] = BlockStart(0, TextBlock(""))
    content, _ = read("gemini", events)
    assert [(block.text, block.citations) for block in content] == [("a", ()), ("", ()), ("a", (WEB,))]


def test_a_text_around_another_part_is_moved() -> None:
    chat = "openai-chat"
    part = OpaqueBlock(chat, {"type": "x_block"})
    text = TextBlock("ab", (WEB,))
    pieces = (TextDelta(0, "a"), TextDelta(0, "b"))
    losses = check_events(chat, stream([BlockStart(0, TextBlock("")), *early(text, *pieces, second=part)]))
    assert {(loss.path, loss.kind) for loss in losses} == {("content/0", "moved"), ("content/1", "moved")}


def test_texts_around_another_part_are_one_and_the_slots_keep_their_order() -> None:
    chat = "openai-chat"
    part, audio = OpaqueBlock(chat, {"type": "x_block"}), AudioBlock(FileSource("file_1", dialect=chat))
    said = Response((TextBlock("a"), part, TextBlock("b"), audio, CALL), StopReason.tool_use, model="m")
    wire, _ = encode_events(chat, unfold(said))
    assert fold(decode_bytes(chat, [wire])[0]).content == (TextBlock("ab"), part, audio, CALL)


def test_pictures_go_out_in_the_order_in_which_they_began() -> None:
    one, two = ImageBlock(Base64Source("image/png", "AAAA")), ImageBlock(Base64Source("image/png", "BBBB"))
    begun: list[Event] = [BlockStart(0, one), BlockStart(1, two), BlockComplete(1, two), BlockComplete(0, one)]
    whole = Response((one, two), model="m")
    check_events("ollama", stream([*begun, MessageComplete(whole)]))
    content, _ = read("ollama", stream([*begun, MessageComplete(whole)]))
    assert [block.source.data for block in content] == ["AAAA", "BBBB"]
