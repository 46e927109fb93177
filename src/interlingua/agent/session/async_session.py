"""``Session``: a conversation in an async application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from inspect import isawaitable
from typing import Any, Unpack
from weakref import ref

from ...client.asking import RETRIES
from ...client.media import fetch_media
from ...errors import CancelledError
from ...types.events import Event, TextDelta
from ...types.output import OutputType, T
from ...types.response import Response
from ...types.session_events import SessionEvent
from ..routing.model_calls import CallModel, FetchMedia
from ..routing.steps import Steps, run_steps, stream_steps
from ..tools.binding import BoundTool
from ..tools.running import cancellations
from .call_states import BY_CALLER
from .delegating import async_tool
from .options import Content, RunOptions, TurnOptions
from .stored_conversation import StoredConversation
from .turn_stream import E, TurnStream
from .turns import Persist, RunTools, Shorten, Turn

__all__ = ["Session", "SessionStream"]


class SessionStream(TurnStream[E, T]):
    """The events of a turn as they arrive. If it is left early, the history keeps what has arrived, and stays valid.

    To leave early, use ``async with``: only then is the connection closed at once.
    """

    _events: AsyncGenerator[E, None]

    @property
    def text(self) -> AsyncIterator[str]:
        """The text of the answer without other events, piece by piece as it arrives."""
        return self._text()

    async def _text(self) -> AsyncIterator[str]:
        async for event in self:
            if isinstance(event, TextDelta):
                yield event.text

    def __aiter__(self) -> SessionStream[E, T]:
        return self

    async def __anext__(self) -> E:
        before = cancellations()
        try:
            event = await anext(self._events)
        except (CancelledError, StopAsyncIteration):
            if cancellations() > before:
                raise asyncio.CancelledError from None
            raise
        if cancellations() > before:
            raise asyncio.CancelledError
        if self._partial is not None:
            self._partial.see(event)
        return event

    async def __aenter__(self) -> SessionStream[E, T]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the stream and its connection, even before the first event was read."""
        await self._events.aclose()
        self._steps.close()


def _watch(command: Any) -> AsyncGenerator[SessionEvent, None] | None:
    return command.batch.watch() if isinstance(command, RunTools) else None


class Session(StoredConversation):
    """``send`` calls the model once, ``run`` goes on until the model calls no more tools; ``stream`` and ``run_stream``
    are the same with events. ``session.model = …`` moves the conversation to another model between two turns."""

    _last_stream: tuple[ref[SessionStream[Any, Any]], Steps[Response]] | None = None

    async def send(
        self,
        *content: Content | None,
        output: OutputType[T] = None,
        output_retries: int = RETRIES,
        **options: Unpack[TurnOptions],
    ) -> Response[T]:
        """Call the model once and return its answer. Its tool calls are not run: ``answer`` them, or call ``run()``.

        ``output`` is the type of ``response.output``. An answer that does not fit goes back to the model with the
        reason, ``output_retries`` times at most; then ``OutputError`` is raised.
        """
        turn = self.begin(content, options, loop=False, output=output, output_retries=output_retries)
        return await run_steps(Steps(turn.steps()), self._perform)

    async def run(
        self,
        *content: Content | None,
        output: OutputType[T] = None,
        output_retries: int = RETRIES,
        **options: Unpack[RunOptions],
    ) -> Response[T]:
        """Call the model and run its tools until it calls none, or a limit is reached. Returns the last answer."""
        turn = self.begin(content, options, loop=True, output=output, output_retries=output_retries)
        return await run_steps(Steps(turn.steps()), self._perform)

    async def retry(
        self,
        *,
        output: OutputType[T] = None,
        output_retries: int = RETRIES,
        **options: Unpack[RunOptions],
    ) -> Response[T]:
        """Take back the last answer and ask its question again, with the method used before (``send`` or ``run``).

        If the last turn failed without an answer, its question is asked again. If this turn fails too, nothing changes.
        """
        turn = self.begin_retry(options, output=output, output_retries=output_retries)
        return await run_steps(Steps(turn.steps()), self._perform)

    def stream(
        self,
        *content: Content | None,
        output: OutputType[T] = None,
        output_retries: int = RETRIES,
        **options: Unpack[TurnOptions],
    ) -> SessionStream[Event, T]:
        """Like ``send``, but as a stream of events."""
        return self._stream(self.begin(content, options, loop=False, output=output, output_retries=output_retries))

    def run_stream(
        self,
        *content: Content | None,
        output: OutputType[T] = None,
        output_retries: int = RETRIES,
        **options: Unpack[RunOptions],
    ) -> SessionStream[SessionEvent, T]:
        """Like ``run``, but as a stream of events: of each answer (``message.start`` to ``message.complete``), and
        of steps, tools and approvals."""
        turn = self.begin(content, options, loop=True, output=output, output_retries=output_retries)
        turn.watched = True
        return self._stream(turn)

    def as_tool(self, name: str, description: str | None = None, **limits: Unpack[RunOptions]) -> BoundTool[..., Any]:
        """This session as a tool of another session. Each call runs in a fork of this session, within these limits."""
        return async_tool(self, name, description, dict(limits))

    def _stream(self, turn: Turn) -> SessionStream[Any, Any]:
        steps = Steps(turn.steps())
        events = stream_steps(steps, self._perform, _watch)
        stream: SessionStream[Any, Any] = SessionStream(events, steps, turn.output)
        self._last_stream = ref(stream), steps
        return stream

    def _close_dropped_stream(self) -> bool:
        if self._last_stream is None or self._last_stream[0]() is not None:
            return False
        steps = self._last_stream[1]
        if steps.command is None:  # the stream was read to its end: the turn that runs is a later one
            return False
        if isinstance(steps.command, CallModel) and steps.command.stream is not None:
            steps.command.stream.leave()
        steps.close()
        return True

    async def _perform(self, command: Any) -> Any:
        if isinstance(command, FetchMedia):
            request, lost = await fetch_media(
                command.request, command.dialect, command.target, deadline=command.deadline
            )
            self.report.losses += lost
            return request
        if isinstance(command, RunTools):
            return await command.batch.run()
        if isinstance(command, Shorten):
            assert callable(self.overflow)
            shown = self.overflow(command.messages, command.window)
            return await shown if isawaitable(shown) else shown
        assert isinstance(command, Persist)
        return await self._persist_async()

    async def _persist_async(self) -> None:
        """Run ``persist`` in a thread. A task that is cancelled meanwhile ends only when the write has ended."""
        if self.store is None:
            return
        writing = asyncio.create_task(asyncio.to_thread(self.persist))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])
            if not writing.cancelled():
                writing.exception()  # else asyncio logs that it was never retrieved
            raise

    async def cancel(self) -> bool:
        """End the running turn and keep what has arrived of its answer. Return whether a turn was running."""
        turn = self._turn
        if turn is None or turn.over or turn.cancelled:
            return False
        turn.cancelled = True
        if turn.batch is not None:
            turn.batch.end(BY_CALLER)
            return True
        return await self.router.cancel(turn.request_id)

    async def close(self) -> None:
        """Cancel the running turn. Close the connections and the store if the session made them."""
        await self.cancel()
        try:
            if self._unsaved:
                await self._persist_async()
        finally:
            await asyncio.to_thread(self._close_store)
            if self._owns_manager:
                await self.manager.close()

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
