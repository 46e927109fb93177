"""A session that is abused, and a ledger of what its tools really did, with which the history is compared.

A ``World`` has a session with every kind of tool, also sessions as tools, and one disturbance (``Abuse``) at a moment:
a step of the event loop, an await, or the n-th call of the model, a tool, the approval or the store. ``check`` asserts
that the histories of all sessions agree with the ledger.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from interlingua import (
    ImageBlock,
    InvalidRequestError,
    Message,
    Request,
    Role,
    TextBlock,
    ToolAnnotations,
    ToolContext,
    ToolResultBlock,
    ToolUseBlock,
    image,
    validate_tool_results,
)
from interlingua.agent.session import Session, SyncSession
from interlingua.agent.session.saved import Saved
from interlingua.agent.tools import tool
from interlingua.agent.tools.calls import RUNNING
from interlingua.bus import Bus
from interlingua.client.embedded import Script, Step
from session.scenes import scripted

PICTURE = image(b"\x89PNG\r\n\x1a\n" + b"\0" * 32, media_type="image/png")
TOOLS = ("quick", "slow", "stubborn", "plain", "raises", "paint", "pay", "expert")
IN_THREADS = ("plain", "expert of a thread")
NOT_STARTED = ("offered", "asked", "approved")


class Boom(Exception):
    """Raised by a part of the world that is to fail."""


@dataclass
class Verdict:
    good: bool


@dataclass(frozen=True)
class Abuse:
    """What is done to the session, and when: at the ``at``-th moment of this kind."""

    deed: str = "nothing"
    moment: str = "step"
    at: int = 1


class Store:
    """Keeps the last write."""

    def __init__(self, world: World) -> None:
        self.saved: Saved | None = None
        self._world = world

    def save(self, saved: Saved, since: int = 0) -> None:
        self._world.comes("save")
        self.saved = saved

    def load(self, id: str | None = None) -> Saved:
        assert self.saved is not None
        return self.saved


class World:
    """A session, its tools, and what they really did."""

    def __init__(self, kind: type[Session] | type[SyncSession]) -> None:
        self.started: Counter[tuple[str, str]] = Counter()
        self.ended: dict[tuple[str, str], str] = {}
        self.forks: dict[tuple[str, str], Any] = {}
        self.told: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.faults: list[str] = []
        self._numbers = itertools.count()
        self._abuse, self._left = Abuse(), 0
        self._does: Callable[[], object] = lambda: None
        self.bus = Bus()
        self.script = Script(self._model, keep=4)
        self.store = Store(self)
        common: dict[str, Any] = {"manager": scripted(self.script, bus=self.bus), "approve": self._approve}
        expert = Session("openai:small", self._tools(), **common)
        blocking = SyncSession("openai:small", self._tools(), **common)
        delegates = [self._delegate(expert, "expert"), self._delegate(blocking, "expert_of_a_thread", steps=1)]
        self.session: Any = kind("anthropic:m", [*self._tools(), *delegates], store=self.store, **common)
        self.bus.listen(self._hear)

    # ------------------------------------------------------------------------------------------------ what is asked

    def _model(self, request: Request) -> Step:
        """The model: it makes the calls that the words of the last message ask for."""
        self.comes("model")
        last = request.messages[-1]
        wanted = [word for word in last.text.split() if last.role is not Role.tool]
        if "break" in wanted:
            return Step(act="fail")
        if "cut" in wanted:
            return Step(content=self._calls("quick"), fault="cut", after=4)
        if "typed" in wanted:  # what does not fit is asked for once more
            return Step(text='{"good": "perhaps"}')
        calls = [name.replace("-", " ") for name in wanted if name.replace("-", " ") in (*TOOLS, *IN_THREADS)]
        if calls:
            return Step(content=self._calls(*calls))
        if request.output_schema is not None:
            return Step(text='{"good": true}')
        return Step(text=f"answer {next(self._numbers)}")

    def _calls(self, *names: str) -> tuple[ToolUseBlock, ...]:
        made: list[ToolUseBlock] = []
        for name in names:
            number = next(self._numbers)
            task = {"task": "quick slow pay" if number % 2 else "hello"} if name.startswith("expert") else {}
            made.append(ToolUseBlock(f"c{number}", name.replace(" ", "_"), input=task))
        return tuple(made)

    def _tools(self) -> list[Any]:
        async def quick(context: ToolContext) -> str:
            return self._end(self._begin(context))

        async def slow(context: ToolContext) -> str:
            key = self._begin(context)
            for _ in range(4):
                await asyncio.sleep(0)
            return self._end(key)

        async def stubborn(context: ToolContext) -> str:
            key = self._begin(context)
            with suppress(BaseException):  # what was begun is brought to its end, whoever wants it to stop
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            return self._end(key)

        def plain(context: ToolContext) -> str:
            return self._end(self._begin(context))

        async def raises(context: ToolContext) -> str:
            raise ValueError(self._end(self._begin(context)))

        async def paint(context: ToolContext) -> list[TextBlock | ImageBlock]:
            key = self._begin(context)
            await asyncio.sleep(0)
            return [TextBlock(self._end(key)), PICTURE]

        async def pay(context: ToolContext) -> str:
            key = self._begin(context)
            await asyncio.sleep(0)
            return self._end(key)

        return [quick, slow, stubborn, plain, raises, paint, tool(pay, annotations=ToolAnnotations(destructive=True))]

    def _begin(self, context: ToolContext) -> tuple[str, str]:
        key = str(context.metadata["session_id"]), context.call_id
        self.started[key] += 1
        try:
            self.comes("tool")
        except Boom as error:
            self.ended[key] = str(error)
            raise
        return key

    def _end(self, key: tuple[str, str]) -> str:
        self.ended[key] = f"done {next(self._numbers)}"
        return self.ended[key]

    def _delegate(self, expert: Any, name: str, **limits: Any) -> Any:
        fork, parent = expert.fork, self

        def forked() -> Any:
            run, made = RUNNING.get(), fork()
            assert run is not None
            key = parent.session.id, run.call.id
            parent.started[key] += 1
            parent.forks[key] = made
            return made

        expert.fork = forked
        return expert.as_tool(name, "Knows more.", **limits)

    async def _approve(self, call: ToolUseBlock, _: Any) -> bool:
        await asyncio.sleep(0)
        self.comes("approval")
        await asyncio.sleep(0)
        return True

    def _hear(self, event: Any) -> None:
        """Count the beginnings and ends of turns and tools."""
        kind, _, moment = event.type.removeprefix("session.").rpartition("_")
        if kind in ("tool", "turn"):
            self.told[event.session_id, event.call_id if kind == "tool" else event.turn_id][moment] += 1

    # ------------------------------------------------------------------------------------------------ what is done

    @contextmanager
    def abused(self, abuse: Abuse, does: Callable[[], object]) -> Iterator[None]:
        """Call ``does`` at the moment of the abuse, if it comes within the block."""
        self._abuse, self._left, self._does = abuse, abuse.at, does
        try:
            yield
        finally:
            self._abuse = Abuse()

    def comes(self, moment: str) -> None:
        """Note a moment of this kind, and do the abuse if its moment has come."""
        if self._abuse.deed == "nothing" or moment != self._abuse.moment:
            return
        self._left -= 1
        if self._left == 0:
            self._does()

    def second_turn(self) -> None:
        """Use the session while a turn is running, which must raise."""
        found: list[BaseException] = []

        def turn() -> None:
            for use in (lambda: _waited(self.session.run("at the same time")), self.session.pop):
                try:
                    use()
                except BaseException as error:  # noqa: BLE001
                    found.append(error)

        before = list(self.session.history.messages)
        thread = threading.Thread(target=turn)
        thread.start()
        thread.join(60)
        if not all(type(error) is InvalidRequestError for error in found) or len(found) < 2:
            self.faults.append(f"a second turn was not refused: {found!r}")
        if before != self.session.history.messages:
            self.faults.append("a second turn changed the history")

    # ------------------------------------------------------------------------------------------------ what is true

    def check(self) -> None:
        """Assert that the history of every session agrees with the ledger on each call."""
        assert self.faults == []
        self._wait_for_threads()
        assert max(self.started.values(), default=1) == 1, "a call ran twice"
        for what, moments in self.told.items():
            assert max(moments.values()) == 1, f"told twice of {what}: {moments}"
            assert moments["started"] <= moments["ended"], f"the end of {what} was not told"
        for one in (self.session, *self.forks.values()):
            self._check_session(one)

    def _wait_for_threads(self) -> None:
        """Wait for the experts in threads: those that were given up were cancelled, and need a moment to end."""
        for child in self.forks.values():
            for _ in range(10_000):
                if isinstance(child, Session) or child._turn is None or child._turn.over:
                    break
                time.sleep(0.001)

    def _check_session(self, session: Any) -> None:
        assert validate_tool_results(_settled(session), dialect="anthropic-messages") == []
        if any(session.history.entry(call.id) for call in session.history.open_calls):
            assert session.report.stopped == "failed", "the next turn runs what a failed one left"
        told: dict[str, ToolResultBlock] = {}
        for message in session.history.messages:
            for block in message.content:
                if type(block) is ToolResultBlock:
                    assert block.tool_use_id not in told, "two results for one call"
                    told[block.tool_use_id] = block
        for message in session.history.messages:
            for call in message.content:
                if type(call) is ToolUseBlock and not call.incomplete:
                    self._check_call((session.id, call.id), call, message, told.get(call.id))

    def _check_call(
        self, key: tuple[str, str], call: ToolUseBlock, message: Message, result: ToolResultBlock | None
    ) -> None:
        state: str = message.metadata.get("calls", {}).get(call.id, {}).get("state", "left")
        if result is None:  # it waits for the caller
            assert key not in self.started, f"{call.name} ran, and has no result"
            return
        text = result.content[0].text  # type: ignore[union-attr]
        if key not in self.started:
            assert state in (*NOT_STARTED, "left"), state
            assert text.startswith("Not run: ") or state == "left", text
        elif key in self.forks:
            self._check_delegated(self.forks[key], state, text)
        elif state in ("finished", "failed"):
            assert text.removeprefix("ValueError: ").removeprefix("Boom: ") == self.ended[key]
        else:
            assert state == "interrupted", state
            assert text.startswith("The call was started; its outcome is unknown: "), text
            assert call.name == "plain" or key not in self.ended, "a result that existed was lost"

    def _check_delegated(self, child: Any, state: str, text: str) -> None:
        if state == "finished":
            assert (text, child.report.stopped) == (child.messages[-1].text, "done")
        elif state == "failed":
            assert child.report.stopped != "done", text
        else:
            assert state == "interrupted", state
            assert text.startswith("The call was started; its outcome is unknown: "), text

    def check_end(self) -> None:
        """Check the session after a turn without any abuse."""
        self.check()
        assert self.session.history.open_calls == ()
        assert validate_tool_results(self.script.seen[-1].messages, dialect="anthropic-messages") == []
        assert self.store.saved is not None
        kind = type(self.session)
        loaded = kind.load(self.store, manager=self.session.manager)
        assert loaded.messages == self.session.messages
        assert loaded.undone == self.session.undone


def _waited(found: Any) -> Any:
    return asyncio.run(found) if asyncio.iscoroutine(found) else found


def _settled(session: Any) -> tuple[Message, ...]:
    """The messages, without a last answer whose calls the caller must answer."""
    messages: tuple[Message, ...] = session.messages
    return messages[:-1] if session.history.open_calls and messages[-1].role is Role.assistant else messages
