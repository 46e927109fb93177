"""What the bus tells of sessions and of models, beside the calls: turns, tools, availability."""

from __future__ import annotations

from msgspec import Struct

from ..types.base import Json
from ..types.usage import TokenUsage

__all__ = ["Activity", "AvailabilityChanged", "SessionActivity", "ToolEnded", "ToolStarted", "TurnEnded", "TurnStarted"]


class Activity(Struct, frozen=True, kw_only=True, tag_field="type"):
    """The base class of what is not a call."""

    @property
    def type(self) -> str:
        """The event's tag, e.g. ``"session.turn_started"``."""
        return str(self.__struct_config__.tag)


class SessionActivity(Activity, frozen=True, kw_only=True):
    """Something that a session does. ``content`` is what was said, for subscribers that asked for it."""

    session_id: str
    turn_id: str
    content: Json = None


class TurnStarted(SessionActivity, frozen=True, tag="session.turn_started"):
    """A turn begins. ``parent_call_id``: the call that it answers, if the session is a tool of another."""

    parent_call_id: str | None = None


class TurnEnded(SessionActivity, frozen=True, tag="session.turn_ended"):
    """A turn is over: what it came to, as in the report."""

    stopped: str
    steps: int
    usage: TokenUsage
    cost_usd: float | None = None
    losses: int = 0
    left_out: tuple[str, ...] = ()
    error: str | None = None
    """The class of what it raised."""


class ToolStarted(SessionActivity, frozen=True, tag="session.tool_started"):
    """The function of a tool is called."""

    call_id: str
    tool: str


class ToolEnded(SessionActivity, frozen=True, tag="session.tool_ended"):
    """A call has its result, whether it was run or not."""

    call_id: str
    tool: str
    is_error: bool = False


class AvailabilityChanged(Activity, frozen=True, tag="model.availability_changed"):
    """A model that fails is not called for a while (``open``), is probed (``half_open``), or is called again
    (``closed``)."""

    account: str
    model: str | None
    state: str
