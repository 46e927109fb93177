"""The events that a turn puts on the bus: its beginning and its end, and those of its tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ...client.adapter import new_ulid
from ...client.bus import Bus, ToolEnded, ToolStarted, TurnEnded, TurnStarted
from ...types.messages import Message
from ...types.response import Response
from ...types.session_events import SessionEvent, ToolFailure, ToolResult, ToolStart
from ..tools.calls import RUNNING
from .report import Report

__all__ = ["Announcer"]


class Announcer:
    """Announces one turn on the bus. Events have content only if a listener asked for it."""

    def __init__(self, bus: Bus, session_id: str) -> None:
        self._bus, self._who = bus, {"session_id": session_id, "turn_id": f"turn_{new_ulid()}"}

    def begin(self, question: Message | None) -> None:
        """Announce that the turn begins."""
        run = RUNNING.get()
        parent = None if run is None else run.call.id
        self._bus.announce(TurnStarted(**self._who, parent_call_id=parent, content=self._content(question)))

    def end(self, report: Report, response: Response | None, error: BaseException | None) -> None:
        """Announce that the turn has ended."""
        event = TurnEnded(
            **self._who,
            stopped=report.stopped,
            steps=report.steps,
            usage=report.usage,
            cost_usd=report.cost_usd,
            losses=len(report.losses),
            left_out=report.left_out,
            error=None if error is None else type(error).__name__,
            content=self._content(None if response is None else response.content),
        )
        self._bus.announce(event)

    def tool(self, event: SessionEvent) -> None:
        """Announce that a tool started or ended. Other events are ignored."""
        if isinstance(event, ToolStart):
            call = event.call
            input = call.input if call.kind == "json" else call.input_text
            self._announce(ToolStarted, call_id=call.id, tool=call.name, content=self._content(input))
        elif isinstance(event, ToolResult | ToolFailure):
            call, failed = event.call, isinstance(event, ToolFailure)
            content = self._content(event.result.content)
            self._announce(ToolEnded, call_id=call.id, tool=call.name, is_error=failed, content=content)

    def _announce(self, kind: Callable[..., Any], **fields: Any) -> None:
        self._bus.announce(kind(**self._who, **fields))

    def _content(self, content: Any) -> Any:
        return msgspec.to_builtins(content) if self._bus.captures else None
