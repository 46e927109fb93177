"""Writing streams, for all dialects: checking the order of events, and ending an answer that broke off."""

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
from ..base import SHAPE_ERRORS, StreamEncoder
from ..history.incomplete import LIMITS
from ..ledger import Ledger
from .grammar import DELTAS, StreamGrammar

__all__ = ["Closer", "Delta", "GrammaticalEncoder", "Opener"]

CANCELLED = StopReason.cancelled  # attribute access on an Enum costs 40 ns

Opener = BlockStart | ToolUseStart
Delta = TextDelta | ThinkingDelta | CitationDelta | ToolUseInputDelta
Closer = BlockComplete | ToolUseEnd
_CUT_CALL = "the answer broke off within a tool call"


def _failure(response: Response, cut: Sequence[Closer]) -> AdapterError | None:
    """The error to write for an answer that has none but must not look finished; None if it may."""
    if response.stop_reason is CANCELLED:
        return CancelledError("the answer was cancelled")
    return ServerError(_CUT_CALL) if response.stop_reason not in LIMITS and _has_call(cut) else None


def _has_call(cut: Sequence[Closer]) -> bool:
    return any(type(closer) is ToolUseEnd for closer in cut)


class GrammaticalEncoder(StreamEncoder):
    """An encoder that checks every event it is fed. The dialect's methods write the events.

    The end of an incomplete block waits for ``message.complete``. If the answer failed, only the protocol's error is
    written: no end of the block and no finished item. If the answer reached its limit, the end of its last call is
    written, as providers do; protocols that have whole calls only override ``write_cut_block``. An answer that
    continues after a call that was cut off fails there, because readers would take that call as finished. Once a stream
    has ended or failed, nothing is written.
    """

    def __init__(self) -> None:
        self.grammar = StreamGrammar()
        self.ledger = Ledger()
        self.ended = False
        self.unfinished: list[Closer] = []

    @property
    def losses(self) -> list[Loss]:  # type: ignore[override]
        """What the protocol could not express so far."""
        return self.ledger.losses

    def write_event(self, event: Event) -> bytes:
        """The bytes of one legal event."""
        if type(event) in DELTAS:  # nearly all events
            return self.delta(cast("Delta", event))
        match event:
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
        """Write the beginning of an answer."""
        return b""

    def open(self, event: Opener) -> bytes:
        """Write the beginning of a block."""
        return b""

    def delta(self, event: Delta) -> bytes:
        """Write more of an open block."""
        return b""

    def end(self, event: Closer) -> bytes:
        """Write the end of a finished block."""
        return b""

    def complete(self, event: MessageComplete) -> bytes:
        """Write the end of an answer that did not fail."""
        return b""

    def fail(self, error: AdapterError) -> bytes:
        """Write the end of an answer that failed."""
        if self.ended:
            return b""
        self.ledger.where = ()
        before = self.abandon()
        self.ended = True
        return before + self.write_error(error)

    def abandon(self) -> bytes:
        """Before the error of a failed answer: write what is still allowed, and declare what is lost."""
        return b""

    def write_error(self, error: AdapterError) -> bytes:
        """Write the error as the protocol does."""
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
        except SHAPE_ERRORS as fault:
            why = f"{type(fault).__name__}: {fault}"
            raise ParseError(f"{event.type} cannot be written in this protocol: {why}") from fault

    def conclude(self, event: MessageComplete) -> bytes:
        """Write the end of an answer, as an error if it was cancelled or a call in it was cut off."""
        cut, self.unfinished = self.unfinished, []
        if event.error is None and (error := _failure(event.response, cut)) is not None:
            event = replace(event, error=error)
        ends = [] if event.error is not None else [self.write_cut_block(closer) for closer in cut]
        return b"".join(ends) + self.write_event(event)

    def write_cut_block(self, event: Closer) -> bytes:
        """Write the end of a block that was cut off because the answer reached its limit."""
        return self.write_event(event)

    def close(self) -> bytes:
        return b""
