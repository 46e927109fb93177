"""What the tests of sessions share: providers of all six dialects, which a script in memory answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua import AdapterConfig, Event, SessionEvent, StreamGrammar
from interlingua.client.connect import AsyncClient, Client
from interlingua.client.embedded import Script, Step, handler
from interlingua.client.manager import ProviderManager
from interlingua.client.transport.memory import AsyncMemoryTransport, MemoryTransport

PROVIDERS = {
    # dialect             a provider that speaks it
    "anthropic-messages": "anthropic",
    "openai-chat": "openai-chat",
    "openai-responses": "openai",
    "gemini": "google",
    "ollama": "ollama",
    "bedrock-converse": "bedrock",
}
DIALECTS = tuple(PROVIDERS)


async def no_sleep(seconds: float) -> None:
    """Nobody waits in a test."""


def scripted(script: Script | None = None, **settings: Any) -> ProviderManager:
    """A manager whose six providers are all answered by one script, so that a conversation can move."""
    answers = handler(script or Script(Step(act="echo")))
    made = ProviderManager(
        environment={"AWS_REGION": "eu-west-1"},
        transport=AsyncMemoryTransport(answers),
        sync_transport=MemoryTransport(answers),
        **settings,
    )
    for name in PROVIDERS.values():
        made.register(name, None, {"api_key": "sk-1234567890", "max_retries": 0})
    return made


def check_grammar(events: Sequence[SessionEvent]) -> None:
    """Assert that the events of every answer are legal, and that events of the session stand between answers."""
    grammar = StreamGrammar()
    for event in events:
        if not isinstance(event, Event):
            assert grammar.state in ("idle", "done"), "events of the session stand between the answers"
            continue
        if event.type == "message.start":
            assert grammar.state in ("idle", "done")
            grammar = StreamGrammar()
        grammar.check(event)
    assert grammar.state == "done"


__all__ = ["DIALECTS", "PROVIDERS", "AdapterConfig", "AsyncClient", "Client", "check_grammar", "no_sleep", "scripted"]
