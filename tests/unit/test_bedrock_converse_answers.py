"""Answers, streams and errors of Bedrock Converse, as tables."""

from __future__ import annotations

import json
from typing import Any

from interlingua import (
    AdapterError,
    Event,
    Request,
    TokenUsage,
    UsageUpdate,
    dialect,
)
from interlingua.codec.framing import EventStreamDecoder, encode_frame
from shared_data import corpus, needs_shared, stream_bytes

NAME = "bedrock-converse"
BEDROCK = dialect(NAME)
Wire = dict[str, Any]
USAGE: Wire = {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}
METRICS: Wire = {"latencyMs": 7}


def frame(name: str, payload: Any, **headers: str) -> bytes:
    told = {":event-type": name, ":content-type": "application/json", ":message-type": "event", **headers}
    return encode_frame(told, payload if isinstance(payload, bytes) else json.dumps(payload).encode())


def delta(at: int, /, **delta: Any) -> bytes:
    return frame("contentBlockDelta", {"contentBlockIndex": at, "delta": delta, "p": "abc"})


def start(at: int, **start: Any) -> bytes:
    return frame("contentBlockStart", {"contentBlockIndex": at, "start": start, "p": "abcd"})


def stop(at: int) -> bytes:
    return frame("contentBlockStop", {"contentBlockIndex": at, "p": "a"})


BEGIN = frame("messageStart", {"role": "assistant", "p": "abcdefg"})
END = frame("messageStop", {"stopReason": "end_turn", "p": "ab"})
META = frame("metadata", {"usage": USAGE, "metrics": METRICS, "p": "abc"})


def read(*frames: bytes, request: Request | None = None) -> tuple[list[Event], AdapterError | None]:
    """The events of a stream, the same for every way of cutting its bytes."""
    wire, found = b"".join(frames), list[tuple[list[Event], AdapterError | None]]()
    for size in (1, 50, len(wire) or 1):
        decoder = BEDROCK.stream_decoder(request)
        events = [event for at in range(0, len(wire), size) for event in decoder.feed(wire[at : at + size])]
        found.append((events + decoder.close(), decoder.error))
    by_frame = BEDROCK.stream_decoder(request)
    events = [event for chunk in frames for event in by_frame.feed(chunk)] + by_frame.close()
    assert [repr(each) for each, _ in found] == [repr(events)] * 3
    return events, by_frame.error


def said(events: list[Event]) -> tuple[list[tuple[str, Wire]], list[tuple[str, str]]]:
    """The frames that say a stream, and what they could not say."""
    encoder = BEDROCK.stream_encoder()
    wire = b"".join(map(encoder.feed, events)) + encoder.close()
    frames = EventStreamDecoder().feed(wire)
    told = [(str(f.headers[":event-type"]), json.loads(f.payload)) for f in frames]
    return told, [(loss.kind, loss.path) for loss in encoder.losses]


# ------------------------------------------------------------------------------------------------------- streams


def test_usage_is_told_once_it_is_known() -> None:
    events, _ = read(BEGIN, delta(0, text="a"), stop(0), END, META)
    assert [event.type for event in events] == [
        "message.start", "block.start", "text.delta", "block.complete", "usage.update", "message.complete",
    ]  # fmt: skip
    assert events[4] == UsageUpdate(TokenUsage(3, output_tokens=2))


@needs_shared
def test_recorded_streams_written_again_have_the_same_frames() -> None:
    """Padding and what a stream of a test double lacks aside, we write what the service wrote."""
    seen = 0
    for record in corpus("bedrock-converse-stream"):
        wire = stream_bytes(record)
        if wire is None:
            continue
        events, error = read(wire)
        assert error is None
        told = [(frame["headers"][":event-type"], frame["payload"]) for frame in record["response_events"]]
        assert said(events)[0] == [(name, {k: v for k, v in wire.items() if k != "p"}) for name, wire in told]
        seen += 1
    assert seen > 40
