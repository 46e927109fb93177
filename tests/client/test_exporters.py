"""The exporters of the bus: log lines, and spans and metrics that OpenTelemetry's own readers collect."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.trace import SpanKind, StatusCode

from client.support import CANARY, DIALECTS, PROVIDERS, WAYS, ask, call
from interlingua import ErrorClass, NotConfigured, StopReason, TokenUsage
from interlingua.client.bus import Bus, CallCompleted, CallFailed, CallStarted
from interlingua.client.connect import AsyncClient
from interlingua.client.embedded import Script, Step, handler
from interlingua.client.export import log_calls, otel, trace_calls
from interlingua.client.transport.memory import AsyncMemoryTransport

SAID = "an entirely private sentence"


class Telemetry:
    """An SDK of its own, and a bus that feeds it."""

    def __init__(self) -> None:
        self.spans_out, self.metrics_out = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(), MeterProvider([self.metrics_out])
        self.tracers.add_span_processor(SimpleSpanProcessor(self.spans_out))
        self.bus = Bus()
        self.leave = trace_calls(self.bus, tracer_provider=self.tracers, meter_provider=self.meters)

    @property
    def spans(self) -> list[Any]:
        return list(self.spans_out.get_finished_spans())

    def points(self, name: str) -> list[Any]:
        data = self.metrics_out.get_metrics_data()
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics] if data else []
        found = [metric for scope in scopes for metric in scope.metrics if metric.name == name]
        return [point for metric in found for point in metric.data.data_points]


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    made = Telemetry()
    yield made
    made.leave()
    made.tracers.shutdown()
    made.meters.shutdown()


# --------------------------------------------------------------------------------------------------------- spans


@pytest.mark.parametrize("way", WAYS)
def test_one_span_per_attempt(telemetry: Telemetry, way: str) -> None:
    script = Script(Step(act="fail", error=ErrorClass.rate_limit), Step(act="echo"))
    outcome = call(way, "anthropic", script, ask(SAID, request_id="r7"), bus=telemetry.bus)
    assert outcome.response is not None
    assert outcome.response.usage is not None
    first, second = telemetry.spans
    for span in (first, second):
        assert span.name == "chat some-model"
        assert span.kind == SpanKind.CLIENT
        assert span.instrumentation_scope.name == "interlingua"
    told = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "some-model"}
    told |= {"gen_ai.request.stream": True} if way.endswith("stream") else {}
    assert dict(first.attributes) == {
        **told,
        "interlingua.request_id": "r7",
        "interlingua.retry_count": 0,
        "interlingua.account": "anthropic",
        "error.type": "rate_limit",
        "http.response.status_code": 429,
    }
    assert first.status.status_code == StatusCode.ERROR
    assert first.status.description is None
    assert dict(second.attributes) == {
        **told,
        "interlingua.request_id": "r7",
        "interlingua.retry_count": 1,
        "interlingua.account": "anthropic",
        "gen_ai.response.finish_reasons": ("end_turn",),
        "gen_ai.response.id": "msg_embedded",
        "gen_ai.response.model": "some-model",
        "gen_ai.usage.input_tokens": outcome.response.usage.total_input_tokens,
        "gen_ai.usage.output_tokens": outcome.response.usage.output_tokens,
    }
    assert second.status.status_code == StatusCode.UNSET


def test_the_parent_is_what_is_current_where_the_call_begins(telemetry: Telemetry) -> None:
    tracer = telemetry.tracers.get_tracer("app")

    async def one(name: str, client: AsyncClient) -> None:
        with tracer.start_as_current_span(name):
            async for _ in client.stream(ask()):
                await asyncio.sleep(0)

    async def scene() -> None:
        network = AsyncMemoryTransport(handler(Script(Step(act="echo"))))
        client = AsyncClient("ollama", transport=network, bus=telemetry.bus)
        await asyncio.gather(*(one(f"work {number}", client) for number in range(5)))

    asyncio.run(scene())
    parents = {span.context.span_id: span.name for span in telemetry.spans if span.name.startswith("work")}
    calls = [span for span in telemetry.spans if span.name == "chat some-model"]
    assert sorted(parents[span.parent.span_id] for span in calls) == [f"work {number}" for number in range(5)]


def test_a_cancelled_call_ends_its_span(telemetry: Telemetry) -> None:
    async def scene() -> None:
        network = AsyncMemoryTransport(handler(Script(Step(act="echo", fault="stall", after=3))))
        client = AsyncClient("ollama", transport=network, bus=telemetry.bus)
        async with client.stream(ask()) as stream:
            async for event in stream:
                if event.type == "text.delta":
                    break

    asyncio.run(scene())
    (span,) = telemetry.spans
    assert span.attributes["error.type"] == "cancelled"


NAMED = {
    # ours              the conventions'
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-chat": "openai",
    "google": "gcp.gemini",
    "bedrock": "aws.bedrock",
    "ollama": "ollama",
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_providers_and_operations_have_the_conventions_names(telemetry: Telemetry, dialect: str) -> None:
    provider = PROVIDERS[dialect]
    call("complete", provider, Script(Step(act="echo")), ask(), bus=telemetry.bus)
    (span,) = telemetry.spans
    assert span.attributes["gen_ai.provider.name"] == NAMED[provider]
    assert span.attributes["gen_ai.operation.name"] == ("generate_content" if dialect == "gemini" else "chat")


def test_every_name_is_in_the_registry(telemetry: Telemetry) -> None:
    """Names are checked against the SDK's list; names that are newer than the SDK are listed here with their page."""
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI")}
    values = {member.value for member in gen_ai_attributes.GenAiProviderNameValues} | {"moonshot_ai"}
    operations = {member.value for member in gen_ai_attributes.GenAiOperationNameValues}
    usage = TokenUsage(1, 2, 3, 4, 5)
    who: dict[str, Any] = {"request_id": "r", "provider": "openai", "dialect": "gemini", "model": "m", "stream": True}
    done = CallCompleted(
        **who, retry_count=0, latency_ms=1, stop_reason=StopReason.end_turn, usage=usage, response_id="i",
        response_model="n",
    )  # fmt: skip
    facts = otel.request_facts(done) | otel.span_facts(done) | otel.answer_facts(done)
    assert {name for name in facts if name.startswith("gen_ai.")} <= known
    assert len([name for name in facts if name.startswith("gen_ai.usage.")]) == 5
    assert set(otel.PROVIDERS.values()) <= values
    assert {*otel.OPERATIONS.values(), "chat"} <= operations


