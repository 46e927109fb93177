"""Writing streams: the grammar of what is written, and the end of an answer that broke off, for all dialects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace

from ...errors import AdapterError, CancelledError, ParseError, ServerError
from ...types.events import (
    BlockComplete,
    BlockStart,
    CitationDelta,
    Event,
    MessageComplete,
    MessageStart,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)
from ...types.loss import Loss
from ...types.response import Response
from ...types.words import StopReason
from ..base import ODD, StreamEncoder
from ..history.incomplete import LIMITS
from ..ledger import Ledger
from .grammar import StreamGrammar

__all__ = ["Closer", "Delta", "GrammaticalEncoder", "Opener"]

CANCELLED = StopReason.cancelled  # attribute access on an Enum costs 40 ns

Opener = BlockStart | ToolUseStart
Delta = TextDelta | ThinkingDelta | CitationDelta | ToolUseInputDelta
Closer = BlockComplete | ToolUseEnd
_CUT_CALL = "the answer broke off within a tool call"


def _failure(response: Response, cut: Sequence[Closer]) -> AdapterError | None:
    """The error of an answer that has none, but may not look finished."""
    if response.stop_reason is CANCELLED:
        return CancelledError("the answer was cancelled")
    return ServerError(_CUT_CALL) if response.stop_reason not in LIMITS and _has_call(cut) else None


def _has_call(cut: Sequence[Closer]) -> bool:
    return any(type(closer) is ToolUseEnd for closer in cut)


class GrammaticalEncoder(StreamEncoder):
    """An encoder that checks every event it is fed. What an event becomes is the dialect's to say.

    The end of an incomplete block waits for ``message.complete``. After a failure nothing is written for it, no closing
    word and no finished item, but only the protocol's error form. An answer that reached its limit says the end of its
    last call, as providers do; ``write_cut_block`` is for protocols that have whole calls only. An answer that goes on
    behind a call that was cut off fails there: readers would take that call for a finished one. Once a stream has ended
    or failed, nothing is written.
    """

    def __init__(self) -> None:
        self.grammar = StreamGrammar()
        self.ledger = Ledger()
        self.ended = False
        self.unfinished: list[Closer] = []

    @property
    def losses(self) -> list[Loss]:  # type: ignore[override]
        """What the protocol could not say so far."""
        return self.ledger.losses

    def write_event(self, event: Event) -> bytes:
        """The bytes of one legal event."""
        match event:
            case TextDelta() | ThinkingDelta() | CitationDelta() | ToolUseInputDelta():
                return self.delta(event)
            case MessageStart():
                return self.start(event)
            case BlockStart() | ToolUseStart():
                return self.open(event)
            case BlockComplete() | ToolUseEnd():
                return self.end(event)
            case MessageComplete():
                return self.complete(event) if event.error is None else self.fail(event.error)
            case _:
                return b""

    def start(self, event: MessageStart) -> bytes:
        """The beginning of an answer."""
        return b""

    def open(self, event: Opener) -> bytes:
        """A block begins."""
        return b""

    def delta(self, event: Delta) -> bytes:
        """More of a block that is open."""
        return b""

    def end(self, event: Closer) -> bytes:
        """A block is finished."""
        return b""

    def complete(self, event: MessageComplete) -> bytes:
        """The end of an answer that did not fail."""
        return b""

    def fail(self, error: AdapterError) -> bytes:
        """The end of an answer that failed."""
        if self.ended:
            return b""
        self.ledger.where = ()
        before = self.abandon()
        self.ended = True
        return before + self.write_error(error)

    def abandon(self) -> bytes:
        """The answer ends here: write what still may be, and declare what is left."""
        return b""

    def write_error(self, error: AdapterError) -> bytes:
        """The protocol's error form."""
        return b""

    def feed(self, event: Event) -> bytes:
        self.grammar.check(event)
        if self.ended:
            return b""
        kind = type(event)
        if (kind is ToolUseEnd or kind is BlockComplete) and cast("Closer", event).block.incomplete:
            self.unfinished.append(cast("Closer", event))
            return b""
        try:
            if self.unfinished and (kind is BlockStart or kind is ToolUseStart) and _has_call(self.unfinished):
                return self.fail(ServerError(_CUT_CALL))
            return self.conclude(cast("MessageComplete", event)) if kind is MessageComplete else self.write_event(event)
        except ODD as odd:
            raise ParseError(f"{event.type} cannot be written in this protocol: {type(odd).__name__}: {odd}") from odd

    def conclude(self, event: MessageComplete) -> bytes:
        """The end of an answer: as it was meant, or in an error where it was cancelled or a call in it was cut off."""
        cut, self.unfinished = self.unfinished, []
        if event.error is None and (error := _failure(event.response, cut)) is not None:
            event = replace(event, error=error)
        ends = [] if event.error is not None else [self.write_cut_block(closer) for closer in cut]
        return b"".join(ends) + self.write_event(event)

    def write_cut_block(self, event: Closer) -> bytes:
        """The end of a block that the limit of an answer cut off."""
        return self.write_event(event)

    def close(self) -> bytes:
        return b""
