"""A base class for decoders that change the events of another decoder."""

from __future__ import annotations

from abc import abstractmethod

from ...errors import AdapterError
from ...types.events import Event
from ..base import StreamDecoder
from ..limits import Limits

__all__ = ["ConvertedEvents"]


class ConvertedEvents(StreamDecoder):
    """Decodes with ``decoder`` and converts each of its events."""

    def __init__(self, decoder: StreamDecoder) -> None:
        self.decoder = decoder

    @abstractmethod
    def convert(self, event: Event) -> Event:
        """The event to emit instead of ``event``."""

    @property
    def error(self) -> AdapterError | None:  # type: ignore[override]
        """The error of the stream, if it failed."""
        return self.decoder.error

    @property
    def approximated(self) -> bool:  # type: ignore[override]
        """Whether an event was not strict JSON."""
        return self.decoder.approximated

    def accept(self, limits: Limits) -> None:
        self.decoder.accept(limits)

    def feed(self, chunk: bytes) -> list[Event]:
        self.decoder.tolerant = self.tolerant
        return list(map(self.convert, self.decoder.feed(chunk)))

    def close(self, clean: bool = False) -> list[Event]:
        return list(map(self.convert, self.decoder.close(clean)))
