"""A gateway on loopback, in a thread, in front of scripted providers that speak real dialects over real HTTP."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from interlingua import ProviderManager
from interlingua.client.embedded.server import LoopbackServer
from interlingua.gateway.config import Route, Snapshot
from interlingua.gateway.state import State

pytest.importorskip("uvicorn", reason="the gateway is an extra: pip install interlingua[gateway]")

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


class Served(NamedTuple):
    """A running gateway: its state and its URL."""

    state: State
    url: str


def manager_for(upstream: LoopbackServer, **settings: Any) -> ProviderManager:
    """A manager of all providers, whose base URLs are replaced by one on loopback."""
    settings = {"environment": {"AWS_REGION": "us-east-1"}, "on_loss": "allow", **settings}
    manager = ProviderManager(**settings)
    for name in UPSTREAMS.values():
        manager.register(name, name, {"api_key": "upstream-key-1234", "base_url": upstream.url, "retry": {"base": 0.0}})
    return manager


@contextmanager
def gateway(state: State) -> Generator[Served]:
    """Serve in a thread until the block ends."""
    from interlingua.gateway.server import in_background

    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    with in_background(state) as url:
        yield Served(state, url)


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
