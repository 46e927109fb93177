"""Interlingua for the client harness: ``make`` returns functions for one whole call, for one stream, and to close.

The protocol is in the name of the target, as in ``interlingua:openai-chat``; the request is a fixture of the harness.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from interlingua import AdapterConfig, AsyncClient, Event, Response, dialect

Making = tuple[Callable[[], Awaitable[Response]], Callable[[], AsyncIterator[Event]], Callable[[], Awaitable[None]]]

PROVIDERS = {
    "openai-chat": "openai-chat",
    "anthropic-messages": "anthropic",
    "openai-responses": "openai",
    "gemini": "google",
}


async def make(target: str, base: str, fixtures: str) -> Making:
    """The three functions. ``base`` is the root URL of the mock provider, which accepts any key."""
    protocol = target.partition(":")[2] or "openai-chat"
    wire = json.loads((Path(fixtures) / "req_chat_small.json").read_bytes())
    request = dialect("openai-chat").decode_request(wire)
    config = AdapterConfig(api_key="sk-bench-bench", base_url=base)
    client = AsyncClient(PROVIDERS[protocol], config, model=request.model, on_loss="allow")

    async def call() -> Response:
        return await client.complete(request)

    async def stream() -> AsyncIterator[Event]:
        async with client.stream(request) as events:
            async for event in events:
                yield event

    return call, stream, client.close
