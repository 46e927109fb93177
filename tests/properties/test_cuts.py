"""Law 7 over arbitrary answers: written in any dialect, cut anywhere, read, written in any other, and read again."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from conformance.matrix import SPOKEN
from interlingua import (
    BlockComplete,
    BlockStart,
    Event,
    MessageComplete,
    StreamGrammar,
    ToolUseEnd,
    ToolUseStart,
)
from interlingua.testing import conformance, strategies
from lab.cuts.check import Cut, Recorded, block_key, event_faults, judge, ways, write_cut

THOROUGH = settings.get_current_profile_name() == "thorough"
odd = settings(suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example))
few = odd if THOROUGH else settings(odd, max_examples=40, derandomize=True)

every_dialect = pytest.mark.parametrize("name", SPOKEN)


@st.composite
def cuts(draw: st.DrawFn, name: str) -> tuple[Recorded, int]:
    """The bytes of an answer, and a position to cut them at: anywhere, but often after a frame."""
    said, _ = conformance.encode_events(name, draw(strategies.event_streams(name)))
    recorded = Recorded(name, said)
    return recorded, draw(st.integers(0, len(said)) | st.sampled_from([0, *recorded.ends]))


def closed(events: list[Event]) -> dict[int, bool]:
    """The blocks that were closed, and whether they were finished."""
    return {e.index: not e.block.incomplete for e in events if isinstance(e, BlockComplete | ToolUseEnd)}


@every_dialect
@few
@given(data=st.data())
def test_law_7_what_was_open_at_the_cut_is_incomplete(name: str, data: st.DataObject) -> None:
    recorded, place = data.draw(cuts(name))
    cut = recorded.cut(place)
    check_grammar([*cut.fed, *cut.tail])
    assert list(event_faults(cut)) == []
    opened = {event.index for event in cut.fed if isinstance(event, BlockStart | ToolUseStart)}
    open_at_the_cut = opened - closed(cut.fed).keys()
    if cut.error is not None and not any(end <= place < end + 4 for end in recorded.ends):  # no frame waits for its end
        assert not any(closed(cut.tail)[index] for index in open_at_the_cut)


@every_dialect
@few
@given(data=st.data())
def test_law_7_no_dialect_finishes_what_was_open_at_the_cut(name: str, data: st.DataObject) -> None:
    recorded, place = data.draw(cuts(name))
    cut = recorded.cut(place)
    assert list(judge(cut)) == []
    for target in SPOKEN:
        for way in ways(cut):
            check_read_again(cut, target, write_cut(target, cut, way))


def check_read_again(cut: Cut, target: str, written: bytes) -> None:
    events, error = conformance.decode_bytes(target, [written])
    check_grammar(events)
    calls = [event.block for event in events if isinstance(event, ToolUseEnd) and not event.block.incomplete]
    assert Counter(map(block_key, calls)) <= cut.source.finished_calls(surely=True)
    assert error is not None or cut.source.is_finished


def check_grammar(events: list[Event]) -> None:
    """Check that ``message.complete`` is last and unique, and that the response holds each block, ended once."""
    grammar = StreamGrammar()
    for event in events:
        grammar.check(event)
    assert grammar.state == "done"
    last = events[-1]
    assert isinstance(last, MessageComplete)
    incomplete = [block for block in last.response.content if block.incomplete]
    assert len(incomplete) == list(closed(events).values()).count(False)
