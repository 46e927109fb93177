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
from lab.cuts.told import OTHER, TEXT, THOUGHT, Told, call_key, dump
from lab.cuts.words import read_told

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
"""How an encoder hears of a cut: from the decoder's last event, or by ``fail`` while blocks are open."""


class Cut(NamedTuple):
    """A stream up to a cut. ``fed`` are the events before the end of the bytes was known, ``tail`` those after."""

    name: str
    source: Told
    fed: list[Event]
    tail: list[Event]
    error: AdapterError | None


class Recorded:
    """A stream whose frames were read once; a cut keeps those that end before it."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name, self.data = name, data
        self.frames: Sequence[Frame] = read_frames(name, data)
        self.ends = [frame.end for frame in self.frames]

    def __repr__(self) -> str:
        return f"Recorded({self.name!r}, {self.data!r})"

    def cut(self, place: int) -> Cut:
        """What is left of the stream, read by our decoder."""
        source = read_told(self.name, self.frames[: bisect_right(self.ends, place)])
        return Cut(self.name, source, *decode_cut(self.name, self.data[:place]))


def decode_cut(name: str, data: bytes) -> tuple[list[Event], list[Event], AdapterError | None]:
    """The events of some bytes, those that follow from their end, and the error."""
    decoder = dialect(name).stream_decoder()
    return decoder.feed(data), decoder.close(), decoder.error


def write_cut(target: str, cut: Cut, way: str) -> bytes:
    """The bytes that a dialect writes for a cut stream."""
    encoder = dialect(target).stream_encoder()
    said = [encoder.feed(event) for event in cut.fed]
    if way == COMPLETED:
        said += [encoder.feed(event) for event in cut.tail]
    else:
        said.append(encoder.fail(NetworkError("the stream was cut before it was finished")))
    return b"".join([*said, encoder.close()])


def ways(cut: Cut) -> Sequence[str]:
    """A stream that was over before its bytes ended cannot fail any more."""
    return WAYS if cut.tail else WAYS[:1]


# --------------------------------------------------------------------------------------------------------- our events


def event_faults(cut: Cut) -> Iterator[str]:
    """What our own events finish that the recorded bytes did not, and an end that is not the end of the bytes."""
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
    """What ``call_key`` says of a call's arguments on the wire."""
    if block.kind == "text":
        return call_key(dump({"input": block.input_text or ""}))
    return call_key(dump(block.input) if block.input_text is None else block.input_text)


def _block_text(block: Block) -> str:
    return block.text if isinstance(block, TextBlock | ThinkingBlock | RefusalBlock) else ""


# -------------------------------------------------------------------------------------------------- the written bytes


def target_faults(source: Told, target: str, written: bytes, *, failed: bool) -> Iterator[str]:
    """What some written bytes finish that the source did not. ``failed``: the answer must not look finished."""
    told = read_told(target, read_frames(target, written))
    yield from _calls_beyond(told.finished_calls(surely=False), source)
    if not failed:
        return
    kinds = (TEXT, THOUGHT, OTHER) if source.dialect == target else (TEXT, THOUGHT)  # others have other names elsewhere
    yield from _texts_beyond(told.finished_texts(*kinds), source)
    if told.ended:
        yield "a cut stream is written with a last word"
    if not told.failed:
        yield "a cut stream is written without an error"


def _calls_beyond(found: Counter[str], source: Told) -> Iterator[str]:
    for arguments in found - source.finished_calls(surely=True):
        yield f"an unfinished call is finished: {arguments[:200]}"


def _texts_beyond(found: Sequence[str], source: Told) -> Iterator[str]:
    settled = source.settled_text()
    for text in found:
        if text and text not in settled:
            yield f"an unfinished text is finished: {text[-200:]}"


class Judged(NamedTuple):
    """One cut that left other events than those before: how many calls were finished, and ``(target, way, fault)``."""

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
    """What looks finished and is not, in our events and in what every encoder writes: ``(target, way, fault)``."""
    for fault in event_faults(cut):
        yield "events", COMPLETED, fault
    for target in DIALECTS:
        for way in ways(cut):
            failed = way == FAILED or not cut.source.is_finished
            for fault in target_faults(cut.source, target, write_cut(target, cut, way), failed=failed):
                yield target, way, fault
