"""``SyncSession``: ``Session`` for synchronous code. Another thread may cancel a turn."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from inspect import isawaitable
from typing import Any, Unpack

from ...client.asking import RETRIES
from ...client.media import fetch_media_sync
from ...types.events import Event, TextDelta
from ...types.output import OutputType, T
from ...types.response import Response
from ...types.session_events import SessionEvent
from ..routing.model_calls import FetchMedia
from ..routing.steps import Steps, run_steps_sync, stream_steps_sync
from ..tools.binding import BoundTool
from ..tools.blocking import iterate_blocking, run_blocking
from .call_states import BY_CALLER
from .delegating import sync_tool
from .options import Content, RunOptions, TurnOptions
from .stored_conversation import StoredConversation
from .turn_stream import E, TurnStream
from .turns import Persist, RunTools, Shorten, Turn

__all__ = ["SyncSession", "SyncSessionStream"]


class SyncSessionStream(TurnStream[E, T]):
    """The events of a turn as they arrive; the synchronous form of ``SessionStream``."""

    _events: Generator[E, None, None]

    @property
    def text(self) -> Iterator[str]:
        """The text of the answer without other events, piece by piece as it arrives."""
        return (event.text for event in self if isinstance(event, TextDelta))

    def __iter__(self) -> Iterator[E]:
        for event in self._events:
            if self._partial is not None:
                self._partial.see(event)
            yield event

    def __enter__(self) -> SyncSessionStream[E, T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the stream and its connection, even before the first event was read."""
        self._events.close()
        self._steps.close()


def _watch(command: Any) -> Generator[SessionEvent, None, None] | None:
    return iterate_blocking(command.batch.watch()) if isinstance(command, RunTools) else None


class SyncSession(StoredConversation):
    """``send``, ``run``, ``stream`` and ``run_stream``, as in ``Session``."""

    blocking = True

    def send(
        self,
        *content: Content | None,
        output: OutputType[T] = None,
        output_retries: int = RETRIES,
        **options: Unpack[TurnOptions],
    ) -> Response[T]:
        """Like ``Session.send``: call the model once; its tool calls are not run."""
        turn = self.begin(content, options, loop=False, output=output, output_retries=output_retries)
        return run_steps_sync(Steps(turn.steps()), self._perform)

    def run(
        self,
        *content: Content | None,
        output: OutputType[T] = None,
        output_retries: int = RETRIES,
        **options: Unpack[RunOptions],
    ) -> Response[T]:
        """Like ``Session.run``: call the model and run its tool calls in turn. Returns the last answer."""
        turn = self.begin(content, options, loop=True, output=output, output_retries=output_retries)
        return run_steps_sync(Steps(turn.steps()), self._perform)

    def retry(
        self,
        *,
        output: OutputType[T] = None,
        output_retries: int = RETRIES,
        **options: Unpack[RunOptions],
    ) -> Response[T]:
        """Like ``Session.retry``: take back the last answer and ask its question again."""
        turn = self.begin_retry(options, output=output, output_retries=output_retries)
        return run_steps_sync(Steps(turn.steps()), self._perform)

    def stream(
        self,
        *content: Content | None,
        output: OutputType[T] = None,
        output_retries: int = RETRIES,
        **options: Unpack[TurnOptions],
    ) -> SyncSessionStream[Event, T]:
        """Like ``send``, but as an iterator of events."""
        return self._stream(self.begin(content, options, loop=False, output=output, output_retries=output_retries))

    def run_stream(
        self,
        *content: Content | None,
        output: OutputType[T] = None,
        output_retries: int = RETRIES,
        **options: Unpack[RunOptions],
    ) -> SyncSessionStream[SessionEvent, T]:
        """Like ``run``, but as an iterator of events. Asynchronous tools pause between an event and the next request
        for one: their event loop runs only while the caller waits for an event."""
        turn = self.begin(content, options, loop=True, output=output, output_retries=output_retries)
        turn.watched = True
        return self._stream(turn)

    def as_tool(self, name: str, description: str | None = None, **limits: Unpack[RunOptions]) -> BoundTool[..., Any]:
        """This session as a tool of another session. Each call runs in a fork of this session, within these limits."""
        return sync_tool(self, name, description, dict(limits))

    def _stream(self, turn: Turn) -> SyncSessionStream[Any, Any]:
        steps = Steps(turn.steps())
        return SyncSessionStream(stream_steps_sync(steps, self._perform, _watch), steps, turn.output)

    def _perform(self, command: Any) -> Any:
        if isinstance(command, FetchMedia):
            request, lost = fetch_media_sync(
                command.request, command.dialect, command.target, deadline=command.deadline
            )
            self.report.losses += lost
            return request
        if isinstance(command, RunTools):
            return run_blocking(command.batch.run())
        if isinstance(command, Shorten):
            assert callable(self.overflow)
            shown = self.overflow(command.messages, command.window)
            if isawaitable(shown):
                raise TypeError("SyncSession needs an overflow strategy that is not async")
            return shown
        assert isinstance(command, Persist)
        self.persist()
        return None

    def cancel(self) -> bool:
        """End the running turn, from any thread. Tools that run are waited for. Return whether a turn was running."""
        turn = self._turn
        if turn is None or turn.over or turn.cancelled:
            return False
        turn.cancelled = True
        if (batch := turn.batch) is not None:  # read once: another thread may set it to None
            batch.close(BY_CALLER)
            return True
        return self.router.cancel_sync(turn.request_id)

    def close(self) -> None:
        """Cancel the running turn. Close the connections and the store if the session made them."""
        self.cancel()
        self._close_store()
        if self._owns_manager:
            self.manager.close_sync()

    def __enter__(self) -> SyncSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
