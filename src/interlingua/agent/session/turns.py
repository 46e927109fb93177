"""A turn without I/O: what is asked, what is run, what is kept. Whoever drives does each command and tells the outcome.

One generator decides for the session that awaits and for the one that blocks, for whole answers and for streams.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ...client.adapter import new_ulid
from ...client.deadline import Deadline
from ...dialects import dialect
from ...errors import AdapterError, CancelledError, ContextOverflowError, InvalidRequestError, StoreError
from ...models.estimate import estimate_output, estimate_request
from ...types.base import Json
from ...types.blocks import ToolUseBlock
from ...types.messages import Message
from ...types.response import Response
from ...types.usage import TokenUsage
from ...types.words import Role, StopReason
from ..history import new_message_id, shorten
from ..routing.attempts import Ask, Fetch, call_steps, shared_budget
from ..routing.routes import Route
from ..tools.running import Batch
from .calls import BY_CALLER, cause_of, entries, refusals
from .preparing import prepare_with
from .reporting import Report, facts_of

if TYPE_CHECKING:
    from .conversation import Conversation

__all__ = ["Persist", "RunTools", "Shorten", "Turn"]

CANCELLED, PAUSED = StopReason.cancelled, StopReason.pause_turn
LIMIT = "the limit of steps for this turn is reached"
CUT_CALL = "the answer broke off in the middle of a call, which was not run"


class RunTools(Struct, frozen=True):
    """Run these calls; the batch knows at any time how far each came."""

    batch: Batch


class Shorten(Struct, frozen=True):
    """The conversation is too long: ask the caller's own strategy what to send instead."""

    messages: tuple[Message, ...]
    window: int | None


class Persist(Struct, frozen=True):
    """Store what is complete."""


Command = Ask | Fetch | RunTools | Shorten | Persist
Steps = Generator[Command, Any, Response]


