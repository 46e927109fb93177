"""One turn without I/O: which models are called, which tools are run, what is stored.

One generator decides for the async and the blocking session, for whole answers and for streams. It yields commands;
the session performs them and sends the results back.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ...client.adapter import Adapter, new_ulid
from ...client.asking import asks_again, read_answer, why_again
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
from ...types.base import Json
from ...types.blocks import ToolUseBlock
from ...types.messages import Message
from ...types.response import Response
from ...types.session_events import StepEnd, StepStart
from ...types.words import StopReason
from ..history import CallIds, mark_cache, new_message_id, shorten
from ..routing.model_calls import CallModel, FetchMedia, Tell, call_route
from ..routing.route import Candidate, Route
from ..tools.running import Batch
from .announcing import Announcer
from .answers import as_message, complete, with_estimated_usage
from .call_states import BY_CALLER, cause_of, entries, name_of, refusals
from .report import Report, facts_of
from .run_limits import Allowance

if TYPE_CHECKING:
    from .conversation import Before, Conversation

__all__ = ["Persist", "RunTools", "Shorten", "Turn"]

CANCELLED, PAUSED = StopReason.cancelled, StopReason.pause_turn
HANDED_OVER = "the caller must answer a tool call"
CUT_CALL = "the answer was cut in the middle of a tool call, which was not run"


class RunTools(Struct, frozen=True):
    """The command to run these calls. The batch knows at any time how far each call is."""

    batch: Batch


class Shorten(Struct, frozen=True):
    """The command to ask the caller's own strategy what to send of a conversation that is too long."""

    messages: tuple[Message, ...]
    window: int | None


class Persist(Struct, frozen=True):
    """The command to store the session."""


Command = CallModel | FetchMedia | RunTools | Shorten | Persist | Tell
Steps = Generator[Command, Any, Response]


