"""Doing what a conversation asks for: steps are decided elsewhere, here are the two ways of waiting for them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from contextlib import aclosing
from typing import Any, Generic, TypeVar

from ...client.adapter import Adapter
from ...client.async_client import AsyncClient
from ...client.retry import Budget
from ...client.sync_client import Client
from ...errors import AdapterError
from ...types.events import Event
from ...types.response import Response
from .attempts import Ask

__all__ = ["Steps", "answer", "answer_sync", "drive", "drive_stream", "drive_stream_sync", "drive_sync"]

R = TypeVar("R")


class Steps(Generic[R]):
    """A generator of commands, held still at one of them until it is done; ``result`` is there when none is left."""

    def __init__(self, steps: Generator[Any, Any, R]) -> None:
        self._steps = steps
        self.result: R | None = None
        self.command: Any = None
        self.reply(None)

    def reply(self, value: Any) -> None:
        """The command was done."""
        try:
            self.command = self._steps.send(value)
        except StopIteration as end:
            self.command, self.result = None, end.value

    def fail(self, error: BaseException) -> None:
        """The command could not be done; raises what nobody in there can make good."""
        try:
            self.command = self._steps.throw(error)
        except StopIteration as end:
            self.command, self.result = None, end.value

    def close(self) -> None:
        """Give up. What the steps would still do at their end is left undone."""
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

    def done(self) -> R:
        """The result."""
        assert self.command is None
        return self.result  # type: ignore[return-value]  # R may be None itself


async def drive(steps: Steps[R], perform: Callable[[Any], Awaitable[Any]]) -> R:
    """Do all steps."""
    while steps.command is not None:
        try:
            value = await perform(steps.command)
        except GeneratorExit:  # nobody waits any more, and nothing can be waited for
            steps.close()
            raise
        except BaseException as error:  # noqa: BLE001  # whoever decides also cleans up
            steps.fail(error)
        else:
            steps.reply(value)
    return steps.done()


async def drive_stream(steps: Steps[Any], perform: Callable[[Any], Awaitable[Any]]) -> AsyncGenerator[Event, None]:
    """Do all steps, and hand out the events of every answer as they come."""
    held: list[Event] = []
    try:
        while (command := steps.command) is not None:
            try:
                if isinstance(command, Ask):
                    held = []
                    async with aclosing(listen(command)) as events:
                        async for event in events:
                            yield event
                    value: Any = command.response
                else:
                    value = await perform(command)
            except BaseException as error:  # noqa: BLE001
                if isinstance(command, Ask) and isinstance(error, AdapterError):
                    held = command.release()
                steps.fail(error)
            else:
                steps.reply(value)
    except AdapterError:
        for event in held:
            yield event
        raise


def drive_sync(steps: Steps[R], perform: Callable[[Any], Any]) -> R:
    """Do all steps."""
    while steps.command is not None:
        try:
            value = perform(steps.command)
        except BaseException as error:  # noqa: BLE001
            steps.fail(error)
        else:
            steps.reply(value)
    return steps.done()


def drive_stream_sync(steps: Steps[Any], perform: Callable[[Any], Any]) -> Generator[Event, None, None]:
    """Do all steps, and hand out the events of every answer as they come."""
    held: list[Event] = []
    try:
        while (command := steps.command) is not None:
            try:
                if isinstance(command, Ask):
                    held = []
                    yield from listen_sync(command)
                    value: Any = command.response
                else:
                    value = perform(command)
            except BaseException as error:  # noqa: BLE001
                if isinstance(command, Ask) and isinstance(error, AdapterError):
                    held = command.release()
                steps.fail(error)
            else:
                steps.reply(value)
    except AdapterError:
        yield from held
        raise


# ------------------------------------------------------------------------------------------------------- asking a model


async def answer(ask: Ask) -> Response:
    """The whole answer."""
    adapter = ask.adapter
    if isinstance(adapter, AsyncClient):
        return await adapter.complete(ask.request, budget=_wait_its_way(ask, adapter))
    assert not isinstance(adapter, Adapter)
    ask.budget.attempts += 1
    return await adapter.complete(ask.request)


async def listen(ask: Ask) -> AsyncGenerator[Event, None]:
    """The answer as it comes; what comes before content is held back, in case that somebody else must answer."""
    adapter = ask.adapter
    if isinstance(adapter, AsyncClient):
        async with adapter.stream(ask.request, budget=_wait_its_way(ask, adapter)) as stream:
            ask.watch(stream)
            async for event in stream:
                for ready in ask.pass_on(event):
                    yield ready
    else:
        assert not isinstance(adapter, Adapter)
        ask.budget.attempts += 1
        async for event in adapter.stream(ask.request):
            for ready in ask.pass_on(event):
                yield ready
    for ready in ask.release():
        yield ready


def answer_sync(ask: Ask) -> Response:
    """The whole answer."""
    client = ask.adapter
    assert isinstance(client, Client)
    return client.complete(ask.request, budget=_wait_its_way(ask, client))


def listen_sync(ask: Ask) -> Iterator[Event]:
    """The answer as it comes, as ``listen``."""
    client = ask.adapter
    assert isinstance(client, Client)
    with client.stream(ask.request, budget=_wait_its_way(ask, client)) as stream:
        ask.watch(stream)
        for event in stream:
            yield from ask.pass_on(event)
    yield from ask.release()


def _wait_its_way(ask: Ask, adapter: Adapter) -> Budget:
    """The budget, with this adapter's pauses between attempts."""
    ask.budget.retry = ask.retry or adapter.config.retry
    return ask.budget
