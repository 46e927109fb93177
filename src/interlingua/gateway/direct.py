"""Where a body goes that is passed on to the only model of its route: found once, and kept while the routes stay."""

from __future__ import annotations

from msgspec import Struct

from ..agent.routing import Candidate, Router
from ..client.adapter import Passage
from ..client.async_client import AsyncClient
from ..client.http import Timeouts
from ..client.manager import ProviderManager
from ..errors import AdapterError
from .choose import find_route
from .config import Snapshot
from .forwarding import HOMES

__all__ = ["Direct", "Directs"]

MOST_REMEMBERED = 256


class Direct(Struct, frozen=True, eq=False):
    """The model that is asked, and where. ``is_particular``: its server knows functions only, no other tools."""

    candidate: Candidate
    client: AsyncClient
    passage: Passage
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
        """The one model that a request goes to; None where there are several, or where it must be translated."""
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
            names = find_route(asked, snapshot, self._manager).names
            candidate = self._router.route(models=names[:1]).candidates[0]
        except (AdapterError, ValueError):
            return None  # whoever calls the model says why it cannot be called
        client = candidate.adapter
        if len(names) != 1 or not isinstance(client, AsyncClient) or client.dialect.name != dialect:
            return None
        passage = client.passage(candidate.model, stream=streams)
        if passage is None:
            return None
        homes = HOMES.get(dialect)
        return Direct(
            candidate,
            client,
            passage,
            timeouts_of(client, streams=streams),
            is_particular=homes is not None and client.name not in homes,
        )


def timeouts_of(client: AsyncClient, *, streams: bool) -> Timeouts:
    """The time limits of a call that is passed on: a stream may last."""
    seconds = client.config.timeout_seconds
    return Timeouts(read=seconds, total=None if streams else seconds)
