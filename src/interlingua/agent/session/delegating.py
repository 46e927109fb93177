"""``session.as_tool``: a session as a tool of another session, with its own model, tools, limits and cost.

Each call of the tool runs in a fork of the session, so calls can run at the same time and do not see each other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from ...types.blocks import TextBlock, ToolResultBlock
from ...types.response import Response
from ...types.session_events import SessionEvent, ToolEvent
from ..tools import tool
from ..tools.binding import BoundTool
from ..tools.calls import RUNNING, CallRun
from .report import Delegated
from .stored_conversation import StoredConversation

if TYPE_CHECKING:
    from .async_session import Session
    from .sync_session import SyncSession

__all__ = ["async_tool", "sync_tool"]

Task = Annotated[
    str, "What to do, with all that must be known for it. Nothing else of this conversation is known there."
]
Answer = str | ToolResultBlock


def async_tool(session: Session, name: str, description: str | None, limits: dict[str, Any]) -> BoundTool[..., Any]:
    """An async session as a tool."""

    async def delegate(task: Task) -> Answer:
        child, run = session.fork(), RUNNING.get()
        try:
            if run is None or run.emit is None:
                return _answer(await child.run(task, **limits), run)
            async with child.run_stream(task, **limits) as events:
                async for event in events:
                    run.emit(_nested(run, child, event))
            return _answer(events.response, run)
        finally:
            _note_outcome(run, child)

    return replace(tool(delegate, name=name, description=description), delegates=True)


def sync_tool(session: SyncSession, name: str, description: str | None, limits: dict[str, Any]) -> BoundTool[..., Any]:
    """A blocking session as a tool. It runs in a thread, and is cancelled when its call is given up."""

    def delegate(task: Task) -> Answer:
        child, run = session.fork(), RUNNING.get()
        if run is not None:
            run.on_give_up = child.cancel
        try:
            if run is None or run.emit is None:
                return _answer(child.run(task, **limits), run)
            with child.run_stream(task, **limits) as events:
                for event in events:
                    run.emit(_nested(run, child, event))
            return _answer(events.response, run)
        finally:
            _note_outcome(run, child)

    return replace(tool(delegate, name=name, description=description), delegates=True)


def _nested(run: CallRun, child: StoredConversation, event: SessionEvent) -> ToolEvent:
    return ToolEvent(run.call, child.id, event)


def _note_outcome(run: CallRun | None, child: StoredConversation) -> None:
    """Keep the outcome for the report of the calling session, even if the child failed or was cut off."""
    if run is not None:
        report = child.report
        run.delegated = Delegated(
            run.call.id, run.call.name, child.id, report.steps, report.usage, report.cost_usd, report.stopped
        )


def _answer(response: Response | None, run: CallRun | None) -> Answer:
    response = response or Response()
    if response.stopped is None:
        return response.text
    text = f"It was stopped: {response.stopped_reason}."
    if response.text:
        text += f" What it had said last: {response.text}"
    return ToolResultBlock("" if run is None else run.call.id, (TextBlock(text),), is_error=True)
