"""Receipts: what became of a call, kept for an hour and never its content."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
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
"""How many receipts are kept as objects. The older ones are kept as JSON, so many in one piece: that takes a tenth of
the memory."""
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


Kept = tuple[float, str | None, Receipt]
"""A receipt with the time when it was kept, and the name of the key whose call it was."""
_read = json.Decoder(list[Kept]).decode


class Packed(Struct, frozen=True):
    """Receipts that followed each other, as JSON. ``at`` is the time of the last one."""

    at: float
    data: bytes


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
        """``drop`` is called with each receipt before it becomes JSON: it is not changed any more."""
        self._clock, self._drop, self._seconds, self._most = clock, drop, seconds, most
        self._newest: dict[str, Kept] = {}
        self._packed: deque[Packed] = deque()

    def keep(self, receipt: Receipt, key: str | None) -> None:
        """Keep a receipt for the owner of a key."""
        now = self._clock()
        self._newest[receipt.id] = (now, key, receipt)
        if self.shared is not None:
            self.shared.put(KIND, key, receipt.id, json.encode(receipt))
        if len(self._newest) >= NEWEST + TOGETHER:
            self._pack(now)

    def _pack(self, now: float) -> None:
        """Make JSON of the oldest receipts, and forget those that are too old or too many."""
        oldest = [self._newest.pop(id) for id in list(islice(self._newest, TOGETHER))]
        for _, _, receipt in oldest:
            self._drop(receipt)
        packed = self._packed
        packed.append(Packed(oldest[-1][0], json.encode(oldest)))
        while packed and (len(packed) * TOGETHER > self._most - NEWEST or packed[0].at <= now - self._seconds):
            packed.popleft()

    def find(self, id: str, key: str | None) -> Receipt | None:
        """The receipt of that id, if it is this key's."""
        kept = self._newest.get(id) or self._find_packed(id)
        if kept is not None:
            at, owner, receipt = kept
            return receipt if owner == key and at > self._clock() - self._seconds else None
        value = None if self.shared is None else self.shared.get(KIND, key, id)
        return None if value is None else json.decode(value, type=Receipt)

    def _find_packed(self, id: str) -> Kept | None:
        """Look for a receipt among the older ones. This is slow, and nobody does it often."""
        text = json.encode(id)
        for packed in reversed(self._packed):
            if text in packed.data:
                for kept in _read(packed.data):
                    if kept[2].id == id:
                        return kept
        return None

    def __contains__(self, receipt: Receipt) -> bool:
        """Whether it is one of this process."""
        return receipt.id in self._newest or self._find_packed(receipt.id) is not None

    def newest(self) -> list[Receipt]:
        """The receipts of this process that may still change."""
        return [receipt for _, _, receipt in self._newest.values()]

    def all(self) -> list[Receipt]:
        """Every receipt of this process that is kept."""
        packed = [receipt for packed in self._packed for _, _, receipt in _read(packed.data)]
        return [*packed, *self.newest()]
