"""``make bench``: the budgets of translation, chunk decoding and import, each as a ratio measured in this run."""

from __future__ import annotations

import gzip
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
from measure import Row, best, ratio
from samples import answer, conversation

from interlingua import DIALECTS, dialect

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
STREAMS = {"openai-chat": ("openai-chat", "mistral"), "bedrock-converse": ("bedrock-converse-stream",)}
SEEN = 40  # recorded streams measured per dialect


def imports() -> Iterator[Row]:
    """Wall time of a fresh interpreter, less that of an empty one."""

    def wall(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), seconds=1.0, rounds=9)

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
        yield Row(f"{name}: encode a request", encode, 4.0, size)


def chunks() -> Iterator[Row]:
    """One chunk framed and decoded to events, against msgspec's untyped decode of its JSON."""
    for name in DIALECTS:
        yield Row(f"{name}: a chunk of a long answer", _per_chunk(name, _written(name)), 8.0, "written by us")
        recorded = [_per_chunk(name, stream) for stream in _recorded(name)]
        if recorded:
            note = f"median of {len(recorded)} recorded streams, start and end included"
            yield Row(f"{name}: a chunk of the corpus", statistics.median(recorded), 8.0, note)


def _written(name: str) -> list[tuple[bytes, bytes]]:
    encoder = dialect(name).stream_encoder()
    said = [encoder.feed(event) for event in answer()]
    return _split(name, b"".join(said))


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
            records = [r for r in map(json.loads, lines) if r.get("response_text") and (r.get("status") or 200) == 200]
        fit = [r for r in records if r["response_text"].startswith(("data:", "event:", "{"))]
        for record in fit[:: max(1, len(fit) // SEEN)]:
            yield _split(name, record["response_text"].encode())


def _per_chunk(name: str, stream: list[tuple[bytes, bytes]]) -> float:
    jsons = [data for _, data in stream if data[:1] == b"{"]
    decode = msgspec.json.Decoder().decode

    def ours() -> None:
        decoder = dialect(name).stream_decoder()
        for chunk, _ in stream:
            decoder.feed(chunk)
        decoder.close()

    def yardstick() -> None:
        for data in jsons:
            decode(data)

    return best(ours, seconds=0.03, rounds=5) / best(yardstick, seconds=0.03, rounds=5)


def main() -> None:
    failed = 0
    for part in (imports, translation, chunks):
        print(f"\n{(part.__doc__ or '').splitlines()[0]}")
        for row in part():
            over = row.ratio > row.budget
            failed += over
            note = f"  ({row.note})" if row.note else ""
            print(f"  {row.name:<52} {row.ratio:5.2f}x of {row.budget:g}x{'  OVER' if over else ''}{note}", flush=True)
    print(f"\n{failed} over budget")


if __name__ == "__main__":
    main()
