"""Canonical <-> wire of a request of about 30 kB, JSON included, against msgspec's untyped work on the same bytes."""

from __future__ import annotations

import json

import msgspec
from measure import Row, ratio

from interlingua import DIALECTS, dialect
from samples import conversation

BUDGET = 4.0


def rows() -> list[Row]:
    found: list[Row] = []
    for name in DIALECTS:
        speaker = dialect(name)
        body = msgspec.json.encode(speaker.encode_request(conversation()).body)
        request = speaker.decode_request(msgspec.json.decode(body), model="m", stream=True)
        wire = msgspec.json.decode(body)
        size = f"{len(body) / 1000:.0f} kB"
        found.append(Row(f"{name} decode {size}", ratio(
            lambda: speaker.decode_request(msgspec.json.decode(body), model="m", stream=True),
            lambda: msgspec.json.decode(body)), BUDGET))
        found.append(Row(f"{name} encode {size}", ratio(
            lambda: msgspec.json.encode(speaker.encode_request(request).body),
            lambda: msgspec.json.encode(wire)), BUDGET))
    return found
