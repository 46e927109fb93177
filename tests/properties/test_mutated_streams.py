"""Streams with mistakes in them: the events are always legal, they fold, and nothing is raised.

Recorded streams where they are there, and always those of our own samples. One to three frames are changed: a value
removed, nulled, of another type or doubled, a frame dropped, doubled or moved. Seeded, so a failure comes again.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from conformance.matrix import SPOKEN
from interlingua import MessageComplete, StopReason, StreamGrammar, dialect, fold, unfold
from interlingua.codec.framing import encode_frame, encode_ndjson, encode_sse
from interlingua.testing import samples
from interlingua.testing.stream_laws import encode_events
from lab.cuts.frames import Frame, read_frames
from lab.cuts.run import Options, streams
from shared_data import CORPUS, needs_shared

Json = Any
ODD: tuple[Json, ...] = (None, "", 0, -1, True, 1.5, "x", '{"a":1}', [], [1], [None], ["x"], [{}], {}, {"a": 1})


def places(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield (*path, key)
        yield from places(inner, (*path, key))


def changed(value: Json, chance: random.Random) -> Json:
    value = copy.deepcopy(value)
    found = list(places(value))
    if not found:
        return value
    *path, last = chance.choice(found)
    holder = value
    for step in path:
        holder = holder[step]
    way = chance.random()
    if way < 0.3:
        del holder[last]
    elif way < 0.4 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[last]))
    else:
        holder[last] = chance.choice(ODD)
    return value


def mutated(frames: list[Frame], chance: random.Random) -> list[Frame]:
    frames = list(frames)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        place, other, way = chance.randrange(len(frames)), chance.randrange(len(frames)), chance.random()
        frame = frames[place]
        if way < 0.7:
            frames[place] = frame._replace(value=changed(frame.value, chance))
        elif way < 0.8 and len(frames) > 1:
            del frames[place]
        elif way < 0.9:
            frames.insert(other, frame)
        else:
            frames[place], frames[other] = frames[other], frame
    return frames


def write(name: str, frame: Frame) -> bytes:
    data = b"[DONE]" if frame.value == "[DONE]" else msgspec.json.encode(frame.value)
    if name == "bedrock-converse":
        kind = "exception" if frame.name.endswith("xception") else "event"
        return encode_frame({f":{kind}-type": frame.name, ":message-type": kind}, data)
    if name == "ollama":
        return encode_ndjson(data)
    return encode_sse(data, frame.name) if frame.name else encode_sse(data)


def check(name: str, data: bytes) -> None:
    decoder, grammar = dialect(name).stream_decoder(), StreamGrammar()
    events = decoder.feed(data) + decoder.close()
    for event in events:
        grammar.check(event)
    assert isinstance(events[-1], MessageComplete)
    response = fold(events)
    assert response.error is decoder.error
    if decoder.error is not None:
        assert response.stop_reason is StopReason.error
        assert decoder.error.response is not None


def check_mutations(name: str, bodies: list[bytes], times: int) -> None:
    chance = random.Random(f"mutated {name}")
    frames = [found for body in bodies if (found := read_frames(name, body))]
    for _ in range(times):
        data = b"".join(write(name, frame) for frame in mutated(chance.choice(frames), chance))
        try:
            check(name, data)
        except Exception as error:
            raise AssertionError(f"{name}: {data!r}") from error


@pytest.mark.parametrize("name", SPOKEN)
def test_mutated_samples(name: str) -> None:
    bodies = [encode_events(name, unfold(sample.value))[0] for sample in samples.answers(name)]
    check_mutations(name, bodies, 400)


@needs_shared
@pytest.mark.parametrize("name", SPOKEN)
def test_mutated_recordings(name: str) -> None:
    found = [stream.data for stream in streams(Options(CORPUS, (name,), sample=7))]
    check_mutations(name, [data for data in found if len(data) < 40_000], 300)
