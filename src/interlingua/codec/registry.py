"""The dialects by name, each loaded on first use. Other packages add one by an entry point or ``register_dialect``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from .base import Dialect

__all__ = ["DIALECTS", "ENTRY_POINTS", "dialect", "register_dialect"]

ENTRY_POINTS = "interlingua.dialects"

DIALECTS: dict[str, str] = {
    # name                  module:class, below interlingua.dialects
    "anthropic-messages": "anthropic_messages:AnthropicMessages",
    "openai-chat": "openai_chat:OpenAIChat",
    "openai-responses": "openai_responses:OpenAIResponses",
    "gemini": "gemini:Gemini",
    "ollama": "ollama:Ollama",
    "bedrock-converse": "bedrock_converse:BedrockConverse",
}
"""The names of the dialects, and the module and class of each."""

_registered: dict[str, Callable[..., Dialect]] = {}


def dialect(name: str, provider: str | None = None) -> Dialect:
    """The dialect of that name; with ``provider``, its quirks apply to what is read and written."""
    factory = _registered.get(name) or _load(name)
    return factory(provider)


def register_dialect(name: str, factory: Callable[..., Dialect]) -> None:
    """Add a dialect of your own. ``factory(provider)`` makes it. A known name is replaced."""
    _registered[name] = factory
    DIALECTS.setdefault(name, getattr(factory, "__module__", ""))


def _load(name: str) -> Callable[..., Dialect]:
    place = DIALECTS.get(name)
    if place is None:
        factory = _from_entry_points(name)
    else:
        module, _, attribute = place.partition(":")
        factory = getattr(import_module(f"interlingua.dialects.{module}"), attribute)
    _registered[name] = factory
    return factory


def _from_entry_points(name: str) -> Callable[..., Dialect]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import, and rarely needed

    for point in entry_points(group=ENTRY_POINTS, name=name):
        factory: Callable[..., Dialect] = point.load()
        return factory
    raise ValueError(f"no dialect is called {name!r}; known: {', '.join(sorted(DIALECTS))}")
