"""The first events of a streamed answer, held back until content comes. Nothing else holds events back for a retry.

Until something was handed out, a failed attempt can be repeated, or another model can be called, and the reader sees
only one beginning.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..codec.limits import Limits
from ..types.blocks import TextBlock, ThinkingBlock
from ..types.events import BlockStart, Event, MessageComplete, MessageStart, Unknown, UsageUpdate

__all__ = ["HeldEvents"]

BEFORE_CONTENT = (MessageStart, UsageUpdate, Unknown, MessageComplete)
"""Events without content, which may be thrown away if the answer begins anew; so may the start of an empty text."""


class HeldEvents(Struct):
    """``events`` are those that the reader has not seen. ``delivered``: whether the reader has seen any."""

    limits: Limits
    events: list[Event] = []
    size: int = 0
    delivered: bool = False

    def pass_on(self, events: Sequence[Event], size: int = 0) -> Sequence[Event]:
        """Add events that came in ``size`` bytes, and return the events to hand out now.

        Events are handed out from the first content on, or when there are more of them than ``limits`` allows.
        """
        if self.delivered:
            return events
        self.events += events
        self.size += size
        if not any(map(_is_content, events)) and self._is_within_limits():
            return ()
        self.delivered = True
        ready, self.events = self.events, []
        return ready

    def clear(self) -> None:
        """Forget the events of a failed attempt."""
        self.events, self.size = [], 0

    def _is_within_limits(self) -> bool:
        most, bytes_most = self.limits.held_events, self.limits.held_bytes
        return (most is None or len(self.events) <= most) and (bytes_most is None or self.size <= bytes_most)


def _is_content(event: Event) -> bool:
    if isinstance(event, BlockStart):
        return not isinstance(event.block, TextBlock | ThinkingBlock) or bool(event.block.text)
    return not isinstance(event, BEFORE_CONTENT)
