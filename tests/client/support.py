"""What the tests of the clients share: one provider per dialect, and four ways to make the same call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from interlingua import AdapterError, Message, Request, StreamGrammar
from interlingua.client.config import AdapterConfig
from interlingua.client.connect import AsyncClient, Client
from interlingua.client.embedded import Script, handler
from interlingua.client.transport.memory import AsyncMemoryTransport, Handler, MemoryTransport
from lab.faults.ways import PROVIDERS, Call, async_complete, async_stream, complete, stream

__all__ = [
    "CANARY", "DIALECTS", "PROVIDERS", "WAYS", "Clock", "Outcome", "ask", "call", "config", "run",
]  # fmt: skip

CANARY = "sk-canary-3f9a"

DIALECTS = tuple(PROVIDERS)


def config(**fields: Any) -> AdapterConfig:
    options = {"region": "eu-west-1", **fields.pop("options", {})}
    return AdapterConfig(**{"api_key": CANARY, "options": options, **fields})


def ask(text: str = "one two three four", **fields: Any) -> Request:
    return Request([Message("user", text)], **{"model": "some-model", "max_output_tokens": 100, **fields})


class Clock:
    """A clock that advances only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)


class Outcome(Call):
    """The outcome of a call: its events, its response or its error, and the seconds slept."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.transport: Any = None

    def check_grammar(self) -> None:
        grammar = StreamGrammar()
        for event in self.events:
            grammar.check(event)
        assert grammar.state in ("idle", "done")


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end, and check that no task is left."""

    async def watched() -> Any:
        result = await coroutine
        await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left behind: {left}"
        return result

    return asyncio.run(watched())


WAYS: dict[str, Callable[..., Any]] = {
    "async-complete": async_complete,
    "async-stream": async_stream,
    "complete": complete,
    "stream": stream,
}


def call(
    way: str,
    provider: str,
    script: Script | Handler,
    request: Request,
    settings: AdapterConfig | None = None,
    **more: Any,
) -> Outcome:
    """Make one call in memory, in one of the four ways, with a clock that advances only when somebody sleeps."""
    outcome = Outcome()
    answers = handler(script) if isinstance(script, Script) else script
    asynchronous = way.startswith("async")
    outcome.transport = AsyncMemoryTransport(answers) if asynchronous else MemoryTransport(answers)
    more = {"clock": outcome.clock, "chance": lambda: 1.0, **more}
    kind: Any = AsyncClient if asynchronous else Client
    sleep = outcome.clock.asleep if asynchronous else outcome.clock.sleep
    client = kind(provider, settings or config(), transport=outcome.transport, sleep=sleep, **more)
    try:
        done = WAYS[way](client, request, outcome)
        if asynchronous:
            run(done)
    except AdapterError as error:
        outcome.error = error
    assert len(client._open_calls) == 0, "the call is still open"
    assert outcome.transport.open == 0, "a reply was left open"
    return outcome
