"""``Session``: the conversation of an application that awaits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from inspect import isawaitable
from typing import Any, Self, Unpack
from weakref import ref

from ...client.adapter import Adapter
from ...client.media import fetch_media
from ...errors import CancelledError
from ...types.events import Event
from ...types.response import Response
from ..routing.attempts import Ask, Fetch
from ..routing.drivers import Steps, answer, drive, drive_stream
from ..tools.running import Batch
from .calls import BY_CALLER
from .options import Content, TurnOptions
from .persistence import StoredConversation
from .turns import Persist, RunTools, Shorten, Turn

__all__ = ["Session", "SessionStream"]


class Cancelling:
    """Whoever cancels the task gets asyncio's own CancelledError, also where the turn ended otherwise meanwhile."""

    __slots__ = ("_before", "_task")

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        self._before = 0 if self._task is None else self._task.cancelling()
        return self

    @property
    def is_cancelled(self) -> bool:
        """Whether the task was cancelled since."""
        return self._task is not None and self._task.cancelling() > self._before

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        if self.is_cancelled and (error is None or isinstance(error, CancelledError | StopAsyncIteration)):
            raise asyncio.CancelledError from None


class SessionStream:
    """The events of a turn as they come. Leaving early keeps what there is, and the history stays legal.

    Leave early inside ``async with``: only then is the connection closed at once.
    """

    def __init__(self, events: AsyncGenerator[Event, None], steps: Steps[Response]) -> None:
        self._events, self._steps = events, steps

    @property
    def response(self) -> Response | None:
        """The last answer, once the turn is over."""
        return self._steps.result

    def __aiter__(self) -> SessionStream:
        return self

    async def __anext__(self) -> Event:
        with Cancelling():
            return await anext(self._events)

    async def __aenter__(self) -> SessionStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop here, also where nobody has begun to read."""
        await self._events.aclose()
        self._steps.close()


class Session(StoredConversation):
    """``send`` asks once, ``run`` goes on until the model wants no more tools; ``stream`` and ``run_stream`` tell the
    same as it comes. ``session.model = …`` moves the conversation between any two turns."""

    _running: Batch | None = None
    _left: tuple[ref[SessionStream], Steps[Response]] | None = None

    async def send(self, content: Content | None = None, **options: Unpack[TurnOptions]) -> Response:
        """One answer. Calls in it are left to the caller: ``answer`` them, or ``run()`` on."""
        turn = self.begin(content, options, loop=False, seconds=None)
        with Cancelling():
            return await drive(Steps(turn.steps()), self._perform)

    async def run(
        self, content: Content | None = None, *, seconds: float | None = None, **options: Unpack[TurnOptions]
    ) -> Response:
        """Answers and tools in turn, until the model is done; the last answer. ``seconds``: for all of it."""
        turn = self.begin(content, options, loop=True, seconds=seconds)
        with Cancelling():
            return await drive(Steps(turn.steps()), self._perform)

    def stream(self, content: Content | None = None, **options: Unpack[TurnOptions]) -> SessionStream:
        """As ``send``, event by event."""
        return self._stream(self.begin(content, options, loop=False, seconds=None))

    def run_stream(
        self, content: Content | None = None, *, seconds: float | None = None, **options: Unpack[TurnOptions]
    ) -> SessionStream:
        """As ``run``, event by event: each answer from ``message.start`` to ``message.complete``."""
        return self._stream(self.begin(content, options, loop=True, seconds=seconds))

    def _stream(self, turn: Turn) -> SessionStream:
        steps = Steps(turn.steps())
        stream = SessionStream(drive_stream(steps, self._perform), steps)
        self._left = ref(stream), steps
        return stream

    def _close_left(self) -> bool:
        if self._left is None or self._left[0]() is not None:
            return False
        steps = self._left[1]
        if isinstance(steps.command, Ask):
            steps.command.leave()
        steps.close()
        return True

    async def _perform(self, command: Any) -> Any:
        if isinstance(command, Ask):
            return await answer(command)
        if isinstance(command, Fetch):
            adapter = command.ask.adapter
            assert isinstance(adapter, Adapter)
            request = command.ask.request
            command.ask.request, lost = await fetch_media(
                request, adapter.dialect, adapter.target(request.model), deadline=command.ask.budget.deadline
            )
            self.report.losses += lost
            return None
        if isinstance(command, RunTools):
            return await self._run_tools(command.batch)
        if isinstance(command, Shorten):
            assert callable(self.overflow)
            shown = self.overflow(command.messages, command.window)
            return await shown if isawaitable(shown) else shown
        assert isinstance(command, Persist)
        return await self._persist()

    async def _persist(self) -> None:
        """``persist`` in a thread. A task that is cancelled meanwhile waits for it, and is cancelled then."""
        if self.store is None:
            return
        writing = asyncio.create_task(asyncio.to_thread(self.persist))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])
            if not writing.cancelled():
                writing.exception()  # or asyncio complains that nobody looked at it
            raise

    async def _persist_waiting(self) -> None:
        await self._persist()

    async def _run_tools(self, batch: Batch) -> None:
        """Run them all, or until the turn is cancelled."""
        self._running = batch
        with Cancelling() as task:
            try:
                await batch.run()
            except asyncio.CancelledError:
                if self._turn is None or not self._turn.cancelled or task.is_cancelled:
                    raise
            finally:
                self._running = None

    async def cancel(self) -> bool:
        """End the turn that runs: what there is of its answer is kept. Whether there was one."""
        turn = self._turn
        if turn is None or turn.over or turn.cancelled:
            return False
        turn.cancelled = True
        if self._running is not None:
            self._running.stop(BY_CALLER)
            return True
        return await self.router.cancel(turn.request_id)

    async def close(self) -> None:
        """Cancel what runs, and close connections and store if they are the session's own."""
        await self.cancel()
        try:
            if self._unsaved:
                await self._persist()
        finally:
            await asyncio.to_thread(self._close_store)
            if self._owns_manager:
                await self.manager.close()

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
