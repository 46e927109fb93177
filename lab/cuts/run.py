"""The run: cuts every recorded stream of a directory at many places, in several processes."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from lab.cuts.check import Recorded, cut_stream
from lab.fidelity.records import corpus_files, file_protocol, read_lines, read_record

__all__ = ["Fault", "Options", "Report", "Stream", "measure", "places", "streams"]


class Options(NamedTuple):
    """What to cut. No ``only`` means every dialect; ``sample``: every n-th stream of a file."""

    corpus: Path
    only: tuple[str, ...] = ()
    places: int = 200
    seed: int = 0
    sample: int = 1
    workers: int = 2


class Stream(NamedTuple):
    """A recorded stream."""

    id: str
    dialect: str
    data: bytes


class Fault(NamedTuple):
    """Something that wrongly looks finished. Faults with the same ``kind`` are reported together."""

    source: str
    target: str
    way: str
    kind: str
    place: str
    detail: str


class Report:
    """Counts by dialect and name, and faults."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.faults: list[Fault] = []
        self.seconds = 0.0

    def add(self, other: Report) -> None:
        """Add the report of another stream."""
        self.counts.update(other.counts)
        self.faults += other.faults


def streams(options: Options) -> Iterator[Stream]:
    """The recorded streams of a directory."""
    for path in corpus_files(options.corpus):
        found = list(_file_streams(path))
        yield from (stream for stream in found[:: options.sample] if not options.only or stream.dialect in options.only)


def _file_streams(path: Path) -> Iterator[Stream]:
    for number, line in enumerate(read_lines(path)):
        wire = msgspec.json.decode(line)
        record = read_record(wire, str(wire.get("dialect") or file_protocol(path)))
        if record is not None and record.stream is not None and record.generation:
            yield Stream(f"{wire.get('id') or path.name}:{number + 1}", record.dialect, record.stream)


def places(recorded: Recorded, id: str, options: Options) -> list[int]:
    """Where to cut: at random places, after the last byte, and after every frame if there are not too many."""
    chance, size = random.Random(f"{options.seed} {id}"), len(recorded.data)
    chosen = chance.sample(range(size + 1), min(options.places, size + 1))
    ends = recorded.ends if len(recorded.ends) < options.places else []
    return sorted({*chosen, *ends, size})


def measure(options: Options, progress: Callable[[int, int], object] = lambda done, of: None) -> Report:
    """Cut all streams, and report."""
    begun, report = time.monotonic(), Report()
    found = list(streams(options))
    random.Random(options.seed).shuffle(found)  # else the long ones would be next to each other
    for done, part in enumerate(_mapped(partial(measure_stream, options), found, options.workers), 1):
        report.add(part)
        progress(done, len(found))
    report.faults.sort()
    report.seconds = time.monotonic() - begun
    return report


def _mapped(work: Callable[[Stream], Report], found: list[Stream], workers: int) -> Iterable[Report]:
    if workers <= 1:
        yield from map(work, found)
        return
    with multiprocessing.Pool(workers) as pool:
        yield from pool.imap_unordered(work, found, chunksize=4)


def measure_stream(options: Options, stream: Stream) -> Report:
    """All cuts of one stream. An exception is a fault too."""
    report, name = Report(), stream.dialect
    recorded = Recorded(name, stream.data)
    chosen = places(recorded, stream.id, options)
    report.counts.update({(name, "streams"): 1, (name, "cuts"): len(chosen)})
    try:
        for cut in cut_stream(recorded, chosen):
            report.counts[name, "states"] += 1
            report.counts[name, "calls"] += cut.calls
            report.faults += [
                Fault(name, target, way, fault.partition(":")[0], f"{stream.id} at {cut.place}", fault)
                for target, way, fault in cut.faults
            ]
    except Exception as error:  # noqa: BLE001 - whatever is raised is a finding
        report.faults.append(Fault(name, "events", "", f"raised {type(error).__name__}", stream.id, str(error)))
    return report
