"""Whatever is done to a session, its history says what really happened to every call, and the next turn works.

Hypothesis chooses what is done, at which moments and in which order; ``abused.py`` checks the outcome.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from interlingua import AdapterError
from interlingua.agent.session import Session, SyncSession
from session.abused import PICTURE, Abuse, Boom, Verdict, World
from session.test_cut_turns import Stepping, Throwing

ERRORS = {"interrupt": KeyboardInterrupt, "exit": SystemExit, "leave": GeneratorExit}
EXPECTED = (AdapterError, Boom, KeyboardInterrupt, SystemExit, GeneratorExit, TimeoutError)


@pytest.fixture(autouse=True)
def _sigint() -> Iterator[None]:
    """Ctrl-C as in a terminal: a shell starts background jobs with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# ------------------------------------------------------------------------------------------------------- what is asked

SAYS = (
    "hello",
    "quick",
    "quick slow plain",
    "raises paint pay",
    "pay pay stubborn",
    "expert",
    "expert-of-a-thread quick",
)
OPTIONS: dict[str, dict[str, Any]] = {
    "": {},
    "typed": {"output": Verdict},
    "steps": {"steps": 1},
    "calls": {"calls": {"quick": 0}},
    "seconds": {"seconds": 60},
    "tokens": {"tokens": 1},
}
WAYS = ("run", "run", "run_stream", "run_stream", "text", "leave", "send", "stream")
WHOLE = ("run", "send", "retry")


def questions() -> st.SearchStrategy[tuple[Any, ...]]:
    words = st.tuples(st.sampled_from((*SAYS, "break", "cut")), st.sampled_from(("", " typed")))
    said = st.tuples(words.map("".join), st.sampled_from(((), (PICTURE,)))).map(lambda one: (one[0], *one[1]))
    return st.tuples(st.sampled_from(WAYS), said, st.sampled_from(tuple(OPTIONS)))


acts = st.one_of(
    questions(),
    st.tuples(st.sampled_from(("run", "run_stream", "retry")), st.just(()), st.sampled_from(("", "typed"))),
    st.tuples(st.sampled_from(("pop", "rewind", "edit")), st.integers(0, 5), st.just("")),
)
abuses = st.one_of(
    st.just(Abuse()),
    st.builds(
        Abuse,
        st.sampled_from(("cancel", "timeout", "session.cancel", "interrupt", "exit", "second turn")),
        st.just("step"),
        st.integers(1, 300),
    ),
    st.builds(Abuse, st.sampled_from(("interrupt", "exit", "leave")), st.just("await"), st.integers(1, 60)),
    st.builds(
        Abuse,
        st.sampled_from(("cancel", "timeout", "session.cancel", "interrupt", "exit", "second turn", "fail")),
        st.sampled_from(("model", "tool", "approval", "save")),
        st.integers(1, 4),
    ),
)
plans = st.lists(st.tuples(acts, abuses), min_size=1, max_size=3)


async def read(stream: Any, events: int | None = None) -> None:
    async with stream:
        async for _ in stream:
            if events is not None:
                events -= 1
                if events <= 0:
                    break


def read_sync(stream: Any, events: int | None = None) -> None:
    with stream:
        for _ in stream:
            if events is not None:
                events -= 1
                if events <= 0:
                    break


async def read_text(stream: Any) -> None:
    async with stream:
        async for _ in stream.text:
            pass


def taken_back(session: Any, how: str, place: int) -> None:
    """Call ``pop``, ``rewind`` or ``edit`` with any message of the session."""
    if how == "pop":
        session.pop()
    elif session.messages:
        message = session.messages[place % len(session.messages)]
        _ = session.rewind(message) if how == "rewind" else session.edit(message, ["quick", PICTURE])


def asked(session: Any, act: tuple[Any, ...], at: int) -> Any:
    """Begin an act of the plan. The result must be awaited if the session is async and it is not None."""
    how, said, named = act
    if how in ("pop", "rewind", "edit"):
        return taken_back(session, how, said)
    options = OPTIONS[named]
    if how in ("send", "stream"):
        options = {name: value for name, value in options.items() if name == "output"}
    is_async = isinstance(session, Session)
    if how in WHOLE:
        return getattr(session, how)(*said, **options)
    stream = (session.stream if how == "stream" else session.run_stream)(*said, **options)
    if not is_async:
        return read_sync(stream, at if how == "leave" else None)
    return read_text(stream) if how == "text" else read(stream, at if how == "leave" else None)


# ------------------------------------------------------------------------------------------------- what is done to it


def raising(error: type[BaseException]) -> Callable[[], object]:
    def does() -> None:
        raise error("told to")

    return does


