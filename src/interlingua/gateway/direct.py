"""The target of requests whose route has one model only: found once, and remembered until the configuration changes."""

from __future__ import annotations

from msgspec import Struct

from ..agent.routing import Candidate, Router
from ..client.adapter import Passage
from ..client.async_client import AsyncClient
from ..client.http import Timeouts
from ..client.manager import ProviderManager
from ..errors import AdapterError
from .choose import find_route
from .config import Policy, Snapshot
from .forwarding import ALL_TOOLS

__all__ = ["Direct", "Directs"]

MOST_REMEMBERED = 256


class Direct(Struct, frozen=True, eq=False):
    """The model that answers, and where the client's body goes unchanged; if ``passage`` is None, it is translated.
    ``functions_only``: the server accepts no other tools than functions."""

    candidate: Candidate
    client: AsyncClient
    losses: Policy | None
    passage: Passage | None
    timeouts: Timeouts
    functions_only: bool


class Directs:
    """The known targets, by dialect, requested name, and whether a stream is wanted."""

    def __init__(self, manager: ProviderManager, router: Router) -> None:
        self._manager, self._router = manager, router
        self._snapshot: Snapshot | None = None
        self._edition = -1
        self._known: dict[tuple[str, str | None, bool], Direct | None] = {}

    def find(self, snapshot: Snapshot, dialect: str, requested: str | None, *, streams: bool) -> Direct | None:
        """The target of a request; None if its route has several models or its model cannot be called."""
        self._manager.refresh_if_due()
        if snapshot is not self._snapshot or self._edition != self._manager.edition:
            self._snapshot, self._edition, self._known = snapshot, self._manager.edition, {}
        key = dialect, requested, streams
        if key in self._known:
            return self._known[key]
        found = self._find(snapshot, dialect, requested, streams=streams)
        if len(self._known) < MOST_REMEMBERED:
            self._known[key] = found
        return found

    def _find(self, snapshot: Snapshot, dialect: str, requested: str | None, *, streams: bool) -> Direct | None:
        try:
            route = find_route(requested, snapshot, self._manager)
            candidate = self._router.route(models=route.names[:1]).candidates[0]
        except (AdapterError, ValueError):
            return None  # the call itself raises the error that says why
        client = candidate.adapter
        if len(route.names) != 1 or not isinstance(client, AsyncClient):
            return None
        is_same = client.dialect.name == dialect
        full = ALL_TOOLS.get(dialect)
        return Direct(
            candidate,
            client,
            route.losses,
            client.passage(candidate.model, stream=streams) if is_same else None,
            timeouts_of(client, streams=streams),
            functions_only=is_same and full is not None and client.name not in full,
        )


def timeouts_of(client: AsyncClient, *, streams: bool) -> Timeouts:
    """The time limits of a call that is passed on. A stream has no limit in total."""
    seconds = client.config.timeout_seconds
    return Timeouts(read=seconds, total=None if streams else seconds)
