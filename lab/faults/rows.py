"""The table: what a server does, and the outcome that the rules of errors and retries require of every provider.

The outcome for the caller is one phrase: ``answered`` or the class of an error, the number of attempts if it was not
one, and ``kept`` if the error has the content that came before it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec.structs import replace

from interlingua.client.embedded import Fault, Step
from interlingua.types.tools import ToolDefinition
from interlingua.types.words import ErrorClass

__all__ = ["CHAPTERS", "HUGE", "ROWS", "Row"]

HUGE = "x" * 3_000_000
TOOL = ToolDefinition(
    name="add", input_schema={"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
)


class Row(NamedTuple):
    """One fault. Without ``stream``, streams have the same outcome as whole answers."""

    name: str
    steps: Step | tuple[Step, ...]
    complete: str
    stream: str | None = None
    waits: tuple[float, ...] | None = None
    """Seconds between the attempts; None means our own backoff."""
    seconds: float | None = None
    """The time limit of the call, if the fault needs one."""
    tools: tuple[ToolDefinition, ...] = ()
    burst: bool = False
    """Whether the attempts depend on the network: an error that arrives together with the content may be retried."""
    door: Literal["", "deaf", "tls"] = ""
    """Another address than the server's: one on which nobody listens, or ``https:``. Such a row is not for memory."""


