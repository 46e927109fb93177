"""One dialect's recorded streams: any split, the grammar, the fold, and the bytes of its stream encoder read again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import msgspec

from interlingua.codec.framing import ArrayDecoder, EventStreamDecoder, NdjsonDecoder, SseDecoder
from interlingua.codec.streams.fold import fold, unfold
from interlingua.codec.streams.grammar import StreamGrammar
from interlingua.errors import AdapterError, NetworkError, ParseError
from interlingua.types.base import Json
from interlingua.types.events import Event, MessageComplete
from interlingua.types.response import Response
from lab.fidelity.records import Record
from lab.fidelity.same import caught, codec, unlike
from lab.fidelity.tally import Fault, Tally
from lab.fidelity.trees import differences, pattern, plain
from lab.fidelity.usages import usage_faults, wire_usage
from lab.oracles.leaves import is_array, is_object

__all__ = ["cuts", "decode", "grammar_faults", "measure_stream", "split_faults"]

SHORT = 6_000
"""Streams up to so many bytes are also read byte by byte."""
RANDOM_CUTS = (2, 12, 60)


def decode(name: str, chunks: Sequence[bytes]) -> tuple[list[Event], AdapterError | None]:
    """The events of a stream, and its error, if any."""
    decoder = codec(name).stream_decoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.close(), decoder.error


def measure_stream(tally: Tally, record: Record) -> None:
    """Measure a recorded stream: read it in several ways, and write it again."""
    name, wire = record.dialect, record.stream
    if wire is None or not record.generation:
        return
    read = tally.attempt(name, "streams decoded", record.id, lambda: decode(name, [wire]))
    if read is None:
        return
    events, error = read
    tally.check(name, "any split", record.id, caught(lambda: split_faults(name, record.id, wire, events)))
    tally.check(name, "grammar", record.id, grammar_faults(events))
    response = tally.attempt(name, "streams folded", record.id, lambda: fold(events))
    if response is None:
        return
    tally.check(name, "fold is the last event's response", record.id, fold_faults(response, events[-1]))
    chunks = json_frames(name, wire)
    tally.check(name, "usage", record.id, usage_faults(name, response, wire_usage(name, chunks)))
    if error is not None:
        tally.check(name, "errors in streams", record.id, error_faults(tally, name, error, response))
        return
    measure_encoder(tally, record, events, response)
    measure_twins(tally, record, chunks, response)


# ------------------------------------------------------------------------------------------------- reading


def cuts(record: str, wire: bytes) -> Iterator[list[bytes]]:
    """The bytes in several divisions into pieces, which are the same in each run."""
    if len(wire) <= SHORT:
        yield [wire[place : place + 1] for place in range(len(wire))]
    chance = random.Random(record)
    for number in RANDOM_CUTS:
        places = sorted(chance.sample(range(len(wire)), min(number, len(wire))))
        yield [wire[start:end] for start, end in zip([0, *places], [*places, len(wire)], strict=True)]


def split_faults(name: str, record: str, wire: bytes, events: list[Event]) -> list[Fault]:
    """Law 4: any split of the bytes gives the same events."""
    for chunks in cuts(record, wire):
        again, _ = decode(name, chunks)
        if again != events:
            place = next((i for i, (a, b) in enumerate(zip(events, again, strict=False)) if a != b), len(again))
            detail = f"event {place} of {len(events)}: {events[place : place + 1]} -> {again[place : place + 1]}"
            return [Fault(f"{'byte by byte' if len(chunks) == len(wire) else 'random cuts'}", detail)]
    return []


def grammar_faults(events: Sequence[Event]) -> list[Fault]:
    """The first event that the grammar does not allow; the last must complete the message."""
    grammar = StreamGrammar()
    for place, event in enumerate(events):
        try:
            grammar.check(event)
        except ParseError as error:
            return [Fault(f"{event.type} may not come", f"event {place}: {error}")]
    if not events or not isinstance(events[-1], MessageComplete):
        return [Fault("no message.complete at the end", f"{len(events)} events")]
    return []


def fold_faults(response: Response, last: Event) -> list[Fault]:
    if isinstance(last, MessageComplete) and last.response == response:
        return []
    expected = last.response if isinstance(last, MessageComplete) else last
    return [Fault("fold differs from message.complete", f"{response} / {expected}")]


def error_faults(tally: Tally, name: str, error: AdapterError, response: Response) -> list[Fault]:
    """The faults of a stream that failed: its error must have a class and a partial response. Failures are counted."""
    tally.count(name, f"error in a 200: {error.error_class}{' (cut)' if type(error) is NetworkError else ''}")
    if type(error) is ParseError:
        return [Fault("unreadable", str(error))]
    if response.stop_reason != "error" or error.response is None:
        return [Fault("a failed stream looks finished", f"{error!r} {response.stop_reason}")]
    return []


# ---------------------------------------------------------------------------------------------- writing again


def measure_encoder(tally: Tally, record: Record, events: list[Event], response: Response) -> None:
    """Law 5: what our stream encoder writes is read as the same answer."""
    name = record.dialect

    def faults(source: Callable[[], Iterator[Event]]) -> list[Fault]:
        encoder = codec(name).stream_encoder()
        wire = b"".join([*map(encoder.feed, source()), encoder.close()])
        again, error = decode(name, [wire])
        failed = [Fault("our own stream fails", repr(error))] if error is not None else []
        return [*failed, *grammar_faults(again), *unlike(response, fold(again), encoder.losses)]

    tally.check(name, "law 5: events written again", record.id, caught(lambda: faults(lambda: iter(events))))
    tally.check(name, "law 5: fold written again", record.id, caught(lambda: faults(lambda: unfold(response))))


def measure_twins(tally: Tally, record: Record, chunks: list[Json], response: Response) -> None:
    """Law 3: the stream gives the same response as the whole answer, ours and, if there is one, the recorded one."""
    name = record.dialect

    def faults() -> list[Fault]:
        whole = codec(name).encode_response(response)
        return list(unlike(response, codec(name).decode_response(whole.body), whole.losses))

    tally.check(name, "law 3: fold is its whole answer", record.id, caught(faults))
    twin = TWINS[name](chunks) if name in TWINS else None
    if twin is not None:
        tally.check(
            name, "law 3: fold is the recorded whole", record.id, caught(lambda: twin_faults(name, response, twin))
        )


def terminal_response(chunks: list[Json]) -> Json:
    """The response object that ends a Responses stream, if it holds its output."""
    ends = [chunk.get("response") for chunk in chunks if is_object(chunk) and chunk.get("type") in TERMINAL]
    return ends[-1] if ends and is_object(ends[-1]) and ends[-1].get("output") else None


TERMINAL = ("response.completed", "response.incomplete", "response.failed")
ENDS = ("message_stop", *TERMINAL)
"""The types of frames that end an answer. Later frames are ignored: some recordings continue with another message."""
TWINS: dict[str, Callable[[list[Json]], Json]] = {"openai-responses": terminal_response}
# Keys with other values in the terminal object of some recordings: encrypted again, or numbered again.
RENEWED = frozenset({"id", "item_id", "encrypted_content", "signature", "data"})


def twin_faults(name: str, response: Response, twin: Json) -> list[Fault]:
    """The faults in which the fold and the recorded whole differ, apart from renewed ids and ciphers."""
    whole = codec(name).decode_response(twin)
    one, other = (renewed_apart(plain(side.content)) for side in (response, whole))
    first = next(differences(one, other, "content"), None)
    content = [Fault(pattern(first.path), str(first))] if first is not None else []
    return content + [fault for fault in unlike(response, whole) if not fault.kind.startswith("content")]


def renewed_apart(value: Json) -> Json:
    if is_object(value):
        return {
            key: renewed_apart(item)
            for key, item in value.items()
            if key not in RENEWED or (key == "id" and value.get("type") == "tool_use")
        }
    return [renewed_apart(item) for item in value] if is_array(value) else value


# --------------------------------------------------------------------------------------------- frames, as JSON


def json_frames(name: str, wire: bytes) -> list[Json]:
    """The JSON values of a stream, read without a dialect; frames that are not JSON are skipped."""
    found: list[Json] = []
    try:
        frames = FRAMES.get(name, sse_frames)(wire)
    except ParseError:
        return found
    for frame in frames:
        try:
            found.append(msgspec.json.decode(frame))
        except msgspec.DecodeError:
            continue
        if is_object(found[-1]) and found[-1].get("type") in ENDS:
            break
    return found


def sse_frames(wire: bytes) -> list[bytes]:
    frames = SseDecoder()
    return [data for _, data in frames.feed(wire) + frames.close()]


def google_frames(wire: bytes) -> list[bytes]:
    """SSE, or one JSON array."""
    if not wire.lstrip().startswith(b"["):
        return sse_frames(wire)
    frames = ArrayDecoder()
    return [*frames.feed(wire), *frames.close()]


def line_frames(wire: bytes) -> list[bytes]:
    frames = NdjsonDecoder()
    return [*frames.feed(wire), *frames.close()]


def binary_frames(wire: bytes) -> list[bytes]:
    frames = EventStreamDecoder()
    return [frame.payload for frame in frames.feed(wire) + frames.close()]


FRAMES: dict[str, Callable[[bytes], list[bytes]]] = {
    "gemini": google_frames,
    "ollama": line_frames,
    "bedrock-converse": binary_frames,
}
