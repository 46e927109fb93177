"""Faults of an answer, as data: for each fault, how the bytes are changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...codec.framing import EventStreamDecoder, encode_frame
from ..transport.memory import CUT, RESET, STALL, Answer
from .model import Step

__all__ = ["with_fault"]

HTML_PAGE = b"<html><body>Sign in to the network</body></html>"
NOT_HTTP = b"\x00\x15SSH-2.0-embedded\r\n\r\n"
HALF_JSON = b'{"id": "msg_embedded", "content": [{"te'
JSON = {"content-type": "application/json"}
HTML = {"content-type": "text/html; charset=utf-8"}
PIECES = 8
"""The number of chunks of a whole answer that is cut."""

Parts = list[Any]


def _first_chunks(step: Step, parts: Parts) -> Parts:
    return in_pieces(parts)[: step.after]


def _half_event(step: Step, parts: Parts) -> Parts:
    parts = in_pieces(parts)
    event: bytes = parts[step.after] if step.after < len(parts) else b""
    return [*parts[: step.after], *([event[: max(1, len(event) // 2)]] if event else ()), CUT]


def _malformed_event(step: Step, parts: Parts) -> Parts:
    """One event without its last brace, the others unchanged; a whole answer is cut."""
    if len(parts) == 1:
        return [parts[0][:-2]]
    place = min(step.after, len(parts) - 2)
    return [*parts[:place], broken(parts[place]), *parts[place + 1 :]]


def broken(event: bytes) -> bytes:
    """An event whose JSON lacks its last brace, in a complete frame."""
    if event.endswith(b"\n"):
        place = event.rfind(b"}")
        return event[:place] + event[place + 1 :]
    frames = EventStreamDecoder().feed(event)
    return b"".join(encode_frame(frame.headers, frame.payload.removesuffix(b"}")) for frame in frames)


def last_event(chunk: bytes) -> bytes:
    """The last event of a chunk."""
    if not chunk.endswith(b"\n"):
        frame = EventStreamDecoder().feed(chunk)[-1]
        return encode_frame(frame.headers, frame.payload)
    end = b"\n\n" if chunk.endswith(b"\n\n") else b"\n"
    return chunk.removesuffix(end).rpartition(end)[2] + end


def in_pieces(parts: Parts) -> Parts:
    """A whole answer in several chunks, so that it can be cut in the middle."""
    if len(parts) != 1:
        return parts
    size = max(1, -(-len(parts[0]) // PIECES))
    return [parts[0][start : start + size] for start in range(0, len(parts[0]), size)]


# fmt: off
BODIES: dict[str, Callable[[Step, Parts], Parts]] = {
    # fault            the chunks that are sent
    "stall":           lambda step, parts: [*_first_chunks(step, parts), STALL],
    "cut":             lambda step, parts: [*_first_chunks(step, parts), CUT],
    "half":            _half_event,
    "reset":           lambda step, parts: [*_first_chunks(step, parts), RESET],
    "unended":         lambda step, parts: [*parts, CUT],
    "malformed":       lambda step, parts: [HALF_JSON],
    "malformed_event": _malformed_event,
    "empty":           lambda step, parts: [],
    "html":            lambda step, parts: [HTML_PAGE],
    "last_twice":      lambda step, parts: [*parts, last_event(parts[-1])] if len(parts) > 1 else parts,
}
HEADERS = {"malformed": JSON, "html": HTML}
INSTEAD: dict[str, Any] = {"no_answer": CUT, "reset_first": RESET, "garbage": NOT_HTTP, "stall_first": STALL}
# fmt: on


def with_fault(step: Step, answer: Answer) -> Answer:
    """The answer, changed by the fault of its step."""
    body = BODIES.get(step.fault)
    parts = list(answer.parts)
    headers = {**HEADERS.get(step.fault, answer.headers), **step.headers}
    return Answer(answer.status, headers, body(step, parts) if body else parts, step.delay, INSTEAD.get(step.fault))