def test_parts_of_the_usage_are_in_its_totals() -> None:
    """The conventions' totals include what was read from and written to the cache; our buckets are disjoint."""
    who: dict[str, Any] = {"request_id": "r", "provider": "p", "dialect": "d", "model": None, "stream": False}
    usage = TokenUsage(1, cached_input_tokens=20, cache_creation_input_tokens=300, output_tokens=50, reasoning_tokens=7)
    done = CallCompleted(**who, retry_count=0, latency_ms=1, stop_reason=StopReason.tool_use, usage=usage)
    assert otel.answer_facts(done) == {
        "gen_ai.response.finish_reasons": ["tool_use"],
        "gen_ai.usage.input_tokens": 321,
        "gen_ai.usage.cache_read.input_tokens": 20,
        "gen_ai.usage.cache_creation.input_tokens": 300,
        "gen_ai.usage.output_tokens": 50,
        "gen_ai.usage.reasoning.output_tokens": 7,
    }


# -------------------------------------------------------------------------------------------------------- metrics


def test_metrics(telemetry: Telemetry) -> None:
    script = Script(Step(act="fail", error=ErrorClass.rate_limit), Step(act="echo"))
    outcome = call("complete", "google", script, ask(), bus=telemetry.bus)
    assert outcome.response is not None
    assert outcome.response.usage is not None
    common = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "some-model",
    }
    spent = telemetry.points(gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION)
    answer = {"gen_ai.response.model": "some-model"}
    assert [dict(point.attributes) for point in spent] == [{**common, "error.type": "rate_limit"}, {**common, **answer}]
    assert [point.count for point in spent] == [1, 1]
    assert spent[0].explicit_bounds[0] == 0.01
    assert spent[0].explicit_bounds[-1] == 81.92
    tokens = telemetry.points(gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE)
    assert {point.attributes["gen_ai.token.type"]: point.sum for point in tokens} == {
        "input": outcome.response.usage.total_input_tokens,
        "output": outcome.response.usage.output_tokens,
    }
    assert tokens[0].explicit_bounds[-1] == 67108864


def test_estimated_usage_is_not_recorded_as_a_metric(telemetry: Telemetry) -> None:
    who: dict[str, Any] = {"request_id": "r", "provider": "p", "dialect": "d", "model": "m", "stream": False}
    usage = TokenUsage(5, output_tokens=5, estimated=True)
    done = CallCompleted(**who, retry_count=0, latency_ms=1, stop_reason=StopReason.end_turn, usage=usage)
    telemetry.bus.publish(done)
    assert telemetry.points(gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE) == []
    assert len(telemetry.points(gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION)) == 1
    assert telemetry.spans == [], "an attempt that began before anybody listened has no span"


