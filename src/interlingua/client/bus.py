"""Events about calls, for subscribers; they are not the events of a stream.

Each attempt is one ``llm.call_started`` and then exactly one ``llm.call_completed`` or ``llm.call_failed``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from ..types.usage import TokenUsage
from ..types.words import ErrorClass, StopReason
from .bus_events import Activity, AvailabilityChanged, SessionActivity, ToolEnded, ToolStarted, TurnEnded, TurnStarted

__all__ = [
    "BUS",
    "Activity",
    "AvailabilityChanged",
    "Bus",
    "CallCompleted",
    "CallEvent",
    "CallFailed",
    "CallStarted",
    "SessionActivity",
    "ToolEnded",
    "ToolStarted",
    "TurnEnded",
    "TurnStarted",
    "subscribe",
]

log = logging.getLogger("interlingua")


class CallEvent(Struct, frozen=True, kw_only=True, tag_field="type"):
    """The base class: the call, its provider and model, and the attempt (``retry_count`` is 0 for the first).

    ``account`` is the id of the adapter; two accounts of one provider have two. The others are set for calls of a
    session: its id, the id that the message of the answer will have in it, and the step of the run.
    """

    request_id: str
    provider: str
    dialect: str
    model: str | None
    stream: bool
    retry_count: int
    account: str | None = None
    session_id: str | None = None
    message_id: str | None = None
    step: int | None = None

    @property
    def type(self) -> str:
        """The event's tag, e.g. ``"llm.call_started"``."""
        return str(self.__struct_config__.tag)


class CallStarted(CallEvent, frozen=True, tag="llm.call_started"):
    """An attempt begins."""


class CallCompleted(CallEvent, frozen=True, tag="llm.call_completed"):
    """An attempt ended with a whole answer."""

    latency_ms: float
    stop_reason: StopReason
    usage: TokenUsage | None = None
    response_id: str | None = None
    response_model: str | None = None


class CallFailed(CallEvent, frozen=True, tag="llm.call_failed"):
    """An attempt failed or was cancelled (class ``cancelled``)."""

    latency_ms: float
    error_class: ErrorClass
    message: str
    provider_status: int | None = None
    retryable: bool = False


Subscriber = Callable[[CallEvent], object]
Listener = Callable[[Activity], object]


class Bus:
    """Callbacks, called in order, in the thread of the call. One that raises is logged and never breaks a call."""

    def __init__(self) -> None:
        self.subscribers: tuple[Subscriber, ...] = ()
        self.listeners: tuple[tuple[Listener, bool], ...] = ()
        """Callbacks for turns, tools and availability, each with whether it gets the content too."""

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Call ``callback`` with every event from now on. Returns a function that unsubscribes it."""
        self.subscribers = (*self.subscribers, callback)

        def unsubscribe() -> None:
            self.subscribers = tuple(known for known in self.subscribers if known is not callback)

        return unsubscribe

    def listen(self, callback: Listener, *, content: bool = False) -> Callable[[], None]:
        """Call ``callback`` with every turn, tool and change of availability from now on. Returns a function that stops
        this. ``content``: whether events include messages, arguments and results."""
        entry = callback, content
        self.listeners = (*self.listeners, entry)

        def leave() -> None:
            self.listeners = tuple(known for known in self.listeners if known is not entry)

        return leave

    @property
    def captures(self) -> bool:
        """Whether a listener wants the content."""
        return any(content for _, content in self.listeners)

    def announce(self, event: Activity) -> None:
        """Call all listeners."""
        for callback, content in self.listeners:
            hidden = not content and isinstance(event, SessionActivity) and event.content is not None
            try:
                callback(replace(event, content=None) if hidden else event)
            except Exception:  # an error in a listener must not break the turn
                log.exception("a listener of %s raised", event.type)

    def __bool__(self) -> bool:
        """Whether there are subscribers."""
        return bool(self.subscribers)

    def publish(self, event: CallEvent) -> None:
        """Call all subscribers."""
        for callback in self.subscribers:
            try:
                callback(event)
            except Exception:  # an error in a subscriber must not break the call
                log.exception("a subscriber of %s raised", event.type)


BUS = Bus()
"""The default bus of all clients."""


def subscribe(callback: Subscriber) -> Callable[[], None]:
    """Call ``callback`` with the events of every client on the default bus. Returns a function that unsubscribes it."""
    return BUS.subscribe(callback)
