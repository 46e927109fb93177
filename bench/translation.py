"""Import, translation and chunk decoding: no network, no clients. Each part yields its rows as they are measured."""

from __future__ import annotations

import base64
import compileall
import gzip
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from measure import Row, best, ratio
from samples import answer, conversation, with_media

import interlingua
from interlingua import DIALECTS, dialect
from interlingua.dialects import Dialect

__all__ = ["chunks", "imports", "media", "streams", "translation"]

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
STREAMS = {"openai-chat": ("openai-chat", "mistral"), "bedrock-converse": ("bedrock-converse-stream",)}
SEEN = 40  # recorded streams measured per dialect
RUNS = 15
NEW = 25  # requests with tools of their own


def imports() -> Iterator[Row]:
    """Wall time of a fresh interpreter, less that of an empty one."""

    def wall(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), seconds=1.0, rounds=9)

    compileall.compile_dir(Path(interlingua.__file__).parent, quiet=1)  # as pip does when it installs a package
    empty = wall("pass")
    ours, yardstick = wall("import interlingua") - empty, wall("import msgspec") - empty
    yield Row("import interlingua / import msgspec", ours / yardstick, 2.0)
    used = wall("from interlingua import Message, Request") - empty
    yield Row("… and its types", used / yardstick, 2.0)


def translation() -> Iterator[Row]:
    """Canonical <-> wire of a 30 kB request, JSON included, against msgspec's untyped work on the same bytes."""
    for name in DIALECTS:
        speaker = dialect(name)
        body = msgspec.json.encode(speaker.encode_request(conversation()).body)
        wire = msgspec.json.decode(body)
        request = speaker.decode_request(wire, model="m", stream=True)
        size = f"{len(body) / 1000:.0f} kB"
        decode = ratio(
            lambda s=speaker, b=body: s.decode_request(msgspec.json.decode(b), model="m", stream=True),
            lambda b=body: msgspec.json.decode(b),
        )
        encode = ratio(
            lambda s=speaker, r=request: msgspec.json.encode(s.encode_request(r).body),
            lambda w=wire: msgspec.json.encode(w),
        )
        yield Row(f"{name}: decode a request", decode, 4.0, size)
        yield Row(f"{name}: encode a request", encode, 4.0, f"{size}, as read from this dialect")
        built = conversation()
        made = ratio(
            lambda s=speaker, r=built: msgspec.json.encode(s.encode_request(r).body),
            lambda w=wire: msgspec.json.encode(w),
        )
        yield Row(f"{name}: encode a request", made, 4.0, f"{size}, as built by hand, its tools seen before")
        new = _first_time(speaker) / best(lambda w=wire: msgspec.json.encode(w))
        yield Row(f"{name}: encode a request", new, math.inf, f"{size}, as built by hand, its tools never seen before")


def media() -> Iterator[Row]:
    """Wire -> canonical of a request with inline media, JSON included, against msgspec's untyped decode of it."""
    for name in DIALECTS:
        speaker = dialect(name)
        body = msgspec.json.encode(speaker.encode_request(with_media()).body)
        decode = ratio(
            lambda s=speaker, b=body: s.decode_request(msgspec.json.decode(b), model="m", stream=True),
            lambda b=body: msgspec.json.decode(b),
        )
        yield Row(f"{name}: decode a request with media", decode, 4.0, f"{len(body) / 1e6:.0f} MB")


def _first_time(speaker: Dialect) -> float:
    """Seconds for a request with new tools, as an agent sends it once."""
    found: list[float] = []
    for edition in range(NEW):
        request = conversation(edition=str(edition))
        start = time.perf_counter()
        msgspec.json.encode(speaker.encode_request(request).body)
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def chunks() -> Iterator[Row]:
    """One chunk framed and decoded to events, against msgspec's untyped decode of its JSON."""
    for name in DIALECTS:
        written = statistics.median(_per_chunk(name, _written(name)))
        yield Row(f"{name}: a chunk of a long answer", written, 8.0, "median, written by us")
        recorded = [ratio for stream in _recorded(name) for ratio in _per_chunk(name, stream)]
        if recorded:
            note = f"median of {len(recorded)} recorded chunks"
            yield Row(f"{name}: a chunk of the corpus", statistics.median(recorded), 8.0, note)


