"""Law 7 between dialects: a stream of one, cut behind every frame, written by every other.

The written stream must end in an error, without a finished call that the source had not finished.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.matrix import SPOKEN
from interlingua import DIALECTS, BlockComplete, BlockStart, Event, ToolUseEnd, ToolUseStart, dialect, fold, unfold
from interlingua.testing import samples
from interlingua.testing.stream_laws import decode_bytes, encode_events
from interlingua.types import Response, TextBlock, ThinkingBlock, ToolUseBlock
from lab.cuts.frames import read_frames

CONCEPTS = ("call", "call before text", "malformed call", "free-text call", "parallel calls", "cut call", "thinking")


def answers(name: str) -> Iterator[tuple[str, Response]]:
    for sample in samples.answers(name):
        if sample.concept in CONCEPTS:
            yield sample.concept, sample.value
    calls = [ToolUseBlock(f"call_{place}", "f", input={"x": "y" * 9, "place": place}) for place in range(3)]
    yield "everything", Response((ThinkingBlock("hm"), TextBlock("so"), *calls), "tool_use", id="r", model="m")


def cuts(source: str, said: bytes) -> Iterator[bytes]:
    """The stream up to the end of every frame but the last."""
    for frame in read_frames(source, said)[:-1]:
        yield said[: frame.end] + (b"" if source == "bedrock-converse" else b"\n\n")


def told(source: str, data: bytes) -> tuple[list[Event], bool]:
    """The events of a cut stream, whose blocks are checked to be closed, and whether it failed."""
    decoder = dialect(source).stream_decoder()
    fed, tail = decoder.feed(data), decoder.close()
    opened = {event.index for event in fed if isinstance(event, BlockStart | ToolUseStart)}
    closed = {event.index for event in fed if isinstance(event, BlockComplete | ToolUseEnd)}
    if decoder.error is not None:
        late = [event for event in tail if isinstance(event, BlockComplete | ToolUseEnd) and event.index in opened]
        assert {event.index for event in late} >= opened - closed
        assert all(event.block.incomplete for event in late)
    return [*fed, *tail], decoder.error is not None


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("source", SPOKEN)
def test_a_cut_stream_is_written_with_nothing_finished_that_was_not(source: str, target: str) -> None:
    for concept, answer in answers(source):
        for data in cuts(source, encode_events(source, unfold(answer))[0]):
            events, failed = told(source, data)
            if not failed:
                continue
            finished = [event.block for event in events if isinstance(event, ToolUseEnd) and not event.block.incomplete]
            written, error = decode_bytes(target, [encode_events(target, events)[0]])
            assert error is not None, (concept, data)
            found = [call for call in fold(written).tool_uses if not call.incomplete]
            assert len(found) <= len(finished), (concept, data)
