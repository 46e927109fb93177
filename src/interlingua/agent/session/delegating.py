"""``session.as_tool``: a session as a tool of another one, with a model, tools, limits and a cost of its own.

Each call of the tool runs in a fork of the session, so calls may run at the same time and know nothing of each other.
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
    """A session that awaits, as a tool."""

    async def delegate(task: Task) -> Answer:
        child, run = session.fork(), RUNNING.get()
        try:
            if run is None or run.tell is None:
                return _answer(await child.run(task, **limits), run)
            async with child.run_stream(task, **limits) as events:
                async for event in events:
                    run.tell(_nested(run, child, event))
            return _answer(events.response, run)
        finally:
            _note(run, child)

    return replace(tool(delegate, name=name, description=description), delegates=True)


def sync_tool(session: SyncSession, name: str, description: str | None, limits: dict[str, Any]) -> BoundTool[..., Any]:
    """A session that blocks, as a tool. It runs in a thread; it is cancelled when its call is given up."""

    def delegate(task: Task) -> Answer:
        child, run = session.fork(), RUNNING.get()
        if run is not None:
            run.on_give_up = child.cancel
        try:
            if run is None or run.tell is None:
                return _answer(child.run(task, **limits), run)
            with child.run_stream(task, **limits) as events:
                for event in events:
                    run.tell(_nested(run, child, event))
            return _answer(events.response, run)
        finally:
            _note(run, child)

    return replace(tool(delegate, name=name, description=description), delegates=True)


def _nested(run: CallRun, child: StoredConversation, event: SessionEvent) -> ToolEvent:
    return ToolEvent(run.call, child.id, event)


def _note(run: CallRun | None, child: StoredConversation) -> None:
    """What it came to, for the report of the session that asked; also if it failed or was cut."""
    if run is not None:
        report = child.report
        run.delegated = Delegated(
            run.call.id, run.call.name, child.id, report.steps, report.usage, report.cost_usd, report.stopped
        )


def _answer(response: Response | None, run: CallRun | None) -> Answer:
    response = response or Response()
    if response.stopped is None:
        return response.text
    told = f"It was stopped: {response.stopped_reason}."
    if response.text:
        told += f" What it had said last: {response.text}"
    return ToolResultBlock("" if run is None else run.call.id, (TextBlock(told),), is_error=True)
