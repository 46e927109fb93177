"""A gateway on loopback, in a thread of its own, before scripted providers that speak real dialects over real HTTP."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from interlingua import ProviderManager
from interlingua.client.embedded.server import LoopbackServer
from interlingua.gateway.config import Route, Snapshot
from interlingua.gateway.state import State

uvicorn = pytest.importorskip("uvicorn", reason="the gateway is an extra: pip install interlingua[gateway]")

UPSTREAMS = {
    # a provider's row for each dialect
    "anthropic-messages": "anthropic",
    "openai-chat": "openai-chat",
    "openai-responses": "openai",
    "gemini": "google",
    "ollama": "ollama",
    "bedrock-converse": "bedrock",
}
MODEL = "served-model"


class Served:
    """A running gateway: its URL, and what it shares among calls."""

    def __init__(self, state: State, url: str, server: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.state, self.url, self.server, self.loop = state, url, server, loop

    def tasks(self) -> int:
        """How many tasks the server has, the one that asks left out."""

        async def count() -> int:
            return len(asyncio.all_tasks()) - 1

        return asyncio.run_coroutine_threadsafe(count(), self.loop).result()


def manager_for(upstream: LoopbackServer, **settings: Any) -> ProviderManager:
    """Every provider's row, its base URL on loopback."""
    environment = {"AWS_REGION": "us-east-1"}
    manager = ProviderManager(environment=environment, on_loss="allow", **settings)
    for name in UPSTREAMS.values():
        manager.register(name, name, {"api_key": "upstream-key-1234", "base_url": upstream.url, "retry": {"base": 0.0}})
    return manager


@contextmanager
def gateway(state: State) -> Generator[Served]:
    """Serve in a thread until the block ends."""
    from interlingua.gateway.server import Server, settings_of

    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    config = uvicorn.Config(**{**settings_of(state), "port": 0, "timeout_graceful_shutdown": 1})
    started = threading.Event()
    found: list[asyncio.AbstractEventLoop] = []

    class Announced(Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            started.set()

    server = Announced(config, state)

    async def main() -> None:
        found.append(asyncio.get_running_loop())
        await server.serve()

    thread = threading.Thread(target=lambda: asyncio.run(main()), name="gateway", daemon=True)
    thread.start()
    assert started.wait(20)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Served(state, f"http://127.0.0.1:{port}", server, found[0])
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@contextmanager
def served(
    script: Any = None, *, dialect: str = "openai-chat", snapshot: Snapshot | None = None, **settings: Any
) -> Generator[tuple[Served, LoopbackServer]]:
    """A gateway whose only provider speaks ``dialect``."""
    with LoopbackServer.in_thread(script) as upstream:
        route = Route(f"{UPSTREAMS[dialect]}:{MODEL}")
        state = State(snapshot or Snapshot(routes={"*": route}), manager=manager_for(upstream, **settings))
        with gateway(state) as found:
            yield found, upstream
