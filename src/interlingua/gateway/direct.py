"""Where a body goes where its route has one model only: found once, and kept while the routes stay."""

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
from .forwarding import HOMES

__all__ = ["Direct", "Directs"]

MOST_REMEMBERED = 256


class Direct(Struct, frozen=True, eq=False):
    """The model that is asked, and where the body goes as it is; without a ``passage``, it must be translated.
    ``is_particular``: its server knows functions only, no other tools."""

    candidate: Candidate
    client: AsyncClient
    losses: Policy | None
    passage: Passage | None
    timeouts: Timeouts
    is_particular: bool


class Directs:
    """By dialect, name that is asked for, and whether a stream is wanted; those of one configuration."""

    def __init__(self, manager: ProviderManager, router: Router) -> None:
        self._manager, self._router = manager, router
        self._snapshot: Snapshot | None = None
        self._edition = -1
        self._known: dict[tuple[str, str | None, bool], Direct | None] = {}

    def find(self, snapshot: Snapshot, dialect: str, asked: str | None, *, streams: bool) -> Direct | None:
        """The one model that a request goes to; None where there are several."""
        self._manager.refresh_if_due()
        if snapshot is not self._snapshot or self._edition != self._manager.edition:
            self._snapshot, self._edition, self._known = snapshot, self._manager.edition, {}
        key = dialect, asked, streams
        if key in self._known:
            return self._known[key]
        found = self._find(snapshot, dialect, asked, streams=streams)
        if len(self._known) < MOST_REMEMBERED:
            self._known[key] = found
        return found

    def _find(self, snapshot: Snapshot, dialect: str, asked: str | None, *, streams: bool) -> Direct | None:
        try:
            route = find_route(asked, snapshot, self._manager)
            candidate = self._router.route(models=route.names[:1]).candidates[0]
        except (AdapterError, ValueError):
            return None  # whoever calls the model says why it cannot be called
        client = candidate.adapter
        if len(route.names) != 1 or not isinstance(client, AsyncClient):
            return None
        is_home = client.dialect.name == dialect
        homes = HOMES.get(dialect)
        return Direct(
            candidate,
            client,
            route.losses,
            client.passage(candidate.model, stream=streams) if is_home else None,
            timeouts_of(client, streams=streams),
            is_particular=is_home and homes is not None and client.name not in homes,
        )


def timeouts_of(client: AsyncClient, *, streams: bool) -> Timeouts:
    """The time limits of a call that is passed on: a stream may last."""
    seconds = client.config.timeout_seconds
    return Timeouts(read=seconds, total=None if streams else seconds)
