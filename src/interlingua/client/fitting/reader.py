"""Who takes a request, and what is lost on it."""

from __future__ import annotations

from ...models.catalogue.facts import Facts
from ...types.capabilities import AdapterCapabilities
from ...types.loss import Loss, LossKind
from ...types.request import Request

__all__ = ["Reader"]


class Reader:
    """A model, as the catalogue knows it. ``losses`` are sentences about it."""

    __slots__ = ("able", "facts", "losses", "who")

    def __init__(self, facts: Facts, able: AdapterCapabilities, request: Request) -> None:
        self.facts, self.able, self.who = facts, able, request.model or "the model"
        self.losses: list[Loss] = []

    def lose(self, path: str, kind: LossKind, why: str) -> None:
        """Note that something does not get through; ``why`` goes on after the model's name."""
        self.losses.append(Loss(path, kind, f"{self.who} {why}"))
