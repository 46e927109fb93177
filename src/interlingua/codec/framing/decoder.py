"""The contract of every framing decoder: bytes in, frames out, and when limits and faults are raised.

A decoder reads one stream. However the bytes are split into chunks, the frames and then the fault, if any, are the
same: a fault behind good frames is raised by the next call, so the good frames are never lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from ...errors import ParseError
from ..limits import Limits, too_long

DEFAULT_LIMIT = Limits().event or 0

F = TypeVar("F")


class FrameDecoder(ABC, Generic[F]):
    """Feed chunks in order, then ``close()`` once; nothing may be fed after that.

    ``limit`` is the longest frame in bytes that will be held, its terminator not counted.
    """

    __slots__ = ("_fault", "limit")

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        if limit < 1:
            raise ValueError(f"limit must be at least 1 byte, not {limit}")
        self.limit = limit
        self._fault: ParseError | None = None

    def feed(self, chunk: bytes) -> list[F]:
        """The frames that ``chunk`` completes. Raises ``ParseError``, and then again on every later call."""
        if self._fault is not None:
            raise self._fault
        frames: list[F] = []
        try:
            if len(chunk) <= self.limit:
                self._read(chunk, frames)
            else:
                self._read_in_pieces(chunk, frames)
        except ParseError as fault:
            self._fault = fault
            if not frames:
                raise
        return frames

    def close(self) -> list[F]:
        """The frames that the end of the stream completes; a frame cut short is discarded, which is no fault.

        The decoder cannot know whether the stream was cut: only a protocol knows its terminal event.
        """
        if self._fault is not None:
            raise self._fault
        frames: list[F] = []
        self._finish(frames)
        return frames

    def _read_in_pieces(self, chunk: bytes, frames: list[F]) -> None:
        for start in range(0, len(chunk), self.limit):
            self._read(chunk[start : start + self.limit], frames)

    @abstractmethod
    def _read(self, chunk: bytes, frames: list[F]) -> None:
        """Append the frames that ``chunk`` completes.

        ``chunk`` is never longer than the limit, so only a frame begun in an earlier chunk can exceed it.
        """

    def _finish(self, frames: list[F]) -> None:
        """Append the frames that the end of the stream completes; none, for most framings."""

    def _too_long(self, noun: str) -> ParseError:
        return ParseError(f"{noun} {too_long('event', self.limit)}")
