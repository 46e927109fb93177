"""The events of a session's turn beside those of its answers: steps, tools and approvals, named by their tags.

They stand between the answers, never inside of one. A call that is started has one ``tool.result`` or ``tool.failure``;
a call that is not run has a ``tool.failure`` alone.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from .blocks import ToolResultBlock, ToolUseBlock
from .events import Event, EventBase
from .tools import ToolDefinition
from .usage import TokenUsage
from .words import StopReason

__all__ = [
    "ApprovalAsked",
    "ApprovalGiven",
    "ApprovalRefused",
    "SessionEvent",
    "StepEnd",
    "StepStart",
    "ToolEvent",
    "ToolFailure",
    "ToolResult",
    "ToolStart",
]


class StepStart(EventBase, frozen=True, tag="step.start"):
    """A step begins: one answer of a model, and the run of its tools. ``step`` counts from 1."""

    type: ClassVar[Literal["step.start"]] = "step.start"
    step: int


class StepEnd(EventBase, frozen=True, tag="step.end"):
    """A step is over. A step that raises has no end."""

    type: ClassVar[Literal["step.end"]] = "step.end"
    step: int
    stop_reason: StopReason
    usage: TokenUsage | None = None
    cost_usd: float | None = None


class CallEventBase(EventBase, frozen=True):
    """The root of the events of one call."""

    call: ToolUseBlock


class ToolStart(CallEventBase, frozen=True, tag="tool.start"):
    """The function of a tool is called now."""

    type: ClassVar[Literal["tool.start"]] = "tool.start"


class ToolResult(CallEventBase, frozen=True, tag="tool.result"):
    """A tool returned its result."""

    type: ClassVar[Literal["tool.result"]] = "tool.result"
    result: ToolResultBlock


class ToolFailure(CallEventBase, frozen=True, tag="tool.failure"):
    """A tool raised, or the call was not run, or its outcome is unknown: ``result`` says which."""

    type: ClassVar[Literal["tool.failure"]] = "tool.failure"
    result: ToolResultBlock


class ToolEvent(CallEventBase, frozen=True, tag="tool.event"):
    """An event of another session, which runs as a tool of this one."""

    type: ClassVar[Literal["tool.event"]] = "tool.event"
    session_id: str
    event: SessionEvent


class ApprovalAsked(CallEventBase, frozen=True, tag="approval.asked"):
    """Approval is asked for, before a destructive tool runs."""

    type: ClassVar[Literal["approval.asked"]] = "approval.asked"
    definition: ToolDefinition


class ApprovalGiven(CallEventBase, frozen=True, tag="approval.given"):
    """The call may run."""

    type: ClassVar[Literal["approval.given"]] = "approval.given"


class ApprovalRefused(CallEventBase, frozen=True, tag="approval.refused"):
    """The call may not run. ``tool.failure`` follows, with what the model is told."""

    type: ClassVar[Literal["approval.refused"]] = "approval.refused"
    reason: str


SessionEvent = (
    Event
    | StepStart
    | StepEnd
    | ToolStart
    | ToolResult
    | ToolFailure
    | ToolEvent
    | ApprovalAsked
    | ApprovalGiven
    | ApprovalRefused
)
"""What the stream of a session is made of: the events of its answers, and what the session does between them."""
