"""What both sessions are: a history, a model or several, tools, and how a request is prepared. Nothing here waits."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from ...client.adapter import Adapter, new_ulid
from ...client.behaviour import Preset
from ...client.embedded import Choice
from ...client.manager import ProviderManager
from ...codec.limits import Limits
from ...codec.surrogates import REPLACED, clean
from ...codec.translate import as_blocks, repair_tool_results
from ...errors import InvalidRequestError, StoreError
from ...models.estimate import estimate_input_tokens
from ...models.pricing import Pricing
from ...types.base import Json
from ...types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.messages import Message
from ...types.request import Request
from ...types.tools import Tool, ToolDefinition, ToolOutput
from ...types.usage import TokenUsage
from ..history import CachePolicy
from ..routing import Availability, Router
from ..routing.router import Models
from ..swap import SwapPlan, plan_swap
from ..tools import Approve, Toolbox, ToolSource
from ..tools.running import Batch
from .calls import NOT_STARTED, Starting
from .history import History, Repair
from .options import TURN_OPTIONS, Content, Overflow, Settings, TurnOptions, as_question
from .reporting import Prices, Report, cost_of, usage_of
from .saved import FORMAT, VERSION, Head, Saved
from .storing import Place, Writer, close_store, store_at
from .turns import Turn

__all__ = ["Content", "Conversation", "Overflow", "Settings", "TurnOptions"]

log = logging.getLogger("interlingua")
T = TypeVar("T")

STILL_RUNNING = (
    "a turn of this session is still running: wait for it, or cancel it; to leave a stream early, "
    "write `{} session.stream(...) as events`"
)


class Conversation:
    """The part of a session that does not wait."""

    blocking = False
    """Whether its calls block."""

    def __init__(
        self,
        model: Models | Router | None = None,
        tools: Iterable[ToolSource | Tool] = (),
        system: str | Sequence[Block] | None = None,
        *,
        manager: ProviderManager | None = None,
        behaviour: str | Preset | None = None,
        cache: CachePolicy = "off",
        repair: Repair = "synthesize",
        overflow: Overflow = "truncate",
        max_steps: int = 50,
        tool_timeout: float | None = None,
        approve: Approve | None = None,
        pricing: Pricing | None = None,
        store: Place | None = None,
        messages: Iterable[Message] = (),
        id: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        active_skills: Iterable[str] = (),
        active_connectors: Iterable[str] = (),
        fetch_media: bool = False,
        script: Choice = None,
        limits: Limits | None = None,
        **options: Any,
    ) -> None:
        unknown = sorted(set(options) - set(TurnOptions.__annotations__))
        if unknown:
            raise TypeError(f"a session has no {', '.join(unknown)}; a request can be given {', '.join(TURN_OPTIONS)}")
        self.id = id or f"ses_{new_ulid()}"
        if manager is not None and script is not None:
            raise TypeError("a session with a manager takes no script: give it to ProviderManager(script=…)")
        self.manager, self._owns_manager = manager or ProviderManager(script=script), manager is None
        self.behaviour, self.cache, self.overflow, self.max_steps = behaviour, cache, overflow, max_steps
        self.approve, self.fetch_media, self._prices = approve, fetch_media, Prices(self.manager, pricing)
        self.active_skills, self.active_connectors = tuple(active_skills), tuple(active_connectors)
        self.metadata: dict[str, Json] = clean(dict(metadata or {}))
        self.options = options
        self.system = system if system is not None else ()
        self.history = History(messages, repair=repair)
        self._owns_store = isinstance(store, str | os.PathLike)
        self.store = store_at(store) if isinstance(store, str | os.PathLike) else store
        self.report = Report()
        self.told: set[tuple[str, str, str | None]] = set()
        self.forked_from: str | None = None
        self._set_tools(tools, tool_timeout, limits)
        self._availability = Availability(clock=time.monotonic)
        self._model: Models | None = None
        self._turn: Turn | None = None
        self._writer, self._unreadable = Writer(), dict[str, Json]()
        self._before: Any = None
        self._unsaved = False
        self._warnings: dict[str, bool] = {}
        """What was told of the user's words; whether the next report still has to tell it."""
        self.model = model

    # ---------------------------------------------------------------------------------------------------- the model

    @property
    def model(self) -> Models | None:
        """Who answers: ``"provider:model"``, or several in order of preference. May be set between any two turns."""
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
            self.manager.locate(name)  # an unknown name is said now, and not in the middle of a turn
        self.router, self._model = router, model

    @property
    def pricing(self) -> Pricing:
        """What answers cost: as the caller said, else by the prices of ``models.yaml`` and the installed tables."""
        return self._prices.pricing

    @pricing.setter
    def pricing(self, pricing: Pricing) -> None:
        self._prices = Prices(self.manager, pricing)

    def plan_swap(self, model: str) -> SwapPlan:
        """What moving the conversation there would mean: legal or not, losses, tokens, cost, cache.

        Calls that still wait are taken as answered, as the next turn would answer them; not with ``repair="refuse"``.
        """
        id, name = self.manager.locate(model)
        adapter = self.manager.get_adapter(id)
        messages = self.history.to_send()
        if self.history.repair == "synthesize":
            messages = tuple(repair_tool_results(messages, dialect="openai-chat"))  # canonical ones know no dialect
        ours = adapter if isinstance(adapter, Adapter) else None
        able = adapter.capabilities_for(name) if name else adapter.capabilities
        return plan_swap(
            messages,
            self.definitions,
            to=ours.target(name) if ours else Target(adapter.name, name, able),
            system=self.system,
            pricing=self.pricing,
            row=ours.provider if ours else None,
            own=ours is None,
        )

    # ---------------------------------------------------------------------------------------------------- the tools

    def _set_tools(self, tools: Iterable[ToolSource | Tool], timeout: float | None, limits: Limits | None) -> None:
        """Tools without a handler are offered too; their calls are handed to the caller."""
        sources = tuple(tools)
        handled = [tool for tool in sources if not isinstance(tool, ToolDefinition)]
        self.toolbox = Toolbox(handled, timeout=timeout, limits=limits)
        bare = tuple(tool for tool in sources if isinstance(tool, ToolDefinition))
        self.definitions: tuple[Tool, ...] = (*self.toolbox.definitions, *bare)
        self._bare = frozenset(tool.name for tool in bare)

    def runs(self, call: ToolUseBlock) -> bool:
        """Whether the session answers this call itself; one of a tool that nobody knows is answered with an error."""
        return call.name not in self._bare or "refused" in self.history.entry(call.id)

    def batch(self, calls: Sequence[ToolUseBlock]) -> Batch:
        """Open calls, to be run. Those that may not run, and those that were started earlier, are only answered."""
        known = {call.id: self.history.entry(call.id) for call in calls}
        return self.toolbox.batch(
            calls,
            refused={id: entry["refused"] for id, entry in known.items() if "refused" in entry},
            started=[id for id, entry in known.items() if entry and entry["state"] not in NOT_STARTED],
            approve=self.approve,
            on_start=None if self.store is None else Starting(self.history, self._persist_waiting),
            metadata={**self.metadata, "session_id": self.id},
        )

    async def _persist_waiting(self) -> None:
        """``persist``, without blocking the loop."""
        await asyncio.to_thread(self.persist)

    # -------------------------------------------------------------------------------------------------- the history

    @property
    def system(self) -> tuple[Block, ...]:
        """The system prompt; a plain string may be set."""
        return self._system

    @system.setter
    def system(self, system: str | Sequence[Block]) -> None:
        blocks = ((TextBlock(system),) if system else ()) if isinstance(system, str) else tuple(system)
        self._system = tuple(map(clean, blocks))

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole history, also what is not sent any more."""
        return tuple(self.history.messages)

    @property
    def usage(self) -> TokenUsage:
        """Of all answers together."""
        return usage_of(self.history.messages)

    @property
    def cost_usd(self) -> float | None:
        """Of all answers together; None if the price of one is not known."""
        return cost_of(self.history.messages)

    def add(self, *messages: Message) -> None:
        """Append messages as they are, such as an earlier conversation. A session that awaits stores them with the
        next turn, or when it is closed."""
        self._mark()
        for message in messages:
            self.history.add(self._clean(message))
        self._persist_change()

    def answer(self, outputs: Iterable[ToolOutput]) -> None:
        """Answer calls that were handed over; the others are answered with an error. Stored as by ``add``."""
        results = [self._clean(ToolResultBlock(o.id, as_blocks(o.content), is_error=o.is_error)) for o in outputs]
        self._mark()
        self.history.answer(results)
        self._persist_change()

    def say(self, content: Content) -> None:
        """Append what the user says."""
        self.history.add(self._clean(content if isinstance(content, Message) else as_question(content)))

    def _clean(self, value: T) -> T:
        """Without lone surrogates, which nobody could be sent and no store could hold; told once."""
        cleaned = clean(value)
        if cleaned is not value and REPLACED not in self._warnings:
            self._warnings[REPLACED] = True
            log.warning("session %s: %s", self.id, REPLACED)
        return cleaned

    def begin(self, content: Content | None, options: Mapping[str, Any], *, loop: bool, seconds: float | None) -> Turn:
        """A new turn. Without words it goes on from where the history ends: a loop first runs what was called there."""
        if self._turn is not None and not self._turn.over and not self._close_left():
            raise InvalidRequestError(STILL_RUNNING.format("with" if self.blocking else "async with"))
        if options and (unknown := sorted(set(options) - set(TURN_OPTIONS))):
            raise TypeError(f"a turn has no {', '.join(unknown)}; it can be given {', '.join(TURN_OPTIONS)}")
        self._mark()
        if content is not None:
            self.say(content)
        elif not (loop and all(map(self.runs, self.history.open_calls))):
            self.history.settle()
        turn = self._turn = Turn(self, dict(options), loop=loop, seconds=seconds)
        self.report = turn.report
        self.report.warn(*(warning for warning, is_new in self._warnings.items() if is_new))
        self._warnings = dict.fromkeys(self._warnings, False)
        return turn

    def _close_left(self) -> bool:
        """Whether the turn that is not over was a stream that nobody holds any more; then it is over now."""
        return False

    # -------------------------------------------------------------------------------------------------- the request

    def request(self, options: Mapping[str, Any], request_id: str | None = None) -> Request:
        """What is asked now, before it is prepared for anybody."""
        told: dict[str, Any] = {**self.options, **options, "request_id": request_id}
        return Request(messages=self.history.to_send(), system=self._system, tools=self.definitions, **told)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Roughly, as the first model counts."""
        id, model = self.manager.locate(self.router.models[0])
        return estimate_input_tokens(messages, provider=self.manager.get_adapter(id).name, model=model)

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
            wishes=msgspec.to_builtins(self.options),
            omitted=tuple(sorted(self.history.omitted)),
            metadata=self.metadata,
            forked_from=self.forked_from,
            unreadable=self._unreadable,
        )
        return Saved(head, tuple(self.history.messages))

    def persist(self) -> None:
        """Write what is new to the session's store, if it has one. Blocks; turns that await call it in a thread."""
        if self.store is not None:
            self._unsaved = True
            self._writer.persist(self.store, self.history, self.snapshot)
            self._unsaved = False

    def _mark(self) -> None:
        """Remember the history, should the change that follows not be stored."""
        self._before = None if self.store is None else (self.history.state(), self._unsaved)

    def take_back(self) -> None:
        """Undo the change that could not be stored, so that it can be made once more."""
        if self._before is not None:
            state, self._unsaved = self._before
            self.history.restore(state)

    def _persist_change(self) -> None:
        if not self.blocking:
            self._unsaved = self.store is not None
            return
        try:
            self.persist()
        except StoreError:
            self.take_back()
            raise

    def _close_store(self) -> None:
        if self._owns_store:
            close_store(self.store)
