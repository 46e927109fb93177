"""Receipts: what became of a call, kept for an hour and never its content."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from msgspec import Struct, json
from msgspec.structs import asdict

from ..types.base import Json
from ..types.loss import Loss
from ..types.usage import TokenUsage

if TYPE_CHECKING:
    from .shared import Shared

__all__ = ["Attempt", "Receipt", "Receipts"]

SECONDS, MOST = 3600.0, 10_000
NEWEST, TOGETHER = 500, 50
"""So many are kept as they are, and the others as bytes, which are a fifth of it. So many become bytes at once: to find
the oldest entry of a dict takes long when many were removed."""
KIND = "receipt"


class Attempt(Struct, frozen=True, omit_defaults=True):
    """A model that was called or skipped, and why."""

    model: str
    outcome: str
    reason: str | None = None


class Receipt(Struct, omit_defaults=True):
    """One call: who was asked and who answered, what was lost on both ways, what was used and what it cost."""

    id: str
    dialect: str
    asked: str | None = None
    served: str | None = None
    passed: bool = False
    """Whether the client's own bytes were passed on, so that nothing could be lost."""
    status: int | str = 200
    losses: tuple[Loss, ...] = ()
    route: tuple[Attempt, ...] = ()
    attempts: int = 0
    usage: TokenUsage | None = None
    cost_usd: float | None = None
    billed: tuple[str, str] | None = None
    """Provider and model whose price is still to be looked up: that costs more than the call itself."""

    def shown(self) -> dict[str, Json]:
        """As a client sees it."""
        told = asdict(self)
        del told["billed"]
        told["losses"] = [asdict(loss) for loss in self.losses]
        told["route"] = [asdict(attempt) for attempt in self.route]
        told["usage"] = None if self.usage is None else _counts(self.usage)
        return told


def _counts(usage: TokenUsage) -> dict[str, Any]:
    return {name: value for name, value in asdict(usage).items() if isinstance(value, int | bool)}


class Receipts:
    """The newest receipts, each for the key whose call it was. Those of other processes are in ``shared``."""

    shared: Shared | None = None

    def __init__(
        self,
        clock: Callable[[], float],
        drop: Callable[[Receipt], object],
        *,
        seconds: float = SECONDS,
        most: int = MOST,
    ) -> None:
        """``drop`` is called with each receipt before it becomes bytes: it is not changed any more."""
        self._clock, self._drop, self._seconds, self._most = clock, drop, seconds, most
        self._newest: dict[str, tuple[float, str | None, Receipt]] = {}
        self._packed: dict[str, tuple[float, str | None, bytes]] = {}

    def keep(self, receipt: Receipt, key: str | None) -> None:
        """Keep a receipt for the owner of a key."""
        now = self._clock()
        self._newest[receipt.id] = (now, key, receipt)
        if self.shared is not None:
            self.shared.put(KIND, key, receipt.id, json.encode(receipt))
        if len(self._newest) >= NEWEST + TOGETHER:
            self._pack(now)

    def _pack(self, now: float) -> None:
        """Make bytes of the oldest, and forget what is too old or too much."""
        for id in list(islice(self._newest, TOGETHER)):
            at, key, receipt = self._newest.pop(id)
            self._drop(receipt)
            self._packed[id] = (at, key, json.encode(receipt))
        surplus = max(0, len(self._packed) - (self._most - NEWEST))
        old = takewhile(lambda id: self._packed[id][0] <= now - self._seconds, islice(self._packed, surplus, None))
        for id in [*islice(self._packed, surplus), *old]:
            del self._packed[id]

    def find(self, id: str, key: str | None) -> Receipt | None:
        """The receipt of that id, if it is this key's."""
        at, owner, kept = self._newest.get(id) or self._packed.get(id) or (0.0, None, None)
        if kept is None:
            value = None if self.shared is None else self.shared.get(KIND, key, id)
        elif owner != key or at <= self._clock() - self._seconds:
            return None
        elif isinstance(kept, Receipt):
            return kept
        else:
            value = kept
        return None if value is None else json.decode(value, type=Receipt)

    def __contains__(self, receipt: Receipt) -> bool:
        """Whether it is one of this process."""
        return receipt.id in self._newest or receipt.id in self._packed

    def newest(self) -> list[Receipt]:
        """The receipts of this process that may still change."""
        return [receipt for _, _, receipt in self._newest.values()]

    def all(self) -> list[Receipt]:
        """Every receipt of this process that is kept."""
        packed = [json.decode(value, type=Receipt) for _, _, value in self._packed.values()]
        return [*packed, *self.newest()]
