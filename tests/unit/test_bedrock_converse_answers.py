"""Recorded streams of Bedrock Converse, written again."""

from __future__ import annotations

import json
from typing import Any

from interlingua import (
    Event,
    dialect,
)
from interlingua.codec.framing import EventStreamDecoder, encode_frame
from shared_data import corpus, needs_shared, stream_bytes

NAME = "bedrock-converse"
BEDROCK = dialect(NAME)
Wire = dict[str, Any]


def frame(name: str, payload: Any, **headers: str) -> bytes:
    known = {":event-type": name, ":content-type": "application/json", ":message-type": "event", **headers}
    return encode_frame(known, payload if isinstance(payload, bytes) else json.dumps(payload).encode())


def write_stream(events: list[Event]) -> tuple[list[tuple[str, Wire]], list[tuple[str, str]]]:
    """The frames that are written for these events, and the losses."""
    encoder = BEDROCK.stream_encoder()
    wire = b"".join(map(encoder.feed, events)) + encoder.close()
    frames = EventStreamDecoder().feed(wire)
    written = [(str(f.headers[":event-type"]), json.loads(f.payload)) for f in frames]
    return written, [(loss.kind, loss.path) for loss in encoder.losses]


# ------------------------------------------------------------------------------------------------------- streams


@needs_shared
def test_recorded_streams_written_again_have_the_same_frames() -> None:
    """We write what the service wrote, except for padding."""
    seen = 0
    for record in corpus("bedrock-converse-stream"):
        wire = stream_bytes(record)
        if wire is None:
            continue
        decoder = BEDROCK.stream_decoder()
        events = decoder.feed(wire) + decoder.close()
        assert decoder.error is None
        recorded = [(frame["headers"][":event-type"], frame["payload"]) for frame in record["response_events"]]
        assert write_stream(events)[0] == [
            (name, {k: v for k, v in wire.items() if k != "p"}) for name, wire in recorded
        ]
        seen += 1
    assert seen > 40