def _written(name: str) -> list[tuple[bytes, bytes]]:
    encoder = dialect(name).stream_encoder()
    return _split(name, b"".join([encoder.feed(event) for event in answer()]))


def _split(name: str, wire: bytes) -> list[tuple[bytes, bytes]]:
    """``(chunk, its JSON)``, one event in each chunk."""
    if name == "ollama":
        return [(line + b"\n", line) for line in wire.splitlines() if line.strip()]
    if name == "bedrock-converse":
        return _frames(wire)
    pieces = [piece for piece in wire.replace(b"\r\n", b"\n").split(b"\n\n") if piece.strip()]
    return [(piece + b"\n\n", piece.partition(b"data: ")[2]) for piece in pieces]


def _frames(wire: bytes) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    while wire:
        size, head = int.from_bytes(wire[:4], "big"), int.from_bytes(wire[4:8], "big")
        found.append((wire[:size], wire[12 + head : size - 4]))
        wire = wire[size:]
    return found


def _recorded(name: str) -> Iterator[list[tuple[bytes, bytes]]]:
    for stem in STREAMS.get(name, (name,)):
        path = CORPUS / f"{stem}.jsonl.gz"
        if not path.exists():
            continue
        with gzip.open(path) as lines:
            wires = [wire for record in map(json.loads, lines) if (wire := _stream_of(record))]
        for wire in wires[:: max(1, len(wires) // SEEN)]:
            yield _split(name, wire)


def _stream_of(record: dict[str, Any]) -> bytes:
    """The bytes of a recorded stream; empty if the record is something else."""
    if (record.get("status") or 200) != 200:
        return b""
    if record.get("response_b64"):
        return base64.b64decode(record["response_b64"])
    text = record.get("response_text") or ""
    return text.encode() if text.startswith(("data:", "event:", "{")) else b""


def _per_chunk(name: str, stream: list[tuple[bytes, bytes]]) -> list[float]:
    """The ratio of each chunk that holds JSON: its best time over some runs, against the decode of its JSON alone."""
    decode, clock = msgspec.json.Decoder().decode, time.perf_counter
    times = [float("inf")] * len(stream)
    for _ in range(RUNS):
        decoder = dialect(name).stream_decoder()
        for index, (chunk, _) in enumerate(stream):
            start = clock()
            decoder.feed(chunk)
            times[index] = min(times[index], clock() - start)
        decoder.close()
    found: list[float] = []
    for (_, data), ours in zip(stream, times, strict=True):
        if data[:1] == b"{":
            theirs = min(_timed(decode, data, clock) for _ in range(RUNS))
            found.append(ours / theirs)
    return found


def _timed(decode: Callable[[bytes], object], data: bytes, clock: Callable[[], float]) -> float:
    start = clock()
    decode(data)
    return clock() - start


def streams() -> Iterator[Row]:
    """Whole recorded streams, start and end included, against the decode of all their JSON (no budget)"""
    for name in DIALECTS:
        found: list[float] = []
        for stream in _recorded(name):
            jsons = [data for _, data in stream if data[:1] == b"{"]
            if jsons:
                found.append(_whole(name, stream) / best(partial(_decode_all, jsons), seconds=0.02, rounds=5))
        if found:
            yield Row(f"{name}: a whole stream", statistics.median(found), math.inf, f"median of {len(found)} streams")


def _whole(name: str, stream: list[tuple[bytes, bytes]]) -> float:
    def read() -> None:
        decoder = dialect(name).stream_decoder()
        for chunk, _ in stream:
            decoder.feed(chunk)
        decoder.close()

    return best(read, seconds=0.02, rounds=5)


def _decode_all(jsons: list[bytes]) -> None:
    for data in jsons:
        msgspec.json.decode(data)
