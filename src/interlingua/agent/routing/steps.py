"""The loops that perform the commands of a generator: async and blocking, for whole answers and for streams.

The generators decide what is done and do no I/O; the loops do it. The loops call models themselves and pass all other
commands to the function ``perform``. When streaming, ``watch`` performs the commands that have events of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import aclosing
from typing import Any, Generic, TypeVar, cast

from ...client.adapter import ProviderAdapter
from ...client.async_client import AsyncClient, AsyncStream
from ...client.held_events import HeldEvents
from ...client.sync_client import Client, Stream
from ...codec.limits import Limits
from ...errors import AdapterError, CancelledError
from ...types.events import Event
from ...types.response import Response
from ...types.session_events import SessionEvent
from ..tools.running import cancellations
from .model_calls import CallModel, EmitEvent

__all__ = ["Steps", "run_steps", "run_steps_sync", "stream_steps", "stream_steps_sync"]

R = TypeVar("R")


def _performs_nothing(command: Any) -> Any:
    """The ``perform`` of steps that only call models."""
    raise TypeError(f"nobody performs {type(command).__name__}")


class Steps(Generic[R]):
    """A generator of commands. ``command`` is the one to perform now; None at the end, when ``result`` is set."""

    command: Any = None
    unseen: Sequence[Event] = ()
    """The events of the last failed model call that were held back from the reader of the stream."""

    def __init__(self, steps: Generator[Any, Any, R]) -> None:
        self._steps = steps
        self.result: R | None = None
        self.reply(None)

    def reply(self, value: Any) -> None:
        """Send the result of the command to the generator, which goes on to its next command."""
        try:
            self.command = self._steps.send(value)
        except StopIteration as end:
            self.command, self.result = None, end.value

    def fail(self, error: BaseException) -> None:
        """Raise the error of the command in the generator. It comes out again unless the generator handles it."""
        if isinstance(self.command, CallModel) and isinstance(error, AdapterError):
            self.unseen = self.command.unseen
        try:
            self.command = self._steps.throw(error)
        except StopIteration as end:
            self.command, self.result = None, end.value

    def close(self) -> None:
        """Stop the generator. Commands that it yields while it ends are not performed."""
        try:
            self._steps.throw(GeneratorExit())
        except (GeneratorExit, StopIteration):
            pass
        finally:
            self._steps.close()
            self.command = None

    def __del__(self) -> None:
        if self.command is not None:
            self.close()


async def run_steps(steps: Steps[R], perform: Callable[[Any], Awaitable[Any]] = _performs_nothing) -> R:
    """Perform all commands and return the result. If the task is cancelled meanwhile, asyncio's CancelledError is
    raised, even if the steps return a result or raise another error."""
    before = cancellations()
    try:
        while (command := steps.command) is not None:
            try:
                if not isinstance(command, CallModel):
                    value = await perform(command)
                elif isinstance(command.adapter, AsyncClient):
                    value = await command.adapter.complete(command.request, budget=command.budget)
                else:
                    value = await _complete_by_other(command)
            except GeneratorExit:  # the coroutine was closed, so nothing can be awaited any more
                steps.close()
                raise
            except BaseException as error:  # noqa: BLE001  # the generator decides
                steps.fail(error)
            else:
                steps.reply(value)
    except CancelledError:
        if cancellations() > before:
            raise asyncio.CancelledError from None
        raise
    if cancellations() > before:
        raise asyncio.CancelledError
    return cast("R", steps.result)


async def stream_steps(
    steps: Steps[Any],
    perform: Callable[[Any], Awaitable[Any]] = _performs_nothing,
    watch: Callable[[Any], AsyncGenerator[SessionEvent, None] | None] = lambda _: None,
) -> AsyncGenerator[Any, None]:
    """Perform all commands and yield the events of every answer, and those of ``watch``, as they arrive."""
    try:
        while (command := steps.command) is not None:
            value: Any = None
            try:
                if isinstance(command, CallModel):
                    async with aclosing(_open_stream(command)) as events:
                        async for event in events:
                            yield command.pass_on(event)
                    value = command.response
                elif isinstance(command, EmitEvent):
                    yield command.event
                elif (watched := watch(command)) is not None:
                    async with aclosing(watched):
                        async for watched_event in watched:
                            yield watched_event
                else:
                    value = await perform(command)
            except BaseException as error:  # noqa: BLE001
                steps.fail(error)
            else:
                steps.reply(value)
    except AdapterError:
        for event in steps.unseen:
            yield event
        raise


def run_steps_sync(steps: Steps[R], perform: Callable[[Any], Any] = _performs_nothing) -> R:
    """Like ``run_steps``, but blocking."""
    try:
        while (command := steps.command) is not None:
            try:
                if isinstance(command, CallModel):
                    value = _client_of(command).complete(command.request, budget=command.budget)
                else:
                    value = perform(command)
            except BaseException as error:  # noqa: BLE001
                steps.fail(error)
            else:
                steps.reply(value)
    finally:
        if steps.command is not None:  # a signal raised an exception between two commands
            steps.close()
    return cast("R", steps.result)


def stream_steps_sync(
    steps: Steps[Any],
    perform: Callable[[Any], Any] = _performs_nothing,
    watch: Callable[[Any], Generator[SessionEvent, None, None] | None] = lambda _: None,
) -> Generator[Any, None, None]:
    """Like ``stream_steps``, but blocking."""
    try:
        while (command := steps.command) is not None:
            value: Any = None
            try:
                if isinstance(command, CallModel):
                    with _open_stream_sync(command) as events:
                        yield from map(command.pass_on, events)
                    value = command.response
                elif isinstance(command, EmitEvent):
                    yield command.event
                elif (watched := watch(command)) is not None:
                    yield from watched
                else:
                    value = perform(command)
            except BaseException as error:  # noqa: BLE001
                steps.fail(error)
            else:
                steps.reply(value)
    except AdapterError:
        yield from steps.unseen
        raise
    finally:
        if steps.command is not None:  # as in run_steps_sync
            steps.close()


# ------------------------------------------------------------------------------------------------------ calling a model


async def _complete_by_other(command: CallModel) -> Response:
    """The answer of an adapter that the caller wrote."""
    command.budget.attempts += 1
    return await cast("ProviderAdapter", command.adapter).complete(command.request)


def _open_stream(command: CallModel) -> AsyncStream | AsyncGenerator[Event, None]:
    adapter = command.adapter
    if not isinstance(adapter, AsyncClient):
        return _events_of_other(command, cast("ProviderAdapter", adapter))
    stream = adapter.stream(command.request, budget=command.budget)
    command.stream, command.held = stream, stream.held
    return stream


async def _events_of_other(command: CallModel, adapter: ProviderAdapter) -> AsyncGenerator[Event, None]:
    """The events of an adapter that the caller wrote. They are held back until content arrives, as in our clients."""
    command.budget.attempts += 1
    held = command.held = HeldEvents(Limits())
    async for event in adapter.stream(command.request):
        for ready in held.pass_on([event]):
            yield ready
    for event in held.events:
        yield event


def _open_stream_sync(command: CallModel) -> Stream:
    stream = _client_of(command).stream(command.request, budget=command.budget)
    command.stream, command.held = stream, stream.held
    return stream


def _client_of(command: CallModel) -> Client:
    assert isinstance(command.adapter, Client)
    return command.adapter
