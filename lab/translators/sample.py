"""The recordings that are translated: chosen by a seed, the same for every translator."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lab.cuts.frames import read_frames
from lab.fidelity.records import Record, corpus_files, file_protocol, has_history, read_lines, read_record
from lab.oracles import DIALECTS, WARNING, problems
from lab.oracles.leaves import is_object

__all__ = ["CUTS", "Task", "choose", "tasks"]

SIZE, SEED, CUTS = 1333, 12, 4
"""The number of recordings, the seed that chooses them, and the number of cuts of each stream."""
EVENTS = ("anthropic-messages", "openai-chat", "openai-responses", "gemini")
"""Protocols whose streams are server-sent events."""


class Task(NamedTuple):
    """One thing to translate. ``whole``: the stream is not cut; ``valid``: the recorded request is valid itself."""

    id: str
    verb: str
    source: str
    body: Any
    model: str
    stream: bool | None = None
    valid: bool = True
    whole: bool = True


def choose(corpus: Path, size: int = SIZE, seed: int = SEED) -> list[Record]:
    """Recordings of generation that were answered."""
    found: list[Record] = []
    for path in corpus_files(corpus):
        for line in read_lines(path):
            wire = msgspec.json.decode(line)
            record = read_record(wire, str(wire.get("dialect") or file_protocol(path)))
            if record is not None and record.generation and record.error is None and record.dialect in DIALECTS:
                found.append(record)
    return random.Random(seed).sample(found, min(size, len(found)))


def tasks(records: Sequence[Record], seed: int = SEED) -> list[Task]:
    """The tasks from some recordings: requests, whole answers, and streams, whole and cut."""
    made: list[Task] = []
    for record in records:
        model = record.model or record.hosted_model or "m"
        if is_object(record.request) and has_history(record):
            body = dict(record.request)
            valid = not [line for line in problems(body, record.dialect) if not line.startswith(WARNING)]
            made.append(Task(record.id, "request", record.dialect, body, model, record.streamed, valid))
        if is_object(record.whole):
            made.append(Task(record.id, "answer", record.dialect, record.whole, model))
        if record.stream is not None and record.dialect in EVENTS:
            made += streams(record, model, seed)
    return made


def streams(record: Record, model: str, seed: int) -> list[Task]:
    """A stream as recorded, and cut after some of its frames. The last three are not cut: they may hold the end."""
    data = record.stream or b""
    frames = read_frames(record.dialect, data)
    if not frames or data.lstrip().startswith(b"["):  # a JSON array is no server-sent event
        return []
    ends = [frame.end for frame in frames]
    chosen = random.Random(f"{seed} {record.id}").sample(ends[:-3], min(CUTS, max(len(ends) - 3, 0)))
    whole = Task(record.id, "stream", record.dialect, data.decode("utf-8", "replace"), model)
    cut = [data[:end].decode("utf-8", "replace") + "\n\n" for end in sorted(chosen)]
    return [whole, *(whole._replace(body=text, whole=False) for text in cut)]
