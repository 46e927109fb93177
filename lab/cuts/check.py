"""One cut of one stream: what our decoder makes of it, and what every encoder makes of that."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from interlingua.dialects import DIALECTS, dialect
from interlingua.errors import AdapterError, NetworkError
from interlingua.types import (
    Block,
    BlockComplete,
    Event,
    MessageComplete,
    RefusalBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    ToolUseEnd,
)
from lab.cuts.frames import Frame, read_frames
from lab.cuts.state import OTHER, TEXT, THOUGHT, StreamState, call_key, dump
from lab.cuts.words import read_state

__all__ = [
    "WAYS",
    "Cut",
    "Judged",
    "Recorded",
    "block_key",
    "cut_stream",
    "event_faults",
    "judge",
    "target_faults",
    "ways",
    "write_cut",
]

COMPLETED, FAILED = "message.complete", "fail()"
WAYS = (COMPLETED, FAILED)
"""How an encoder learns of a cut: from the decoder's last event, or by a call of ``fail`` while blocks are open."""


class Cut(NamedTuple):
    """A stream up to a cut. ``fed``: the events before the decoder learns of the end; ``tail``: those after."""

    name: str
    source: StreamState
    fed: list[Event]
    tail: list[Event]
    error: AdapterError | None


class Recorded:
    """A recorded stream. Its frames are read once; a cut keeps the frames that end before it."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name, self.data = name, data
        self.frames: Sequence[Frame] = read_frames(name, data)
        self.ends = [frame.end for frame in self.frames]

    def __repr__(self) -> str:
        return f"Recorded({self.name!r}, {self.data!r})"

    def cut(self, place: int) -> Cut:
        """The stream up to ``place``, read by our decoder."""
        source = read_state(self.name, self.frames[: bisect_right(self.ends, place)])
        return Cut(self.name, source, *decode_cut(self.name, self.data[:place]))


def decode_cut(name: str, data: bytes) -> tuple[list[Event], list[Event], AdapterError | None]:
    """The events of some bytes, the events that follow from their end, and the error."""
    decoder = dialect(name).stream_decoder()
    return decoder.feed(data), decoder.close(), decoder.error


def write_cut(target: str, cut: Cut, way: str) -> bytes:
    """The bytes that a dialect writes for a cut stream."""
    encoder = dialect(target).stream_encoder()
    written = [encoder.feed(event) for event in cut.fed]
    if way == COMPLETED:
        written += [encoder.feed(event) for event in cut.tail]
    else:
        written.append(encoder.fail(NetworkError("the stream was cut before it was finished")))
    return b"".join([*written, encoder.close()])


def ways(cut: Cut) -> Sequence[str]:
    """The ways for a cut. A stream that was complete before its bytes ended cannot fail any more."""
    return WAYS if cut.tail else WAYS[:1]


# --------------------------------------------------------------------------------------------------------- our events


def event_faults(cut: Cut) -> Iterator[str]:
    """Blocks that our events finish and the recorded bytes did not, and a wrong end of the stream."""
    closers = [event.block for event in (*cut.fed, *cut.tail) if isinstance(event, BlockComplete | ToolUseEnd)]
    finished = [block for block in closers if not block.incomplete]
    calls = Counter(block_key(block) for block in finished if isinstance(block, ToolUseBlock))
    yield from _calls_beyond(calls, cut.source)
    yield from _texts_beyond([_block_text(block) for block in finished], cut.source)
    yield from _end_faults(cut)


def _end_faults(cut: Cut) -> Iterator[str]:
    last = [*cut.fed, *cut.tail][-1:]
    if not last or not isinstance(last[0], MessageComplete):
        yield "message.complete is not the last event"
        return
    stop = last[0].response.stop_reason
    if cut.source.is_finished and cut.error is not None:
        yield f"a finished stream is called {cut.error!r}"
    elif not cut.source.is_finished and (cut.error is None or stop is not StopReason.error):
        yield f"a cut stream looks finished: {stop}, error {cut.error!r}"


def block_key(block: ToolUseBlock) -> str:
    """The ``call_key`` of the arguments that a call has on the wire."""
    if block.kind == "text":
        return call_key(dump({"input": block.input_text or ""}))
    return call_key(dump(block.input) if block.input_text is None else block.input_text)


def _block_text(block: Block) -> str:
    return block.text if isinstance(block, TextBlock | ThinkingBlock | RefusalBlock) else ""


# -------------------------------------------------------------------------------------------------- the written bytes


def target_faults(source: StreamState, target: str, written: bytes, *, failed: bool) -> Iterator[str]:
    """Blocks that written bytes finish and the source did not. ``failed``: the answer must not look finished either."""
    state = read_state(target, read_frames(target, written))
    yield from _calls_beyond(state.finished_calls(surely=False), source)
    if not failed:
        return
    kinds = (TEXT, THOUGHT, OTHER) if source.dialect == target else (TEXT, THOUGHT)  # others have other names elsewhere
    yield from _texts_beyond(state.finished_texts(*kinds), source)
    if state.ended:
        yield "a cut stream is written with a last word"
    if not state.failed:
        yield "a cut stream is written without an error"


def _calls_beyond(found: Counter[str], source: StreamState) -> Iterator[str]:
    for arguments in found - source.finished_calls(surely=True):
        yield f"an unfinished call is finished: {arguments[:200]}"


def _texts_beyond(found: Sequence[str], source: StreamState) -> Iterator[str]:
    settled = source.settled_text()
    for text in found:
        if text and text not in settled:
            yield f"an unfinished text is finished: {text[-200:]}"


class Judged(NamedTuple):
    """A cut that left other events than the cut before: how many calls were finished, and ``(target, way, fault)``."""

    place: int
    calls: int
    faults: list[tuple[str, str, str]]


def cut_stream(recorded: Recorded, places: Sequence[int]) -> Iterator[Judged]:
    """Judge a stream at some places. A cut within the same frame leaves the same events and is judged once."""
    seen: set[tuple[int, int, int]] = set()
    for place in places:
        cut = recorded.cut(place)
        state = bisect_right(recorded.ends, place), len(cut.fed), len(cut.tail)
        if state not in seen:
            seen.add(state)
            yield Judged(place, cut.source.finished_calls(surely=True).total(), list(judge(cut)))


def judge(cut: Cut) -> Iterator[tuple[str, str, str]]:
    """What wrongly looks finished, in our events and in the bytes of every encoder, as ``(target, way, fault)``."""
    for fault in event_faults(cut):
        yield "events", COMPLETED, fault
    for target in DIALECTS:
        for way in ways(cut):
            failed = way == FAILED or not cut.source.is_finished
            for fault in target_faults(cut.source, target, write_cut(target, cut, way), failed=failed):
                yield target, way, fault
