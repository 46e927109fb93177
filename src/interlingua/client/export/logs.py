"""One log line per event, as text and as values."""

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
"""Values that are left out."""


def log_calls(bus: Bus = BUS, logger: logging.Logger | None = None, *, messages: bool = True) -> Callable[[], None]:
    """Log every attempt of every call. Returns a function that stops this.

    The line is the event's name and a JSON object; the same object is the record's attribute ``interlingua``, for
    formatters that write JSON. A start is DEBUG, an answer INFO, a failure WARNING, a cancelled call INFO. The message
    of a provider's error may quote the request: ``messages=False`` leaves it out.
    """
    into = logger or logging.getLogger("interlingua.calls")

    def write(event: CallEvent) -> None:
        level = level_of(event)
        if into.isEnabledFor(level):
            fields = fields_of(event, messages=messages)
            into.log(level, "%s: %s", event.type, msgspec.json.encode(fields).decode(), extra={"interlingua": fields})

    return bus.subscribe(write)


def level_of(event: CallEvent) -> int:
    """The log level. A call that the caller cancelled is not a warning."""
    if isinstance(event, CallFailed) and event.error_class is ErrorClass.cancelled:
        return logging.INFO
    return LEVELS[type(event)]


def fields_of(event: CallEvent, *, messages: bool) -> dict[str, Json]:
    """The event as a JSON object, without empty values."""
    fields: dict[str, Json] = {key: value for key, value in msgspec.to_builtins(event).items() if value not in ABSENT}
    if "usage" in fields:
        fields["usage"].pop("raw", None)
    if "latency_ms" in fields:
        fields["latency_ms"] = round(fields["latency_ms"], 3)
    if not messages:
        fields.pop("message", None)
    return fields
