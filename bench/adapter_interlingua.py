"""Interlingua as the client harness wants it: ``make`` gives one whole call, one stream, and the way to end.

The target's name says the protocol, as in ``interlingua:openai-chat``; the request is the harness's own, read once.
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
    """``base`` is the mock's root; the key is nobody's."""
    speaks = target.partition(":")[2] or "openai-chat"
    wire = json.loads((Path(fixtures) / "req_chat_small.json").read_bytes())
    request = dialect("openai-chat").decode_request(wire)
    config = AdapterConfig(api_key="sk-bench-bench", base_url=base)
    client = AsyncClient(PROVIDERS[speaks], config, model=request.model, on_loss="allow")

    async def call() -> Response:
        return await client.complete(request)

    async def stream() -> AsyncIterator[Event]:
        async with client.stream(request) as events:
            async for event in events:
                yield event

    return call, stream, client.close
