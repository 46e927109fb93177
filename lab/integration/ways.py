"""Four ways to hold the same conversation: awaited and blocking, whole answers and streams."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

from interlingua.agent.session import Session, SyncSession
from interlingua.client.embedded import LoopbackServer
from interlingua.codec.streams.grammar import StreamGrammar
from interlingua.errors import AdapterError, CancelledError
from interlingua.types.events import Event, MessageStart, TextDelta
from interlingua.types.loss import Loss

from .rows import Turn

__all__ = ["WAYS", "Scene"]

PATIENCE = 20.0
"""Seconds after which a row fails because its server was never called. This is not a measurement."""


class Scene:
    """One conversation while it is held. ``make`` makes its session; problems and losses are collected."""

    def __init__(self, make: Callable[[type[Any]], Any], server: LoopbackServer, turns: Sequence[Turn]) -> None:
        self.make, self.server, self.turns = make, server, turns
        self.session: Any = None
        self.problems: list[str] = []
        self.losses: list[Loss] = []

    def failed(self, turn: Turn, error: AdapterError) -> None:
        """Note an error that a turn raised, unless the turn was to end like this."""
        if turn.end != ("cancelled" if isinstance(error, CancelledError) else "broken"):
            self.problems.append(f"{turn.text!r}: {type(error).__name__}: {error}")

    def ended(self, turn: Turn, *, streamed: bool = False) -> None:
        """Note a turn that ended without an error though it should not. Cancelled streams end without an error."""
        if turn.end == "broken" or (turn.end == "cancelled" and not streamed):
            self.problems.append(f"{turn.text!r} should have been {turn.end}")

    def asked_again(self) -> Callable[[], bool]:
        """A function that says whether the server has got another request since this call."""
        before = self.server.script.asked
        return lambda: self.server.script.asked > before


def _is_last(event: Event, turn: Turn) -> bool:
    return turn.end == "cancelled" and isinstance(event, TextDelta) and event.text == turn.last


def _check_grammar(events: Sequence[Event]) -> None:
    """Check that every answer among the events is well formed."""
    grammar = StreamGrammar()
    for event in events:
        if isinstance(event, MessageStart):
            grammar = StreamGrammar()
        grammar.check(event)
    assert grammar.state == "done"


def _wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true() and time.monotonic() < deadline:
        time.sleep(0.001)


# ------------------------------------------------------------------------------------------------------------ awaited


async def _run(scene: Scene, session: Session, turn: Turn) -> None:
    asked = scene.asked_again()
    task = asyncio.create_task(session.run(turn.text))
    if turn.end == "cancelled":
        await asyncio.to_thread(_wait_until, asked)
        await session.cancel()
    await task
    scene.ended(turn)


async def _run_stream(scene: Scene, session: Session, turn: Turn) -> None:
    events: list[Event] = []
    try:
        async with session.run_stream(turn.text) as stream:
            async for event in stream:
                if not isinstance(event, Event):
                    continue  # of a step or a tool
                events.append(event)
                if _is_last(event, turn):
                    await session.cancel()
        scene.ended(turn, streamed=True)
    finally:
        _check_grammar(events)


def _awaited(one: Callable[[Scene, Session, Turn], Any]) -> Callable[[Scene], None]:
    async def play(scene: Scene) -> None:
        scene.session = scene.make(Session)
        async with scene.session.manager:
            for turn in scene.turns:
                try:
                    await one(scene, scene.session, turn)
                except AdapterError as error:
                    scene.failed(turn, error)
                scene.losses += scene.session.report.losses

    return lambda scene: asyncio.run(play(scene))


# ----------------------------------------------------------------------------------------------------------- blocking


def _run_sync(scene: Scene, session: SyncSession, turn: Turn) -> None:
    ender: Thread | None = None
    if turn.end == "cancelled":
        ender = Thread(target=_cancel_once_asked, args=(session, scene.asked_again()))
        ender.start()
    try:
        session.run(turn.text)
    finally:
        if ender is not None:
            ender.join()
    scene.ended(turn)


def _cancel_once_asked(session: SyncSession, asked: Callable[[], bool]) -> None:
    _wait_until(asked)
    session.cancel()


def _run_stream_sync(scene: Scene, session: SyncSession, turn: Turn) -> None:
    events: list[Event] = []
    try:
        with session.run_stream(turn.text) as stream:
            for event in stream:
                if not isinstance(event, Event):
                    continue  # of a step or a tool
                events.append(event)
                if _is_last(event, turn):
                    session.cancel()
        scene.ended(turn, streamed=True)
    finally:
        _check_grammar(events)


def _blocking(one: Callable[[Scene, SyncSession, Turn], None]) -> Callable[[Scene], None]:
    def play(scene: Scene) -> None:
        scene.session = scene.make(SyncSession)
        with scene.session.manager:
            for turn in scene.turns:
                try:
                    one(scene, scene.session, turn)
                except AdapterError as error:
                    scene.failed(turn, error)
                scene.losses += scene.session.report.losses

    return play


WAYS: dict[str, Callable[[Scene], None]] = {
    "Session.run": _awaited(_run),
    "Session.run_stream": _awaited(_run_stream),
    "SyncSession.run": _blocking(_run_sync),
    "SyncSession.run_stream": _blocking(_run_stream_sync),
}
