"""One model call over all its attempts, still without I/O: what a client asks before, during and after each one.

The two clients differ only in how they wait; everything they decide is decided here. Clock and chance are handed in.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, cast

from msgspec.structs import force_setattr, replace

from ..codec.fold import unfold, without_undelivered
from ..errors import AdapterError, CancelledError, RequestTimeoutError
from ..models.estimate import Learner, estimate_output, estimate_request
from ..types.events import Event, MessageComplete, MessageStart, Unknown, UsageUpdate
from ..types.response import Response
from ..types.usage import TokenUsage
from .bus import Bus, CallCompleted, CallEvent, CallFailed, CallStarted
from .config import AdapterConfig
from .exchange import Exchange, Reading
from .http import HttpRequest, Timeouts
from .retry import Budget
from .signing import Signer

__all__ = ["Call"]

log = logging.getLogger("interlingua")

CONNECT_SECONDS = 30.0

CLEARLY_MORE = 1.25
"""Estimates are some 10 % off: one this much above the count of a broken answer shows that the count was not final."""

BEFORE_CONTENT = (MessageStart, UsageUpdate, Unknown)
"""Events that are held until content comes, so that a stream that fails before can begin anew unseen."""


class Call:
    """``attempt``, ``replied``, ``feed`` …, ``settle``; then ``delay`` says whether to do it again."""

    cancelled = delivered = running = False
    delay: float | None = None
    response: Response | None = None
    error: AdapterError | None = None
    _reading: Reading | None = None

    def __init__(
        self,
        exchange: Exchange,
        config: AdapterConfig,
        budget: Budget,
        bus: Bus,
        signer: Signer | None = None,
        learner: Learner | None = None,
    ) -> None:
        self.exchange, self.config, self.budget, self.bus, self.signer = exchange, config, budget, bus, signer
        self._learner = learner
        self.request_id = exchange.request.request_id or ""
        self._held: list[Event] | None = []
        self._held_bytes = 0
        self._undelivered: list[Event] = []
        self._last: list[Event] = []
        self._began = self._attempt_began = budget.clock()

    # ------------------------------------------------------------------------------------------------- one attempt

    def attempt(self) -> HttpRequest:
        """Begin the next attempt."""
        if self.cancelled:
            raise CancelledError("the call was cancelled")
        self._reading, self.delay = None, None
        self.budget.attempts += 1
        self.running = True
        self._attempt_began = self.budget.clock()
        if self.bus.subscribers:
            self.bus.publish(CallStarted(**self._who()))
        return self.exchange.http(self._timeouts())

    def _timeouts(self) -> Timeouts:
        config, budget = self.config, self.budget
        silence = config.timeout_seconds
        left = silence if budget.attempts == 1 and not budget.capped else budget.left()
        if left is not None and left <= 0:
            raise RequestTimeoutError("the call's time was over before this attempt", retryable=False)
        connect = config.options.get("connect_timeout", CONNECT_SECONDS) if config.options else CONNECT_SECONDS
        return Timeouts(connect, silence, None if self.exchange.stream and not budget.capped else left)

    def replied(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the answer is there."""
        self._reading = self.exchange.read(status, headers)

    def feed(self, chunk: bytes) -> list[Event]:
        """The events to hand out now. Those that come with the last word wait for ``settle``."""
        reading = self._reading
        assert reading is not None
        events = reading.feed(chunk)
        if reading.response is not None:
            self._last = events
            return []
        return self._pass(events, len(chunk)) if events and self._held is not None else events

    @property
    def finished(self) -> bool:
        """Whether the last word of the answer was read; what is not handed out yet still will be."""
        return self._reading is not None and self._reading.response is not None

    @property
    def over(self) -> bool:
        """Whether reading on makes no sense."""
        return self.cancelled or self.finished

    def take_back(self, events: Iterable[Event]) -> None:
        """Events that a reader had not seen when the call was cancelled, and never will."""
        self._undelivered += events

    def settle(self, error: AdapterError | None = None) -> list[Event]:
        """The attempt is at its end. The events still owed, or none and a ``delay`` before the next attempt."""
        events, failure, response = self._close(error)
        self._publish_end(failure, response)
        self.delay = None
        if failure is not None and not self.cancelled:
            self.delay = self.budget.delay(failure, delivered=self.delivered)
        if self.delay is not None:
            self._reading, self._last, self._held, self._held_bytes = None, [], [], 0
            return []
        if self._undelivered and failure is not None:
            events = without_undelivered(events, self._undelivered)
            response = failure.response = cast("MessageComplete", events[-1]).response
        self._finish(failure, response, events)
        return events if self._held is None else [*self._held, *events]

    def _close(self, error: AdapterError | None) -> tuple[list[Event], AdapterError | None, Response]:
        reading = self._reading
        if self.cancelled and not (reading and reading.over):
            error = CancelledError("the call was cancelled")
        if reading is None:
            failure = error or CancelledError("the call was given up")
            response = self.exchange.partial(Response(), failure)
            return (list(unfold(response)) if self.cancelled else []), failure, response
        events = [*self._last, *reading.end(error)]
        assert reading.response is not None
        return events, reading.error, reading.response

    def _finish(self, failure: AdapterError | None, response: Response, events: list[Event]) -> None:
        """Write the call's own facts on its response, which nobody else has seen yet, and on its error."""
        assert not events or (type(events[-1]) is MessageComplete and events[-1].response is response)
        if failure is not None:
            force_setattr(response, "usage", self._topped_up(response))
        elif response.usage is None:
            force_setattr(response, "usage", self._estimate(response))
        elif self._learner is not None:
            self._learner.hear(self.exchange.request, response.usage.total_input_tokens)
        force_setattr(response, "attempts", self.budget.attempts)
        force_setattr(response, "latency_ms", (self.budget.clock() - self._began) * 1000)
        self.response, self.error = response, failure
        if failure is not None:
            failure.attempts, failure.response = self.budget.attempts, response

    def _pass(self, events: list[Event], size: int) -> list[Event]:
        """Hold events back until the first that is content, or until there are too many of them."""
        assert self._held is not None
        self._held += events
        self._held_bytes += size
        if all(isinstance(event, BEFORE_CONTENT) for event in events) and self._may_hold():
            return []
        held, self._held, self.delivered = self._held, None, True
        return held

    def _may_hold(self) -> bool:
        """Whether what is held back is within the limits; beyond them it is handed out, and not retried any more."""
        limits, held = self.config.limits, self._held or ()
        events, size = limits.held_events, limits.held_bytes
        return (events is None or len(held) <= events) and (size is None or self._held_bytes <= size)

    # ------------------------------------------------------------------------------------------------- the outcome

    @property
    def is_good(self) -> bool:
        """Whether there is an answer, and it is no failure."""
        return self.response is not None and self.error is None

    def result(self) -> Response:
        """What ``complete`` returns; a failure, a cancelled call too, raises."""
        if self.error is not None:
            raise self.error
        assert self.response is not None
        return self.response

    def raise_failure(self) -> None:
        """What a stream does after its last event: a cancelled one just ends."""
        if self.error is not None and self.exchange.stream and not isinstance(self.error, CancelledError):
            raise self.error

    def abandon(self) -> None:
        """Nobody reads on: the task was cancelled, or the loop was left. What there is stays in ``response``."""
        if self.response is None:
            _, failure, response = self._close(CancelledError("the caller left"))
            self._publish_end(failure, None)
            self._finish(failure, response, [])

    def _estimate(self, response: Response) -> TokenUsage:
        log.warning("%s sent no usage; it is estimated", self.exchange.provider.name)
        return TokenUsage(self._sent(), output_tokens=self._received(response), estimated=True)

    def _sent(self) -> int:
        exchange = self.exchange
        return estimate_request(exchange.request, exchange.provider.name, exchange.model)

    def _received(self, response: Response) -> int:
        return estimate_output(response.content, self.exchange.provider.name, self.exchange.model)

    def _topped_up(self, response: Response) -> TokenUsage | None:
        """The usage of an answer that broke off. Many providers say the true count only with their last word: what is
        clearly too little for the content is raised to the estimate, and marked."""
        usage = response.usage
        if not response.content:
            return usage
        told, received = usage or TokenUsage(), self._received(response)
        sent = told.input_tokens if told.total_input_tokens else self._sent()
        if told.total_input_tokens and received <= told.output_tokens * CLEARLY_MORE:
            return usage
        return replace(told, input_tokens=sent, output_tokens=max(received, told.output_tokens), estimated=True)

    # ------------------------------------------------------------------------------------------------- the bus

    def _publish_end(self, failure: AdapterError | None, response: Response | None) -> None:
        if not self.running:
            return
        self.running = False
        if self.bus.subscribers:
            self.bus.publish(self._end_event(failure, response))

    def _end_event(self, failure: AdapterError | None, response: Response | None) -> CallEvent:
        latency = (self.budget.clock() - self._attempt_began) * 1000
        if failure is None and response is not None:
            return CallCompleted(
                **self._who(),
                latency_ms=latency,
                stop_reason=response.stop_reason,
                usage=response.usage,
                response_id=response.id,
                response_model=response.model,
            )
        assert failure is not None
        return CallFailed(
            **self._who(),
            latency_ms=latency,
            error_class=failure.error_class,
            message=failure.message,
            provider_status=failure.provider_status,
            retryable=failure.retryable,
        )

    def _who(self) -> dict[str, Any]:
        exchange = self.exchange
        return {
            "request_id": self.request_id,
            "provider": exchange.provider.name,
            "dialect": exchange.dialect.name,
            "model": exchange.model,
            "stream": exchange.stream,
            "retry_count": max(self.budget.attempts - 1, 0),
        }
