"""However a turn is cut, and at whatever point, the history says what really happened to each call.

Tools write what they do into a ledger outside the session. A turn with several of them is cut at its first step, at its
second, and so on until it ends uncut. Each time the history is compared with the ledger: the states, the results, and
what is stored. Then the session goes on: the next request is legal, and nothing runs twice.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import suppress
from typing import Any

import pytest

from interlingua import (
    Request,
    TextBlock,
    ToolAnnotations,
    ToolContext,
    ToolResultBlock,
    ToolUseBlock,
    validate_tool_results,
)
from interlingua.agent.routing.steps import Steps
from interlingua.agent.session import Session, SyncSession
from interlingua.agent.session.history import History
from interlingua.agent.session.saved import Saved
from interlingua.agent.session.turns import Turn
from interlingua.agent.tools import tool
from interlingua.client.embedded import Script, Step, call
from session.scenes import scripted

DESTRUCTIVE = ToolAnnotations(destructive=True)
NAMES = ("quick", "slow", "plain", "held", "pay", "drop", "again")
CUT = 1500  # more steps than any turn here has
BY_CALLER = "the turn was cancelled by the caller"
INTERRUPTED = "the program was interrupted"


class Memory:
    """A store that keeps the last write."""

    def __init__(self) -> None:
        self.saved: Saved | None = None

    def save(self, saved: Saved, since: int = 0) -> None:
        self.saved = saved

    def load(self, id: str | None = None) -> Saved:
        assert self.saved is not None
        return self.saved

    def state_of(self, id: str) -> str:
        assert self.saved is not None
        entries = [message.metadata["calls"] for message in self.saved.messages if "calls" in message.metadata]
        state: str = entries[-1][id]["state"]
        return state


class Boom(Exception):
    """The exception that an approval raises."""


class World:
    """Tools, the ledger of what they really did, and the model and store of a session."""

    def __init__(self, *, approve: Callable[[], Awaitable[None]] | None = None) -> None:
        self.started: list[str] = []
        self.returned: list[str] = []
        self.gate = threading.Event()
        self.store = Memory()
        self.unsaved: list[str] = []
        self._approve = approve
        self.script = Script(self.model)
        self.settings: dict[str, Any] = {
            "tools": self.tools(),
            "manager": scripted(self.script),
            "approve": self.approve,
            "store": self.store,
        }

    def model(self, request: Request) -> Step:
        """The model: it calls all tools at the first question, and otherwise answers with text."""
        (last,) = request.messages[-1:]
        if last.text == "go":
            return Step(content=tuple(ToolUseBlock(f"c{n}", name) for n, name in enumerate(NAMES)))
        return Step(content=(TextBlock("fine"),))

    def begins(self, context: ToolContext) -> None:
        self.started.append(context.tool_name)
        if self.store.state_of(context.call_id) != "started":
            self.unsaved.append(context.tool_name)

    def ends(self, context: ToolContext) -> str:
        self.returned.append(context.tool_name)
        return f"{context.tool_name} is done"

    async def approve(self, call: ToolUseBlock, _: Any) -> bool:
        await asyncio.sleep(0)
        if call.name == "again" and self._approve is not None:
            await self._approve()
        await asyncio.sleep(0)
        return call.name != "drop"

    def tools(self) -> list[Any]:
        async def quick(context: ToolContext) -> str:
            self.begins(context)
            return self.ends(context)

        async def slow(context: ToolContext) -> str:
            self.begins(context)
            for _ in range(8):
                await asyncio.sleep(0)
            self.gate.set()
            return self.ends(context)

        def plain(context: ToolContext) -> str:
            self.begins(context)
            return self.ends(context)

        def held(context: ToolContext) -> str:
            self.begins(context)
            self.gate.wait(60)
            return self.ends(context)

        async def step(context: ToolContext) -> str:
            self.begins(context)
            await asyncio.sleep(0)
            return self.ends(context)

        asking = (tool(step, name=name, annotations=DESTRUCTIVE) for name in ("pay", "drop", "again"))
        return [quick, slow, plain, held, *asking]

    # -------------------------------------------------------------------------------------------------- what is true

    def check(self, session: Session | SyncSession, causes: tuple[str, ...]) -> None:
        """Assert that the history agrees with the ledger."""
        hung = not self.gate.is_set()
        assert self.unsaved == [], "started was stored before the handler ran"
        assert validate_tool_results(session.messages, dialect="anthropic-messages") == []
        results = [block for m in session.messages for block in m.content if type(block) is ToolResultBlock]
        told = {result.tool_use_id: result for result in results}
        for message in session.messages:
            for made in message.content:
                if type(made) is ToolUseBlock:
                    text = told[made.id].content[0].text  # type: ignore[union-attr]
                    self.check_call(made.name, message.metadata["calls"][made.id]["state"], text, causes, hung)
        assert len(results) == len(told)
        assert self.store.saved is None or list(self.store.saved.messages) == list(session.messages)

    def check_call(self, name: str, state: str, text: str, causes: tuple[str, ...], hung: bool) -> None:
        declined = "The user declined this call of `drop`, so it was not run."
        not_run = [f"Not run: {cause}." for cause in causes]
        unknown = [f"The call was started; its outcome is unknown: {cause}." for cause in causes]
        if name not in self.started:
            assert state in ("offered", "asked", "approved")
            assert text in not_run or (name == "drop" and text == declined), text
        elif state == "finished":
            assert name in self.returned
            assert text == f"{name} is done"
        else:
            assert state == "interrupted"
            assert text in unknown, text
            assert name in ("plain", "held") or name not in self.returned, "a result that existed was lost"
        if name == "held" and name in self.started and hung:
            assert state == "interrupted"

    def check_going_on(self) -> None:
        """Check the session after a further turn."""
        assert validate_tool_results(self.script.seen[-1].messages, dialect="anthropic-messages") == []
        assert len(self.started) == len(set(self.started)), "a call ran twice"
        self.gate.set()


# ---------------------------------------------------------------------------------------------------- cut at each step


class Stepping(asyncio.SelectorEventLoop):
    """A loop that does something at its n-th step."""

    def __init__(self, at: int, act: Callable[[], object] | None = None) -> None:
        super().__init__()
        self.left, self.act = at, act

    def _run_once(self) -> None:
        self.left -= 1
        if self.left == 0 and self.act is not None:
            self.act()
        super()._run_once()  # type: ignore[misc]


async def turn(session: Session, how: str, content: str) -> None:
    if how == "run":
        await session.run(content)
    else:
        async with session.run_stream(content) as events:
            async for _ in events:
                pass


def every_step() -> Iterator[int]:
    yield from range(1, CUT)
    raise AssertionError("the turn never ended")


def cut_by_cancel(world: World, session: Session, how: str, at: int) -> bool:
    async def scene() -> bool:
        task = asyncio.create_task(turn(session, how, "go"))
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Stepping)
        loop.left, loop.act = at, task.cancel
        with suppress(asyncio.CancelledError):
            await task
        loop.act = None
        return task.cancelled()

    return in_loop(scene, world, session)


def cut_by_timeout(world: World, session: Session, how: str, at: int) -> bool:
    async def scene() -> bool:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Stepping)
        try:
            async with asyncio.timeout(None) as scope:
                loop.left, loop.act = at, lambda: scope.reschedule(loop.time())
                await turn(session, how, "go")
                loop.act = None
        except TimeoutError:
            return True
        return False

    return in_loop(scene, world, session)


def in_loop(scene: Callable[[], Any], world: World, session: Session) -> bool:
    """Whether the turn was cut. If so, check the history and go on in the same event loop."""

    async def main() -> bool:
        cut: bool = await scene()
        world.check(session, (BY_CALLER,))
        await session.run("go on")
        return cut

    with asyncio.Runner(loop_factory=lambda: Stepping(0)) as runner:
        return runner.run(main())


def cut_by_interrupt(world: World, session: Session, how: str, at: int) -> bool:
    """Ctrl-C. Asyncio cancels the task for it, and raises it when the task has ended."""
    return in_dying_loop(world, session, how, at, lambda: signal.raise_signal(signal.SIGINT))


def cut_by_exit(world: World, session: Session, how: str, at: int) -> bool:
    """``sys.exit`` in a callback. Asyncio leaves the loop at once, and cancels its tasks afterwards."""
    return in_dying_loop(world, session, how, at, lambda: asyncio.get_running_loop().call_soon(sys.exit))


def in_dying_loop(world: World, session: Session, how: str, at: int, act: Callable[[], object]) -> bool:
    made: list[Stepping] = []

    def make() -> Stepping:
        made.append(Stepping(at, act))
        return made[0]

    async def main() -> None:
        try:
            await turn(session, how, "go")
        finally:
            made[0].act = None  # what comes now is no part of the turn

    cut = False
    try:
        with asyncio.Runner(loop_factory=make) as runner:
            runner.run(main())
    except (KeyboardInterrupt, SystemExit, RuntimeError):  # the last: an interrupt in the loop's own last step
        cut = True
    world.check(session, (BY_CALLER,))
    asyncio.run(session.run("go on"))
    return cut


WAYS = {
    "task.cancel()": cut_by_cancel,
    "asyncio.timeout": cut_by_timeout,
    "KeyboardInterrupt": cut_by_interrupt,
    "SystemExit": cut_by_exit,
}


@pytest.mark.parametrize("how", ["run", "run_stream"])
@pytest.mark.parametrize("way", WAYS)
def test_cut_at_every_step_of_the_loop(way: str, how: str) -> None:
    for at in every_step():
        world = World()
        cut = WAYS[way](world, Session("anthropic:m", **world.settings), how, at)
        world.check_going_on()
        if not cut:
            assert sorted(world.returned) == sorted(set(NAMES) - {"drop"})
            break


# --------------------------------------------------------------------------------------- thrown in at each await


class Throwing:
    """Awaits a coroutine, and throws an exception into it where it waits for the n-th time."""

    def __init__(self, work: Any, error: BaseException, at: int) -> None:
        self.work, self.error, self.left = work, error, at

    def __await__(self) -> Generator[Any, Any, Any]:
        steps, value = self.work.__await__(), None
        try:
            while True:
                waits = steps.send(value)
                self.left -= 1
                if self.left == 0:
                    waits = steps.throw(self.error)
                value = yield waits
        except StopIteration as end:
            return end.value


THROWN = [(error, how) for error in (KeyboardInterrupt, SystemExit) for how in ("run", "run_stream")]


@pytest.mark.parametrize(("error", "how"), [*THROWN, (GeneratorExit, "run")])
def test_cut_at_every_await_of_the_turn(error: type[BaseException], how: str) -> None:
    """An exception at an await, as a signal raises it while the session's own code runs."""

    async def scene(at: int) -> bool:
        world = World()
        session = Session("anthropic:m", **world.settings)
        cut = False
        try:
            await Throwing(turn(session, how, "go"), error(), at)
        except error:
            cut = True
        causes = (INTERRUPTED,) if error is not GeneratorExit else ("the caller left before the turn was over",)
        if error is GeneratorExit:  # nothing can be stored any more: the next turn does it
            world.store.saved = None
        world.check(session, causes)
        await session.run("go on")
        world.check_going_on()
        return cut

    for at in every_step():
        if not asyncio.run(scene(at)):
            break


