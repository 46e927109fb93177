"""One model call over all its attempts, without I/O: what a client needs to know before, during and after each attempt.

The two clients differ only in how they wait; all decisions are made here. Clock and random numbers are arguments.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, cast

from msgspec.structs import force_setattr, replace

from ..codec.streams.fold import unfold, without_undelivered
from ..errors import AdapterError, CancelledError, RateLimitError, RequestTimeoutError
from ..models.estimate import Learner, estimate_output, estimate_request
from ..types.events import Event, MessageComplete
from ..types.loss import Loss
from ..types.output import T
from ..types.response import Response
from ..types.usage import TokenUsage
from .asking import TypedEvents
from .bus import Bus, CallCompleted, CallEvent, CallFailed, CallStarted
from .config import AdapterConfig
from .exchange import AnswerReader, Exchange
from .held_events import HeldEvents
from .http import HttpRequest, Timeouts
from .limiter import Limiter, Permit
from .rate_headers import pause_of
from .retry import LONGEST_HINT, Budget, hint
from .signing import Signer
from .uploaded import Uploads

if TYPE_CHECKING:
    from .uploading import Uploading

__all__ = ["Call", "CallStream", "cancel_calls"]

log = logging.getLogger("interlingua")

CONNECT_SECONDS = 30.0

TOO_LARGE_STATUSES = (400, 413)  # what providers answer to a request that is too large
CLEARLY_MORE = 1.25
"""An estimate this many times the count of a broken answer shows that the count was not final. Estimates are about
10 % off."""


class Call:
    """One model call: ``attempt``, ``read_head``, ``feed`` …, ``settle``; then, if ``delay`` is set, another attempt.

    Each client has a subclass that also holds the open reply, and can interrupt the task or thread that waits for it.
    """

    cancelled = False
    over = False
    """Whether nothing more is to be read: the answer is complete, or the call was cancelled."""
    delay: float | None = None
    response: Response | None = None
    error: AdapterError | None = None
    _reader: AnswerReader | None = None
    _is_running = False

    def __init__(
        self,
        exchange: Exchange,
        config: AdapterConfig,
        budget: Budget,
        bus: Bus,
        signer: Signer | None = None,
        learner: Learner | None = None,
        limiter: Limiter | None = None,
        uploads: Uploads | None = None,
    ) -> None:
        self.uploads = budget.uploads or uploads
        self.exchange, self.config, self.budget, self.bus, self.signer = exchange, config, budget, bus, signer
        self._learner = learner
        own = () if limiter is None else (limiter,)
        self.limiters = own if not budget.limiters else tuple(dict.fromkeys((*own, *budget.limiters)))
        self._permits: list[tuple[Limiter, Permit]] = []
        self.request_id = exchange.request.request_id or ""
        self.held = HeldEvents(config.limits)
        self._undelivered: list[Event] = []
        self._last_events: list[Event] = []
        self._began = self._attempt_began = budget.clock()

    # ------------------------------------------------------------------------------------------------- limiters

    def join(self, limiter: Limiter, wake: Callable[[], object]) -> Permit:
        """Join the limiter's line for the next attempt. Then call ``next_wait`` until it returns None."""
        counts = limiter.tokens_per_minute is not None
        permit = limiter.join(self._estimate_prompt() if counts else 0, self.exchange.provider.name, wake)
        self._permits.append((limiter, permit))
        return permit

    def next_wait(self, limiter: Limiter, permit: Permit) -> float | None:
        """Seconds to wait before this is called again; None if the attempt may begin."""
        if self.cancelled:
            raise CancelledError("the call was cancelled")
        delay, left = limiter.delay(permit), self.budget.left() if self.budget.capped else None
        if delay is None or left is None:
            return delay
        if left <= 0:
            raise RequestTimeoutError("the call's time was over while it waited for a limiter", retryable=False)
        return min(delay, left)

    def _estimate_prompt(self) -> int:
        return self._estimate_input() if self._learner is None else self._learner.estimate(self.exchange.request)

    def _release_permits(self, failure: AdapterError | None, response: Response | None) -> None:
        """Report the tokens of the ended attempt to the limiters, and pause them if the provider asked to wait."""
        usage = None if response is None else response.usage
        after = hint(failure, LONGEST_HINT) if isinstance(failure, RateLimitError) else None
        for limiter, permit in self._permits:
            if after:
                limiter.pause(permit.key, after)
            if usage is None:
                limiter.end(permit)
            else:
                limiter.end(permit, usage.total_tokens, usage.output_tokens)
        self._permits = []

    # ------------------------------------------------------------------------------------------------- one attempt

    def attempt(self) -> HttpRequest:
        """Begin the next attempt, and return its HTTP request."""
        if self.cancelled:
            raise CancelledError("the call was cancelled")
        self._reader, self.delay, self.over = None, None, False
        self.budget.attempts += 1
        self._is_running = True
        self._attempt_began = self.budget.clock()
        if self.bus.subscribers:
            self.bus.publish(CallStarted(**self._event_fields()))
        return self.exchange.http(self._timeouts())

    def uploading(self, uploads: Uploads, timeouts: Timeouts) -> Uploading | None:
        """The steps that first upload the media that are too big for the request; None if there are none."""
        module = import_module(".uploading", __package__)
        steps: Uploading | None = module.upload_steps(self.exchange, uploads, timeouts, self.budget.account)
        return steps

    def _timeouts(self) -> Timeouts:
        config, budget = self.config, self.budget
        silence = config.timeout_seconds
        left = silence if budget.attempts == 1 and not budget.capped else budget.left()
        if left is not None and left <= 0:
            raise RequestTimeoutError("the call's time was over before this attempt", retryable=False)
        connect = config.options.get("connect_timeout", CONNECT_SECONDS) if config.options else CONNECT_SECONDS
        return Timeouts(connect, silence, None if self.exchange.stream and not budget.capped else left)

    def read_head(self, status: int, headers: Mapping[str, str]) -> None:
        """Note the status and the headers of the answer."""
        self._reader = self.exchange.read(status, headers)
        if self._permits and (pause := pause_of(headers)):
            for limiter, permit in self._permits:
                limiter.pause(permit.key, min(pause, LONGEST_HINT))

    def feed(self, chunk: bytes) -> Sequence[Event]:
        """Read a chunk, and return the events to hand out now. ``settle`` returns the events of the last chunk."""
        reader = self._reader
        assert reader is not None
        events = reader.feed(chunk)
        if reader.successor is not None:
            self._reader = reader = reader.successor
        if reader.response is not None:
            self._last_events, self.over = events, True
            return ()
        return events if self.held.delivered or not events else self.held.pass_on(events, len(chunk))

    @property
    def finished(self) -> bool:
        """Whether the answer was read to its end, even if its last events were not handed out yet."""
        return self.response is not None or (self._reader is not None and self._reader.response is not None)

    def cancel(self) -> None:
        """End the call: there is no further attempt, and nothing more is read."""
        self.cancelled = self.over = True

    def take_back(self, events: Iterable[Event]) -> None:
        """Note events that were returned, but not yet read by the caller when the call was cancelled."""
        self._undelivered += events

    def settle(self, error: AdapterError | None = None) -> list[Event]:
        """End the attempt. Returns its last events; or none, and sets ``delay``, if there is another attempt."""
        events, failure, response = self._end(error)
        if failure is not None and (self.uploads is not None or failure.provider_status in TOO_LARGE_STATUSES):
            import_module(".uploading", __package__).after_failure(failure, self.exchange, self.uploads)
        if self.bus.subscribers:
            self._publish_end(failure, response)
        self._is_running, self.delay = False, None
        if failure is not None and not self.cancelled:
            self.delay = self.budget.delay(failure, delivered=self.held.delivered)
        if self.delay is not None:
            self._reader, self._last_events = None, []
            self.held.clear()
            if self._permits:
                self._release_permits(failure, None)
            return []
        if self._undelivered and failure is not None:
            events = without_undelivered(events, self._undelivered)
            response = failure.response = cast("MessageComplete", events[-1]).response
        self._finish(failure, response, events)
        if self.held.delivered:
            return events
        self.held.events += events
        if self.budget.routed and failure is not None and not isinstance(failure, CancelledError):
            return []  # another model may answer; if none does, the router hands out what is held
        return self.held.events

    def _end(self, error: AdapterError | None) -> tuple[list[Event], AdapterError | None, Response]:
        reader = self._reader
        if self.cancelled and not (reader and reader.response is not None):
            error = CancelledError("the call was cancelled")
        if reader is None:
            failure = error or CancelledError("the call was given up")
            response = self.exchange.partial(Response(), failure)
            return (list(unfold(response)) if self.cancelled else []), failure, response
        events = [*self._last_events, *reader.end(error)]
        assert reader.response is not None
        return events, reader.error, reader.response

    def _finish(self, failure: AdapterError | None, response: Response, events: list[Event]) -> None:
        """Write usage, attempts and latency on the response and its error, to which no other code has a reference."""
        assert not events or (type(events[-1]) is MessageComplete and events[-1].response is response)
        if failure is not None:
            force_setattr(response, "usage", self._usage_of_partial(response))
        elif response.usage is None:
            force_setattr(response, "usage", self._estimate_usage(response))
        elif self._learner is not None:
            self._learner.observe(self.exchange.request, response.usage.total_input_tokens)
        force_setattr(response, "attempts", self.budget.attempts)
        force_setattr(response, "latency_ms", (self.budget.clock() - self._began) * 1000)
        self.response, self.error = response, failure
        if failure is not None:
            failure.attempts, failure.response = self.budget.attempts, response
        if self._permits:
            self._release_permits(failure, response)

    # ------------------------------------------------------------------------------------------------- the result

    @property
    def is_good(self) -> bool:
        """Whether the call is over and did not fail."""
        return self.response is not None and self.error is None

    def result(self) -> Response:
        """The response that ``complete`` returns. Raises the error of a failed or cancelled call."""
        if self.error is not None:
            raise self.error
        assert self.response is not None
        return self.response

    def raise_failure(self) -> None:
        """Raise the error of a failed stream, after its last event. A cancelled stream ends without an error."""
        if self.error is not None and self.exchange.stream and not isinstance(self.error, CancelledError):
            raise self.error

    def abandon(self) -> None:
        """End a call that the caller stopped reading. ``response`` gets what was received until then."""
        if self.response is None:
            _, failure, response = self._end(CancelledError("the caller left"))
            if self.bus.subscribers:
                self._publish_end(failure, None)
            self._is_running = False
            self._finish(failure, response, [])

    def _estimate_usage(self, response: Response) -> TokenUsage:
        log.warning("%s sent no usage; it is estimated", self.exchange.provider.name)
        return TokenUsage(self._estimate_input(), output_tokens=self._estimate_output(response), estimated=True)

    def _estimate_input(self) -> int:
        exchange = self.exchange
        return estimate_request(exchange.request, exchange.provider.name, exchange.model)

    def _estimate_output(self, response: Response) -> int:
        return estimate_output(response.content, self.exchange.provider.name, self.exchange.model)

    def _usage_of_partial(self, response: Response) -> TokenUsage | None:
        """The usage of an answer that was cut. Many providers send the final count only at the end: a count that is
        clearly too low for the content is raised to the estimate, and marked as estimated."""
        usage = response.usage
        if not response.content:
            return usage
        counted, output = usage or TokenUsage(), self._estimate_output(response)
        if counted.total_input_tokens and output <= counted.output_tokens * CLEARLY_MORE:
            return usage
        tokens = counted.input_tokens if counted.total_input_tokens else self._estimate_input()
        return replace(counted, input_tokens=tokens, output_tokens=max(output, counted.output_tokens), estimated=True)

    # ------------------------------------------------------------------------------------------------- the bus

    def _publish_end(self, failure: AdapterError | None, response: Response | None) -> None:
        if self._is_running:
            self.bus.publish(self._end_event(failure, response))

    def _end_event(self, failure: AdapterError | None, response: Response | None) -> CallEvent:
        fields = self._event_fields()
        fields["latency_ms"] = (self.budget.clock() - self._attempt_began) * 1000
        if failure is None and response is not None:
            return CallCompleted(
                **fields,
                stop_reason=response.stop_reason,
                usage=response.usage,
                response_id=response.id,
                response_model=response.model,
            )
        assert failure is not None
        return CallFailed(
            **fields,
            error_class=failure.error_class,
            message=failure.message,
            provider_status=failure.provider_status,
            retryable=failure.retryable,
        )

    def _event_fields(self) -> dict[str, Any]:
        exchange = self.exchange
        return {
            "request_id": self.request_id,
            "provider": exchange.provider.name,
            "dialect": exchange.dialect.name,
            "model": exchange.model,
            "stream": exchange.stream,
            "retry_count": max(self.budget.attempts - 1, 0),
            "account": self.budget.account,
            "session_id": self.budget.session_id,
            "message_id": self.budget.message_id,
            "step": self.budget.step,
        }


