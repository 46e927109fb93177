"""The run: divides all files of a directory into pieces of work, and measures them in several processes."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from interlingua.dialects import DIALECTS
from lab.fidelity.pairs import measure_pairs
from lab.fidelity.records import Record, corpus_files, file_protocol, read_lines, read_record
from lab.fidelity.same import codec, measure_error, measure_request, measure_whole
from lab.fidelity.streams import measure_stream
from lab.fidelity.tally import Fault, Tally, raised
from lab.oracles.leaves import is_object

__all__ = ["CORPUS", "Options", "Progress", "Report", "measure"]

CORPUS = "corpus"
"""The ``where`` of counts that belong to no dialect."""
PIECE = 40


class Options(NamedTuple):
    """What to measure. No ``dialects`` means all of them; ``sample`` is how many requests of a file to translate."""

    corpus: Path
    dialects: tuple[str, ...] = ()
    pairs: bool = True
    sample: int | None = None
    workers: int = 2


class Report(NamedTuple):
    """The result of a run."""

    options: Options
    dialects: tuple[str, ...]
    tally: Tally
    files: dict[str, int]
    seconds: float

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The ordered pairs that were measured."""
        if not self.options.pairs:
            return []
        return [(source, target) for source in self.dialects for target in self.dialects if source != target]


class Work(NamedTuple):
    """Some records of one file. Every ``stride``-th of them is translated, none if it is 0."""

    file: str
    first: int
    lines: list[bytes]
    dialects: tuple[str, ...]
    stride: int


class Progress(NamedTuple):
    file: str
    done: int
    of: int


def measure(options: Options, progress: Callable[[Progress], object] = lambda _: None) -> Report:
    """Replay all recordings, and report."""
    start, tally, files = time.monotonic(), Tally(), dict[str, int]()
    dialects = tuple(loadable(tally, options.dialects or tuple(DIALECTS)))
    work: list[Work] = []
    for path in corpus_files(options.corpus):
        lines = read_lines(path)
        files[path.name] = len(lines)
        work += pieces(path, lines, dialects, options)
    done = dict.fromkeys(files, 0)
    with mapped(options.workers) as run:
        for piece, part in run(measure_work, work):
            tally.add(part)
            done[piece.file] += len(piece.lines)
            progress(Progress(piece.file, done[piece.file], files[piece.file]))
    tally.failures.sort()
    return Report(options, dialects, tally, files, time.monotonic() - start)


def loadable(tally: Tally, names: Iterable[str]) -> Iterator[str]:
    """The dialects that can be imported. One that cannot is a failure in the tally, and does not end the run."""
    for name in names:
        try:
            codec(name)
        except Exception as error:  # noqa: BLE001 - a broken dialect is a finding
            tally.check(name, "dialect loaded", name, [raised(error)])
        else:
            yield name


def pieces(path: Path, lines: list[bytes], dialects: tuple[str, ...], options: Options) -> Iterator[Work]:
    stride = max(1, -(-len(lines) // options.sample)) if options.sample else 1
    for first in range(0, len(lines), PIECE):
        yield Work(path.name, first, lines[first : first + PIECE], dialects, stride if options.pairs else 0)


Mapped = Callable[[Callable[[Work], tuple[Work, Tally]], list[Work]], Iterable[tuple[Work, Tally]]]


@contextmanager
def mapped(workers: int) -> Generator[Mapped, None, None]:
    """A ``map`` for pieces of work: in this process, or in several."""
    if workers <= 1:
        yield map
        return
    with multiprocessing.Pool(workers) as pool:
        yield pool.imap_unordered


def measure_work(work: Work) -> tuple[Work, Tally]:
    """The tally of some records. A record that cannot be read does not end the run."""
    tally = Tally()
    for number, line in enumerate(work.lines, work.first):
        try:
            measure_line(tally, work, number, line)
        except Exception as error:  # noqa: BLE001 - an odd record is reported
            tally.check(CORPUS, "records read", f"{work.file}:{number + 1}", [raised(error)])
    return work, tally


def measure_line(tally: Tally, work: Work, number: int, line: bytes) -> None:
    place = f"{work.file}:{number + 1}"
    try:
        wire: Any = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        tally.check(CORPUS, "records read", place, [Fault("not JSON", str(error))])
        return
    if not is_object(wire):
        tally.check(CORPUS, "records read", place, [Fault("not an object", type(wire).__name__)])
        return
    protocol = str(wire.get("dialect") or file_protocol(Path(work.file)))
    record = read_record({"id": place, **wire}, protocol)
    tally.check(CORPUS, "records read", place)
    if record is None:
        tally.count(CORPUS, f"not covered {protocol}")
    elif record.dialect in work.dialects:
        measure_record(tally, record, work, translate=bool(work.stride) and number % work.stride == 0)


def measure_record(tally: Tally, record: Record, work: Work, *, translate: bool) -> None:
    tally.count(record.dialect, "exchanges" if record.generation else "other endpoints")
    request = measure_request(tally, record)
    measure_whole(tally, record)
    measure_stream(tally, record)
    measure_error(tally, record)
    if request is not None and translate and record.generation:
        measure_pairs(tally, record, request, work.dialects)