def disturbed(world: World, act: tuple[Any, ...], abuse: Abuse) -> None:
    """One act of an async session in its own event loop, which the act may end."""
    made: list[Stepping] = []
    session = world.session

    def make() -> Stepping:
        made.append(Stepping(0))
        return made[0]

    async def scene() -> None:
        task, loop = asyncio.current_task(), made[0]
        assert task is not None
        scope = asyncio.timeout(None)
        helpers: list[asyncio.Task[Any]] = []
        deeds: dict[str, Callable[[], object]] = {
            "nothing": lambda: None,
            "cancel": lambda: loop.call_soon_threadsafe(task.cancel),
            "timeout": lambda: loop.call_soon_threadsafe(lambda: scope.reschedule(loop.time())),
            "session.cancel": lambda: loop.call_soon_threadsafe(
                lambda: helpers.append(loop.create_task(session.cancel()))
            ),
            "interrupt": lambda: signal.raise_signal(signal.SIGINT),
            "exit": lambda: loop.call_soon(sys.exit) if abuse.moment == "step" else raising(SystemExit)(),
            "second turn": world.second_turn,
            "fail": raising(OSError if abuse.moment == "save" else Boom),
            "leave": lambda: None,
        }
        does = deeds[abuse.deed]
        if abuse.moment == "step":
            loop.left, loop.act = abuse.at, does
        try:
            with world.abused(abuse, does):
                async with scope:
                    work = asked(session, act, abuse.at)
                    # Python 3.11 takes a stream for running still, in which a GeneratorExit was raised
                    thrown = abuse.moment == "await" and (abuse.deed != "leave" or act[0] in WHOLE)
                    if work is not None and thrown:
                        work = Throwing(work, ERRORS[abuse.deed](), abuse.at)
                    if work is not None:
                        await work
        finally:
            loop.act = None
            for helper in helpers:
                await helper

    with suppress(*EXPECTED, asyncio.CancelledError), asyncio.Runner(loop_factory=make) as runner:
        try:
            runner.run(scene())
        except RuntimeError:  # an interrupt or an exit in the loop's own last step
            if abuse.deed not in ("interrupt", "exit"):
                raise


def disturbed_sync(world: World, act: tuple[Any, ...], abuse: Abuse) -> None:
    """One act of a blocking session. The steps of the loop in which its tools run are counted."""
    made: list[Stepping] = []
    session = world.session

    def from_thread(work: Callable[[], object]) -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)

    deeds: dict[str, Callable[[], object]] = {
        "session.cancel": lambda: from_thread(session.cancel),
        "interrupt": lambda: signal.raise_signal(signal.SIGINT),
        "exit": lambda: made[-1].call_soon(sys.exit) if abuse.moment == "step" else raising(SystemExit)(),
        "second turn": world.second_turn,
        "fail": raising(OSError if abuse.moment == "save" else Boom),
    }
    does = deeds.get(abuse.deed, lambda: None)
    left = [abuse.at]

    def steps() -> None:
        if any("Batch." in repr(task) for task in asyncio.all_tasks(made[-1])):  # not while the loop is closed
            left[0] -= 1
            if left[0] == 0:
                does()

    class Counting(Stepping):
        def _run_once(self) -> None:
            if abuse.moment == "step":
                steps()
            super()._run_once()

    def make() -> Stepping:
        made.append(Counting(0))
        return made[-1]

    with suppress(*EXPECTED), world.abused(abuse, does), mock.patch.object(asyncio, "new_event_loop", make):
        try:
            asked(session, act, abuse.at)
        except RuntimeError:
            if abuse.deed not in ("interrupt", "exit"):
                raise


def carry_out(kind: type[Session] | type[SyncSession], plan: list[tuple[tuple[Any, ...], Abuse]]) -> None:
    world = World(kind)
    for act, abuse in plan:
        (disturbed if kind is Session else disturbed_sync)(world, act, abuse)
        world.check()
    answer = world.session.run("and now?")
    response = asyncio.run(answer) if kind is Session else answer
    assert response.text.startswith("answer ")
    assert world.session.report.stopped == "done"
    world.check_end()


@settings(suppress_health_check=(HealthCheck.too_slow,))
@given(plan=plans)
@pytest.mark.parametrize("kind", [Session, SyncSession])
def test_whatever_is_done_to_a_session(kind: Any, plan: Any) -> None:
    carry_out(kind, plan)


ALL = ("quick slow stubborn plain pay expert expert-of-a-thread",)


@pytest.mark.parametrize("kind", [Session, SyncSession])
@pytest.mark.parametrize("deed", ["cancel", "timeout", "session.cancel", "interrupt", "exit", "second turn", "fail"])
def test_a_session_of_which_something_fails(deed: str, kind: Any) -> None:
    """The model, a tool, the approval or the store fails, at the first, second or third time it is called."""
    for moment in ("model", "tool", "approval", "save"):
        for at in range(1, 4):
            carry_out(kind, [(("run", ALL, ""), Abuse(deed, moment, at))])


@pytest.mark.parametrize("how", ["run", "run_stream"])
@pytest.mark.parametrize("deed", ["cancel", "timeout", "session.cancel", "interrupt", "exit", "second turn"])
def test_a_session_with_experts_at_every_moment(deed: str, how: str) -> None:
    """At every nineteenth step; the random plans above test the steps between."""
    for at in range(1, 500, 19):
        carry_out(Session, [((how, ALL, "typed"), Abuse(deed, "step", at))])
