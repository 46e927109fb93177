"""Receipts: a record of each call without its content, kept for an hour."""

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
NEWEST, TOGETHER = 50, 50
"""The newest 50 receipts are kept as objects. Older ones are kept as JSON, 50 in a piece, which needs a tenth of the
memory."""
KIND = "receipt"


class Attempt(Struct, frozen=True, omit_defaults=True):
    """A model of the route: whether it answered, failed or was skipped, and why."""

    model: str
    outcome: str
    reason: str | None = None


class Receipt(Struct, omit_defaults=True):
    """One call: the requested model and the one that answered, the losses in both directions, usage and cost."""

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
    """Provider and model whose price is to be looked up, after the answer."""

    def as_json(self) -> dict[str, Json]:
        """The receipt as ``/receipts/{id}`` answers it."""
        fields = asdict(self)
        del fields["billed"]
        fields["losses"] = [asdict(loss) for loss in self.losses]
        fields["route"] = [asdict(attempt) for attempt in self.route]
        fields["usage"] = None if self.usage is None else _counts(self.usage)
        return fields


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
    """The receipts of this process, each readable with its call's key. Those of other processes are in ``shared``."""

    shared: Shared | None = None

    def __init__(self, clock: Callable[[], float], *, seconds: float = SECONDS, most: int = MOST) -> None:
        self._clock, self._seconds, self._most = clock, seconds, most
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
        """Turn the oldest receipts into JSON, and forget those that are too old or too many."""
        oldest = [self._newest.pop(id) for id in list(islice(self._newest, TOGETHER))]
        packed = self._packed
        packed.append(Packed(oldest[-1][0], json.encode(oldest)))
        while packed and (len(packed) * TOGETHER > self._most - NEWEST or packed[0].at <= now - self._seconds):
            packed.popleft()

    def find(self, id: str, key: str | None) -> Receipt | None:
        """The receipt of that id; None if it is unknown, too old or belongs to another key."""
        kept = self._newest.get(id) or self._find_packed(id)
        if kept is not None:
            at, owner, receipt = kept
            return receipt if owner == key and at > self._clock() - self._seconds else None
        value = None if self.shared is None else self.shared.get(KIND, key, id)
        return None if value is None else json.decode(value, type=Receipt)

    def _find_packed(self, id: str) -> Kept | None:
        """Search the older receipts. This is slow, but receipts are rarely asked for."""
        text = json.encode(id)
        for packed in reversed(self._packed):
            if text in packed.data:
                for kept in _read(packed.data):
                    if kept[2].id == id:
                        return kept
        return None
