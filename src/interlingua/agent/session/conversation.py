"""What both sessions have in common: the history, the models, the tools, how a request is made, how it is stored."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from threading import get_ident
from typing import Any, TypeVar, Unpack

import msgspec

from ...client.adapter import Adapter, new_ulid
from ...client.content import parts_of
from ...client.manager import ProviderManager
from ...client.secrets import as_secret
from ...client.uploaded import Uploads
from ...codec.surrogates import REPLACED, clean
from ...codec.translate import as_blocks, repair_tool_results
from ...codec.typed import output_of
from ...errors import InvalidRequestError, StoreError
from ...models.estimate import estimate_input_tokens
from ...models.pricing import Pricing
from ...types.base import Json
from ...types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.messages import Message
from ...types.output import OutputType
from ...types.request import Request
from ...types.tools import Tool, ToolDefinition, ToolOutput
from ...types.usage import TokenUsage
from ...types.words import Role
from ..history import new_message_id
from ..routing import Availability, Router
from ..routing.router import Models
from ..swap import SwapPlan, plan_swap
from ..tools import Toolbox, ToolSource
from ..tools.running import Batch
from .call_states import NOT_STARTED, Starting, name_of
from .connection import manager_and_model
from .history import History, HistoryState
from .options import Content, Settings, SettingsArguments, check_turn_options, split_arguments
from .report import Report, cost_of, usage_of
from .run_limits import Allowance, split_limits
from .saved import FORMAT, VERSION, Head, Saved
from .session_writer import Place, Writer, close_store, store_at
from .turns import Turn

__all__ = ["Before", "Conversation"]

log = logging.getLogger("interlingua")
T = TypeVar("T")

Before = tuple[HistoryState, bool]
"""The history before a change, and whether it had changes that were not stored."""

STILL_RUNNING = (
    "a turn of this session is still running: wait for it, or cancel it; to leave a stream early, "
    "write `{} session.stream(...) as events`"
)


class Conversation(Settings):
    """What ``Session`` and ``SyncSession`` have in common."""

    blocking = False
    """Whether the methods that call a model block (``SyncSession``) or are awaited (``Session``)."""

    def __init__(
        self,
        model: Models | Router | None = None,
        tools: Iterable[ToolSource | Tool] = (),
        system: str | Sequence[Block] | None = None,
        *,
        manager: ProviderManager | None = None,
        store: Place | None = None,
        messages: Iterable[Message] = (),
        id: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        pricing: Pricing | None = None,
        **settings: Unpack[SettingsArguments],
    ) -> None:
        if "api_key" in settings:
            settings["api_key"] = as_secret(settings["api_key"])
        own_settings, self.options, connection = split_arguments(settings)
        super().__init__(**own_settings)
        self.id = id or f"ses_{new_ulid()}"
        self._owns_manager = manager is None
        self.manager, model = manager_and_model(manager, model, **connection)
        self.metadata: dict[str, Json] = clean(dict(metadata or {}))
        self.system = system if system is not None else ()
        self.history = History(Request(messages).messages, repair=self.repair)
        self._owns_store = isinstance(store, str | os.PathLike)
        self.store = store_at(store) if isinstance(store, str | os.PathLike) else store
        self.uploads = Uploads()
        """The media that were uploaded to providers, until the uploads expire."""
        self.report = Report()
        self.logged_losses: set[tuple[str, str, str | None]] = set()
        self.forked_from: str | None = None
        self._set_tools(tools)
        if self.options:  # a Request turns short forms such as thinking="high" or stop_sequences="END" into full values
            example = Request(tools=self.definitions, **self.options)
            self.options = {name: getattr(example, name) for name in self.options}
        self._given_pricing, self._pricing, self._pricing_edition = pricing, pricing, -1
        self._availability = Availability(clock=time.monotonic)
        self._model: Models | None = None
        self._turn: Turn | None = None
        self._writer = Writer()
        self._unreadable: dict[str, Json] = {}
        self._before_change: Before | None = None
        self.failed_question: Message | None = None
        """The question of the last turn, if that turn failed without an answer, so that the question was taken back."""
        self._unsaved = False
        self._warnings: dict[str, bool] = {}  # warnings that were logged; True: the next report repeats it
        self.model = model

    # ---------------------------------------------------------------------------------------------------- the model

    @property
    def model(self) -> Models | None:
        """The model that answers: ``"provider:model"``, or several in order of preference. May be set between turns."""
        return self._model

    @model.setter
    def model(self, model: Models | Router | None) -> None:
        if isinstance(model, Router):
            self.router, self.manager = model, model.manager
            self._model = model.models if model.weights is None else model.weights
            return
        if model is None:
            id, name = self.manager.locate(None)
            model = f"{id}:{name or ''}"
        router = Router(model, self.manager, availability=self._availability)
        for name in router.models:
            self.manager.locate(name)  # an unknown name raises here instead of in the middle of a turn
        self.router, self._model = router, model

    @property
    def pricing(self) -> Pricing:
        """The prices of answers: those given as ``pricing=``, else those of ``models.yaml`` and installed tables."""
        if self._given_pricing is not None:
            return self._given_pricing
        if self._pricing is None or self._pricing_edition != self.manager.edition:
            self._pricing, self._pricing_edition = Pricing(self.manager.configuration.prices), self.manager.edition
        return self._pricing

    @pricing.setter
    def pricing(self, pricing: Pricing | None) -> None:
        self._given_pricing = pricing

    def plan_swap(self, model: str) -> SwapPlan:
        """What would happen if the conversation went on with this model: is it accepted, losses, tokens, cost, cache.

        Calls without a result count as answered, because the next turn answers them; not with ``repair="refuse"``.
        """
        id, name = self.manager.locate(model)
        adapter = self.manager.known_adapter(id)
        messages = self.history.to_send()
        if self.history.repair == "synthesize":
            messages = tuple(repair_tool_results(messages, dialect="openai-chat"))  # the same for any dialect
        known = adapter if isinstance(adapter, Adapter) else None  # None: an adapter that the caller wrote
        capabilities = adapter.capabilities_for(name) if name else adapter.capabilities
        return plan_swap(
            messages,
            self.definitions,
            to=known.target(name) if known else Target(adapter.name, name, capabilities),
            system=self.system,
            pricing=self.pricing,
            row=known.provider if known else None,
            own=known is None,
            unsupported=known.unsupported if known else None,
        )

    # ---------------------------------------------------------------------------------------------------- the tools

    def _set_tools(self, tools: Iterable[ToolSource | Tool]) -> None:
        """Set the tools of the session. Those without a handler are offered too; the caller answers their calls."""
        given: Any = tools
        if isinstance(given, str):
            raise TypeError("the second argument of a session is its tools; a system prompt is given as system=")
        sources = tuple(tools if hasattr(given, "__iter__") else [given])
        handled = [tool for tool in sources if not isinstance(tool, ToolDefinition)]
        self.toolbox = Toolbox(handled, timeout=self.tool_timeout, limits=self.limits)
        without_handler = tuple(tool for tool in sources if isinstance(tool, ToolDefinition))
        self.definitions: tuple[Tool, ...] = (*self.toolbox.definitions, *without_handler)
        self._without_handler = frozenset(tool.name for tool in without_handler)
        self.delegates = self.toolbox.delegates

    def can_answer(self, call: ToolUseBlock) -> bool:
        """Whether the session answers this call itself: it runs the tool, or, for an unknown tool, gives an error."""
        return call.name not in self._without_handler or "refused" in self.history.entry(call.id)

    def batch(self, calls: Sequence[ToolUseBlock]) -> Batch:
        """A batch that runs open calls. Calls that were refused or started earlier are only answered, not run."""
        entries = {call.id: self.history.entry(call.id) for call in calls}
        return self.toolbox.batch(
            calls,
            refused={id: entry["refused"] for id, entry in entries.items() if "refused" in entry},
            started=[id for id, entry in entries.items() if entry and entry["state"] not in NOT_STARTED],
            approve=self.approve,
            on_start=None if self.store is None else Starting(self.history, self._persist_async),
            metadata={**self.metadata, "session_id": self.id},
        )

    async def _persist_async(self) -> None:
        """Run ``persist`` in a thread, so that the event loop is not blocked."""
        await asyncio.to_thread(self.persist)

    # -------------------------------------------------------------------------------------------------- the history

    @property
    def system(self) -> tuple[Block, ...]:
        """The system prompt; a plain string may be set."""
        return self._system

    @system.setter
    def system(self, system: str | Sequence[Block]) -> None:
        self._system = tuple(map(clean, Request(system=system or ()).system))

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole history. It includes messages that are no longer sent, but not those that were taken back."""
        return tuple(self.history.live)

    @property
    def usage(self) -> TokenUsage:
        """The tokens of all answers together, including answers that were taken back."""
        return usage_of(self.history.messages)

    @property
    def cost_usd(self) -> float | None:
        """The cost of all answers, including answers that were taken back; None if the price of one is not known."""
        return cost_of(self.history.messages)

    def add(self, *messages: Message) -> None:
        """Append messages as they are, such as an earlier conversation. An async session stores them with the next
        turn, or when it is closed."""
        self.remember_state()
        for message in messages:
            self.history.add(self._clean(message))
        self._persist_change()

    def answer(self, outputs: Iterable[ToolOutput]) -> None:
        """Answer the calls that the session did not run. Open calls without an output get an error result. Stored as
        by ``add``."""
        results = [self._clean(ToolResultBlock(o.id, as_blocks(o.content), is_error=o.is_error)) for o in outputs]
        self.remember_state()
        self.history.answer(results)
        self._persist_change()

    def _user_message(self, content: tuple[Content | None, ...]) -> Message | None:
        """The user's message, made of its parts; None if no content was given. An empty message is refused."""
        if content in ((), (None,)):
            return None
        if len(content) == 1 and isinstance(content[0], Message):
            return self._clean(content[0])
        parts: list[Any] = []
        for part in content:
            if isinstance(part, Message):
                raise TypeError("a turn is given one Message, or the parts of one: texts and blocks")
            parts += part if isinstance(part, list | tuple) else [part]
        message = Message(Role.user, parts_of(parts), new_message_id())
        if not message.content or message.content == (TextBlock(""),):
            raise InvalidRequestError("the message is empty: say something, or call without content to go on")
        return self._clean(message)

    def _clean(self, value: T) -> T:
        """The value without lone surrogates, which can be neither sent nor stored. They are reported once."""
        cleaned = clean(value)
        if cleaned is not value and REPLACED not in self._warnings:
            self._warnings[REPLACED] = True
            log.warning("session %s: %s", self.id, REPLACED)
        return cleaned

    def begin(
        self,
        content: tuple[Content | None, ...],
        options: Mapping[str, Any],
        *,
        loop: bool,
        output: OutputType = None,
        output_retries: int = 0,
    ) -> Turn:
        """Begin a turn. Without content it continues from the end of the history: a loop first runs the open calls."""
        question = self._user_message(content)
        typed = None if output is None else output_of(output)
        self.check_idle()
        allowance = Allowance()
        if loop:
            allowance, options = split_limits(options, self.max_steps)
        if options:
            check_turn_options(options)
        if typed is not None:
            if options.get("output_schema") is not None:
                raise TypeError("a turn is given either output_schema or output=, not both")
            options = {**options, "output_schema": typed.schema}
        if allowance.limits.calls:
            allowance.check_names(name for tool in self.definitions if (name := name_of(tool)))
        before = self.remember_state()
        if question is not None:
            question = self.history.add(question)
        elif not (loop and all(map(self.can_answer, self.history.open_calls))):
            self.history.settle()
        turn = self._turn = Turn(
            conversation=self,
            options=dict(options),
            loop=loop,
            output=typed,
            output_retries=output_retries,
            allowance=allowance,
            question=question,
            before=before,
        )
        self.report = turn.report
        if self._warnings:
            self.report.warn(*(warning for warning, is_new in self._warnings.items() if is_new))
            self._warnings = dict.fromkeys(self._warnings, False)
        return turn

    def check_idle(self) -> None:
        """Raise if a turn is running."""
        turn = self._turn
        if turn is not None and not turn.begun and turn.thread == get_ident():  # interrupted before its first step
            turn.begun = turn.over = True
            self.restore_state(turn.before)
            self.failed_question = turn.question
        if turn is not None and not turn.over and not self._close_dropped_stream():
            raise InvalidRequestError(STILL_RUNNING.format("with" if self.blocking else "async with"))

    def _close_dropped_stream(self) -> bool:
        """End the running turn if it is a stream that nobody refers to any more. Return whether it was ended."""
        return False

    # -------------------------------------------------------------------------------------------------- the request

    def request(self, options: Mapping[str, Any], **fields: Any) -> Request:
        """The request for the next answer, before it is adapted to a model."""
        fields = {**self.options, **options, **fields}
        return Request(messages=self.history.to_send(), system=self._system, tools=self.definitions, **fields)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """An estimate of the tokens of these messages, as the session's first model counts them."""
        id, model = self.manager.locate(self.router.models[0])
        return estimate_input_tokens(messages, provider=self.manager.known_adapter(id).name, model=model)

    # -------------------------------------------------------------------------------------------- saving and forking

    def snapshot(self) -> Saved:
        """The session as it would be saved."""
        model: Any = self._model if isinstance(self._model, str | dict) or self._model is None else tuple(self._model)
        head = Head(
            format=FORMAT,
            version=VERSION,
            id=self.id,
            model=model,
            system=self._system,
            options=msgspec.to_builtins(self.options),
            omitted=tuple(sorted(self.history.omitted | self.history.undone)),
            undone=tuple(sorted(self.history.undone)),
            metadata=self.metadata,
            forked_from=self.forked_from,
            uploads=tuple(self.uploads),
            unreadable=self._unreadable,
        )
        return Saved(head, tuple(self.history.messages))

    def persist(self) -> None:
        """Write what is new to the session's store, if it has one. Blocks, so an async session calls it in a thread."""
        if self.store is not None:
            self._unsaved = True
            self._writer.persist(self.store, self.history, self.snapshot)
            self._unsaved = False

    def remember_state(self) -> Before:
        """Remember the history before a change, so that ``restore_state`` can undo the change if it fails."""
        self.failed_question = None
        self._before_change = self.history.state(), self._unsaved
        return self._before_change

    def restore_state(self, before: Before | None = None) -> None:
        """Undo all changes made since ``before``; without it, undo the last change."""
        state, unsaved = before or self._before_change or self.remember_state()
        self.history.restore(state)
        self._unsaved = unsaved

    def _persist_change(self) -> None:
        if not self.blocking:
            self._unsaved = self.store is not None
            return
        try:
            self.persist()
        except StoreError:
            self.restore_state()
            raise

    def _close_store(self) -> None:
        if self._owns_store:
            close_store(self.store)
