"""The conversations on cassettes, and the code that holds them: the same for recording and for replaying."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from interlingua import AdapterError, Message, Request, Response, ToolDefinition, ToolResultBlock, ToolUseBlock
from interlingua.client.config import AdapterConfig
from interlingua.client.connect import AsyncClient, Client
from interlingua.models.providers import Provider, provider
from interlingua.testing.cassettes import Cassette, Mode

CASSETTES = Path(__file__).parent / "cassettes"
KEY = "sk-recorded-1234567890"
HOST = "http://recorded.test"
ADD = ToolDefinition(
    "add",
    "Add two numbers.",
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
)


class Scene(NamedTuple):
    """A provider, and the body of a request that it refuses."""

    provider: Provider
    refused: dict[str, Any]


HOT = {"temperature": "hot"}
LLAMA = provider("llamacpp")
SCENES = {
    # llama.cpp
    "llamacpp-chat": Scene(LLAMA, HOT),
    "llamacpp-responses": Scene(replace(LLAMA, name="llamacpp-responses", dialect="openai-responses"), HOT),
    "llamacpp-messages": Scene(replace(LLAMA, name="llamacpp-messages", dialect="anthropic-messages"), HOT),
    # the embedded provider on loopback
    "embedded-gemini": Scene(provider("google"), {}),
    "embedded-ollama": Scene(provider("ollama"), {}),
    "embedded-bedrock": Scene(provider("bedrock"), {}),
}

Result = Response | AdapterError


def tape(name: str, mode: Mode, url: str = HOST) -> Cassette:
    """The cassette of a scene, which does not contain the server's address."""
    return Cassette(CASSETTES / f"{name}.json", mode, aliases={} if url == HOST else {url: HOST})


def settings(url: str, **body: Any) -> AdapterConfig:
    options: dict[str, Any] = {"region": "eu-west-1", "body": body}
    return AdapterConfig(api_key=KEY, base_url=url, max_retries=0, options=options)


def question() -> Request:
    return Request([Message("user", "What is 2 + 3?")], model="recites", tools=[ADD], max_output_tokens=40)


def answered(response: Response) -> Request:
    made = next(block for block in response.content if isinstance(block, ToolUseBlock))
    said = Message("assistant", response.content, origin=response.origin)
    result = Message("tool", [ToolResultBlock(made.id, "5")])
    return replace(question(), messages=(*question().messages, said, result))


def play(scene: Scene, cassette: Cassette, url: str = HOST) -> list[Result]:
    """A tool round in streams, a whole answer, and a refusal, by ``Client``."""
    results: list[Result] = []
    with Client(scene.provider, settings(url), transport=cassette.transport()) as client:
        for ask in (question, lambda: answered(results[0])):  # type: ignore[arg-type]
            with client.stream(ask()) as stream:
                *_, last = stream
            results.append(last.response)  # type: ignore[union-attr]
        results.append(client.complete(replace(question(), tools=())))
    with Client(scene.provider, settings(url, **scene.refused), transport=cassette.transport()) as client:
        try:
            results.append(client.complete(replace(question(), tools=(), max_output_tokens=7)))
        except AdapterError as error:
            results.append(error)
    return results


def play_async(scene: Scene, cassette: Cassette, url: str = HOST) -> list[Result]:
    """The same by ``AsyncClient``."""
    results: list[Result] = []

    async def conversation() -> None:
        async with AsyncClient(scene.provider, settings(url), transport=cassette.async_transport()) as client:
            for ask in (question, lambda: answered(results[0])):  # type: ignore[arg-type]
                async with client.stream(ask()) as stream:
                    events = [event async for event in stream]
                results.append(events[-1].response)  # type: ignore[union-attr]
            results.append(await client.complete(replace(question(), tools=())))
        refused = settings(url, **scene.refused)
        async with AsyncClient(scene.provider, refused, transport=cassette.async_transport()) as client:
            try:
                results.append(await client.complete(replace(question(), tools=(), max_output_tokens=7)))
            except AdapterError as error:
                results.append(error)

    asyncio.run(conversation())
    return results
