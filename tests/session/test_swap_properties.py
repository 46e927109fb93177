"""Any conversation, with any moves and any broken answers: every body is accepted by its provider's types.

The history stays legal, ids do not change, signatures go to no other provider, every answer has usage and cost. If no
answer breaks off, the losses are exactly those that the rules of ``travels.py`` predict, and each provider gets the
same history again.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import msgspec
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec.structs import replace

from interlingua import (
    AdapterError,
    CancelledError,
    Event,
    ImageBlock,
    Message,
    TextBlock,
    ToolUseBlock,
    dialect as find,
    validate_tool_results,
)
from interlingua.agent.session import Session, SyncSession
from interlingua.agent.session.saved import Saved, read_saved
from interlingua.client.embedded import Step
from interlingua.types import ErrorClass
from lab.oracles import WARNING, problems
from session.scenes import DIALECTS, check_grammar
from session.travels import (
    PICTURE,
    SHARED,
    TOOLS,
    TURNS,
    Call,
    Said,
    World,
    expected,
    model_of,
    proof,
    spoken,
)

# The same examples in every run; `pytest --hypothesis-profile=thorough` looks for more.
THOROUGH = settings.get_current_profile_name() == "thorough"
odd = settings(suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large))
few = odd if THOROUGH else settings(odd, max_examples=25, derandomize=True)

Way = Literal["send", "run", "stream", "run_stream"]
Kind = Literal["none", "cut", "refused", "overflow", "left", "cancelled"]


class Fault(NamedTuple):
    """How an answer ends before its time: the connection breaks, the provider refuses, the user leaves or cancels."""

    kind: Kind = "none"
    after: int = 0


class Turn(NamedTuple):
    """One turn: the provider, the user's message (None: go on), the answers, which of them breaks, and how.

    ``reload``: before it, the conversation is saved and loaded.
    """

    dialect: str
    user: Sequence[TextBlock | ImageBlock] | None
    answers: tuple[Said, ...]
    way: Way
    breaks: int
    fault: Fault
    reload: bool


class Memory:
    """A store that writes JSON and keeps it."""

    def __init__(self) -> None:
        self.data = b""

    def save(self, saved: Saved, since: int = 0) -> None:
        head = msgspec.to_builtins(saved.head)
        self.data = msgspec.json.encode({**head, "messages": saved.messages})

    def load(self, id: str | None = None) -> Saved:
        return read_saved(self.data, "memory")


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
calls = st.one_of(
    st.builds(lambda a, b: Call("add", {"a": a, "b": b}), st.integers(-9, 9), st.integers(-9, 9)),
    st.builds(lambda place: Call("look", {"place": place}), words),
    st.builds(lambda why: Call("fail", {"why": why}), words),
    st.just(Call("nobody_knows_it", {"x": [None, {"y": 1}]})),
    st.just(Call("add", {"a": "no number"})),
    st.just(Call("add", {}, '{"a": 1, "b"')),
)
answers = st.builds(Said, words, words, st.lists(calls, max_size=3).map(tuple))
users = st.one_of(
    st.none(),
    st.builds(lambda text: [TextBlock(text or "hm")], words),  # nothing at all would be refused
    st.builds(lambda text: [PICTURE, TextBlock(text)], words),
    st.builds(lambda text: [TextBlock(text), TextBlock("?"), PICTURE], words),
)
KINDS: tuple[Kind, ...] = ("cut", "refused", "overflow", "left", "cancelled")
WAYS: tuple[Way, ...] = ("send", "run", "stream", "run_stream")
turns = st.builds(
    Turn,
    st.sampled_from(DIALECTS),
    users,
    st.lists(answers, min_size=1, max_size=3).map(tuple),
    st.sampled_from(WAYS),
    st.integers(0, 2),
    st.just(Fault()) | st.builds(Fault, st.sampled_from(KINDS), st.integers(0, 9)),
    st.booleans(),
)
journeys = st.lists(turns, min_size=1, max_size=5)


def steps(turn: Turn, world: World) -> list[Said | Step]:
    """The answers of the provider in this turn, one of them broken."""
    said: list[Said | Step] = list(turn.answers)
    place = min(turn.breaks, len(said) - 1)
    if turn.fault.kind == "cut":
        blocks = spoken(turn.answers[place], turn.dialect, len(world.sent) + place)
        said[place] = Step(content=blocks, fault="cut", after=turn.fault.after)
    elif turn.fault.kind == "refused":
        said[place] = Step(act="fail", error=ErrorClass.server_error)
    elif turn.fault.kind == "overflow":
        said.insert(place, Step(act="overflow"))
    return said


# ------------------------------------------------------------------------------------------------------ what must hold


def _said(messages: tuple[Message, ...]) -> list[Message]:
    """Messages without the states of their calls, which change while the calls run."""
    return [
        replace(message, metadata={name: fact for name, fact in message.metadata.items() if name != "calls"})
        for message in messages
    ]


def check(session: Session | SyncSession, world: World, before: tuple[Message, ...], checked: int) -> None:
    """Check what must hold after every turn."""
    messages = session.messages
    assert _said(messages[: len(before)]) == _said(before), "what was said stays as it was"
    waiting = [call.id for call in session.history.open_calls]
    for name in DIALECTS:
        assert validate_tool_results(messages, dialect=name) == waiting
    calls = [block.id for message in messages for block in message.content if isinstance(block, ToolUseBlock)]
    assert len(set(calls)) == len(calls)
    assert all(id.startswith("tu_") for id in calls)
    for message in messages:
        if message.origin is not None:
            assert {"usage", "cost_usd", "stop_reason", "routing"} <= set(message.metadata)
    for name, body, _ in world.sent[checked:]:
        check_body(name, body, world)


def check_body(name: str, body: bytes, world: World) -> None:
    """Check that the body is valid, and has no signature of another provider."""
    wire = json.loads(body)
    assert [line for line in problems(wire, name) if not line.startswith(WARNING)] == [], wire
    text = body.decode()
    for number, (other, _, _) in enumerate(world.sent):
        if other != name and {other, name} not in SHARED:
            assert proof(other, number) not in text


def may_raise(turn: Turn, error: AdapterError, session: Session | SyncSession) -> bool:
    """Whether this turn could end in this error."""
    if turn.fault.kind in ("cut", "refused", "overflow") or isinstance(error, CancelledError):
        return True
    return not session.messages and "say something first" in error.message


def ends(turn: Turn, number: int) -> Kind:
    """What the reader of a stream does at this event."""
    return turn.fault.kind if number == turn.fault.after else "none"


# ------------------------------------------------------------------------------------------------------------ blocking


def hold(session: SyncSession, turn: Turn) -> None:
    """One turn, however it ends."""
    try:
        if turn.way in ("send", "run"):
            getattr(session, turn.way)(turn.user)
            return
        events: list[Event] = []
        with getattr(session, turn.way)(turn.user) as stream:
            for number, event in enumerate(stream):
                events.append(event)
                if ends(turn, number) == "left":
                    return
                if ends(turn, number) == "cancelled":
                    session.cancel()
        if events:
            check_grammar(events)
    except AdapterError as error:
        if not may_raise(turn, error, session):
            raise


@few
@given(journeys)
def test_any_conversation_moved_any_way(journey: list[Turn]) -> None:
    world, store = World(), Memory()
    session = SyncSession(model_of(DIALECTS[0]), TOOLS, "Be brief.", manager=world.manager, max_steps=4, store=store)
    for turn in journey:
        before, checked = session.messages, len(world.sent)
        if turn.reload and store.data:
            session = SyncSession.load(store, tools=TOOLS, manager=world.manager, max_steps=4, store=store)
            assert session.messages == before
        session.model = model_of(turn.dialect)
        world.next = steps(turn, world)
        hold(session, turn)
        check(session, world, before, checked)
    for name in DIALECTS:  # and from there to anybody
        before, checked = session.messages, len(world.sent)
        session.model = model_of(name)
        world.next = []
        session.send("Go on.")
        check(session, world, before, checked)


# ------------------------------------------------------------------------------------------------- nothing goes wrong


class Visit(NamedTuple):
    """A turn of the twelve, with whom it is held, and whether streamed; before it, all may be saved and loaded."""

    dialect: str
    turn: int
    streamed: bool
    reload: bool


visits = st.builds(Visit, st.sampled_from(DIALECTS), st.integers(0, len(TURNS) - 1), st.booleans(), st.booleans())


@few
@given(st.lists(visits, min_size=2, max_size=9))
def test_any_sequence_of_moves_loses_what_the_rules_say_and_nothing_else(route: list[Visit]) -> None:
    world, store = World(), Memory()
    session = SyncSession(model_of(route[0].dialect), TOOLS, "Be brief.", manager=world.manager, store=store)
    for visit in route:
        if visit.reload and store.data:
            session = SyncSession.load(store, tools=TOOLS, manager=world.manager, store=store)
        before, checked = session.messages, len(world.sent)
        session.model = model_of(visit.dialect)
        world.next = list(TURNS[visit.turn].answers)
        if visit.streamed:
            check_grammar(list(session.run_stream(TURNS[visit.turn].user)))
        else:
            session.run(TURNS[visit.turn].user)
        check(session, world, before, checked)
        asked = [n for n in range(len(before), len(session.messages)) if session.messages[n].origin is not None]
        due = Counter(loss for place in asked for loss in expected(session.messages[:place], visit.dialect))
        assert Counter((loss.kind, loss.path) for loss in session.report.losses) == due
    check_homecoming(world)


def check_homecoming(world: World) -> None:
    """Each provider gets the same history again, and each of its signatures once, at its place."""
    for name in DIALECTS:
        key = find(name).history_key
        told = [
            (number, json.loads(body)[key]) for number, (spoken, body, _) in enumerate(world.sent) if spoken == name
        ]
        for (number, before), (_, after) in pairwise(told):
            assert json.dumps(after).startswith(json.dumps(before)[:-1])
            signed = proof(name, number)
            if signed.encode() in world.sent[number][2]:
                assert json.dumps(after[len(before) :]).count(signed) == 1


# ------------------------------------------------------------------------------------------------------------- awaited


async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "waited"


async def hold_async(session: Session, turn: Turn, world: World) -> None:
    """One turn; ``cancelled`` ends it, and ``left`` its task, after so many steps of the loop."""

    async def turn_() -> None:
        if turn.way in ("send", "run"):
            await getattr(session, turn.way)(turn.user)
            return
        async with getattr(session, turn.way)(turn.user) as stream:
            events = [event async for event in stream]
        if events:
            check_grammar(events)

    task = asyncio.create_task(turn_())
    if turn.fault.kind in ("left", "cancelled"):
        for _ in range(turn.fault.after * 3):
            await asyncio.sleep(0)
        if turn.fault.kind == "left":
            task.cancel()
        else:
            await session.cancel()
    try:
        await task
    except asyncio.CancelledError:
        assert turn.fault.kind == "left"
    except AdapterError as error:
        if not may_raise(turn, error, session):
            raise


async def travel(journey: list[Turn]) -> None:
    world = World()
    session = Session(model_of(DIALECTS[0]), [*TOOLS, wait], "Be brief.", manager=world.manager, max_steps=4)
    for turn in journey:
        before, checked = session.messages, len(world.sent)
        session.model = model_of(turn.dialect)
        world.next = steps(turn, world)
        await hold_async(session, turn, world)
        check(session, world, before, checked)
    for name in DIALECTS:
        before, checked = session.messages, len(world.sent)
        session.model = model_of(name)
        world.next = []
        await session.send("Go on.")
        check(session, world, before, checked)
    await world.manager.close()


@few
@given(journeys)
def test_any_conversation_cancelled_anywhere(journey: list[Turn]) -> None:
    asyncio.run(travel(journey))
