"""Events of the bus about sessions and models: turns, tools, availability. Events about calls are in ``bus.py``."""

from __future__ import annotations

from msgspec import Struct

from ..types.base import Json
from ..types.usage import TokenUsage

__all__ = ["Activity", "AvailabilityChanged", "SessionActivity", "ToolEnded", "ToolStarted", "TurnEnded", "TurnStarted"]


class Activity(Struct, frozen=True, kw_only=True, tag_field="type"):
    """The base class of events that are not about calls."""

    @property
    def type(self) -> str:
        """The event's tag, e.g. ``"session.turn_started"``."""
        return str(self.__struct_config__.tag)


class SessionActivity(Activity, frozen=True, kw_only=True):
    """An event of a session. ``content`` is its messages, arguments or results, for listeners that want them."""

    session_id: str
    turn_id: str
    content: Json = None


class TurnStarted(SessionActivity, frozen=True, tag="session.turn_started"):
    """A turn begins. ``parent_call_id``: the tool call that it answers, if the session is a tool of another one."""

    parent_call_id: str | None = None


class TurnEnded(SessionActivity, frozen=True, tag="session.turn_ended"):
    """A turn is over. The fields are those of its report."""

    stopped: str
    steps: int
    usage: TokenUsage
    cost_usd: float | None = None
    losses: int = 0
    left_out: tuple[str, ...] = ()
    error: str | None = None
    """The class name of the exception that ended it."""


class ToolStarted(SessionActivity, frozen=True, tag="session.tool_started"):
    """The function of a tool is called."""

    call_id: str
    tool: str


class ToolEnded(SessionActivity, frozen=True, tag="session.tool_ended"):
    """A tool call has its result, even if its function was not run."""

    call_id: str
    tool: str
    is_error: bool = False


class AvailabilityChanged(Activity, frozen=True, tag="model.availability_changed"):
    """A model that fails is not called for a while (``open``), is probed (``half_open``), or is called again
    (``closed``)."""

    account: str
    model: str | None
    state: str
