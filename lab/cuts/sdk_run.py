"""Cuts of recorded streams with calls, translated to each SDK's own protocol and read by that SDK."""

from __future__ import annotations

import random
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator

from interlingua.dialects import DIALECTS
from lab.cuts.check import Cut, Recorded, ways, write_cut
from lab.cuts.run import Fault, Options, Report, streams
from lab.cuts.sdks import SdkReaders, sdk_readers
from lab.cuts.state import CALL
from lab.cuts.words import read_state
from lab.oracles.leaves import is_object

__all__ = ["measure_sdks"]


def measure_sdks(
    options: Options, number: int, progress: Callable[[int, int], object] = lambda done, of: None
) -> Report:
    """Let every SDK read ``number`` cuts."""
    begun, report = time.monotonic(), Report()
    with sdk_readers() as readers:
        for done, (place, cut) in enumerate(_cuts(options, number), 1):
            report.counts.update({(cut.name, "cuts"): 1, (cut.name, "states"): 1})
            report.counts[cut.name, "calls"] += cut.source.finished_calls(surely=True).total()
            report.faults += list(_faults(readers, place, cut, ways(cut)[done // len(DIALECTS) % len(ways(cut))]))
            progress(done, number)
    report.faults.sort()
    report.seconds = time.monotonic() - begun
    return report


def _cuts(options: Options, number: int) -> Iterator[tuple[str, Cut]]:
    """Cuts that leave an unfinished answer, after the start of its first call, equally many of each dialect."""
    chance, found = random.Random(options.seed), dict[str, list[tuple[str, Recorded, int]]]()
    for stream in streams(options):
        recorded = Recorded(stream.dialect, stream.data)
        if _is_sound(recorded) and _has_call(recorded, len(recorded.frames)):
            found.setdefault(stream.dialect, []).append((stream.id, recorded, _first_call(recorded)))
    names, made = list(found), 0
    while made < number and names:
        id, recorded, first = chance.choice(found[names[made % len(names)]])
        place = chance.randrange(first, len(recorded.data) + 1)
        cut = recorded.cut(place)
        if not cut.source.is_finished:
            made += 1
            yield f"{id} at {place}", cut


def _is_sound(recorded: Recorded) -> bool:
    """Whether every frame can be read: some recordings were damaged by hand, and their meaning is unknown."""
    return all(is_object(frame.value) or frame.value == "[DONE]" for frame in recorded.frames)


def _has_call(recorded: Recorded, frames: int) -> bool:
    return any(piece.kind == CALL for piece in read_state(recorded.name, recorded.frames[:frames]).pieces)


def _first_call(recorded: Recorded) -> int:
    """The end of the frame that opens the first call, found by bisection."""
    first = bisect_left(range(1, len(recorded.frames)), True, key=lambda frames: _has_call(recorded, frames))
    return recorded.ends[first]


def _faults(readers: SdkReaders, place: str, cut: Cut, way: str) -> Iterator[Fault]:
    finished = cut.source.finished_calls(surely=True)
    for target in DIALECTS:
        try:
            beyond = readers.read(target, write_cut(target, cut, way)) - finished
        except Exception as error:  # noqa: BLE001 - the SDK cannot read what we wrote
            yield Fault(cut.name, target, way, f"the SDK raises {type(error).__name__}", place, str(error))
            continue
        for arguments in beyond:
            yield Fault(cut.name, target, way, "the SDK reports an unfinished call", place, arguments)
