"""The frames of a stream's bytes: server-sent events, lines of JSON, a JSON array, AWS event stream.

Written apart from ``interlingua.codec.framing``, because what is read here judges what that module and the dialects do.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

__all__ = ["Frame", "read_frames"]


class Frame(NamedTuple):
    """One frame. ``name`` is the event's name where the framing has one, ``end`` where its last needed byte ends."""

    name: str
    value: Any
    end: int


def read_frames(dialect: str, data: bytes) -> list[Frame]:
    """The complete frames of some bytes, without a last one that is cut off. What is not JSON has its text as value."""
    frames: list[Frame] = []
    FRAMINGS.get(dialect, _events)(data, frames)
    return frames


BLANK = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_decode = msgspec.json.Decoder().decode


def _events(data: bytes, frames: list[Frame]) -> None:
    """Server-sent events. The last one counts without its blank line if its data is a whole JSON value."""
    start = 0
    for event in data.split(b"\n\n") if b"\r" not in data else BLANK.split(data):
        end = start + len(event)
        _event(event, data[end : end + 1] != b"", end, frames)
        start = end + (4 if data[end : end + 2] == b"\r\n" else 2)


def _event(event: bytes, whole: bool, end: int, frames: list[Frame]) -> None:
    name, said = "", b""
    for line in event.splitlines():
        if line.startswith(b"data:"):
            said = said + b"\n" + line[5:] if said else line[5:]
        elif line.startswith(b"event:"):
            name = line[6:].strip().decode("utf-8", "replace")
    if said := said.strip():
        _add(name, said, end, whole, frames)


def _add(name: str, data: bytes, end: int, whole: bool, frames: list[Frame]) -> None:
    try:
        frames.append(Frame(name, _decode(data), end))
    except (msgspec.DecodeError, UnicodeError):
        if whole or data == b"[DONE]":
            frames.append(Frame(name, data.decode("utf-8", "replace"), end))


def _lines(data: bytes, frames: list[Frame]) -> None:
    start = 0
    for line in data.split(b"\n"):
        end = start + len(line)
        if line.strip():
            _add("", line, end, end < len(data), frames)
        start = end + 1


def _events_or_array(data: bytes, frames: list[Frame]) -> None:
    """Gemini streams come as server-sent events, or as one JSON array whose elements arrive one by one."""
    if not data.lstrip().startswith(b"["):
        _events(data, frames)
        return
    text, place, end = data.decode("latin-1"), data.index(b"[") + 1, 0  # one character is one byte
    while True:
        while text[place : place + 1] in (" ", "\r", "\n", "\t", ","):
            place += 1
        try:
            _, place = json.JSONDecoder().raw_decode(text, place)
        except ValueError:
            return
        frames.append(Frame("", json.loads(data[end:place].lstrip(b" \r\n\t,[")), place))
        end = place


def _binary(data: bytes, frames: list[Frame]) -> None:
    place = 0
    while len(data) - place >= 12:
        total, headers = struct.unpack_from(">II", data, place)
        if total > len(data) - place:
            return
        start = place + 12 + headers
        payload = data[start : place + total - 4]
        _add(_event_name(data[place + 12 : start]), payload or b"{}", place + total, True, frames)
        place += total


def _event_name(block: bytes) -> str:
    """The ``:event-type`` or ``:exception-type`` of a block of headers; all headers are texts (type 7) in practice."""
    place = 0
    while place < len(block):
        size = block[place]
        name = block[place + 1 : place + 1 + size]
        place += 2 + size
        length = int.from_bytes(block[place : place + 2], "big")
        if name in (b":event-type", b":exception-type"):
            return block[place + 2 : place + 2 + length].decode()
        place += 2 + length
    return ""


FRAMINGS: dict[str, Callable[[bytes, list[Frame]], None]] = {
    "gemini": _events_or_array,
    "ollama": _lines,
    "bedrock-converse": _binary,
}
