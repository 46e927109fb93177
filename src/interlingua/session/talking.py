"""What both sessions are: a history, a model or several, tools, and how a request is prepared. Nothing here waits."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, TypedDict

import msgspec

from ..adapter import Adapter, new_ulid
from ..behaviour import Preset
from ..errors import InvalidRequestError
from ..estimate import estimate_input_tokens
from ..history import CachePolicy, Names, mark_cache, new_message_id
from ..manager import ProviderManager
from ..pricing import Pricing
from ..routing import Availability, Router
from ..routing.asking import Prepare, Prepared
from ..routing.router import Models
from ..routing.routes import Candidate
from ..swap import SwapPlan, plan_swap
from ..tools import Approve, Toolbox, ToolSource
from ..translate import as_blocks
from ..types.base import Json
from ..types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from ..types.capabilities import Target
from ..types.messages import Message
from ..types.request import Request, Thinking
from ..types.tools import Tool, ToolChoice, ToolDefinition, ToolOutput
from ..types.usage import TokenUsage
from ..types.words import Role
from .book import Book, Repair
from .reporting import Report, total
from .saved import FORMAT, VERSION, Head, Saved
from .stores import JsonStore, Place, SqliteStore, store_at, visited
from .turns import Turn

__all__ = ["Content", "Overflow", "Settings", "Talk", "Wishes"]

USER = Role.user
Content = str | Block | Sequence[Block] | Message
"""What a user can say."""

Strategy = Callable[[tuple[Message, ...], int | None], Sequence[Message] | Awaitable[Sequence[Message]]]
Overflow = Literal["truncate", "raise"] | Strategy
"""What to do when the conversation is too long. A strategy is given what is sent and the window, and says what to send
instead: a summary and the latest turns, for instance."""


class Wishes(TypedDict, total=False):
    """Fields of a request that a session, or one turn, can set."""

    tool_choice: ToolChoice | None
    max_output_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    stop_sequences: tuple[str, ...]
    seed: int | None
    output_schema: dict[str, Json] | None
    thinking: Thinking | None
    service_tier: str | None
    betas: tuple[str, ...]


class Settings(Wishes, total=False):
    """What both sessions can be told."""

    manager: ProviderManager | None
    behaviour: str | Preset | None
    cache: CachePolicy
    repair: Repair
    overflow: Overflow
    max_steps: int
    tool_timeout: float | None
    approve: Approve | None
    pricing: Pricing | None
    store: Place | None
    messages: Iterable[Message]
    id: str | None
    metadata: Mapping[str, Json] | None
    active_skills: Iterable[str]
    active_connectors: Iterable[str]
    fetch_media: bool
    """Whether media by URL are fetched for a model that takes data only; never from private addresses."""


class Talk:
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
        **wishes: Any,
    ) -> None:
        unknown = sorted(set(wishes) - set(Wishes.__annotations__))
        if unknown:
            raise TypeError(f"a session has no {', '.join(unknown)}; a request can be given {', '.join(_WISHES)}")
        self.id = id or f"ses_{new_ulid()}"
        self.manager, self._owns_manager = manager or ProviderManager(), manager is None
        self.behaviour, self.cache, self.overflow, self.max_steps = behaviour, cache, overflow, max_steps
        self.approve, self.pricing, self.fetch_media = approve, pricing or Pricing(), fetch_media
        self.active_skills, self.active_connectors = tuple(active_skills), tuple(active_connectors)
        self.metadata: dict[str, Json] = dict(metadata or {})
        self.wishes = wishes
        self.system = system if system is not None else ()
        self.book = Book(messages, repair=repair)
        self._owns_store = isinstance(store, str | os.PathLike)
        self.store = store_at(store) if isinstance(store, str | os.PathLike) else store
        self.report = Report()
        self.forked_from: str | None = None
        self._set_tools(tools, tool_timeout)
        self._availability = Availability(clock=time.monotonic)
        self._model: Models | None = None
        self._turn: Turn | None = None
        self._stored: Head | None = None
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

    def plan_swap(self, model: str) -> SwapPlan:
        """What moving the conversation there would mean: legal or not, losses, tokens, cost, cache."""
        id, name = self.manager.locate(model)
        adapter = self.manager.get_adapter(id)
        ours = adapter if isinstance(adapter, Adapter) else None
        return plan_swap(
            self.book.to_send(),
            self.definitions,
            to=ours.target(name) if ours else Target(adapter.name, name),
            system=self.system,
            pricing=self.pricing,
            row=ours.provider if ours else None,
        )

    # ---------------------------------------------------------------------------------------------------- the tools

    def _set_tools(self, tools: Iterable[ToolSource | Tool], timeout: float | None) -> None:
        """Tools without a handler are offered too; their calls are handed to the caller."""
        sources = tuple(tools)
        self.toolbox = Toolbox([tool for tool in sources if not isinstance(tool, ToolDefinition)], timeout=timeout)
        bare = tuple(tool for tool in sources if isinstance(tool, ToolDefinition))
        self.definitions: tuple[Tool, ...] = (*self.toolbox.definitions, *bare)
        self._bare = frozenset(tool.name for tool in bare)

    def runs(self, call: ToolUseBlock) -> bool:
        """Whether the session answers this call itself; one of a tool that nobody knows is answered with an error."""
        return call.name not in self._bare

    # -------------------------------------------------------------------------------------------------- the history

    @property
    def system(self) -> tuple[Block, ...]:
        """The system prompt; a plain string may be set."""
        return self._system

    @system.setter
    def system(self, system: str | Sequence[Block]) -> None:
        self._system = ((TextBlock(system),) if system else ()) if isinstance(system, str) else tuple(system)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole history, also what is not sent any more."""
        return tuple(self.book.messages)

    @property
    def usage(self) -> TokenUsage:
        """Of all answers together."""
        found = TokenUsage()
        for message in self.book.messages:
            told = message.metadata.get("usage")
            if told is not None:
                numbers = {name: value for name, value in told.items() if name != "raw"}
                found = total(found, TokenUsage(**numbers))
        return found

    @property
    def cost_usd(self) -> float | None:
        """Of all answers together; None if the price of one is not known."""
        costs: list[float | None] = [m.metadata.get("cost_usd") for m in self.book.messages if "usage" in m.metadata]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    def add(self, *messages: Message) -> None:
        """Append messages as they are, such as an earlier conversation."""
        for message in messages:
            self.book.add(message)
        self.persist()

    def answer(self, outputs: Iterable[ToolOutput]) -> None:
        """Answer calls that were handed over; those that are left out are answered with an error."""
        results = [
            ToolResultBlock(output.id, as_blocks(output.content), is_error=output.is_error) for output in outputs
        ]
        self.book.answer(results)
        self.persist()

    def _tool_metadata(self) -> dict[str, Any]:
        """What tools may know of the session."""
        return {**self.metadata, "session_id": self.id}

    def say(self, content: Content) -> None:
        """Append what the user says."""
        if isinstance(content, Message):
            self.book.add(content)
        else:
            blocks = (content,) if isinstance(content, Block) else content
            self.book.add(Message(USER, blocks, new_message_id()))

    def begin(self, content: Content | None, wishes: Mapping[str, Any], *, loop: bool, seconds: float | None) -> Turn:
        """A new turn. Without words it goes on from where the history ends: a loop first runs what was called there."""
        if self._turn is not None and not self._turn.over:
            raise InvalidRequestError("a turn of this session is still running: wait for it, or cancel it")
        if wishes and (unknown := sorted(set(wishes) - set(_WISHES))):
            raise TypeError(f"a turn has no {', '.join(unknown)}; it can be given {', '.join(_WISHES)}")
        if content is not None:
            self.say(content)
        elif not (loop and all(map(self.runs, self.book.open_calls))):
            self.book.settle()
        self.persist()
        turn = self._turn = Turn(self, dict(wishes), loop=loop, seconds=seconds)
        self.report = turn.report
        return turn

    # -------------------------------------------------------------------------------------------------- the request

    def request(self, wishes: Mapping[str, Any], request_id: str | None = None) -> Request:
        """What is asked now, before it is prepared for anybody."""
        told: dict[str, Any] = {**self.wishes, **wishes, "request_id": request_id}
        return Request(messages=self.book.to_send(), system=self._system, tools=self.definitions, **told)

    def prepare_with(self, report: Report) -> Prepare:
        """How a request is made ready for one candidate: behaviour, cache marks, the conversation's own ids."""

        def prepare(candidate: Candidate, request: Request) -> Prepared:
            adapter = candidate.adapter
            spoken = adapter.dialect.name if isinstance(adapter, Adapter) else ""
            behaved = self.manager.behave(
                candidate.id,
                adapter.name,
                request,
                self.behaviour,
                active_skills=self.active_skills,
                active_connectors=self.active_connectors,
            )
            report.left_out = behaved.left_out
            if behaved.warnings:
                report.warn(*behaved.warnings)
            request = behaved.request
            if self.cache == "auto" and candidate.able.prompt_caching:
                request = mark_cache(request, spoken)
            fetches = self.fetch_media and isinstance(adapter, Adapter)
            return Prepared(request, behaved.retry, behaved.max_retries, Names(spoken), fetches)

        return prepare

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
            wishes=msgspec.to_builtins(self.wishes),
            omitted=tuple(sorted(self.book.omitted)),
            metadata=self.metadata,
            forked_from=self.forked_from,
        )
        return Saved(head, tuple(self.book.messages))

    def persist(self) -> None:
        """Write what is new to the session's store, if it has one."""
        if self.store is None:
            return
        saved = self.snapshot()
        if saved.head != self._stored or self.book.saved < len(saved.messages):
            self.store.save(saved, self.book.saved)
            self._stored, self.book.saved = saved.head, len(saved.messages)

    def _close_store(self) -> None:
        if self._owns_store and isinstance(self.store, SqliteStore):
            self.store.close()

    def save(self, store: Place) -> None:
        """Write the whole session: a path ending in ``.db`` or ``.sqlite`` is SQLite, any other JSON."""
        with visited(store) as found:
            found.save(self.snapshot())

    @classmethod
    def load(
        cls,
        source: Place,
        /,
        id: str | None = None,
        *,
        tools: Iterable[ToolSource | Tool] = (),
        model: Models | Router | None = None,
        **settings: Any,
    ) -> Self:
        """A saved session. Tools are functions, which no file can hold: give them again. ``store=`` is where it is kept
        from now on; that may be where it came from."""
        with visited(source) as found:
            saved = found.load(id)
        return cls._from(saved, tools, model, **settings)

    @classmethod
    def _from(
        cls, saved: Saved, tools: Iterable[ToolSource | Tool], model: Models | Router | None, **settings: Any
    ) -> Self:
        head = saved.head
        told: dict[str, Any] = {**_read_wishes(head.wishes), "metadata": head.metadata, "id": head.id, **settings}
        made = cls(head.model if model is None else model, tools, head.system, **told)
        made.book = Book(saved.messages, head.omitted, made.book.repair)
        made.forked_from = head.forked_from
        return made

    def fork(self) -> Self:
        """A second session that goes on from here; neither sees what the other says from now on."""
        made = self._from(self.snapshot(), (), None, **self._settings(), id=f"ses_{new_ulid()}")
        if isinstance(self.store, JsonStore):
            made.store = None  # a file that holds one session stays with the first
        made.toolbox, made.definitions, made._bare = self.toolbox, self.definitions, self._bare
        made.forked_from = self.id
        return made

    def _settings(self) -> dict[str, Any]:
        names = ("manager", "behaviour", "cache", "overflow", "max_steps", "approve", "pricing", "store", "fetch_media")
        return {name: getattr(self, name) for name in (*names, "active_skills", "active_connectors")} | {
            "repair": self.book.repair
        }


_WISHES = tuple(Wishes.__annotations__)


def _read_wishes(told: Mapping[str, Any]) -> dict[str, Any]:
    """Wishes with their types, as they were before they were saved."""
    read = msgspec.convert(dict(told), Request)
    return {name: getattr(read, name) for name in told}
