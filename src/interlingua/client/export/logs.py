"""One line per event, in words for people and as values for machines."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from ...types.base import Json
from ...types.words import ErrorClass
from ..bus import BUS, Bus, CallCompleted, CallEvent, CallFailed, CallStarted

__all__ = ["log_calls"]

LEVELS: dict[type[CallEvent], int] = {
    CallStarted: logging.DEBUG,
    CallCompleted: logging.INFO,
    CallFailed: logging.WARNING,
}
ABSENT = (None, False)
"""What an event need not say."""


def log_calls(bus: Bus = BUS, logger: logging.Logger | None = None, *, messages: bool = True) -> Callable[[], None]:
    """Log every attempt of every call. What is returned ends it.

    The line is the event's name and a JSON object; the same object is the record's attribute ``interlingua``, for
    formatters that write JSON. A start is DEBUG, an answer INFO, a failure WARNING, a call that was cancelled INFO.
    A provider's error may quote what it was sent: ``messages=False`` leaves its words out.
    """
    into = logger or logging.getLogger("interlingua.calls")

    def write(event: CallEvent) -> None:
        level = level_of(event)
        if into.isEnabledFor(level):
            told = tell(event, messages=messages)
            into.log(level, "%s: %s", event.type, msgspec.json.encode(told).decode(), extra={"interlingua": told})

    return bus.subscribe(write)


def level_of(event: CallEvent) -> int:
    """How loudly to say it: that the caller cancelled is nobody's fault."""
    if isinstance(event, CallFailed) and event.error_class is ErrorClass.cancelled:
        return logging.INFO
    return LEVELS[type(event)]


def tell(event: CallEvent, *, messages: bool) -> dict[str, Json]:
    """The event as JSON, without what says nothing."""
    told: dict[str, Json] = {key: value for key, value in msgspec.to_builtins(event).items() if value not in ABSENT}
    if "usage" in told:
        told["usage"].pop("raw", None)
    if "latency_ms" in told:
        told["latency_ms"] = round(told["latency_ms"], 3)
    if not messages:
        told.pop("message", None)
    return told