class Turn:
    """From the user's message to the end of the last answer."""

    route: Route
    watched = False
    """Whether steps and tools are told to the reader of a stream."""
    output: Output[Any] | None = None
    output_retries = 0
    _call: CallModel | None = None
    _cost: float | None = None
    _announcer: Announcer | None = None
    _error: BaseException | None = None
    _batch: Batch | None = None
    """Tools of which the history does not say yet what they came to."""

    def __init__(
        self,
        conversation: Conversation,
        options: dict[str, Any],
        *,
        loop: bool,
        allowance: Allowance,
        question: Message | None,
        before: Before,
    ) -> None:
        self.conversation, self.options, self.loop = conversation, options, loop
        self.question, self.before, self.allowance = question, before, allowance
        self._last = conversation.history.messages[-1:]
        self.request_id = ""
        """Of the call that is made now; each has its own."""
        self.report = Report()
        self.cancelled = self.begun = self.over = False
        self.thread = get_ident()

    def steps(self) -> Steps:
        """The whole turn. If it fails before anything came of it, the history is as it was before; not if the caller
        cancels it, or leaves.

        If the user's message cannot be stored, no model is called.
        """
        self.begun = True
        conversation, response = self.conversation, Response((), CANCELLED)
        bus = conversation.manager.bus
        if bus.listeners:
            self._announcer = Announcer(bus, conversation.id)
            self._announcer.begin(self.question)
        try:
            yield from self._store(None, takes_back=True)
            self.route = conversation.router.route(blocking=conversation.blocking)
            self.allowance.check_prices(self.route.candidates, conversation.pricing)
            if conversation.history.open_calls:
                yield from self._run_tools(conversation.history.open_calls)
            while not self.cancelled and self.report.stopped == "done":
                if self.watched:
                    yield Tell(StepStart(self.report.steps + 1))
                response = yield from self._answer_in_time()
                over = self._is_over(response)
                yield from self._store(response)
                if not over and (calls := complete(response.tool_uses)):
                    yield from self._run_tools(calls)
                    yield from self._store(response)
                if self.watched:
                    yield Tell(StepEnd(self.report.steps, response.stop_reason, response.usage, self._cost))
                if over and (typed := self._typed(response)) is not None:
                    return self._stamped(typed)
            self.report.stop("cancelled", BY_CALLER)
            yield from self._store(response)
            return self._stamped(response)
        except BaseException as error:
            self._error = error
            self._note_failure(error, response)
            if not isinstance(error, StoreError):
                yield from self._store_rest(error)
            raise
        finally:
            self.over = True
            if self._announcer is not None:
                self._announcer.end(self.report, response, self._error)

    def _stamped(self, response: Response) -> Response:
        report = self.report
        if report.stopped in ("done", "failed"):
            return response
        return replace(response, stopped=report.stopped, stopped_reason=report.stopped_reason)

    def _note_failure(self, error: BaseException, response: Response) -> None:
        """Report a turn that failed or was cancelled. Open calls of a cancelled turn are answered with the cause."""
        history = self.conversation.history
        is_cancelled = isinstance(error, CancelledError) or not isinstance(error, AdapterError)
        self.report.stop("cancelled" if is_cancelled else "failed", cause_of(error))
        if self._batch is not None:  # interrupted while its results were written
            history.conclude(self._batch, cause_of(error))
        if is_cancelled and history.open_calls and self._runs_open_calls():
            history.answer([], cause_of(error))
        if isinstance(error, StoreError) and error.response is None and response.content:
            error.response = response
        if not isinstance(error, GeneratorExit | CancelledError) and self._came_to_nothing():
            self.conversation.take_back(self.before)
            self.conversation.failed_question = self.question

    def _came_to_nothing(self) -> bool:
        """Whether nothing was said since the turn began, so that its question would be left without an answer."""
        messages = self.conversation.history.messages
        return bool(messages and self._last) and messages[-1] is self._last[0]

    def _store(self, response: Response | None, *, takes_back: bool = False) -> Generator[Persist, None, None]:
        """Store the history, if there is a store. An error carries the response, which is not lost then.

        ``takes_back``: the question is taken back if it cannot be stored.
        """
        if self.conversation.store is None:
            return
        try:
            yield Persist()
        except StoreError as error:
            error.response = response
            if takes_back:
                self.conversation.take_back(self.before)
            raise

    def _store_rest(self, error: BaseException) -> Generator[Persist, None, None]:
        """Store what there is of a turn that failed. If that fails too, a note on the turn's own error says so."""
        try:
            yield from self._store(None)
        except StoreError as failure:
            error.add_note(f"What there is of this turn could not be stored either: {failure}")

    def _is_over(self, response: Response) -> bool:
        calls, history = complete(response.tool_uses), self.conversation.history
        if len(calls) < len(response.tool_uses):
            self.report.warn(CUT_CALL)
        if response.stop_reason is CANCELLED or self.cancelled:
            self.report.stop("cancelled", BY_CALLER)
            if history.open_calls:
                history.answer([], BY_CALLER)
            return True
        if not self.loop or not (calls or response.stop_reason is PAUSED):
            return True
        if not self._runs_open_calls():
            self.report.stop("handed_over", HANDED_OVER)
            return True
        if (reason := self.allowance.reached(self.report, calls)) is not None:
            self._stop_at(reason)
            if history.open_calls:
                history.answer([], reason)
            return True
        return False

    def _stop_at(self, reason: str) -> None:
        self.report.stop("limit", reason)
        self.report.warn(reason)

    def _typed(self, response: Response) -> Response | None:
        """The answer with its ``output``; None if it does not fit, and the model is told so and asked again."""
        if self.output is None or self.report.stopped != "done":
            return response
        try:
            return read_answer(response, self.output)
        except OutputError as error:
            if not self.output_retries or not asks_again(error):
                raise
            self.output_retries -= 1
            self.conversation.history.add(replace(why_again(error), id=new_message_id()))
        return None

    def _runs_open_calls(self) -> bool:
        """Whether the session itself answers all open calls: it runs or refuses them."""
        history = self.conversation.history
        return self.loop and all(history.entry(call.id) for call in history.open_calls)

    def _run_tools(self, calls: tuple[ToolUseBlock, ...]) -> Generator[RunTools | Tell, None, None]:
        batch = self._batch = self.conversation.batch(calls)
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
            yield from map(Tell, batch.untold())
        if not self.cancelled and (reason := self.allowance.time_is_over) is not None:
            self._stop_at(reason)

    def _conclude(self, batch: Batch, cause: str) -> None:
        self.conversation.history.conclude(batch, cause)
        self._batch = None
        if batch.observer is not None:
            for event in batch.untold():
                batch.observer(event)
        self.report.delegate(run.delegated for run in batch.runs if run.delegated is not None)

    # ------------------------------------------------------------------------------------------------------ one answer

    def _answer_in_time(self) -> Steps:
        """An answer, or what had come of it when the time of the run was over."""
        try:
            return (yield from self._answer())
        except RequestTimeoutError as error:
            if (reason := self.allowance.time_is_over) is None:
                raise
            self._stop_at(reason)
            return replace(error.response or Response(), stop_reason=CANCELLED)

    def _answer(self) -> Steps:
        """Call a model. If the conversation is too long for it, shorten the conversation and call once more."""
        try:
            return (yield from self._call_model())
        except ContextOverflowError as error:
            if (error.response is not None and error.response.content) or self.conversation.overflow == "raise":
                raise
            if not (yield from self._make_room()):
                raise
        return (yield from self._call_model())

    def _call_model(self) -> Steps:
        conversation = self.conversation
        self.request_id = new_ulid()
        request = conversation.request(self.options, self.request_id)
        if not request.messages:
            raise InvalidRequestError("the conversation is empty: say something first")
        self._call = None
        try:
            response = yield from call_route(self.route, request, self.allowance.deadline, self._prepare)
        except BaseException as error:
            self._keep_partial(error)
            raise
        message = self._as_message(response)
        if response.stop_reason is CANCELLED:
            conversation.history.add_partial(message, BY_CALLER)
        elif message.content:
            conversation.history.add(message)
        return response

    def _prepare(self, candidate: Candidate, call: CallModel) -> None:
        """Change a request for the model that gets it: behaviour, cache marks, ids, media."""
        conversation, adapter = self.conversation, candidate.adapter
        dialect_name = adapter.dialect.name if isinstance(adapter, Adapter) else ""
        preset = conversation.manager.preset_for(candidate.id, call.request.model, conversation.behaviour)
        call.budget.session_id, call.budget.logged_losses = conversation.id, conversation.logged_losses
        self.report.left_out = ()
        if preset is not None:
            self._apply(preset, call)
        if conversation.delegates and not conversation.manager.may_delegate(candidate.id, call.request.model):
            self._leave_out(conversation.delegates, call)
        if conversation.cache == "auto" and candidate.able.prompt_caching:
            call.request = mark_cache(call.request, dialect_name)
        call.ids = CallIds(dialect_name)
        call.budget.uploads = conversation.uploads if conversation.upload else None
        call.budget.message_id, call.budget.step = call.ids.message_id, self.report.steps + 1
        call.fetches_media = conversation.fetch_media and isinstance(adapter, Adapter)
        self._call = call

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
        """Offer no sessions as tools to a model that ``models.yaml`` does not let delegate."""
        offered = call.request.tools
        call.request = replace(call.request, tools=tuple(tool for tool in offered if name_of(tool) not in names))
        self.report.left_out += tuple(name for tool in offered if (name := name_of(tool)) in names and name)

    def _keep_partial(self, error: BaseException) -> None:
        """Add what had come of a failed answer to the history."""
        if isinstance(error, AdapterError):
            partial = error.response
        else:
            partial = self._call.partial if self._call is not None else None
        if partial is not None and partial.content:
            self.conversation.history.add_partial(self._as_message(partial), self._cause(error))

    def _cause(self, error: BaseException) -> str:
        over = self.allowance.time_is_over if isinstance(error, RequestTimeoutError) else None
        return over or cause_of(error)

    def _as_message(self, response: Response) -> Message:
        """An answer as a message, with what is known of it and of its calls. The answer is counted in the report."""
        call = self._call
        if call is not None and (response.usage is None or not response.usage.total_tokens):
            response = with_estimated_usage(response, call)
        facts = facts_of(response, self.conversation.pricing, self.route.record)
        self.report.add(response, facts)
        self._cost = facts.get("cost_usd")
        if response.tool_uses and (states := self._call_entries(complete(response.tool_uses))):
            facts["calls"] = states
        return as_message(response, facts, call)

    def _call_entries(self, calls: Sequence[ToolUseBlock]) -> dict[str, Json]:
        """What is noted of each call: those that the session refuses, and those that it runs if it runs them all."""
        refused = refusals(calls, self._call.request) if calls and self._call is not None else {}
        if not (self.loop and all(call.id in refused or self.conversation.runs(call) for call in calls)):
            calls = [call for call in calls if call.id in refused]  # the others are left to the caller
        return entries(calls, refused)

    def _make_room(self) -> Generator[Shorten, Sequence[Message], bool]:
        """Shorten the conversation; whether there is less to send now."""
        conversation = self.conversation
        messages, window = conversation.history.to_send(), self.route.window
        if callable(conversation.overflow):
            shown: Sequence[Message] = yield Shorten(messages, window)
        else:
            shown = shorten(messages, conversation.count_tokens, window).messages
        gone = conversation.history.rearrange(shown)
        if gone:
            self.report.shortened += gone
            self.report.warn(f"the conversation was too long: {gone} of {len(messages)} messages are not sent any more")
        return bool(gone)
