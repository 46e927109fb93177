"""OpenTelemetry, by its conventions for generative AI: for each attempt a client span, a duration and token counts.

https://opentelemetry.io/docs/specs/semconv/gen-ai/ (their status is "development", and names may still change). Only
facts of the call are exported: no message content, no error messages, no keys.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from ...errors import NotConfigured
from ...types.usage import TokenUsage
from ..bus import BUS, Bus, CallCompleted, CallEvent, CallFailed, CallStarted
from .otel_sessions import SessionSpans

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram, Meter, MeterProvider
    from opentelemetry.trace import Span, Tracer, TracerProvider

__all__ = ["trace_calls"]

SCOPE = "interlingua"

# The conventions' names of providers; any other name is exported as it is.
PROVIDERS = {
    "openai-chat": "openai",
    "azure": "azure.ai.openai",
    "google": "gcp.gemini",
    "vertex": "gcp.vertex_ai",
    "vertex-anthropic": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
    "mistral": "mistral_ai",
    "xai": "x_ai",
    "moonshot": "moonshot_ai",
    "kimi": "moonshot_ai",
    "deepseek-anthropic": "deepseek",
}
OPERATIONS = {"gemini": "generate_content"}
"""By dialect; every other one is ``chat``."""

USAGE: tuple[tuple[str, Callable[[TokenUsage], int]], ...] = (
    # The counts of cache and reasoning are parts of the two totals. They are left out if they are zero.
    ("gen_ai.usage.cache_read.input_tokens", lambda usage: usage.cached_input_tokens),
    ("gen_ai.usage.cache_creation.input_tokens", lambda usage: usage.cache_creation_input_tokens),
    ("gen_ai.usage.reasoning.output_tokens", lambda usage: usage.reasoning_tokens),
)
CONTEXT: tuple[tuple[str, Callable[[CallEvent], str | int | None]], ...] = (
    # Known of calls of a session. They are on spans only: as attributes of metrics there would be too many values.
    ("gen_ai.conversation.id", lambda event: event.session_id),
    ("interlingua.message_id", lambda event: event.message_id),
    ("interlingua.step", lambda event: event.step),
    ("interlingua.account", lambda event: event.account),
)
METRIC_FACTS = ("error.type", "gen_ai.response.model")
"""Attributes of a metric beside those of the request."""

TOKEN_EDGES = [4**power for power in range(14)]
SECOND_EDGES = [0.01 * 2**power for power in range(14)]

Key = tuple[str, str, int]
Facts = dict[str, Any]


def trace_calls(
    bus: Bus = BUS,
    *,
    capture: Literal["prompts"] | None = None,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
) -> Callable[[], None]:
    """Export every turn, tool and attempt of a call to OpenTelemetry. Returns a function that stops this.

    ``capture="prompts"`` records the content of turns and tools; without it, no content leaves the program.

    The parent of an attempt is the turn of its session, else the span that is current when it begins. Without
    the two arguments, the global providers are used.
    """
    trace, metrics = (_opentelemetry(name) for name in ("trace", "metrics"))
    exporter = _Exporter(
        trace.get_tracer(SCOPE, tracer_provider=tracer_provider),
        metrics.get_meter(SCOPE, meter_provider=meter_provider),
    )
    unsubscribe_bus = bus.subscribe(exporter)
    leave = bus.listen(exporter.sessions, content=capture == "prompts")

    def unsubscribe() -> None:
        unsubscribe_bus()
        leave()
        exporter.close()

    return unsubscribe


class _Exporter:
    def __init__(self, tracer: Tracer, meter: Meter) -> None:
        self._tracer = tracer
        self._duration, self._tokens = _instruments(meter)
        self._spans: dict[Key, list[Span]] = {}
        self._lock = Lock()
        self._trace: Any = _opentelemetry("trace")
        self._retries = meter.create_counter("interlingua.call.retries", "{attempt}", "Attempts after the first.")
        self.sessions = SessionSpans(tracer, meter, self._trace)

    def __call__(self, event: CallEvent) -> None:
        if isinstance(event, CallStarted):
            self._start(event)
        elif isinstance(event, CallCompleted):
            self._end(event, answer_facts(event), event.latency_ms)
            self._count(event)
        elif isinstance(event, CallFailed):
            self._end(event, failure_facts(event), event.latency_ms)

    def _start(self, event: CallEvent) -> None:
        facts = request_facts(event)
        name = f"{facts['gen_ai.operation.name']} {event.model or ''}".rstrip()
        if event.retry_count:
            self._retries.add(1, facts)
        parent = self.sessions.parent_of_call(event.session_id)
        kind = self._trace.SpanKind.CLIENT
        span = self._tracer.start_span(name, parent, kind=kind, attributes=facts | span_facts(event))
        with self._lock:
            self._spans.setdefault(_key(event), []).append(span)

    def _end(self, event: CallEvent, facts: Facts, latency_ms: float) -> None:
        self._duration.record(latency_ms / 1000, request_facts(event) | selected(facts, METRIC_FACTS))
        span = self._take_span(event)
        if span is None:
            return  # it began before the subscription
        span.set_attributes(facts)
        if "error.type" in facts:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end()

    def _take_span(self, event: CallEvent) -> Span | None:
        """The span that this event ends. If two calls have the same id, it is one of the two."""
        with self._lock:
            spans = self._spans.get(_key(event))
            span = spans.pop() if spans else None
            if not spans:
                self._spans.pop(_key(event), None)
            return span

    def _count(self, event: CallCompleted) -> None:
        usage = event.usage
        if usage is None or usage.estimated:
            return
        facts = request_facts(event) | selected(answer_facts(event), METRIC_FACTS)
        for kind, count in (("input", usage.total_input_tokens), ("output", usage.output_tokens)):
            self._tokens.record(count, {**facts, "gen_ai.token.type": kind})

    def close(self) -> None:
        """End the open spans: their end events will not be seen."""
        with self._lock:
            spans, self._spans = self._spans, {}
        for span in (span for group in spans.values() for span in group):
            span.end()
        self.sessions.close()


def request_facts(event: CallEvent) -> Facts:
    """The attributes that are known before the answer. They are attributes of metrics too."""
    facts = {
        "gen_ai.operation.name": OPERATIONS.get(event.dialect, "chat"),
        "gen_ai.provider.name": PROVIDERS.get(event.provider, event.provider),
    }
    return facts | ({"gen_ai.request.model": event.model} if event.model else {})


def span_facts(event: CallEvent) -> Facts:
    """Attributes of spans only. The stream flag is set only for streams, as the conventions say."""
    flag: Facts = {"gen_ai.request.stream": True} if event.stream else {}
    found = {"interlingua.request_id": event.request_id, "interlingua.retry_count": event.retry_count, **flag}
    return found | {name: value for name, read in CONTEXT if (value := read(event)) is not None}


def answer_facts(event: CallCompleted) -> Facts:
    """The attributes of an answer."""
    facts: Facts = {"gen_ai.response.finish_reasons": [str(event.stop_reason.value)]}
    if event.response_id:
        facts["gen_ai.response.id"] = event.response_id
    if event.response_model:
        facts["gen_ai.response.model"] = event.response_model
    usage = event.usage
    if usage is not None:
        facts["gen_ai.usage.input_tokens"] = usage.total_input_tokens
        facts["gen_ai.usage.output_tokens"] = usage.output_tokens
        facts |= {name: count for name, read in USAGE if (count := read(usage))}
    return facts


def failure_facts(event: CallFailed) -> Facts:
    """The error class and the status of a failure. Not its message, which may quote the request."""
    status = event.provider_status
    return {"error.type": event.error_class.value} | ({"http.response.status_code": status} if status else {})


def selected(facts: Facts, names: tuple[str, ...]) -> Facts:
    return {name: facts[name] for name in names if name in facts}


def _key(event: CallEvent) -> Key:
    return event.request_id, event.provider, event.retry_count


def _instruments(meter: Meter) -> tuple[Histogram, Histogram]:
    return (
        meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=SECOND_EDGES,
        ),
        meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=TOKEN_EDGES,
        ),
    )


def _opentelemetry(name: str) -> Any:
    try:
        return import_module(f"opentelemetry.{name}")
    except ImportError:
        raise NotConfigured("tracing needs opentelemetry-api: pip install 'interlingua[otel]'") from None
