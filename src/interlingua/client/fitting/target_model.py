"""The model that a request is sent to, and the losses of fitting the request to it."""

from __future__ import annotations

from ...models.catalogue.facts import Facts
from ...types.capabilities import AdapterCapabilities
from ...types.loss import Loss, LossKind
from ...types.request import Request

__all__ = ["TargetModel"]


class TargetModel:
    """What the catalogue knows of a model, and the losses of the request. Their reasons begin with the model's name."""

    __slots__ = ("able", "facts", "losses", "name")

    def __init__(self, facts: Facts, able: AdapterCapabilities, request: Request) -> None:
        self.facts, self.able, self.name = facts, able, request.model or "the model"
        self.losses: list[Loss] = []

    def lose(self, path: str, kind: LossKind, why: str) -> None:
        """Note a loss. The reason is the model's name and then ``why``."""
        self.losses.append(Loss(path, kind, f"{self.name} {why}"))
