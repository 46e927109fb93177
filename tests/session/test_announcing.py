"""What turns, tools and models tell on the bus, and the spans and metrics that OpenTelemetry makes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import to_builtins
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from interlingua import (
    AdapterError,
    AudioBlock,
    Base64Source,
    DocumentBlock,
    ErrorClass,
    FileSource,
    ImageBlock,
    Message,
    Price,
    Pricing,
    TextBlock,
    TextSource,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    trace_calls,
)
from interlingua.agent.session import Session, SyncSession
from interlingua.bus import Activity, Bus, TurnEnded
from interlingua.client.embedded import Script, Step, call
from interlingua.client.export.otel_messages import input_messages, output_messages
from session.scenes import scripted

PRICES = Pricing({"anthropic:m": Price(input=1.0, output=1.0)}, tables=())
SECRET = "an entirely private sentence"
BOTH = Step(content=(call("add", a=1, b=2), call("fail")))


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def fail() -> None:
    """Fails."""
    raise ValueError("no luck")


def waited(found: Any) -> Any:
    return asyncio.run(found) if asyncio.iscoroutine(found) else found


class Telemetry:
    """An SDK of its own, and a bus that feeds it."""

    def __init__(self) -> None:
        self.spans_out, self.metrics_out, self.bus = InMemorySpanExporter(), InMemoryMetricReader(), Bus()
        self.tracers, self.meters = TracerProvider(), MeterProvider([self.metrics_out])
        self.tracers.add_span_processor(SimpleSpanProcessor(self.spans_out))

    def start(self, **options: Any) -> None:
        self.leave = trace_calls(self.bus, tracer_provider=self.tracers, meter_provider=self.meters, **options)

    @property
    def spans(self) -> list[Any]:
        return list(self.spans_out.get_finished_spans())

    def span(self, name: str) -> Any:
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def value(self, name: str) -> float:
        data = self.metrics_out.get_metrics_data()
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics] if data else []
        points = [p for s in scopes for metric in s.metrics if metric.name == name for p in metric.data.data_points]
        return sum(getattr(point, "value", None) or getattr(point, "sum", 0) for point in points)


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    made = Telemetry()
    yield made
    made.leave()
    made.tracers.shutdown()
    made.meters.shutdown()


def talk(kind: Any, bus: Bus, *script: Any, **settings: Any) -> Any:
    return kind("anthropic:m", [add, fail], manager=scripted(Script(*script), bus=bus), pricing=PRICES, **settings)


@pytest.mark.parametrize("kind", [Session, SyncSession])
def test_a_span_per_turn_and_per_tool(telemetry: Telemetry, kind: Any) -> None:
    telemetry.start()
    session = talk(kind, telemetry.bus, BOTH, "done", seed=3)
    waited(session.run(SECRET))
    turn, ran, failed = (telemetry.span(n) for n in ("invoke_agent", "execute_tool add", "execute_tool fail"))
    calls = [span for span in telemetry.spans if span.name == "chat m"]
    assert turn.parent is None
    assert {span.parent.span_id for span in (ran, failed, *calls)} == {turn.context.span_id}
    assert {span.kind for span in (turn, ran, failed)} == {SpanKind.INTERNAL}
    spans = (turn, ran, failed, *calls)
    assert {span.attributes["gen_ai.conversation.id"] for span in spans} == {session.id}
    assert [span.attributes["interlingua.step"] for span in calls] == [1, 2]
    assert ran.attributes["gen_ai.operation.name"] == "execute_tool"
    ids = [block.id for block in session.messages[1].content]
    assert [span.attributes["gen_ai.tool.call.id"] for span in (ran, failed)] == ids
    assert (ran.status.status_code, failed.status.status_code) == (StatusCode.UNSET, StatusCode.ERROR)
    assert turn.attributes["interlingua.cost_usd"] == telemetry.value("interlingua.turn.cost") == session.cost_usd
    assert telemetry.value("interlingua.turn.losses") == len(session.report.losses) > 0
    told = " ".join(str(dict(span.attributes)) for span in telemetry.spans)
    assert SECRET not in told
    assert "no luck" not in told


def test_content_only_if_it_is_asked_for(telemetry: Telemetry) -> None:
    telemetry.start(capture="prompts")
    others: list[Activity] = []
    telemetry.bus.listen(others.append)
    talk(SyncSession, telemetry.bus, BOTH, "done").run(SECRET)
    turn, ran = telemetry.span("invoke_agent").attributes, telemetry.span("execute_tool add").attributes
    said = {"type": "text", "content": SECRET}
    assert json.loads(turn["gen_ai.input.messages"]) == [{"role": "user", "parts": [said]}]
    said = {"type": "text", "content": "done"}
    (answer,) = json.loads(turn["gen_ai.output.messages"])
    assert answer == {"role": "assistant", "parts": [said], "finish_reason": "stop"}
    assert json.loads(ran["gen_ai.tool.call.arguments"]) == {"a": 1, "b": 2}
    assert json.loads(ran["gen_ai.tool.call.result"])[0]["text"] == "3"
    assert {event.content for event in others} == {None}  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]


PARTS = [
    (ImageBlock(Base64Source("image/png", "aGk=")), ("blob", "image", "image/png", "content", "aGk=")),
    (AudioBlock(UrlSource("https://x/a.wav")), ("uri", "audio", None, "uri", "https://x/a.wav")),
    (DocumentBlock(FileSource("file_1")), ("file", "document", None, "file_id", "file_1")),
]


def test_content_is_told_in_the_words_of_the_conventions() -> None:
    calls = [ToolUseBlock("c1", "add", input={"a": 1}), ToolUseBlock("c2", "run", "text", input_text="1+1")]
    answer = [ThinkingBlock("hm"), *calls, TextBlock("so"), DocumentBlock(TextSource("note"))]
    (told,) = json.loads(output_messages(to_builtins(answer), "limit"))
    assert told["finish_reason"] == "length"
    assert told["parts"] == [
        {"type": "reasoning", "content": "hm"},
        {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1}},
        {"type": "tool_call", "id": "c2", "name": "run", "arguments": "1+1"},
        {"type": "text", "content": "so"},
        {"type": "text", "content": "note"},
    ]
    results = Message("tool", [ToolResultBlock("c1", "2")])
    (told,) = json.loads(input_messages(to_builtins(results)))
    response = [{"type": "text", "content": "2"}]
    assert told == {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": response}]}
    for block, (kind, modality, media_type, name, value) in PARTS:
        ((part,),) = (one["parts"] for one in json.loads(input_messages(to_builtins(Message("user", [block])))))
        assert part == {"type": kind, "modality": modality, "mime_type": media_type, name: value}


def test_a_session_that_is_a_tool_is_inside_of_its_call(telemetry: Telemetry) -> None:
    telemetry.start()
    expert = SyncSession("anthropic:m", manager=scripted(Script("blue"), bus=telemetry.bus))
    manager = scripted(Script(call("expert", task="sky?"), "done"), bus=telemetry.bus)
    SyncSession("anthropic:m", [expert.as_tool("expert")], manager=manager).run("go")
    inner, outer = (span for span in telemetry.spans if span.name == "invoke_agent")
    assert inner.parent.span_id == telemetry.span("execute_tool expert").context.span_id
    assert outer.parent is None


@pytest.mark.parametrize("kind", [Session, SyncSession])
def test_a_turn_that_fails_is_ended_too(telemetry: Telemetry, kind: Any) -> None:
    telemetry.start()
    session = talk(kind, telemetry.bus, Step(act="fail", error=ErrorClass.invalid_request))
    with pytest.raises(AdapterError):
        waited(session.send("go"))
    turn = telemetry.span("invoke_agent")
    assert turn.attributes["error.type"] == "InvalidRequestError"
    assert turn.attributes["interlingua.stopped"] == "failed"


def test_tools_that_are_given_up_are_ended() -> None:
    async def waits() -> None:
        await asyncio.sleep(60)

    bus, heard = Bus(), list[Activity]()
    bus.listen(heard.append)
    session = SyncSession("anthropic:m", [waits], manager=scripted(Script(call("waits")), bus=bus))
    session.run("go", seconds=0.2)
    assert [event.type for event in heard] == [
        *("session.turn_started", "session.tool_started", "session.tool_ended", "session.turn_ended"),
    ]
    assert isinstance(heard[-1], TurnEnded)
    assert heard[-1].stopped == "limit"


def test_a_listener_that_raises_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def raises(_: Activity) -> None:
        raise ValueError("broken")

    bus = Bus()
    leave = bus.listen(raises)
    assert talk(SyncSession, bus, "fine").send("go").text == "fine"
    assert "a listener of session.turn_started raised" in caplog.text
    leave()
    assert bus.listeners == ()


def test_availability_is_announced(telemetry: Telemetry) -> None:
    telemetry.start()
    heard: list[tuple[Any, ...]] = []
    telemetry.bus.listen(lambda event: heard.append((event.type, event.account, event.model, event.state)))  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    down = Step(act="fail", error=ErrorClass.auth)
    session = talk(SyncSession, telemetry.bus, down, "fine")
    with pytest.raises(AdapterError):
        session.send("go")
    assert ("model.availability_changed", "anthropic", "m", "open") in heard
    assert telemetry.value("interlingua.models.unavailable") == 1
