"""Which models may answer a call, and in which order they are asked.

A route with an order keeps it. A route with weights is a ring: the same conversation goes to the same model for as long
as that model is there, so that the provider's prompt cache stays warm. Whoever issued the reasoning in a request comes
first, because no one else can read it. The router skips models that fail; it does not change the order.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Mapping, Sequence

from ..client.local import find_model
from ..client.manager import ProviderManager
from ..errors import AdapterError, InvalidRequestError
from ..models.providers import IN_PROCESS, PROVIDERS
from ..serving import is_name
from .admission import CLAUDE_NAMES
from .config import Route, Snapshot, StartError
from .peek import Peek

__all__ = [
    "NOT_CONFIGURED",
    "SESSION_HEADERS",
    "find_route",
    "in_order",
    "is_usable",
    "no_model",
    "require_models",
    "session_of",
    "variables",
]

SESSION_HEADERS = ("x-session-id", "x-claude-code-session-id", "session-id", "session_id", "x-session-affinity")
NOT_FOUND = 404
NOT_CONFIGURED = 3
"""The exit code where a key or a provider is missing."""
LONGEST = 256
"""How much of a name is told."""


def find_route(name: str | None, snapshot: Snapshot, manager: ProviderManager) -> Route:
    """The route of a name. Without one, a name that a provider with a key has is that model."""
    found = snapshot.route(name)
    if found is not None:
        return found
    if name is None:
        raise InvalidRequestError("`model` is missing, and no route is called `*`")
    asked = name.removeprefix(CLAUDE_NAMES)
    if not snapshot.routes and is_name(asked) and is_usable(asked, manager):
        return Route(asked)
    raise no_model(name, why_not(asked, manager) if not snapshot.routes else "")


def no_model(name: str | None, why: str = "") -> InvalidRequestError:
    """The error for a name that leads nowhere."""
    shown = None if name is None else name[:LONGEST]
    told = why or "GET /v1/models lists those that it has"
    return InvalidRequestError(f"this gateway has no model called {shown!r}; {told}", provider_status=NOT_FOUND)


def why_not(name: str, manager: ProviderManager) -> str:
    """Why a name means no model that could be called; nothing where it is too long to be one."""
    if not is_name(name):
        return ""
    try:
        id, model = manager.locate(name)
        manager.get_config(id)  # its address is a URL
        adapter = manager.configuration.adapters.get(id)
        if adapter is not None and adapter.provider.base_url.startswith(IN_PROCESS):
            find_model(model, os.environ)
    except (AdapterError, ValueError) as error:
        return str(error)
    return adapter.missing or "" if adapter is not None else ""


def is_usable(name: str, manager: ProviderManager) -> bool:
    """Whether a name means a model of a provider that could be called."""
    try:
        id, _ = manager.locate(name)
        adapter = manager.configuration.adapters.get(id)
    except (AdapterError, ValueError):
        return False
    return adapter is None or adapter.missing is None


def require_models(snapshot: Snapshot, manager: ProviderManager) -> None:
    """Raise where a route leads to a model that could not be called."""
    for name, route in snapshot.routes.items():
        for model in route.names:
            if why := why_not(model, manager):
                line = snapshot.lines.get(name)
                where = f"{snapshot.source}:{line}: the route {name!r}: " if line is not None else ""
                raise StartError(f"{where}{model!r} cannot be called: {why}", NOT_CONFIGURED)


def variables() -> str:
    """Which variables would help where no provider has a key."""
    names = [PROVIDERS[name].auth.keys[0] for name in ("anthropic", "openai", "google", "openrouter", "mistral")]
    return f"set one of {', '.join(names)}"


def in_order(route: Route, session: Callable[[], str], first: Sequence[str] = ()) -> tuple[str, ...]:
    """The models of a route in the order in which they are asked. ``first`` are those who must come first."""
    names = route.names if route.weights is None else _ring(route.weights, session())
    pinned = [name for name in names if name in first]
    return (*pinned, *(name for name in names if name not in first)) if pinned else names


def _ring(weights: Mapping[str, float], session: str) -> tuple[str, ...]:
    """Rendezvous hashing: each model draws a number from the session, and the highest wins, in proportion to weight."""

    def drawn(name: str) -> float:
        digest = hashlib.blake2b(f"{session}\0{name}".encode(), digest_size=8).digest()
        chance = (int.from_bytes(digest, "big") + 1) / (2**64 + 1)
        return -weights[name] / math.log(chance)

    return tuple(sorted(weights, key=drawn, reverse=True))


def session_of(headers: Mapping[str, str], peek: Peek) -> str:
    """What stays the same in all requests of a conversation: an id of the client's, else how the body begins."""
    named = next((headers[name] for name in SESSION_HEADERS if headers.get(name)), None)
    named = named or peek.text("prompt_cache_key")
    if named:
        return named
    digest = hashlib.blake2b(digest_size=16)
    for part in peek.beginning():
        digest.update(part)
    return digest.hexdigest()
