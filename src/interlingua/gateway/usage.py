"""Reads the token usage of an answer whose bytes are passed on."""

from __future__ import annotations

from functools import cache

import msgspec

from ..codec.json import is_dict
from ..codec.rows.usage import Counts
from ..dialects import dialect as find
from ..errors import AdapterError
from ..types.base import Json
from ..types.usage import TokenUsage

__all__ = ["UsageReader", "usage_of"]

MARK = b'"usage'
MARKS = {"ollama": b"_eval_count", "bedrock-converse": b""}
"""The text by which an event with token counts is recognised; few others have it. All frames of Bedrock are kept."""
MOST = 4 * 1024 * 1024


class AnswerTop(msgspec.Struct):
    """The top-level fields of an answer that matter here."""

    model: Json = None
    usage: Json = None


_decode_top = msgspec.json.Decoder(AnswerTop).decode


class UsageReader:
    """Keeps the events that state usage, and decodes them at the end. The others are only searched for a word."""

    def __init__(self, dialect: str, *, stream: bool) -> None:
        self._dialect, self._stream = dialect, stream
        self._kept: list[bytes] = []
        self._open: list[bytes] = []
        self._size, self._tail = 0, b""
        self._ends, self._mark = ENDS.get(dialect, BLANK_LINE), MARKS.get(dialect, MARK)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the answer."""
        if self._stream and not self._open and chunk.endswith(self._ends):
            if self._mark in chunk:
                self._keep(chunk)
            return
        self._open.append(chunk)
        if not self._stream:
            self._size += len(chunk)
            return
        self._tail = chunk[-4:] if len(chunk) >= 4 else (self._tail + chunk)[-4:]
        if not self._tail.endswith(self._ends):
            return  # an event goes on in the next chunk
        events = b"".join(self._open)
        self._open.clear()
        self._tail = b""
        if self._mark in events:
            self._keep(events)

    def _keep(self, events: bytes) -> None:
        events = events if self._dialect == FRAMED else _usage_events(events, self._mark)
        self._size += len(events)
        if self._size <= MOST:
            self._kept.append(events)

    def read(self) -> tuple[TokenUsage | None, str | None]:
        """The tokens of the answer and the name of its model; None for what it does not state."""
        try:
            return self._read_stream() if self._stream else self._read_whole()
        except (AdapterError, ValueError):
            return None, None

    def _read_stream(self) -> tuple[TokenUsage | None, str | None]:
        decoder = find(self._dialect).stream_decoder()
        events = [*decoder.feed(b"".join((*self._kept, *self._open))), *decoder.close()]
        response = getattr(events[-1], "response", None) if events else None
        return (None, None) if response is None else (response.usage, response.model)

    def _read_whole(self) -> tuple[TokenUsage | None, str | None]:
        return (None, None) if self._size > MOST else _whole(self._dialect, b"".join(self._open))

    def usage(self) -> TokenUsage | None:
        """The tokens of the answer; None if it does not state them."""
        return self.read()[0]


def usage_of(dialect: str, body: bytes) -> tuple[TokenUsage | None, str | None]:
    """The tokens of a whole answer and the name of its model; None for what it does not state."""
    try:
        return (None, None) if len(body) > MOST else _whole(dialect, body)
    except (AdapterError, ValueError):
        return None, None


def _whole(name: str, body: bytes) -> tuple[TokenUsage | None, str | None]:
    counts = _counts(name)
    if counts is None:
        response = find(name).decode_response(_without_content(body))
        return response.usage, response.model
    top = _decode_top(body)
    usage = counts.count(top.usage) if is_dict(top.usage) else None
    return usage, top.model if isinstance(top.model, str) else None


@cache
def _counts(name: str) -> Counts | None:
    return find(name).usage


def _usage_events(events: bytes, mark: bytes) -> bytes:
    """Those of several events that state usage."""
    end = b"\n\n" if b"\n\n" in events else b"\r\n\r\n" if b"\r\n\r\n" in events else b"\n"
    found = [event for event in events.split(end) if NULL not in event and mark in event]
    return b"".join(event + end for event in found)


def _without_content(body: bytes) -> dict[str, Json]:
    """An answer without its content, which is not decoded."""
    return {name: [] if name in CONTENT else _value(raw) for name, raw in _top(body).items() if name not in DROPPED}


_top = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_value = msgspec.json.Decoder().decode
CONTENT = frozenset({"choices", "content"})
DROPPED = frozenset({"candidates", "message", "output", "response"})
"""The fields with the answer's content. Those in ``CONTENT`` are required by their decoders, so they become empty."""
NULL = b'"usage":null'
BLANK_LINE = (b"\n\n", b"\r\n\r\n")
FRAMED = "bedrock-converse"
"""The dialect whose events are binary frames, not lines."""
ENDS: dict[str, tuple[bytes, ...]] = {"ollama": (b"\n",), FRAMED: (b"",)}
"""How an event ends in the dialects that do not end it with a blank line."""
