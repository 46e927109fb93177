"""One timer for the time limits of all requests: late ones are ended, others go on, finished ones are forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from client.support import run
from interlingua.client.transport.timeouts import SharedTimer, TimedRequest

Scene = Callable[["Clock"], Awaitable[None]]


class Clock:
    """A shared timer whose clock the test moves."""

    def __init__(self) -> None:
        self.time = 0.0
        self.timer = SharedTimer()
        self.timer.now = lambda: self.time

    def at(self, time: float) -> None:
        """The timer goes off at this time."""
        self.time = time
        self.timer._check()


def on_stage(scene: Scene) -> None:
    async def play() -> None:
        clock = Clock()
        try:
            await scene(clock)
        finally:
            clock.timer.close()

    run(play())


def body(clock: Clock, total: float | None, patience: float | None) -> tuple[TimedRequest, list[str]]:
    """A request whose head has been received."""
    ended: list[str] = []
    timed = TimedRequest(clock.timer, total, patience)
    with timed:
        pass
    timed.close = lambda: ended.append("closed")
    return timed, ended


def test_silence_counts_from_the_last_bytes() -> None:
    async def scene(clock: Clock) -> None:
        timed, ended = body(clock, None, 10)
        for time in (0, 6, 12, 18):
            clock.time = time
            timed.wait()
        clock.at(20)
        assert not ended
        clock.at(28)
        assert ended == ["closed"]
        assert timed.is_late

    on_stage(scene)


def test_silence_counts_only_while_somebody_waits() -> None:
    async def scene(clock: Clock) -> None:
        timed, ended = body(clock, None, 10)
        timed.wait()
        timed.waiting_since = None
        clock.at(50)
        assert not ended
        assert not timed.is_registered  # and so it keeps nothing alive
        timed.wait()
        clock.at(59)
        assert not ended
        clock.at(60)
        assert ended == ["closed"]

    on_stage(scene)


def test_a_deadline_ends_an_answer_that_still_comes() -> None:
    async def scene(clock: Clock) -> None:
        timed, ended = body(clock, 15, None)
        other, others = body(clock, 40, None)
        clock.at(14)
        assert not ended
        clock.at(15)
        assert (ended, others) == (["closed"], [])
        assert other.is_registered
        assert not timed.is_registered

    on_stage(scene)


def test_the_timer_is_set_for_the_first_request_that_is_due() -> None:
    async def scene(clock: Clock) -> None:
        dues: list[float] = []
        for total in (600, 700, 5, 800):
            body(clock, total, None)
            dues.append(clock.timer._at)
        assert dues == [600, 600, 5, 5]
        clock.at(5)
        assert clock.timer._at == 600

    on_stage(scene)


def test_a_finished_request_is_forgotten() -> None:
    async def scene(clock: Clock) -> None:
        timed, ended = body(clock, 15, 10)
        timed.wait()
        timed.end()
        timed.end()
        clock.at(100)
        assert not ended
        assert not clock.timer._known

    on_stage(scene)


def test_before_the_head_a_deadline_is_a_timeout_and_no_cancellation() -> None:
    async def scene(clock: Clock) -> None:
        async def send() -> None:
            with TimedRequest(clock.timer, 15, None):
                await asyncio.Event().wait()

        task = asyncio.create_task(send())
        await asyncio.sleep(0)
        clock.at(15)
        with pytest.raises(TimeoutError):
            await task
        assert task.cancelling() == 0
        assert not clock.timer._known

    on_stage(scene)


@pytest.mark.parametrize("late_first", [True, False])
def test_a_cancelled_task_wins_over_the_deadline(late_first: bool) -> None:
    async def scene(clock: Clock) -> None:
        async def send() -> None:
            with TimedRequest(clock.timer, 15, None):
                await asyncio.Event().wait()

        task = asyncio.create_task(send())
        await asyncio.sleep(0)
        steps = [lambda: clock.at(15), task.cancel]
        for step in steps if late_first else reversed(steps):
            step()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelling() == 1  # theirs

    on_stage(scene)