class Turn:
    """From the user's words to the last word of the answer."""

    def __init__(
        self, conversation: Conversation, options: dict[str, Any], *, loop: bool, seconds: float | None
    ) -> None:
        self.conversation, self.options, self.loop = conversation, options, loop
        self.request_id = new_ulid()
        self.deadline = None if seconds is None else Deadline(seconds, time.monotonic)
        self.report = Report()
        self.cancelled = self.over = False

    def steps(self) -> Steps:
        """All of it. What could not be stored is not asked: then the history is again as it was before."""
        conversation, response = self.conversation, Response((), CANCELLED)
        try:
            yield from self._store_question()
            route = conversation.router.route(blocking=conversation.blocking)
            if conversation.history.open_calls:
                yield from self._run_tools(conversation.history.open_calls)
            while not self.cancelled:
                response = yield from self._answer(route)
                over = self._is_over(response)
                yield from self._store(response)
                if over:
                    return response
                if calls := _whole(response.tool_uses):
                    yield from self._run_tools(calls)
                    yield from self._store(response)
            self.report.stopped = "cancelled"
            return response
        except BaseException as error:
            self.report.stopped = "cancelled" if not isinstance(error, AdapterError) else "failed"
            if isinstance(error, CancelledError):
                self.report.stopped = "cancelled"
            if self.report.stopped == "cancelled" and conversation.history.open_calls and self._is_ours():
                conversation.history.answer([], cause_of(error))
            if not isinstance(error, StoreError):
                yield from self._store_rest(error)
            elif error.response is None and response.content:
                error.response = response
            raise
        finally:
            self.over = True

    def _store(self, response: Response | None) -> Generator[Persist, None, None]:
        """Store what is complete; a failure brings the answer with it."""
        if self.conversation.store is None:
            return
        try:
            yield Persist()
        except StoreError as error:
            error.response = response
            raise

    def _store_question(self) -> Generator[Persist, None, None]:
        try:
            yield from self._store(None)
        except StoreError:
            self.conversation.take_back()
            raise

    def _store_rest(self, error: BaseException) -> Generator[Persist, None, None]:
        """Store what is left of a turn that failed; its own error is the one that is raised."""
        try:
            yield from self._store(None)
        except StoreError as failure:
            error.add_note(f"What there is of this turn could not be stored either: {failure}")

    def _is_over(self, response: Response) -> bool:
        calls, history = _whole(response.tool_uses), self.conversation.history
        if len(calls) < len(response.tool_uses):
            self.report.warn(CUT_CALL)
        if response.stop_reason is CANCELLED or self.cancelled:
            self.report.stopped = "cancelled"
            if history.open_calls:
                history.answer([], BY_CALLER)
            return True
        if not self.loop or not (calls or response.stop_reason is PAUSED):
            return True
        if not self._is_ours():
            self.report.stopped = "handed_over"
            return True
        if self.report.steps >= self.conversation.max_steps:
            self.report.stopped = "limit"
            self.report.warn(f"stopped after {self.conversation.max_steps} steps")
            if history.open_calls:
                history.answer([], LIMIT)
            return True
        return False

    def _is_ours(self) -> bool:
        """Whether all open calls are the session's, to run or to refuse."""
        history = self.conversation.history
        return self.loop and all(history.entry(call.id) for call in history.open_calls)

    def _run_tools(self, calls: tuple[ToolUseBlock, ...]) -> Generator[RunTools, None, None]:
        batch = self.conversation.batch(calls)
        try:
            yield RunTools(batch)
        except BaseException as error:
            self.conversation.history.conclude(batch, cause_of(error))
            raise
        self.conversation.history.conclude(batch, BY_CALLER)

    # ------------------------------------------------------------------------------------------------------ one answer

    def _answer(self, route: Route) -> Steps:
        """Ask; if the conversation is too long, shorten it and ask once more."""
        try:
            return (yield from self._ask(route))
        except ContextOverflowError as error:
            if (error.response is not None and error.response.content) or self.conversation.overflow == "raise":
                raise
            if not (yield from self._make_room(route)):
                raise
        return (yield from self._ask(route))

    def _ask(self, route: Route) -> Steps:
        conversation = self.conversation
        request = conversation.request(self.options, self.request_id)
        if not request.messages:
            raise InvalidRequestError("the conversation is empty: say something first")
        budget = shared_budget(route.candidates[0].adapter, len(route.candidates), self.deadline)
        budget.session_id, budget.told = conversation.id, conversation.told
        steps = call_steps(route, request, budget, prepare_with(conversation, self.report))
        command: Ask | Fetch | None = None
        try:
            command = next(steps)
            while True:
                try:
                    reply = yield command
                except AdapterError as error:
                    command = steps.throw(error)
                else:
                    command = steps.send(reply)
        except StopIteration as end:
            response: Response = end.value
        except BaseException as error:
            steps.close()
            self._keep_partial(error, command if isinstance(command, Ask) else None, route)
            raise
        assert isinstance(command, Ask)
        message = self._told(response, command, route)
        if response.stop_reason is CANCELLED:
            conversation.history.add_partial(message, BY_CALLER)
        elif message.content:
            conversation.history.add(message)
        return response

    def _keep_partial(self, error: BaseException, ask: Ask | None, route: Route) -> None:
        partial = error.response if isinstance(error, AdapterError) else ask.partial if ask is not None else None
        if partial is not None and partial.content:
            self.conversation.history.add_partial(self._told(partial, ask, route), cause_of(error))

    def _told(self, response: Response, ask: Ask | None, route: Route) -> Message:
        """An answer as a message, with what is known of it and of its calls."""
        response = _counted(response, ask)
        facts = facts_of(response, self.conversation.pricing, route.record)
        self.report.add(response, facts)
        calls = _whole(response.tool_uses)
        refused = refusals(calls, ask.request) if calls and ask is not None else {}
        if not (self.loop and all(call.id in refused or self.conversation.runs(call) for call in calls)):
            calls = tuple(call for call in calls if call.id in refused)  # the others are left to the caller
        if calls:
            facts["calls"] = entries(calls, refused)
        return as_turn(response, facts)

    def _make_room(self, route: Route) -> Generator[Shorten, Sequence[Message], bool]:
        """Whether there is less to send now."""
        conversation = self.conversation
        messages, window = conversation.history.to_send(), route.window
        if callable(conversation.overflow):
            shown: Sequence[Message] = yield Shorten(messages, window)
        else:
            shown = shorten(messages, conversation.count_tokens, window).messages
        gone = conversation.history.rearrange(shown)
        if gone:
            self.report.shortened += gone
            self.report.warn(f"the conversation was too long: {gone} of {len(messages)} messages are not sent any more")
        return bool(gone)


def _whole(calls: tuple[ToolUseBlock, ...]) -> tuple[ToolUseBlock, ...]:
    """Without those that broke off: they are never run."""
    return tuple(call for call in calls if not call.incomplete)


def _counted(response: Response, command: Ask | Fetch | None) -> Response:
    """What broke off before its usage was told was paid for all the same: then its usage is estimated.

    Some servers begin a stream with a usage of nought.
    """
    told_already = response.usage is not None and response.usage.total_tokens > 0
    if told_already or not response.content or not isinstance(command, Ask):
        return response
    who, request = command.adapter.name, command.request
    told = estimate_request(request, who, request.model)
    said = estimate_output(response.content, who, request.model)
    return replace(response, usage=TokenUsage(told, output_tokens=said, estimated=True))


def as_turn(response: Response, facts: dict[str, Json]) -> Message:
    """An answer as a message of the history, with what must go back to its issuer."""
    origin, id = response.origin, new_message_id()
    if origin is None or origin.dialect is None:
        return Message(Role.assistant, response.content, id, origin, facts)
    turn = dialect(origin.dialect, origin.provider).as_turn(response)
    return replace(turn, id=id, origin=origin, metadata=facts)
