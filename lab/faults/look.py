"""The outcome of a call in the words of the table, and the checks that must hold for every fault."""

from __future__ import annotations

from collections.abc import Iterator

from interlingua.codec.streams.grammar import StreamGrammar
from interlingua.errors import ParseError
from interlingua.types.events import MessageComplete, Unknown
from interlingua.types.words import StopReason

from .rows import HUGE
from .ways import PROVIDERS, Call

__all__ = ["ECHO", "look", "outcome"]

ECHO = "You said: one two three four"


def outcome(call: Call) -> tuple[str, str, int]:
    """The outcome in the words of the table: the result, whether content was kept, and the number of attempts."""
    if call.error is None:
        assert call.response is not None
        return "answered", "", call.response.attempts
    response = call.error.response
    kept = ", kept" if response is not None and response.content else ""
    return str(call.error.error_class), kept, call.error.attempts


def look(call: Call, way: str, dialect: str) -> Iterator[str]:
    """One sentence for each check that fails, of those that must hold for every fault."""
    yield from _look_at_bus(call)
    if way.endswith("stream"):
        yield from _look_at_events(call)
    if call.error is None:
        assert call.response is not None
        if call.response.text not in (ECHO, HUGE):
            yield f"the answer is {call.response.text[:60]!r}"
    else:
        yield from _look_at_error(call, dialect)


def _look_at_error(call: Call, dialect: str) -> Iterator[str]:
    error = call.error
    assert error is not None
    response = error.response
    if error.provider != PROVIDERS[dialect] or response is None:
        yield f"{error!r} does not say whose it is, or has no response"
    elif response.stop_reason is not StopReason.error or response.error is not error:
        yield f"the partial response says {response.stop_reason}"
    elif response.text and not ECHO.startswith(response.text):
        yield f"what was kept is {response.text[:60]!r}"
    elif response.attempts != error.attempts:
        yield f"response and error count attempts differently: {response.attempts}, {error.attempts}"


def _look_at_events(call: Call) -> Iterator[str]:
    """A stream is grammatical and ends in ``message.complete``; one that failed before any content has no events.

    We know every event that our own server sends, so an ``unknown`` event is one that the decoder failed to read.
    """
    grammar = StreamGrammar()
    try:
        for event in call.events:
            grammar.check(event)
    except ParseError as error:
        yield str(error)
    yield from (f"an event was not read: {event.raw!r:.80}" for event in call.events if isinstance(event, Unknown))
    last = call.events[-1] if call.events else None
    if call.error is None or last is not None:
        response = call.response or (call.error and call.error.response)
        if not isinstance(last, MessageComplete) or last.error is not call.error or last.response != response:
            yield f"the last event is {last!r:.80}"


def _look_at_bus(call: Call) -> Iterator[str]:
    attempts = (call.error or call.response).attempts  # type: ignore[union-attr]
    found = [(event.type, event.retry_count) for event in call.bus_events]
    want = [(kind, n) for n in range(attempts) for kind in ("llm.call_started", "llm.call_failed")]
    if call.error is None:
        want[-1] = ("llm.call_completed", attempts - 1)
    if found != want:
        yield f"the bus heard {found}"
