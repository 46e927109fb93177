"""The usage of an answer that is passed on as it is, read on the way."""

from __future__ import annotations

import msgspec

from ..dialects import dialect as find
from ..errors import AdapterError
from ..types.response import Response
from ..types.usage import TokenUsage

__all__ = ["UsageReader"]

MARKS = (b'"usage', b"_eval_count")
"""What every event has that counts tokens, and hardly any other."""
MOST = 4 * 1024 * 1024


class UsageReader:
    """Keeps the events that say usage, and decodes them at the end. The others are only searched for a word."""

    def __init__(self, dialect: str, *, stream: bool) -> None:
        self._dialect, self._stream = dialect, stream
        self._kept: list[bytes] = []
        self._open: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Some bytes of the answer."""
        self._open.append(chunk)
        if not self._stream:
            self._size += len(chunk)
            return
        if not chunk.endswith((b"\n", b"\r")) and self._dialect != FRAMED:
            return  # an event goes on in the next chunk
        events = b"".join(self._open) if len(self._open) > 1 else chunk
        self._open.clear()
        if self._dialect == FRAMED or any(mark in events for mark in MARKS):
            self._size += len(events)
            if self._size <= MOST:
                self._kept.append(events)

    def response(self) -> Response | None:
        """What the kept events say: usage, model and stop reason; the content is not complete."""
        try:
            if self._stream:
                decoder = find(self._dialect).stream_decoder()
                events = [*decoder.feed(b"".join((*self._kept, *self._open))), *decoder.close()]
                last = events[-1] if events else None
                return getattr(last, "response", None)
            if self._size > MOST:
                return None
            return find(self._dialect).decode_response(msgspec.json.decode(b"".join(self._open)))
        except (AdapterError, ValueError):
            return None

    def usage(self) -> TokenUsage | None:
        """The tokens of the answer, if it says them."""
        found = self.response()
        return None if found is None else found.usage


FRAMED = "bedrock-converse"
"""Its events are binary frames, which no line ends."""