# ------------------------------------------------------------------------------------------------- ends and secrets


def test_one_id_twice_and_an_end_in_between(telemetry: Telemetry) -> None:
    who: dict[str, Any] = {"provider": "p", "dialect": "d", "model": None, "stream": False, "retry_count": 0}
    for _ in range(3):
        telemetry.bus.publish(CallStarted(request_id="same", **who))
    failure = CallFailed(request_id="same", latency_ms=1, error_class=ErrorClass.network, message="x", **who)
    telemetry.bus.publish(failure)
    assert [span.name for span in telemetry.spans] == ["chat"]
    telemetry.leave()
    assert len(telemetry.spans) == 3, "what was open is ended"
    assert not telemetry.bus
    telemetry.bus.publish(failure)
    assert len(telemetry.spans) == 3


STEPS = (
    Step(act="echo"),
    Step(act="fail", error=ErrorClass.auth),
    Step(act="fail", error=ErrorClass.invalid_request),
    Step(fault="malformed"),
    Step(act="echo", fault="cut", after=3),
)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_content_and_no_key_is_exported(
    telemetry: Telemetry, dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    log_calls(telemetry.bus)
    for step in STEPS:
        call("stream", PROVIDERS[dialect], Script(step), ask(SAID), bus=telemetry.bus)
    shown = [span.to_json() for span in telemetry.spans]
    shown += [repr(point) for point in telemetry.points(gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION)]
    assert len(telemetry.spans) >= len(STEPS)
    assert not [text for text in shown if "private" in text or CANARY in text]
    assert CANARY not in caplog.text
    assert CANARY not in repr([record.__dict__ for record in caplog.records])


WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
from interlingua.client.export import log_calls, trace_calls
log_calls()
try:
    trace_calls()
except Exception as error:
    print(type(error).__name__, error)
"""


def test_without_the_extra_it_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert (
        done.stdout.strip()
        == f"{NotConfigured.__name__} tracing needs opentelemetry-api: pip install 'interlingua[otel]'"
    )


def test_the_package_does_not_load_opentelemetry() -> None:
    code = "import sys, interlingua, interlingua.client.export; print('opentelemetry' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# ----------------------------------------------------------------------------------------------------------- logs


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str, dict[str, Any]]]:
    found = [record for record in caplog.records if record.name == "interlingua.calls"]
    return [(record.levelno, record.getMessage(), record.__dict__["interlingua"]) for record in found]


@pytest.mark.parametrize("way", WAYS)
def test_one_line_per_event(way: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "interlingua.calls")
    bus = Bus()
    leave = log_calls(bus)
    script = Script(Step(act="fail", error=ErrorClass.rate_limit), Step(act="echo"))
    call(way, "openai", script, ask(request_id="r7"), bus=bus)
    lines = logged(caplog)
    assert [level for level, _, _ in lines] == [logging.DEBUG, logging.WARNING, logging.DEBUG, logging.INFO]
    for _, text, told in lines:
        name, _, values = text.partition(": ")
        assert name == told["type"]
        assert json.loads(values) == told
        assert (told["request_id"], told["provider"], told["model"]) == ("r7", "openai", "some-model")
    assert lines[1][2]["error_class"] == "rate_limit"
    assert lines[1][2]["message"]
    assert lines[3][2]["usage"]["output_tokens"] > 0
    assert "raw" not in lines[3][2]["usage"]
    leave()
    call(way, "openai", script, ask(), bus=bus)
    assert len(logged(caplog)) == 4


def test_a_cancelled_call_is_no_warning_and_words_can_be_left_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    bus = Bus()
    log_calls(bus, logging.getLogger("app.models"), messages=False)
    who: dict[str, Any] = {"request_id": "r", "provider": "p", "dialect": "d", "model": None, "stream": False}
    for kind in (ErrorClass.cancelled, ErrorClass.auth):
        bus.publish(CallFailed(**who, retry_count=0, latency_ms=1.23456, error_class=kind, message="secret words"))
    assert [(record.name, record.levelno) for record in caplog.records] == [
        ("app.models", logging.INFO),
        ("app.models", logging.WARNING),
    ]
    assert "secret words" not in caplog.text
    assert caplog.records[0].__dict__["interlingua"]["latency_ms"] == 1.235


def test_nothing_is_logged_below_the_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "interlingua.calls")
    bus = Bus()
    log_calls(bus)
    call("complete", "openai", Script(Step(act="echo")), ask(), bus=bus)
    assert logged(caplog) == []