# ------------------------------------------------------------------------------------------------- approvals that raise


def waited(run: Callable[[str], Any], content: str) -> None:
    """Run a turn; in an event loop, if it must be awaited."""
    found = run(content)
    if asyncio.iscoroutine(found):
        asyncio.run(found)


@pytest.mark.parametrize("error", [Boom, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("kind", [Session, SyncSession])
def test_an_approval_that_raises_at_any_moment(kind: type[Session] | type[SyncSession], error: Any) -> None:
    for steps in range(16):

        async def approve(steps: int = steps) -> None:
            for _ in range(steps):
                await asyncio.sleep(0)
            raise error

        world = World(approve=approve)
        session: Any = kind("anthropic:m", **world.settings)
        with pytest.raises(error):
            waited(session.run, "go")
        causes = ("the approval function raised Boom",) if error is Boom else (INTERRUPTED,)
        world.check(session, causes)
        waited(session.run, "go on")
        world.check_going_on()


# ------------------------------------------------------------------------------------------------- sessions that block


@pytest.fixture
def _sigint() -> Iterator[None]:
    """Ctrl-C as in a terminal: a shell starts background jobs with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_sigint")
@pytest.mark.parametrize("act", ["KeyboardInterrupt", "SystemExit"])
def test_a_session_that_blocks_is_cut_at_every_step(act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Stepping] = []
    ways: dict[str, Callable[[], object]] = {
        "KeyboardInterrupt": lambda: signal.raise_signal(signal.SIGINT),
        "SystemExit": lambda: made[-1].call_soon(sys.exit),
    }
    for at in every_step():

        def cut_it() -> None:
            if any("Batch.run" in repr(task) for task in asyncio.all_tasks(made[-1])):  # not while the loop is closed
                ways[act]()

        def make(at: int = at) -> Stepping:
            made.append(Stepping(at, cut_it))
            return made[-1]

        world = World()
        session = SyncSession("anthropic:m", **world.settings)
        cut = False
        with monkeypatch.context() as patch:
            patch.setattr(asyncio, "new_event_loop", make)
            try:
                session.run("go")
            except (KeyboardInterrupt, SystemExit, RuntimeError):  # the last: an exit in the loop's own last step
                cut = True
        world.check(session, (INTERRUPTED,))
        session.run("go on")
        world.check_going_on()
        if not cut:
            break
    assert len(made) > 10


# ------------------------------------------------------------------------------- signals that come where nobody waits


def interrupted_once(owner: Any, name: str, monkeypatch: pytest.MonkeyPatch, *, after: bool = False) -> None:
    """The first call of this method is interrupted, as a signal may interrupt any line."""
    usual, told = getattr(owner, name), []

    def interrupted(*given: Any) -> Any:
        if told:
            return usual(*given)
        told.append(name)
        if after:
            usual(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)


@pytest.mark.parametrize(
    ("owner", "name", "after"),
    [
        (History, "conclude", False),
        (History, "note_states", False),
        (History, "note_states", True),
        (Turn, "_conclude", False),
    ],
)
def test_results_are_kept_though_writing_them_is_interrupted(
    owner: Any, name: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []

    def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return f"paid {amount}"

    session = SyncSession("embedded:", [pay], script=[call("pay", amount=7), "done"])
    interrupted_once(owner, name, monkeypatch, after=after)
    with pytest.raises(KeyboardInterrupt):
        session.run("pay!")
    (result,) = session.messages[2].content
    assert isinstance(result, ToolResultBlock)
    assert result.content == (TextBlock("paid 7"),)
    assert session.run().text == "done"
    assert ran == [7]


def test_a_turn_that_is_interrupted_before_it_begins_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    session = SyncSession("embedded:", script=["one", "two"])
    session.send("first")
    interrupted_once(Steps, "reply", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        session.send("second")
    assert session.send("third").text == "two"
    assert [message.text for message in session.messages] == ["first", "one", "third", "two"]


@pytest.mark.parametrize("way", ["run", "run_stream"])
def test_a_turn_that_is_interrupted_between_two_steps_is_over(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = SyncSession("embedded:", script=["one", "two"])
    usual = Steps.__init__

    def begun(steps: Any, *given: Any) -> None:
        usual(steps, *given)
        interrupted_once(Steps, "reply", monkeypatch)

    monkeypatch.setattr(Steps, "__init__", begun)
    with pytest.raises(KeyboardInterrupt) as raised:
        list(session.run_stream("first")) if way == "run_stream" else session.run("first")
    assert raised.tb is not None, "an interactive shell keeps the traceback, and no turn with it"
    monkeypatch.setattr(Steps, "__init__", usual)
    assert session.send("second").text == {"run": "two", "run_stream": "one"}[way]
