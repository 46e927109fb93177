"""One turn without I/O: which models are called, which tools are run, what is stored.

One generator serves the async and the blocking session, whole answers and streams. It yields commands; the session
performs them and sends the results back into the generator.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Sequence
from dataclasses import dataclass, field
from threading import get_ident
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ...client.adapter import Adapter, new_ulid
from ...client.asking import can_ask_again, correction_message, read_answer
from ...client.behaviour import Preset, apply_preset
from ...codec.typed import Output
from ...errors import (
    AdapterError,
    CancelledError,
    ContextOverflowError,
    InvalidRequestError,
    OutputError,
    RequestTimeoutError,
    StoreError,
)
from ...types.blocks import ToolUseBlock
from ...types.messages import Message
from ...types.response import Response
from ...types.session_events import StepEnd, StepStart
from ...types.words import StopReason
from ..history import CallIds, mark_cache, new_message_id, shorten
from ..routing.model_calls import CallModel, EmitEvent, FetchMedia, call_route
from ..routing.route import Candidate, Route
from ..tools.running import Batch
from .announcing import Announcer
from .answers import as_message, complete_calls
from .call_states import BY_CALLER, cause_of, name_of
from .report import Report
from .run_limits import Allowance

if TYPE_CHECKING:
    from .conversation import Before, Conversation

__all__ = ["Persist", "RunTools", "Shorten", "Turn"]

CANCELLED, PAUSED = StopReason.cancelled, StopReason.pause_turn
HANDED_OVER = "the caller must answer a tool call"
CUT_CALL = "the answer was cut in the middle of a tool call, which was not run"


class RunTools(Struct, frozen=True):
    """The command to run the calls of this batch, which knows at any time how far each call has come."""

    batch: Batch


class Shorten(Struct, frozen=True):
    """The command to call the ``overflow`` function of the user, which returns the messages to send instead."""

    messages: tuple[Message, ...]
    window: int | None


class Persist(Struct, frozen=True):
    """The command to store the session."""


Command = CallModel | FetchMedia | RunTools | Shorten | Persist | EmitEvent
Steps = Generator[Command, Any, Response]


@dataclass(kw_only=True, eq=False, repr=False)
class Turn:
    """From the user's message to the end of the last answer."""

    conversation: Conversation
    options: dict[str, Any]
    loop: bool
    """Whether the turn goes on until the model calls no more tools (``run``), or ends with one answer (``send``)."""
    allowance: Allowance
    question: Message | None
    before: Before
    output: Output[Any] | None = None
    output_retries: int = 0
    watched: bool = False
    """Whether the reader of a stream also gets the events of steps and tools."""
    request_id: str = ""
    """The id of the current call of a model. Each call of a turn has its own."""
    route: Route = field(init=False)
    report: Report = field(default_factory=Report)
    begun: bool = False
    cancelled: bool = False
    over: bool = False
    thread: int = field(default_factory=get_ident)
    _last: Message | None = None
    """The end of the history when the turn began."""
    call: CallModel | None = None
    """The current call of a model, or the last one."""
    cost: float | None = None
    """The cost of the last answer in US dollars; None if it is not known."""
    _announcer: Announcer | None = None
    _error: BaseException | None = None
    batch: Batch | None = None
    """The tools that run now; None as soon as their results are in the history."""

    def steps(self) -> Steps:
        """The commands of the whole turn, which returns the last answer.

        If the turn fails before it has added anything to the history, the history is restored; not if the caller
        cancels the turn or leaves its stream. If the user's message cannot be stored, no model is called.
        """
        self.begun = True
        conversation, response = self.conversation, Response((), CANCELLED)
        history, bus = conversation.history, conversation.manager.bus
        store = () if conversation.store is None else (Persist(),)
        self._last = history.messages[-1] if history.messages else None
        if bus.listeners:
            self._announcer = Announcer(bus, conversation.id)
            self._announcer.begin(self.question)
        try:
            yield from store
            self.route = conversation.router.route(blocking=conversation.blocking)
            if self.allowance.limits.dollars is not None:
                self.allowance.check_prices(self.route.candidates, conversation.pricing)
            if history.open:
                yield from self._run_tools(history.open_calls)
            while not self.cancelled and self.report.stopped == "done":
                if self.watched:
                    yield EmitEvent(StepStart(self.report.steps + 1))
                response = yield from self._answer()
                over = self._is_over(response)
                yield from store
                if not over and (calls := complete_calls(response)):
                    yield from self._run_tools(calls)
                    yield from store
                if self.watched:
                    yield EmitEvent(StepEnd(self.report.steps, response.stop_reason, response.usage, self.cost))
                if over:
                    final = response if self.output is None else self._typed(response, self.output)
                    if final is not None:
                        return final if self.report.stopped == "done" else self._stopped(final)
            self.report.stop("cancelled", BY_CALLER)
            yield from store
            return self._stopped(response)
        except BaseException as error:
            self._error = error
            yield from self._fail(error, response)
            raise
        finally:
            self.over = True
            if self._announcer is not None:
                self._announcer.end(self.report, response, self._error)

    def _stopped(self, response: Response) -> Response:
        """The last answer of a turn that was stopped before it was done, with the reason."""
        return replace(response, stopped=self.report.stopped, stopped_reason=self.report.stopped_reason)

    def _fail(self, error: BaseException, response: Response) -> Generator[Persist, None, None]:
        """Report a turn that failed or was cancelled, and store what it has added to the history. Open calls of a
        cancelled turn are answered with the cause. An error of the store carries the last answer, so none is lost."""
        history = self.conversation.history
        is_cancelled = isinstance(error, CancelledError) or not isinstance(error, AdapterError)
        self.report.stop("cancelled" if is_cancelled else "failed", cause_of(error))
        if self.batch is not None:  # interrupted while its results were written
            history.conclude(self.batch, cause_of(error))
        if is_cancelled and history.open and self._can_answer_open_calls():
            history.answer([], cause_of(error))
        if not isinstance(error, GeneratorExit | CancelledError) and self._has_added_nothing():
            self.conversation.restore_state(self.before)
            self.conversation.failed_question = self.question
        if isinstance(error, StoreError):
            if error.response is None and self.report.steps:
                error.response = response
        elif self.conversation.store is not None:
            try:
                yield Persist()
            except StoreError as failure:
                error.add_note(f"What there is of this turn could not be stored either: {failure}")

    def _has_added_nothing(self) -> bool:
        """Whether the history still ends as it did when the turn began, so that its question has no answer."""
        messages = self.conversation.history.messages
        return self._last is not None and bool(messages) and messages[-1] is self._last

    def _is_over(self, response: Response) -> bool:
        calls, history = response.tool_uses, self.conversation.history
        if any(call.incomplete for call in calls):
            self.report.warn(CUT_CALL)
            calls = complete_calls(response)
        if response.stop_reason is CANCELLED or self.cancelled:
            self.report.stop("cancelled", BY_CALLER)
            if history.open:
                history.answer([], BY_CALLER)
            return True
        if not self.loop or not (calls or response.stop_reason is PAUSED):
            return True
        if not self._can_answer_open_calls():
            self.report.stop("handed_over", HANDED_OVER)
            return True
        if (reason := self.allowance.reached(self.report, calls)) is not None:
            self._stop_at(reason)
            if history.open:
                history.answer([], reason)
            return True
        return False

    def _stop_at(self, reason: str) -> None:
        self.report.stop("limit", reason)
        self.report.warn(reason)

    def _typed(self, response: Response, output: Output[Any]) -> Response | None:
        """The answer with its ``output``. None if it does not fit the type: then a message says why, and
        the model is called again."""
        if self.report.stopped != "done":
            return response
        try:
            return read_answer(response, output)
        except OutputError as error:
            if not self.output_retries or not can_ask_again(error):
                raise
            self.output_retries -= 1
            self.conversation.history.add(replace(correction_message(error), id=new_message_id()))
        return None

    def _can_answer_open_calls(self) -> bool:
        """Whether the session itself answers all open calls, by running or refusing them."""
        history = self.conversation.history
        return self.loop and all(map(history.entry, history.open))

    def _run_tools(self, calls: tuple[ToolUseBlock, ...]) -> Generator[RunTools | EmitEvent, None, None]:
        batch = self.batch = self.conversation.batch(calls)
        batch.time = self.allowance.time_left
        if self._announcer is not None:
            batch.observer = self._announcer.tool
        try:
            yield RunTools(batch)
        except BaseException as error:
            self._conclude(batch, cause_of(error))
            raise
        self._conclude(batch, BY_CALLER)
        if self.watched:
            yield from map(EmitEvent, batch.unreported())
        if not self.cancelled and (reason := self.allowance.time_is_over) is not None:
            self._stop_at(reason)

    def _conclude(self, batch: Batch, cause: str) -> None:
        self.conversation.history.conclude(batch, cause)
        self.batch = None
        if batch.observer is not None:
            for event in batch.unreported():
                batch.observer(event)
        self.report.add_delegated(run.delegated for run in batch.runs if run.delegated is not None)

    # ------------------------------------------------------------------------------------------------------ one answer

    def _answer(self) -> Steps:
        """Get one answer, or the part of it that has arrived when the time limit of the run is reached. If the
        conversation is too long for the model, shorten it and call the model once more."""
        is_shortened = False
        while True:
            try:
                return (yield from self._call_model())
            except ContextOverflowError as error:
                has_content = error.response is not None and bool(error.response.content)
                if is_shortened or has_content or self.conversation.overflow == "raise":
                    raise
                if not (yield from self._make_room()):
                    raise
                is_shortened = True
            except RequestTimeoutError as error:
                if (reason := self.allowance.time_is_over) is None:
                    raise
                self._stop_at(reason)
                return replace(error.response or Response(), stop_reason=CANCELLED)

    def _call_model(self) -> Steps:
        conversation, likely = self.conversation, self.route.current or self.route.candidates[0]
        self.request_id = new_ulid()
        request = conversation.request(self.options, request_id=self.request_id, model=likely.model)
        if not request.messages:
            raise InvalidRequestError("the conversation is empty: say something first")
        self.call = None
        try:
            response = yield from call_route(self.route, request, self.allowance.deadline, self._prepare)
        except BaseException as error:
            self._keep_partial(error)
            raise
        message = as_message(self, response)
        if response.stop_reason is CANCELLED:
            conversation.history.add_partial(message, BY_CALLER)
        elif message.content:
            conversation.history.add(message)
        return response

    def _prepare(self, candidate: Candidate, call: CallModel) -> FetchMedia | None:
        """Adapt the request of a call to its candidate: behaviour, cache marks, ids. Returns a command to fetch media
        or None."""
        conversation, adapter = self.conversation, candidate.adapter
        dialect_name = adapter.dialect.name if isinstance(adapter, Adapter) else ""
        preset = conversation.manager.preset_for(candidate.id, call.request.model, conversation.behaviour)
        call.budget.session_id, call.budget.logged_losses = conversation.id, conversation.logged_losses
        self.report.left_out = ()
        if preset is not None:
            self._apply(preset, call)
        if conversation.delegates and not conversation.manager.may_delegate(candidate.id, call.request.model):
            self._leave_out(conversation.delegates, call)
        if conversation.cache == "auto" and candidate.capabilities.prompt_caching:
            call.request = mark_cache(call.request, dialect_name)
        call.ids = CallIds(dialect_name)
        call.budget.uploads = conversation.uploads if conversation.upload else None
        call.budget.message_id, call.budget.step = call.ids.message_id, self.report.steps + 1
        self.call = call
        if not (conversation.fetch_media and isinstance(adapter, Adapter)):
            return None
        return FetchMedia(call.request, adapter.dialect, adapter.target(call.request.model), call.budget.deadline)

    def _apply(self, preset: Preset, call: CallModel) -> None:
        applied = apply_preset(
            call.request,
            preset,
            call.adapter.name,
            active_skills=self.conversation.active_skills,
            active_connectors=self.conversation.active_connectors,
        )
        call.request, self.report.left_out = applied.request, applied.left_out
        self.report.warn(*applied.warnings)
        if applied.retry is not None:
            call.budget.retry = applied.retry
        if applied.max_retries is not None:
            call.budget.max_attempts = max(1 + applied.max_retries, len(self.route.candidates))

    def _leave_out(self, names: Container[str | None], call: CallModel) -> None:
        """Remove the tools that are sessions from the request, for a model that may not delegate (``models.yaml``)."""
        offered = call.request.tools
        call.request = replace(call.request, tools=tuple(tool for tool in offered if name_of(tool) not in names))
        self.report.left_out += tuple(name for tool in offered if (name := name_of(tool)) in names and name)

    def _keep_partial(self, error: BaseException) -> None:
        """Add the part of a failed answer that has arrived to the history."""
        if self.call is None:
            return
        partial = error.response if isinstance(error, AdapterError) else self.call.partial
        if partial is not None and partial.content:
            self.conversation.history.add_partial(as_message(self, partial), self._cause(error))

    def _cause(self, error: BaseException) -> str:
        over = self.allowance.time_is_over if isinstance(error, RequestTimeoutError) else None
        return over or cause_of(error)

    def _make_room(self) -> Generator[Shorten, Sequence[Message], bool]:
        """Shorten the conversation. Return whether there are fewer messages to send now."""
        conversation = self.conversation
        messages, window = conversation.history.to_send(), self.route.window
        if callable(conversation.overflow):
            shown: Sequence[Message] = yield Shorten(messages, window)
        else:
            shown = shorten(messages, conversation.count_tokens, window).messages
        omitted = conversation.history.send_only(shown)
        if omitted:
            self.report.shortened += omitted
            self.report.warn(
                f"the conversation was too long: {omitted} of {len(messages)} messages are not sent any more"
            )
        return bool(omitted)
