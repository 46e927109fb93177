"""Server-sent events by the WHATWG standard, with two differences that providers require.

An event whose data is empty is a keep-alive and is not delivered. The standard discards an event that lacks its closing
blank line, but some providers and recordings end that way, so ``close()`` delivers it if its data is whole: a bracketed
value (``{...}``, ``[DONE]``) that closes at its last byte, or other data whose line was terminated. So a cut inside a
JSON payload is never taken for an event. ``id``, ``retry`` and unknown fields are ignored.
"""

from __future__ import annotations

from typing import TypeAlias

from .brackets import is_whole_value
from .decoder import DEFAULT_LIMIT, FrameDecoder

SseEvent: TypeAlias = tuple[str, bytes]

_BOM = b"\xef\xbb\xbf"
_BLANK_LINE_ENDS = (b"\n\n", b"\r\n\r\n")
FIRST_BYTES = (b"d", b"e", b":")  # of ``data``, ``event`` and a comment: such a stream does not begin with a BOM


class SseDecoder(FrameDecoder[SseEvent]):
    """Bytes to ``(event name or "", data)``.

    The limit counts an event from its first line to the blank one, every line end as one byte.
    """

    __slots__ = ("_after_cr", "_between", "_head", "_names", "_open")

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        super().__init__(limit)
        self._head: bytes | None = b""  # the stream's first bytes, while they may still turn out to be a BOM
        self._after_cr = False
        self._open = bytearray()  # the event not yet ended, its line ends turned into LF
        self._between = False  # nothing is open, the head is known and there is no fault
        self._names: dict[bytes, str] = {}

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that ``chunk`` completes. A chunk with one whole event, the usual case, is sliced directly."""
        if self._between and chunk.endswith(b"\n\n") and 13 not in chunk and len(chunk) <= self.limit:
            end = chunk.find(b"\n")
            if end == len(chunk) - 2 and end > 6 and chunk.startswith(b"data: "):
                self._after_cr = False
                return [("", chunk[6:end])]
            if chunk.startswith(b"event: ") and chunk.startswith(b"data: ", end + 1):
                last = chunk.find(b"\n", end + 7)
                if last == len(chunk) - 2 and last > end + 7:
                    self._after_cr = False
                    return [(self._name(chunk[7:end]), chunk[end + 7 : last])]
        if self._head == b"" and chunk[:1] in FIRST_BYTES:
            self._head = None
            self._between = not self._open and self._fault is None
            return self.feed(chunk)
        self._between = False
        events = super().feed(chunk)
        self._between = not self._open and self._head is None and self._fault is None
        return events

    @property
    def holds_data(self) -> bool:
        """Whether an event with data has begun and not ended."""
        return b"data:" in self._open

    def _name(self, raw: bytes) -> str:
        """The decoded event name, cached because names repeat."""
        name = self._names.get(raw)
        if name is None:
            name = raw.decode("utf-8", "replace")
            if len(self._names) < 100:
                self._names[raw] = name
        return name

    def _read(self, chunk: bytes, frames: list[SseEvent]) -> None:
        # Between events a CR before the chunk does not matter: an LF that completes it only adds a blank line.
        if not self._open and self._head is None and chunk.endswith(_BLANK_LINE_ENDS):
            _read_events(chunk, frames)
        else:
            self._read_parts(self._in_line_feeds(self._without_bom(chunk)), frames)

    def _finish(self, frames: list[SseEvent]) -> None:
        lines = bytes(self._open)
        if len(lines.removesuffix(b"\n")) > self.limit:
            raise self._too_long("an SSE event")
        events: list[SseEvent] = []
        _read_events(lines + b"\n\n", events)
        frames += [(name, data) for name, data in events if _is_whole(data, terminated=lines.endswith(b"\n"))]

    def _without_bom(self, chunk: bytes) -> bytes:
        if self._head is None:
            return chunk
        head, start = self._head, self._head + chunk
        if _BOM.startswith(start):
            self._head = start
            return b""
        self._head = None
        if start.startswith(_BOM):
            return start[len(_BOM) :]
        self._open += head
        return chunk

    def _in_line_feeds(self, chunk: bytes) -> bytes:
        """``chunk`` with LF for every CRLF and CR; a first LF after a chunk that ended in CR is dropped."""
        if not chunk or not (self._after_cr or 13 in chunk):
            return chunk
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _read_parts(self, chunk: bytes, frames: list[SseEvent]) -> None:
        """Read the rest of an open event, then whole events, then the beginning of the next one, whichever exist."""
        if self._open:
            chunk = self._read_open(chunk, frames)
        whole, blank_line, rest = chunk.rpartition(b"\n\n")
        _read_events(whole + blank_line, frames)
        self._open += rest.lstrip(b"\n")

    def _read_open(self, chunk: bytes, frames: list[SseEvent]) -> bytes:
        """Continue the open event and return the bytes after it. No byte is searched twice."""
        held = len(self._open)
        self._open += chunk
        end = self._open.find(b"\n\n", held - 1)
        size = len(self._open) - 1 if end < 0 else end  # the last byte may be the first half of the end
        if size > self.limit:
            raise self._too_long("an SSE event")
        if end < 0:
            return b""
        _read_events(bytes(self._open[: end + 2]), frames)
        self._open.clear()
        return chunk[end + 2 - held :]


def _read_events(lines: bytes, frames: list[SseEvent]) -> None:
    """Read whole events; bytes after the last blank line are dropped."""
    name = ""
    data: bytes | None = None
    more: list[bytes] = []  # the second data line and those after it, which is rare
    for line in lines.splitlines():
        if line.startswith(b"data: "):
            value = line[6:]
        elif not line:
            if more:
                data = b"\n".join((data or b"", *more))
                more = []
            if data:
                frames.append((name, data))
            name, data = "", None
            continue
        elif line.startswith(b"event: "):
            name = line[7:].decode("utf-8", "replace")
            continue
        else:
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"event":
                name = value.decode("utf-8", "replace")
            if field != b"data":
                continue
        if data is None:
            data = value
        else:
            more.append(value)


def _is_whole(data: bytes, *, terminated: bool) -> bool:
    data = data.strip()
    return is_whole_value(data) if data.startswith((b"{", b"[")) else terminated


def encode_sse(data: bytes, event: str | None = None) -> bytes:
    """One event. A line end in ``data``, of any kind, starts a new data line and reads back as LF."""
    if 10 in data or 13 in data:
        data = b"\ndata: ".join(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"))
    if not event:
        return b"data: " + data + b"\n\n"
    if "\n" in event or "\r" in event:
        raise ValueError(f"an SSE event name is one line: {event!r}")
    return b"event: %b\ndata: %b\n\n" % (event.encode(), data)