def fail(status: int, fault: Fault = "none", **headers: str) -> Step:
    """An error with a status and the body that the provider sends with it."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Step(act="fail", status=status, fault=fault, headers=names)


def busy(**headers: str) -> Step:
    """A 503 whose message says that the service is overloaded; some dialects need these words to recognise it."""
    return replace(fail(503, "none", **headers), message="The service is overloaded.")


def spoil(fault: Fault, after: int = 5) -> Step:
    return Step(act="echo", fault=fault, after=after)


def label(kind: str) -> Step:
    return Step(act="echo", headers={"content-type": kind})


FINE = Step(act="echo")
NOON, SOON = "Wed, 21 Oct 2026 12:00:00 GMT", "Wed, 21 Oct 2026 12:00:12 GMT"
SPENT = Step(act="fail", error=ErrorClass.rate_limit, retryable=False)
MISMATCH = Step(
    act="fail",
    error=ErrorClass.tool_error,
    message="No tool call found for function call output with call_id call_1.",
)
SCHEMA = Step(act="fail", status=400, message="Invalid schema for function 'add': 'additionalProperties' is required")
OWN_HINT = Step(act="fail", status=429, retry_after=3.0)
LATE, TOO_LATE = Step(act="echo", delay=0.005), Step(act="echo", delay=30.0)
OVERLOADED = Step(
    act="echo", fault="error_in_200", after=5, error=ErrorClass.rate_limit, message="Overloaded, please try again."
)
AS_EVENTS = {"content-type": "text/event-stream"}
WHOLE_AS_EVENTS = Step(act="echo", fault="whole", headers=AS_EVENTS)
ERROR_AS_EVENTS = Step(act="echo", fault="error_in_200", after=0, headers=AS_EVENTS)
CALLS = Step(act="call", calls=3, fault="half", after=2)

# fmt: off
STATUSES = (
    Row("status 302",                    fail(302), "other"),
    Row("status 400",                    fail(400), "invalid_request"),
    Row("status 401",                    fail(401), "auth"),
    Row("status 402",                    fail(402), "rate_limit"),
    Row("status 403",                    fail(403), "auth"),
    Row("status 404",                    fail(404), "invalid_request"),
    Row("status 408",                    fail(408), "timeout ×3"),
    Row("status 409",                    fail(409), "invalid_request"),
    Row("status 413",                    fail(413), "context_overflow"),
    Row("status 422",                    fail(422), "invalid_request"),
    Row("status 424",                    fail(424), "server_error ×3"),
    Row("status 429",                    fail(429), "rate_limit ×3"),
    Row("status 500",                    fail(500), "server_error ×3"),
    Row("status 502",                    fail(502), "server_error ×3"),
    Row("status 503, overloaded",        busy(), "rate_limit ×3"),
    Row("status 504",                    fail(504), "timeout ×3"),
    Row("status 529",                    fail(529), "rate_limit ×3"),
    Row("status 429, empty body",        fail(429, "empty"), "rate_limit ×3"),
    Row("status 500, half a JSON value", fail(500, "malformed"), "server_error ×3"),
    Row("status 502, a proxy's page",    fail(502, "html"), "server_error ×3"),
    Row("status 401, a proxy's page",    fail(401, "html"), "auth"),
    Row("status 502, body cut",          fail(502, "cut"), "server_error ×3"),
    Row("status 429, then an answer",    (fail(429), FINE), "answered ×2"),
)
WORDS = (
    Row("context overflow",              Step(act="overflow"), "context_overflow"),
    Row("quota spent",                   SPENT, "rate_limit"),
    Row("schema refused",                SCHEMA, "invalid_request"),
    Row("calls and results do not match", MISMATCH, "tool_error ×3", waits=(1.0, 1.0)),
)
HINTS = (
    Row("retry-after: 7",                fail(429, retry_after="7"), "rate_limit ×3", waits=(7.0, 7.0)),
    Row("retry-after: in 12 s, as a date", fail(429, date=NOON, retry_after=SOON), "rate_limit ×3", waits=(12.0, 12.0)),
    Row("retry-after: a date gone by",   fail(429, date=SOON, retry_after=NOON), "rate_limit ×3", waits=(0.0, 0.0)),
    Row("retry-after: nonsense",         fail(429, retry_after="soon"), "rate_limit ×3"),
    Row("retry-after: 300",              fail(429, retry_after="300"), "rate_limit ×3", waits=(60.0, 60.0)),
    Row("retry-after-ms: 1500",          fail(429, retry_after_ms="1500"), "rate_limit ×3", waits=(1.5, 1.5)),
    Row("retry-after-ms wins over seconds", fail(429, retry_after_ms="1500", retry_after="9"), "rate_limit ×3",
        waits=(1.5, 1.5)),
    Row("3 s, in the provider's own way", OWN_HINT, "rate_limit ×3", waits=(3.0, 3.0)),
    Row("overloaded, retry-after: 4",    busy(retry_after="4"), "rate_limit ×3", waits=(4.0, 4.0)),
    Row("overloaded, x-should-retry: false", busy(x_should_retry="false"), "rate_limit"),
    Row("status 500, x-should-retry: false", fail(500, x_should_retry="false"), "server_error"),
    Row("status 409, x-should-retry: true", fail(409, x_should_retry="true"), "invalid_request ×3"),
    Row("retry-after: 30, but 20 s left", fail(429, retry_after="30"), "rate_limit", seconds=20.0),
)
CONNECTIONS = (
    Row("refused",                       FINE, "network ×3", door="deaf"),
    Row("no TLS spoken",                 FINE, "network ×3", door="tls"),
    Row("no HTTP spoken",                spoil("garbage"), "network ×3"),
    Row("closed without an answer",      spoil("no_answer"), "network ×3"),
    Row("reset without an answer",       spoil("reset_first"), "network ×3"),
    Row("closed, then an answer",        (spoil("no_answer"), FINE), "answered ×2"),
    Row("silence",                       spoil("stall_first"), "timeout", seconds=0.5),
    Row("first byte after the deadline", TOO_LATE, "timeout", seconds=0.5),
    Row("first byte late, but in time",  LATE, "answered"),
)
BODIES = (
    Row("cut before any content",        spoil("cut", 0), "network ×3"),
    Row("cut before any content, then an answer", (spoil("cut", 0), FINE), "answered ×2"),
    Row("cut between two events",        spoil("cut"), "network ×3", "network, kept"),
    Row("cut within an event",           spoil("half"), "network ×3", "network, kept"),
    Row("reset in the middle",           spoil("reset"), "network ×3", "network, kept"),
    Row("cut within a call",             CALLS, "network ×3", "network, kept", tools=(TOOL,)),
    Row("silence in the middle",         spoil("stall"), "timeout", "timeout, kept", seconds=1.5),
    Row("cut after the last word",       spoil("unended"), "network ×3", "answered"),
    Row("half a JSON value",             spoil("malformed"), "invalid_request", "network ×3"),
    Row("one event is not JSON",         spoil("malformed_event"), "invalid_request", "invalid_request, kept"),
    Row("nothing at all",                spoil("empty"), "invalid_request", "network ×3"),
    Row("a proxy's page",                spoil("html"), "invalid_request"),
    Row("an error under status 200",     spoil("error_in_200", 0), "server_error ×3"),
    Row("an error under status 200, after some words", spoil("error_in_200"), "server_error ×3",
        "server_error, kept", burst=True),
    Row("overloaded under status 200, after some words", OVERLOADED, "rate_limit ×3",
        "rate_limit, kept", burst=True),
    Row("an error under status 200, labelled text/event-stream", ERROR_AS_EVENTS, "server_error ×3"),
    Row("the last event twice",          spoil("last_twice"), "answered"),
    Row("3 MB in one event",             Step(act="echo", text=HUGE), "answered"),
    Row("a stream, whatever was asked",  spoil("streamed"), "answered"),
    Row("whole, whatever was asked",     spoil("whole"), "answered"),
    Row("whole, labelled text/event-stream", WHOLE_AS_EVENTS, "answered"),
    Row("labelled text/plain",           label("text/plain"), "answered"),
    Row("labelled application/json",     label("application/json"), "answered"),
    Row("labelled text/event-stream",    label("text/event-stream"), "answered"),
    Row("labelled application/octet-stream", label("application/octet-stream"), "answered"),
    Row("not labelled",                  label(""), "answered"),
)
# fmt: on

CHAPTERS: dict[str, tuple[Row, ...]] = {
    "By status": STATUSES,
    "By what the body says": WORDS,
    "Hints": HINTS,
    "Before the headers": CONNECTIONS,
    "The body": BODIES,
}
ROWS: dict[str, Row] = {row.name: row for rows in CHAPTERS.values() for row in rows}
