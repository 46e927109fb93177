"""Which models may answer a call, and in which order they are tried.

The models of a list are tried in its order. With weights, a conversation always goes to the same model while that
model works, so that the provider's prompt cache stays warm. The model that issued the reasoning in a request comes
first, because no other can read it. The router skips models that fail; it does not change the order.
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
    "order_models",
    "is_usable",
    "no_model",
    "require_models",
    "session_of",
    "advise_keys",
]

SESSION_HEADERS = ("x-session-id", "x-claude-code-session-id", "session-id", "session_id", "x-session-affinity")
NOT_FOUND = 404
NOT_CONFIGURED = 3
"""The exit code where a key or a provider is missing."""
LONGEST = 256
"""How many characters of a name an error shows."""


def find_route(name: str | None, snapshot: Snapshot, manager: ProviderManager) -> Route:
    """The route of a name. If no routes are configured, a name may also be a model that can be called."""
    found = snapshot.route(name)
    if found is not None:
        return found
    if name is None:
        raise InvalidRequestError("`model` is missing, and no route is called `*`")
    plain = name.removeprefix(CLAUDE_NAMES)
    if not snapshot.routes and is_name(plain) and is_usable(plain, manager):
        return Route(plain)
    raise no_model(name, why_unusable(plain, manager) if not snapshot.routes else "")


def no_model(name: str | None, why: str = "") -> InvalidRequestError:
    """The error for a name that means no model of this gateway."""
    shown = None if name is None else name[:LONGEST]
    advice = why or "GET /v1/models lists those that it has"
    return InvalidRequestError(f"this gateway has no model called {shown!r}; {advice}", provider_status=NOT_FOUND)


def why_unusable(name: str, manager: ProviderManager) -> str:
    """Why no model can be called by this name; empty if one can, or if the name cannot be a model's name at all."""
    if not is_name(name):
        return ""
    try:
        id, model = manager.locate(name)
        manager.get_config(id)  # raises if its address is no URL
        adapter = manager.configuration.adapters.get(id)
        if adapter is not None and adapter.provider.base_url.startswith(IN_PROCESS):
            find_model(model, os.environ)
    except (AdapterError, ValueError) as error:
        return str(error)
    return adapter.missing or "" if adapter is not None else ""


def is_usable(name: str, manager: ProviderManager) -> bool:
    """Whether a name means a model of a provider that is configured and has its key."""
    try:
        id, _ = manager.locate(name)
        adapter = manager.configuration.adapters.get(id)
    except (AdapterError, ValueError):
        return False
    return adapter is None or adapter.missing is None


def require_models(snapshot: Snapshot, manager: ProviderManager) -> None:
    """Raise ``StartError`` if a route names a model that cannot be called."""
    for name, route in snapshot.routes.items():
        for model in route.names:
            if why := why_unusable(model, manager):
                line = snapshot.lines.get(name)
                where = f"{snapshot.source}:{line}: the route {name!r}: " if line is not None else ""
                raise StartError(f"{where}{model!r} cannot be called: {why}", NOT_CONFIGURED)


def advise_keys() -> str:
    """The advice which environment variables to set if no provider has a key."""
    names = [PROVIDERS[name].auth.keys[0] for name in ("anthropic", "openai", "google", "openrouter", "mistral")]
    return f"set one of {', '.join(names)}"


def order_models(route: Route, session: Callable[[], str], first: Sequence[str] = ()) -> tuple[str, ...]:
    """The models of a route in the order in which they are tried; those in ``first`` come before the others."""
    names = route.names if route.weights is None else _ring(route.weights, session())
    pinned = [name for name in names if name in first]
    return (*pinned, *(name for name in names if name not in first)) if pinned else names


def _ring(weights: Mapping[str, float], session: str) -> tuple[str, ...]:
    """Order models by rendezvous hashing: session and name give each a number, scaled by weight; the highest wins."""

    def draw(name: str) -> float:
        digest = hashlib.blake2b(f"{session}\0{name}".encode(), digest_size=8).digest()
        chance = (int.from_bytes(digest, "big") + 1) / (2**64 + 1)
        return -weights[name] / math.log(chance)

    return tuple(sorted(weights, key=draw, reverse=True))


def session_of(headers: Mapping[str, str], peek: Peek) -> str:
    """A text that all requests of a conversation share: the client's id of it, else a hash of its first turns."""
    named = next((headers[name] for name in SESSION_HEADERS if headers.get(name)), None)
    named = named or peek.text("prompt_cache_key")
    if named:
        return named
    digest = hashlib.blake2b(digest_size=16)
    for part in peek.beginning():
        digest.update(part)
    return digest.hexdigest()
