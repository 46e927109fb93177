"""Four ways to make the same call: awaited and blocking, whole and streamed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from interlingua.client.async_client import AsyncClient
from interlingua.client.bus import CallEvent
from interlingua.client.sync_client import Client
from interlingua.errors import AdapterError
from interlingua.types.events import Event
from interlingua.types.request import Request
from interlingua.types.response import Response

__all__ = ["PROVIDERS", "WAYS", "Call", "async_complete", "async_stream", "complete", "stream"]

PROVIDERS = {
    # dialect             a provider that uses it
    "anthropic-messages": "anthropic",
    "openai-chat": "openai-chat",
    "openai-responses": "openai",
    "gemini": "google",
    "ollama": "ollama",
    "bedrock-converse": "bedrock",
}


class Call:
    """One call and its outcome."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.bus_events: list[CallEvent] = []
        self.waits: list[float] = []
        self.response: Response | None = None
        self.error: AdapterError | None = None
        self.problems: list[str] = []


async def async_complete(client: AsyncClient, request: Request, call: Call) -> None:
    call.response = await client.complete(request)


async def async_stream(client: AsyncClient, request: Request, call: Call) -> None:
    async with client.stream(request) as stream:
        async for event in stream:
            call.events.append(event)
    call.response = stream.response


def complete(client: Client, request: Request, call: Call) -> None:
    call.response = client.complete(request)


def stream(client: Client, request: Request, call: Call) -> None:
    with client.stream(request) as events:
        for event in events:
            call.events.append(event)
    call.response = events.response


def _awaited(way: Callable[..., Any]) -> Callable[[AsyncClient, Request, Call], None]:
    """The call in an event loop of its own, with a check that it leaves no task behind."""

    async def play(client: AsyncClient, request: Request, call: Call) -> None:
        try:
            await way(client, request, call)
        except AdapterError as error:
            call.error = error
        finally:
            await client.close()
        await asyncio.sleep(0)
        if left := asyncio.all_tasks() - {asyncio.current_task()}:
            call.problems.append(f"tasks left behind: {left}")

    return lambda client, request, call: asyncio.run(play(client, request, call))


def _blocking(way: Callable[..., Any]) -> Callable[[Client, Request, Call], None]:
    def play(client: Client, request: Request, call: Call) -> None:
        try:
            way(client, request, call)
        except AdapterError as error:
            call.error = error
        finally:
            client.close()

    return play


WAYS: dict[str, Callable[[Any, Request, Call], None]] = {
    "async complete": _awaited(async_complete),
    "async stream": _awaited(async_stream),
    "sync complete": _blocking(complete),
    "sync stream": _blocking(stream),
}