class CallStream(Generic[T]):
    """What the streams of both clients share: the call, and the events of it that are ready to be read."""

    def __init__(self, call: Call, typed: TypedEvents[T] | None = None) -> None:
        self._call, self._typed = call, typed
        self._ready: deque[Event] = deque()
        self._over = False

    @property
    def request_id(self) -> str:
        """The id for ``cancel``."""
        return self._call.request_id

    @property
    def response(self) -> Response[T] | None:
        """The whole answer, once ``message.complete`` was read."""
        return self._call.response

    @property
    def partial_output(self) -> Any:
        """The typed answer so far: dicts and lists that grow, in which the last string may be incomplete. None before
        anything was received."""
        return None if self._typed is None else self._typed.partial

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What the provider does not get of the request. It is known before anything is sent."""
        return self._call.exchange.losses

    @property
    def held(self) -> HeldEvents:
        """The events that are held back, in case another attempt is made."""
        return self._call.held

    def _hand_out(self) -> Event:
        event = self._ready.popleft()
        if self._typed is not None:
            self._typed.see(event)
        return event

    def _raise_output_error(self) -> None:
        """At the end of a typed stream: raise if its answer does not fit."""
        if self._typed is not None and self._typed.error is not None:
            raise self._typed.error

    def _take_back_unread(self) -> None:
        """If the call was cancelled, drop the events that the caller has not read, and note them on the call."""
        if self._call.cancelled and self._ready and self._call.response is None:
            self._call.take_back(self._ready)
            self._ready.clear()


def cancel_calls(calls: Iterable[Call], request_id: str | None = None) -> bool:
    """Cancel the calls of this request id (None: all) that are still being read. Returns whether there was one."""
    running = [
        call for call in tuple(calls) if (request_id is None or call.request_id == request_id) and not call.finished
    ]
    for call in running:
        call.cancel()
    return bool(running)
