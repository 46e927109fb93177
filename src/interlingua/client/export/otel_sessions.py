"""Turns and tools of sessions in OpenTelemetry: a span for each, by the conventions for agents, and what they cost.

https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-agent-spans/
"""

from __future__ import annotations

import json
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..bus import Activity, AvailabilityChanged, ToolEnded, ToolStarted, TurnEnded, TurnStarted
from .otel_messages import input_messages, output_messages

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Meter
    from opentelemetry.trace import Span, Tracer

__all__ = ["SessionSpans"]


class SessionSpans:
    """The spans of turns and tools that are open. Calls of models find their parent here."""

    def __init__(self, tracer: Tracer, meter: Meter, trace: Any) -> None:
        self._tracer, self._trace, self._lock = tracer, trace, Lock()
        self._spans: dict[str, Span] = {}  # by the id of the turn or of the call
        self._turns: dict[str, str] = {}  # the turn of a session
        self._open: set[tuple[str, str | None]] = set()
        self._cost = meter.create_histogram("interlingua.turn.cost", "USD", "What a turn cost.")
        self._losses = meter.create_counter("interlingua.turn.losses", "{loss}", "What translations lost.")
        self._left_out = meter.create_counter(
            "interlingua.turn.tools_left_out", "{tool}", "Tools that were not offered."
        )
        self._unavailable = meter.create_up_down_counter(
            "interlingua.models.unavailable", "{model}", "Models that are not called for a while."
        )

    def __call__(self, event: Activity) -> None:
        if isinstance(event, TurnStarted):
            self._start_turn(event)
        elif isinstance(event, TurnEnded):
            self._end_turn(event)
        elif isinstance(event, ToolStarted):
            self._start_tool(event)
        elif isinstance(event, ToolEnded):
            self._end_tool(event)
        elif isinstance(event, AvailabilityChanged):
            self._count_model(event)

    def parent_of_call(self, session_id: str | None) -> Context | None:
        """The context of the turn that a call of a model belongs to."""
        turn = None if session_id is None else self._turns.get(session_id)
        return None if turn is None else self._inside(turn)

    def _inside(self, id: str | None) -> Context | None:
        span = None if id is None else self._spans.get(id)
        context: Context | None = None if span is None else self._trace.set_span_in_context(span)
        return context

    def _start_turn(self, event: TurnStarted) -> None:
        facts = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": event.session_id}
        if event.content is not None:
            facts["gen_ai.input.messages"] = input_messages(event.content)
        self._begin(event.turn_id, "invoke_agent", facts, self._inside(event.parent_call_id))
        self._turns[event.session_id] = event.turn_id

    def _end_turn(self, event: TurnEnded) -> None:
        usage = event.usage
        facts: dict[str, Any] = {
            "gen_ai.usage.input_tokens": usage.total_input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "interlingua.stopped": event.stopped,
            "interlingua.steps": event.steps,
        }
        if event.cost_usd is not None:
            facts["interlingua.cost_usd"] = event.cost_usd
            self._cost.record(event.cost_usd)
        if event.losses:
            self._losses.add(event.losses)
        if event.left_out:
            self._left_out.add(len(event.left_out))
        if self._turns.get(event.session_id) == event.turn_id:
            del self._turns[event.session_id]
        if event.content is not None:
            facts["gen_ai.output.messages"] = output_messages(event.content, event.stopped)
        self._end(event.turn_id, facts, event.error)

    def _start_tool(self, event: ToolStarted) -> None:
        facts = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.tool,
            "gen_ai.tool.call.id": event.call_id,
            "gen_ai.conversation.id": event.session_id,
        }
        facts |= _content("gen_ai.tool.call.arguments", event.content)
        self._begin(event.call_id, f"execute_tool {event.tool}", facts, self._inside(event.turn_id))

    def _end_tool(self, event: ToolEnded) -> None:
        facts = _content("gen_ai.tool.call.result", event.content)
        self._end(event.call_id, facts, "tool_error" if event.is_error else None)

    def _begin(self, id: str, name: str, facts: dict[str, Any], parent: Context | None) -> None:
        span = self._tracer.start_span(name, parent, kind=self._trace.SpanKind.INTERNAL, attributes=facts)
        with self._lock:
            self._spans[id] = span

    def _end(self, id: str, facts: dict[str, Any], error: str | None) -> None:
        with self._lock:
            span = self._spans.pop(id, None)
        if span is None:
            return  # a call that was not run, or it began before the subscription
        span.set_attributes(facts)
        if error is not None:
            span.set_attribute("error.type", error)
            span.set_status(self._trace.StatusCode.ERROR)
        span.end()

    def _count_model(self, event: AvailabilityChanged) -> None:
        key = event.account, event.model
        facts = {"interlingua.account": event.account, "gen_ai.request.model": event.model or ""}
        with self._lock:
            if event.state == "open" and key not in self._open:
                self._open.add(key)
                self._unavailable.add(1, facts)
            elif event.state == "closed" and key in self._open:
                self._open.discard(key)
                self._unavailable.add(-1, facts)

    def close(self) -> None:
        """End the open spans: their end events will not be seen."""
        with self._lock:
            spans, self._spans = self._spans, {}
        for span in spans.values():
            span.end()


def _content(name: str, content: Any) -> dict[str, Any]:
    return {} if content is None else {name: json.dumps(content)}
